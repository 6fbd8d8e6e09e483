// Python's arithmetic on compile-time values, without a session: what goes wrong comes
// back as a ConstError, which the caller reports where it stands. Integers have any width
// up to maxConstBits; floats are CPython's doubles; nothing here depends on the host.
#pragma once
#include "diag/Diagnostic.h"
#include "sema/Budgets.h"
#include "sema/HostEnv.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula::sema {

struct ConstError {
  diag::Kind kind{};
  std::vector<std::string> arguments;

  std::nullopt_t set(diag::Kind newKind, std::vector<std::string> newArguments) {
    kind = newKind;
    arguments = std::move(newArguments);
    return std::nullopt;
  }
  diag::Diagnostic &report(diag::Sink &sink, diag::Location location) const;
};

std::optional<Const> evaluate(syntax::BinaryOperator op, const Const &left, const Const &right,
                              ConstError &error);
std::optional<Const> evaluate(syntax::CompareOperator op, const Const &left, const Const &right,
                              ConstError &error);
std::optional<Const> evaluate(syntax::UnaryOperator op, const Const &operand, ConstError &error);
// Python's truth of any value; functions, types and modules are true.
bool isTrue(const Const &value);
// A tuple may hold another many times over; this bounds what a walk over one meets, and
// how deep it goes.
bool isWithinLimits(const Const &value);
// Equality and identity never fail.
bool isEqual(const Const &left, const Const &right);
bool isSame(const Const &left, const Const &right);

// "int", "float", "str", "tuple", ...: what messages call a value.
std::string describeType(const Const &value);
// `format(value, spec)`.
std::optional<std::string> formatConst(const Const &value, std::string_view spec, ConstError &error);
// `text % values`.
std::optional<Const> formatPercent(const std::string &text, const Const &values, ConstError &error);
std::string reprOf(double value);
// A text as messages show it: of a long one the beginning and the end.
std::string shortened(std::string_view text);

Const makeInt(const llvm::APInt &value); // kept as narrow as it can be, at least 64 bits
Const makeTuple(ConstTuple elements);
bool isInteger(const Const &value); // int or bool
bool isNumber(const Const &value);  // int, bool or float
llvm::APInt integerOf(const Const &value);
// int(value), float(value) as Python has them for numbers and strings.
std::optional<Const> toPythonInt(const Const &value, ConstError &error);
std::optional<Const> toPythonFloat(const Const &value, ConstError &error);
std::optional<double> toDouble(const Const &number, ConstError &error);
std::optional<Const> integerFromDigits(std::string_view digits, unsigned base, ConstError &error);

template <class T> const T *get(const Const &value) { return std::get_if<T>(&value.value); }
inline const ConstTuple *tupleOf(const Const &value) {
  auto *pointer = get<std::shared_ptr<ConstTuple>>(value);
  return pointer ? pointer->get() : nullptr;
}

// The bounds of a Python slice over `length` elements; indices are start, start+step, ...
struct SliceRange {
  int64_t start = 0, step = 1;
  size_t count = 0;
};
// Null fields of a slice are nullopt. Step 0 is an error.
std::optional<SliceRange> resolveSlice(std::optional<int64_t> lower, std::optional<int64_t> upper,
                                       std::optional<int64_t> step, size_t length, ConstError &error);

} // namespace tegula::sema
