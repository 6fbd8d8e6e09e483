#include "compiler/WrittenArguments.h"
#include "analysis/PointerOrigins.h"
#include "ir/tile/Tile.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tegula::compiler {

using namespace mlir;

std::vector<bool> writtenArguments(Operation *function) {
  std::vector<bool> written(cast<FunctionOpInterface>(function).getNumArguments(), false);
  analysis::PointerOrigins origins;
  function->walk([&](Operation *op) {
    // Loads and prints only read; every other op with effects on memory that takes an address writes.
    if (isa<tile::LoadOp, tile::PrintOp>(op) || op->getNumRegions() != 0 ||
        op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<tile::PointerType>(tile::elementType(operand.getType())))
        continue;
      for (unsigned argument : origins.of(operand).arguments.set_bits())
        written[argument] = true;
    }
  });
  return written;
}

} // namespace tegula::compiler
