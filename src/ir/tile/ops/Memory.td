// Loads and stores. They take effect in order, tile by tile.
#ifndef TEGULA_IR_TILE_MEMORY
#define TEGULA_IR_TILE_MEMORY

include "ir/tile/ops/Op.td"

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the elements at a tile of addresses (or one element)";
  let description = [{
    Where `mask` is false nothing is read and the element is that of `other`, or 0
    without one. An address under a false mask may be anything.
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Optional<Tile_MaskLike>:$mask, Optional<Tile_Any>:$other,
                   DefaultValuedAttr<Tile_CacheModifier, "CacheModifier::None">:$cache,
                   DefaultValuedAttr<Tile_Eviction, "Eviction::Normal">:$evict,
                   UnitAttr:$isVolatile);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = [{
    $ptr (`mask` $mask^)? (`other` $other^)? attr-dict `:` type($ptr) `->` type($result)
    (`,` `mask` type($mask)^)? (`,` `other` type($other)^)?
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "writes elements to a tile of addresses";
  let description = [{
    Of several elements with one address an arbitrary one stays.
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Tile_Any:$value, Optional<Tile_MaskLike>:$mask,
                   DefaultValuedAttr<Tile_CacheModifier, "CacheModifier::None">:$cache,
                   DefaultValuedAttr<Tile_Eviction, "Eviction::Normal">:$evict);
  let assemblyFormat = [{
    $ptr `,` $value (`mask` $mask^)? attr-dict `:` type($ptr) `,` type($value) (`,` `mask` type($mask)^)?
  }];
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier", []> {
  let summary = "tl.debug_barrier: accesses before are seen by those behind, over the program";
  let assemblyFormat = "attr-dict";
}

#endif // TEGULA_IR_TILE_MEMORY
