// Logic, shifts and permutes of bits. PTX ISA manual, "Logic and Shift Instructions", "prmt".
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {
namespace {

template <class T, auto f> void bits1(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<T>(T(f(T(a[i])))); });
}
template <class T, auto f> void bits2(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  forLanes(mask, [&](unsigned i) { d[i] = toLane<T>(T(f(T(a[i]), T(b[i])))); });
}
template <auto f> Handler bits1For(Type type) {
  return bitWidth(type) == 16   ? bits1<uint16_t, f>
         : bitWidth(type) == 32 ? bits1<uint32_t, f>
                                : bits1<uint64_t, f>;
}
template <auto f> Handler bits2For(Type type) {
  return bitWidth(type) == 16   ? bits2<uint16_t, f>
         : bitWidth(type) == 32 ? bits2<uint32_t, f>
                                : bits2<uint64_t, f>;
}

constexpr auto bitAnd = [](auto a, auto b) { return a & b; };
constexpr auto bitOr = [](auto a, auto b) { return a | b; };
constexpr auto bitXor = [](auto a, auto b) { return a ^ b; };

// mode: 0 and, 1 or, 2 xor, 3 not. value: bit 0, 1: a, b negated.
void logicOfPredicates(Warp &w, const Op &op, uint32_t mask) {
  if (op.d == nowhere)
    return;
  uint32_t a = w.predicates[op.a] ^ (op.value & 1 ? allLanes : 0);
  uint32_t b = op.b == nowhere ? 0 : w.predicates[op.b] ^ (op.value & 2 ? allLanes : 0);
  uint32_t result = op.mode == 0 ? a & b : op.mode == 1 ? a | b : op.mode == 2 ? a ^ b : ~a;
  uint32_t &d = w.predicates[op.d];
  d = (d & ~mask) | (result & mask);
}

uint32_t lookUp(uint32_t a, uint32_t b, uint32_t c, uint8_t table) {
  uint32_t result = 0;
  if (table & 0x01)
    result |= ~a & ~b & ~c;
  if (table & 0x02)
    result |= ~a & ~b & c;
  if (table & 0x04)
    result |= ~a & b & ~c;
  if (table & 0x08)
    result |= ~a & b & c;
  if (table & 0x10)
    result |= a & ~b & ~c;
  if (table & 0x20)
    result |= a & ~b & c;
  if (table & 0x40)
    result |= a & b & ~c;
  if (table & 0x80)
    result |= a & b & c;
  return result;
}
void lop3(Warp &w, const Op &op, uint32_t mask) {
  auto *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b), *c = w.lanes<uint32_t>(op.c);
  auto *d = op.d == nowhere ? nullptr : w.lanes<uint32_t>(op.d);
  uint32_t nonzero = 0;
  forLanes(mask, [&](unsigned i) {
    uint32_t result = lookUp(a[i], b[i], c[i], uint8_t(op.value));
    nonzero |= uint32_t(result != 0) << i;
    if (d)
      d[i] = result;
  });
  if (op.e == nowhere)
    return;
  uint32_t q = w.predicates[op.p] ^ (op.flag ? allLanes : 0);
  uint32_t result = op.mode ? nonzero | q : nonzero & q;
  w.predicates[op.e] = (w.predicates[op.e] & ~mask) | (result & mask);
}

// Amounts are unsigned and clamp to the width.
template <class T, bool left> void shift(Warp &w, const Op &op, uint32_t mask) {
  constexpr unsigned width = sizeof(T) * 8;
  auto *d = w.lanes<Lane<T>>(op.d), *a = w.lanes<Lane<T>>(op.a);
  auto *b = w.lanes<uint32_t>(op.b);
  forLanes(mask, [&](unsigned i) {
    T value = T(a[i]);
    if constexpr (left)
      d[i] = toLane<T>(b[i] >= width ? T(0) : T(value << b[i]));
    else if constexpr (std::is_signed_v<T>)
      d[i] = toLane<T>(T(value >> (b[i] >= width ? width - 1 : b[i])));
    else
      d[i] = toLane<T>(b[i] >= width ? T(0) : T(value >> b[i]));
  });
}
template <bool left> Handler shiftFor(Type type) {
  switch (type) {
  case Type::S16: return shift<int16_t, left>;
  case Type::S32: return shift<int32_t, left>;
  case Type::S64: return shift<int64_t, left>;
  default: break;
  }
  return bitWidth(type) == 16   ? shift<uint16_t, left>
         : bitWidth(type) == 32 ? shift<uint32_t, left>
                                : shift<uint64_t, left>;
}

// shf d, low, high, amount; flag: left, flag2: wrap.
void funnel(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b),
       *c = w.lanes<uint32_t>(op.c);
  forLanes(mask, [&](unsigned i) {
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    unsigned n = op.flag2 ? c[i] & 31 : std::min(c[i], 32u);
    d[i] = op.flag ? uint32_t((both << n) >> 32) : uint32_t(both >> n);
  });
}

uint32_t pick(uint64_t bytes, unsigned selector) {
  auto byte = uint8_t(bytes >> (selector & 7) * 8);
  return selector & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte;
}
void permute(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b),
       *c = w.lanes<uint32_t>(op.c);
  forLanes(mask, [&](unsigned i) {
    uint64_t bytes = uint64_t(b[i]) << 32 | a[i];
    uint32_t result = 0;
    for (unsigned k = 0; k < 4; ++k)
      result |= pick(bytes, c[i] >> k * 4 & 15) << k * 8;
    d[i] = result;
  });
}
// The selectors of the modes of prmt, by the low two bits of c; byte 0 first.
constexpr uint8_t permuteModes[6][4][4] = {
    {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}, // f4e
    {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}, // b4e
    {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, // rc8
    {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}, // ecl
    {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}, // ecr
    {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}, // rc16
};
void permuteByMode(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b),
       *c = w.lanes<uint32_t>(op.c);
  forLanes(mask, [&](unsigned i) {
    uint64_t bytes = uint64_t(b[i]) << 32 | a[i];
    uint32_t result = 0;
    for (unsigned k = 0; k < 4; ++k)
      result |= pick(bytes, permuteModes[op.mode][c[i] & 3][k]) << k * 8;
    d[i] = result;
  });
}

} // namespace

void lowerLogic(Lowering &l) {
  l.regular(l.type());
  l.op.run = l.mnemonic() == "and"  ? bits2For<bitAnd>(l.type())
             : l.mnemonic() == "or" ? bits2For<bitOr>(l.type())
                                    : bits2For<bitXor>(l.type());
}
void lowerNot(Lowering &l) {
  l.regular(l.type());
  l.op.run = bits1For<[](auto a) { return ~a; }>(l.type());
}
void lowerCnot(Lowering &l) {
  l.regular(l.type());
  l.op.run = bits1For<[](auto a) { return a == 0; }>(l.type());
}
void lowerLogicPred(Lowering &l) {
  bool ignored = false, negatedA = false, negatedB = false;
  l.op.d = l.predicate(l.operand(0), ignored);
  l.op.a = l.predicate(l.operand(1), negatedA);
  if (l.operandCount() > 2)
    l.op.b = l.predicate(l.operand(2), negatedB);
  l.op.value = (negatedA ? 1 : 0) | (negatedB ? 2 : 0);
  l.op.mode = l.mnemonic() == "and" ? 0 : l.mnemonic() == "or" ? 1 : l.mnemonic() == "xor" ? 2 : 3;
  l.op.run = logicOfPredicates;
}
void lowerLop3(Lowering &l) {
  l.regular(Type::B32);
  l.op.value = uint64_t(l.operand(4).value) & 0xff;
  l.op.run = lop3;
}
void lowerLop3Pred(Lowering &l) { // d|p, a, b, c, table, q
  bool ignored = false;
  l.op.d = l.place(0, Type::B32);
  l.op.e = l.predicate(l.operand(1), ignored);
  l.op.a = l.place(2, Type::B32);
  l.op.b = l.place(3, Type::B32);
  l.op.c = l.place(4, Type::B32);
  l.op.value = uint64_t(l.operand(5).value) & 0xff;
  l.op.p = l.predicate(l.operand(6), l.op.flag);
  l.op.mode = l.has(Modifier::Or);
  l.op.run = lop3;
}
void lowerShift(Lowering &l) {
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, Type::U32);
  l.op.run = l.mnemonic() == "shl" ? shiftFor<true>(l.type()) : shiftFor<false>(l.type());
}
void lowerFunnel(Lowering &l) {
  l.regular(Type::B32);
  l.op.flag = l.has(Modifier::l);
  l.op.flag2 = l.has(Modifier::wrap);
  l.op.run = funnel;
}
void lowerPrmt(Lowering &l) {
  l.regular(Type::B32);
  l.op.run = permute;
}
void lowerPrmtMode(Lowering &l) {
  constexpr Modifier modes[] = {Modifier::f4e, Modifier::b4e, Modifier::rc8,
                                Modifier::ecl, Modifier::ecr, Modifier::rc16};
  l.regular(Type::B32);
  for (uint8_t i = 0; i < 6; ++i)
    if (l.has(modes[i]))
      l.op.mode = i;
  l.op.run = permuteByMode;
}

} // namespace tegula::ptxvm
