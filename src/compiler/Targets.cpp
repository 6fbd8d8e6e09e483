#include "compiler/Targets.h"

#include <algorithm>

namespace tegula::compiler {

static constexpr Target table[] = {
#define TARGET(Name, name, text) {name, text, build##Name, nullptr},
#define DEVICE_TARGET(Name, name, text) {name, text, build##Name, &devicesOf##Name},
#define ARCH_TARGET(Name, name, text) {name, text, build##Name, nullptr, archOf##Name},
#include "compiler/Targets.def"
#undef ARCH_TARGET
#undef DEVICE_TARGET
#undef TARGET
};

std::span<const Target> targets() { return table; }

// "sm_90", "sm_90a", "sm_120f": the vendor's names of its architectures from 7.5 on.
static bool isArch(std::string_view name) {
  if (!name.starts_with("sm_"))
    return false;
  name.remove_prefix(3);
  if (name.ends_with('a') || name.ends_with('f'))
    name.remove_suffix(1);
  if (name.size() < 2 || name.size() > 3 || !std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  int number = 0;
  for (char digit : name)
    number = number * 10 + (digit - '0');
  return number >= 75;
}

const Target *findTarget(std::string_view name) {
  for (const Target &target : table)
    if (target.name == name || (target.name == "cuda" && isArch(name)))
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
  for (std::string_view gpu : {"nvidia", "gpu", "sm_", "hip", "amd", "rocm", "gfx", "xpu"})
    if (name.starts_with(gpu)) {
      sink.report(diag::Kind::TargetNeedsGpu, {}, {name, targetList()});
      return nullptr;
    }
  sink.report(diag::Kind::TargetUnknown, {}, {name, targetList()});
  return nullptr;
}

const Target *chooseTarget(const std::string &name, TargetOptions &options, int device, diag::Sink &sink) {
  const Target *target = requireTarget(name, sink);
  if (!target || !options.arch.empty())
    return target;
  if (target->arch) {
    options.arch = target->arch();
    if (isArch(options.arch))
      return target;
    sink.report(diag::Kind::TargetFailed, {},
                {name, "there is no architecture `" + options.arch + "`; names are as in sm_90a"});
    return nullptr;
  }
  if (!target->devices)
    return target;
  if (target->name != name) {
    options.arch = name;
    return target;
  }
  Result<int> current = device >= 0 ? Result<int>(device) : target->devices->current();
  Result<const runtime::DeviceInfo *> info =
      current ? target->devices->info(*current) : Result<const runtime::DeviceInfo *>(current.status());
  if (!info) {
    sink.report(diag::Kind::TargetNeedsDevice, {}, {name, info.status().message});
    return nullptr;
  }
  options.arch = (*info)->arch;
  return target;
}

void reportStatus(const Status &status, std::string_view target, diag::Location place, diag::Sink &sink) {
  using diag::Kind;
  switch (status.code) {
  case StatusCode::Internal: sink.report(Kind::InternalCompilerError, place, {status.message}); break;
  case StatusCode::Toolchain: sink.report(Kind::ToolchainFailed, place, {target, status.message}); break;
  case StatusCode::Driver: sink.report(Kind::DriverFailed, place, {status.message}); break;
  case StatusCode::Resource: sink.report(Kind::TargetTooSmall, place, {target, status.message}); break;
  case StatusCode::Assertion: sink.report(Kind::DeviceAssertion, place, {status.message}); break;
  case StatusCode::Launch: sink.report(Kind::LaunchFailed, place, {status.message}); break;
  default: sink.report(Kind::TargetFailed, place, {target, status.message}); break;
  }
}

} // namespace tegula::compiler
