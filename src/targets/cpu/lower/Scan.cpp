// Scans: along the axis one element after the other, the accumulated scalars in registers.
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

} // namespace

void emitScan(ProgramEmitter &p, Operation *op) {
  p.remark(op, "scan", "one element after the other along the axis");
  ScanEmitter(p, cast<ScanOp>(op)).emit();
}

} // namespace tegula::cpu
