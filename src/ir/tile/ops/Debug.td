// What a program tells a person: prints and checks at run time. They take effect in order.
#ifndef TEGULA_IR_TILE_DEBUG
#define TEGULA_IR_TILE_DEBUG

include "ir/tile/ops/Op.td"

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "prints each element of each operand, one line an element";
  let description = [{
    A line is `pid (x, y, z) idx (i, j)` then the prefix, `(operand n) ` where there are
    several, and the value. An index is padded on the left to the width of the largest one
    along its axis; a scalar has `idx ()`. Without operands the line is `pid (x, y, z)` and the
    prefix. Floats print as C's %f, integers in decimal (`isSigned` has one entry for each
    operand), pointers in hexadecimal; with `hex` the bits print as 0x and all digits of the
    width. The order among programs is arbitrary.
  }];
  let arguments = (ins StrAttr:$prefix, UnitAttr:$hex, DenseI32ArrayAttr:$isSigned,
                   Variadic<Tile_Any>:$operands);
  let assemblyFormat = "$prefix (`hex` $hex^)? attr-dict (`:` $operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the launch with an error that has `message` and the place, where an element is false";
  let description = [{
    The place is the op's location. Effects of the program behind a failed assertion need not happen.
  }];
  let arguments = (ins Tile_MaskLike:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

#endif // TEGULA_IR_TILE_DEBUG
