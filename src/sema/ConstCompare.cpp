// Python's order, equality, containment and truth of compile-time values. An int and a
// float compare exactly, as in CPython, whatever their size.
#include "sema/Const.h"
#include "sema/Session.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

#include <cmath>

namespace tegula::sema {

using llvm::APFloat;
using llvm::APInt;
using syntax::CompareOperator;

namespace {

// -1, 0, 1, or 2 where one side is NaN. Exact for an int against a float, as in CPython.
int compareNumbers(const Const &left, const Const &right) {
  if (isInteger(left) && isInteger(right)) {
    APInt a = integerOf(left), b = integerOf(right);
    unsigned width = std::max(a.getBitWidth(), b.getBitWidth());
    a = a.sext(width), b = b.sext(width);
    return a.slt(b) ? -1 : a == b ? 0 : 1;
  }
  if (isInteger(right)) {
    int reversed = compareNumbers(right, left);
    return reversed == 2 ? 2 : -reversed;
  }
  double b = *get<double>(right);
  if (std::isnan(b))
    return 2;
  if (auto *a = get<double>(left))
    return std::isnan(*a) ? 2 : *a < b ? -1 : *a == b ? 0 : 1;
  if (std::isinf(b))
    return b > 0 ? -1 : 1;
  llvm::APSInt whole(1100, /*isUnsigned=*/false);
  bool isExact = false;
  APFloat(b).convertToInteger(whole, llvm::RoundingMode::TowardZero, &isExact);
  int result = compareNumbers(left, makeInt(static_cast<const APInt &>(whole)));
  double fraction = b - std::trunc(b);
  return result != 0 || fraction == 0 ? result : fraction > 0 ? -1 : 1;
}

// The order of two values, or nothing where Python has none.
std::optional<bool> ordered(CompareOperator op, const Const &left, const Const &right) {
  int sign = 0;
  if (isNumber(left) && isNumber(right)) {
    sign = compareNumbers(left, right);
    if (sign == 2)
      return false;
  } else if (get<std::string>(left) && get<std::string>(right)) {
    int order = get<std::string>(left)->compare(*get<std::string>(right));
    sign = order < 0 ? -1 : order > 0;
  } else if (tupleOf(left) && tupleOf(right)) {
    auto &a = *tupleOf(left), &b = *tupleOf(right);
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!isEqual(a[i], b[i]))
        return ordered(op, a[i], b[i]);
    sign = a.size() < b.size() ? -1 : a.size() > b.size();
  } else {
    return std::nullopt;
  }
  switch (op) {
  case CompareOperator::Lt: return sign < 0;
  case CompareOperator::Le: return sign <= 0;
  case CompareOperator::Gt: return sign > 0;
  default: return sign >= 0;
  }
}

std::optional<bool> contains(const Const &element, const Const &container) {
  if (auto *tuple = tupleOf(container)) {
    for (const Const &candidate : *tuple)
      if (isEqual(element, candidate))
        return true;
    return false;
  }
  if (get<std::string>(container) && get<std::string>(element))
    return get<std::string>(container)->find(*get<std::string>(element)) != std::string::npos;
  return std::nullopt;
}

bool sameAlternative(const Const &left, const Const &right) {
  return left.value.index() == right.value.index();
}

} // namespace

std::optional<Const> evaluate(CompareOperator op, const Const &left, const Const &right, ConstError &error) {
  std::optional<bool> result;
  switch (op) {
  case CompareOperator::Eq: return Const{isEqual(left, right)};
  case CompareOperator::Ne: return Const{!isEqual(left, right)};
  case CompareOperator::Is: return Const{isSame(left, right)};
  case CompareOperator::IsNot: return Const{!isSame(left, right)};
  case CompareOperator::In:
  case CompareOperator::NotIn:
    result = contains(left, right);
    if (result && op == CompareOperator::NotIn)
      result = !*result;
    break;
  default: result = ordered(op, left, right);
  }
  if (!result)
    return error.set(diag::Kind::ConstOperands,
                     {std::string(spelling(op)), describeType(left), describeType(right)});
  return Const{*result};
}

bool isTrue(const Const &value) {
  if (get<NoneValue>(value))
    return false;
  if (auto *flag = get<bool>(value))
    return *flag;
  if (auto *integer = get<APInt>(value))
    return !integer->isZero();
  if (auto *number = get<double>(value))
    return *number != 0;
  if (auto *text = get<std::string>(value))
    return !text->empty();
  if (auto *tuple = tupleOf(value))
    return !tuple->empty();
  return true;
}

bool isEqual(const Const &left, const Const &right) {
  if (isNumber(left) && isNumber(right))
    return compareNumbers(left, right) == 0;
  if (!sameAlternative(left, right))
    return false;
  if (get<NoneValue>(left))
    return true;
  if (auto *text = get<std::string>(left))
    return *text == *get<std::string>(right);
  if (auto *a = tupleOf(left)) {
    auto *b = tupleOf(right);
    return std::equal(a->begin(), a->end(), b->begin(), b->end(), isEqual);
  }
  if (auto *a = get<TypeRef>(left))
    return *a == *get<TypeRef>(right);
  if (auto *a = get<BuiltinRef>(left))
    return a->name == get<BuiltinRef>(right)->name;
  if (auto *a = get<ModuleRef>(left))
    return a->name == get<ModuleRef>(right)->name;
  if (auto *a = get<std::shared_ptr<const Function>>(left))
    return (*a)->definition == (*get<std::shared_ptr<const Function>>(right))->definition;
  if (auto *a = get<TupleClassPtr>(left))
    return **a == **get<TupleClassPtr>(right);
  return get<OpaqueRef>(left)->handle == get<OpaqueRef>(right)->handle;
}

// Identity: equal values of one type. (CPython's small-integer identity is no promise.)
bool isSame(const Const &left, const Const &right) {
  return sameAlternative(left, right) && isEqual(left, right);
}

} // namespace tegula::sema
