// Arithmetic of tile IR as LLVM IR, the same for every target: integers without undefined cases,
// conversions that round once and saturate, floats of 8 bits. The values are those of
// docs/language/numerical-contract.md (N1-N7, N12, N13). Operands are scalars or vectors of one
// length; 8-bit floats are i8. Everything is emitted at the builder's place; nothing calls a library.
#pragma once
#include "base/Status.h"
#include "ir/tile/Tile.h"

#include "llvm/IR/IRBuilder.h"

namespace tegula::codegen {

using Builder = llvm::IRBuilderBase;
using Values = llvm::ArrayRef<llvm::Value *>;

// `element`, or the vector of it that is as long as `value`.
llvm::Type *like(llvm::Value *value, llvm::Type *element);
// half or bfloat.
bool isSmallFloat(llvm::Value *value);

// ---- integers and bits ----
// An op whose operands and result are integers or conditions, and addptr; null for another one. `element`
// is the result's.
llvm::Value *lowerIntegers(Builder &b, mlir::Operation *op, Values operands, llvm::Type *element);
// A division or remainder of one of the neighbours that count up from `first`, behind the first, by
// `divisor`, where a power of two that holds them all divides `first` and `divisor` (simt::countedName). All
// have one quotient; `dividend` is read by a remainder only.
llvm::Value *divideBehind(Builder &b, mlir::Operation *op, llvm::Value *first, llvm::Value *divisor,
                          llvm::Value *dividend);
// The same bits as another type; integers and pointers become each other.
llvm::Value *bitcast(Builder &b, llvm::Value *value, llvm::Type *element);
llvm::CmpInst::Predicate predicateOf(mlir::arith::CmpFPredicate predicate);

// ---- between integers and floats ----
// Truncates and saturates; NaN gives 0. Not of 8-bit floats.
llvm::Value *floatToInteger(Builder &b, llvm::Value *value, llvm::Type *element, bool isSigned);
// Rounds once. To f64, f32, half or bfloat.
llvm::Value *integerToFloat(Builder &b, llvm::Value *value, llvm::Type *element, bool isSigned);

// ---- between floats ----
// half and bfloat as f32; others as they are.
llvm::Value *toFloat(Builder &b, llvm::Value *value);
// f64 or f32 as half or bfloat (or as f32), rounded once to nearest even.
llvm::Value *roundTo(Builder &b, llvm::Value *value, llvm::Type *small);
// Any float as any other, as tile IR types them. Rounds once, to nearest even or toward zero; narrowing to
// 8 bits saturates. `element` is the LLVM type of `to`.
llvm::Value *convertFloat(Builder &b, llvm::Value *value, mlir::Type from, mlir::Type to, llvm::Type *element,
                          bool towardZero = false);

// ---- functions ----
// LLVM's intrinsic for an op of the math dialect that rounds exactly on floats (fabs, floor, fma ...; sqrt is
// left to the target); not_intrinsic for another op.
llvm::Intrinsic::ID exactIntrinsic(mlir::Operation *op);
// The math library's name for an op of the math dialect: math.exp2 is "exp2", math.powf "pow".
llvm::StringRef mathlibName(mlir::Operation *op);

// Links what the module calls of the math library (`tgm_*`) into it, private to it. The module's triple and
// data layout are set.
Status linkMathlib(llvm::Module &module);

} // namespace tegula::codegen
