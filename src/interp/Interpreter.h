// The machine that runs one program after another: values of the IR, and the table that
// gives each op its meaning. A value is a tile: an element type, a shape and the bits of
// each element in row-major order. A scalar is a tile of rank 0.
#pragma once
#include "base/Status.h"
#include "interp/Float.h"
#include "ir/tile/Tile.h"
#include "runtime/Interrupt.h"
#include "runtime/Launch.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace tegula::interp {

struct Tile {
  Element element = Element::I1;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<uint64_t, 1> bits;

  size_t size() const { return bits.size(); }
  unsigned width() const { return widthOf(element); }
  int64_t asSigned(size_t i = 0) const { return signExtend(bits[i], width()); }
  double asDouble(size_t i = 0) const { return decode(element, bits[i]); }
};

class Interpreter;

// Runs one op: reads operands from the machine, defines the results. False: the machine
// holds the error.
using Handler = bool (*)(Interpreter &, mlir::Operation *);
using Table = llvm::StringMap<Handler>;

class Interpreter {
public:
  Interpreter(const Table &table, const runtime::Grid &grid, uint64_t maxOps)
      : grid(grid), table_(table), limited_(maxOps != 0), left_(maxOps) {}

  const runtime::Grid &grid;
  std::array<int64_t, 3> program{}; // the index of the running program
  runtime::Interrupt interrupt;     // of the launch

  const Tile &value(mlir::Value value) const { return *values_.find(value)->second; }
  const Tile &operand(mlir::Operation *op, unsigned index) const { return value(op->getOperand(index)); }
  void define(mlir::Value value, Tile tile);
  // All zero, of the type's element and shape. Types without an element fail in `runOp`.
  static Tile make(mlir::Type type);
  static Tile scalar(Element element, uint64_t bits) { return {element, {}, {bits}}; }

  bool runOp(mlir::Operation *op);
  // Runs all but the terminator.
  bool runBlock(mlir::Block &block);
  // `runBlock` with these arguments; then the operands of its terminator, from `skip` on.
  bool runBlock(mlir::Block &block, llvm::SmallVectorImpl<Tile> &&arguments,
                llvm::SmallVectorImpl<Tile> &results, unsigned skip = 0);
  llvm::SmallVector<Tile, 4> copy(mlir::ValueRange values) const;

  bool fail(mlir::Operation *op, StatusCode code, const llvm::Twine &text);
  Status status() const { return status_; }

private:
  Handler handlerOf(mlir::Operation *op);
  bool spend(mlir::Operation *op);

  const Table &table_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Tile>> values_;
  llvm::DenseMap<mlir::OperationName, Handler> handlers_;
  const bool limited_;
  uint64_t left_;
  unsigned depth_ = 0;
  Status status_;
};

// The meaning of an op of the tile dialect: a specialization in the family's file. An op
// without one does not link.
template <class Op> bool execute(Interpreter &machine, Op op);

// The ops of other dialects, family by family.
void addElementwise(Table &table);
void addIntegers(Table &table);
void addCasts(Table &table);
void addMath(Table &table);
void addControl(Table &table);
// Everything the interpreter knows.
const Table &allOps();

} // namespace tegula::interp
