// Turns of groups of warps: a group starts its products of a trip when the group before it has started its
// own, so that one computes while the other's products run. Attributes of ops.
#pragma once
#include "ir/simt/Simt.h"

namespace tegula::simt {

// Of a dot_async: the group waits for its turn ahead of it, and hands it on behind it.
inline constexpr llvm::StringLiteral inTurnName = "simt.in_turn";
// Of a dot_wait, with the warps of a group: the turn is the first group's from here on; behind that it is
// nobody's.
inline constexpr llvm::StringLiteral opensTurnsName = "simt.opens_turns",
                                     closesTurnsName = "simt.closes_turns";

} // namespace tegula::simt
