// mlir-opt with the tile and simt dialects: reads them as text or bytecode, verifies, runs passes
// on request and prints. A tool for golden tests. Our passes are functions of IR and options;
// here they get names: -tile-to-simt=warps=4, -allocate-shared, -insert-barriers.
#include "convert/TileToSimt.h"
#include "ir/simt/Simt.h"
#include "transforms/SharedMemory.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace {

using namespace mlir;

struct TileToSimt : PassWrapper<TileToSimt, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToSimt)
  TileToSimt() = default;
  TileToSimt(const TileToSimt &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "tile-to-simt"; }
  StringRef getDescription() const override { return "gives every tile a layout"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<tegula::simt::SimtDialect>();
  }
  void runOnOperation() override {
    std::vector<tegula::diag::Remark> chosen;
    tegula::convert::tileToSimt(getOperation(), {warps, tegula::simt::Machine()}, chosen);
    if (remarks)
      for (const tegula::diag::Remark &remark : chosen)
        llvm::errs() << remark.location << ": remark: " << remark.kind << ": " << remark.text << "\n";
  }
  Option<unsigned> warps{*this, "warps", llvm::cl::desc("warps of a program"), llvm::cl::init(4)};
  Option<bool> remarks{*this, "remarks", llvm::cl::desc("print what was chosen"), llvm::cl::init(false)};
};

struct AllocateShared : PassWrapper<AllocateShared, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AllocateShared)
  AllocateShared() = default;
  AllocateShared(const AllocateShared &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "allocate-shared"; }
  StringRef getDescription() const override { return "gives ops with scratch a place in shared memory"; }
  void runOnOperation() override {
    if (tegula::Status status = tegula::transforms::allocateShared(getOperation(), limit); !status.ok()) {
      getOperation().emitError() << status.message;
      signalPassFailure();
    }
  }
  Option<uint64_t> limit{*this, "limit", llvm::cl::desc("bytes of a program"), llvm::cl::init(227 * 1024)};
};

struct InsertBarriers : PassWrapper<InsertBarriers, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InsertBarriers)
  StringRef getArgument() const override { return "insert-barriers"; }
  StringRef getDescription() const override { return "lets warps meet where a hazard asks for it"; }
  void runOnOperation() override { tegula::transforms::insertBarriers(getOperation()); }
};

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tegula::tile::TileDialect, tegula::simt::SimtDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  PassRegistration<TileToSimt>();
  PassRegistration<AllocateShared>();
  PassRegistration<InsertBarriers>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "reads, checks and prints tile IR\n", registry));
}
