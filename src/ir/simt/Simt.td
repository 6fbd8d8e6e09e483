// The dialect of programs that run on a grid of warps, printed as simt.*.
#ifndef TEGULA_IR_SIMT
#define TEGULA_IR_SIMT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

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

class Simt_Op<string mnemonic, list<Trait> traits = []> : Op<Simt_Dialect, mnemonic, traits>;

def Simt_ConvertOp : Simt_Op<"convert", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tile in another layout";
  let description = [{
    `plan` says how, once it is planned: "registers", "shuffle" or "shared", and at which cost.
  }];
  let arguments = (ins AnyRankedTensor:$value, OptionalAttr<StrAttr>:$plan);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value (`by` $plan^)? attr-dict `:` type($value) `->` type($result)";
}

def Simt_BarrierOp : Simt_Op<"barrier"> {
  let summary = "all warps of the program meet; accesses of shared memory before are seen by those behind";
  let assemblyFormat = "attr-dict";
}

#endif // TEGULA_IR_SIMT
