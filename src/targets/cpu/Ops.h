// The table of the ops that this target lowers, its rows in Ops.def; what no row lowers is refused before
// anything is emitted.
#pragma once
#include "codegen/llvm/OpTable.h"

#include "llvm/IR/Value.h"

namespace tegula::cpu {

class ProgramEmitter;

// Neither is set where what is around the op lowers it (WITHIN).
struct Lowering {
  void (*step)(ProgramEmitter &program, mlir::Operation *op) = nullptr; // as a step of its block
  llvm::Value *(*element)(ProgramEmitter &program, mlir::Operation *op,
                          llvm::ArrayRef<llvm::Value *> operands) = nullptr;
};

const codegen::OpTable<Lowering> &ops();

// Unsupported, with place and op; Ok where every op below `function` can be emitted.
Status checkLegality(mlir::Operation *function);

} // namespace tegula::cpu
