// One call of a builtin: its row of the table and its arguments, bound by position and by
// name. The getters read an argument as what a builtin needs, or report which parameter of
// which builtin is wrong and return nullopt. Internal to builtins/.
#pragma once
#include "sema/builtins/Emit.h"
#include "sema/builtins/Table.h"

namespace tegula::sema::builtins {

class Call {
public:
  Call(Session &session, const Row &row, std::vector<Value> values)
      : session(session), row(row), values(std::move(values)) {}

  Session &session;
  const Row &row;
  std::vector<Value> values; // one for each parameter, defaults filled in

  size_t size() const { return values.size(); }
  const Value &operator[](size_t i) const { return values[i]; }
  bool isNone(size_t i) const { return values[i].isNone(); }

  // A run-time value; a number becomes a scalar.
  std::optional<Tensor> tensor(size_t i) const;
  // A tile: a run-time value with a shape.
  std::optional<Tensor> tile(size_t i) const;
  // Compile-time values.
  std::optional<int64_t> integer(size_t i) const;
  std::optional<bool> flag(size_t i) const;
  std::optional<std::string> text(size_t i) const;
  std::optional<Type> type(size_t i) const;      // a dtype or a pointer type
  std::optional<DType> dtype(size_t i) const;    // a dtype
  std::optional<Shape> integers(size_t i) const; // a tuple of integers, or one
  std::optional<Shape> shape(size_t i) const;    // a tuple of extents, checked
  // An axis of `rank` dimensions, negative ones from the end.
  std::optional<int64_t> axis(size_t i, int64_t rank) const;
  // The word at `i` as an enumerator; "" is the first one.
  template <class Enum>
  std::optional<Enum> word(size_t i, std::initializer_list<std::pair<std::string_view, Enum>> words) const {
    auto found = text(i);
    if (!found)
      return std::nullopt;
    std::string expected;
    for (auto &[spelling, value] : words) {
      if (*found == spelling)
        return value;
      expected += (expected.empty() ? "'" : ", '") + std::string(spelling) + "'";
    }
    return wrong(i, "one of " + expected);
  }

  // "`axis` of `tl.sum` must be <expected>, not ..."
  std::nullopt_t wrong(size_t i, std::string_view expected) const;
  // Reports `kind` with this builtin's name as {0}, before `arguments`.
  std::nullopt_t fail(diag::Kind kind, std::vector<std::string> arguments = {}) const;
};

// Binds and runs.
std::optional<Value> runBuiltin(Session &, const Row &, std::span<const Value> arguments,
                                std::span<const NamedValue> keywords);

} // namespace tegula::sema::builtins
