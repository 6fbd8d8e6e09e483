// A kernel in tile IR -> PTX for one NVIDIA architecture. In: a module that passed
// canonicalization, with the arguments' `tt.divisibility`. Out: PTX with the kernel's entry, and
// what a launch needs besides its arguments. Refused by name, with the place: what the
// coverage table says is missing.
//
// Parameters of the entry (ABI mode `plain`): the kernel's run-time parameters in order, each
// of its own type, then two 64-bit pointers to scratch memory (0 where the kernel asks for none). The first
// of them points to the kernel's copy maps; it may be 0 as well.
#pragma once
#include "base/CopyMap.h"
#include "base/Status.h"
#include "diag/Remark.h"
#include "pipeline/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tegula::nvidia {

struct NvidiaOptions {
  std::string arch = "sm_90a"; // "sm_75" ... "sm_121a"
  int numWarps = 4;
  int numStages = 0;            // of loops that load ahead; 0: up to 3, as many as fit
  int maxRegisters = 0;         // of a thread; 0: as many as it takes
  bool fusesMultiplyAdd = true; // numerical-contract.md, N10
  bool isAlone = false;         // each program has a multiprocessor for itself
  codegen::ExternLibraries libraries = {};
  codegen::GivenStage given = nullptr; // "llvm" or "ptx" in the place of what is made
};

// The texts of the stages to make besides the PTX; `looks` may be null.
struct Texts {
  bool simt = false, llvm = false;
  const pipeline::Looks *looks = nullptr;
};

struct Artifact {
  std::string ptx;     // bound to the registers that were asked for
  std::string unbound; // the same as if nobody had asked
  std::string entry;   // its name; contains the function's
  unsigned numWarps = 4;
  uint64_t sharedBytes = 0; // dynamic shared memory of a block
  std::vector<CopyMap> copyMaps;
  std::vector<diag::Remark> remarks;
  std::vector<pipeline::StageTime> times;
  std::string simt, llvm; // the texts that were asked for
};

Result<Artifact> compile(mlir::ModuleOp module, const NvidiaOptions &options, const Texts &texts);

} // namespace tegula::nvidia
