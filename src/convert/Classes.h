// Which values share a layout (TileToSimt.h).
#pragma once
#include "ir/simt/Costs.h"
#include "ir/simt/Simt.h"

#include "llvm/ADT/EquivalenceClasses.h"

namespace tegula::convert {

// What must happen for a tile to be there in another layout.
enum class Kind {
  Data,  // it has one layout of its own; another one is a conversion
  Cheap, // computed again from coordinates and scalars
  View,  // moves elements of its operand: asks for the operand in another layout
};

class Classes {
public:
  Classes(tile::FuncOp function, const simt::Costs &costs);

  Kind kind(mlir::Value tile) const { return kinds_.lookup(tile); }
  bool isData(mlir::Value tile) const { return kind(tile) == Kind::Data; }
  // The class of a Data value, by one of its members.
  mlir::Value leader(mlir::Value data) const { return classes_.getLeaderValue(data); }
  // All leaders, in the order of first appearance.
  const std::vector<mlir::Value> &leaders() const { return leaders_; }

private:
  void classifyAll(tile::FuncOp function);
  void classify(mlir::Operation *op);
  bool countSharers();
  void tie(mlir::Operation *op);
  void unite(mlir::ValueRange values);

  double recomputedOps_;              // above, a value has a layout of its own
  llvm::SetVector<mlir::Value> dear_; // that have one for that reason
  llvm::DenseMap<mlir::Operation *, unsigned> sharers_;
  llvm::DenseMap<mlir::Value, Kind> kinds_;
  llvm::DenseMap<mlir::Value, double>
      costs_; // of computing a Cheap or View value once more: its share of each op
  llvm::EquivalenceClasses<void *> set_;
  struct Leaders {
    llvm::EquivalenceClasses<void *> *set;
    mlir::Value getLeaderValue(mlir::Value value) const {
      return mlir::Value::getFromOpaquePointer(set->getLeaderValue(value.getAsOpaquePointer()));
    }
  } classes_{&set_};
  std::vector<mlir::Value> leaders_;
};

} // namespace tegula::convert
