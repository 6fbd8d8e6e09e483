#include "compiler/Targets.h"
#include "base/Environment.h"
#include "targets/nvidia/Architecture.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace tegula::compiler {

static constexpr Target table[] = {
#define TARGET(Name, name, text) {name, text, load##Name, identityOf##Name, nullptr},
#define DEVICE_TARGET(Name, name, text) {name, text, load##Name, identityOf##Name, &devicesOf##Name},
#define ARCH_TARGET(Name, name, text) {name, text, load##Name, identityOf##Name, nullptr, archOf##Name},
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
  if (name.size() < 2 || name.size() > 3 ||
      !std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  int number = 0;
  for (char digit : name)
    number = number * 10 + (digit - '0');
  return number >= 75;
}

std::optional<std::string> archFor(const Target &target, std::string_view text) {
  if (!text.starts_with("sm"))
    return std::nullopt;
  std::string name = "sm_" + std::string(text.substr(text.starts_with("sm_") ? 3 : 2));
  if (!isArch(name) || !target.hasBlocks())
    return std::nullopt;
  // From 9.0 on the instructions that only this architecture has are wanted, too.
  bool isPlain = name.back() >= '0' && name.back() <= '9';
  return isPlain && (name.size() > 5 || name[3] == '9') ? name + "a" : name;
}

const Target *findTarget(std::string_view name) {
  for (const Target &target : table)
    if (target.name == name || (target.name == "cuda" && isArch(name)))
      return &target;
  return nullptr;
}

std::pair<std::string_view, std::string_view> withoutHint(std::string_view message) {
  constexpr std::string_view mark = "; hint: ";
  size_t at = message.rfind(mark);
  return at == message.npos ? std::pair(message, std::string_view())
                            : std::pair(message.substr(0, at), message.substr(at + mark.size()));
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
      diag::Diagnostic &diagnostic = sink.report(diag::Kind::TargetNeedsGpu, {}, {name, targetList()});
      if (name.starts_with("sm_"))
        diagnostic.message = nvidia::findArchitecture(name).status().message;
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
  if (!target->devices) {
    if (options.cpu.empty())
      options.cpu = valueOf(Variable::Cpu);
    if (options.cpu == "native")
      options.cpu.clear();
    return target;
  }
  if (target->name != name) {
    options.arch = name;
    return target;
  }
  Result<int> current = device >= 0 ? Result<int>(device) : target->devices->current();
  Result<const runtime::DeviceInfo *> info =
      current ? target->devices->info(*current) : Result<const runtime::DeviceInfo *>(current.status());
  if (!info) {
    const Status status = info.status();
    auto [message, hint] = withoutHint(status.message);
    diag::Diagnostic &diagnostic = sink.report(diag::Kind::TargetNeedsDevice, {}, {name, message});
    if (!hint.empty())
      diagnostic.hint += "; to run on one: " + std::string(hint);
    return nullptr;
  }
  options.arch = (*info)->arch;
  return target;
}

namespace {

// A message that starts with "FILE:LINE:COLUMN: ", where FILE is the place's source: the place moves there.
// One about another file, or about a function that stands elsewhere in this one, keeps its words.
void takePlace(std::string_view &message, diag::Location &place) {
  if (!place.source || !message.starts_with(place.source->path() + ":"))
    return;
  std::string_view rest = message.substr(place.source->path().size() + 1);
  diag::Position at;
  for (uint32_t *number : {&at.line, &at.column}) {
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *number);
    if (error != std::errc() || end == rest.data() + rest.size() || *end != ':')
      return;
    rest.remove_prefix(size_t(end - rest.data()) + 1);
  }
  uint32_t begin = 0, end = uint32_t(place.source->text().size()); // positions rise with offsets
  while (begin < end) {
    uint32_t middle = begin + (end - begin) / 2;
    diag::Position here = place.source->position(middle);
    bool isBefore = here.line < at.line || (here.line == at.line && here.column < at.column);
    isBefore ? begin = middle + 1 : end = middle;
  }
  if (place.source->position(begin).line != at.line)
    return;
  place.range = {begin, begin + 1};
  message = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

} // namespace

void reportStatus(const Status &status, std::string_view target, diag::Location place, diag::Sink &sink) {
  using diag::Kind;
  std::string_view message, hint;
  std::tie(message, hint) = withoutHint(status.message);
  auto report = [&]() -> diag::Diagnostic & {
    switch (status.code) {
    case StatusCode::Internal: return sink.report(Kind::InternalCompilerError, place, {message});
    case StatusCode::Driver: return sink.report(Kind::DriverFailed, place, {message});
    case StatusCode::Assertion: return sink.report(Kind::DeviceAssertion, place, {message});
    case StatusCode::Launch: return sink.report(Kind::LaunchFailed, place, {message});
    case StatusCode::Toolchain:
      takePlace(message, place);
      return sink.report(Kind::ToolchainFailed, place, {target, message});
    case StatusCode::Resource:
      takePlace(message, place);
      return sink.report(Kind::TargetTooSmall, place, {target, message});
    default: takePlace(message, place); return sink.report(Kind::TargetFailed, place, {target, message});
    }
  };
  diag::Diagnostic &diagnostic = report();
  if (!hint.empty())
    diagnostic.hint = hint;
}

} // namespace tegula::compiler
