// Addresses are computed for a few programs and trips of loops: the first, the second along each axis and
// loop, and the last. What lies between is taken for even steps if the last one is where those lead.
#include "targets/cpu/FreshOutputs.h"
#include "targets/cpu/Guards.h"
#include "targets/cpu/Ops.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// Of a kernel, around a store, and of the addresses of a store.
constexpr unsigned mostStores = 8, mostLoops = 8, mostOps = 64;

// One program and one trip of each loop around a store.
struct Point {
  std::array<llvm::Value *, 3> ids; // i32
  llvm::SmallVector<std::pair<Value, llvm::Value *>> known;
};

// A number of equal steps in bytes, both i64.
struct Steps {
  llvm::Value *count, *bytes;
};

class RangeOfStore {
public:
  RangeOfStore(ProgramEmitter &p, StoreOp store, ArrayRef<unsigned> axes)
      : p_(p), b_(p.builder), store_(store), axes_(axes) {}

  // False where addresses hang on what only a running program knows; then what was emitted has no use.
  bool emit() {
    const Address *address = p_.access.address(store_.getPtr());
    if (!address || !isEverywhere() || !findLoops())
      return false;
    std::array<int64_t, 3> zero{};
    llvm::Value *first = addressAt(*address, place(zero, 0, 0));
    if (!first)
      return false;
    llvm::SmallVector<Steps> steps;
    for (auto [d, stride] : llvm::enumerate(address->offset.strides))
      if (llvm::Value *bytes = polynomial(stride, place(zero, 0, 0)))
        steps.push_back({b_.getInt64(shapeOf(store_.getPtr().getType())[d]), bytes});
      else
        return false;
    llvm::Value *end = first; // the first element of the last tile, by even steps
    auto add = [&](llvm::Value *count, const Point &second) {
      llvm::Value *bytes = addressAt(*address, second);
      if (!bytes)
        return false;
      steps.push_back({count, b_.CreateSub(bytes, first)});
      end = b_.CreateAdd(end, b_.CreateMul(b_.CreateSub(count, b_.getInt64(1)), steps.back().bytes));
      return true;
    };
    for (unsigned axis : axes_) {
      std::array<int64_t, 3> next{};
      next[axis] = 1;
      if (!add(b_.CreateSExt(p_.numPrograms(axis), b_.getInt64Ty()), place(next, 0, 0)))
        return false;
    }
    for (auto [i, loop] : llvm::enumerate(loops_))
      if (!add(loop.trips, place(zero, 1u << i, 0)))
        return false;
    llvm::Value *last = addressAt(*address, lastPlace());
    if (!last)
      return false;
    tell(first, steps, b_.CreateICmpEQ(last, end));
    return true;
  }

private:
  struct Loop {
    scf::ForOp op;
    llvm::Value *trips = nullptr; // i64
  };

  // Neither a branch nor a condition that is loaded decides about it.
  bool isEverywhere() {
    for (Operation *parent = store_->getParentOp(); !isa<FuncOp>(parent); parent = parent->getParentOp())
      if (!isa<scf::ForOp>(parent))
        return false;
    return !store_.getMask() || llvm::all_of(p_.access.conjuncts(store_.getMask()),
                                             [](const Conjunct &c) { return c.form.has_value(); });
  }

  // Trips are those of the first program.
  bool findLoops() {
    for (Operation *parent = store_->getParentOp(); !isa<FuncOp>(parent); parent = parent->getParentOp())
      loops_.insert(loops_.begin(), {cast<scf::ForOp>(parent)});
    if (loops_.size() > mostLoops)
      return false;
    Point point{{b_.getInt32(0), b_.getInt32(0), b_.getInt32(0)}, {}};
    for (Loop &loop : loops_) {
      llvm::Value *begin = wide(loop.op.getLowerBound(), point), *end = wide(loop.op.getUpperBound(), point),
                  *step = wide(loop.op.getStep(), point);
      if (!begin || !end || !step)
        return false;
      llvm::Value *one = b_.getInt64(1), *none = b_.getInt64(0);
      step = b_.CreateSelect(b_.CreateICmpSGT(step, none), step, one);
      llvm::Value *length = b_.CreateSub(end, begin);
      llvm::Value *trips = b_.CreateUDiv(b_.CreateAdd(length, b_.CreateSub(step, one)), step);
      loop.trips = b_.CreateSelect(b_.CreateICmpSGT(length, none), trips, none);
      point.known.push_back({loop.op.getInductionVar(), at(loop.op.getLowerBound(), point)});
    }
    return true;
  }

  // The loops in `second` are in their second trip, those in `last` in their last one, the others in the
  // first.
  Point place(std::array<int64_t, 3> ids, unsigned second, unsigned last) {
    Point point{{}, {}};
    for (unsigned axis = 0; axis != 3; ++axis)
      point.ids[axis] = b_.getInt32(uint32_t(ids[axis]));
    enterLoops(point, second, last);
    return point;
  }
  Point lastPlace() {
    Point point{{}, {}};
    for (unsigned axis = 0; axis != 3; ++axis)
      point.ids[axis] = b_.CreateSub(p_.numPrograms(axis), b_.getInt32(1));
    enterLoops(point, 0, ~0u);
    return point;
  }
  // A bound that cannot be computed leaves its index unknown, and so the address.
  void enterLoops(Point &point, unsigned second, unsigned last) {
    for (auto [i, loop] : llvm::enumerate(loops_)) {
      llvm::Value *index = at(loop.op.getLowerBound(), point), *step = at(loop.op.getStep(), point);
      if (!index || !step)
        return;
      if (last >> i & 1) {
        llvm::Value *trips = b_.CreateTrunc(loop.trips, step->getType());
        index = b_.CreateAdd(
            index, b_.CreateMul(step, b_.CreateSub(trips, llvm::ConstantInt::get(step->getType(), 1))));
      } else if (second >> i & 1) {
        index = b_.CreateAdd(index, step);
      }
      point.known.push_back({loop.op.getInductionVar(), index});
    }
  }

  // A scalar of the program as it is there, or null: it hangs on memory, on values that a loop carries, or it
  // is too much to compute. Ops that must not run where the program would not run them are not.
  llvm::Value *at(Value value, const Point &point, unsigned depth = 0) {
    for (auto [known, emitted] : point.known)
      if (known == value)
        return emitted;
    Operation *op = value.getDefiningOp();
    if (!op)
      return isa<FuncOp>(value.getParentBlock()->getParentOp()) ? p_.scalar(value) : nullptr;
    if (isa<arith::ConstantOp>(op))
      return p_.scalar(value);
    if (auto id = dyn_cast<GetProgramIdOp>(op))
      return point.ids[id.getAxis()];
    if (auto number = dyn_cast<GetNumProgramsOp>(op))
      return p_.numPrograms(number.getAxis());
    const auto *row = ops().find(op);
    if (!row || !row->lowering.element || !isPure(op) || op->getNumResults() != 1 || ++ops_ > mostOps ||
        depth > 16)
      return nullptr;
    llvm::SmallVector<llvm::Value *, 3> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(isTile(operand) ? nullptr : at(operand, point, depth + 1));
      if (!operands.back())
        return nullptr;
    }
    return lowerOp(p_, op, operands);
  }
  llvm::Value *wide(Value value, const Point &point) {
    llvm::Value *emitted = at(value, point);
    return emitted ? b_.CreateSExt(emitted, b_.getInt64Ty()) : nullptr;
  }

  llvm::Value *polynomial(const Polynomial &value, const Point &point) {
    if (value.hasTiles())
      return nullptr;
    llvm::Value *sum = b_.getInt64(0);
    for (const Monomial &term : value.terms()) {
      llvm::Value *product = b_.getInt64(uint64_t(term.coefficient));
      for (const Factor &factor : term.factors) {
        llvm::Value *scalar = wide(factor.value, point);
        if (!scalar)
          return nullptr;
        product = b_.CreateMul(product, scalar);
      }
      sum = b_.CreateAdd(sum, product);
    }
    return sum;
  }
  llvm::Value *addressAt(const Address &address, const Point &point) {
    llvm::Value *pointer = at(address.pointer, point), *offset = polynomial(address.offset.base, point);
    return pointer && offset ? b_.CreateAdd(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), offset) : nullptr;
  }

  // Steps of nothing repeat stores and fill nothing.
  void tell(llvm::Value *first, ArrayRef<Steps> steps, llvm::Value *isEven) {
    llvm::Type *i64 = b_.getInt64Ty();
    llvm::Value *none = b_.getInt64(0), *one = b_.getInt64(1);
    llvm::Value *begin = first, *written = b_.getInt64(uint64_t(elementBytes(store_.getPtr()))),
                *span = written;
    for (const Steps &step : steps) {
      llvm::Value *way = b_.CreateMul(step.bytes, b_.CreateSub(step.count, one));
      llvm::Value *isBack = b_.CreateICmpSLT(way, none);
      begin = b_.CreateAdd(begin, b_.CreateSelect(isBack, way, none));
      span = b_.CreateAdd(span, b_.CreateSelect(isBack, b_.CreateNeg(way), way));
      llvm::Value *stays = b_.CreateAnd(b_.CreateICmpEQ(step.bytes, none), b_.CreateICmpNE(step.count, none));
      written = b_.CreateMul(written, b_.CreateSelect(stays, one, step.count));
    }
    llvm::Value *isLarge = b_.CreateICmpSGE(written, b_.getInt64(p_.machine.mappedBytes));
    llvm::Value *isDense = b_.CreateICmpSGE(b_.CreateAdd(written, written), span);
    // Of programs that are not there, arithmetic may be anything.
    llvm::Value *asks = b_.CreateFreeze(b_.CreateAnd(isEven, b_.CreateAnd(isLarge, isDense)));
    p_.branch(
        asks,
        [&] {
          auto callee = p_.module.getOrInsertFunction(
              "tegula_expect_stores", llvm::FunctionType::get(b_.getVoidTy(), {i64, i64}, false));
          b_.CreateCall(callee, {begin, span})->addFnAttr(llvm::Attribute::Cold);
        },
        [] {});
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  StoreOp store_;
  ArrayRef<unsigned> axes_;          // on which programs look at their place
  llvm::SmallVector<Loop, 2> loops_; // the outermost first
  unsigned ops_ = 0;
};

} // namespace

void emitFreshOutputs(ProgramEmitter &p, FuncOp kernel) {
  llvm::SmallVector<unsigned, 3> axes;
  kernel.walk([&](GetProgramIdOp id) {
    if (!llvm::is_contained(axes, unsigned(id.getAxis())))
      axes.push_back(unsigned(id.getAxis()));
  });
  unsigned stores = 0;
  kernel.walk([&](StoreOp store) {
    if (!isTile(store.getPtr()))
      return WalkResult::advance();
    if (RangeOfStore(p, store, axes).emit())
      p.remark(store, "access",
               "where a launch fills " + std::to_string(p.machine.mappedBytes >> 20) +
                   " MiB or more that are not in memory yet, huge pages are asked for");
    return ++stores == mostStores ? WalkResult::interrupt() : WalkResult::advance();
  });
}

} // namespace tegula::cpu
