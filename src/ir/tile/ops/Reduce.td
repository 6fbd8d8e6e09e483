// Reductions along an axis by any associative, commutative function.
#ifndef TEGULA_IR_TILE_REDUCE
#define TEGULA_IR_TILE_REDUCE

include "ir/tile/ops/Op.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, SameVariadicOperandSize, SingleBlock]> {
  let summary = "combines all elements along `axis`; the axis disappears";
  let description = [{
    N tiles of one shape give N results. The region takes 2N scalars (accumulated,
    then next) and yields N through tt.reduce.return. The order is not specified.
    The result of a 1-D reduction is a scalar.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$operands, I32Attr:$axis);
  let results = (outs Variadic<Tile_Any>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$operands `axis` $axis $combine attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def Tile_ReduceReturnOp : Tile_Op<"reduce.return", [Pure, HasParent<"ReduceOp">, ReturnLike, Terminator]> {
  let summary = "the combined scalars";
  let arguments = (ins Variadic<Tile_Scalar>:$results);
  let assemblyFormat = "$results attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def Tile_HistogramOp : Tile_Op<"histogram", [Pure]> {
  let summary = "how many elements have the value 0, 1, ... (one i32 a bin)";
  let description = [{
    Elements are unsigned; one without a bin, or whose `mask` is false, is not counted.
  }];
  let arguments = (ins Tile_IntTile:$source, Optional<Tile_MaskLike>:$mask);
  let results = (outs Tile_IntTile:$result);
  let assemblyFormat = [{
    $source (`mask` $mask^)? attr-dict `:` type($source) `->` type($result) (`,` `mask` type($mask)^)?
  }];
  let hasVerifier = 1;
}

#endif // TEGULA_IR_TILE_REDUCE
