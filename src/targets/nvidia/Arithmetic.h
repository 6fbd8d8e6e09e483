// The arithmetic instructions of an NVIDIA GPU that LLVM does not choose by itself, behind
// simt::Hardware. Null where the machine has none. `capability` is 90 for sm_90.
// Source: PTX ISA, "Floating Point Instructions" and "Data Movement and Conversion: cvt".
#pragma once
#include "ir/tile/Tile.h"
#include "mlir/IR/Types.h"
#include "llvm/IR/IRBuilder.h"

namespace tegula::nvidia {

llvm::Value *approximate(llvm::IRBuilderBase &b, llvm::StringRef function,
                         llvm::ArrayRef<llvm::Value *> arguments, unsigned capability);
llvm::Value *directed(llvm::IRBuilderBase &b, tile::DirectedKind kind, tile::Direction direction,
                      llvm::ArrayRef<llvm::Value *> operands);
llvm::Value *convert(llvm::IRBuilderBase &b, llvm::Value *value, mlir::Type from, mlir::Type to,
                     bool towardZero, unsigned capability);

} // namespace tegula::nvidia
