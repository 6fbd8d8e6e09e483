// Comparison and selection. PTX ISA manual, "Comparison and Selection Instructions".
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {
namespace {

// How two integers are compared; unsigned ones also by lo ls hi hs.
enum class Order : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

template <class T, Order order> uint32_t compareLanes(Warp &w, const Op &op, uint32_t mask) {
  auto *a = w.lanes<Lane<T>>(op.a), *b = w.lanes<Lane<T>>(op.b);
  uint32_t result = 0;
  forLanes(mask, [&](unsigned i) {
    T x = T(a[i]), y = T(b[i]);
    bool is = order == Order::Eq   ? x == y
              : order == Order::Ne ? x != y
              : order == Order::Lt ? x < y
              : order == Order::Le ? x <= y
              : order == Order::Gt ? x > y
                                   : x >= y;
    result |= uint32_t(is) << i;
  });
  return result;
}
using Comparer = uint32_t (*)(Warp &, const Op &, uint32_t);
template <class T> Comparer comparerOf(Order order) {
  switch (order) {
  case Order::Eq: return compareLanes<T, Order::Eq>;
  case Order::Ne: return compareLanes<T, Order::Ne>;
  case Order::Lt: return compareLanes<T, Order::Lt>;
  case Order::Le: return compareLanes<T, Order::Le>;
  case Order::Gt: return compareLanes<T, Order::Gt>;
  case Order::Ge: return compareLanes<T, Order::Ge>;
  }
  return nullptr;
}
Comparer comparerOf(Type type, Order order) {
  switch (type) {
  case Type::S16: return comparerOf<int16_t>(order);
  case Type::S32: return comparerOf<int32_t>(order);
  case Type::S64: return comparerOf<int64_t>(order);
  default: break;
  }
  return bitWidth(type) == 16   ? comparerOf<uint16_t>(order)
         : bitWidth(type) == 32 ? comparerOf<uint32_t>(order)
                                : comparerOf<uint64_t>(order);
}

Order orderOf(const Lowering &l) {
  if (l.has(Modifier::ne))
    return Order::Ne;
  if (l.has(Modifier::lt) || l.has(Modifier::lo))
    return Order::Lt;
  if (l.has(Modifier::le) || l.has(Modifier::ls))
    return Order::Le;
  if (l.has(Modifier::gt) || l.has(Modifier::hi))
    return Order::Gt;
  if (l.has(Modifier::ge) || l.has(Modifier::hs))
    return Order::Ge;
  return Order::Eq;
}
Compare compareOf(const Lowering &l) {
  constexpr std::pair<Modifier, Compare> table[] = {
      {Modifier::eq, Compare::Eq},   {Modifier::ne, Compare::Ne},    {Modifier::lt, Compare::Lt},
      {Modifier::le, Compare::Le},   {Modifier::gt, Compare::Gt},    {Modifier::ge, Compare::Ge},
      {Modifier::equ, Compare::Equ}, {Modifier::neu, Compare::Neu},  {Modifier::ltu, Compare::Ltu},
      {Modifier::leu, Compare::Leu}, {Modifier::gtu, Compare::Gtu},  {Modifier::geu, Compare::Geu},
      {Modifier::num, Compare::Num}, {Modifier::isNan, Compare::Nan}};
  for (auto [modifier, how] : table)
    if (l.has(modifier))
      return how;
  return Compare::Eq;
}

void write(uint32_t &d, uint32_t mask, uint32_t value) { d = (d & ~mask) | (value & mask); }

// `combine` in mode: 0 none, 1 and, 2 or, 3 xor; with predicate p, flag: it is negated.
uint32_t combine(Warp &w, const Op &op, uint32_t value) {
  if (!op.mode)
    return value;
  uint32_t q = w.predicates[op.p] ^ (op.flag ? allLanes : 0);
  return op.mode == 1 ? value & q : op.mode == 2 ? value | q : value ^ q;
}
// d|e: the second result is of the negated comparison.
void writeBoth(Warp &w, const Op &op, uint32_t mask, uint32_t value) {
  uint32_t first = combine(w, op, value), second = combine(w, op, ~value);
  if (op.d != nowhere)
    write(w.predicates[op.d], mask, first);
  if (op.e != nowhere)
    write(w.predicates[op.e], mask, second);
}

template <class T, Order order> void setp(Warp &w, const Op &op, uint32_t mask) {
  writeBoth(w, op, mask, compareLanes<T, order>(w, op, mask));
}
template <class T> Handler setpOf(Order order) {
  switch (order) {
  case Order::Eq: return setp<T, Order::Eq>;
  case Order::Ne: return setp<T, Order::Ne>;
  case Order::Lt: return setp<T, Order::Lt>;
  case Order::Le: return setp<T, Order::Le>;
  case Order::Gt: return setp<T, Order::Gt>;
  case Order::Ge: return setp<T, Order::Ge>;
  }
  return nullptr;
}

Type typeAt(const Op &op) { return Type(op.value & 0xff); }
Compare howAt(const Op &op) { return Compare(op.value >> 8 & 0xff); }
bool ftzAt(const Op &op) { return op.value >> 16 & 1; }
uint64_t packed(const Lowering &l, Type type) {
  return uint64_t(type) | uint64_t(compareOf(l)) << 8 | uint64_t(l.has(Modifier::ftz)) << 16;
}
uint32_t compareFloat(Warp &w, const Op &op, uint32_t mask, uint32_t *high) {
  return compareFloats(howAt(op), typeAt(op), ftzAt(op), mask, w.file.data() + op.a, w.file.data() + op.b,
                       high);
}

void setpFloat(Warp &w, const Op &op, uint32_t mask) {
  uint32_t high = 0;
  writeBoth(w, op, mask, compareFloat(w, op, mask, &high));
}
void setpPacked(Warp &w, const Op &op, uint32_t mask) { // p|q: the halves
  uint32_t high = 0, low = compareFloat(w, op, mask, &high);
  low = combine(w, op, low);
  high = combine(w, op, high);
  if (op.d != nowhere)
    write(w.predicates[op.d], mask, low);
  if (op.e != nowhere)
    write(w.predicates[op.e], mask, high);
}

// set: all ones, or 1.0, where true. c: the comparer is by an integer type.
struct SetTrue {
  static uint32_t of(Type type) {
    switch (type) {
    case Type::F32: return 0x3f800000;
    case Type::F16: return 0x3c00;
    case Type::BF16: return 0x3f80;
    case Type::F16x2: return 0x3c00;
    case Type::BF16x2: return 0x3f80;
    case Type::U16:
    case Type::S16: return 0xffff;
    default: return ~0u;
    }
  }
};
void setFloat(Warp &w, const Op &op, uint32_t mask) {
  uint32_t high = 0, value = combine(w, op, compareFloat(w, op, mask, &high));
  auto *d = w.lanes<uint32_t>(op.d);
  forLanes(mask, [&](unsigned i) { d[i] = value >> i & 1 ? op.target : 0; });
}
void setPacked(Warp &w, const Op &op, uint32_t mask) {
  uint32_t high = 0, low = compareFloat(w, op, mask, &high);
  auto *d = w.lanes<uint32_t>(op.d);
  uint32_t one = op.target & 0xffff;
  forLanes(mask, [&](unsigned i) { d[i] = (low >> i & 1 ? one : 0) | (high >> i & 1 ? one << 16 : 0); });
}
void setInteger(Warp &w, const Op &op, uint32_t mask) {
  uint32_t value = combine(w, op, comparerOf(typeAt(op), Order(op.value >> 24))(w, op, mask));
  auto *d = w.lanes<uint32_t>(op.d);
  forLanes(mask, [&](unsigned i) { d[i] = value >> i & 1 ? op.target : 0; });
}

template <class L> void selp(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<L>(op.d), *a = w.lanes<L>(op.a), *b = w.lanes<L>(op.b);
  uint32_t p = w.predicates[op.p] ^ (op.flag ? allLanes : 0);
  forLanes(mask, [&](unsigned i) { d[i] = p >> i & 1 ? a[i] : b[i]; });
}
template <class L> void slct(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<L>(op.d), *a = w.lanes<L>(op.a), *b = w.lanes<L>(op.b);
  auto *c = w.lanes<uint32_t>(op.c);
  forLanes(mask, [&](unsigned i) {
    // f32: c >= 0; -0 and, with .ftz, negative subnormals count as 0; NaN selects b.
    uint32_t magnitude = c[i] & 0x7fffffff;
    bool isZero = magnitude == 0 || (op.flag2 && magnitude < 0x00800000);
    bool first = op.flag ? magnitude <= 0x7f800000 && (isZero || !(c[i] >> 31)) : int32_t(c[i]) >= 0;
    d[i] = first ? a[i] : b[i];
  });
}

// Operands of setp: d [|e] a b [q]; of set: d a b [q].
void lowerOperands(Lowering &l, Type type, bool predicateResult) {
  bool ignored = false;
  unsigned at = 1;
  if (predicateResult) {
    l.op.d = l.predicate(l.operand(0), ignored);
    if (l.operand(1).afterBar) {
      l.op.e = l.predicate(l.operand(1), ignored);
      at = 2;
    }
  } else {
    l.op.d = l.place(0, l.type(0));
  }
  l.op.a = l.place(at, type);
  l.op.b = l.place(at + 1, type);
  if (at + 2 < l.operandCount()) {
    l.op.p = l.predicate(l.operand(at + 2), l.op.flag);
    l.op.mode = l.has(Modifier::And) ? 1 : l.has(Modifier::Or) ? 2 : 3;
  }
}

} // namespace

void lowerSetp(Lowering &l) {
  lowerOperands(l, l.type(), true);
  Order order = orderOf(l);
  switch (l.type()) {
  case Type::S16: l.op.run = setpOf<int16_t>(order); return;
  case Type::S32: l.op.run = setpOf<int32_t>(order); return;
  case Type::S64: l.op.run = setpOf<int64_t>(order); return;
  default: break;
  }
  unsigned bits = bitWidth(l.type());
  l.op.run = bits == 16   ? setpOf<uint16_t>(order)
             : bits == 32 ? setpOf<uint32_t>(order)
                          : setpOf<uint64_t>(order);
}
void lowerSetpFloat(Lowering &l) {
  lowerOperands(l, l.type(), true);
  l.op.value = packed(l, l.type());
  l.op.run = setpFloat;
}
void lowerSetpPacked(Lowering &l) {
  lowerSetpFloat(l);
  l.op.run = setpPacked;
}
void lowerSet(Lowering &l) {
  Type type = l.type(1);
  lowerOperands(l, type, false);
  l.op.target = SetTrue::of(l.type(0));
  l.op.value = packed(l, type) | uint64_t(orderOf(l)) << 24;
  l.op.run = kind(type) == TypeKind::Float ? setFloat : setInteger;
}
void lowerSetPacked(Lowering &l) {
  lowerOperands(l, l.type(1), false);
  l.op.target = SetTrue::of(l.type(0));
  l.op.value = packed(l, l.type(1));
  l.op.run = setPacked;
}
void lowerSelp(Lowering &l) {
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, l.type());
  l.op.p = l.predicate(l.operand(3), l.op.flag);
  l.op.run = bitWidth(l.type()) == 64 ? selp<uint64_t> : selp<uint32_t>;
}
void lowerSlct(Lowering &l) {
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.b = l.place(2, l.type());
  l.op.c = l.place(3, l.type(1));
  l.op.flag = l.type(1) == Type::F32;
  l.op.flag2 = l.has(Modifier::ftz);
  l.op.run = bitWidth(l.type()) == 64 ? slct<uint64_t> : slct<uint32_t>;
}

} // namespace tegula::ptxvm
