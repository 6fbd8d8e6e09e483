// The table of the ops that simt code generation lowers, its rows in Ops.def. A target copies it and adds the
// rows of its own ops: what its copy has no row for, or refuses, is no part of a kernel that the Emitter
// gets.
#pragma once
#include "codegen/llvm/OpTable.h"
#include "codegen/simt/Elementwise.h"

namespace tegula::simt {

class Emitter;

// One of the two is set, or neither for the end of a region.
struct Lowering {
  void (*emit)(Emitter &emitter, mlir::Operation *op) = nullptr; // sets the registers of all results
  llvm::Value *(*element)(Scalars &scalars, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                          llvm::Type *resultElement) = nullptr;
};
using OpTable = codegen::OpTable<Lowering>;

const OpTable &neutralOps();

} // namespace tegula::simt
