#include "compiler/BuildId.h"

#include "mlir/IR/Verifier.h"
#include "llvm/TargetParser/Host.h"

namespace tegula::compiler {

std::string identityOfLlvm() {
  // One function each: they may be one library with this one, or two of their own.
  const std::string own = identityOfLibraryWith(reinterpret_cast<const void *>(&identityOfLlvm));
  std::string all;
  for (const void *function : {reinterpret_cast<const void *>(&mlir::verify),
                               reinterpret_cast<const void *>(&llvm::sys::getHostCPUName)})
    if (std::string theirs = identityOfLibraryWith(function); theirs != own)
      all += theirs;
  return all;
}

} // namespace tegula::compiler
