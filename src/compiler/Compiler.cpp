#include "compiler/Compiler.h"
#include "compiler/Parameters.h"
#include "compiler/WrittenArguments.h"
#include "ir/tile/Tile.h"

#include "mlir/Transforms/Passes.h"

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

// The kernel as a reader of IR wants it: folded, without dead code.
bool simplify(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext());
  passes.enableVerifier(true);
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  return mlir::succeeded(passes.run(module));
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
    for (const sema::ArgumentSpec &spec : request.arguments)
      if (spec.name == argument.name)
        if (auto *type = std::get_if<sema::Type>(&spec.value))
          argument.type = *type;
    arguments.push_back(std::move(argument));
  }
  return arguments;
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
    Result<std::string> made = program_->stage(name);
    if (!made)
      return made.status();
    text = std::move(*made);
  }
  return std::string_view(texts_.emplace(name, std::move(text)).first->second);
}

Status Compilation::launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &place) {
  return program_->launch(slots, grid, place);
}

std::unique_ptr<Compilation> compile(const sema::Request &request, const Options &options, diag::Sink &sink) {
  const Target *target = requireTarget(options.target, sink);
  if (!target || !complete(request, sink))
    return nullptr;

  std::unique_ptr<Compilation> result(new Compilation);
  result->kernelName_ = request.kernel->definition->name;
  result->targetName_ = options.target;
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
  if (!simplify(*result->module_)) {
    sink.report(diag::Kind::InternalCompilerError, {}, {complaints});
    return nullptr;
  }
  lap("simplify");
  result->arguments_ = runtimeArguments(*result->module_, request);
  TargetOptions targetOptions = options.targetOptions;
  targetOptions.numWarps = options.language.numWarps;
  targetOptions.numStages = options.language.numStages;
  Result<std::unique_ptr<Program>> program = target->build(*result->module_, targetOptions);
  if (!program) {
    diag::Location place = request.kernel->tree->at(request.kernel->definition->nameRange);
    if (program.status().code == StatusCode::Internal)
      sink.report(diag::Kind::InternalCompilerError, place, {program.status().message});
    else
      sink.report(diag::Kind::TargetFailed, place, {options.target, program.status().message});
    return nullptr;
  }
  result->program_ = std::move(*program);
  result->stageNames_ = result->program_->stageNames();
  result->stageNames_.insert(result->stageNames_.begin(), "ttir");
  for (const StageTime &time : result->program_->times)
    result->times_.push_back(time);
  return result;
}

} // namespace tegula::compiler
