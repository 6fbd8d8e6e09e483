// Ops that move elements to other coordinates and compute nothing.
#ifndef TEGULA_IR_TILE_SHAPE
#define TEGULA_IR_TILE_SHAPE

include "ir/tile/ops/Op.td"

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile with the same scalar at each coordinate";
  let arguments = (ins Tile_Scalar:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_UnsplatOp : Tile_Op<"unsplat", [Pure]> {
  let summary = "the one element of a tile of one element";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure]> {
  let summary = "a new dimension of extent 1 at `axis` (of the result)";
  let arguments = (ins Tile_Tile:$value, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "dimensions of extent 1 repeated; same rank";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_TransOp : Tile_Op<"trans", [Pure]> {
  let summary = "dimensions permuted: result dimension d is operand dimension order[d]";
  let arguments = (ins Tile_Tile:$value, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Tile_Tile:$value, UnitAttr:$allow_reorder);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value (`allow_reorder` $allow_reorder^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "two tiles side by side along a new minor dimension of extent 2";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SplitOp : Tile_Op<"split", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "the two halves of a minor dimension of extent 2";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$lhs, Tile_Tile:$rhs);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($lhs)";
  let hasVerifier = 1;
}

def Tile_CatOp : Tile_Op<"cat", [Pure]> {
  let summary = "the elements of `lhs`, then those of `rhs`, along `axis`";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `axis` $axis attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "result[i, j] = source[indices[i, j], j] along `axis` 0, and so on";
  let description = [{
    The dimensions but `axis` agree. Indices are signed; one outside of the axis gives 0.
  }];
  let arguments = (ins Tile_Tile:$source, Tile_IntTile:$indices, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` `axis` $axis attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // TEGULA_IR_TILE_SHAPE
