#include "transforms/StartDots.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "ir/simt/Turns.h"
#include "ir/tile/Checks.h"
#include "layout/OperandTile.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// An operand that lies in shared memory.
struct InBuffer {
  Value buffer; // of one slot; null: it does not
  bool isTransposed = false;
};

// Moves a product, and what it needs of the ops between, right behind `place` in its block, unless something
// of that must stay.
void moveBehind(simt::DotAsyncOp product, Operation *place) {
  llvm::SetVector<Operation *> needed;
  needed.insert(product);
  for (unsigned i = 0; i != needed.size(); ++i)
    for (Value operand : needed[i]->getOperands())
      if (Operation *op = operand.getDefiningOp();
          op && op->getBlock() == product->getBlock() && place->isBeforeInBlock(op)) {
        if (op->getNumRegions() || !isMemoryEffectFree(op) || isa<simt::AllocOp>(op))
          return;
        needed.insert(op);
      }
  SmallVector<Operation *> inOrder(needed.begin(), needed.end());
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : llvm::reverse(inOrder))
    op->moveAfter(place);
}

class StartDot {
public:
  StartDot(DotOp dot, const simt::Machine &machine, std::vector<diag::Remark> &remarks)
      : dot_(dot), matrix_(dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName)), machine_(machine),
        remarks_(remarks) {}

  void run() {
    // Of the instruction, whose rows are perhaps the tile's columns.
    unsigned ofRows = matrix_.getIsSwapped() ? 1 : 0;
    Value operands[2] = {dot_->getOperand(ofRows), dot_->getOperand(1 - ofRows)};
    InBuffer b = find(operands[1], 1 - ofRows);
    if (!b.buffer)
      return takeOneWarp("no operand lies in a buffer that several can read");
    InBuffer a = find(operands[0], ofRows);
    if (!a.buffer && isOfAllTrips(operands[0]))
      return takeOneWarp("its first factor stays in registers over all trips");
    bool isStored = a.buffer && simt::allocOf(a.buffer)->getBlock() == dot_->getBlock(); // anew in each trip
    bool mayRunOn = dot_->hasAttr(simt::inFlightName) && !isStored;
    bool runsOn = mayRunOn && a.buffer;
    OpBuilder builder(dot_);
    Location loc = dot_.getLoc();
    Value sum = isZero(dot_.getAcc()) ? Value() : dot_.getAcc();
    auto started = simt::DotAsyncOp::create(builder, loc, dot_.getType(), a.buffer ? Value() : operands[0],
                                            a.buffer, b.buffer, sum, matrix_, a.isTransposed, b.isTransposed);
    if (runsOn)
      waitBehindLoop(started);
    else if (!mayRunOn || !waitInNextTrip(started)) {
      waitBehindCopies(builder);
      waitNow(builder, started);
    }
    dot_.erase();
    for (Value operand : operands)
      eraseUnused(operand);
  }

private:
  static bool isZero(Value value) {
    return matchPattern(value, m_Zero()) || matchPattern(value, m_AnyZeroFloat());
  }

  // Is it a factor in registers that all trips of a loop read? Where there is a branch, be it in the wait for
  // a copy, the assembler (13.0) gives the registers of such a factor to the first factor of another product,
  // and the next trip multiplies by that.
  bool isOfAllTrips(Value factor) {
    auto loop = dot_->getParentOfType<LoopLikeOpInterface>();
    return loop && loop.isDefinedOutsideOfLoop(factor);
  }

  InBuffer find(Value operand, unsigned index) {
    bool isTransposed = false;
    while (auto trans = operand.getDefiningOp<TransOp>()) {
      operand = trans.getValue();
      isTransposed = !isTransposed;
    }
    auto load = operand.getDefiningOp<simt::LocalLoadOp>();
    if (!load || isChangedBetween(load))
      return {};
    layout::SharedMap map = load.getBuffer().getType().getMap().map();
    bool isReadable = layout::planOperandTile(simt::layoutOf(load.getResult()), map, isTransposed, index,
                                              simt::layoutOf(dot_.getResult()), matrix_.shape())
                          .has_value();
    return isReadable ? InBuffer{load.getBuffer(), isTransposed} : InBuffer();
  }

  // The product reads the buffer later than the load did, perhaps in a branch behind it. True as well where
  // that is not known: beyond other ops with regions, or in a branch of a loop whose slots signals hand on.
  bool isChangedBetween(simt::LocalLoadOp load) {
    Operation *end = dot_;
    for (; end->getBlock() != load->getBlock(); end = end->getParentOp())
      if (!isa<scf::IfOp>(end->getParentOp()) || load->getParentOp()->hasAttr(simt::signalledName) ||
          mayChange(load, &end->getBlock()->front(), end))
        return true;
    return mayChange(load, load->getNextNode(), end);
  }

  // Do ops from `first` up to `end` change what the load reads? Copies that signals order change no slot in
  // use.
  static bool mayChange(simt::LocalLoadOp load, Operation *first, Operation *end) {
    for (Operation *op = first; op != end; op = op->getNextNode()) {
      if (auto store = dyn_cast<simt::LocalStoreOp>(op)) {
        if (simt::allocOf(store.getBuffer()) == simt::allocOf(load.getBuffer()))
          return true;
      } else if ((simt::hasBlocks(op) && !isMemoryEffectFree(op)) ||
                 (!op->hasAttr(simt::signalledName) &&
                  isa<simt::AsyncCopyOp, simt::AsyncWaitOp, simt::BulkCopyOp, simt::SignalWaitOp>(op))) {
        return true;
      }
    }
    return false;
  }

  static SmallVector<Value> buffersOf(simt::DotAsyncOp started) {
    SmallVector<Value> buffers;
    if (started.getABuffer())
      buffers.push_back(started.getABuffer());
    if (started.getB() != started.getABuffer())
      buffers.push_back(started.getB());
    return buffers;
  }

  // In a loop whose copies signals order, those that stand between a product and the first op that needs it
  // run beside it. It reads another slot.
  void waitBehindCopies(OpBuilder &builder) {
    if (!dot_->getParentOp()->hasAttr(simt::signalledName))
      return;
    Operation *end = dot_->getNextNode(), *last = nullptr;
    auto needsIt = [&](Operation *op) {
      return op
          ->walk([&](Operation *inner) {
            bool needs = llvm::is_contained(inner->getOperands(), dot_.getResult());
            return needs ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
    };
    auto stays = [](Operation *op) {
      return op->hasAttr(simt::signalledName) || isa<simt::SignalArriveOp, simt::AsyncCommitOp>(op) ||
             isPlainLoad(op) || (!op->getNumRegions() && isMemoryEffectFree(op));
    };
    for (; !end->hasTrait<OpTrait::IsTerminator>() && stays(end) && !needsIt(end); end = end->getNextNode())
      if (end->hasAttr(simt::signalledName))
        last = end;
    if (last)
      builder.setInsertionPointAfter(last);
  }

  // A product that reads both factors in shared memory starts ahead of the copies of its trip and runs beside
  // them: they fill other slots. The barrier behind the wait for earlier copies is then the product's.
  static void startAheadOfCopies(simt::DotAsyncOp started) {
    Operation *wait = nullptr, *copy = nullptr;
    for (Operation *op = started->getPrevNode(); op && !wait; op = op->getPrevNode()) {
      if (isa<simt::AsyncWaitOp>(op) && !op->hasAttr(simt::signalledName))
        wait = op;
      else if (isa<simt::AsyncCopyOp, simt::BulkCopyOp>(op) && !op->hasAttr(simt::signalledName))
        copy = op;
      else if (!isa<simt::AsyncCommitOp, simt::SignalArriveOp, simt::LocalLoadOp>(op) &&
               !isMemoryEffectFree(op) && !isPlainLoad(op))
        return;
    }
    if (wait && copy)
      moveBehind(started, wait);
  }

  static bool isPlainLoad(Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    return load && !load.getIsVolatile();
  }

  void waitNow(OpBuilder &builder, simt::DotAsyncOp started) {
    auto wait = simt::DotWaitOp::create(builder, started.getLoc(), TypeRange{dot_.getType()},
                                        ValueRange{started.getResult()}, buffersOf(started), 0);
    dot_.getResult().replaceAllUsesWith(wait.getResult(0));
    if (takesPlaceOf(wait.getResult(0)))
      wait->setAttr(simt::joinsWaysName, builder.getUnitAttr());
    loadAheadOf(wait);
    if (started.getABuffer())
      startAheadOfCopies(started);
    if (!wait->getBlock()->getOps<simt::BulkCopyOp>().empty())
      readBehind(wait);
  }

  // Does the next trip have the sum in the place of one that it has elsewhere (`a, b = b, sum`)? Registers
  // are moved for that, and they would be while the product writes them.
  static bool takesPlaceOf(Value sum) {
    return llvm::any_of(sum.getUses(), [](OpOperand &use) {
      auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
      return loop && isa<scf::YieldOp>(use.getOwner()) &&
             llvm::is_contained(loop.getRegionIterArg(use.getOperandNumber()).getUsers(), use.getOwner());
    });
  }

  // Reads of buffers by threads move behind the wait, if nothing ahead of it needs them: a product under way
  // keeps shared memory busy, and what follows the reads would wait for them. (Beside copies by all threads,
  // which wait as well, 64x64 products of 8 bits lost 10 to 17 % by it.)
  static void readBehind(simt::DotWaitOp wait) {
    Operation *behind = wait;
    for (Operation &op :
         llvm::make_early_inc_range(llvm::make_range(wait->getBlock()->begin(), wait->getIterator()))) {
      auto isBehind = [&](Operation *user) {
        Operation *here = wait->getBlock()->findAncestorOpInBlock(*user);
        return here && wait->isBeforeInBlock(here);
      };
      if (!isa<simt::LocalLoadOp>(op) || !llvm::all_of(op.getUsers(), isBehind) || isFollowed(&op, wait))
        continue;
      op.moveAfter(behind);
      behind = &op;
    }
  }

  // Does something between a read and the wait write what it reads, or let others know that it has been read?
  static bool isFollowed(Operation *read, simt::DotWaitOp wait) {
    for (Operation *op = read->getNextNode(); op != wait; op = op->getNextNode())
      if (isa<simt::LocalStoreOp, simt::BarrierOp, simt::SignalArriveWarpsOp>(op) || simt::hasBlocks(op))
        return true;
    return false;
  }

  // Loads behind the wait that need no sum start ahead of it, while the product runs: up to the next op that
  // writes, meets other threads or has a region.
  static void loadAheadOf(simt::DotWaitOp wait) {
    SmallVector<LoadOp> loads;
    for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
      if (isPlainLoad(op))
        loads.push_back(cast<LoadOp>(op));
      else if (op->getNumRegions() || (!isMemoryEffectFree(op) && !isa<simt::SignalArriveWarpsOp>(op)))
        break;
    }
    for (LoadOp load : loads) {
      llvm::SetVector<Operation *> needed;
      needed.insert(load);
      bool needsSum = false;
      for (unsigned i = 0; i != needed.size(); ++i)
        for (Value operand : needed[i]->getOperands())
          if (Operation *op = operand.getDefiningOp();
              op && op->getBlock() == wait->getBlock() && !op->isBeforeInBlock(wait)) {
            needsSum |= op == wait.getOperation();
            if (!needsSum)
              needed.insert(op);
          }
      if (needsSum)
        continue;
      SmallVector<Operation *> inOrder(needed.begin(), needed.end());
      llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      for (Operation *op : inOrder)
        op->moveBefore(wait);
    }
  }

  // The groups of one trip are waited for in the next, behind its own; all of them behind the loop.
  void waitBehindLoop(simt::DotAsyncOp started) {
    dot_.getResult().replaceAllUsesWith(started.getResult());
    auto loop = cast<scf::ForOp>(started->getParentOp());
    unsigned index = started.getResult().getUses().begin()->getOperandNumber();
    OpBuilder builder(started->getContext());
    unsigned groups = 0;
    for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
      auto dot = dyn_cast<simt::DotAsyncOp>(op);
      groups += dot && isa<scf::YieldOp>(*dot.getResult().getUsers().begin());
      if (auto wait = dyn_cast<simt::DotWaitOp>(op); wait && wait.getSums().empty())
        wait.erase(); // of the products before this one
    }
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    simt::DotWaitOp::create(builder, started.getLoc(), TypeRange(), ValueRange(), ValueRange(), groups);
    waitAround(loop, index, started);
  }

  // Waits where the loop waits for its first product: groups end in their order. Returns false where it waits
  // for none before it reads the sums.
  bool waitInNextTrip(simt::DotAsyncOp started) {
    auto loop = cast<scf::ForOp>(started->getParentOp());
    auto waits = loop.getBody()->getOps<simt::DotWaitOp>();
    unsigned index = dot_.getResult().getUses().begin()->getOperandNumber();
    Value sum = loop.getRegionIterArg(index);
    if (waits.empty() || (*waits.begin()).getPending() != 0)
      return false;
    simt::DotWaitOp first = *waits.begin();
    for (Operation *user : sum.getUsers())
      if (!first->isBeforeInBlock(loop.getBody()->findAncestorOpInBlock(*user)))
        return false;
    dot_.getResult().replaceAllUsesWith(started.getResult());
    OpBuilder builder(started->getContext());
    builder.setInsertionPointAfter(first);
    auto wait = simt::DotWaitOp::create(builder, started.getLoc(), TypeRange{sum.getType()}, ValueRange{sum},
                                        ValueRange(), 0);
    sum.replaceAllUsesExcept(wait.getResult(0), wait);
    auto firstProduct = first.getSums().front().getDefiningOp<simt::DotAsyncOp>();
    unsigned warps = matrix_.shape().warps;
    // Without a barrier in the trip groups come apart by themselves, and a product may start step by step
    // while the rest of its rows is computed: a turn would last as long.
    bool takeTurns = firstProduct && simt::warpsOf(loop) >= 2 * warps && !loop->hasAttr(simt::signalledName);
    auto [opens, closes] = waitAround(loop, index, started, takeTurns);
    if (takeTurns) {
      if (opens)
        opens->setAttr(simt::opensTurnsName, builder.getI32IntegerAttr(int32_t(warps)));
      closes->setAttr(simt::closesTurnsName, builder.getI32IntegerAttr(int32_t(warps)));
      firstProduct->setAttr(simt::takesTurnName, builder.getUnitAttr());
    }
    return true;
  }

  // A loop that goes on in the buffers of the one before takes over its last product while that runs, as
  // trips do of each other. Either both take turns or none does.
  static bool takeOver(scf::ForOp loop, OpOperand &sum, bool takesTurns) {
    auto behind = sum.get().getDefiningOp<simt::DotWaitOp>();
    if (!loop->hasAttr(simt::goesOnName) || !behind || behind.getSums().size() != 1 ||
        !sum.get().hasOneUse() || !behind.getSums()[0].getDefiningOp<scf::ForOp>() ||
        behind->hasAttr(simt::closesTurnsName) != takesTurns)
      return false;
    sum.set(behind.getSums()[0]);
    behind.erase();
    return true;
  }

  // The op behind a loop, and behind what may happen there while its last products run: scalars, and copies
  // for the next trip of the loop around it.
  static Operation *behindEarly(scf::ForOp loop) {
    auto isOfScalars = [](Operation *op) {
      return op->getNumRegions() == 0 && isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
             llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
    };
    Operation *op = loop->getNextNode();
    while (op->hasAttr(simt::earlyName) || isOfScalars(op))
      op = op->getNextNode();
    return op;
  }

  // Ahead of a loop, unless it takes over, and behind it, for sums that its trips hand on while they run.
  std::pair<Operation *, Operation *> waitAround(scf::ForOp loop, unsigned index, simt::DotAsyncOp started,
                                                 bool takesTurns = false) {
    OpBuilder builder(started->getContext());
    SmallVector<Value> allocs;
    for (Value buffer : buffersOf(started))
      allocs.push_back(simt::allocOf(buffer).getBuffer());
    // The first sums become one definition for the loop and for the way past it: copies of constants on that
    // way would make the assembler let products wait for each other.
    builder.setInsertionPoint(loop);
    OpOperand &first = loop.getInitArgsMutable()[index];
    simt::DotWaitOp ahead;
    if (!takeOver(loop, first, takesTurns)) {
      ahead = simt::DotWaitOp::create(builder, started.getLoc(), TypeRange{dot_.getType()},
                                      ValueRange{first.get()}, ValueRange(), 0);
      if (Operation *made = first.get().getDefiningOp(); made && made->getNumRegions())
        ahead->setAttr(simt::joinsWaysName, builder.getUnitAttr());
      first.set(ahead.getResult(0));
    }
    builder.setInsertionPoint(behindEarly(loop));
    Value sum = loop.getResult(index);
    auto wait = simt::DotWaitOp::create(builder, started.getLoc(), TypeRange{sum.getType()}, ValueRange{sum},
                                        allocs, 0);
    sum.replaceAllUsesExcept(wait.getResult(0), wait);
    return {ahead, wait};
  }

  // The layouts are those of an instruction of one warp, too.
  void takeOneWarp(const char *why) {
    layout::MatrixShape wanted = matrix_.shape();
    Type factors[2] = {elementType(dot_.getA().getType()), elementType(dot_.getB().getType())};
    if (wanted.isSwapped)
      std::swap(factors[0], factors[1]);
    simt::DotTypes types{factors[0], factors[1], elementType(dot_.getType()), dot_.getPrecision()};
    wanted.warps = 1;
    layout::MatrixShape plain = wanted; // as tables have it
    plain.isSwapped = plain.pairsRows = false;
    for (const simt::MatrixInstruction &one : machine_.matrixInstructions(types))
      if (one.shape == plain) {
        dot_->setAttr(simt::matrixName, simt::MatrixAttr::get(dot_.getContext(), one.name, wanted));
        remarks_.push_back(
            {locationText(dot_.getLoc()), "dot", "matrix instruction " + one.name + " of one warp: " + why});
        return;
      }
    assert(false && "each instruction of several warps has one of one warp with the same layouts");
  }

  static void eraseUnused(Value operand) {
    while (Operation *op = operand.getDefiningOp()) {
      if (!isa<TransOp, simt::LocalLoadOp>(op) || !op->use_empty())
        return;
      operand = op->getOperand(0);
      op->erase();
    }
  }

  DotOp dot_;
  simt::MatrixAttr matrix_;
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
};

// A product that only the next one adds to is not waited for between the two: the unit adds in their order.
// The next one's factors are stored meanwhile, elsewhere. (PTX ISA, "wgmma.fence": none is needed between
// instructions of one shape on the same sums.)
void joinProducts(simt::DotWaitOp wait) {
  if (wait.getSums().size() != 1 || wait.getPending() != 0 || !wait.getResult(0).hasOneUse())
    return;
  auto first = wait.getSums()[0].getDefiningOp<simt::DotAsyncOp>();
  auto next = dyn_cast<simt::DotAsyncOp>(*wait.getResult(0).user_begin());
  if (!first || !next || next.getAcc() != wait.getResult(0) || first->getBlock() != next->getBlock() ||
      first.getMatrix() != next.getMatrix() || !first.getABuffer() || first->hasAttr(simt::takesTurnName))
    return;
  auto behind =
      llvm::find_if(next.getResult().getUsers(), [](Operation *user) { return isa<simt::DotWaitOp>(user); });
  if (behind == next.getResult().user_end())
    return;
  for (Operation *op = wait->getNextNode(); op != next; op = op->getNextNode()) {
    auto store = dyn_cast<simt::LocalStoreOp>(op);
    bool isElsewhere = store && llvm::none_of(wait.getBuffers(), [&](Value buffer) {
                         return simt::allocOf(buffer) == simt::allocOf(store.getBuffer());
                       });
    if (!isElsewhere && !isa<simt::AllocOp, simt::LocalLoadOp>(op) && !isMemoryEffectFree(op))
      return;
  }
  auto last = cast<simt::DotWaitOp>(*behind);
  last.getBuffersMutable().append(wait.getBuffers());
  wait.getResult(0).replaceAllUsesWith(first.getResult());
  wait.erase();
}

// Moves a product that reads both factors in shared memory, and what it needs, behind the one before, ahead
// of the copies that stand between: they fill other slots.
void startBehind(simt::DotAsyncOp first, simt::DotAsyncOp next) {
  if (!next.getABuffer())
    return;
  for (Operation *op = first->getNextNode(); op != next; op = op->getNextNode())
    if (!isa<simt::AsyncCopyOp, simt::BulkCopyOp, simt::AsyncCommitOp, simt::SignalArriveOp,
             simt::LocalLoadOp, simt::DotWaitOp>(op) &&
        (op->getNumRegions() || !isMemoryEffectFree(op)))
      return;
  moveBehind(next, first);
}

// A product that nothing reads before the next one starts is waited for behind that: the two run beside each
// other, gates and values of a gated product say. What stands between touches none of its factors.
void startNextAhead(simt::DotWaitOp wait) {
  if (wait.getSums().size() != 1 || wait.getPending() != 0)
    return;
  auto first = wait.getSums()[0].getDefiningOp<simt::DotAsyncOp>();
  if (!first || first->getBlock() != wait->getBlock() || !first.getABuffer() ||
      first->hasAttr(simt::takesTurnName))
    return;
  auto needsIt = [&](Operation *op) { return llvm::is_contained(op->getOperands(), wait.getResult(0)); };
  Operation *op = wait->getNextNode();
  for (; !isa<simt::DotAsyncOp>(op); op = op->getNextNode()) {
    auto store = dyn_cast<simt::LocalStoreOp>(op);
    bool isElsewhere = store && llvm::none_of(wait.getBuffers(), [&](Value buffer) {
                         return simt::allocOf(buffer) == simt::allocOf(store.getBuffer());
                       });
    if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumRegions() || needsIt(op) ||
        (!isElsewhere && !isa<simt::AllocOp, simt::LocalLoadOp>(op) && !isMemoryEffectFree(op)))
      return;
  }
  auto next = cast<simt::DotAsyncOp>(op);
  bool isWaitedFor = llvm::any_of(next.getResult().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<simt::DotWaitOp>(user);
    return other && other.getPending() == 0 && other->getBlock() == next->getBlock();
  });
  if (needsIt(next) || !isWaitedFor || next->hasAttr(simt::takesTurnName))
    return;
  wait->moveAfter(next);
  wait.setPending(1);
  startBehind(first, next);
}

// The assembler lets products wait for each other in a kernel that calls a function, be it on a way that ends
// the launch. Where only the compiler's own checks would call one they go without words.
void avoidCalls(Operation *function) {
  bool runs = false, calls = false;
  SmallVector<AssertOp> checks;
  function->walk([&](Operation *op) {
    runs |= isa<simt::DotAsyncOp>(op);
    calls |= isa<PrintOp>(op);
    if (auto check = dyn_cast<AssertOp>(op)) {
      calls |= !check->hasAttr(ownCheckName);
      checks.push_back(check);
    }
  });
  if (!runs || calls)
    return;
  for (AssertOp check : checks)
    check->setAttr(wordlessName, UnitAttr::get(check.getContext()));
}

} // namespace

void startDots(Operation *function, const simt::Machine &machine, std::vector<diag::Remark> &remarks) {
  SmallVector<DotOp> dots;
  function->walk([&](DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    if (matrix && matrix.getWarps() > 1)
      dots.push_back(dot);
  });
  for (DotOp dot : dots)
    StartDot(dot, machine, remarks).run();
  function->walk([](simt::DotWaitOp wait) { joinProducts(wait); });
  SmallVector<simt::DotWaitOp> waits;
  function->walk([&](simt::DotWaitOp wait) { waits.push_back(wait); });
  for (simt::DotWaitOp wait : waits)
    startNextAhead(wait);
  avoidCalls(function);
}

} // namespace tegula::transforms
