// Elementwise ops that arith and math lack.
#ifndef TEGULA_IR_TILE_ELEMENTWISE
#define TEGULA_IR_TILE_ELEMENTWISE

include "ir/tile/ops/Op.td"

class Tile_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([Pure, Elementwise, SameOperandsAndResultShape], traits)>;

def Tile_BitcastOp : Tile_ElementwiseOp<"bitcast"> {
  let summary = "the same bits as another type of the same width (pointers included)";
  let arguments = (ins Tile_Any:$value);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_FpToFpOp : Tile_ElementwiseOp<"fp_to_fp"> {
  let summary = "a float as another float, with a rounding mode or to and from 8 bits";
  let description = [{
    Narrowing to 8-bit floats saturates to the largest finite value. Conversions among
    16, 32 and 64 bits that round to nearest even are arith.extf and arith.truncf.
  }];
  let arguments = (ins Tile_FloatLike:$value, DefaultValuedAttr<Tile_Rounding, "Rounding::RTNE">:$rounding);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasFolder = 1;
}

def Tile_MulhiUIOp : Tile_ElementwiseOp<"mulhiui", [SameOperandsAndResultType]> {
  let summary = "the upper half of the unsigned product";
  let arguments = (ins Tile_IntLike:$lhs, Tile_IntLike:$rhs);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Tile_ClampFOp : Tile_ElementwiseOp<"clampf", [SameOperandsAndResultType]> {
  let summary = "value limited to [min, max]; NaN stays only with propagateNan";
  let arguments = (ins Tile_FloatLike:$value, Tile_FloatLike:$min, Tile_FloatLike:$max, UnitAttr:$propagateNan);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$value `,` $min `,` $max (`propagate_nan` $propagateNan^)? attr-dict `:` type($result)";
}

def Tile_PreciseSqrtOp : Tile_ElementwiseOp<"precise_sqrt", [SameOperandsAndResultType]> {
  let summary = "square root, rounded once";
  let arguments = (ins Tile_FloatLike:$value);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Tile_PreciseDivFOp : Tile_ElementwiseOp<"precise_divf", [SameOperandsAndResultType]> {
  let summary = "quotient, rounded once";
  let arguments = (ins Tile_FloatLike:$lhs, Tile_FloatLike:$rhs);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Tile_DirectedOp : Tile_ElementwiseOp<"directed", [SameOperandsAndResultType]> {
  let summary = "arithmetic of f32 or f64, rounded once, in a direction";
  let arguments = (ins Tile_DirectedKind:$kind, Tile_Direction:$direction, Variadic<Tile_FloatLike>:$operands);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$kind $direction $operands attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ElementwiseInlineAsmOp : Tile_Op<"elementwise_inline_asm", [Elementwise, SameOperandsAndResultShape,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "instructions of the target on the elements of the operands; only some targets have it";
  let description = [{
    `packedElement` consecutive elements go through one run of the text: elements narrower
    than 32 bits are packed, lowest first, into 32-bit registers. The text is LLVM's
    inline assembly with LLVM's constraints, results first. An op that is not `pure` has
    side effects of its own.
  }];
  let arguments = (ins StrAttr:$asmString, StrAttr:$constraints, BoolAttr:$pure,
                   ConfinedAttr<I32Attr, [IntPositive]>:$packedElement, Variadic<Tile_Any>:$operands);
  let results = (outs Variadic<Tile_Any>:$results);
  let assemblyFormat = "$asmString attr-dict ($operands^ `:` type($operands))? `->` type($results)";
  let hasVerifier = 1;
}

def Tile_ExternElementwiseOp : Tile_Op<"extern_elementwise", [Elementwise, SameOperandsAndResultShape,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a function of a user's library on each element; only some targets have it";
  let description = [{
    `symbol` takes and gives scalars of the types of the operands' and the result's elements. The body is in the
    library of this name, which whoever compiles hands to the target. An op that is not `pure` has side effects of
    its own.
  }];
  let arguments = (ins StrAttr:$symbol, StrAttr:$library, BoolAttr:$pure, Variadic<Tile_Any>:$operands);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = "$symbol `of` $library attr-dict $operands `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TEGULA_IR_TILE_ELEMENTWISE
