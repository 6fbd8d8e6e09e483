// Scans: along the axis one element after the other, the accumulated scalars in registers. So are
// reductions by a function with branches: vectors cannot branch.
#include "ir/tile/Tile.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

class ScanEmitter {
public:
  ScanEmitter(ProgramEmitter &program, ScanOp scan)
      : p_(program), b_(program.builder), scan_(scan), combiner_(program, scan), loop_(program) {}

  void emit() {
    auto shape = shapeOf(scan_.getOperands()[0].getType());
    unsigned axis = scan_.getAxis();
    int64_t extent = shape[axis];
    SmallVector<llvm::AllocaInst *, 2> accumulated;
    for (llvm::Type *type : combiner_.elementTypes())
      accumulated.push_back(p_.temporary(type, "scanned"));
    loop_.over(
        shape,
        [&](const Coordinates &line) {
          step(line, p_.i64(scan_.getReverse() ? extent - 1 : 0), loop_.evaluator().level(), accumulated,
               true);
          loop_.along(p_.i64(1), p_.i64(extent), [&](const Coordinate &c) {
            llvm::Value *index = scan_.getReverse() ? b_.CreateSub(p_.i64(extent - 1), c.index) : c.index;
            step(line, index, c.level, accumulated, false);
          });
        },
        axis);
  }

private:
  // accumulated = combine(accumulated, element), written to the results.
  void step(const Coordinates &line, llvm::Value *index, uint8_t level,
            ArrayRef<llvm::AllocaInst *> accumulated, bool isFirst) {
    Coordinates at(line);
    at[scan_.getAxis()] = {index, false, level, -1};
    SmallVector<llvm::Value *> old, next;
    for (auto [operand, slot] : llvm::zip(scan_.getOperands(), accumulated)) {
      next.push_back(loop_.element(operand, at));
      if (!isFirst)
        old.push_back(b_.CreateLoad(slot->getAllocatedType(), slot));
    }
    p_.setLocation(scan_.getLoc());
    SmallVector<llvm::Value *> values = isFirst ? next : combiner_.combine(old, next);
    for (auto [value, slot, result] : llvm::zip(values, accumulated, scan_.getResults())) {
      b_.CreateStore(value, slot);
      if (const Buffer *buffer = p_.plan.buffer(result))
        loop_.evaluator().write(*buffer, at, value);
    }
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  ScanOp scan_;
  Combiner combiner_;
  ElementLoop loop_;
};

// A reduction whose function branches: one element after the other into temporaries.
void reduceLine(ProgramEmitter &p, ReduceOp op, Combiner &combiner, ElementLoop &loop,
                const Coordinates &line, ArrayRef<llvm::AllocaInst *> accumulated) {
  auto &b = p.builder;
  unsigned axis = op.getAxis();
  int64_t extent = shapeOf(op.getOperands()[0].getType())[axis];
  auto elements = [&](const Coordinate &c) {
    Coordinates at(line);
    at[axis] = c;
    return llvm::map_to_vector(op.getOperands(), [&](Value operand) { return loop.element(operand, at); });
  };
  auto keep = [&](ArrayRef<llvm::Value *> values) {
    for (auto [value, slot] : llvm::zip_equal(values, accumulated))
      b.CreateStore(value, slot);
  };
  keep(elements({p.i64(0), false, loop.evaluator().level(), -1}));
  loop.along(p.i64(1), p.i64(extent), [&](const Coordinate &c) {
    auto next = elements(c);
    auto old = llvm::map_to_vector(accumulated, [&](llvm::AllocaInst *slot) -> llvm::Value * {
      return b.CreateLoad(slot->getAllocatedType(), slot);
    });
    p.setLocation(op.getLoc());
    keep(combiner.combine(old, next));
  });
}

} // namespace

void emitScan(ProgramEmitter &p, Operation *op) {
  p.remark(op, "scan", "one element after the other along the axis");
  ScanEmitter(p, cast<ScanOp>(op)).emit();
}

void emitReduce(ProgramEmitter &p, Operation *any) {
  auto op = cast<ReduceOp>(any);
  p.remark(op, "reduce", "one element after the other: its function branches");
  Combiner combiner(p, op);
  ElementLoop loop(p);
  SmallVector<llvm::AllocaInst *, 2> accumulated;
  for (llvm::Type *type : combiner.elementTypes())
    accumulated.push_back(p.temporary(type, "reduced"));
  auto shape = shapeOf(op.getOperands()[0].getType());
  loop.over(
      shape,
      [&](const Coordinates &line) {
        reduceLine(p, op, combiner, loop, line, accumulated);
        Coordinates at(line);
        at.erase(at.begin() + op.getAxis());
        for (auto [slot, result] : llvm::zip_equal(accumulated, op.getResults())) {
          llvm::Value *value = p.builder.CreateLoad(slot->getAllocatedType(), slot);
          if (!isTile(result))
            p.setScalar(result, value);
          else if (const Buffer *buffer = p.plan.buffer(result))
            loop.evaluator().write(*buffer, at, value);
        }
      },
      op.getAxis());
}

} // namespace tegula::cpu
