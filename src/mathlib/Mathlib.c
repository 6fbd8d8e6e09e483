// Tegula's vector math library, one translation unit: every function of Mathlib.def for every width, as
// tgm_<function>_<type>x<lanes>, without suffix for one lane. It is compiled twice: to bitcode, which the
// compiler inlines into kernels (CMakeLists.txt says how), and by the unit tests for the machine at hand.
// No calls, no errno, no floating-point flags, no tables beyond constants; rounding mode to nearest.
#include "Coefficients.h"
#include "ReducePi.inc"

#define TGM_WIDTH 1
#include "FunctionsF32.inc"
#define TGM_WIDTH 4
#include "FunctionsF32.inc"
#define TGM_WIDTH 8
#include "FunctionsF32.inc"
#define TGM_WIDTH 16
#include "FunctionsF32.inc"
