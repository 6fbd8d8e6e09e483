#include "base/Environment.h"

#include <cstdlib>

namespace tegula {

static constexpr VariableRow table[] = {
#define VARIABLE(Name, text, initial, read, what) {text, initial, read, what},
#include "base/Environment.def"
};

std::span<const VariableRow> variables() { return table; }

const char *valueOf(Variable variable) {
  const char *value = std::getenv(table[size_t(variable)].name);
  return value ? value : "";
}

} // namespace tegula
