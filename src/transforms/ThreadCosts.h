// Ops in instructions of one thread of a GPU, to compare loops by.
#pragma once
#include "analysis/OpCost.h"

namespace tegula::transforms {

inline constexpr analysis::OpCosts threadCosts{.position = 0,
                                               .simple = 1,
                                               .floatDivision = 8,
                                               .floatRemainder = 20,
                                               .division = 16,
                                               .constantDivision = 4,
                                               .powerOfTwoDivision = 2,
                                               .wideProduct = 2,
                                               .simpleMath = 1,
                                               .math = 4,
                                               .longMath = 24};

} // namespace tegula::transforms
