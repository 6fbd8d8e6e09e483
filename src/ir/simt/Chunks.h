// The mark of a loop over chunks of one tile (transforms/ChunkLargeTiles.h).
#pragma once
#include "llvm/ADT/StringRef.h"

namespace tegula::simt {

// A unit attribute of a loop: no access of global memory in one trip has an order with one in another. Its
// stores are parts of one store, and it was proven that no other access meets them.
inline constexpr llvm::StringLiteral chunksName = "simt.chunks";

} // namespace tegula::simt
