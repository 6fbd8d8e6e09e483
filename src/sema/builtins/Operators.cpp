// The operators of the language over run-time values, numbers and tuples. Two constants
// are Python's arithmetic and never come down here.
#include "base/ByteFloat.h"
#include "sema/Hints.h"
#include "sema/builtins/Emit.h"

namespace tegula::sema {

using namespace builtins;
namespace arith = mlir::arith;
using BinOp = syntax::BinaryOperator;
using syntax::spelling; // of operators, beside that of types

namespace {

// ---- operands ---------------------------------------------------------------------------

// One side of an operator before types are unified.
struct Operand {
  std::optional<Tensor> tensor; // a number has none yet
  const Const *number = nullptr;
  Type type;
};

std::optional<Operand> operandOf(Session &session, const Value &value) {
  if (auto *tensor = value.tensor())
    return Operand{*tensor, nullptr, tensor->type};
  if (value.isScalar) {
    auto scalar = toTensor(session, value);
    return scalar ? std::optional(Operand{*scalar, nullptr, scalar->type}) : std::nullopt;
  }
  const Const &number = *value.constant();
  if (std::holds_alternative<bool>(number.value))
    return Operand{std::nullopt, &number, Type{DType::I1}};
  if (auto *real = std::get_if<double>(&number.value))
    return Operand{std::nullopt, &number, Type{typeOfFloat(*real)}};
  auto type = typeOfInteger(std::get<llvm::APInt>(number.value));
  if (!type) {
    session.fail(diag::Kind::NonrepresentableInteger, {repr(number)});
    return std::nullopt;
  }
  return Operand{std::nullopt, &number, Type{*type}};
}

bool pointersAllowed(const Type &self, const Type &other, bool allowed) {
  if (!self.pointer)
    return true;
  bool samePointers = !other.pointer || self.scalar() == other.scalar();
  return allowed && samePointers && (other.pointer || !isFloat(other.element));
}

llvm::APInt integerOf(const Const &number) {
  auto *flag = std::get_if<bool>(&number.value);
  return flag ? llvm::APInt(2, *flag) : std::get<llvm::APInt>(number.value);
}

// The side in the type of the operation. A number is written down in that type directly; one that has taken
// part in the promotion wraps like a scalar of its type.
std::optional<Tensor> inType(Session &session, const Operand &operand, DType type, bool wraps) {
  if (operand.tensor)
    return cast(session, *operand.tensor, type);
  if (!isFloat(type) && wraps)
    return cast(session, literal(session, *operand.number, operand.type.element), type);
  if (!isFloat(type)) {
    llvm::APInt value = integerOf(*operand.number);
    if (value.isNegative() && isUnsigned(type))
      return session.fail(diag::Kind::NegativeWithUnsigned, {repr(*operand.number), name(type)});
    if (!fits(value, type))
      return session.fail(diag::Kind::ScalarOutOfRange, {repr(*operand.number), name(type)});
  }
  return literal(session, *operand.number, type);
}

} // namespace

namespace builtins {

static std::nullopt_t failOfOperands(Session &session, std::string_view op, const Value &left,
                                     const Value &right) {
  session.fail(diag::Kind::IncompatibleOperands, {op, describe(left), describe(right)});
  auto isPointer = [](const Value &value) { return value.tensor() && value.tensor()->type.pointer; };
  auto isOperand = [](const Value &value) { return value.tensor() || isNumber(value); };
  auto isType = [](const Value &value) {
    return value.constant() && std::holds_alternative<TypeRef>(value.constant()->value);
  };
  if (isType(left) || isType(right)) {
    std::string type = repr(*(isType(left) ? left : right).constant());
    setHint(session, diag::Kind::IncompatibleOperands,
            "`" + type + "` is a type, not a number: `x.to(type)` converts x to a type");
  } else if (left.isNone() || right.isNone())
    setHint(session, diag::Kind::IncompatibleOperands,
            "an argument that may be None is used behind `if x is not None:`, which is decided when the "
            "kernel is compiled");
  else if (!isOperand(left) || !isOperand(right))
    setHint(session, diag::Kind::IncompatibleOperands, "");
  else if ((isPointer(left) || isPointer(right)) && op != "+" && op != "-")
    setHint(
        session, diag::Kind::IncompatibleOperands,
        "a pointer's element is tl.load(pointer); a tensor of one element comes as a number by `x.item()`");
  else if (isPointer(left) || isPointer(right))
    setHint(session, diag::Kind::IncompatibleOperands,
            "only integers can be added to a pointer; `.to(tl.int32)` makes one of a float");
  return std::nullopt;
}

std::optional<Pair> unifyOperands(Session &session, std::string_view op, const Value &left,
                                  const Value &right, OperandRule rule) {
  auto isOperand = [](const Value &value) { return value.tensor() || isNumber(value); };
  if (!isOperand(left) || !isOperand(right))
    return failOfOperands(session, op, left, right);
  auto l = operandOf(session, left), r = l ? operandOf(session, right) : std::nullopt;
  if (!r)
    return std::nullopt;
  if (!pointersAllowed(l->type, r->type, rule.leftPointer) ||
      !pointersAllowed(r->type, l->type, rule.rightPointer))
    return failOfOperands(session, op, left, right);
  if (l->type.pointer || r->type.pointer) {
    auto a = toTensor(session, left), b = toTensor(session, right);
    return broadcastPair(session, *a, *b);
  }
  bool wraps = rule.numbersPromote && (l->number || r->number);
  Promotion promotion =
      promote(l->type.element, l->number && !wraps, r->type.element, r->number && !wraps, rule.division);
  if (wraps && promotion.fault == PromotionFault::UnexpectedTypes) { // integers beside 8-bit floats
    wraps = false;
    promotion = promote(l->type.element, l->number, r->type.element, r->number, rule.division);
  }
  if (promotion.fault == PromotionFault::DifferentSignedness)
    return session.fail(diag::Kind::DifferentSignedness, {op, name(l->type.element), name(r->type.element)});
  if (promotion.fault == PromotionFault::UnexpectedTypes)
    return failOfOperands(session, op, left, right);
  auto a = inType(session, *l, promotion.type, wraps);
  auto b = a ? inType(session, *r, promotion.type, wraps) : std::nullopt;
  return b ? broadcastPair(session, *a, *b) : std::nullopt;
}

} // namespace builtins

namespace {

// ---- arithmetic -------------------------------------------------------------------------

// addptr takes its offset as signed: unsigned offsets become wider first.
std::optional<Tensor> signedOffset(Session &session, const Tensor &offset) {
  bool extend = isUnsigned(offset.type.element) && bitWidth(offset.type.element) < 64;
  return extend ? cast(session, offset, DType::I64) : offset;
}

Tensor negateInteger(Session &session, const Tensor &value) {
  Tensor zero = literalTile(session, makeInt(0), value.type.element, value.type.shape);
  return emit<arith::SubIOp>(session, value.type, zero.value, value.value);
}

std::optional<Value> addPointer(Session &session, const Tensor &pointer, const Tensor &offset,
                                bool subtract) {
  Tensor elements = *signedOffset(session, offset);
  if (subtract)
    elements = negateInteger(session, elements);
  return emit<tile::AddPtrOp>(session, pointer.type, pointer.value, elements.value);
}

template <class FloatOp, class IntOp> Value arithmetic(Session &session, const Pair &operands) {
  const auto &[a, b] = operands;
  return isFloat(a.type.element) ? emitFloat<FloatOp>(session, a, b)
                                 : emit<IntOp>(session, a.type, a.value, b.value);
}

std::optional<Value> addOrSubtract(Session &session, BinOp op, const Value &left, const Value &right) {
  bool add = op == BinOp::Add;
  auto operands =
      unifyOperands(session, spelling(op), left, right, {.leftPointer = true, .rightPointer = add});
  if (!operands)
    return std::nullopt;
  auto &[a, b] = *operands;
  if (a.type.pointer && b.type.pointer)
    return session.fail(diag::Kind::PointerAddition);
  if (a.type.pointer || b.type.pointer)
    return a.type.pointer ? addPointer(session, a, b, !add) : addPointer(session, b, a, false);
  return add ? arithmetic<arith::AddFOp, arith::AddIOp>(session, *operands)
             : arithmetic<arith::SubFOp, arith::SubIOp>(session, *operands);
}

std::optional<Value> divide(Session &session, BinOp op, const Value &left, const Value &right) {
  auto operands = unifyOperands(session, spelling(op), left, right, {.division = true});
  if (!operands)
    return std::nullopt;
  auto &[a, b] = *operands;
  bool isReal = isFloat(a.type.element), isSignedInt = isSigned(a.type.element);
  if (op == BinOp::Div) {
    if (!isReal)
      a = *cast(session, a, DType::F32), b = *cast(session, b, DType::F32);
    return Value(emitFloat<arith::DivFOp>(session, a, b));
  }
  if (op == BinOp::Mod && isReal)
    return Value(emitFloat<arith::RemFOp>(session, a, b));
  if (isReal)
    return session.fail(diag::Kind::FloorDivisionOfFloats, {name(a.type.element)});
  // C's division: towards zero, the remainder has the sign of the dividend.
  if (op == BinOp::Mod)
    return Value(isSignedInt ? emit<arith::RemSIOp>(session, a.type, a.value, b.value)
                             : emit<arith::RemUIOp>(session, a.type, a.value, b.value));
  return Value(isSignedInt ? emit<arith::DivSIOp>(session, a.type, a.value, b.value)
                           : emit<arith::DivUIOp>(session, a.type, a.value, b.value));
}

// ---- bits -------------------------------------------------------------------------------

void warnOfWideShift(Session &session, BinOp op, const Value &count, DType type) {
  if (op != BinOp::LShift && op != BinOp::RShift)
    return;
  if (auto *constant = count.constant())
    if (auto value = asInt64(*constant); value && *value >= int64_t(bitWidth(type)))
      session.warn(diag::Kind::ShiftTooWide, {std::to_string(*value), name(type)});
}

std::optional<Value> bitwise(Session &session, BinOp op, const Value &left, const Value &right) {
  auto operands = unifyOperands(session, spelling(op), left, right);
  if (!operands)
    return std::nullopt;
  auto &[a, b] = *operands;
  if (isFloat(a.type.element))
    return failOfOperands(session, spelling(op), left, right);
  warnOfWideShift(session, op, right, a.type.element);
  // `>>` follows the left operand's sign, not that of the common type.
  bool isArithmetic = isSigned(left.tensor() ? left.tensor()->type.element : a.type.element);
  switch (op) {
  case BinOp::And: return Value(emit<arith::AndIOp>(session, a.type, a.value, b.value));
  case BinOp::Or: return Value(emit<arith::OrIOp>(session, a.type, a.value, b.value));
  case BinOp::Xor: return Value(emit<arith::XOrIOp>(session, a.type, a.value, b.value));
  case BinOp::LShift: return Value(emit<arith::ShLIOp>(session, a.type, a.value, b.value));
  default:
    return Value(isArithmetic ? emit<arith::ShRSIOp>(session, a.type, a.value, b.value)
                              : emit<arith::ShRUIOp>(session, a.type, a.value, b.value));
  }
}

// ---- tuples -----------------------------------------------------------------------------

std::optional<Value> tupleBinary(Session &session, BinOp op, const Value &left, const Value &right) {
  auto l = elementsOf(left), r = elementsOf(right);
  if (op == BinOp::Add && l && r) {
    l->insert(l->end(), r->begin(), r->end());
    return makeValueTuple(std::move(*l));
  }
  const Value &count = l ? right : left;
  auto times = count.constant() ? asInt64(*count.constant()) : std::nullopt;
  auto &elements = l ? *l : *r;
  if (op != BinOp::Mul || (l && r) || !times || *times * int64_t(elements.size()) > maxElements)
    return failOfOperands(session, spelling(op), left, right);
  std::vector<Value> result;
  for (int64_t i = 0; i < *times; ++i)
    result.insert(result.end(), elements.begin(), elements.end());
  return makeValueTuple(std::move(result));
}

std::optional<Tensor> requireBool(Session &session, std::string_view op, const Value &value) {
  auto tensor = toTensor(session, value);
  if (tensor && (tensor->type.pointer || !isBool(tensor->type.element)))
    return session.fail(diag::Kind::NotABool, {op, spelling(tensor->type)});
  return tensor;
}

} // namespace

std::optional<Value> binary(Session &session, BinOp op, const Value &left, const Value &right) {
  if (left.constant() && right.constant()) {
    auto result = constBinary(session, op, *left.constant(), *right.constant());
    return result ? std::optional<Value>(*result) : std::nullopt;
  }
  if (elementsOf(left) || elementsOf(right))
    return tupleBinary(session, op, left, right);
  switch (op) {
  case BinOp::Add:
  case BinOp::Sub: return addOrSubtract(session, op, left, right);
  case BinOp::Mul: {
    auto operands = unifyOperands(session, spelling(op), left, right);
    return operands ? std::optional(arithmetic<arith::MulFOp, arith::MulIOp>(session, *operands))
                    : std::nullopt;
  }
  case BinOp::Div:
  case BinOp::FloorDiv:
  case BinOp::Mod: return divide(session, op, left, right);
  case BinOp::And:
  case BinOp::Or:
  case BinOp::Xor:
  case BinOp::LShift:
  case BinOp::RShift: return bitwise(session, op, left, right);
  case BinOp::Pow: return session.fail(diag::Kind::NoPower);
  case BinOp::MatMul: return session.fail(diag::Kind::NoMatMul);
  }
  return std::nullopt;
}

// Has the type of the tile the very number? Then a comparison in it is the one in the type of both, and of
// fewer bits.
static bool hasNumber(Session &session, const Value &tile, const Value &number) {
  const Tensor *tensor = tile.tensor();
  const Const *constant = number.constant();
  if (!tensor || tensor->type.pointer || !constant || !isNumber(*constant) || isBool(tensor->type.element))
    return false;
  DType type = tensor->type.element;
  auto *real = std::get_if<double>(&constant->value);
  if (!isFloat(type))
    return !real && fits(integerOf(*constant), type);
  if (isByteFloat(type))
    return false;
  const auto &semantics =
      llvm::cast<mlir::FloatType>(lower(Type{type}, session.builder.getContext())).getFloatSemantics();
  bool changes = false;
  llvm::APFloat value(real ? *real : 0.0);
  if (real)
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &changes);
  else
    changes = llvm::APFloat(semantics).convertFromAPInt(integerOf(*constant), /*IsSigned=*/true,
                                                        llvm::APFloat::rmNearestTiesToEven) != 0;
  return !changes;
}

std::optional<Value> compare(Session &session, syntax::CompareOperator op, const Value &left,
                             const Value &right) {
  using Op = syntax::CompareOperator;
  if (left.constant() && right.constant()) {
    auto result = constCompare(session, op, *left.constant(), *right.constant());
    return result ? std::optional<Value>(*result) : std::nullopt;
  }
  if (op == Op::Is || op == Op::IsNot) {
    bool same = left.tensor() && right.tensor() && left.tensor()->value == right.tensor()->value;
    return Value(Const{same == (op == Op::Is)});
  }
  if (op == Op::In || op == Op::NotIn)
    return failOfOperands(session, spelling(op), left, right);
  bool promotes = !hasNumber(session, left, right) && !hasNumber(session, right, left);
  auto operands = unifyOperands(session, spelling(op), left, right, {.numbersPromote = promotes});
  return operands ? std::optional<Value>(emitCompare(session, op, operands->first, operands->second))
                  : std::nullopt;
}

std::optional<Value> unary(Session &session, syntax::UnaryOperator op, const Value &operand) {
  using Op = syntax::UnaryOperator;
  if (auto *constant = operand.constant()) {
    auto result = constUnary(session, op, *constant);
    return result ? std::optional<Value>(*result) : std::nullopt;
  }
  if (op == Op::Not) {
    auto flag = requireBool(session, "not", operand);
    return flag ? unary(session, Op::Invert, *flag) : std::nullopt;
  }
  const Tensor *value = operand.tensor();
  if (!value || value->type.pointer || (op == Op::Invert && isFloat(value->type.element)))
    return session.fail(diag::Kind::IncompatibleOperand, {spelling(op), describe(operand)});
  if (op == Op::Plus)
    return operand;
  if (op == Op::Negate)
    return Value(isFloat(value->type.element) ? emitFloat<arith::NegFOp>(session, *value)
                                              : negateInteger(session, *value));
  Tensor ones = literalTile(session, makeInt(-1), value->type.element, value->type.shape);
  return Value(emit<arith::XOrIOp>(session, value->type, value->value, ones.value));
}

std::optional<Value> logical(Session &session, syntax::BoolOperator op, const Value &left,
                             const Value &right) {
  auto a = requireBool(session, spelling(op), left),
       b = a ? requireBool(session, spelling(op), right) : std::nullopt;
  auto operands = b ? broadcastPair(session, *a, *b) : std::nullopt;
  if (!operands)
    return std::nullopt;
  auto &[l, r] = *operands;
  return Value(op == syntax::BoolOperator::And ? emit<arith::AndIOp>(session, l.type, l.value, r.value)
                                               : emit<arith::OrIOp>(session, l.type, l.value, r.value));
}

} // namespace tegula::sema
