// Loads of a loop of products that wait in registers for the next trip.
#pragma once
#include "ir/simt/Simt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::transforms {

// Chooses those of these loads that begin one trip ahead, each behind the last op that reads what it brought
// before: the register is free then. Elsewhere the trip would have to move the new value at its end, and to
// wait for it. Ops that these loads alone need come with them. Not loads that a product reads, or that are
// read on both sides of one: nothing long would lie between them and the next trip's read. Nor those whose
// lanes exchange them for a product: the assembler moves them behind that. Nor loads whose addresses would be
// handed on as tiles.
class HeldLoads {
public:
  // `ahead`: ops of the loop that run `aheadTrips` ahead of the others; `held`: of these, the loads.
  HeldLoads(mlir::scf::ForOp loop, const llvm::SetVector<mlir::Operation *> &ahead,
            llvm::ArrayRef<tile::LoadOp> held, unsigned aheadTrips);

  // Does the op begin one trip ahead: such a load, or what it alone needs?
  bool contains(mlir::Operation *op) const { return late_.contains(op); }
  // The ops that begin behind `op`, in their order; each is given once.
  llvm::SmallVector<mlir::Operation *> behind(mlir::Operation *op);

private:
  llvm::SmallVector<mlir::Operation *> readers(mlir::Operation *op) const;
  bool isReadAtOnce(mlir::Operation *load) const;
  llvm::SetVector<mlir::Operation *> alone(const llvm::SetVector<mlir::Operation *> &loads) const;
  bool handsOnTiles(mlir::Operation *op) const;
  mlir::Operation *inTrip(mlir::Operation *op) const { return body_->findAncestorOpInBlock(*op); }
  void begin(mlir::Operation *op, llvm::SmallVector<mlir::Operation *> &begun);

  mlir::Block *body_;
  const llvm::SetVector<mlir::Operation *> &ahead_;
  unsigned aheadTrips_;
  llvm::SetVector<mlir::Operation *> late_;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> behind_; // op -> loads
  llvm::DenseSet<mlir::Operation *> given_;
};

} // namespace tegula::transforms
