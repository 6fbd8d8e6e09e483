// Keeps the time of LLVM's code generators in proportion to the code. Some of their passes take time that
// grows with the square of a block or of a function; code of a size that nobody writes by hand, but that
// unrolling makes, is cut into blocks that they can bear, or is left to the passes that can bear it.
#pragma once
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <cstddef>

namespace tegula::codegen {

// Sizes of code that passes of our own compare.
struct Bounds {
#define BOUND(name, value, why, shape) size_t name = value;
#include "codegen/llvm/Bounds.def"
#undef BOUND
};
inline constexpr Bounds bounds{};

// Says how large the largest function of a module is.
struct CodeSize {
  size_t instructions = 0, block = 0, accesses = 0, blocks = 0; // of the largest block; loads and stores

  static CodeSize of(const llvm::Module &module);
  bool exceeds(const CodeSize &bounds) const;
};

// Is a function of a GPU one in which instructions may sink too far, past many slow paths that are rarely
// taken?
bool sinksFar(const llvm::Function &function);

// The passes of a machine's code generator, less those whose bounds the module exceeds.
class BoundedPasses : public llvm::legacy::PassManager {
public:
  BoundedPasses(llvm::Module &module, llvm::TargetMachine &machine);

  void add(llvm::Pass *pass) override;

private:
  llvm::TargetMachine &machine_;
  CodeSize size_;
  size_t addresses_ = 0; // the most that assembly in one block of a loop takes
  bool sinksFar_;        // one of the functions
  bool changesInPlace_;  // assembly reads and writes the same registers, and may go on doing so behind itself
};

} // namespace tegula::codegen
