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
      {"num_warps", "the int " + std::to_string(warps), "a power of two from 1 to " + std::to_string(most)});
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
std::vector<RuntimeArgument> runtimeArguments(mlir::ModuleOp module, const sema::Request &request) {
  std::vector<RuntimeArgument> arguments;
  auto function = *module.getOps<tile::FuncOp>().begin();
  std::vector<bool> written = writtenArguments(function);
  for (unsigned i = 0; i != function.getNumArguments(); ++i) {
    RuntimeArgument argument;
    argument.written = written[i];
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "tt.name"))
      argument.name = name.str();
    if (const sema::ArgumentSpec *spec = findSpec(request.arguments, argument.name))
      if (auto *type = std::get_if<sema::Type>(&spec->value))
        argument.type = *type;
    arguments.push_back(std::move(argument));
  }
  return arguments;
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
    llvm::raw_string_ostream(text) << *module_ << "\n";
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
                             targetName_ +
                             "` runs programs one after another; hint: a grid of one "
                             "program, or a GPU");
  Status status = executable_->launch(slots, grid, place);
  if (status.code == StatusCode::Driver)
    status.message += "\n  " + describeLaunch(*this, slots, grid, place);
  return status;
}

std::unique_ptr<Compilation> compile(const sema::Request &request, const CompileOptions &options,
                                     diag::Sink &sink) {
  TargetOptions targetOptions = options.targetOptions;
  targetOptions.numWarps = options.language.numWarps;
  targetOptions.numStages = options.language.numStages;
  targetOptions.looks = &options.looks;
  const Target *target = chooseTarget(options.target, targetOptions, -1, sink);
  diag::Location place = request.kernel->tree->at(request.kernel->definition->nameRange);
  if (!target || !checkLooks(options.looks, *target, targetOptions, sink) ||
      !checkWarps(targetOptions.numWarps, *target, place, sink) || !complete(request, sink))
    return nullptr;

  std::unique_ptr<Compilation> result(new Compilation);
  result->kernelName_ = request.kernel->definition->name;
  result->targetName_ = target->name;
  result->needsOneProgram_ = targetOptions.isCooperative && !target->devices;
  auto start = Clock::now();
  auto lap = [&](std::string stage) {
    result->times_.push_back({std::move(stage), millisecondsSince(start)});
    start = Clock::now();
  };
  result->context_ = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(*result->context_);
  lap("context");
  result->module_ = sema::specialize(*result->context_, request, sink);
  if (!result->module_)
    return nullptr;
  lap("sema");

  // What MLIR itself complains about is our bug; it is told as one, not printed.
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(result->context_.get(), [&](mlir::Diagnostic &diagnostic) {
    complaints += diagnostic.str() + "\n";
    return mlir::success();
  });
  if (Status status = simplify(*result->module_, options.looks); !status.ok()) {
    sink.report(diag::Kind::InternalCompilerError, {}, {status.message + complaints});
    return nullptr;
  }
  lap("simplify");
  result->arguments_ = runtimeArguments(*result->module_, request);
  Result<std::unique_ptr<Executable>> program = target->build(*result->module_, targetOptions);
  if (!program) {
    reportStatus(program.status(), options.target, place, sink);
    return nullptr;
  }
  result->executable_ = std::move(*program);
  result->stageNames_ = result->executable_->stageNames();
  result->stageNames_.insert(result->stageNames_.begin(), "ttir");
  for (const StageTime &time : result->executable_->times)
    result->times_.push_back(time);
  return result;
}

} // namespace tegula::compiler
