// Objects into this process, by ORC and JITLink.
#include "codegen/llvm/Target.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tegula::codegen {

namespace {

class OrcObject : public LoadedObject {
public:
  explicit OrcObject(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  void *address(const std::string &symbol) override {
    auto found = jit_->lookup(symbol);
    if (!found) {
      llvm::consumeError(found.takeError());
      return nullptr;
    }
    return found->toPtr<void *>();
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

Status failure(llvm::Error error) {
  return Status::error(StatusCode::Toolchain, "loading generated code: " + llvm::toString(std::move(error)));
}

} // namespace

Result<std::unique_ptr<LoadedObject>> loadObject(const std::string &object, const HostFunctions &host) {
  // The machine of the JIT only names the format: the code is already for this host.
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return failure(machine.takeError());
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit)
    return failure(jit.takeError());
  llvm::orc::SymbolMap symbols;
  for (auto &[name, function] : host)
    symbols[(*jit)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                              llvm::JITSymbolFlags::Exported |
                                                  llvm::JITSymbolFlags::Callable};
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return failure(std::move(error));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, "kernel");
  if (auto error = (*jit)->addObjectFile(std::move(buffer)))
    return failure(std::move(error));
  return std::unique_ptr<LoadedObject>(std::make_unique<OrcObject>(std::move(*jit)));
}

} // namespace tegula::codegen
