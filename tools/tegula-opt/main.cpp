// mlir-opt with the tile and simt dialects: reads them as text or bytecode, verifies, runs passes on request
// and prints. A tool for golden tests. Every pass on tile IR and simt that some target runs is here under its
// name (`tegula passes`): -tile-to-simt=warps=4, -allocate-shared, -insert-barriers. Hoisting out of
// loops is MLIR's pass.
#include "compiler/Builders.h"
#include "compiler/Passes.h"
#include "ir/simt/Simt.h"
#include "ir/simt/VerifyTokens.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace {

using namespace mlir;
using namespace tegula;

struct NamedPass : PassWrapper<NamedPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NamedPass)
  explicit NamedPass(const pipeline::Pass &pass) : pass(pass) {}
  NamedPass(const NamedPass &other) : PassWrapper(other), pass(other.pass) {}
  StringRef getArgument() const override { return pass.name; }
  StringRef getDescription() const override { return pass.what; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<simt::SimtDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  // The passes and the machine that the option `target` names.
  Result<compiler::PassList> choose() {
    diag::Sink sink;
    compiler::TargetOptions options;
    if (const compiler::Target *found = compiler::chooseTarget(target, options, -1, sink))
      return compiler::builderOf(*found).passes(options);
    return Status::error(StatusCode::Unsupported, "there is no target `" + target + "` here");
  }

  void runOnOperation() override {
    compiler::PassList list{{&pass}, std::make_shared<simt::Machine>(plain())};
    if (!target.empty()) {
      Result<compiler::PassList> chosen = choose();
      if (!chosen) {
        getOperation().emitError() << chosen.status().message;
        return signalPassFailure();
      }
      list = *chosen;
    }
    pipeline::Unit unit(*list.machine);
    unit.module = getOperation();
    unit.warps = warps;
    unit.stages = stages;
    auto isOwn = [&](const pipeline::Pass *each) { return each->name == getArgument(); };
    auto own = llvm::find_if(list.passes, isOwn);
    const pipeline::Pass &chosen = own == list.passes.end() ? pass : **own;
    if (Status status = chosen.run(unit); !status.ok()) {
      getOperation().emitError() << status.message;
      signalPassFailure();
    }
    if (remarks)
      for (const diag::Remark &remark : unit.remarks)
        llvm::errs() << remark.location << ": remark: " << remark.kind << ": " << remark.text << "\n";
  }

  static simt::Machine plain() {
    simt::Machine machine;
    machine.sharedBytes = 227 * 1024;
    return machine;
  }

  const pipeline::Pass &pass;
  Option<unsigned> warps{*this, "warps", llvm::cl::desc("warps of a program"), llvm::cl::init(4)};
  Option<unsigned> stages{*this, "stages", llvm::cl::desc("of loops that load ahead"), llvm::cl::init(3)};
  Option<std::string> target{*this, "target", llvm::cl::desc("whose machine answers; none: a plain one")};
  Option<bool> remarks{*this, "remarks", llvm::cl::desc("print what was chosen"), llvm::cl::init(false)};
};

// Runs behind every pass of a pipeline.
struct VerifyTokens : PassWrapper<VerifyTokens, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyTokens)
  StringRef getArgument() const override { return "verify-tokens"; }
  StringRef getDescription() const override { return "refuses asynchronous copies without their waits"; }
  void runOnOperation() override {
    if (failed(simt::verifyTokens(getOperation())))
      signalPassFailure();
  }
};

// Each once, whichever targets run it.
void registerPasses() {
  PassRegistration<VerifyTokens>();
  llvm::StringSet<llvm::MallocAllocator> known{"loop-invariant-code-motion"};
  mlir::registerLoopInvariantCodeMotionPass();
  for (const compiler::Target &target : compiler::targets()) {
    Result<compiler::PassList> list = compiler::builderOf(target).passes({});
    if (!list)
      continue;
    StringRef form = "ttir";
    for (const pipeline::Pass *pass : list->passes) {
      form = pass->gives ? pass->gives : form;
      if ((form == "ttir" || form == "simt") && known.insert(pass->name).second)
        mlir::registerPass([pass] { return std::make_unique<NamedPass>(*pass); });
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tile::TileDialect, simt::SimtDialect, arith::ArithDialect, math::MathDialect,
                  scf::SCFDialect>();
  registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "reads, checks and prints tile IR\n", registry));
}
