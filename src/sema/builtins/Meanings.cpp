// The functions that give the rows of Builtins.def and Libdevice.def their meaning: a list in the order of
// the table.
#include "sema/builtins/Call.h"
#include "sema/builtins/Table.h"

#include <cassert>
#include <iterator>

namespace tegula::sema {
namespace builtins {

// The functions that the rows name, in the files of their families.
#define BUILTIN(name, family, member, parameters, bound, doc) std::optional<Value> call_##name(Call &call);
#define PYTHON(name, parameters, doc) std::optional<Value> python_##name(Call &call);
#define CUDA_QUERY(name, parameters, doc) std::optional<Value> cuda_##name(Call &call);
#define DESCRIPTOR(name, parameters, doc) std::optional<Value> descriptor_##name(Call &call);
#define LIBRARY(name, family, member, parameters, bound, doc)
#define UNSUPPORTED(name, family, member, reason)
#define TOP(name, parameters, doc)
#define PYTHON_MISSING(name, reason)
#define CUDA_MISSING(name, reason)
#include "sema/builtins/Builtins.def"
#undef BUILTIN
#undef PYTHON
#undef DESCRIPTOR
#undef CUDA_QUERY
#define UNARY(name, Op) std::optional<Value> libdevice_##name(Call &call);
#define BINARY(name, Op) std::optional<Value> libdevice_##name(Call &call);
#define TERNARY(name, Op) std::optional<Value> libdevice_##name(Call &call);
#define SPECIAL(name, parameters) std::optional<Value> libdevice_##name(Call &call);
#define DIRECTED(name, parameters)                                                                           \
  SPECIAL(name##_rz, parameters) SPECIAL(name##_rd, parameters) SPECIAL(name##_ru, parameters)
#define CONVERSION(name, function, from, to) SPECIAL(name##_rn, "x") DIRECTED(name, "x")
#define WRITTEN(name, parameters)
#define WIDENED(name, parameters)
#include "sema/builtins/Libdevice.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef SPECIAL
#undef DIRECTED
#undef CONVERSION
#undef WRITTEN
#undef WIDENED
#undef LIBRARY
#undef UNSUPPORTED
#undef TOP
#undef PYTHON_MISSING
#undef CUDA_MISSING

namespace {

constexpr Meaning meanings[] = {
#define BUILTIN(name, family, member, parameters, bound, doc) call_##name,
#define LIBRARY(name, family, member, parameters, bound, doc) nullptr,
#define UNSUPPORTED(name, family, member, reason) nullptr,
#define TOP(name, parameters, doc) call_##name,
#define PYTHON(name, parameters, doc) python_##name,
#define DESCRIPTOR(name, parameters, doc) descriptor_##name,
#define PYTHON_MISSING(name, reason) nullptr,
#define CUDA_QUERY(name, parameters, doc) cuda_##name,
#define CUDA_MISSING(name, reason) nullptr,
#include "sema/builtins/Builtins.def"
#define UNARY(name, Op) libdevice_##name,
#define BINARY(name, Op) libdevice_##name,
#define TERNARY(name, Op) libdevice_##name,
#define SPECIAL(name, parameters) libdevice_##name,
#define DIRECTED(name, parameters) libdevice_##name##_rz, libdevice_##name##_rd, libdevice_##name##_ru,
#define CONVERSION(name, function, from, to) libdevice_##name##_rn, DIRECTED(name, "x")
#define WRITTEN(name, parameters) nullptr,
#define WIDENED(name, parameters) nullptr,
#include "sema/builtins/Libdevice.def"
};

} // namespace

Meaning meaningOf(const Row &row) {
  auto at = size_t(&row - table().data());
  assert(at < std::size(meanings) && std::size(meanings) == table().size() && "a row of the table");
  assert((meanings[at] != nullptr) == row.hasMeaning && "both lists are made of the same files");
  return meanings[at];
}

} // namespace builtins

std::optional<Value> callBuiltin(Session &session, std::string_view name, std::span<const Value> arguments,
                                 std::span<const NamedValue> keywords) {
  const builtins::Row *row = builtins::findRow(builtins::canonical(name));
  if (!row)
    return session.fail(diag::Kind::NotABuiltin, {name});
  return builtins::runBuiltin(session, *row, arguments, keywords);
}

} // namespace tegula::sema
