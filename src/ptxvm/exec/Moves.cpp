// Data between registers: mov with its packing and unpacking, cvt, address spaces. PTX ISA manual,
// "Data Movement and Conversion Instructions".
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tegula::ptxvm {
namespace {

// A value of up to 128 bits of one lane.
struct Value {
  uint64_t low = 0, high = 0;
};

Value readWide(Warp &w, uint32_t place, unsigned bits, unsigned lane) {
  if (bits == 128)
    return {w.lanes<uint64_t>(place)[lane], w.lanes<uint64_t>(place)[warpSize + lane]};
  return {readLane(w, place, bits == 64, lane), 0};
}
void writeWide(Warp &w, uint32_t place, unsigned bits, unsigned lane, Value value) {
  if (place == nowhere)
    return;
  if (bits == 128) {
    w.lanes<uint64_t>(place)[lane] = value.low;
    w.lanes<uint64_t>(place)[warpSize + lane] = value.high;
  } else {
    writeLane(w, place, bits == 64, lane, value.low);
  }
}

template <class L> void copy(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<L>(op.d), *a = w.lanes<L>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = a[i]; });
}
void widen(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint64_t>(op.d);
  auto *a = w.lanes<uint32_t>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = a[i]; });
}
void copyWide(Warp &w, const Op &op, uint32_t mask) {
  forLanes(mask, [&](unsigned i) { writeWide(w, op.d, 128, i, readWide(w, op.a, 128, i)); });
}

// Bits [at, at + width) of a value that has `total` bits, both ways. Parts are of 8 to 64 bits.
void insert(Value &value, unsigned at, unsigned width, uint64_t part) {
  if (width < 64)
    part &= (uint64_t(1) << width) - 1;
  if (at >= 64)
    value.high |= part << (at - 64);
  else
    value.low |= part << at;
}
uint64_t extract(const Value &value, unsigned at, unsigned width) {
  uint64_t part = at >= 64 ? value.high >> (at - 64) : value.low >> at;
  return width < 64 ? part & ((uint64_t(1) << width) - 1) : part;
}

// mov.b64 {a, b}, c and mov.b64 c, {a, b}: parts in AccessForm::results, the whole in op.d or op.a;
// mode: bits of a part; value: bits of the whole.
void unpack(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &parts = w.block->program().accesses[op.detail];
  forLanes(mask, [&](unsigned i) {
    Value whole = readWide(w, op.a, unsigned(op.value), i);
    for (unsigned k = 0; k < parts.count; ++k)
      writeWide(w, parts.results[k].place, parts.results[k].bits, i,
                {extract(whole, k * op.mode, op.mode), 0});
  });
}
void pack(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &parts = w.block->program().accesses[op.detail];
  forLanes(mask, [&](unsigned i) {
    Value whole;
    for (unsigned k = 0; k < parts.count; ++k)
      insert(whole, k * op.mode, op.mode, readWide(w, parts.sources[k].place, parts.sources[k].bits, i).low);
    writeWide(w, op.d, unsigned(op.value), i, whole);
  });
}

void readChanging(Warp &w, const Op &op, uint32_t mask) {
  auto nanoseconds = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  uint64_t clock = w.block->worker->clock;
  uint64_t value = 0;
  switch (Special(op.mode)) {
  case Special::Clock: value = uint32_t(clock); break;
  case Special::ClockHi: value = clock >> 32; break;
  case Special::Clock64: value = clock; break;
  case Special::Globaltimer: value = nanoseconds; break;
  case Special::GlobaltimerLo: value = uint32_t(nanoseconds); break;
  case Special::GlobaltimerHi: value = nanoseconds >> 32; break;
  default: break;
  }
  forLanes(mask, [&](unsigned i) { writeLane(w, op.d, op.flag, i, value); });
}

void copyPredicate(Warp &w, const Op &op, uint32_t mask) {
  if (op.d == nowhere)
    return;
  uint32_t value = w.predicates[op.a] ^ (op.flag ? allLanes : 0);
  w.predicates[op.d] = (w.predicates[op.d] & ~mask) | (value & mask);
}

// A list of parts of a mov as an AccessForm of the program.
uint32_t addParts(Lowering &l, const Operand &vector, bool isSource) {
  AccessForm access;
  access.count = vector.count;
  unsigned bits = bitWidth(l.type()) / vector.count;
  Type type = bits == 64 ? Type::B64 : bits == 32 ? Type::B32 : bits == 16 ? Type::B16 : Type::B8;
  for (unsigned i = 0; i < vector.count; ++i) {
    const Operand &part = l.kernel().parts[vector.first + i];
    auto &to = isSource ? access.sources[i] : access.results[i];
    to = {l.place(part, type), uint8_t(l.registerBits(part, type))};
  }
  l.op.mode = uint8_t(bits);
  l.op.value = std::max(bitWidth(l.type()), 32u);
  l.program.accesses.push_back(access);
  return uint32_t(l.program.accesses.size() - 1);
}

// ---- cvt ----

int64_t extendFrom(uint64_t value, unsigned bits) {
  return bits == 64 ? int64_t(value) : int64_t(value << (64 - bits)) >> (64 - bits);
}

// Between integers; mode: bits of the source, value: bits of the result.
uint64_t convertInteger(uint64_t value, Type to, Type from, bool saturate) {
  unsigned toBits = bitWidth(to), fromBits = bitWidth(from);
  bool fromSigned = isSigned(from);
  __int128 exact = fromSigned ? __int128(extendFrom(value, fromBits))
                              : __int128(fromBits == 64 ? value : value & ((uint64_t(1) << fromBits) - 1));
  if (saturate) {
    __int128 low = isSigned(to) ? -(__int128(1) << (toBits - 1)) : 0;
    __int128 high = (__int128(1) << (isSigned(to) ? toBits - 1 : toBits)) - 1;
    exact = std::clamp(exact, low, high);
  }
  return uint64_t(exact);
}

// How a result of `type` fills a wider register: by its sign.
uint64_t fill(uint64_t value, Type type, unsigned registerBits) {
  unsigned bits = bitWidth(type);
  uint64_t extended = isSigned(type) ? uint64_t(extendFrom(value, bits))
                      : bits == 64   ? value
                                     : value & ((uint64_t(1) << bits) - 1);
  // A 16-bit register keeps 16 bits of its 32-bit lane.
  return registerBits >= 64 ? extended : extended & ((uint64_t(1) << registerBits) - 1);
}

struct Widths { // of registers, in Op::target: low byte destination, next source
  unsigned to, from;
};
Widths widthsOf(const Op &op) { return {op.target & 0xff, op.target >> 8 & 0xff}; }

void cvtInteger(Warp &w, const Op &op, uint32_t mask) {
  const Conversion &conversion = w.block->program().conversions[op.detail];
  Widths widths = widthsOf(op);
  forLanes(mask, [&](unsigned i) {
    uint64_t value = readLane(w, op.a, widths.from == 64, i);
    value = convertInteger(value, conversion.to, conversion.from, op.flag);
    writeLane(w, op.d, widths.to == 64, i, fill(value, conversion.to, widths.to));
  });
}
// The most usual: between 32 and 64 bits.
template <class T> void extend32(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint64_t>(op.d);
  auto *a = w.lanes<uint32_t>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = uint64_t(int64_t(T(a[i]))); });
}
void truncate64(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d);
  auto *a = w.lanes<uint64_t>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = uint32_t(a[i]); });
}

void cvtFloat(Warp &w, const Op &op, uint32_t mask) {
  const DecodedKernel &program = w.block->program();
  const Conversion &conversion = program.conversions[op.detail];
  Widths widths = widthsOf(op);
  alignas(64) uint64_t a[warpSize], b[warpSize], d[warpSize];
  bool isSigned = ptxvm::isSigned(conversion.from);
  unsigned bits = bitWidth(conversion.from);
  uint64_t keep = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  forLanes(mask, [&](unsigned i) {
    uint64_t value = readLane(w, op.a, widths.from == 64, i);
    a[i] = isSigned ? uint64_t(extendFrom(value, bits)) : value & keep;
  });
  if (op.b != nowhere)
    forLanes(mask, [&](unsigned i) { b[i] = readLane(w, op.b, widths.from == 64, i); });
  program.convertFunctions[op.detail](conversion, mask, d, a, op.b == nowhere ? nullptr : b);
  forLanes(mask,
           [&](unsigned i) { writeLane(w, op.d, widths.to == 64, i, fill(d[i], conversion.to, widths.to)); });
}

void cvtPack(Warp &w, const Op &op, uint32_t mask) {
  // cvt.pack.sat d, a, b, c: b in the low part, a above; of 8 bits c's low half goes above both.
  auto type = Type(op.value);
  unsigned bits = bitWidth(type);
  auto *d = w.lanes<uint32_t>(op.d), *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b);
  forLanes(mask, [&](unsigned i) {
    uint32_t keep = (1u << bits) - 1;
    uint32_t high = uint32_t(convertInteger(a[i], type, Type::S32, true)) & keep;
    uint32_t low = uint32_t(convertInteger(b[i], type, Type::S32, true)) & keep;
    d[i] = low | high << bits | (op.c == nowhere ? 0 : w.lanes<uint32_t>(op.c)[i] << 2 * bits);
  });
}

uint64_t windowOf(const Lowering &l) {
  if (l.has(Modifier::shared) || l.has(Modifier::sharedCta))
    return sharedWindow;
  if (l.has(Modifier::local))
    return localWindow;
  if (l.has(Modifier::param))
    return paramWindow;
  return 0;
}
void addWindow(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint64_t>(op.d), *a = w.lanes<uint64_t>(op.a);
  forLanes(mask, [&](unsigned i) { d[i] = a[i] + op.value; });
}
void isInSpace(Warp &w, const Op &op, uint32_t mask) {
  if (op.d == nowhere)
    return;
  const DecodedKernel &program = w.block->program();
  auto *a = w.lanes<uint64_t>(op.a);
  uint32_t is = 0;
  forLanes(mask, [&](unsigned i) {
    bool isHost = !(a[i] & windowMask);
    const Range *range = isHost ? findRange(program, a[i], 1) : nullptr;
    bool isConst = range && range->isConst;
    bool yes = op.mode == 1 ? isConst : op.mode == 2 ? isHost && !isConst : (a[i] & windowMask) == op.value;
    is |= uint32_t(yes) << i;
  });
  w.predicates[op.d] = (w.predicates[op.d] & ~mask) | is;
}

} // namespace

void lowerMov(Lowering &l) {
  const Operand &to = l.operand(0), &from = l.operand(1);
  unsigned bits = bitWidth(l.type());
  if (to.kind == OperandKind::Vector && from.kind == OperandKind::Vector) {
    l.error = "mov from a vector to a vector";
  } else if (to.kind == OperandKind::Vector) {
    l.op.a = l.place(1, l.type());
    l.op.detail = addParts(l, to, false);
    l.op.run = unpack;
  } else if (from.kind == OperandKind::Vector) {
    l.op.d = l.place(0, l.type());
    l.op.detail = addParts(l, from, true);
    l.op.run = pack;
  } else if (from.kind == OperandKind::Special && changes(Special(from.index))) {
    l.op.d = l.place(0, l.type());
    l.op.mode = uint8_t(from.index);
    l.op.flag = bits == 64;
    l.op.run = readChanging;
  } else {
    l.op.d = l.place(0, l.type());
    l.op.a = l.place(1, l.type());
    bool narrow =
        from.kind == OperandKind::Special && bitWidth(typeOf(Special(from.index))) == 32 && bits == 64;
    l.op.run = narrow ? widen : bits == 128 ? copyWide : bits == 64 ? copy<uint64_t> : copy<uint32_t>;
    if (bits == 128 && from.kind != OperandKind::Register)
      l.error = "mov.b128 of something that is no register";
  }
}
void lowerMovPred(Lowering &l) {
  bool ignored = false;
  l.op.d = l.predicate(l.operand(0), ignored);
  l.op.a = l.predicate(l.operand(1), l.op.flag);
  l.op.run = copyPredicate;
}

void lowerCvt(Lowering &l) {
  Type to = l.type(0), from = l.type(1);
  auto trueBits = [&](const Operand &operand, Type type) {
    return operand.kind == OperandKind::Register ? bitWidth(l.kernel().registers[operand.index].type)
                                                 : std::max(l.registerBits(operand, type), 32u);
  };
  l.op.d = l.place(0, to);
  l.op.a = l.place(1, from);
  if (l.operandCount() > 2)
    l.op.b = l.place(2, from);
  unsigned toBits = trueBits(l.operand(0), to), fromBits = trueBits(l.operand(1), from);
  l.op.target = toBits | fromBits << 8;
  l.op.flag = l.has(Modifier::sat);
  Conversion conversion;
  conversion.to = to;
  conversion.from = from;
  conversion.mode = l.laneMode();
  conversion.integral =
      l.has(Modifier::rni) || l.has(Modifier::rzi) || l.has(Modifier::rmi) || l.has(Modifier::rpi);
  l.op.detail = uint32_t(l.program.conversions.size());
  l.program.conversions.push_back(conversion);
  l.program.convertFunctions.push_back(nullptr);
  if (isInteger(to) && isInteger(from)) {
    l.op.run = cvtInteger;
    if (!l.op.flag && bitWidth(to) == 64 && bitWidth(from) == 32 && fromBits == 32)
      l.op.run = isSigned(from) ? extend32<int32_t> : extend32<uint32_t>;
    if (!l.op.flag && bitWidth(to) == 32 && toBits == 32 && bitWidth(from) == 64)
      l.op.run = truncate64;
    return;
  }
  l.op.run = cvtFloat;
  l.program.convertFunctions.back() = convertFunction(conversion);
  if (!l.program.convertFunctions.back())
    l.error = "no arithmetic for this conversion";
}

void lowerCvtPack(Lowering &l) {
  l.regular(Type::S32);
  l.op.value = uint64_t(l.type());
  l.op.run = cvtPack;
}

void lowerCvta(Lowering &l) {
  if (bitWidth(l.type()) != 64) {
    l.error = "generic addresses have 64 bits";
    return;
  }
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.value = windowOf(l);
  l.op.run = addWindow;
}
void lowerCvtaTo(Lowering &l) {
  lowerCvta(l);
  l.op.value = uint64_t(0) - l.op.value;
}
void lowerIsspacep(Lowering &l) {
  bool ignored = false;
  l.op.d = l.predicate(l.operand(0), ignored);
  l.op.a = l.place(1, Type::B64);
  l.op.value = windowOf(l);
  l.op.mode = l.has(Modifier::Const) ? 1 : l.has(Modifier::global) ? 2 : 0;
  l.op.run = isInSpace;
}

} // namespace tegula::ptxvm
