// Scans along an axis by any associative function.
#ifndef TEGULA_IR_TILE_SCAN
#define TEGULA_IR_TILE_SCAN

include "ir/tile/ops/Op.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tile_ScanOp : Tile_Op<"scan", [Pure, SameVariadicOperandSize, SingleBlock]> {
  let summary = "each element combined with all before it along `axis` (with `reverse`: behind it)";
  let description = [{
    Inclusive: result[0] = x[0], result[i] = combine(result[i-1], x[i]); with `reverse`
    result[last] = x[last], result[i] = combine(result[i+1], x[i]). The function is
    associative, not always commutative: operands keep their order, brackets may move.
    N tiles of one shape give N results. The region takes 2N scalars (accumulated, then
    next) and yields N through tt.scan.return.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$operands, I32Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = [{
    $operands `axis` $axis (`reverse` $reverse^)? $combine attr-dict `:` functional-type($operands, $results)
  }];
  let hasVerifier = 1;
}

def Tile_ScanReturnOp : Tile_Op<"scan.return", [Pure, HasParent<"ScanOp">, ReturnLike, Terminator]> {
  let summary = "the combined scalars";
  let arguments = (ins Variadic<Tile_Scalar>:$results);
  let assemblyFormat = "$results attr-dict `:` type($results)";
  let hasVerifier = 1;
}

#endif // TEGULA_IR_TILE_SCAN
