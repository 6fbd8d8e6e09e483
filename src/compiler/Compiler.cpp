#include "compiler/Compiler.h"
#include "compiler/Parameters.h"
#include "compiler/Passes.h"
#include "compiler/WrittenArguments.h"
#include "ir/tile/Tile.h"

#include "llvm/Support/Format.h"

#include <chrono>

namespace tegula::compiler {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Every parameter has a value, every constexpr one a constant.
bool complete(const sema::Request &request, diag::Sink &sink) {
  if (!checkParameters(*request.kernel, sink))
    return false;
  const std::string &kernel = request.kernel->definition->name;
  size_t before = sink.errorCount();
  for (const Parameter &parameter : parametersOf(*request.kernel)) {
    auto spec = std::find_if(request.arguments.begin(), request.arguments.end(),
                             [&](const sema::ArgumentSpec &s) { return s.name == parameter.name; });
    if (spec == request.arguments.end()) {
      if (!parameter.hasDefault)
        sink.report(parameter.isConstexpr ? diag::Kind::ConstexprMissing : diag::Kind::ArgumentMissing,
                    parameter.location, {kernel, parameter.name});
    } else if (auto *type = std::get_if<sema::Type>(&spec->value); type && parameter.isConstexpr) {
      sink.report(diag::Kind::ConstexprNeedsConstant, parameter.location,
                  {kernel, parameter.name, "a value of type " + sema::spelling(*type)});
    }
  }
  return sink.errorCount() == before;
}

// A block has a power of two of warps, and a device has room for 32 of them.
bool checkWarps(int warps, const Target &target, diag::Location place, diag::Sink &sink) {
  int most = target.devices ? 32 : 64;
  if (warps >= 1 && warps <= most && (warps & (warps - 1)) == 0)
    return true;
  sink.report(
      diag::Kind::OptionValue, place,
      {"num_warps", "the int " + std::to_string(warps), "a power of 2 from 1 to " + std::to_string(most)});
  return false;
}

// The kernel as a reader of IR wants it: folded, without dead code.
Status simplify(mlir::ModuleOp module, const pipeline::Looks &looks) {
  simt::Machine none;
  pipeline::Unit unit(none);
  unit.module = module;
  return pipeline::run(simplification(), unit, &looks);
}

// The specification of this name, elements of tuples among them.
const sema::ArgumentSpec *findSpec(llvm::ArrayRef<sema::ArgumentSpec> specs, llvm::StringRef name) {
  for (const sema::ArgumentSpec &spec : specs) {
    if (spec.name == name)
      return &spec;
    if (spec.elements)
      if (auto *found = findSpec(*spec.elements, name))
        return found;
  }
  return nullptr;
}

// The run-time arguments in order, by the names that the front end left on the function.
std::vector<artifact::Parameter> parametersOf(mlir::ModuleOp module, const sema::Request &request) {
  std::vector<artifact::Parameter> parameters;
  auto function = *module.getOps<tile::FuncOp>().begin();
  std::vector<bool> written = writtenArguments(function);
  for (unsigned i = 0; i != function.getNumArguments(); ++i) {
    artifact::Parameter parameter;
    parameter.isWritten = written[i];
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "tt.name"))
      parameter.name = name.str();
    if (const sema::ArgumentSpec *spec = findSpec(request.arguments, parameter.name))
      if (auto *type = std::get_if<sema::Type>(&spec->value))
        parameter.dtype = type->element, parameter.isPointer = type->pointer,
        parameter.isConst = type->isConst, parameter.divisibility = std::max(1u, spec->divisibility);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// "kernel `add`, grid (4, 1, 1), device 0, stream 0x0, x=*fp32 0x7f0012345600, n=i32 4096"
std::string describeLaunch(const Compilation &compilation, std::span<const uint64_t> slots,
                           const runtime::Grid &grid, const runtime::Place &place) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "kernel `" << compilation.kernelName() << "`, grid (" << grid.extent[0] << ", " << grid.extent[1]
      << ", " << grid.extent[2] << "), "
      << (place.device < 0 ? "current device" : "device " + std::to_string(place.device)) << ", stream "
      << llvm::format_hex(reinterpret_cast<uintptr_t>(place.stream), 3);
  for (size_t i = 0; i != slots.size(); ++i) {
    const RuntimeArgument &argument = compilation.arguments()[i];
    bool isNumber = !argument.type.pointer && !isFloat(argument.type.element);
    out << ", " << argument.name << "=" << sema::spelling(argument.type) << " ";
    isNumber ? out << int64_t(slots[i]) : out << llvm::format_hex(slots[i], 3);
  }
  return text;
}

} // namespace

Result<std::string_view> Compilation::stage(std::string_view name) {
  std::lock_guard guard(textMutex_);
  if (auto known = texts_.find(name); known != texts_.end())
    return std::string_view(known->second);
  std::string text;
  assert(std::find(stageNames_.begin(), stageNames_.end(), name) != stageNames_.end());
  if (name == "ttir") {
    std::lock_guard reading(module_.mutex);
    Result<mlir::ModuleOp> module = module_.get();
    if (!module)
      return module.status();
    llvm::raw_string_ostream(text) << *module << "\n";
  } else {
    Result<std::string> made = executable_->stage(name);
    if (!made)
      return made.status();
    text = std::move(*made);
  }
  return std::string_view(texts_.emplace(name, std::move(text)).first->second);
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
  Status status = executable_->launch(slots, grid, place);
  if (status.code == StatusCode::Driver)
    status.message += "\n  " + describeLaunch(*this, slots, grid, place);
  return status;
}

const Target *prepare(const sema::Request &request, const CompileOptions &options,
                      TargetOptions &targetOptions, diag::Sink &sink) {
  targetOptions = options.targetOptions;
  targetOptions.numWarps = options.language.numWarps;
  targetOptions.numStages = options.language.numStages;
  targetOptions.looks = &options.looks;
  const Target *target = chooseTarget(options.target, targetOptions, -1, sink);
  diag::Location place = request.kernel->tree->at(request.kernel->definition->nameRange);
  return target && checkLooks(options.looks, *target, targetOptions, sink) &&
                 checkWarps(targetOptions.numWarps, *target, place, sink) && complete(request, sink)
             ? target
             : nullptr;
}

Status build(const sema::Request &request, const Target &target, const TargetOptions &options, Built &built,
             diag::Sink &sink) {
  const Status reported = Status::error(StatusCode::Type, "");
  artifact::Artifact &artifact = built.artifact;
  artifact.kernel = request.kernel->definition->name;
  artifact.target = target.name;
  artifact.arch = options.arch;
  auto start = Clock::now();
  auto lap = [&](std::string stage) {
    built.report.times.push_back({std::move(stage), millisecondsSince(start)});
    start = Clock::now();
  };
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  lap("context");
  mlir::OwningOpRef<mlir::ModuleOp> module = sema::specialize(context, request, sink);
  if (!module)
    return reported;
  lap("sema");

  // What MLIR itself complains about is our bug; it is told as one, not printed.
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    complaints += diagnostic.str() + "\n";
    return mlir::success();
  });
  if (Status status = simplify(*module, *options.looks); !status.ok()) {
    sink.report(diag::Kind::InternalCompilerError, {}, {status.message + complaints});
    return reported;
  }
  lap("simplify");
  artifact.parameters = parametersOf(*module, request);
  artifact.parts.push_back({std::string(tilePart), moduleBytes(*module)});
  lap("keep");
  return target.build(*module, options, artifact, built.report);
}

std::unique_ptr<Compilation> load(artifact::Artifact artifact, const TargetOptions &options,
                                  std::vector<StageTime> times, diag::Location place, diag::Sink &sink) {
  const Target *target = findTarget(artifact.target);
  assert(target && artifact.part(tilePart) && "a compiled kernel has a target and its tile IR");
  std::unique_ptr<Compilation> result(new Compilation(std::move(artifact)));
  const artifact::Artifact &kept = result->artifact_;
  Result<std::unique_ptr<Executable>> executable = target->load(kept, result->module_, options);
  if (!executable) {
    reportStatus(executable.status(), target->name, place, sink);
    return nullptr;
  }
  result->executable_ = std::move(*executable);
  result->needsOneProgram_ = options.isCooperative && !target->devices;
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
