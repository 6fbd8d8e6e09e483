// Measures functions over every float, by hand, for the table of docs/language/math-functions.md:
//   tegula_mathlib_exhaustive [STRIDE [FUNCTION...]]
// STRIDE 1 (the default) takes a few minutes a function. Prints the worst error and where it is.
#include "Accuracy.h"
#include "Native.h"
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace tegula::mathlib::test;

static void measure(const NativeFunction &function, uint64_t stride) {
  constexpr size_t block = 4096;
  auto reference = referenceOf<double>(function.name);
  std::vector<float> in(block), out(block);
  double worst = 0;
  float where = 0, gave = 0;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32);) {
    for (size_t i = 0; i < block; ++i, bits += stride)
      in[i] = std::bit_cast<float>(uint32_t(bits));
    function.f32[2](in.data(), in.data(), out.data(), block);
    for (size_t i = 0; i < block; ++i) {
      double error = ulpError(out[i], reference(in[i], in[i]));
      if (error > worst)
        worst = error, where = in[i], gave = out[i];
    }
  }
  std::printf("%-6s f32 max %.4f ulp at %a (gave %a)\n", function.name, worst, where, gave);
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  for (int k = 0; k < nativeFunctionCount; ++k) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i)
      wanted |= !std::strcmp(argv[i], nativeFunctions[k].name);
    if (wanted && nativeFunctions[k].arity == 1 && nativeFunctions[k].f32[0])
      measure(nativeFunctions[k], stride ? stride : 1);
  }
}
