// Checks that the compiler makes itself, beside those that a kernel asks for.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::tile {

// On an assert: the compiler made it (transforms/CheckRemainders).
inline constexpr llvm::StringLiteral ownCheckName = "tt.own_check";
// On an assert: the launch ends with an error that has no text, so that the kernel calls no function
// (transforms/StartDots).
inline constexpr llvm::StringLiteral wordlessName = "tt.wordless";

} // namespace tegula::tile
