#include "ptxvm/float/MatrixSum.h"
#include "ptxvm/float/Float.h"
#include "ptxvm/float/Soft.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tegula::ptxvm {
namespace {

struct Row {
  uint32_t arch; // the least
  SumModel half, tf32, eight;
};
constexpr Row models[] = {
    {0, {4, 24, 23}, {4, 24, 23}, {16, 13, 13}},
    {80, {8, 24, 23}, {4, 24, 23}, {16, 13, 13}},
    // As an H200 recorded. It does not tell whether zeros of bf16, tf32 and eight bits count, whether f16
    // sums keep 24 bits or 25, nor the sign of an f32 sum that is cut to zero; no tf32 has a NaN's bits only
    // in those that are ignored. Of eight bits, ptxas for sm_90 and sm_100 writes conversions and products of
    // f16. All else of sm_100 is published only.
    {90, {16, 25, 23}, {8, 25, 23}, {16, 25, 23, true}},
    {120, {16, 25, 23}, {8, 25, 23}, {32, 25, 23}},
};

Format formatOf(Type type) {
  switch (type) {
  case Type::F16: return Format::F16;
  case Type::BF16: return Format::BF16;
  case Type::TF32: return Format::TF32;
  case Type::E4M3: return Format::E4M3;
  default: return Format::E5M2;
  }
}

// sum * 2^exponent cut to `kept` bits below its leading one, as f32; too large a number is infinite.
uint32_t cutToF32(int64_t sum, int exponent, int kept) {
  if (sum == 0)
    return 0;
  uint64_t magnitude = sum < 0 ? uint64_t(-sum) : uint64_t(sum);
  uint32_t sign = sum < 0 ? 0x80000000u : 0;
  int leading = 63 - std::countl_zero(magnitude), top = leading + exponent;
  if (top > 127)
    return sign | 0x7f800000u;
  if (leading > kept)
    magnitude &= ~uint64_t(0) << (leading - kept);
  int shift = std::max(top, -126) - 23 - exponent; // of the bits below the last of f32
  uint64_t cut = shift > 0 ? (shift > 63 ? 0 : magnitude >> shift) : magnitude << -shift;
  if (cut == 0)
    return 0;
  return sign | (top < -126 ? uint32_t(cut) : uint32_t(cut - 0x800000) + (uint32_t(top + 127) << 23));
}

uint32_t roundToF16(int64_t sum, int exponent) {
  soft::Number number;
  number.kind = sum ? soft::Kind::Finite : soft::Kind::Zero;
  number.negative = sum < 0;
  number.exponent = exponent;
  number.significand = soft::Wide(sum < 0 ? -sum : sum);
  uint32_t bits = uint32_t(soft::pack(Format::F16, number, {}));
  return bits == 0x8000 ? 0 : bits;
}

// The significand in units of 2^(unit): its lowest bits are cut, towards zero.
int64_t aligned(int64_t significand, int exponent, int unit) {
  int shift = unit - exponent;
  if (significand == 0) // its exponent means nothing
    return 0;
  if (shift <= 0)
    return significand << -shift;
  if (shift > 62)
    return 0;
  return significand < 0 ? -(-significand >> shift) : significand >> shift;
}

// NaN and infinities: what is left of a sum with them.
uint32_t specialSum(std::span<const MatrixTerm> a, std::span<const MatrixTerm> b, const MatrixTerm &c,
                    bool isHalf) {
  bool isNan = c.isNan(), up = false, down = false;
  auto addInfinity = [&](bool negative) { (negative ? down : up) = true; };
  if (!c.isFinite() && !isNan)
    addInfinity(c.significand < 0);
  for (size_t k = 0; k < a.size(); ++k) {
    const MatrixTerm &x = a[k], &y = b[k];
    if (x.isFinite() && y.isFinite())
      continue;
    isNan |= x.isNan() || y.isNan() || x.significand == 0 || y.significand == 0;
    addInfinity((x.significand < 0) != (y.significand < 0));
  }
  if (isNan || (up && down))
    return isHalf ? 0x7fffu : 0x7fffffffu;
  return (isHalf ? 0x7c00u : 0x7f800000u) | (down ? (isHalf ? 0x8000u : 0x80000000u) : 0);
}

MatrixTerm termOf(Format format, uint64_t bits) {
  soft::Number number = soft::unpack(format, bits);
  MatrixTerm term;
  switch (number.kind) {
  case soft::Kind::Zero: return term;
  case soft::Kind::Finite: term = {int32_t(number.significand), number.exponent}; break;
  case soft::Kind::Infinity: term = {1, MatrixTerm::infinite}; break;
  case soft::Kind::Nan: term = {1, MatrixTerm::nan}; break;
  }
  if (number.negative)
    term.significand = -term.significand;
  return term;
}

// The same of f32, in which sums run.
MatrixTerm termOfF32(uint32_t bits) {
  auto fraction = int32_t(bits & 0x7fffff), exponent = int32_t(bits >> 23 & 0xff);
  MatrixTerm term{exponent ? fraction | 0x800000 : fraction, std::max(exponent, 1) - 150};
  if (exponent == 0xff)
    term = {1, fraction ? MatrixTerm::nan : MatrixTerm::infinite};
  else if (term.significand == 0)
    return {};
  return {bits >> 31 ? -term.significand : term.significand, term.exponent};
}

// ---- the products of a block: most of the time of a simulated matrix unit ----

constexpr size_t widestStep = 16; // products whose sum fits 32 bits

[[gnu::always_inline]] inline int32_t largestExponentOf(const MatrixTerm *a, const MatrixTerm *b,
                                                        size_t count) {
  int32_t largest = 2 * MatrixTerm::zero;
  for (size_t k = 0; k < count; ++k)
    largest = std::max(largest, a[k].exponent + b[k].exponent);
  return largest;
}

// Of products of the exponent `largest`, or less: each one's magnitude, `more` bits longer, loses as many as
// its exponent is below that.
[[gnu::always_inline]] inline int32_t sumOfStep(const MatrixTerm *a, const MatrixTerm *b, size_t count,
                                                int32_t largest, uint32_t more) {
  int32_t sum = 0;
  for (size_t k = 0; k < count; ++k) {
    int32_t product = a[k].significand * b[k].significand;
    auto lost = uint32_t(std::min(largest - (a[k].exponent + b[k].exponent), 31));
    auto magnitude = int32_t((uint32_t(product < 0 ? -product : product) << more) >> lost);
    sum += product < 0 ? -magnitude : magnitude;
  }
  return sum;
}

// A step of a length that the compiler knows becomes vector instructions.
[[gnu::always_inline]] inline int32_t sumOrRest(const MatrixTerm *a, const MatrixTerm *b, size_t count,
                                                int32_t largest, uint32_t more) {
  return count == widestStep ? sumOfStep(a, b, widestStep, largest, more)
                             : sumOfStep(a, b, count, largest, more);
}

struct BlockFunctions {
  int32_t (*largestExponent)(const MatrixTerm *a, const MatrixTerm *b, size_t count);
  int32_t (*sum)(const MatrixTerm *a, const MatrixTerm *b, size_t count, int32_t largest, uint32_t more);
};

int32_t largestExponentAnywhere(const MatrixTerm *a, const MatrixTerm *b, size_t count) {
  return largestExponentOf(a, b, count);
}
int32_t sumAnywhere(const MatrixTerm *a, const MatrixTerm *b, size_t count, int32_t largest, uint32_t more) {
  return sumOrRest(a, b, count, largest, more);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] int32_t largestExponentByAvx2(const MatrixTerm *a, const MatrixTerm *b,
                                                      size_t count) {
  return largestExponentOf(a, b, count);
}
[[gnu::target("avx2")]] int32_t sumByAvx2(const MatrixTerm *a, const MatrixTerm *b, size_t count,
                                          int32_t largest, uint32_t more) {
  return sumOrRest(a, b, count, largest, more);
}
#endif

BlockFunctions chooseBlockFunctions() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2"))
    return {largestExponentByAvx2, sumByAvx2};
#endif
  return {largestExponentAnywhere, sumAnywhere};
}

uint32_t sumOfBlocks(std::span<const MatrixTerm> a, std::span<const MatrixTerm> b, uint32_t c, bool isHalf,
                     const SumModel &model, int fractionOfProducts) {
  static const BlockFunctions functions = chooseBlockFunctions();
  int fractionOfSum = isHalf ? 10 : 23;
  MatrixTerm sum = isHalf ? termOf(Format::F16, c) : termOfF32(c);
  if (functions.largestExponent(a.data(), b.data(), a.size()) >= MatrixTerm::special)
    return specialSum(a, b, sum, isHalf);
  for (size_t begin = 0; begin < a.size(); begin += model.block) {
    if (!sum.isFinite())
      return specialSum(a, b, sum, isHalf);
    size_t end = std::min<size_t>(begin + model.block, a.size());
    int ofProducts = functions.largestExponent(&a[begin], &b[begin], end - begin) + fractionOfProducts;
    int largest = std::max(ofProducts, sum.exponent + fractionOfSum);
    if (largest < MatrixTerm::zero / 2) { // all zeros
      c = 0;
    } else {
      int unit = largest - model.fraction;
      int64_t total = aligned(sum.significand, sum.exponent, unit);
      for (size_t k = begin; k < end; k += widestStep)
        total += functions.sum(&a[k], &b[k], std::min(widestStep, end - k), largest - fractionOfProducts,
                               uint32_t(model.fraction - fractionOfProducts));
      c = isHalf ? roundToF16(total, unit) : cutToF32(total, unit, model.kept);
    }
    sum = isHalf ? termOf(Format::F16, c) : termOfF32(c);
  }
  return c;
}

} // namespace

SumModel sumModelOf(uint32_t arch, Type type) {
  const Row *row = models;
  for (const Row &one : models)
    if (one.arch <= arch)
      row = &one;
  if (type == Type::E4M3 || type == Type::E5M2)
    return row->eight;
  return type == Type::TF32 ? row->tf32 : row->half;
}

SumModel productModelOf(Type type) {
  if (type == Type::E4M3 || type == Type::E5M2)
    return {32, 13, 13};
  return type == Type::TF32 ? SumModel{8, 25, 23} : SumModel{16, 25, 23};
}

MatrixTerm matrixTerm(Type type, uint64_t bits, const SumModel &model) {
  if (model.asHalves)
    return termOf(Format::F16, convert(Format::F16, formatOf(type), bits, {}));
  return termOf(formatOf(type), bits); // a tf32 is the upper 19 bits of its register
}

int fractionBits(Type type, const SumModel &model) {
  return int(soft::traitsOf(model.asHalves ? Format::F16 : formatOf(type)).mantissaBits);
}

uint32_t sumOfProducts(std::span<const MatrixTerm> a, std::span<const MatrixTerm> b, uint32_t c, bool isHalf,
                       const SumModel &model, int fractionOfProducts) {
  if (!model.asHalves)
    return sumOfBlocks(a, b, c, isHalf, model, fractionOfProducts);
  std::array<MatrixTerm, 32> x, y;
  size_t to = 0;
  for (size_t half : {0, 2})
    for (size_t k = half; k < a.size(); k += k % 2 ? 3 : 1, ++to) {
      x[to] = a[k];
      y[to] = b[k];
    }
  uint32_t products = sumOfBlocks({x.data(), to}, {y.data(), to}, 0, false, model, fractionOfProducts);
  return uint32_t(add(Format::F32, products, c, {}));
}

} // namespace tegula::ptxvm
