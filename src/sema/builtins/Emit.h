// Small steps that every family of builtins takes: numbers as values, types of operands,
// one op at the session's place. Internal to builtins/.
#pragma once
#include "ir/tile/Tile.h"
#include "sema/Budgets.h"
#include "sema/Session.h"
#include "sema/builtins/Promote.h"

namespace tegula::sema::builtins {

using Shape = llvm::SmallVector<int64_t, 3>;

// ---- constants --------------------------------------------------------------------------

// Is it a bool, an integer or a float?
bool isNumber(const Const &value);
bool isNumber(const Value &value);
Const makeTuple(llvm::ArrayRef<int64_t> extents);
Const makeType(const Type &type);
Type typeOf(const TypeRef &type);
// The elements of a tuple of either form; nullopt: not a tuple.
std::optional<std::vector<Value>> elementsOf(const Value &value);
Value makeValueTuple(std::vector<Value> elements);
// For messages: "fp32", "<['16'], int32>", "`'abc'`", "a tuple".
std::string describe(const Value &value);
std::string spell(llvm::ArrayRef<int64_t> shape);

// ---- values -----------------------------------------------------------------------------

// `number` in every element.
Tensor literalTile(Session &, const Const &number, DType type, llvm::ArrayRef<int64_t> shape);
Tensor splat(Session &, const Tensor &scalar, llvm::ArrayRef<int64_t> shape);
Tensor expandDims(Session &, const Tensor &value, int64_t axis);
Tensor reshape(Session &, const Tensor &value, llvm::ArrayRef<int64_t> shape, bool allowReorder = false);
Tensor transpose(Session &, const Tensor &value, llvm::ArrayRef<int32_t> order);
// 0, 1, ... along `axis` of `shape`, int32.
Tensor indicesAlong(Session &, llvm::ArrayRef<int64_t> shape, int64_t axis);
// False, with a diagnostic, for extents that are not positive, too many elements or dimensions.
bool checkShape(Session &, llvm::ArrayRef<int64_t> shape);
bool checkRank(Session &, size_t rank);

// ---- operands ---------------------------------------------------------------------------

using Pair = std::pair<Tensor, Tensor>;
// Both to one shape, by NumPy's rules.
std::optional<Pair> broadcastPair(Session &, const Tensor &left, const Tensor &right);

struct OperandRule {
  bool leftPointer = false, rightPointer = false; // may it be a pointer?
  bool division = false;                          // see promote()
  // A number takes part in the promotion by the type that it would have as a run-time scalar, as it does in
  // arithmetic only where it is of a higher kind.
  bool numbersPromote = false;
};
// Both to one type and one shape. A pointer keeps its type, and so does its offset.
std::optional<Pair> unifyOperands(Session &, std::string_view op, const Value &left, const Value &right,
                                  OperandRule rule = {});

// ---- conversions ------------------------------------------------------------------------

std::optional<Tensor> castTo(Session &, const Tensor &value, const Type &to,
                             std::optional<tile::Rounding> rounding = std::nullopt);
std::optional<Tensor> bitcastTo(Session &, const Tensor &value, const Type &to);

// ---- ops --------------------------------------------------------------------------------

template <class Op, class... Operands>
Tensor emit(Session &session, const Type &type, Operands &&...operands) {
  auto op = Op::create(session.builder, session.loc(), std::forward<Operands>(operands)...);
  return {op->getResult(0), type};
}

// An op on floats of one type, computed in fp32 and rounded to their type once.
template <class Op, class... Rest>
Tensor emitInF32(Session &session, const Tensor &first, const Rest &...rest) {
  Tensor wide = emit<Op>(session, first.type.withElement(DType::F32), cast(session, first, DType::F32)->value,
                         cast(session, rest, DType::F32)->value...);
  return *cast(session, wide, first.type.element);
}

// An op on floats. 8-bit floats have no arithmetic: they are computed in fp32.
template <class Op, class... Rest>
Tensor emitFloat(Session &session, const Tensor &first, const Rest &...rest) {
  return bitWidth(first.type.element) == 8 ? emitInF32<Op>(session, first, rest...)
                                           : emit<Op>(session, first.type, first.value, rest.value...);
}

// A function of the math library, which has fp32 and fp64 only: narrower floats are computed in fp32.
template <class Op, class... Rest>
Tensor emitReal(Session &session, const Tensor &first, const Rest &...rest) {
  return bitWidth(first.type.element) < 32 ? emitInF32<Op>(session, first, rest...)
                                           : emit<Op>(session, first.type, first.value, rest.value...);
}

// left <predicate> right, int1.
Tensor emitCompare(Session &, syntax::CompareOperator op, const Tensor &left, const Tensor &right);

} // namespace tegula::sema::builtins
