// Where elements are: ranges and addresses.
#ifndef TEGULA_IR_TILE_INDEXING
#define TEGULA_IR_TILE_INDEXING

include "ir/tile/ops/Op.td"

def Tile_MakeRangeOp : Tile_Op<"make_range", [Pure]> {
  let summary = "the integers start, start+1, ..., end-1 as a 1-D tile of i32";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs Tile_IntTile:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_AddPtrOp : Tile_Op<"addptr", [Pure, Elementwise, SameOperandsAndResultShape,
    AllTypesMatch<["ptr", "result"]>]> {
  let summary = "ptr + offset elements";
  let description = [{ The offset is signed and sign-extended to 64 bits. }];
  let arguments = (ins Tile_PtrLike:$ptr, Tile_IntLike:$offset);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)";
  let hasFolder = 1;
}

def Tile_PtrToIntOp : Tile_Op<"ptr_to_int", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "an address as a 64-bit integer";
  let arguments = (ins Tile_PtrLike:$ptr);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$ptr attr-dict `:` type($ptr) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_IntToPtrOp : Tile_Op<"int_to_ptr", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "a 64-bit integer as an address";
  let arguments = (ins Tile_IntLike:$value);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TEGULA_IR_TILE_INDEXING
