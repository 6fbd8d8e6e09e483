// Buffers of a loop whose loads run trips ahead.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>

namespace tegula::simt {

// Of a loop: the slots that its user asks for (`tl.range(..., num_stages=)`).
inline constexpr llvm::StringLiteral stagesName = "tt.num_stages";

// The same, or the kernel's where the loop has none of its own. Below 2 nothing runs ahead.
inline unsigned stagesOf(mlir::scf::ForOp loop, unsigned ofKernel) {
  auto own = loop->getAttrOfType<mlir::IntegerAttr>(stagesName);
  return own ? unsigned(std::max<int64_t>(own.getInt(), 1)) : ofKernel;
}

} // namespace tegula::simt
