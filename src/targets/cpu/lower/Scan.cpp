// Scans. Along another dimension than the lanes': one element after the other, the accumulated ones in
// registers. Along the lanes: each vector is scanned in as many steps as the logarithm of its lanes, and the
// last lane of the one before is combined with all of them. A function with branches is scanned in scalars,
// and reductions by one, too: vectors cannot branch.
#include "ir/tile/Branches.h"
#include "ir/tile/Tile.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

using Values = SmallVector<llvm::Value *, 2>;

class ScanEmitter {
public:
  ScanEmitter(ProgramEmitter &program, ScanOp scan)
      : p_(program), b_(program.builder), scan_(scan), combiner_(program, scan),
        shape_(shapeOf(scan.getOperands()[0].getType())), axis_(scan.getAxis()) {}

  void emit() {
    int64_t extent = shape_[axis_];
    bool branches = runsOneByOne(scan_->getRegion(0));
    unsigned lanes = p_.machine.lanes();
    auto minor = branches ? std::nullopt : ElementLoop::laneDimOf(p_, shape_);
    // From the end a vector whose last lanes are outside of the tile would begin with them.
    bool alongLanes = minor == axis_ && extent >= lanes && (!scan_.getReverse() || extent % lanes == 0);
    if (alongLanes)
      return emitAlongLanes(lanes);
    auto laneDim = branches || minor == axis_ ? std::nullopt : minor;
    p_.remark(scan_, "scan",
              laneDim ? "vectors one after the other along the axis"
                      : "one element after the other along the axis");
    ElementLoop loop(p_, laneDim);
    Slots accumulated = slots(laneDim ? lanes : 1);
    loop.over(
        shape_,
        [&](const Coordinates &line) {
          uint8_t level = loop.evaluator().level();
          step(loop, line, p_.i64(scan_.getReverse() ? extent - 1 : 0), level, accumulated, true);
          loop.along(p_.i64(1), p_.i64(extent), [&](const Coordinate &c) {
            llvm::Value *index = scan_.getReverse() ? b_.CreateSub(p_.i64(extent - 1), c.index) : c.index;
            step(loop, line, index, c.level, accumulated, false);
          });
        },
        axis_);
  }

private:
  using Slots = SmallVector<llvm::AllocaInst *, 2>;

  Slots slots(unsigned lanes) {
    Slots result;
    for (llvm::Type *type : combiner_.elementTypes())
      result.push_back(
          p_.temporary(p_.lanesOf(type->isBFloatTy() ? b_.getInt16Ty() : type, lanes), "scanned"));
    return result;
  }

  // bf16 is kept as integers, see ProgramEmitter::select.
  void keep(ArrayRef<llvm::Value *> values, const Slots &slots) {
    for (auto [value, slot] : llvm::zip_equal(values, slots))
      b_.CreateStore(b_.CreateBitCast(value, slot->getAllocatedType()), slot);
  }
  Values kept(const Slots &slots, unsigned lanes) {
    Values values;
    for (auto [slot, type] : llvm::zip_equal(slots, combiner_.elementTypes()))
      values.push_back(
          b_.CreateBitCast(b_.CreateLoad(slot->getAllocatedType(), slot), p_.lanesOf(type, lanes)));
    return values;
  }

  Values elements(ElementLoop &loop, const Coordinates &at, unsigned lanes) {
    Values values;
    for (Value operand : scan_.getOperands())
      values.push_back(p_.splat(loop.element(operand, at), lanes));
    return values;
  }

  void write(ElementLoop &loop, const Coordinates &at, ArrayRef<llvm::Value *> values) {
    for (auto [value, result] : llvm::zip_equal(values, scan_.getResults()))
      if (const Buffer *buffer = p_.plan.buffer(result))
        loop.evaluator().write(*buffer, at, value);
  }

  // accumulated = combine(accumulated, element), written to the results.
  void step(ElementLoop &loop, const Coordinates &line, llvm::Value *index, uint8_t level,
            const Slots &accumulated, bool isFirst) {
    unsigned lanes = loop.evaluator().lanes;
    Coordinates at(line);
    at[axis_] = {index, false, level, -1};
    Values values = elements(loop, at, lanes);
    p_.setLocation(scan_.getLoc());
    if (!isFirst)
      values = combiner_.combine(kept(accumulated, lanes), values);
    keep(values, accumulated);
    write(loop, at, values);
  }

  // ---- along the lanes ----
  void emitAlongLanes(unsigned lanes) {
    p_.remark(scan_, "scan", "vectors of " + std::to_string(lanes) + " elements along the axis");
    ElementLoop loop(p_, axis_);
    Slots last = slots(1);
    auto vector = [&](const Coordinates &line, const Coordinate &c, bool isFirst) {
      llvm::Value *first =
          scan_.getReverse() ? b_.CreateSub(p_.i64(shape_[axis_] - lanes), c.index) : c.index;
      Coordinates at(line);
      at[axis_] = {first, true, c.level, -1};
      loop.evaluator().within = loop.lanesWithin(first, shape_[axis_]);
      Values values = scanned(elements(loop, at, lanes), lanes);
      if (!isFirst) {
        Values before;
        for (llvm::Value *value : kept(last, 1))
          before.push_back(p_.splat(value, lanes));
        values = combiner_.combine(before, values);
      }
      Values ends;
      for (llvm::Value *value : values)
        ends.push_back(lane(value, scan_.getReverse() ? 0 : lanes - 1));
      keep(ends, last);
      write(loop, at, values);
      loop.evaluator().within = nullptr;
    };
    loop.over(
        shape_,
        [&](const Coordinates &line) {
          vector(line, {p_.i64(0), true, loop.evaluator().level(), -1}, true);
          loop.along(
              p_.i64(lanes), p_.i64(shape_[axis_]), [&](const Coordinate &c) { vector(line, c, false); },
              lanes);
        },
        axis_);
  }

  // Each lane with the ones before it, twice as many in each step. A lane without others keeps what it is; it
  // combines elements of the tile all the same, since a function of what is no element might trap.
  Values scanned(Values values, unsigned lanes) {
    p_.setLocation(scan_.getLoc());
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      SmallVector<int, 16> from;
      SmallVector<llvm::Constant *, 16> bits;
      for (unsigned i = 0; i < lanes; ++i) {
        int before = scan_.getReverse() ? int(i + distance) : int(i) - int(distance);
        bool hasOthers = before >= 0 && before < int(lanes);
        from.push_back(hasOthers ? before : int(i));
        bits.push_back(b_.getInt1(hasOthers));
      }
      Values moved;
      for (llvm::Value *value : values)
        moved.push_back(shuffled(value, from));
      Values combined = combiner_.combine(moved, values);
      for (auto [value, with] : llvm::zip_equal(values, combined))
        value = p_.select(llvm::ConstantVector::get(bits), with, value);
    }
    return values;
  }

  // bf16 moves as integers.
  llvm::Value *shuffled(llvm::Value *value, ArrayRef<int> from) {
    llvm::Type *type = value->getType();
    if (type->getScalarType()->isBFloatTy())
      value = b_.CreateBitCast(value, p_.lanesOf(b_.getInt16Ty(), from.size()));
    return b_.CreateBitCast(b_.CreateShuffleVector(value, from), type);
  }
  llvm::Value *lane(llvm::Value *value, unsigned index) {
    llvm::Type *type = value->getType()->getScalarType();
    if (type->isBFloatTy())
      value = b_.CreateBitCast(value, p_.lanesOf(b_.getInt16Ty(), p_.machine.lanes()));
    return b_.CreateBitCast(b_.CreateExtractElement(value, uint64_t(index)), type);
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  ScanOp scan_;
  Combiner combiner_;
  SmallVector<int64_t, 3> shape_;
  unsigned axis_;
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

void emitScan(ProgramEmitter &p, Operation *op) { ScanEmitter(p, cast<ScanOp>(op)).emit(); }

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
