// The numbers that launches on cores compare: one field a row of Costs.def.
#pragma once
#include <cstdint>

namespace tegula::runtime {

struct Costs {
#define COST(type, name, value, unit, meaning, kernel) type name = value;
#include "runtime/Costs.def"
#undef COST
};
inline constexpr Costs costs{};

} // namespace tegula::runtime
