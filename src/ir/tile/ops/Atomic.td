// Read, compute and write as one step, element by element. Programs may race on purpose here.
#ifndef TEGULA_IR_TILE_ATOMIC
#define TEGULA_IR_TILE_ATOMIC

include "ir/tile/ops/Op.td"

def Tile_AtomicRMWOp : Tile_Op<"atomic_rmw", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the element at each address, replaced by kind(element, value); gives what was there";
  let description = [{
    Each element is one indivisible step; of several elements with one address each takes
    effect, in an arbitrary order. Where `mask` is false nothing is touched and the result
    is 0. add and exch, and, or, xor, max, min (signed), umax, umin (unsigned) take integers of
    32 and 64 bits; fadd floats of 16, 32 and 64; exch any element of 32 and 64 bits.
    f16 and bf16 additions round to nearest even once each.
  }];
  let arguments = (ins Tile_AtomicKind:$kind, Tile_MemSemantic:$sem, Tile_MemScope:$scope,
                   Tile_PtrLike:$ptr, Tile_Any:$value, Optional<Tile_MaskLike>:$mask);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = [{
    $kind `,` $sem `,` $scope `,` $ptr `,` $value (`mask` $mask^)? attr-dict
    `:` type($ptr) `,` type($value) (`,` `mask` type($mask)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_AtomicCASOp : Tile_Op<"atomic_cas", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    AllTypesMatch<["cmp", "value", "result"]>]> {
  let summary = "where the element has the bits of `cmp`, replaces it by `value`; gives what was there";
  let description = [{ Elements of 16, 32 or 64 bits; bits are compared, so -0.0 is not 0.0. }];
  let arguments = (ins Tile_MemSemantic:$sem, Tile_MemScope:$scope,
                   Tile_PtrLike:$ptr, Tile_Any:$cmp, Tile_Any:$value);
  let results = (outs Tile_Any:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $ptr `,` $cmp `,` $value attr-dict `:` type($ptr) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // TEGULA_IR_TILE_ATOMIC
