// The floating-point state that kernels count on: round to nearest, subnormals kept, no
// traps. A host's own state (flush-to-zero, trapping) is put back at the end of the scope.
#pragma once
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace tegula::runtime {

class FloatState {
public:
#if defined(__x86_64__)
  FloatState() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatState() { _mm_setcsr(saved_); }
#else
  FloatState() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatState() { std::fesetenv(&saved_); }
#endif
  FloatState(const FloatState &) = delete;
  FloatState &operator=(const FloatState &) = delete;

private:
#if defined(__x86_64__)
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

} // namespace tegula::runtime
