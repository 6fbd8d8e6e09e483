// See Native.h. Needs -mavx2 -mfma and the flags of src/mathlib (CMakeLists.txt gives both).
#include "Native.h"

#define TGM_PRIVATE static inline __attribute__((always_inline))
#define TGM_PUBLIC static inline __attribute__((always_inline, unused))
#include "mathlib/Mathlib.c"

#define CALL_1(fn, a, b) fn(a)
#define CALL_2(fn, a, b) fn(a, b)

typedef float V4 __attribute__((ext_vector_type(4), aligned(4)));
typedef float V8 __attribute__((ext_vector_type(8), aligned(4)));
typedef float V16 __attribute__((ext_vector_type(16), aligned(4)));
typedef double D2 __attribute__((ext_vector_type(2), aligned(8)));
typedef double D4 __attribute__((ext_vector_type(4), aligned(8)));
typedef double D8 __attribute__((ext_vector_type(8), aligned(8)));

#define BATCH(element, vector, symbol, arity, lanes)                                                         \
  static void batch_##symbol(const element *a, const element *b, element *out, size_t n) {                   \
    (void)b;                                                                                                 \
    for (size_t i = 0; i < n; i += lanes)                                                                    \
      *(vector *)(out + i) = CALL_##arity(tgm_##symbol, *(const vector *)(a + i), *(const vector *)(b + i)); \
  }

#define F32_0(name, arity)
#define F64_0(name, arity)
#define F32_1(name, arity)                                                                                   \
  BATCH(float, float, name##_f32, arity, 1)                                                                  \
  BATCH(float, V4, name##_f32x4, arity, 4)                                                                   \
  BATCH(float, V8, name##_f32x8, arity, 8)                                                                   \
  BATCH(float, V16, name##_f32x16, arity, 16)
#define F64_1(name, arity)                                                                                   \
  BATCH(double, double, name##_f64, arity, 1)                                                                \
  BATCH(double, D2, name##_f64x2, arity, 2)                                                                  \
  BATCH(double, D4, name##_f64x4, arity, 4)                                                                  \
  BATCH(double, D8, name##_f64x8, arity, 8)
#define MATH(name, arity, ulpF32, ulpF64, hasF32, hasF64) F32_##hasF32(name, arity) F64_##hasF64(name, arity)
#include "mathlib/Mathlib.def"
#undef MATH

#define ROW32_0(name) {0}
#define ROW64_0(name) {0}
#define ROW32_1(name) {batch_##name##_f32, batch_##name##_f32x4, batch_##name##_f32x8, batch_##name##_f32x16}
#define ROW64_1(name) {batch_##name##_f64, batch_##name##_f64x2, batch_##name##_f64x4, batch_##name##_f64x8}

const NativeFunction nativeFunctions[] = {
#define MATH(name, arity, ulpF32, ulpF64, hasF32, hasF64)                                                    \
  {#name, arity, ulpF32, ulpF64, ROW32_##hasF32(name), ROW64_##hasF64(name)},
#include "mathlib/Mathlib.def"
};
const int nativeFunctionCount = sizeof(nativeFunctions) / sizeof(nativeFunctions[0]);
