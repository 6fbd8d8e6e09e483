// Ops of a loop's trip that run in the trip before, and what stands in their way.
#pragma once
#include "analysis/PointerOrigins.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::transforms {

// Ops of a loop's body, and all ops of it that these need.
class EarlyOps {
public:
  explicit EarlyOps(mlir::scf::ForOp loop) : loop_(loop) {}

  // All that the value comes from, and the op with what its regions need, is to be early.
  void add(mlir::Value value) { work_.push_back(value); }
  void add(mlir::Operation *op);
  // Finds all that these need; why not all of it can be computed a trip early, null: it can.
  const char *find();

  bool contains(mlir::Operation *op) const { return ops_.contains(op); }
  const llvm::SetVector<mlir::Operation *> &ops() const { return ops_; }

private:
  const char *findOf(mlir::BlockArgument carried);

  mlir::scf::ForOp loop_;
  llvm::SetVector<mlir::Operation *> ops_;
  llvm::DenseSet<mlir::Value> seen_;
  llvm::SmallVector<mlir::Value> work_;
};

// All that the trips of a loop write.
class StoresOf {
public:
  explicit StoresOf(mlir::scf::ForOp loop);
  // Of two arguments that overlap the memory model asks nothing without a barrier (M12).
  bool mayReach(tile::LoadOp load);

private:
  llvm::SmallVector<mlir::Value> written_;
  analysis::PointerOrigins origins_;
};

} // namespace tegula::transforms
