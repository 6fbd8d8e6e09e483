// Lanes.h: the scalar arithmetic over the lanes of a warp. The forms that kernels are made of
// (f32 to nearest without modifiers) are plain loops over 32 floats; the others call the scalar
// function for each lane of the mask.
#include "ptxvm/float/Lanes.h"

#include <bit>
#include <cmath>

namespace tegula::ptxvm {
namespace {

constexpr unsigned kLanes = 32;

template <class F> void eachLane(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(unsigned(std::countr_zero(mask)));
}

MinMaxMode extremum(LaneMode mode) { return {mode.ftz, mode.nan, mode.xorsignAbs}; }

// One lane of an op; unused operands are 0.
template <FloatOp op> uint64_t one(Format format, uint64_t a, uint64_t b, uint64_t c, LaneMode mode) {
  if constexpr (op == FloatOp::Add)
    return ptxvm::add(format, a, b, mode);
  else if constexpr (op == FloatOp::Sub)
    return ptxvm::sub(format, a, b, mode);
  else if constexpr (op == FloatOp::Mul)
    return ptxvm::mul(format, a, b, mode);
  else if constexpr (op == FloatOp::Fma)
    return ptxvm::fma(format, a, b, c, mode);
  else if constexpr (op == FloatOp::Div)
    return ptxvm::div(format, a, b, mode);
  else if constexpr (op == FloatOp::DivApprox)
    return ptxvm::divideApproximately(uint32_t(a), uint32_t(b), false, mode.ftz);
  else if constexpr (op == FloatOp::DivFull)
    return ptxvm::divideApproximately(uint32_t(a), uint32_t(b), true, mode.ftz);
  else if constexpr (op == FloatOp::Min)
    return ptxvm::minimum(format, a, b, extremum(mode));
  else if constexpr (op == FloatOp::Max)
    return ptxvm::maximum(format, a, b, extremum(mode));
  else if constexpr (op == FloatOp::Min3)
    return ptxvm::minimum(format, ptxvm::minimum(format, a, b, extremum(mode)), c, extremum(mode));
  else if constexpr (op == FloatOp::Max3)
    return ptxvm::maximum(format, ptxvm::maximum(format, a, b, extremum(mode)), c, extremum(mode));
  else if constexpr (op == FloatOp::Neg)
    return ptxvm::neg(format, a, mode.ftz);
  else if constexpr (op == FloatOp::Abs)
    return ptxvm::abs(format, a, mode.ftz);
  else if constexpr (op == FloatOp::CopySign)
    return ptxvm::copysign(format, a, b);
  else if constexpr (op == FloatOp::Rcp)
    return ptxvm::rcp(format, a, mode);
  else if constexpr (op == FloatOp::RcpApprox)
    return approximate(Approximate::Rcp, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Sqrt)
    return ptxvm::sqrt(format, a, mode);
  else if constexpr (op == FloatOp::SqrtApprox)
    return approximate(Approximate::Sqrt, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Rsqrt)
    return approximate(Approximate::Rsqrt, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Ex2)
    return approximate(Approximate::Ex2, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Lg2)
    return approximate(Approximate::Lg2, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Sin)
    return approximate(Approximate::Sin, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Cos)
    return approximate(Approximate::Cos, format, a, mode.ftz);
  else if constexpr (op == FloatOp::Tanh)
    return approximate(Approximate::Tanh, format, a, mode.ftz);
  else if constexpr (op == FloatOp::RcpApproxFtzF64)
    return approximate(Approximate::Rcp, format, a, true);
  else
    return approximate(Approximate::Rsqrt, format, a, true);
}

template <FloatOp op> uint64_t either(Type type, uint64_t a, uint64_t b, uint64_t c, LaneMode mode) {
  switch (type) {
  case Type::F16: return one<op>(Format::F16, a, b, c, mode);
  case Type::BF16: return one<op>(Format::BF16, a, b, c, mode);
  case Type::F32: return one<op>(Format::F32, a, b, c, mode);
  case Type::F64: return one<op>(Format::F64, a, b, c, mode);
  default: break;
  }
  Format half = type == Type::F16x2 ? Format::F16 : Format::BF16;
  return ptxvm::eachHalf(uint32_t(a), uint32_t(b), uint32_t(c),
                         [&](uint32_t x, uint32_t y, uint32_t z) { return one<op>(half, x, y, z, mode); });
}

template <FloatOp op, Type type, class Register>
void lanes(uint32_t mask, void *d, const void *a, const void *b, const void *c, LaneMode mode) {
  auto *to = static_cast<Register *>(d);
  auto *x = static_cast<const Register *>(a), *y = static_cast<const Register *>(b),
       *z = static_cast<const Register *>(c);
  eachLane(mask,
           [&](unsigned i) { to[i] = Register(either<op>(type, x[i], y ? y[i] : 0, z ? z[i] : 0, mode)); });
}

template <FloatOp op> FloatFunction lanesOf(Type type) {
  switch (type) {
  case Type::F16: return lanes<op, Type::F16, uint32_t>;
  case Type::BF16: return lanes<op, Type::BF16, uint32_t>;
  case Type::F16x2: return lanes<op, Type::F16x2, uint32_t>;
  case Type::BF16x2: return lanes<op, Type::BF16x2, uint32_t>;
  case Type::F32: return lanes<op, Type::F32, uint32_t>;
  case Type::F64: return lanes<op, Type::F64, uint64_t>;
  default: return nullptr;
  }
}

// f32 to nearest without modifiers: all lanes at once, the written ones chosen after. A NaN becomes
// the canonical one. Subnormals that other lanes hold cost time, never a result.
template <FloatOp op>
void plainF32(uint32_t mask, void *d, const void *a, const void *b, const void *c, LaneMode) {
  auto *to = static_cast<uint32_t *>(d);
  auto *x = static_cast<const uint32_t *>(a), *y = static_cast<const uint32_t *>(b),
       *z = static_cast<const uint32_t *>(c);
  uint32_t result[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    float p = std::bit_cast<float>(x[i]), q = std::bit_cast<float>(y[i]), r;
    if constexpr (op == FloatOp::Add)
      r = p + q;
    else if constexpr (op == FloatOp::Sub)
      r = p - q;
    else if constexpr (op == FloatOp::Mul)
      r = p * q;
    else
      r = std::fma(p, q, std::bit_cast<float>(z[i]));
    uint32_t bits = std::bit_cast<uint32_t>(r);
    result[i] = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
  }
  for (unsigned i = 0; i < kLanes; ++i)
    to[i] = mask >> i & 1 ? result[i] : to[i];
}

FloatFunction plainFunction(FloatOp op) {
  switch (op) {
  case FloatOp::Add: return plainF32<FloatOp::Add>;
  case FloatOp::Sub: return plainF32<FloatOp::Sub>;
  case FloatOp::Mul: return plainF32<FloatOp::Mul>;
  case FloatOp::Fma: return plainF32<FloatOp::Fma>;
  default: return nullptr;
  }
}

// Rows: the op, and the formats that PTX has it for.
constexpr unsigned kHalves = 1, kSingle = 2, kDouble = 4;

unsigned formatsOf(FloatOp op) {
  switch (op) {
  case FloatOp::Add:
  case FloatOp::Sub:
  case FloatOp::Mul:
  case FloatOp::Fma:
  case FloatOp::Min:
  case FloatOp::Max:
  case FloatOp::Neg:
  case FloatOp::Abs: return kHalves | kSingle | kDouble;
  case FloatOp::Ex2:
  case FloatOp::Tanh: return kHalves | kSingle;
  case FloatOp::Div:
  case FloatOp::CopySign:
  case FloatOp::Rcp:
  case FloatOp::Sqrt:
  case FloatOp::Rsqrt: return kSingle | kDouble;
  case FloatOp::RcpApproxFtzF64:
  case FloatOp::RsqrtApproxFtzF64: return kDouble;
  default: return kSingle;
  }
}

bool hasForm(FloatOp op, Type type) {
  unsigned formats = formatsOf(op);
  return formats & (type == Type::F64 ? kDouble : type == Type::F32 ? kSingle : kHalves);
}

FloatFunction anyFunction(FloatOp op, Type type) {
  switch (op) {
#define OP(Name)                                                                                             \
  case FloatOp::Name: return lanesOf<FloatOp::Name>(type);
    // clang-format off: a list that it moves at each run
    OP(Add) OP(Sub) OP(Mul) OP(Fma) OP(Div) OP(DivApprox) OP(DivFull) OP(Min) OP(Max) OP(Min3) OP(Max3)
    OP(Neg) OP(Abs) OP(CopySign) OP(Rcp) OP(RcpApprox) OP(Sqrt) OP(SqrtApprox) OP(Rsqrt) OP(Ex2) OP(Lg2)
    OP(Sin) OP(Cos) OP(Tanh) OP(RcpApproxFtzF64) OP(RsqrtApproxFtzF64)
    // clang-format on
#undef OP
  }
  return nullptr;
}

Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2: return Format::F16;
  case Type::F64: return Format::F64;
  case Type::F32: return Format::F32;
  default: return Format::BF16;
  }
}

bool isPair(Type type) { return type == Type::F16x2 || type == Type::BF16x2; }

} // namespace

FloatFunction floatFunction(FloatOp op, Type format, LaneMode mode) {
  if (!hasForm(op, format))
    return nullptr;
  bool plain = format == Type::F32 && mode.round == Round::Nearest && !mode.ftz && !mode.sat && !mode.relu;
  if (plain)
    if (FloatFunction function = plainFunction(op))
      return function;
  return anyFunction(op, format);
}

uint32_t compareFloats(Compare how, Type format, bool ftz, uint32_t mask, const void *a, const void *b,
                       uint32_t *high) {
  Format f = formatOf(format);
  uint32_t result = 0, above = 0;
  auto *x = static_cast<const uint32_t *>(a), *y = static_cast<const uint32_t *>(b);
  auto *x64 = static_cast<const uint64_t *>(a), *y64 = static_cast<const uint64_t *>(b);
  eachLane(mask, [&](unsigned i) {
    uint64_t p = format == Type::F64 ? x64[i] : x[i], q = format == Type::F64 ? y64[i] : y[i];
    if (isPair(format)) {
      above |= uint32_t(ptxvm::compare(f, how, p >> 16, q >> 16, ftz)) << i;
      p &= 0xffff;
      q &= 0xffff;
    }
    result |= uint32_t(ptxvm::compare(f, how, p, q, ftz)) << i;
  });
  if (high)
    *high = above;
  return result;
}

uint32_t classifyFloats(FloatClass what, Type format, uint32_t mask, const void *a) {
  uint32_t result = 0;
  eachLane(mask, [&](unsigned i) {
    uint64_t x =
        format == Type::F64 ? static_cast<const uint64_t *>(a)[i] : static_cast<const uint32_t *>(a)[i];
    result |= uint32_t(ptxvm::testp(formatOf(format), what, x)) << i;
  });
  return result;
}

uint64_t applyFloat(FloatOp op, Type format, LaneMode mode, uint64_t a, uint64_t b, uint64_t c) {
  FloatFunction function = floatFunction(op, format, mode);
  if (!function)
    return 0;
  uint64_t x[kLanes] = {a}, y[kLanes] = {b}, z[kLanes] = {c}, d[kLanes] = {};
  if (format == Type::F64) {
    function(1, d, x, y, z, mode);
    return d[0];
  }
  uint32_t x32[kLanes] = {uint32_t(a)}, y32[kLanes] = {uint32_t(b)}, z32[kLanes] = {uint32_t(c)},
           d32[kLanes] = {};
  function(1, d32, x32, y32, z32, mode);
  return d32[0];
}

} // namespace tegula::ptxvm
