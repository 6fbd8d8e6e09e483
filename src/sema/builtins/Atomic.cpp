// Atomics: pointer, values and mask in one shape, values in the pointer's element type.
#include "sema/builtins/Call.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
using Kind = tile::AtomicKind;

namespace {

struct Order {
  tile::MemSemantic sem;
  tile::MemScope scope;
};

std::optional<Order> orderOf(Call &call, size_t sem, size_t scope) {
  using tile::MemScope, tile::MemSemantic;
  auto semantic = call.word<MemSemantic>(sem, {{"", MemSemantic::AcquireRelease},
                                               {"acq_rel", MemSemantic::AcquireRelease},
                                               {"acquire", MemSemantic::Acquire},
                                               {"release", MemSemantic::Release},
                                               {"relaxed", MemSemantic::Relaxed}});
  auto who = semantic ? call.word<MemScope>(scope, {{"", MemScope::GPU},
                                                    {"gpu", MemScope::GPU},
                                                    {"cta", MemScope::CTA},
                                                    {"sys", MemScope::System}})
                      : std::nullopt;
  return who ? std::optional(Order{*semantic, *who}) : std::nullopt;
}

std::optional<Tensor> pointerOf(Call &call, bool isRead = false) {
  auto *pointer = call[0].tensor();
  if (!pointer || !pointer->type.pointer)
    return call.wrong(0, "a pointer or a tile of pointers");
  if (pointer->type.isConst && !isRead)
    return call.fail(diag::Kind::StoreToConst);
  return *pointer;
}

// Argument `i` spread over the pointer; a tile beside a scalar pointer is refused.
std::optional<Tensor> besidePointer(Call &call, size_t i, const Tensor &pointer, const Tensor &value) {
  if (pointer.type.isScalar() && !value.type.isScalar())
    return call.fail(diag::Kind::TileBesideScalarPointer,
                     {call.row.parameters[i].name, spelling(value.type)});
  return broadcastTo(call.session, value, pointer.type.shape);
}

std::optional<Tensor> valueOf(Call &call, size_t i, const Tensor &pointer) {
  auto value = call.tensor(i);
  auto element = value ? castTo(call.session, *value, Type{pointer.type.element}) : std::nullopt;
  return element ? besidePointer(call, i, pointer, *element) : std::nullopt;
}

std::optional<Tensor> maskOf(Call &call, size_t i, const Tensor &pointer) {
  auto mask = call.tensor(i);
  if (!mask)
    return std::nullopt;
  if (mask->type.pointer || !isBool(mask->type.element))
    return call.wrong(i, "int1");
  return besidePointer(call, i, pointer, *mask);
}

// True: `sem` is one of the two orders that a load or a store may have.
bool checkOneSided(Call &call, size_t sem, tile::MemSemantic wanted, tile::MemSemantic has,
                   const char *words) {
  if (has == wanted || has == tile::MemSemantic::Relaxed)
    return true;
  call.wrong(sem, words);
  return false;
}

// The operands of atomic_add and its like, in their common shape.
struct Operands {
  Tensor pointer, value;
  std::optional<Tensor> mask;
  Order order;
};

std::optional<Operands> operandsOf(Call &call) {
  enum { Pointer, Val, Mask, Sem, Scope };
  auto pointer = pointerOf(call);
  auto order = pointer ? orderOf(call, Sem, Scope) : std::nullopt;
  auto value = order ? valueOf(call, Val, *pointer) : std::nullopt;
  if (!value)
    return std::nullopt;
  Operands operands{*pointer, *value, std::nullopt, *order};
  if (call.isNone(Mask))
    return operands;
  operands.mask = maskOf(call, Mask, *pointer);
  return operands.mask ? std::optional(operands) : std::nullopt;
}

Tensor update(Session &session, Kind kind, const Operands &operands) {
  Type type = operands.value.type;
  return emit<tile::AtomicRMWOp>(session, type, operands.value.value.getType(), kind, operands.order.sem,
                                 operands.order.scope, operands.pointer.value, operands.value.value,
                                 operands.mask ? operands.mask->value : mlir::Value());
}

std::nullopt_t refuse(Call &call, const Tensor &pointer, std::string_view expected) {
  return call.fail(diag::Kind::BuiltinDType, {std::string(expected), spelling(pointer.type.scalar())});
}

bool isWideInteger(DType type) { return isInteger(type) && bitWidth(type) >= 32; }
bool isWideFloat(DType type) { return type == DType::F32 || type == DType::F64; }

Tensor mask(Session &session, const Operands &operands, const Tensor &condition) {
  if (!operands.mask)
    return condition;
  return emit<arith::AndIOp>(session, condition.type, operands.mask->value, condition.value);
}

// Floats order as their bits do, as signed integers where the value is not negative, else
// backwards as unsigned ones: two updates, of which each element takes one.
Value extremumOfFloats(Session &session, const Operands &operands, Kind notNegative, Kind negative) {
  bool isNarrow = operands.value.type.element == DType::F32;
  Type integer{isNarrow ? DType::I32 : DType::I64};
  Type pointerType = integer;
  pointerType.pointer = true;
  Operands bits = operands;
  bits.pointer = *bitcastTo(session, operands.pointer, pointerType);
  bits.value = *bitcastTo(session, operands.value, integer);
  Tensor zero = literalTile(session, makeInt(0), integer.element, bits.value.type.shape);
  Tensor isNegative = emitCompare(session, syntax::CompareOperator::Lt, bits.value, zero);
  Tensor isNot = emitCompare(session, syntax::CompareOperator::Ge, bits.value, zero);
  bits.mask = mask(session, operands, isNot);
  Tensor first = update(session, notNegative, bits);
  bits.mask = mask(session, operands, isNegative);
  Tensor second = update(session, negative, bits);
  Tensor old = emit<arith::SelectOp>(session, first.type, isNegative.value, second.value, first.value);
  return *bitcastTo(session, old, Type{operands.value.type.element});
}

std::optional<Value> extremum(Call &call, bool isMax) {
  auto operands = operandsOf(call);
  if (!operands)
    return std::nullopt;
  DType type = operands->value.type.element;
  if (isWideFloat(type))
    return isMax ? extremumOfFloats(call.session, *operands, Kind::Max, Kind::UMin)
                 : extremumOfFloats(call.session, *operands, Kind::Min, Kind::UMax);
  if (!isWideInteger(type))
    return refuse(call, operands->pointer, "pointers to numbers of 32 or 64 bits");
  if (isSigned(type))
    return update(call.session, isMax ? Kind::Max : Kind::Min, *operands);
  return update(call.session, isMax ? Kind::UMax : Kind::UMin, *operands);
}

std::optional<Value> bitwise(Call &call, Kind kind) {
  auto operands = operandsOf(call);
  if (!operands)
    return std::nullopt;
  if (!isWideInteger(operands->value.type.element))
    return refuse(call, operands->pointer, "pointers to integers of 32 or 64 bits");
  return update(call.session, kind, *operands);
}

// cmp and val of a compare-and-swap: numbers take the element's type, values must have it.
std::optional<Tensor> exactValue(Call &call, size_t i, const Tensor &pointer) {
  if (isNumber(call[i]))
    return valueOf(call, i, pointer);
  auto value = call.tensor(i);
  if (!value)
    return std::nullopt;
  if (value->type.scalar() != Type{pointer.type.element})
    return call.wrong(i, "of the pointer's element type, " + spelling(Type{pointer.type.element}));
  return besidePointer(call, i, pointer, *value);
}

} // namespace

std::optional<Value> call_atomic_add(Call &call) {
  auto operands = operandsOf(call);
  if (!operands)
    return std::nullopt;
  DType type = operands->value.type.element;
  if (isFloat(type) ? bitWidth(type) < 16 : !isWideInteger(type))
    return refuse(call, operands->pointer,
                  "pointers to integers of 32 or 64 bits, or to floats of 16 or more");
  return update(call.session, isFloat(type) ? Kind::FAdd : Kind::Add, *operands);
}

std::optional<Value> call_atomic_max(Call &call) { return extremum(call, true); }
std::optional<Value> call_atomic_min(Call &call) { return extremum(call, false); }
std::optional<Value> call_atomic_and(Call &call) { return bitwise(call, Kind::And); }
std::optional<Value> call_atomic_or(Call &call) { return bitwise(call, Kind::Or); }
std::optional<Value> call_atomic_xor(Call &call) { return bitwise(call, Kind::Xor); }

std::optional<Value> call_atomic_xchg(Call &call) {
  auto operands = operandsOf(call);
  if (!operands)
    return std::nullopt;
  if (bitWidth(operands->value.type.element) < 32)
    return refuse(call, operands->pointer, "pointers to numbers of 32 or 64 bits");
  return update(call.session, Kind::Exch, *operands);
}

std::optional<Value> call_atomic_cas(Call &call) {
  enum { Pointer, Cmp, Val, Sem, Scope };
  auto pointer = pointerOf(call);
  auto order = pointer ? orderOf(call, Sem, Scope) : std::nullopt;
  if (!order)
    return std::nullopt;
  if (bitWidth(pointer->type.element) < 16)
    return refuse(call, *pointer, "pointers to numbers of 16, 32 or 64 bits");
  auto cmp = exactValue(call, Cmp, *pointer), value = cmp ? exactValue(call, Val, *pointer) : std::nullopt;
  if (!value)
    return std::nullopt;
  return emit<tile::AtomicCASOp>(call.session, value->type, value->value.getType(), order->sem, order->scope,
                                 pointer->value, cmp->value, value->value);
}

// A relaxed one is a volatile load (M21). One that acquires is an update that leaves memory as it is.
std::optional<Value> call_atomic_load(Call &call) {
  enum { Pointer, Mask, Sem, Scope };
  Session &session = call.session;
  auto pointer = pointerOf(call, /*isRead=*/true);
  auto order = pointer ? orderOf(call, Sem, Scope) : std::nullopt;
  if (!order || !checkOneSided(call, Sem, tile::MemSemantic::Acquire, order->sem, "'acquire' or 'relaxed'"))
    return std::nullopt;
  DType element = pointer->type.element;
  bool isRelaxed = order->sem == tile::MemSemantic::Relaxed;
  if (isPacked(element) || (bitWidth(element) < 32 && !isRelaxed))
    return refuse(call, *pointer, "pointers to numbers of 32 or 64 bits, or sem='relaxed'");
  std::optional<Tensor> mask;
  if (!call.isNone(Mask)) {
    mask = maskOf(call, Mask, *pointer);
    if (!mask)
      return std::nullopt;
  }
  if (isRelaxed) {
    DType stored = isBool(element) ? DType::I8 : element;
    Type type = pointer->type.withElement(stored);
    Tensor loaded =
        emit<tile::LoadOp>(session, type, lower(type, session.builder.getContext()), pointer->value,
                           mask ? mask->value : mlir::Value(), mlir::Value(), tile::CacheModifier::None,
                           tile::Eviction::Normal, /*isVolatile=*/true);
    return isBool(element) ? *cast(session, loaded, DType::I1) : loaded;
  }
  Type integer{bitWidth(element) == 32 ? DType::I32 : DType::I64};
  Type pointerType = integer;
  pointerType.pointer = true;
  Tensor bits = *bitcastTo(session, *pointer, pointerType);
  Tensor zero = literalTile(session, makeInt(0), integer.element, pointer->type.shape);
  return *bitcastTo(session, update(session, Kind::Or, {bits, zero, mask, *order}), Type{element});
}

std::optional<Value> call_atomic_store(Call &call) {
  enum { Pointer, Val, Mask, Sem, Scope };
  auto operands = operandsOf(call);
  if (!operands ||
      !checkOneSided(call, Sem, tile::MemSemantic::Release, operands->order.sem, "'release' or 'relaxed'"))
    return std::nullopt;
  if (bitWidth(operands->value.type.element) < 32)
    return refuse(call, operands->pointer, "pointers to numbers of 32 or 64 bits");
  update(call.session, Kind::Exch, *operands);
  return Value();
}

// A loop without a body around a compare-and-swap that leaves memory as it is.
std::optional<Value> call_atomic_poll(Call &call) {
  enum { Ptr, Expected, Sem, Scope, Timeout };
  auto pointer = pointerOf(call);
  auto order = pointer ? orderOf(call, Sem, Scope) : std::nullopt;
  if (!order)
    return std::nullopt;
  if (!pointer->type.isScalar() || !isInteger(pointer->type.element) || bitWidth(pointer->type.element) < 16)
    return refuse(call, *pointer, "a scalar pointer to an integer of 16, 32 or 64 bits");
  if (!call.isNone(Timeout))
    return call.wrong(Timeout, "None: not every target has a clock to wait by");
  auto expected = valueOf(call, Expected, *pointer);
  if (!expected)
    return std::nullopt;
  Session &session = call.session;
  auto loop =
      mlir::scf::WhileOp::create(session.builder, session.loc(), mlir::TypeRange(), mlir::ValueRange());
  {
    mlir::OpBuilder::InsertionGuard guard(session.builder);
    session.builder.createBlock(&loop.getBefore());
    Tensor found = emit<tile::AtomicCASOp>(session, expected->type, expected->value.getType(), order->sem,
                                           order->scope, pointer->value, expected->value, expected->value);
    Tensor differs = emitCompare(session, syntax::CompareOperator::Ne, found, *expected);
    mlir::scf::ConditionOp::create(session.builder, session.loc(), differs.value, mlir::ValueRange());
    session.builder.createBlock(&loop.getAfter());
    mlir::scf::YieldOp::create(session.builder, session.loc());
  }
  return Value(literalTile(session, Const{true}, DType::I1, {}));
}

} // namespace tegula::sema::builtins
