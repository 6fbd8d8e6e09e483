// Ops that compute each element from its operands' elements alone, of one register of a thread.
// In: an op with operands as LLVM values: one register each, or, where `pairs` allows it, a vector of
// two each. Out: the element or the pair of the result. Values are those of
// docs/language/numerical-contract.md; functions are as near to the exact value as its bounds for
// this kind of target say. Elements are i1, iN, half, bfloat, float, double, i8 for 8-bit floats
// and `ptr addrspace(1)`.
#pragma once
#include "codegen/simt/Hardware.h"

namespace tegula::simt {

struct Scalars {
  llvm::IRBuilderBase &builder;
  llvm::Module &module; // gets declarations of the math library: link it with codegen::linkMathlib
  const Hardware &hardware;
};

// `op` has an ELEMENT row in Ops.def. `resultElement` is the LLVM type of the first result's element.
llvm::Value *lowerElementwise(Scalars &scalars, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                              llvm::Type *resultElement);

// An element as f32, or f64 as it is: for ops that no machine has of 16 bits.
llvm::Value *toFloat(Scalars &scalars, mlir::Operation *op, llvm::Value *value);

// Are two elements of the op better computed at once? Yes for 16-bit floats, conversions to and from
// 8 bits, of integers to 16-bit floats, and of floats to integers of 8 bits.
bool pairs(mlir::Operation *op);

// May the op be as far from the exact value as the fast functions are? It carries the flag `afn`.
bool isFast(mlir::Operation *op);

// Has an op of the math dialect a lowering? The library lacks some functions.
bool hasFunction(mlir::Operation *op);

// The results of tt.elementwise_inline_asm on `packed_element` consecutive elements of each operand:
// operands[i * packed + k] is element k of operand i; so are the results.
llvm::SmallVector<llvm::Value *> lowerInlineAsm(Scalars &scalars, tile::ElementwiseInlineAsmOp op,
                                                llvm::ArrayRef<llvm::Value *> operands,
                                                llvm::ArrayRef<llvm::Type *> resultElements);

// The parts that rows of Ops.def name, one file each.
llvm::Value *lowerFloats(Scalars &scalars, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                         llvm::Type *resultElement);
llvm::Value *lowerMath(Scalars &scalars, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                       llvm::Type *resultElement);
llvm::Value *lowerDirected(Scalars &scalars, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                           llvm::Type *resultElement);
llvm::Value *lowerCast(Scalars &scalars, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                       llvm::Type *resultElement);

} // namespace tegula::simt
