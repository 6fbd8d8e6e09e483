// What a load gives where its mask is false, and who reads that.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace tegula::tile {

// On a load: nothing reads the elements that its mask leaves out, so that they may be anything
// (transforms/PredicateLoads).
inline constexpr llvm::StringLiteral unreadName = "tt.unread";

} // namespace tegula::tile
