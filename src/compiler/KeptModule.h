// Tile IR as bytes, and as a module again when somebody asks: for the stages that an artifact does not hold,
// and for targets that run tile IR itself. A compiled kernel so keeps some KB instead of a context.
#pragma once
#include "base/RobustLock.h"
#include "base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace tegula::compiler {

// MLIR's bytecode, locations included.
std::string moduleBytes(mlir::ModuleOp module);

class KeptModule {
public:
  // `bytes` lives longer than this object.
  explicit KeptModule(std::string_view bytes) : bytes_(bytes) {}

  // The module, read at the first call. Its context has no threads: whoever works on the module is `within`
  // the lock, and changes a copy only.
  Result<mlir::ModuleOp> get(const RobustLock::Holder &within);
  RobustLock lock;

private:
  struct Read {
    Status failure;
    std::unique_ptr<mlir::MLIRContext> context; // outlives the module
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };

  std::string_view bytes_;
  std::unique_ptr<Read> read_;
};

} // namespace tegula::compiler
