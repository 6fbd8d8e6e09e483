// Scans: from the first element of a line to the last (with `reverse` back), one combination
// an element. The contract lets brackets move; this order is the one of the definition.
#include "interp/Lines.h"

namespace tegula::interp {

template <> bool execute(Interpreter &machine, tile::ScanOp op) {
  mlir::Block &block = op.getCombine().front();
  return forEachLine(machine, op, op.getAxis(), [&](Line &line) {
    const size_t extent = line[0].size();
    for (size_t i = 1; i < extent; ++i) {
      const size_t to = op.getReverse() ? extent - 1 - i : i, accumulated = op.getReverse() ? to + 1 : to - 1;
      if (!combine(machine, block, line, accumulated, to, to))
        return false;
    }
    return true;
  });
}

// Read by the scan itself.
template <> bool execute(Interpreter &, tile::ScanReturnOp) { return true; }

} // namespace tegula::interp
