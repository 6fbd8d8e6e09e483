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

// Trips that the user wants to be one (`tl.range(..., loop_unroll_factor=)`), up to which a hint makes sense.
inline unsigned unrollFactorOf(mlir::scf::ForOp loop) {
  auto factor = loop->getAttrOfType<mlir::IntegerAttr>("tt.loop_unroll_factor");
  return factor ? unsigned(std::clamp<int64_t>(factor.getInt(), 1, 16)) : 1;
}

} // namespace tegula::simt
