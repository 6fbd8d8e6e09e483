// The verb `env`: one paragraph a variable, as a person reads it.
#include "Verbs.h"

#include <cstdio>

namespace tegula::cli {

int environment() {
  tg_variable row{};
  row.struct_size = sizeof row;
  for (size_t i = 0; tg_variable_get(i, &row) == TG_OK; ++i) {
    std::string now = row.value ? "= " + std::string(row.value) : "is not set";
    if (!row.value && *row.initial)
      now += " (" + std::string(row.initial) + ")";
    std::printf("%s %s\n    %s\n    read by: %s\n", row.name, now.c_str(), row.what, row.read);
    if (*row.problem)
      std::printf("    wrong: %s\n", row.problem);
  }
  return ExitOk;
}

} // namespace tegula::cli
