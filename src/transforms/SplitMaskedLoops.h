// Loops whose masks matter in their last trips alone.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// A comparison of indices with what the loop's index moves by the same in each trip holds in all elements up
// to some trip, where a tile reaches the diagonal or the end of a row. The trips before that become a loop of
// their own, in which the comparison is true, if what is computed is masked by it: a comparison and a choice
// an element are saved there. The rest stays as it was. The program computes the trip ahead of the loops;
// where arithmetic of indices could wrap in some trip, the first loop has none. Leaves a remark ("pipeline")
// at the loop. Expects tile IR.
void splitMaskedLoops(mlir::Operation *function, std::vector<diag::Remark> &remarks);

// The same of innermost loops without products, where bounds in masks may end inside of a vector and so keep
// accesses narrow: the trips of whole tiles access as wide as their addresses allow. Only where half of the
// accesses or more are spared, and where the loop does not store to what it loads from.
void splitNarrowLoops(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
