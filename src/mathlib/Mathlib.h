// The vector math library as the compiler sees it: LLVM bitcode to inline into kernels, and the table of what
// is in it. The bitcode carries no triple, no data layout and no target attributes: set the kernel's own
// before linking. Link lazily (getLazyBitcodeModule, Linker::LinkOnlyNeeded); a function may need
// tgm_reduce_pi_* besides itself.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tegula::mathlib {

struct Function {
  std::string_view name;
  unsigned arity;
  double maxUlpF32, maxUlpF64; // against the exact value; 0 where the type is missing
  bool hasF32, hasF64;
};

std::span<const unsigned char> bitcode();
std::span<const Function> functions();
const Function *find(std::string_view name);

// The widest number of lanes in the library, at most `lanes` (which need not be a power of two).
unsigned lanesAtMost(unsigned lanes, unsigned elementBits);

// "tgm_directed_f32x8" (Directed.inc), for lanes that are in the library.
std::string directedSymbol(unsigned elementBits, unsigned lanes);

// "tgm_exp_f32x8"; nothing if the library lacks the function for this element or number of lanes.
std::optional<std::string> symbol(std::string_view function, unsigned elementBits, unsigned lanes);

} // namespace tegula::mathlib
