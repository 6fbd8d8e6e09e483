#include "codegen/llvm/Arithmetic.h"
#include "mathlib/Mathlib.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"

namespace tegula::codegen {

Status linkMathlib(llvm::Module &module) {
  bool needed = llvm::any_of(module, [](const llvm::Function &f) { return f.getName().starts_with("tgm_"); });
  if (!needed)
    return Status::success();
  auto bytes = mathlib::bitcode();
  llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()),
                               "mathlib");
  auto library = llvm::getLazyBitcodeModule(buffer, module.getContext());
  if (!library)
    return Status::error(StatusCode::Internal,
                         "the math library does not load: " + llvm::toString(library.takeError()));
  (*library)->setDataLayout(module.getDataLayout());
  (*library)->setTargetTriple(module.getTargetTriple());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
    return Status::error(StatusCode::Internal, "the math library does not link");
  for (llvm::Function &function : module)
    if (function.getName().starts_with("tgm_")) {
      if (function.isDeclaration())
        return Status::error(StatusCode::Internal, "the math library lacks " + function.getName().str());
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  return Status::success();
}

} // namespace tegula::codegen
