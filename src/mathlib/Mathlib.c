// Tegula's vector math library, one translation unit: every function of Mathlib.def for every width, as
// tgm_<function>_<type>x<lanes>, without suffix for one lane. It is compiled twice: to bitcode, which the
// compiler inlines into kernels (CMakeLists.txt says how), and by the unit tests for the machine at hand.
// No calls into libm, no errno, no floating-point flags; the rounding mode is to nearest.
#include "Coefficients.h"
#include "ReducePi.inc"
#include "Fmod.inc"

#define TGM_BITS 32
#define TGM_WIDTH 1
#include "Functions.inc"
#define TGM_WIDTH 4
#include "Functions.inc"
#define TGM_WIDTH 8
#include "Functions.inc"
#define TGM_WIDTH 16
#include "Functions.inc"
#undef TGM_BITS

#define TGM_BITS 64
#define TGM_WIDTH 1
#include "Functions.inc"
#define TGM_WIDTH 2
#include "Functions.inc"
#define TGM_WIDTH 4
#include "Functions.inc"
#define TGM_WIDTH 8
#include "Functions.inc"
