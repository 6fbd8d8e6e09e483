// Integer arithmetic. PTX ISA manual, "Integer Arithmetic Instructions", "Extended-Precision
// Integer Arithmetic Instructions".
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <limits>

namespace tegula::ptxvm {
namespace {

using Wide = unsigned __int128;
using SignedWide = __int128;
template <class T> using WideOf = std::conditional_t<std::is_signed_v<T>, SignedWide, Wide>;

template <class T, auto f> void unary(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d);
  auto *a = w.lanes<Lane<T>>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<T>(f(T(a[i]))); });
}
template <class T, auto f> void binary(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d);
  auto *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<T>(f(T(a[i]), T(b[i]))); });
}
template <class T, auto f> void ternary(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d);
  auto *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b), *c = w.lanes<Lane<T>>(op.c);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<T>(f(T(a[i]), T(b[i]), T(c[i]))); });
}

#define EACH_INTEGER(shape, f)                                                                               \
  switch (type) {                                                                                            \
  case Type::U8: return shape<uint8_t, f>;                                                                   \
  case Type::S8: return shape<int8_t, f>;                                                                    \
  case Type::U16:                                                                                            \
  case Type::B16: return shape<uint16_t, f>;                                                                 \
  case Type::S16: return shape<int16_t, f>;                                                                  \
  case Type::U32:                                                                                            \
  case Type::B32: return shape<uint32_t, f>;                                                                 \
  case Type::S32: return shape<int32_t, f>;                                                                  \
  case Type::U64:                                                                                            \
  case Type::B64: return shape<uint64_t, f>;                                                                 \
  case Type::S64: return shape<int64_t, f>;                                                                  \
  default: return nullptr;                                                                                   \
  }
template <auto f> Handler unaryFor(Type type) { EACH_INTEGER(unary, f) }
template <auto f> Handler binaryFor(Type type) { EACH_INTEGER(binary, f) }
template <auto f> Handler ternaryFor(Type type) { EACH_INTEGER(ternary, f) }

void use(Lowering &l, Handler handler) {
  l.regular(l.type());
  l.op.run = handler;
  if (!handler)
    l.error = "no such type of this instruction";
}

// f on both halves of a 32-bit register.
template <class T, auto f> void halves(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b);
  forLanes(mask, [&](unsigned i) {
    uint32_t low = uint16_t(f(T(a[i]), T(b[i]))), high = uint16_t(f(T(a[i] >> 16), T(b[i] >> 16)));
    d[i] = low | high << 16;
  });
}

constexpr auto plus = [](auto a, auto b) { return decltype(a)(uint64_t(a) + uint64_t(b)); };
constexpr auto minus = [](auto a, auto b) { return decltype(a)(uint64_t(a) - uint64_t(b)); };
constexpr auto mulLow = [](auto a, auto b) { return decltype(a)(uint64_t(a) * uint64_t(b)); };
constexpr auto mulHigh = [](auto a, auto b) {
  using T = decltype(a);
  return T((WideOf<T>(a) * WideOf<T>(b)) >> (sizeof(T) * 8));
};
constexpr auto madLow = [](auto a, auto b, auto c) { return plus(mulLow(a, b), c); };
constexpr auto madHigh = [](auto a, auto b, auto c) { return plus(mulHigh(a, b), c); };
int32_t clamp32(int64_t value) {
  return int32_t(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}
constexpr auto addSat = [](int32_t a, int32_t b) { return clamp32(int64_t(a) + b); };
constexpr auto subSat = [](int32_t a, int32_t b) { return clamp32(int64_t(a) - b); };
constexpr auto madHighSat = [](int32_t a, int32_t b, int32_t c) {
  return clamp32(int64_t(mulHigh(a, b)) + c);
};
constexpr auto lesser = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto greater = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto minimumRelu = [](auto a, auto b) { return greater(lesser(a, b), decltype(a)(0)); };
constexpr auto maximumRelu = [](auto a, auto b) { return greater(greater(a, b), decltype(a)(0)); };

// Division by zero has no defined result in PTX; hardware gives all ones, for the remainder too.
constexpr auto divide = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0)
    return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return minus(T(0), a);
  return T(a / b);
};
constexpr auto remainder = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0)
    return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return T(0);
  return T(a % b);
};

template <class T, bool isHigh> void carryAdd(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) {
    Wide sum = Wide(a[i]) + Wide(b[i]) + (op.flag ? w.carry >> i & 1 : 0);
    d[i] = T(sum);
    if (op.flag2)
      w.carry = (w.carry & ~(1u << i)) | uint32_t(sum >> (sizeof(T) * 8) & 1) << i;
  });
}
// The carry flag of a subtraction is set where there was a borrow.
template <class T> void carrySub(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) {
    Wide difference = Wide(a[i]) - Wide(b[i]) - (op.flag ? w.carry >> i & 1 : 0);
    d[i] = T(difference);
    if (op.flag2)
      w.carry = (w.carry & ~(1u << i)) | uint32_t(difference >> (sizeof(T) * 8) & 1) << i;
  });
}
template <class T> void carryMad(Warp &w, const Op &op, uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b),
       *c = w.lanes<Lane<T>>(op.c);
  forLanes(mask, [&](unsigned i) {
    U product = U(op.mode ? mulHigh(T(a[i]), T(b[i])) : mulLow(T(a[i]), T(b[i])));
    Wide sum = Wide(product) + Wide(U(c[i])) + (op.flag ? w.carry >> i & 1 : 0);
    d[i] = U(sum);
    if (op.flag2)
      w.carry = (w.carry & ~(1u << i)) | uint32_t(sum >> (sizeof(T) * 8) & 1) << i;
  });
}

template <class T, class W> void mulWide(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<W>>(op.d);
  auto *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<W>(W(int64_t(T(a[i])) * int64_t(T(b[i])))); });
}
template <class T, class W> void mulWideUnsigned(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<W>>(op.d);
  auto *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<W>(W(uint64_t(T(a[i])) * uint64_t(T(b[i])))); });
}
template <class T, class W> void madWide(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<W>>(op.d), *c = w.lanes<Lane<W>>(op.c);
  auto *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) {
    uint64_t product = std::is_signed_v<T> ? uint64_t(int64_t(T(a[i])) * int64_t(T(b[i])))
                                           : uint64_t(T(a[i])) * uint64_t(T(b[i]));
    d[i] = toLane<W>(W(product + uint64_t(c[i])));
  });
}

Type doubled(Type type) {
  switch (type) {
  case Type::U16: return Type::U32;
  case Type::S16: return Type::S32;
  case Type::U32: return Type::U64;
  default: return Type::S64;
  }
}

int64_t extend24(uint32_t value, bool isSigned) {
  return isSigned ? int64_t(int32_t(value << 8) >> 8) : int64_t(value & 0xffffff);
}
void mul24(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b);
  forLanes(mask, [&](unsigned i) {
    int64_t product = extend24(a[i], op.flag) * extend24(b[i], op.flag);
    uint32_t part = uint32_t(op.mode ? product >> 16 : product);
    d[i] = part + (op.c == nowhere ? 0 : w.lanes<uint32_t>(op.c)[i]);
  });
}

// How much of a place or length counts: the manual says 8 bits; hardware takes all of them for
// fields of 64 bits, which it makes of shifts.
constexpr uint32_t fieldMask(unsigned bits) { return bits == 64 ? ~0u : 0xff; }

template <class T> void bitFieldExtract(Warp &w, const Op &op, uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned bits = sizeof(T) * 8;
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a);
  auto *b = w.lanes<uint32_t>(op.b), *c = w.lanes<uint32_t>(op.c);
  constexpr uint32_t most = fieldMask(bits);
  forLanes(mask, [&](unsigned i) {
    uint64_t start = b[i] & most, length = c[i] & most;
    U value = U(a[i]);
    // The sign is that of the field's top bit, or of the value's where the field passes it.
    uint64_t top = std::min<uint64_t>(start + length - 1, bits - 1);
    bool negative = std::is_signed_v<T> && length && (value >> top & 1);
    U field = start < bits ? U(value >> start) : U(0);
    uint64_t known = start < bits ? std::min<uint64_t>(length, bits - start) : 0;
    if (known < bits) {
      U keep = U((U(1) << known) - 1);
      field = negative ? U(field | ~keep) : U(field & keep);
    }
    d[i] = field;
  });
}
template <class T> void bitFieldInsert(Warp &w, const Op &op, uint32_t mask) {
  constexpr unsigned bits = sizeof(T) * 8;
  auto *d = w.lanes<T>(op.d), *a = w.lanes<T>(op.a), *b = w.lanes<T>(op.b);
  auto *c = w.lanes<uint32_t>(op.c), *e = w.lanes<uint32_t>(op.e);
  constexpr uint32_t most = fieldMask(bits);
  forLanes(mask, [&](unsigned i) {
    uint32_t start = c[i] & most, length = e[i] & most;
    T keep = length >= bits ? T(~T(0)) : T((T(1) << length) - 1);
    T field = start < bits ? T(keep << start) : T(0);
    T value = start < bits ? T(a[i] << start) : T(0);
    d[i] = (b[i] & ~field) | (value & field);
  });
}

template <class T, auto f> void counting(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d);
  auto *a = w.lanes<Lane<T>>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = uint32_t(f(T(a[i]))); });
}
constexpr auto countOnes = [](auto a) { return std::popcount(std::make_unsigned_t<decltype(a)>(a)); };
constexpr auto countLeadingZeros = [](auto a) {
  return std::countl_zero(std::make_unsigned_t<decltype(a)>(a));
};
// The most significant bit that differs from the sign; all ones when there is none.
constexpr auto findBit = [](auto a) {
  using T = decltype(a);
  using U = std::make_unsigned_t<T>;
  U value = std::is_signed_v<T> && a < 0 ? U(~U(a)) : U(a);
  return value ? uint32_t(sizeof(T) * 8 - 1) - uint32_t(std::countl_zero(value)) : ~0u;
};
constexpr auto findShift = [](auto a) {
  uint32_t at = findBit(a);
  return at == ~0u ? ~0u : uint32_t(sizeof(a) * 8 - 1) - at;
};
template <class T> T reverseBits(T value) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i)
    result = T(result << 1) | T(value >> i & 1);
  return result;
}

// The n-th set bit from a base: fns.b32 d, mask, base, offset.
void findNthSet(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b),
       *c = w.lanes<uint32_t>(op.c);
  forLanes(mask, [&](unsigned i) {
    auto offset = int32_t(c[i]);
    uint32_t result = ~0u;
    int64_t left = offset < 0 ? -int64_t(offset) : offset ? offset : 1;
    int step = offset < 0 ? -1 : 1;
    for (int64_t at = b[i]; at >= 0 && at < 32; at += step) {
      bool isSet = a[i] >> at & 1;
      if (offset == 0) {
        result = isSet ? uint32_t(at) : ~0u;
        break;
      }
      if (isSet && --left == 0) {
        result = uint32_t(at);
        break;
      }
    }
    d[i] = result;
  });
}

void dotProduct(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b),
       *c = w.lanes<uint32_t>(op.c);
  auto byte = [](uint32_t value, unsigned at, bool isSigned) {
    return isSigned ? int32_t(int8_t(value >> at * 8)) : int32_t(uint8_t(value >> at * 8));
  };
  auto half = [](uint32_t value, unsigned at, bool isSigned) {
    return isSigned ? int32_t(int16_t(value >> at * 16)) : int32_t(uint16_t(value >> at * 16));
  };
  forLanes(mask, [&](unsigned i) {
    uint32_t sum = c[i];
    if (op.mode == 4)
      for (unsigned k = 0; k < 4; ++k)
        sum += uint32_t(byte(a[i], k, op.flag) * byte(b[i], k, op.flag2));
    else // dp2a.lo, .hi: which half of b
      for (unsigned k = 0; k < 2; ++k)
        sum += uint32_t(int64_t(half(a[i], k, op.flag)) * byte(b[i], k + op.mode * 2, op.flag2));
    d[i] = sum;
  });
}

constexpr auto sumOfDifference = [](auto a, auto b, auto c) {
  return plus(c, a < b ? minus(b, a) : minus(a, b));
};

} // namespace

void lowerAdd(Lowering &l) {
  if (l.type() == Type::U16x2)
    return use(l, halves<uint16_t, plus>);
  if (l.type() == Type::S16x2)
    return use(l, halves<int16_t, plus>);
  use(l, l.has(Modifier::sat) ? binary<int32_t, addSat> : binaryFor<plus>(l.type()));
}
void lowerSub(Lowering &l) {
  use(l, l.has(Modifier::sat) ? binary<int32_t, subSat> : binaryFor<minus>(l.type()));
}
void lowerAddCarry(Lowering &l) {
  l.op.flag = l.mnemonic() == "addc";
  l.op.flag2 = l.has(Modifier::cc);
  use(l, bitWidth(l.type()) == 32 ? carryAdd<uint32_t, false> : carryAdd<uint64_t, false>);
}
void lowerSubCarry(Lowering &l) {
  l.op.flag = l.mnemonic() == "subc";
  l.op.flag2 = l.has(Modifier::cc);
  use(l, bitWidth(l.type()) == 32 ? carrySub<uint32_t> : carrySub<uint64_t>);
}
void lowerMadCarry(Lowering &l) {
  l.op.flag = l.mnemonic() == "madc";
  l.op.flag2 = l.has(Modifier::cc);
  l.op.mode = l.has(Modifier::hi);
  bool isSigned = ptxvm::isSigned(l.type());
  if (bitWidth(l.type()) == 32)
    use(l, isSigned ? carryMad<int32_t> : carryMad<uint32_t>);
  else
    use(l, isSigned ? carryMad<int64_t> : carryMad<uint64_t>);
}
void lowerMul(Lowering &l) {
  use(l, l.has(Modifier::hi) ? binaryFor<mulHigh>(l.type()) : binaryFor<mulLow>(l.type()));
}
void lowerMad(Lowering &l) {
  if (l.has(Modifier::sat))
    return use(l, ternary<int32_t, madHighSat>);
  use(l, l.has(Modifier::hi) ? ternaryFor<madHigh>(l.type()) : ternaryFor<madLow>(l.type()));
}
void lowerMulWide(Lowering &l) {
  l.op.d = l.place(0, doubled(l.type()));
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, l.type());
  switch (l.type()) {
  case Type::U16: l.op.run = mulWideUnsigned<uint16_t, uint32_t>; break;
  case Type::S16: l.op.run = mulWide<int16_t, int32_t>; break;
  case Type::U32: l.op.run = mulWideUnsigned<uint32_t, uint64_t>; break;
  default: l.op.run = mulWide<int32_t, int64_t>; break;
  }
}
void lowerMadWide(Lowering &l) {
  l.op.d = l.place(0, doubled(l.type()));
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, l.type());
  l.op.c = l.place(3, doubled(l.type()));
  switch (l.type()) {
  case Type::U16: l.op.run = madWide<uint16_t, uint32_t>; break;
  case Type::S16: l.op.run = madWide<int16_t, int32_t>; break;
  case Type::U32: l.op.run = madWide<uint32_t, uint64_t>; break;
  default: l.op.run = madWide<int32_t, int64_t>; break;
  }
}
void lowerMul24(Lowering &l) {
  l.op.flag = isSigned(l.type());
  l.op.mode = l.has(Modifier::hi);
  use(l, mul24);
}
void lowerMad24(Lowering &l) { lowerMul24(l); }
void lowerSad(Lowering &l) { use(l, ternaryFor<sumOfDifference>(l.type())); }
void lowerDiv(Lowering &l) { use(l, binaryFor<divide>(l.type())); }
void lowerRem(Lowering &l) { use(l, binaryFor<remainder>(l.type())); }
void lowerAbs(Lowering &l) {
  use(l, unaryFor<[](auto a) { return a < 0 ? minus(decltype(a)(0), a) : a; }>(l.type()));
}
void lowerNeg(Lowering &l) {
  use(l, unaryFor<[](auto a) { return minus(decltype(a)(0), a); }>(l.type()));
}
void lowerMinMax(Lowering &l) {
  bool isMin = l.mnemonic() == "min", relu = l.has(Modifier::relu);
  if (l.type() == Type::U16x2)
    return use(l, isMin ? halves<uint16_t, lesser> : halves<uint16_t, greater>);
  if (l.type() == Type::S16x2 && relu)
    return use(l, isMin ? halves<int16_t, minimumRelu> : halves<int16_t, maximumRelu>);
  if (l.type() == Type::S16x2)
    return use(l, isMin ? halves<int16_t, lesser> : halves<int16_t, greater>);
  if (relu)
    return use(l, isMin ? binary<int32_t, minimumRelu> : binary<int32_t, maximumRelu>);
  use(l, isMin ? binaryFor<lesser>(l.type()) : binaryFor<greater>(l.type()));
}
void lowerPopc(Lowering &l) {
  use(l, bitWidth(l.type()) == 32 ? counting<uint32_t, countOnes> : counting<uint64_t, countOnes>);
}
void lowerClz(Lowering &l) {
  use(l, bitWidth(l.type()) == 32 ? counting<uint32_t, countLeadingZeros>
                                  : counting<uint64_t, countLeadingZeros>);
}
void lowerBfind(Lowering &l) {
  bool shift = l.has(Modifier::shiftamt);
  switch (l.type()) {
  case Type::U32: return use(l, shift ? counting<uint32_t, findShift> : counting<uint32_t, findBit>);
  case Type::S32: return use(l, shift ? counting<int32_t, findShift> : counting<int32_t, findBit>);
  case Type::U64: return use(l, shift ? counting<uint64_t, findShift> : counting<uint64_t, findBit>);
  default: return use(l, shift ? counting<int64_t, findShift> : counting<int64_t, findBit>);
  }
}
void lowerBrev(Lowering &l) {
  use(l, unaryFor<[](auto a) { return reverseBits(a); }>(l.type()));
}
void lowerFns(Lowering &l) { use(l, findNthSet); }
void lowerBfe(Lowering &l) {
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, Type::U32);
  l.op.c = l.place(3, Type::U32);
  switch (l.type()) {
  case Type::U32: l.op.run = bitFieldExtract<uint32_t>; break;
  case Type::S32: l.op.run = bitFieldExtract<int32_t>; break;
  case Type::U64: l.op.run = bitFieldExtract<uint64_t>; break;
  default: l.op.run = bitFieldExtract<int64_t>; break;
  }
}
void lowerBfi(Lowering &l) {
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, l.type());
  l.op.c = l.place(3, Type::U32);
  l.op.e = l.place(4, Type::U32);
  l.op.run = bitWidth(l.type()) == 32 ? bitFieldInsert<uint32_t> : bitFieldInsert<uint64_t>;
}
// szext d, a, n: the low n bits of a, extended.
void lowerSzext(Lowering &l) {
  constexpr auto clampUnsigned = [](uint32_t a, uint32_t n) { return n >= 32 ? a : a & ((1u << n) - 1); };
  constexpr auto clampSigned = [](int32_t a, int32_t n) {
    return uint32_t(n) >= 32 ? a : n == 0 ? 0 : int32_t(uint32_t(a) << (32 - n)) >> (32 - n);
  };
  constexpr auto wrapUnsigned = [](uint32_t a, uint32_t n) { return a & ((1u << (n & 31)) - 1); };
  constexpr auto wrapSigned = [](int32_t a, int32_t n) {
    return (n & 31) == 0 ? 0 : int32_t(uint32_t(a) << (32 - (n & 31))) >> (32 - (n & 31));
  };
  bool wrap = l.has(Modifier::wrap);
  if (isSigned(l.type()))
    use(l, wrap ? binary<int32_t, wrapSigned> : binary<int32_t, clampSigned>);
  else
    use(l, wrap ? binary<uint32_t, wrapUnsigned> : binary<uint32_t, clampUnsigned>);
}
// bmsk d, a, b: b ones from bit a on.
void lowerBmsk(Lowering &l) {
  constexpr auto clamped = [](uint32_t a, uint32_t b) {
    uint32_t ones = b >= 32 ? ~0u : (1u << b) - 1;
    return a >= 32 ? 0u : ones << a;
  };
  constexpr auto wrapped = [](uint32_t a, uint32_t b) { return ((1u << (b & 31)) - 1) << (a & 31); };
  use(l, l.has(Modifier::wrap) ? binary<uint32_t, wrapped> : binary<uint32_t, clamped>);
}
void lowerDp4a(Lowering &l) {
  l.regular(Type::B32);
  l.op.mode = 4;
  l.op.flag = isSigned(l.type(0));
  l.op.flag2 = isSigned(l.type(1));
  l.op.run = dotProduct;
}
void lowerDp2a(Lowering &l) {
  lowerDp4a(l);
  l.op.mode = l.has(Modifier::hi);
}

} // namespace tegula::ptxvm
