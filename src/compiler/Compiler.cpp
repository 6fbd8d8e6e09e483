#include "compiler/Compiler.h"
#include "base/DeepStack.h"
#include "base/OverLimit.h"
#include "compiler/Alone.h"
#include "compiler/Core.h"
#include "compiler/KernelCache.h"
#include "compiler/Parameters.h"

#include <cassert>
#include <charconv>
#include <unordered_map>

namespace tegula::compiler {
namespace {

// Every parameter has a value, every constexpr one a constant.
bool complete(const sema::Request &request, diag::Sink &sink) {
  if (!checkParameters(*request.kernel, sink))
    return false;
  const std::string &kernel = request.kernel->definition->name;
  size_t before = sink.errorCount();
  std::unordered_map<std::string_view, const sema::ArgumentSpec *> specs;
  for (const sema::ArgumentSpec &spec : request.arguments)
    specs.try_emplace(spec.name, &spec);
  for (const Parameter &parameter : parametersOf(*request.kernel)) {
    auto found = specs.find(parameter.name);
    if (found == specs.end()) {
      if (!parameter.hasDefault && !parameter.isVariadic)
        sink.report(parameter.isConstexpr ? diag::Kind::ConstexprMissing : diag::Kind::ArgumentMissing,
                    parameter.location, {kernel, parameter.name});
    } else if (auto *type = std::get_if<sema::Type>(&found->second->value); type && parameter.isConstexpr) {
      sink.report(diag::Kind::ConstexprNeedsConstant, parameter.location,
                  {kernel, parameter.name, "a value of type " + sema::spelling(*type)});
    }
  }
  return sink.errorCount() == before;
}

// Devices, and machines that stand for them, have room for blocks of 32 warps.
int mostWarps(const Target &target) { return target.hasBlocks() ? 32 : 64; }

// A block has a power of two of warps.
bool checkWarps(int warps, const Target &target, diag::Location place, diag::Sink &sink) {
  int most = mostWarps(target);
  bool isPower = warps >= 1 && (warps & (warps - 1)) == 0;
  if (isPower && warps <= most)
    return true;
  if (isPower)
    return reportTooManyWarps(warps, std::string(target.name), place, sink), false;
  sink.report(
      diag::Kind::OptionValue, place,
      {"num_warps", "the int " + std::to_string(warps), "a power of 2 from 1 to " + std::to_string(most)});
  return false;
}

bool checkStages(int stages, diag::Location place, diag::Sink &sink) {
  if (stages >= 0 && stages <= sema::maxStages)
    return true;
  sink.report(diag::Kind::OptionValue, place,
              {"num_stages", "the int " + std::to_string(stages),
               "an int from 0 to " + std::to_string(sema::maxStages)});
  return false;
}

std::string hexadecimal(uint64_t number) {
  char digits[16];
  return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
}

// "kernel `add`, grid (4, 1, 1), device 0, stream 0x0, x=*fp32 0x7f0012345600, n=i32 4096"
std::string describeLaunch(const Compilation &compilation, std::span<const uint64_t> slots,
                           const runtime::Grid &grid, const runtime::Place &place) {
  std::string text = "kernel `" + compilation.kernelName() + "`, grid (" + std::to_string(grid.extent[0]) +
                     ", " + std::to_string(grid.extent[1]) + ", " + std::to_string(grid.extent[2]) + "), " +
                     (place.device < 0 ? "current device" : "device " + std::to_string(place.device)) +
                     ", stream " + hexadecimal(reinterpret_cast<uintptr_t>(place.stream));
  for (size_t i = 0; i != slots.size(); ++i) {
    const RuntimeArgument &argument = compilation.arguments()[i];
    bool isNumber = !argument.type.pointer && !isFloat(argument.type.element);
    text += ", " + argument.name + "=" + sema::spelling(argument.type) + " " +
            (isNumber ? std::to_string(int64_t(slots[i])) : hexadecimal(slots[i]));
  }
  return text;
}

} // namespace

void reportTooManyWarps(int64_t warps, std::string_view target, diag::Location place, diag::Sink &sink) {
  const Target *found = findTarget(target);
  int64_t most = found ? mostWarps(*found) : 32;
  sink.report(diag::Kind::TargetTooSmall, place,
              {std::string(target), overLimit("threads", uint64_t(warps) * 32, uint64_t(most) * 32) +
                                        " (num_warps=" + std::to_string(warps) + ")"});
}

Result<std::string_view> Compilation::stage(std::string_view name) {
  RobustLock::Holder within(textLock_);
  if (within.isAbandoned()) { // somebody was at work on both; texts that were given out stay
    (void)stages_.release();
    new auto(std::move(texts_));
  }
  if (auto known = texts_.find(name); known != texts_.end())
    return std::string_view(known->second);
  assert(std::find(stageNames_.begin(), stageNames_.end(), name) != stageNames_.end());
  if (const std::string *kept = executable_->stage(name))
    return std::string_view(*kept);
  if (!stages_) {
    Result<const Core *> opened = core();
    if (!opened)
      return opened.status();
    stages_ = (*opened)->stages(artifact_, options_);
  }
  Result<std::string> text = std::string();
  onDeepStack([&] { text = stages_->text(name); });
  if (!text)
    return text.status();
  return std::string_view(texts_.emplace(name, std::move(*text)).first->second);
}

Status Compilation::launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                           const runtime::Place &place) {
  // uniformity-and-progress.md, P12.
  if (needsOneProgram_ && grid.programs() > 1)
    return Status::error(StatusCode::Launch,
                         "the grid of " + std::to_string(grid.programs()) +
                             " programs is cooperative (launch_cooperative_grid), and the target `" +
                             targetName() +
                             "` runs programs one after another; hint: a grid of one "
                             "program, or a GPU");
  Status status = codeFor(grid, place).launch(slots, grid, place);
  if (status.code == StatusCode::Driver)
    status.message += "\n  " + describeLaunch(*this, slots, grid, place);
  return status;
}

Executable &Compilation::codeFor(const runtime::Grid &grid, const runtime::Place &place) {
  const artifact::Programs programs = artifact_.launch.programs;
  if (programs == artifact::Programs::Any)
    return *executable_;
  bool isAlone = runsAlone(*target_, grid, place, mostAlone_);
  if (isAlone == (programs == artifact::Programs::Alone))
    return *executable_;
  if (!isOtherSought_.load(std::memory_order_acquire))
    makeOther();
  return other_ ? *other_->executable_ : *executable_;
}

// A launch whose code cannot be made runs what there is.
void Compilation::makeOther() {
  RobustLock::Holder within(otherLock_);
  if (isOtherSought_.load(std::memory_order_relaxed))
    return;
  if (within.isAbandoned())
    (void)other_.release();
  TargetOptions options = options_;
  options.isAlone = artifact_.launch.programs != artifact::Programs::Alone;
  other_ = findOrRebuild(artifact_, options, !isClosed_);
  isOtherSought_.store(true, std::memory_order_release);
}

const Target *prepare(const sema::Request &request, const CompileOptions &options,
                      TargetOptions &targetOptions, diag::Sink &sink) {
  targetOptions = options.targetOptions;
  targetOptions.numWarps = options.language.numWarps;
  targetOptions.numStages = options.language.numStages;
  targetOptions.looks = &options.looks;
  const Target *target = chooseTarget(options.target, targetOptions, -1, sink);
  diag::Location place = request.kernel->tree->at(request.kernel->definition->nameRange);
  if (!target)
    return nullptr;
  if (!options.looks.before.empty() || !options.looks.after.empty()) {
    const Core *opened = requireCore(target->name, sink);
    if (!opened || !opened->checkLooks(options.looks, *target, targetOptions, sink))
      return nullptr;
  }
  bool isFine = checkWarps(targetOptions.numWarps, *target, place, sink) &&
                checkStages(targetOptions.numStages, place, sink) && complete(request, sink);
  return isFine ? target : nullptr;
}

Status build(const sema::Request &request, const Target &target, const TargetOptions &options, Built &built,
             diag::Sink &sink) {
  Result<const Core *> opened = core();
  if (!opened)
    return opened.status();
  Status status;
  onDeepStack([&] { status = (*opened)->build(request, target, options, built, sink); });
  return status;
}

const Core *requireCore(std::string_view target, diag::Sink &sink) {
  Result<const Core *> opened = core();
  if (opened)
    return *opened;
  reportStatus(opened.status(), target, {}, sink);
  return nullptr;
}

std::unique_ptr<Compilation> load(artifact::Artifact artifact, const TargetOptions &options,
                                  std::vector<StageTime> times, diag::Location place, diag::Sink &sink) {
  const Target *target = findTarget(artifact.target);
  assert(target && artifact.part(tilePart) && "a compiled kernel has a target and its tile IR");
  std::unique_ptr<Compilation> result(new Compilation(std::move(artifact)));
  const artifact::Artifact &kept = result->artifact_;
  Result<std::unique_ptr<Executable>> executable = target->load(kept);
  if (!executable) {
    reportStatus(executable.status(), target->name, place, sink);
    return nullptr;
  }
  result->executable_ = std::move(*executable);
  result->options_ = options;
  result->options_.looks = nullptr; // of the build
  result->options_.isAlone = kept.launch.programs == artifact::Programs::Alone;
  result->mostAlone_ = mostAlone();
  result->target_ = target;
  result->needsOneProgram_ = options.isCooperative && !result->executable_->canRunTogether();
  for (const artifact::Parameter &parameter : kept.parameters)
    result->arguments_.push_back(
        {parameter.name, {parameter.dtype, parameter.isPointer, parameter.isConst, {}}, parameter.isWritten});
  for (const artifact::Remark &remark : kept.remarks)
    result->remarks_.push_back({remark.location, remark.kind, remark.text});
  result->stageNames_ = result->executable_->stageNames();
  result->stageNames_.insert(result->stageNames_.begin(), "ttir");
  result->times_ = std::move(times);
  return result;
}

std::unique_ptr<Compilation> compile(const sema::Request &request, const CompileOptions &options,
                                     diag::Sink &sink) {
  TargetOptions targetOptions;
  const Target *target = prepare(request, options, targetOptions, sink);
  if (!target)
    return nullptr;
  diag::Location place = request.kernel->tree->at(request.kernel->definition->nameRange);
  Built built;
  size_t before = sink.errorCount();
  if (Status status = build(request, *target, targetOptions, built, sink); !status.ok()) {
    if (sink.errorCount() == before)
      reportStatus(status, options.target, place, sink);
    return nullptr;
  }
  return load(std::move(built.artifact), targetOptions, std::move(built.report.times), place, sink);
}

} // namespace tegula::compiler
