// The tile dialect, printed as tt.*: blocks of data, no threads, no layouts, no target.
// Ops that upstream has keep upstream's names, so that readers of TTIR are at home.
#ifndef TEGULA_IR_TILE_DIALECT
#define TEGULA_IR_TILE_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Dialect : Dialect {
  let name = "tt";
  let cppNamespace = "::tegula::tile";
  let summary = "Programs over tiles: the language's meaning before any target";
  let description = [{
    A program is one instance of a kernel; a grid runs many. Values are scalars (uniform
    over the program) and tiles: builtin tensors of static shape, any extent, whose
    element is an integer, a float or a pointer. Arithmetic is arith and math on these
    tensors, control flow is scf. Effects happen in order, tile by tile
    (docs/language/memory-model.md).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"
  ];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
}

#endif // TEGULA_IR_TILE_DIALECT
