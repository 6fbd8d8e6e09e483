// Kernels, and what a program knows of its grid.
#ifndef TEGULA_IR_TILE_CONTROL
#define TEGULA_IR_TILE_CONTROL

include "ir/tile/ops/Op.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tile_FuncOp : Tile_Op<"func", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "a kernel";
  let description = [{
    Arguments are scalars. Argument attributes: `tt.divisibility` (a multiple of this
    many bytes for pointers, of this value for integers), `tt.name` (the parameter),
    `tt.readonly`. The body is one block that ends in tt.return.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                   OptionalAttr<StrAttr>:$sym_visibility,
                   OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, HasParent<"FuncOp">, ReturnLike, Terminator]> {
  let summary = "the end of a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_GetProgramIdOp : Tile_Op<"get_program_id", [Pure]> {
  let summary = "the index of this program along an axis of the grid";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_GetNumProgramsOp : Tile_Op<"get_num_programs", [Pure]> {
  let summary = "the extent of the grid along an axis";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

#endif // TEGULA_IR_TILE_CONTROL
