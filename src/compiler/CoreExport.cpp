// libtegula-core: the table of Core.h, for the libtegula of the same build.
#include "base/KeepStatics.h"
#include "compiler/Core.h"
#include "sema/builtins/Table.h"

extern "C" __attribute__((visibility("default"))) const tegula::compiler::Core *
tegula_core(const char *ours, tegula::sema::builtins::FindFunction findFunction) {
  if (tegula::compiler::sidesOf() != ours)
    return nullptr;
  tegula::sema::builtins::shareLibrary(findFunction);
  return &tegula::compiler::linkedCore();
}
