// A request -> an artifact: sema, simplified tile IR, the target. Each compile has a fresh, single-threaded
// MLIR context; nothing is shared between two of them, and nothing of it stays.
#include "compiler/Build.h"
#include "compiler/Builders.h"
#include "compiler/Passes.h"
#include "compiler/WrittenArguments.h"
#include "ir/tile/Tile.h"
#include "pipeline/GivenStage.h"
#include "sema/Sema.h"

#include <chrono>

namespace tegula::compiler {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The kernel as a reader of IR wants it: folded, without dead code.
Status simplify(mlir::ModuleOp module, const pipeline::Looks &looks) {
  simt::Machine none;
  pipeline::Unit unit(none);
  unit.module = module;
  return pipeline::run(simplification(), unit, &looks);
}

using SpecsByName = llvm::StringMap<const sema::ArgumentSpec *>;

// The specifications by their names, elements of tuples among them; the first of a name counts.
void collectSpecs(llvm::ArrayRef<sema::ArgumentSpec> specs, SpecsByName &byName) {
  for (const sema::ArgumentSpec &spec : specs) {
    byName.try_emplace(spec.name, &spec);
    if (spec.elements)
      collectSpecs(*spec.elements, byName);
  }
}

// The run-time arguments in order, by the names that the front end left on the function.
std::vector<artifact::Parameter> parametersOf(mlir::ModuleOp module, const sema::Request &request) {
  std::vector<artifact::Parameter> parameters;
  auto function = *module.getOps<tile::FuncOp>().begin();
  std::vector<bool> written = writtenArguments(function);
  SpecsByName specs;
  collectSpecs(request.arguments, specs);
  for (unsigned i = 0; i != function.getNumArguments(); ++i) {
    artifact::Parameter parameter;
    parameter.isWritten = written[i];
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "tt.name"))
      parameter.name = name.str();
    if (const sema::ArgumentSpec *spec = specs.lookup(parameter.name))
      if (auto *type = std::get_if<sema::Type>(&spec->value))
        parameter.dtype = type->element, parameter.isPointer = type->pointer,
        parameter.isConst = type->isConst, parameter.divisibility = std::max(1u, spec->divisibility);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

} // namespace

Status buildArtifact(const sema::Request &request, const Target &target, const TargetOptions &options,
                     Built &built, diag::Sink &sink) {
  const Status reported = Status::error(StatusCode::Type, "");
  artifact::Artifact &artifact = built.artifact;
  artifact.kernel = sema::nameInCode(request);
  artifact.target = target.name;
  artifact.arch = options.arch;
  auto start = Clock::now();
  auto lap = [&](std::string stage) {
    built.report.times.push_back({std::move(stage), millisecondsSince(start)});
    start = Clock::now();
  };
  std::unique_ptr<mlir::MLIRContext> context = tile::makeContext();
  lap("context");
  mlir::OwningOpRef<mlir::ModuleOp> module = sema::specialize(*context, request, sink);
  if (!module)
    return reported;
  lap("sema");

  // A complaint of MLIR itself is our bug; it is told as one, not printed.
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    complaints += diagnostic.str() + "\n";
    return mlir::success();
  });
  if (Status status = simplify(*module, *options.looks); !status.ok()) {
    sink.report(diag::Kind::InternalCompilerError, {}, {status.message + complaints});
    return reported;
  }
  lap("simplify");
  if (codegen::gives(options.given, "ttir")) {
    Result<mlir::OwningOpRef<mlir::ModuleOp>> read = pipeline::readTile(*options.given, *module);
    if (!read)
      return read.status();
    module = std::move(*read);
    lap("read");
  }
  artifact.parameters = parametersOf(*module, request);
  artifact.parts.push_back({std::string(tilePart), moduleBytes(*module)});
  lap("keep");
  return builderOf(target).build(*module, options, artifact, built.report);
}

Status rebuildArtifact(const artifact::Artifact &from, const TargetOptions &options, Built &built) {
  KeptModule kept(*from.part(tilePart));
  RobustLock::Holder within(kept.lock);
  Result<mlir::ModuleOp> module = kept.get(within);
  if (!module)
    return module.status();
  mlir::ScopedDiagnosticHandler unheard((*module)->getContext(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  artifact::Artifact &artifact = built.artifact;
  artifact.kernel = from.kernel;
  artifact.target = from.target;
  artifact.arch = from.arch;
  artifact.parameters = from.parameters;
  artifact.parts.push_back({std::string(tilePart), *from.part(tilePart)});
  return builderOf(*findTarget(from.target)).build(*module, options, artifact, built.report);
}

} // namespace tegula::compiler
