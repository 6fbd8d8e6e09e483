// mlir-opt with the tile dialect: reads tile IR as text or bytecode, verifies it, runs
// canonicalization and CSE on request and prints it. A tool for golden tests.
#include "ir/tile/Tile.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tegula::tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "reads, checks and prints tile IR\n", registry));
}
