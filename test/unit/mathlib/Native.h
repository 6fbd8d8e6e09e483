// The vector math library compiled for the machine at hand, behind plain arrays: for each function and width
// a loop over n elements (a multiple of the width). Functions of one argument ignore b.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*BatchF32)(const float *a, const float *b, float *out, size_t n);
typedef void (*BatchF64)(const double *a, const double *b, double *out, size_t n);

typedef struct {
  const char *name;
  int arity;
  double maxUlpF32, maxUlpF64;
  BatchF32 f32[4]; // widths 1, 4, 8, 16; null where the library has no such function
  BatchF64 f64[4]; // widths 1, 2, 4, 8
} NativeFunction;

extern const NativeFunction nativeFunctions[];
extern const int nativeFunctionCount;

#ifdef __cplusplus
}
#endif
