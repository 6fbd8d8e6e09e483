// The variables of the environment that Tegula reads: one table, and the one function through
// which C++ reads them. The Python package reads its own by the names in the table.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace tegula {

enum class Variable : size_t {
#define VARIABLE(Name, text, initial, read, what) Name,
#include "base/Environment.def"
};

struct VariableRow {
  const char *name, *initial, *read, *what;
};
// One row a variable, in the order of the enumeration.
std::span<const VariableRow> variables();

// Returns what the variable is set to now; "" where it is not set.
const char *valueOf(Variable variable);

} // namespace tegula
