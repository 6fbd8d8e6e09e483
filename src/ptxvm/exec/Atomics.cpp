// atom and red. Each element is updated by one atomic step of the host, so blocks may run on
// several threads. PTX ISA manual, "atom", "red"; a vector is atomic element by element.
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/Warp.h"

#include <cstring>

namespace tegula::ptxvm {
namespace {

template <class T> T updateInteger(T old, T operand, Modifier operation, bool isSigned) {
  using S = std::make_signed_t<T>;
  switch (operation) {
  case Modifier::add: return T(old + operand);
  case Modifier::And: return old & operand;
  case Modifier::Or: return old | operand;
  case Modifier::Xor: return old ^ operand;
  case Modifier::exch: return operand;
  case Modifier::min: return isSigned ? T(std::min(S(old), S(operand))) : std::min(old, operand);
  case Modifier::max: return isSigned ? T(std::max(S(old), S(operand))) : std::max(old, operand);
  case Modifier::inc: return old >= operand ? T(0) : T(old + 1);
  case Modifier::dec: return old == 0 || old > operand ? operand : T(old - 1);
  default: return old;
  }
}

uint64_t update(const AccessForm &access, uint64_t old, uint64_t operand, bool flush) {
  TypeKind kind = ptxvm::kind(access.type);
  if (kind == TypeKind::Float || kind == TypeKind::Packed) {
    LaneMode mode;
    mode.ftz = flush && access.type == Type::F32;
    FloatOp op = access.operation == Modifier::min   ? FloatOp::Min
                 : access.operation == Modifier::max ? FloatOp::Max
                                                     : FloatOp::Add;
    // Memory's adder passes a NaN of f64 as it is.
    if (access.type == Type::F64 && op == FloatOp::Add &&
        (isNan(Format::F64, old) || isNan(Format::F64, operand)))
      return isNan(Format::F64, old) ? old : operand;
    return applyFloat(op, access.type, mode, old, operand);
  }
  bool isSigned = ptxvm::isSigned(access.type);
  if (access.size == 8)
    return updateInteger<uint64_t>(old, operand, access.operation, isSigned);
  if (access.size == 4)
    return updateInteger<uint32_t>(uint32_t(old), uint32_t(operand), access.operation, isSigned);
  return updateInteger<uint16_t>(uint16_t(old), uint16_t(operand), access.operation, isSigned);
}

template <class T>
T atomically(std::byte *bytes, const AccessForm &access, uint64_t operand, uint64_t compared, bool flush) {
  auto *place = reinterpret_cast<T *>(bytes);
  T old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
  for (;;) {
    T next = access.operation == Modifier::cas ? (old == T(compared) ? T(operand) : old)
                                               : T(update(access, old, operand, flush));
    if (__atomic_compare_exchange_n(place, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return old;
  }
}

void atomic(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &access = w.block->program().accesses[op.detail];
  std::byte *bytes[warpSize];
  auto lock = ordered(w, access);
  mask = resolve(w, op, access, mask, nullptr, bytes);
  // f32 sums in global memory flush subnormals, those in shared memory do not ("red", .f32).
  const std::byte *shared = w.block->shared.data();
  forLanes(mask, [&](unsigned i) {
    bool flush = bytes[i] < shared || bytes[i] >= shared + w.block->shared.size();
    for (unsigned k = 0; k < access.count; ++k) {
      auto source = access.sources[k], compared = access.compared[k], result = access.results[k];
      uint64_t operand = readLane(w, source.place, source.bits == 64, i);
      uint64_t expected = compared.place == nowhere ? 0 : readLane(w, compared.place, compared.bits == 64, i);
      std::byte *at = bytes[i] + k * access.size;
      uint64_t old = access.size == 8   ? atomically<uint64_t>(at, access, operand, expected, flush)
                     : access.size == 4 ? atomically<uint32_t>(at, access, operand, expected, flush)
                                        : atomically<uint16_t>(at, access, operand, expected, flush);
      if (result.place != nowhere)
        writeLane(w, result.place, result.bits == 64, i, old);
    }
  });
}

Modifier operationOf(const Lowering &l) {
  for (Modifier one : {Modifier::add, Modifier::And, Modifier::Or, Modifier::Xor, Modifier::exch,
                       Modifier::cas, Modifier::min, Modifier::max, Modifier::inc, Modifier::dec})
    if (l.has(one))
      return one;
  return Modifier::add;
}

} // namespace

void reduceInto(std::byte *element, Type type, Modifier operation, const std::byte *operand) {
  AccessForm access;
  access.type = type;
  access.size = byteSize(type);
  access.operation = operation;
  uint64_t bits = 0;
  std::memcpy(&bits, operand, access.size);
  if (access.size == 8)
    atomically<uint64_t>(element, access, bits, 0, true);
  else if (access.size == 4)
    atomically<uint32_t>(element, access, bits, 0, true);
  else
    atomically<uint16_t>(element, access, bits, 0, true);
}

void lowerAtom(Lowering &l) {
  AccessForm access = makeAccess(l, AccessKind::Atomic, l.operand(1));
  if (access.semantics == Semantics::Weak)
    access.semantics = Semantics::Relaxed;
  if (access.scope == Scope::None)
    access.scope = Scope::Gpu;
  access.operation = operationOf(l);
  fillParts(l, access.results, l.operand(0), access.count);
  bool isCas = access.operation == Modifier::cas;
  if (isCas)
    fillParts(l, access.compared, l.operand(2), access.count);
  fillParts(l, access.sources, l.operand(isCas ? 3 : 2), access.count);
  useAccess(l, access, atomic);
}
void lowerRed(Lowering &l) {
  AccessForm access = makeAccess(l, AccessKind::Reduction, l.operand(0));
  if (access.semantics == Semantics::Weak)
    access.semantics = Semantics::Relaxed;
  if (access.scope == Scope::None)
    access.scope = Scope::Gpu;
  access.operation = operationOf(l);
  access.hasResult = false;
  fillParts(l, access.sources, l.operand(1), access.count);
  useAccess(l, access, atomic);
}

} // namespace tegula::ptxvm
