// Says what one kernel may cost, in one table. A kernel beyond a line of it is refused at the place where it
// goes beyond, by the diagnostic of the line, which names the number. No stage behind the front end recurses
// over more than these say: over a kernel's operations (`maxOperations`, each of which may need the one
// before) they go by lists and stacks of their own, over regions and trees by the call stack.
// docs/language/limits.md is this table for users.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tegula::sema {

// ---- the walk over a kernel ----
inline constexpr unsigned maxOperations =
    100'000;                                    // of tile IR: some 10 s of a code generator; OperationBudget
inline constexpr unsigned maxSteps = 1'000'000; // statements, unrolled iterations and calls; StaticBudget
inline constexpr unsigned maxCallDepth = 64;    // functions that call functions; RecursionTooDeep
inline constexpr unsigned maxNesting = 2'000; // of expressions and statements, through calls; NestingTooDeep
inline constexpr unsigned maxRegions = 200;   // of run-time ifs and loops in one another; NestingTooDeep
inline constexpr size_t maxCarried = 4096;    // values that one loop carries; TooManyCarried

// ---- constants ----
inline constexpr unsigned maxConstBits = 4096; // of an integer; ConstTooLarge
inline constexpr size_t maxConstElements =
    65536; // of a tuple, with those inside; characters of a string; ConstTooLarge
inline constexpr unsigned maxConstDepth = 100; // of tuples in tuples; ConstTooLarge

// ---- tiles ----
inline constexpr int64_t maxElements = 1 << 20; // upstream's limit on the elements of a tile; TileTooLarge
inline constexpr size_t maxRank =
    64; // dimensions of a tile, which back ends count in bytes; TileRankTooLarge

} // namespace tegula::sema
