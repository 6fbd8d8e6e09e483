// Stores of what threads hold as fragments of matrices: one instruction of a warp writes up to four matrices
// of eight rows of 16 bytes, where lanes would write 4 bytes, or, turned, 2.
#pragma once
#include "codegen/simt/Emitter.h"
#include "layout/MatrixAccess.h"

namespace tegula::simt {

// Plans how a warp stores a tile of elements of `bits` that is to lie as `map` says; none where the machine
// has no such instruction, the layout is not that of fragments, or threads hold elements several times.
std::optional<layout::MatrixAccess> planMatrixStore(const Emitter &e, const layout::Layout &layout,
                                                    const layout::SharedMap &map, unsigned bits);

// `address`: of the row that this lane names, for the offset of a piece.
void storeMatrices(Emitter &e, const layout::MatrixAccess &access, llvm::Type *stored,
                   const Registers &values, llvm::function_ref<llvm::Value *(uint32_t)> address);

} // namespace tegula::simt
