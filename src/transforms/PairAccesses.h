// Accesses of tiles whose elements take turns in memory.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"
#include "ir/simt/Simt.h"

namespace tegula::transforms {

// Of real and imaginary parts, pairs that are turned, or gates and values of a layer one lies behind the
// other: two loads, or two stores, of every other element. Each takes as many accesses as there are elements,
// and half of what they touch. They become one access of both, if the mask is the same, a pair begins where
// an access of two elements may, and nothing between them could tell; of neighbours that a thread owns,
// several pairs. In: loads and stores whose layouts, widths and barriers are decided.
void pairAccesses(tile::FuncOp function, const simt::Machine &machine, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
