// A stage of a compile that a file gives in the place of what the compile made: the file's text is read, and
// fits the kernel that was compiled for the call (its parameters, its warps), or is refused with the place.
// Stages: "ttir", "llvm", "ptx".
#pragma once
#include "codegen/llvm/GivenFile.h"
#include "codegen/llvm/Target.h"

#include "base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <initializer_list>
#include <string_view>

namespace tegula::pipeline {

// Unsupported: a stage is given that is not among these and not "ttir", from which every target goes on.
Status checkGiven(const codegen::GivenStage &given, std::initializer_list<std::string_view> stages);
// Tile IR for `made`, with the kernel's name and its parameters' names.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readTile(const codegen::GivenFile &given, mlir::ModuleOp made);
// LLVM IR for that in `code`, with the same function `entry`.
Status readCode(const codegen::GivenFile &given, llvm::StringRef entry, codegen::Code &code);
// PTX for `made`: one entry of the same name and parameters, and as many threads.
Status checkPtx(const codegen::GivenFile &given, llvm::StringRef made);

} // namespace tegula::pipeline
