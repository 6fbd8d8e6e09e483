// Matrix products.
#ifndef TEGULA_IR_TILE_DOT
#define TEGULA_IR_TILE_DOT

include "ir/tile/ops/Op.td"

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "a[M,K] x b[K,N] + acc[M,N], or batched with one leading dimension";
  let description = [{
    Integer operands are signed.
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc,
                   DefaultValuedAttr<Tile_Precision, "Precision::IEEE">:$precision);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc)";
  let hasVerifier = 1;
}

#endif // TEGULA_IR_TILE_DOT
