// The bounds of Bounds.def.
#pragma once
#include <cstddef>

namespace tegula::tile {

struct Bounds {
#define BOUND(name, value, why, shape) size_t name = value;
#include "ir/tile/Bounds.def"
#undef BOUND
};
inline constexpr Bounds bounds{};

} // namespace tegula::tile
