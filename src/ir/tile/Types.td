// Pointers, and the type constraints of the ops.
#ifndef TEGULA_IR_TILE_TYPES
#define TEGULA_IR_TILE_TYPES

include "ir/tile/Dialect.td"
include "mlir/IR/BuiltinTypes.td"

def Tile_Pointer : TypeDef<Tile_Dialect, "Pointer"> {
  let mnemonic = "ptr";
  let summary = "The address of an element in memory";
  let description = [{
    `!tt.ptr<f32>` points at a 32-bit float. `addressSpace` is 1 (global memory), as
    upstream. Bool elements are stored as one byte: the front end uses `!tt.ptr<i8>`.
  }];
  let parameters = (ins "::mlir::Type":$pointee, DefaultValuedParameter<"unsigned", "1">:$addressSpace);
  let assemblyFormat = "`<` $pointee (`,` $addressSpace^)? `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return $_get(pointee.getContext(), pointee, 1);
  }]>];
}

def Tile_Int : AnyTypeOf<[I1, I8, I16, I32, I64], "integer">;
def Tile_Float : AnyTypeOf<[F8E4M3FN, F8E5M2, F16, BF16, F32, F64], "float">;
def Tile_Scalar : AnyTypeOf<[Tile_Int, Tile_Float, Tile_Pointer], "scalar">;
def Tile_Tile : StaticShapeTensorOf<[Tile_Int, Tile_Float, Tile_Pointer]>;
def Tile_Any : AnyTypeOf<[Tile_Scalar, Tile_Tile], "scalar or tile">;

def Tile_IntLike : AnyTypeOf<[Tile_Int, StaticShapeTensorOf<[Tile_Int]>], "integer or tile of integers">;
def Tile_FloatLike : AnyTypeOf<[Tile_Float, StaticShapeTensorOf<[Tile_Float]>], "float or tile of floats">;
def Tile_PtrLike : AnyTypeOf<[Tile_Pointer, StaticShapeTensorOf<[Tile_Pointer]>], "pointer or tile of pointers">;
def Tile_MaskLike : AnyTypeOf<[I1, StaticShapeTensorOf<[I1]>], "mask">;
def Tile_IntTile : StaticShapeTensorOf<[Tile_Int]>;

#endif // TEGULA_IR_TILE_TYPES
