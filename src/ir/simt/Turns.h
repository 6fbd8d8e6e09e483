// Turns of groups of warps, where a barrier holds a loop's trips together: a group starts its first product
// of a trip when the group before it has started its own, so that one computes while the other's products
// run. And slots that signals hand from those who read to those who copy, without a barrier: there groups
// come apart by themselves. Attributes of ops.
#pragma once
#include "ir/simt/Simt.h"

namespace tegula::simt {

// Of a dot_async: the group waits for its turn ahead of it, and hands the turn on behind it.
inline constexpr llvm::StringLiteral takesTurnName = "simt.takes_turn";
// Of a dot_wait, with the warps of a group: the turn is the first group's from here on; behind that it is
// nobody's.
inline constexpr llvm::StringLiteral opensTurnsName = "simt.opens_turns",
                                     closesTurnsName = "simt.closes_turns";

// Of a dot_wait: its sums have registers of their own behind it, with one definition. Ahead of a loop they
// come from several ways; in a trip they take the place of others.
inline constexpr llvm::StringLiteral joinsWaysName = "simt.joins_ways";

// Of a loop: signals order the copies into its slots against those who read them. Of a copy in it, or a wait
// for copies: it needs no barrier for that.
inline constexpr llvm::StringLiteral signalledName = "simt.signalled";

// Of a loop: its copies go on in the buffers of the loop ahead of it, with the slot behind that loop's last.
inline constexpr llvm::StringLiteral goesOnName = "simt.goes_on";

// Of copies behind a loop, and of what they need: they fill slots that the loop's trips have left free, for
// the next trip of the loop around it. They need no barrier, and may start while the loop's last products
// run.
inline constexpr llvm::StringLiteral earlyName = "simt.early";

} // namespace tegula::simt
