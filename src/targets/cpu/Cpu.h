// tile IR -> machine code for the cores of this machine (or of a named one).
#pragma once
#include "base/Status.h"
#include "diag/Remark.h"
#include "pipeline/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>
#include <vector>

namespace tegula::cpu {

struct CpuOptions {
  // "" is this machine; else an x86-64 name of LLVM ("haswell", "sapphirerapids").
  std::string cpu;
  bool fusesMultiplyAdd = true; // numerical-contract.md, N10
  codegen::ExternLibraries libraries = {};
  codegen::GivenStage given = nullptr; // "llvm" in the place of what is made
};

struct Artifact {
  std::string llvm;   // optimized LLVM IR as text, only when asked for
  std::string plan;   // the nests as text, only when asked for
  std::string object; // ELF object
  uint64_t scratchBytes = 0;
  std::string symbol;                // the entry in the object
  std::vector<std::string> features; // of those in runtime/CpuFeatures.h, what the code may use
  std::vector<diag::Remark> remarks;
  std::vector<pipeline::StageTime> times;
};

// The texts to make besides the object; `looks` may be null.
struct Emit {
  bool llvm = false, plan = false;
  const pipeline::Looks *looks = nullptr;
};

// Compiles the one tt.func of `module` to an object. Errors: Unsupported with the op's name.
Result<Artifact> compile(mlir::ModuleOp module, const CpuOptions &options, const Emit &emit);
// The assembly text of an artifact's code (a second code generation of the same IR).
Result<std::string> assembly(mlir::ModuleOp module, const CpuOptions &options);

} // namespace tegula::cpu
