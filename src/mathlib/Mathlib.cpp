// Embeds Mathlib.bc, which the build makes from Mathlib.c, and the rows of Mathlib.def.
#include "mathlib/Mathlib.h"
#include <array>

namespace tegula::mathlib {

#pragma clang diagnostic ignored "-Wc23-extensions"
alignas(16) static constexpr unsigned char kBitcode[] = {
#embed TEGULA_MATHLIB_BC
};

static constexpr Function kFunctions[] = {
#define MATH(name, arity, ulpF32, ulpF64, hasF32, hasF64)                                                    \
  {#name, arity, ulpF32, ulpF64, hasF32 != 0, hasF64 != 0},
#include "mathlib/Mathlib.def"
#undef MATH
};

static constexpr std::array<unsigned, 4> kLanesF32 = {1, 4, 8, 16};
static constexpr std::array<unsigned, 4> kLanesF64 = {1, 2, 4, 8};

static std::span<const unsigned> lanesOf(unsigned elementBits) {
  return elementBits == 32 ? std::span(kLanesF32) : std::span(kLanesF64);
}

std::span<const unsigned char> bitcode() { return kBitcode; }

std::span<const Function> functions() { return kFunctions; }

const Function *find(std::string_view name) {
  for (const Function &function : kFunctions)
    if (function.name == name)
      return &function;
  return nullptr;
}

unsigned lanesAtMost(unsigned lanes, unsigned elementBits) {
  unsigned best = 1;
  for (unsigned available : lanesOf(elementBits))
    if (available <= lanes)
      best = available;
  return best;
}

static std::string spelled(std::string_view function, unsigned elementBits, unsigned lanes) {
  std::string name = "tgm_" + std::string(function) + (elementBits == 32 ? "_f32" : "_f64");
  return lanes > 1 ? name + "x" + std::to_string(lanes) : name;
}

std::optional<std::string> symbol(std::string_view function, unsigned elementBits, unsigned lanes) {
  const Function *row = find(function);
  bool known = row && ((elementBits == 32 && row->hasF32) || (elementBits == 64 && row->hasF64));
  if (!known || lanesAtMost(lanes, elementBits) != lanes)
    return std::nullopt;
  return spelled(function, elementBits, lanes);
}

std::string directedSymbol(unsigned elementBits, unsigned lanes) {
  return spelled("directed", elementBits, lanes);
}

} // namespace tegula::mathlib
