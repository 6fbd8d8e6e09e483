#include "compiler/Targets.h"

namespace tegula::compiler {

static constexpr Target table[] = {
#define TARGET(Name, name, text) {name, text, build##Name},
#include "compiler/Targets.def"
#undef TARGET
};

std::span<const Target> targets() { return table; }

const Target *findTarget(std::string_view name) {
  for (const Target &target : table)
    if (target.name == name)
      return &target;
  return nullptr;
}

static std::string targetList() {
  std::string list;
  for (const Target &target : targets())
    list += (list.empty() ? "" : ", ") + std::string(target.name);
  return list;
}

const Target *requireTarget(const std::string &name, diag::Sink &sink) {
  if (const Target *target = findTarget(name))
    return target;
  for (std::string_view gpu : {"cuda", "nvidia", "gpu", "sm_", "hip", "amd", "rocm", "gfx", "xpu"})
    if (name.starts_with(gpu)) {
      sink.report(diag::Kind::TargetNeedsGpu, {}, {name});
      return nullptr;
    }
  sink.report(diag::Kind::TargetUnknown, {}, {name, targetList()});
  return nullptr;
}

} // namespace tegula::compiler
