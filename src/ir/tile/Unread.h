// A load gives something where its mask is false, too; whether anything reads it.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace tegula::tile {

// On a load: nothing reads the elements that its mask leaves out, so that they may be anything
// (transforms/PredicateLoads).
inline constexpr llvm::StringLiteral unreadName = "tt.unread";

} // namespace tegula::tile
