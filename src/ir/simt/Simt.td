// The dialect of programs that run on a grid of warps, printed as simt.*.
#ifndef TEGULA_IR_SIMT
#define TEGULA_IR_SIMT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/tile/Attributes.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::tegula::simt";
  let summary = "Tiles with a place for each element: which register of which lane of which warp";
  let description = [{
    Every tile carries a `#simt.layout` as the encoding of its type; the ops on tiles are those
    of tile IR, arith, math and scf. Only `simt.convert` changes a layout. The module has
    `simt.warps`, the warps of a program, and after allocation `simt.shared_bytes`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Simt_Layout : AttrDef<Simt_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "a linear map from (register, lane, warp, block) to coordinates";
  let description = [{
    The one layout there is (layout/Layout.h): for each bit of a hardware index the coordinate
    that it adds, over F2. Printed by dimension: `#simt.layout<"[64x128] register=[(0,1) ...">`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$extents, ArrayRefParameter<"uint32_t">:$registers,
                        ArrayRefParameter<"uint32_t">:$lanes, ArrayRefParameter<"uint32_t">:$warps);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static LayoutAttr get(::mlir::MLIRContext *context, const ::tegula::layout::Layout &layout);
    ::tegula::layout::Layout layout() const;
  }];
}

def Simt_Matrix : AttrDef<Simt_Dialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "the matrix instruction that computes a dot";
  let description = [{
    A row of the target's table by name, and its shape (layout/Builders.h, MatrixShape). The dot's result and
    operands are laid out as the instruction wants them.
  }];
  let parameters = (ins StringRefParameter<"the row">:$name, "unsigned":$m, "unsigned":$n, "unsigned":$k,
                        "unsigned":$elementBits, "bool":$isSwapped, DefaultValuedParameter<"unsigned", "1">:$warps,
                        DefaultValuedParameter<"bool", "false">:$pairsRows,
                        DefaultValuedParameter<"bool", "false">:$pairsColumns,
                        DefaultValuedParameter<"bool", "false">:$pairsDepth);
  let assemblyFormat = [{
    `<` $name `,` $m `,` $n `,` $k `,` $elementBits `,` $isSwapped (`,` $warps^)? (`rows` $pairsRows^)?
    (`columns` $pairsColumns^)? (`depth` $pairsDepth^)? `>`
  }];
  let extraClassDeclaration = [{
    static MatrixAttr get(::mlir::MLIRContext *context, ::llvm::StringRef name, const ::tegula::layout::MatrixShape &shape);
    ::tegula::layout::MatrixShape shape() const;
  }];
}

def Simt_Shared : AttrDef<Simt_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "where each element of a tile lies in a buffer";
  let description = [{
    A linear map over F2 (layout/SharedMap.h): for each bit of a flat coordinate, lowest first, the offset that it
    adds, in elements.
  }];
  let parameters = (ins ArrayRefParameter<"uint32_t">:$images);
  let assemblyFormat = "`<` `[` $images `]` `>`";
  let extraClassDeclaration = [{
    static SharedAttr get(::mlir::MLIRContext *context, const ::tegula::layout::SharedMap &map);
    ::tegula::layout::SharedMap map() const;
  }];
}

def Simt_Conversion : AttrDef<Simt_Dialect, "Conversion"> {
  let mnemonic = "conversion";
  let summary = "the way that a conversion takes, and what was decided on it";
  let description = [{
    A `ConversionChoice` (layout/Conversion.h). With the layouts of the op it gives the plan that is emitted:
    `<none>`, `<registers packed 1>`, `<shuffle packed 2 lanes cost 40>`,
    `<shared [1, 2, 4] rounds 1 bytes 4096 warps cost 120>`; `rounds` is the base-2 logarithm of their number,
    `lanes` and `warps` say that none takes from another what it has itself.
  }];
  let parameters = (ins "::tegula::layout::ConversionChoice::Kind":$kind, "unsigned":$cost, "unsigned":$packed,
                        "bool":$staysInLane, ArrayRefParameter<"uint32_t">:$images, "unsigned":$roundBits,
                        "uint64_t":$scratchBytes, "bool":$withinWarp);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ConversionAttr get(::mlir::MLIRContext *context, const ::tegula::layout::ConversionChoice &choice);
    ::tegula::layout::ConversionChoice choice() const;
    using Kind = ::tegula::layout::ConversionChoice::Kind;
    bool isShared() const { return getKind() == Kind::Shared; }
  }];
}

class Simt_Type<string name, string typeMnemonic> : TypeDef<Simt_Dialect, name> { let mnemonic = typeMnemonic; }

def Simt_Buffer : Simt_Type<"Buffer", "buffer"> {
  let summary = "a place in shared memory for `slots` tiles of one shape";
  let description = [{
    The power-of-two hull of each tile is there (layout/Layout.h): a tile takes as many elements as the map has
    offsets. Slots follow each other.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::tegula::simt::SharedAttr":$map, "int64_t":$slots);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    // Bytes of one slot / of all.
    uint64_t slotBytes() const;
    uint64_t bytes() const { return slotBytes() * uint64_t(getSlots()); }
  }];
}

def Simt_Token : Simt_Type<"Token", "token"> {
  let summary = "copies that are under way, up to a commit";
}

// The two memories, as effects.
def Simt_SharedMemory : Resource<"::tegula::simt::SharedMemory">;
def Simt_GlobalMemory : Resource<"::tegula::simt::GlobalMemory">;

class Simt_Op<string mnemonic, list<Trait> traits = []> : Op<Simt_Dialect, mnemonic, traits>;

def Simt_ConvertOp : Simt_Op<"convert", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tile in another layout";
  let description = [{
    `plan` says how, once it is decided (plan-converts); all that follows reads it there.
  }];
  let arguments = (ins AnyRankedTensor:$value, OptionalAttr<Simt_Conversion>:$plan);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value (`by` $plan^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    // Is it decided that the tile goes through shared memory?
    bool isThroughShared() { return getPlan() && getPlan()->isShared(); }
  }];
}

def Simt_BarrierOp : Simt_Op<"barrier"> {
  let summary = "all warps of the program meet; accesses of shared memory before are seen by those behind";
  let description = [{
    `fence`: also by products that read their operands themselves (`dot_async`). Where `unless` is true that is not
    asked.
  }];
  let arguments = (ins UnitAttr:$fence, Optional<I1>:$unless);
  let builders = [OpBuilder<(ins "bool":$fence), [{ build($_builder, $_state, fence, ::mlir::Value()); }]>];
  let assemblyFormat = "(`unless` $unless^)? attr-dict";
}

def Simt_AllocOp : Simt_Op<"alloc"> {
  let summary = "a buffer; it lives until its last use";
  let description = [{
    `offset`: in shared memory, in bytes, once it is allocated.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Simt_Buffer, "", [MemAlloc<Simt_SharedMemory>]>:$buffer);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($buffer)";
}

def Simt_ViewOp : Simt_Op<"view", [Pure]> {
  let summary = "one slot of a buffer";
  let arguments = (ins Simt_Buffer:$buffer, I32:$slot);
  let results = (outs Simt_Buffer:$result);
  let assemblyFormat = "$buffer `[` $slot `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_LocalStoreOp : Simt_Op<"local_store"> {
  let summary = "writes a tile into a buffer of one slot";
  let arguments = (ins AnyRankedTensor:$value, Arg<Simt_Buffer, "", [MemWrite<Simt_SharedMemory>]>:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def Simt_LocalLoadOp : Simt_Op<"local_load"> {
  let summary = "reads a tile from a buffer of one slot";
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>]>:$buffer);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_LoadPairsOp : Simt_Op<"load_pairs", [AttrSizedOperandSegments, AllTypesMatch<["first", "second"]>]> {
  let summary = "loads two tiles whose elements take turns in memory";
  let description = [{
    Behind each element of `first`, at the addresses `ptr`, lies one of `second`. `width` neighbours of both are one
    access. Where the mask is false nothing is read; the elements are those of the others, or 0 without them.
  }];
  let arguments = (ins Arg<AnyRankedTensor, "", [MemRead<Simt_GlobalMemory>]>:$ptr, Optional<AnyRankedTensor>:$mask,
                   Optional<AnyRankedTensor>:$firstOther, Optional<AnyRankedTensor>:$secondOther, I32Attr:$width,
                   DefaultValuedAttr<Tile_CacheModifier, "::tegula::tile::CacheModifier::None">:$cache,
                   DefaultValuedAttr<Tile_Eviction, "::tegula::tile::Eviction::Normal">:$evict);
  let results = (outs AnyRankedTensor:$first, AnyRankedTensor:$second);
  let assemblyFormat = [{
    $width `at` $ptr (`mask` $mask^)? (`other` $firstOther^ `,` $secondOther)? attr-dict `:` type($ptr) `->` type($first)
    `,` type($second) (`mask` type($mask)^)? (`other` type($firstOther)^ `,` type($secondOther))?
  }];
}

def Simt_StorePairsOp : Simt_Op<"store_pairs", [AllTypesMatch<["first", "second"]>]> {
  let summary = "stores two tiles whose elements take turns in memory";
  let description = [{
    An element of `second` goes behind each of `first`, which go to the addresses `ptr`. `width` neighbours of both are
    one access. Where the mask is false nothing is written.
  }];
  let arguments = (ins Arg<AnyRankedTensor, "", [MemWrite<Simt_GlobalMemory>]>:$ptr, AnyRankedTensor:$first,
                   AnyRankedTensor:$second, Optional<AnyRankedTensor>:$mask, I32Attr:$width,
                   DefaultValuedAttr<Tile_CacheModifier, "::tegula::tile::CacheModifier::None">:$cache,
                   DefaultValuedAttr<Tile_Eviction, "::tegula::tile::Eviction::Normal">:$evict);
  let assemblyFormat = [{
    $first `,` $second `,` $width `at` $ptr (`mask` $mask^)? attr-dict `:` type($first) `,` type($second) `,` type($ptr)
    (`mask` type($mask)^)?
  }];
}

def Simt_PieceOp : Simt_Op<"piece", [Pure]> {
  let summary = "one of equal pieces of a tile, side by side along a dimension";
  let description = [{
    The highest bits of the coordinate along `dim` say which piece it is. Each thread has them in registers, one bit
    a bit: pieces move nothing.
  }];
  let arguments = (ins AnyRankedTensor:$value, I32Attr:$dim, I32Attr:$index);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$index `along` $dim `of` $value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_AsyncCopyOp : Simt_Op<"async_copy", [AttrSizedOperandSegments]> {
  let summary = "starts to copy a tile from global memory into a buffer of one slot";
  let description = [{
    Where the mask is false zeros are written. Where `predicate` is false nothing happens at all. The buffer may be
    read behind an `async_wait` for the commit behind this op.

    `element`, where it is there, computes the address of an element, and its mask, of its coordinates (i32); `pointers`
    and `mask` are not read then. A copy that hardly ever happens, since boxes bring the tile, has it: a loop over
    elements takes neither registers nor instructions of the code around it.
  }];
  let arguments = (ins Arg<AnyRankedTensor, "", [MemRead<Simt_GlobalMemory>]>:$pointers,
                   Optional<AnyRankedTensor>:$mask, Optional<I1>:$predicate,
                   Arg<Simt_Buffer, "", [MemWrite<Simt_SharedMemory>]>:$buffer,
                   DefaultValuedAttr<Tile_CacheModifier, "::tegula::tile::CacheModifier::None">:$cache,
                   DefaultValuedAttr<Tile_Eviction, "::tegula::tile::Eviction::Normal">:$evict);
  let results = (outs Simt_Token:$token);
  let regions = (region AnyRegion:$element);
  let assemblyFormat = [{
    $pointers (`mask` $mask^)? (`if` $predicate^)? `,` $buffer (`each` $element^)? attr-dict `:` type($pointers)
    (`mask` type($mask)^)? `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def Simt_ElementOp : Simt_Op<"element", [Pure, ParentOneOf<["AsyncCopyOp", "StoreElementsOp"]>, Terminator]> {
  let summary = "the address of an element of a copy or store, and its mask";
  let arguments = (ins AnyType:$pointer, Optional<I1>:$mask);
  let assemblyFormat = "$pointer (`mask` $mask^)? attr-dict `:` type($pointer)";
}

def Simt_AsyncCommitOp : Simt_Op<"async_commit", [MemoryEffects<[MemWrite<Simt_SharedMemory>]>]> {
  let summary = "makes a group of the copies that this thread started since the last commit";
  let arguments = (ins Variadic<Simt_Token>:$copies);
  let results = (outs Simt_Token:$group);
  let assemblyFormat = "$copies attr-dict";
}

def Simt_AsyncWaitOp : Simt_Op<"async_wait", [MemoryEffects<[MemRead<Simt_SharedMemory>, MemWrite<Simt_SharedMemory>]>]> {
  let summary = "waits until the group is there, and with it all but the last `pending` groups of this thread";
  let arguments = (ins Simt_Token:$group, I32Attr:$pending);
  let assemblyFormat = "$group `pending` $pending attr-dict";
}

def Simt_DotAsyncOp : Simt_Op<"dot_async", [AttrSizedOperandSegments]> {
  let summary = "starts acc + a x b, computed by several warps at a time that read buffers by themselves";
  let description = [{
    `a` is a tile in the instruction's layout, or lies in `aBuffer`; `b` lies in a buffer. A buffer of a transposed
    operand holds its columns as rows. Without `acc` the sum starts from zero. The op makes a group: behind a
    `dot_wait` that leaves fewer groups under way than were started since, the result may be read and the buffers
    may be written. Until then the result may only be the `acc` of other such ops.
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$a, Arg<Optional<Simt_Buffer>, "", [MemRead<Simt_SharedMemory>]>:$aBuffer,
                   Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>]>:$b, Optional<AnyRankedTensor>:$acc,
                   Simt_Matrix:$matrix, UnitAttr:$aTransposed, UnitAttr:$bTransposed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    ($a^ `:` type($a))? (`in` $aBuffer^ `:` type($aBuffer))? `,` $b `:` type($b) (`plus` $acc^ `:` type($acc))?
    `by` $matrix attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
}

def Simt_DotWaitOp : Simt_Op<"dot_wait", [AttrSizedOperandSegments, MemoryEffects<[MemRead<Simt_SharedMemory>, MemWrite<Simt_SharedMemory>]>]> {
  let summary = "waits for all but the last `pending` groups of products of this thread";
  let description = [{
    The results are the sums, which may be read now. `buffers`: those that the products have read, which live until here.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$sums, Variadic<Simt_Buffer>:$buffers, I32Attr:$pending);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    ($sums^ `:` type($sums))? (`of` $buffers^ `:` type($buffers))? `pending` $pending attr-dict (`->` type($results)^)?
  }];
}

// ---- copies of whole boxes ----

class Simt_SignalOp<string mnemonic, list<Trait> traits = []> : Simt_Op<mnemonic, traits>;

def Simt_SignalInitOp : Simt_SignalOp<"signal_init"> {
  let summary = "makes a signal of each slot of a buffer: it counts the arrivals of a phase, and the bytes of copies";
  let description = [{
    The buffer holds one i64 a slot and nothing else until `signal_end`. A phase ends when `arrivals` arrivals and all
    bytes that they announced have come.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemWrite<Simt_SharedMemory>]>:$signals,
                   DefaultValuedAttr<I32Attr, "1">:$arrivals);
  let assemblyFormat = "$signals attr-dict `:` type($signals)";
}

def Simt_SignalArriveOp : Simt_SignalOp<"signal_arrive"> {
  let summary = "all arrivals of a phase at once, which announce `bytes` bytes of copies";
  let description = [{
    One thread of warp `warp` arrives `arrivals` times, the same that starts the copies. Where `predicate` is false
    nothing happens.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>, MemWrite<Simt_SharedMemory>]>:$signal,
                   I32:$bytes, Optional<I1>:$predicate, DefaultValuedAttr<I32Attr, "1">:$arrivals,
                   DefaultValuedAttr<I32Attr, "0">:$warp);
  let assemblyFormat = "$signal `,` $bytes (`if` $predicate^)? attr-dict `:` type($signal)";
}

def Simt_SignalArriveWarpsOp : Simt_SignalOp<"signal_arrive_warps"> {
  let summary = "one arrival of each warp, behind all that its threads have done";
  let description = [{
    `fence`: products that read buffers themselves see what the threads wrote. Where `predicate` is false nothing
    happens.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>, MemWrite<Simt_SharedMemory>]>:$signal,
                   Optional<I1>:$predicate, UnitAttr:$fence);
  let assemblyFormat = "$signal (`if` $predicate^)? attr-dict `:` type($signal)";
}

def Simt_SignalWaitOp : Simt_SignalOp<"signal_wait", [AttrSizedOperandSegments]> {
  let summary = "waits for the end of the signal's phase of this parity; what its copies wrote may be read then";
  let description = [{
    `buffers`: those into which the copies went. Where `predicate` is false nobody waits. `warp`: it alone waits.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>, MemWrite<Simt_SharedMemory>]>:$signal,
                   I32:$parity, Optional<I1>:$predicate, Variadic<Simt_Buffer>:$buffers, OptionalAttr<I32Attr>:$warp);
  let assemblyFormat = [{
    $signal `,` $parity (`if` $predicate^)? (`of` $buffers^ `:` type($buffers))? attr-dict `:` type($signal)
  }];
}

def Simt_SignalEndOp : Simt_SignalOp<"signal_end"> {
  let summary = "ends the signals: their bytes may serve others";
  let arguments = (ins Arg<Simt_Buffer, "", [MemWrite<Simt_SharedMemory>]>:$signals);
  let assemblyFormat = "$signals attr-dict `:` type($signals)";
}

def Simt_AnyOp : Simt_Op<"any", [Pure]> {
  let summary = "a tile of which nobody reads an element";
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Simt_CopyMapsOp : Simt_Op<"copy_maps", [Pure]> {
  let summary = "did the launch bring the copy maps?";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Simt_BulkCopyOp : Simt_SignalOp<"bulk_copy"> {
  let summary = "a thread of warp `warp` starts to copy a tile from global memory into a buffer of one slot, box by box";
  let description = [{
    Through the copy map of this number (base/CopyMap.h). The tile begins at row `row` and column `column` of the
    map's window, `origin` units of 16 bytes behind the map's address; elements outside of the window become zeros.
    The bytes count at `signal`. Where `predicate` is false nothing happens. `pointers` is not read: it says what may
    be.
  }];
  let arguments = (ins Arg<AnyRankedTensor, "", [MemRead<Simt_GlobalMemory>]>:$pointers, I32:$column, I32:$row,
                   I32:$origin, I1:$predicate, Arg<Simt_Buffer, "", [MemWrite<Simt_SharedMemory>]>:$buffer,
                   Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>]>:$signal, I32Attr:$map,
                   DefaultValuedAttr<I32Attr, "0">:$warp);
  let assemblyFormat = [{
    $map `at` $column `,` $row `,` $origin `if` $predicate `,` $buffer `,` $signal `of` $pointers attr-dict `:`
    type($buffer) `,` type($signal) `,` type($pointers)
  }];
}

def Simt_BulkStoreOp : Simt_SignalOp<"bulk_store", [MemoryEffects<[MemWrite<Simt_GlobalMemory>]>]> {
  let summary = "a thread of warp 0 starts to store a tile from a buffer of one slot to global memory, box by box";
  let description = [{
    As `bulk_copy`, the other way: elements outside of the window are not stored. `column` is where the first one of
    the buffer lies in the window. The op makes a group, until a `store_wait` behind which the buffer may be written.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>]>:$buffer, I32:$column, I32:$row,
                   I32:$origin, I32Attr:$map);
  let assemblyFormat = "$buffer `,` $map `at` $column `,` $row `,` $origin attr-dict `:` type($buffer)";
}

def Simt_StoreElementsOp : Simt_SignalOp<"store_elements", [MemoryEffects<[MemWrite<Simt_GlobalMemory>]>]> {
  let summary = "all threads store a tile from a buffer of one slot to global memory, in a loop over elements";
  let description = [{
    In place of `bulk_store`, where that cannot be. `element` computes the address of an element, and its mask, of its
    coordinates (i32), along `dim` of those in the buffer and `before` more. A thread stores `simt.width` elements at once.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>]>:$buffer, I32Attr:$dim, I32Attr:$before);
  let regions = (region SizedRegion<1>:$element);
  let assemblyFormat = "$buffer `from` $before `along` $dim `each` $element attr-dict `:` type($buffer)";
}

def Simt_StoreWaitOp : Simt_SignalOp<"store_wait"> {
  let summary = "the thread that started stores of boxes waits until the buffer is read";
  let description = [{
    `done`: until all that they store is in global memory, too, so that what it stores next comes behind it.
  }];
  let arguments = (ins Arg<Simt_Buffer, "", [MemRead<Simt_SharedMemory>, MemWrite<Simt_SharedMemory>]>:$buffer,
                   UnitAttr:$done);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Simt_StoreFenceOp : Simt_SignalOp<"store_fence", [MemoryEffects<[MemWrite<Simt_GlobalMemory>]>]> {
  let summary = "stores of boxes that start behind a barrier come behind what this thread has stored itself";
  let assemblyFormat = "attr-dict";
}

#endif // TEGULA_IR_SIMT
