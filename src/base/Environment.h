// The variables of the environment that Tegula reads: one table, and the functions through which C++ reads
// them. The Python package reads its own by the names in the table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tegula {

enum class Variable : size_t {
#define VARIABLE(Name, text, domain, initial, read, what) Name,
#include "base/Environment.def"
};

struct VariableRow {
  const char *name, *initial, *read, *what;
};
// One row a variable, in the order of the enumeration.
std::span<const VariableRow> variables();

// Returns what the variable is set to now; "" where it is not set.
const char *valueOf(Variable variable);
// Returns whether the variable is on: not one of 0, false, off, no and n, in any case. Where it is not set,
// its default counts.
bool isOn(Variable variable);
// Returns the number that the variable is set to; where it is not set, or to no number of its domain, its
// default; none where that is no number either.
std::optional<uint64_t> numberOf(Variable variable);

// Returns why the value that the variable has now means nothing: "TEGULA_CACHE_SIZE is 'big'; it must be a
// number from 0 to 1048576". "" where it means something.
std::string problemOf(Variable variable);

} // namespace tegula
