// What LLVM offers every target: a machine, optimization, objects, assembly text.
#pragma once
#include "base/Status.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace tegula::codegen {

// A machine for x86-64. `cpu` "" is this one, with exactly the features it reports.
Result<std::unique_ptr<llvm::TargetMachine>> makeHostMachine(const std::string &cpu);

// Does the machine have the feature that LLVM calls so?
bool hasFeature(const llvm::TargetMachine &machine, std::string_view feature);

// Code of one kernel on its way to a target's instructions; the context is destroyed last.
struct Code {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};
// An empty module of this name for the machine.
std::shared_ptr<Code> makeCode(llvm::StringRef name, std::unique_ptr<llvm::TargetMachine> machine);

// Bytes of this machine's last-level cache, where it says; else 0.
uint64_t hostCacheBytes();

// Optimizes code that was emitted with wide vectors and loops in their final shape: clean
// up, hoist, no unrolling and no vectorization of its own. After a failure of these three the module's
// context must not be destroyed (Recovery.h).
Status optimize(llvm::Module &module, llvm::TargetMachine &machine);

// No product and sum of what was emitted so far may become one operation (numerical-contract.md, N10).
// Before the math library is linked in: its functions keep their bounds.
void forbidContraction(llvm::Module &module);

Result<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine);
Result<std::string> emitAssembly(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tegula::codegen
