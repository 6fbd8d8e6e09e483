// Operands of products that no copy brings: through shared memory, for matrix instructions in the form of
// matrix loads.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// Rewrites a conversion to the layout of such an operand, where it would go through shared memory, as a store
// into a buffer and a load from it next to the product, which may read it transposed; products that read a
// tile in the same order of memory share the buffer. An operand from before a loop is loaded again in each
// trip where the tiles that the loop holds would leave no room for it among a thread's registers. Appends
// a remark ("buffer") for each of those. It is stored behind the copies that the loop starts ahead of its
// first trip: the program waits for it and for them at once.
// So is a tile that a trip computes a factor of, element by element, where a buffer of its own lets no fewer
// programs run: threads read it next to the product, and compute the factor there.
// A tile that is loaded for products of its block alone, and that a thread has no room for beside the others
// loaded there, is copied into the buffer past the registers, and waited for ahead of the first product.
// A first factor of several warps that all trips of a loop read goes there in any case, and so does each
// factor of multiply-adds: such a product reads it right there, for itself.
void operandsInShared(mlir::Operation *function, const simt::Machine &machine,
                      std::vector<diag::Remark> &remarks);

// The part of a factor of multiply-adds, in the layout of `read`, that a thread should read at once: all that
// it has along the result, and of K what one access takes. More of K would wait in registers.
layout::Layout readAtOnce(mlir::Value read, unsigned accessBits);
// The map for such a factor that is stored as `store` says: elements that lie side by side are read at once.
layout::SharedMap mapOfFactor(const layout::Layout &store, mlir::Value read, unsigned accessBits);

} // namespace tegula::transforms
