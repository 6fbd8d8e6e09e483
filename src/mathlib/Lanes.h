// The vocabulary in which the functions are written once for every vector width. Include it with
//   TGM_BITS   32 or 64: the element type, float or double
//   TGM_WIDTH  the number of lanes; 1 means plain scalars
// It defines the types V (floats), I (signed integers of the same size; also the masks, 0 or -1 a lane),
// U (unsigned), and small operations on them, all of which vanish after inlining. It is included many
// times in one translation unit, hence no include guard.
//
// Nothing here depends on the target: what comes out is LLVM IR over <N x float> with llvm.fma and
// friends, in which no operation may be contracted or reassociated, so that each width gives the same bits.

#undef E
#undef EI
#undef EU
#undef V
#undef I
#undef U
#undef FN
#undef IN
#undef TGM_LANES
#undef TGM_BIAS
#undef TGM_MANTISSA
#undef TGM_STEM

#define TGM_JOIN3_(a, b, c) a##b##c
#define TGM_JOIN3(a, b, c) TGM_JOIN3_(a, b, c)
#define TGM_JOIN4_(a, b, c, d) a##b##c##d
#define TGM_JOIN4(a, b, c, d) TGM_JOIN4_(a, b, c, d)

#if TGM_BITS == 32
#define E float
#define EI int
#define EU unsigned
#define TGM_BIAS 127
#define TGM_MANTISSA 23
#define TGM_STEM f32
#else
#define E double
#define EI long
#define EU unsigned long
#define TGM_BIAS 1023
#define TGM_MANTISSA 52
#define TGM_STEM f64
#endif

#if TGM_WIDTH == 1
#define TGM_LANES TGM_STEM
#else
#define TGM_LANES TGM_JOIN3(TGM_STEM, x, TGM_WIDTH)
#endif

// FN(exp) is the public tgm_exp_f32x8; IN(exp) is a name private to this width.
#define FN(name) TGM_JOIN4(tgm_, name, _, TGM_LANES)
#define IN(name) TGM_JOIN4(in_, name, _, TGM_LANES)
#define V IN(V)
#define I IN(I)
#define U IN(U)

#ifndef TGM_PUBLIC
// Bitcode: copies in several modules are the same function, and none survives inlining.
#define TGM_PUBLIC __attribute__((weak, always_inline, const, nothrow))
#define TGM_PRIVATE static inline __attribute__((always_inline, nothrow))
#endif

#if TGM_WIDTH == 1
typedef E V;
typedef EI I;
typedef EU U;
#else
typedef E V __attribute__((ext_vector_type(TGM_WIDTH)));
typedef EI I __attribute__((ext_vector_type(TGM_WIDTH)));
typedef EU U __attribute__((ext_vector_type(TGM_WIDTH)));
#endif

TGM_PRIVATE I IN(bits)(V x) {
  union {
    V v;
    I i;
  } u = {x};
  return u.i;
}

TGM_PRIVATE V IN(value)(I x) {
  union {
    I i;
    V v;
  } u = {x};
  return u.v;
}

// Shifts as unsigned: the language C leaves a negative left shift undefined.
TGM_PRIVATE I IN(shl)(I x, int by) { return (I)((U)x << (U)by); }
TGM_PRIVATE I IN(add)(I x, I y) { return (I)((U)x + (U)y); }
TGM_PRIVATE I IN(sub)(I x, I y) { return (I)((U)x - (U)y); }

// x + n with the integer n added to the exponent field: x * 2^n where nothing overflows.
TGM_PRIVATE V IN(addExponent)(V x, I n) { return IN(value)(IN(add)(IN(bits)(x), IN(shl)(n, TGM_MANTISSA))); }

TGM_PRIVATE V IN(fma)(V a, V b, V c) { return __builtin_elementwise_fma(a, b, c); }
TGM_PRIVATE V IN(abs)(V x) { return __builtin_elementwise_abs(x); }
TGM_PRIVATE V IN(sqrt)(V x) { return __builtin_elementwise_sqrt(x); }
TGM_PRIVATE V IN(copysign)(V x, V sign) { return __builtin_elementwise_copysign(x, sign); }

#undef TGM_LANE
#if TGM_WIDTH == 1
TGM_PRIVATE int IN(any)(I mask) { return mask != 0; }
TGM_PRIVATE I IN(mask)(int truth) { return -(I)truth; }
#define TGM_LANE(x, k) (x)
#else
TGM_PRIVATE int IN(any)(I mask) { return __builtin_reduce_or(mask) != 0; }
TGM_PRIVATE I IN(mask)(I truth) { return truth; }
#define TGM_LANE(x, k) (x)[k]
#endif

// An integer of at most 51 bits as a float. AVX2 has no conversion from 64-bit integers; the sum and
// difference with a number whose unit is 1 does the same.
#if TGM_BITS == 64
TGM_PRIVATE V IN(toFloat)(I n) { return IN(value)(IN(add)(n, 0x4338000000000000)) - 0x1.8p52; }
#elif TGM_WIDTH == 1
TGM_PRIVATE V IN(toFloat)(I n) { return (V)n; }
#else
TGM_PRIVATE V IN(toFloat)(I n) { return __builtin_convertvector(n, V); }
#endif

// Comparisons, false for NaN.
TGM_PRIVATE I IN(less)(V a, V b) { return IN(mask)(a < b); }
TGM_PRIVATE I IN(lessEqual)(V a, V b) { return IN(mask)(a <= b); }
TGM_PRIVATE I IN(equal)(V a, V b) { return IN(mask)(a == b); }
TGM_PRIVATE I IN(isNan)(V a) { return IN(mask)(a != a); }
TGM_PRIVATE I IN(negative)(V a) { return IN(bits)(a) >> (8 * sizeof(E) - 1); }
TGM_PRIVATE I IN(odd)(I n) { return -(n & 1); }
TGM_PRIVATE I IN(intEqual)(I a, I b) { return IN(mask)(a == b); }

TGM_PRIVATE I IN(pickInt)(I mask, I yes, I no) { return mask ? yes : no; }
TGM_PRIVATE V IN(pick)(I mask, V yes, V no) { return mask ? yes : no; }

// The clamps keep NaN: a comparison with NaN is false.
TGM_PRIVATE V IN(atMost)(V x, V bound) { return IN(pick)(IN(less)(bound, x), bound, x); }
TGM_PRIVATE V IN(atLeast)(V x, V bound) { return IN(pick)(IN(less)(x, bound), bound, x); }

// c[0] + x (c[1] + x (c[2] + ...)), by Horner's rule: fewest instructions; kernels have other lanes to
// overlap.
TGM_PRIVATE V IN(horner)(V x, const E *c, int count) {
  V sum = (V)c[count - 1];
#pragma clang loop unroll(full)
  for (int k = count - 2; k >= 0; --k)
    sum = IN(fma)(sum, x, (V)c[k]);
  return sum;
}

// The constant or coefficients of this element type: K(Exp) is kExp_f32 or kExp_f64.
#undef K
#define K(name) TGM_JOIN4(k, name, _, TGM_STEM)
#define TGM_POLY(x, name) IN(horner)(x, K(name), sizeof(K(name)) / sizeof(K(name)[0]))

// Adding and subtracting TGM_ROUNDER rounds to an integer (ties to even), which then also stands in the low
// bits. The literals that depend on the element type stand here together.
#undef TGM_ROUNDER
#undef TGM_SIGN
#undef TGM_INF
#undef TGM_NAN
#undef TGM_PICK
#if TGM_BITS == 32
#define TGM_ROUNDER 0x1.8p23f
#define TGM_SIGN (-0x7fffffff - 1)
#define TGM_INF __builtin_inff()
#define TGM_NAN __builtin_nanf("")
#define TGM_PICK(f32, f64) (f32)
#else
#define TGM_ROUNDER 0x1.8p52
#define TGM_SIGN (-0x7fffffffffffffff - 1)
#define TGM_INF __builtin_inf()
#define TGM_NAN __builtin_nan("")
#define TGM_PICK(f32, f64) (f64)
#endif
