#include "compiler/KeptModule.h"
#include "ir/tile/Tile.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace tegula::compiler {

std::string moduleBytes(mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  // It fails where a version is asked for that MLIR cannot write, and none is asked for.
  if (mlir::failed(mlir::writeBytecodeToFile(module, out)))
    bytes.clear();
  return bytes;
}

Result<mlir::ModuleOp> KeptModule::get(const RobustLock::Holder &within) {
  if (within.isAbandoned())
    (void)read_.release(); // somebody was at work in its context
  if (!read_) {
    auto read = std::make_unique<Read>();
    read->context = tile::makeContext();
    std::string complaints;
    mlir::ScopedDiagnosticHandler handler(read->context.get(), [&](mlir::Diagnostic &diagnostic) {
      complaints += diagnostic.str() + "\n";
      return mlir::success();
    });
    mlir::Block block;
    mlir::ParserConfig config(read->context.get());
    auto buffer = llvm::MemoryBufferRef(llvm::StringRef(bytes_.data(), bytes_.size()), "tile");
    if (mlir::succeeded(mlir::readBytecodeFile(buffer, &block, config)) &&
        llvm::hasSingleElement(block.getOperations()))
      if (auto module = mlir::dyn_cast<mlir::ModuleOp>(block.front())) {
        module->remove();
        read->module = module;
      }
    if (!read->module)
      read->failure =
          Status::error(StatusCode::Internal, "the tile IR of a kernel cannot be read: " + complaints);
    read_ = std::move(read);
  }
  return read_->failure.ok() ? Result(*read_->module) : Result<mlir::ModuleOp>(read_->failure);
}

} // namespace tegula::compiler
