#include "transforms/PipelineLoops.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "ir/simt/Stages.h"
#include "ir/simt/Turns.h"
#include "layout/OperandTile.h"
#include "transforms/BulkCopies.h"
#include "transforms/CopiedElements.h"
#include "transforms/HeldLoads.h"
#include "transforms/OtherLayout.h"
#include "transforms/PlanCopies.h"
#include "transforms/ProductLoops.h"
#include "transforms/Ring.h"
#include "transforms/StartNextTrip.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Warps on a multiprocessor, two for each of its parts, that do not hide what each of them waits for in
// shared memory, and the share of a thread's registers that a loop of products leaves to reads ahead of their
// use.
constexpr unsigned warpsThatWait = 8;
constexpr double heldWithReads = 0.8;

// Does the op leave shared memory alone, and do nothing else that copies could meet?
bool isPlain(Operation *op) {
  return (op->getNumRegions() == 0 || isa<ReduceOp>(op)) && isMemoryEffectFree(op) &&
         simt::scratchBytes(op) == 0;
}

class Pipeline {
public:
  // `before`: of the loop that was the last one to get copies, if there is one. `around`: the loop around
  // this one whose trips may start its first copies early, or null.
  Pipeline(CopyPlan plan, scf::ForOp around, const simt::Machine &machine, std::vector<diag::Remark> &remarks,
           std::optional<Ring> before)
      : plan_(std::move(plan)), loop_(plan_.loop), around_(around), machine_(machine), remarks_(remarks),
        before_(std::move(before)) {}

  std::optional<Ring> run() {
    widenBounds();
    separate();
    insertCopies();
    loadIndicesEarlier();
    return expand();
  }

private:
  // The loop counts in 64 bits: it asks trips ahead whether a trip exists, and that must not overflow.
  void widenBounds() {
    if (!loop_.getInductionVar().getType().isInteger(32))
      return;
    OpBuilder builder(loop_);
    Location loc = loop_.getLoc();
    for (OpOperand *bound :
         {&loop_.getLowerBoundMutable(), &loop_.getUpperBoundMutable(), &loop_.getStepMutable()})
      bound->set(builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), bound->get()));
    Value index = loop_.getInductionVar();
    index.setType(builder.getI64Type());
    builder.setInsertionPointToStart(loop_.getBody());
    auto narrow = arith::TruncIOp::create(builder, loc, builder.getI32Type(), index);
    index.replaceAllUsesExcept(narrow, narrow);
    // Ops that run ahead, and are not in the list yet: their index is narrowed there, too.
    plan_.ahead.insert(narrow);
  }

  // Ops that run ahead have users there alone: others get a copy of their own.
  void separate() {
    SmallVector<Operation *> ops;
    for (Operation &op : *loop_.getBody())
      if (plan_.ahead.contains(&op))
        ops.push_back(&op);
    llvm::DenseSet<Operation *> loads;
    for (CopiedLoad &copied : plan_.copied)
      loads.insert(copied.load);
    auto isAhead = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (plan_.ahead.contains(user) || isa<scf::YieldOp>(user))
        return true;
      return loads.contains(user) && use.getOperandNumber() < 2; // the address and the mask
    };
    for (Operation *op : llvm::reverse(ops)) {
      bool isShared = llvm::any_of(op->getUses(), [&](OpOperand &use) { return !isAhead(use); });
      // A value that a load reads is not read twice: it waits in registers.
      if (!isShared || isa<LoadOp>(op) || isYieldedAhead(op))
        continue;
      OpBuilder builder(op);
      Operation *copy = builder.clone(*op);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        from.replaceUsesWithIf(to, [&](OpOperand &use) { return !isAhead(use); });
    }
  }

  bool isYieldedAhead(Operation *op) const {
    return llvm::any_of(op->getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); });
  }

  void insertCopies() {
    IRRewriter rewriter(loop_.getContext());
    Location loc = loop_.getLoc();
    rewriter.setInsertionPoint(loop_);
    bool handsOn = machine_.hasBulkCopy && plan_.areWide && planBoxes(rewriter);
    if (handsOn)
      around_ = nullptr; // measured: groups of warps that begin together stay together, and lose 3 to 6 %
    makeRing(rewriter, handsOn);
    ArrayRef<Value> buffers = buffers_;
    // The slots that a trip fills and reads, one after the other, and the parity of signals in the latter,
    // then that in the former.
    Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
    Value one = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(1));
    Value count = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(plan_.slots)));
    SmallVector<Operation *> next[2];
    begin_ = before_ ? before_->end : beginAnew(rewriter);
    SmallVector<Value> begins{begin_.slot, begin_.slot};
    if (signals_)
      begins.push_back(begin_.parity);
    if (emptied_)
      begins.push_back(begin_.parity);
    auto replaced = loop_.replaceWithAdditionalYields(
        rewriter, begins, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location at, ArrayRef<BlockArgument> slots) {
          SmallVector<Value> yields;
          Value wraps[2];
          for (unsigned i : {0u, 1u}) {
            Value more = arith::AddIOp::create(builder, at, slots[i], one);
            wraps[i] = arith::CmpIOp::create(builder, at, arith::CmpIPredicate::eq, more, count);
            Value slot = arith::SelectOp::create(builder, at, wraps[i], zero, more);
            next[i] = {more.getDefiningOp(), wraps[i].getDefiningOp(), slot.getDefiningOp()};
            yields.push_back(slot);
          }
          auto flip = [&](Value parity, unsigned i) {
            Value flips = arith::ExtUIOp::create(builder, at, builder.getI32Type(), wraps[i]);
            yields.push_back(arith::XOrIOp::create(builder, at, parity, flips));
            next[i].append({flips.getDefiningOp(), yields.back().getDefiningOp()});
          };
          if (signals_)
            flip(slots[2], 1);
          if (emptied_)
            flip(slots[3], 0);
          return yields;
        });
    loop_ = cast<scf::ForOp>(replaced->getOperation());
    plan_.ahead.insert(next[0].begin(), next[0].end());
    ArrayRef<BlockArgument> own = loop_.getRegionIterArgs().take_back(begins.size());
    Value fill = own[0], read = own[1];

    SmallVector<Value> tokens;
    Operation *last = plan_.copied.back().load; // in the order of the block
    rewriter.setInsertionPoint(last);
    Operation *before = last->getPrevNode();
    SmallVector<Value> views;
    for (auto [copied, buffer] : llvm::zip(plan_.copied, buffers))
      views.push_back(simt::ViewOp::create(rewriter, copied.load.getLoc(), oneSlot(buffer), buffer, fill));
    Value others =
        signals_ ? insertBoxes(rewriter, fill, emptied_ ? Value(own[3]) : Value(), views) : Value();
    for (auto [copied, view] : llvm::zip(plan_.copied, views)) {
      auto box = llvm::find_if(boxes_, [&](auto &plan) { return plan.access.op == copied.load; });
      bool isBox = box != boxes_.end();
      auto inLanes = [&](Value tile) {
        return tile && copied.layout ? computedIn(rewriter, tile, *copied.layout) : tile;
      };
      auto copy = simt::AsyncCopyOp::create(
          rewriter, copied.load.getLoc(), simt::TokenType::get(loop_.getContext()),
          inLanes(copied.load.getPtr()), inLanes(copied.load.getMask()), isBox ? others : Value(), view,
          copied.load.getCache(), copied.load.getEvict());
      copy->setAttr(simt::widthName, rewriter.getI32IntegerAttr(int32_t(copied.width)));
      // It takes twice as long so, but neither registers nor code. Ahead of the loop that hardly counts.
      if (isBox)
        describeElements(rewriter, copy);
      if (isBox && box->isClamped)
        copy->setAttr(simt::atEdgesName, rewriter.getUnitAttr());
      markSignalled(copy);
      tokens.push_back(copy.getToken());
    }
    Value filled = emptied_ ? arith::AddIOp::create(rewriter, loc, fill, zero) : Value();
    for (Operation *op = before ? before->getNextNode() : &loop_.getBody()->front(); op != last;
         op = op->getNextNode())
      plan_.ahead.insert(op);
    rewriter.setInsertionPoint(last);
    auto commit =
        simt::AsyncCommitOp::create(rewriter, loc, simt::TokenType::get(loop_.getContext()), tokens);
    plan_.ahead.insert(commit);
    // Of the groups that were started behind this trip's none need be there.
    wait_ = simt::AsyncWaitOp::create(rewriter, loc, commit.getGroup(), int32_t(plan_.aheadTrips - 1));
    markSignalled(wait_);
    if (emptied_)
      tellOfCopies(rewriter, filled, others);
    if (signals_)
      waitForBoxes(rewriter, read, own[2], buffers);
    for (auto [copied, buffer] : llvm::zip(plan_.copied, buffers))
      readFrom(rewriter, copied.load, buffer, read);
    remarks_.push_back(
        {locationText(loop_.getLoc()), "pipeline",
         std::to_string(plan_.copied.size()) + (plan_.copied.size() == 1 ? " load runs " : " loads run ") +
             std::to_string(plan_.aheadTrips) + (plan_.aheadTrips == 1 ? " trip ahead" : " trips ahead") +
             (plan_.startsCopiesLast ? ", started behind a trip's last read" : "")});
  }

  // The buffers that copies fill, and their signals where there are boxes. Where the loop before has the same
  // ones, and nothing between the two needs shared memory, the loop goes on in them with the slot behind: its
  // first copies need not wait for others' last reads, and signals need not begin anew.
  void makeRing(IRRewriter &rewriter, bool handsOn) {
    SmallVector<Type> types;
    for (CopiedLoad &copied : plan_.copied) {
      auto type = cast<RankedTensorType>(copied.load.getType());
      auto map = simt::SharedAttr::get(loop_.getContext(), copied.map);
      types.push_back(simt::BufferType::get(loop_.getContext(), type.getShape(), type.getElementType(), map,
                                            int64_t(plan_.slots)));
    }
    if (before_ && !goesOn(types, handsOn)) {
      if (fillsAnew(types))
        alike_ = std::move(before_);
      before_.reset();
    }
    if (alike_) {
      buffers_ = alike_->buffers;
      return;
    }
    if (before_) {
      buffers_ = before_->buffers;
      signals_ = before_->signals;
      emptied_ = before_->emptied;
      for (Operation *ending : before_->endings)
        if (isa<simt::SignalEndOp>(ending))
          rewriter.eraseOp(ending);
        else
          markSignalled(ending);
      return;
    }
    for (auto [copied, type] : llvm::zip(plan_.copied, types))
      buffers_.push_back(simt::AllocOp::create(rewriter, copied.load.getLoc(), type, IntegerAttr()));
    if (boxes_.empty())
      return;
    unsigned ofThreads = hasThreadCopies() ? simt::warpsOf(loop_) : 0;
    signals_ = makeSignals(rewriter, handsOn ? simt::warpsOf(loop_) + ofThreads : 1);
    if (handsOn)
      emptied_ = makeSignals(rewriter, simt::warpsOf(loop_));
  }

  // Without signals a loop begins in the buffers of the one before as in its own. They live on anyway where
  // the first copies of the former may start early.
  bool fillsAnew(ArrayRef<Type> types) {
    return boxes_.empty() && !before_->signals && before_->around &&
           before_->loop->getBlock() == loop_->getBlock() &&
           llvm::equal(types, ValueRange(before_->buffers).getTypes());
  }

  // In constants that nothing else reads: a loop around may put the ends of its trips in their place.
  RingPlace beginAnew(IRRewriter &rewriter) {
    Location loc = loop_.getLoc();
    auto zero = [&] { return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0)); };
    return {zero(), zero()};
  }

  // Trips that wait for their products tell of their own slots, others of the slot before: of the last slot
  // of one loop, the next one would tell again.
  bool goesOn(ArrayRef<Type> types, bool handsOn) {
    if (plan_.isWaitedFor || before_->isWaitedFor || before_->loop->getBlock() != loop_->getBlock() ||
        boxes_.empty() || !before_->signals || bool(before_->emptied) != handsOn ||
        before_->aheadTrips != plan_.aheadTrips ||
        !llvm::equal(types, ValueRange(before_->buffers).getTypes()))
      return false;
    for (Operation *op = before_->loop->getNextNode(); op != loop_; op = op->getNextNode())
      if (!isPlain(op) && !llvm::is_contained(before_->endings, op))
        return false;
    return true;
  }

  // Finds the loads that one thread can start as copies of boxes; then there is a signal for each slot. Its
  // result: signals say that slots are empty, too.
  bool planBoxes(IRRewriter &rewriter) {
    std::string why;
    BulkCopies bulk(loop_->getParentOfType<FuncOp>());
    TripValues trips(rewriter, loop_);
    fits_ = simt::CopyMapsOp::create(rewriter, loop_.getLoc(), rewriter.getI1Type());
    for (CopiedLoad &copied : plan_.copied) {
      std::optional<BulkCopies::Plan> plan = bulk.plan(copied.load, copied.map, why);
      auto ahead = plan ? bulk.fitsInAllTrips(rewriter, *plan, trips) : std::nullopt;
      // Asked by all warps in each trip, it takes as long as boxes save in attention.
      if (plan && !ahead && plan_.asksAhead) {
        plan.reset();
        why = "what its bounds ask would be asked in each trip";
      }
      if (!plan) {
        remarks_.push_back(
            {locationText(copied.load.getLoc()), "pipeline", "is copied by all threads: " + why});
        continue;
      }
      boxes_.push_back(*plan);
      asked_.push_back(ahead);
      if (ahead)
        fits_ = rewriter.createOrFold<arith::AndIOp>(copied.load.getLoc(), fits_, ahead->fits);
    }
    if (boxes_.empty())
      return false;
    bool areSignalled = handsSlotsOn();
    if (plan_.last &&
        (!hasLongRows(areSignalled ? machine_.costs.handedColumns : machine_.costs.boxedLastColumns) ||
         (plan_.isWaitedFor && !areSignalled))) {
      boxes_.clear();
      return false;
    }
    if (trips.condition())
      fits_ = rewriter.createOrFold<arith::AndIOp>(loop_.getLoc(), fits_, trips.condition());
    bool isAskedAhead = llvm::all_of(asked_, [](auto &ahead) { return ahead.has_value(); });
    remarks_.push_back({locationText(loop_.getLoc()), "pipeline",
                        std::to_string(boxes_.size()) + (boxes_.size() == 1 ? " load is" : " loads are") +
                            " copied by one thread in boxes, wherever the tile is a window of memory" +
                            (isAskedAhead ? "" : ", which each trip asks")});
    return areSignalled;
  }

  // Do signals hand slots from those who read to those who copy, instead of the barrier of a trip? It pays
  // where groups of warps can come apart, so that one computes while the other's products run. All that the
  // products of the loop read has to come in boxes, where they fit.
  bool handsSlotsOn() {
    unsigned underWay = plan_.isWaitedFor ? 1 : 2; // slots of a trip's products, and of those before
    if (!plan_.last || plan_.slots < plan_.aheadTrips + underWay ||
        (hasThreadCopies() && !(plan_.isWaitedFor && areFactorsBoxes())))
      return false;
    auto matrix = plan_.last->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return simt::warpsOf(loop_) >= 2 * matrix.getWarps();
  }

  // Do all threads copy something even where boxes fit?
  bool hasThreadCopies() const { return boxes_.size() != plan_.copied.size(); }

  // Are both factors of the last product copied in boxes?
  bool areFactorsBoxes() {
    auto isBox = [&](Value factor) {
      while (isa_and_nonnull<TransOp, simt::ConvertOp>(factor.getDefiningOp()))
        factor = factor.getDefiningOp()->getOperand(0);
      return llvm::any_of(boxes_, [&](auto &plan) { return plan.access.op == factor.getDefiningOp(); });
    };
    return isBox(plan_.last.getA()) && isBox(plan_.last.getB());
  }

  // Has an instruction of the last product so many columns?
  bool hasLongRows(unsigned columns) {
    auto matrix = plan_.last->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return layout::columnsTogether(simt::layoutOf(plan_.last.getResult()), matrix.shape()) >= columns;
  }

  // Ahead of the loads that stand ahead of the loop: where threads begin a signal, the assembler waits for
  // all loads that are under way.
  Value makeSignals(IRRewriter &rewriter, unsigned arrivals) {
    OpBuilder::InsertionGuard guard(rewriter);
    for (Operation *op = loop_->getPrevNode(); op && !simt::hasBlocks(op); op = op->getPrevNode())
      if (isa<LoadOp>(op))
        rewriter.setInsertionPoint(op);
    // An element more than the signal: slots begin at multiples of 16 bytes.
    auto map = simt::SharedAttr::get(loop_.getContext(), layout::linearMap(1));
    auto type =
        simt::BufferType::get(loop_.getContext(), {2}, rewriter.getI64Type(), map, int64_t(plan_.slots));
    Value signals = simt::AllocOp::create(rewriter, loop_.getLoc(), type, IntegerAttr());
    simt::SignalInitOp::create(rewriter, loop_.getLoc(), signals, arrivals);
    return signals;
  }

  // Of an op in the loop, where signals order it.
  void markSignalled(Operation *op) {
    if (emptied_)
      op->setAttr(simt::signalledName, UnitAttr::get(op->getContext()));
  }

  // The copies of a trip that all threads have made are there: a trip earlier than they are read. Products
  // read those alone that stand in for boxes.
  void tellOfCopies(IRRewriter &rewriter, Value slot, Value byAll) {
    Location loc = loop_.getLoc();
    auto signal = simt::ViewOp::create(rewriter, loc, oneSlot(signals_), signals_, slot);
    auto tell = [&](Value predicate, bool fence) {
      tells_.push_back(simt::SignalArriveWarpsOp::create(rewriter, loc, signal, predicate, fence));
    };
    tells_ = {signal};
    tell(byAll, true);
    if (!hasThreadCopies())
      return;
    Value yes = arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    Value fits = arith::XOrIOp::create(rewriter, loc, byAll, yes);
    tells_.append({yes.getDefiningOp(), fits.getDefiningOp()});
    tell(fits, false);
  }

  // Behind its first product a trip has waited for the last one of the trip before, whose slot is empty then;
  // behind a product that it waits for itself the slot of that one is.
  void tellOfReads() {
    OpBuilder rewriter(plan_.first->getContext());
    if (plan_.isWaitedFor) {
      rewriter.setInsertionPointAfter(lastReader());
      Value read = loop_.getRegionIterArgs().take_back(3)[0];
      auto signal = simt::ViewOp::create(rewriter, loop_.getLoc(), oneSlot(emptied_), emptied_, read);
      simt::SignalArriveWarpsOp::create(rewriter, loop_.getLoc(), signal, Value(), false);
      return;
    }
    rewriter.setInsertionPointAfter(plan_.first);
    Location loc = loop_.getLoc();
    Value read = loop_.getRegionIterArgs().take_back(3)[0];
    auto constant = [&](unsigned number) {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(number)));
    };
    Value wraps = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, read, constant(0));
    Value behind = arith::SelectOp::create(rewriter, loc, wraps, constant(plan_.slots), read);
    Value before = arith::SubIOp::create(rewriter, loc, behind, constant(1));
    Value isThere = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, loop_.getInductionVar(),
                                          loop_.getLowerBound());
    if (before_)
      isThere = arith::OrIOp::create(rewriter, loc, isThere, before_->isUsed);
    auto signal = simt::ViewOp::create(rewriter, loc, oneSlot(emptied_), emptied_, before);
    simt::SignalArriveWarpsOp::create(rewriter, loc, signal, isThere, false);
  }

  // Starts the copies of boxes of a trip; its result: they are to be made by all threads instead. `parity`:
  // of the slots' phases, where signals say that they are empty: who copies waits for the end of the phase
  // before.
  Value insertBoxes(IRRewriter &rewriter, Value fill, Value parity, ArrayRef<Value> views) {
    Location loc = loop_.getLoc();
    Value fits = fits_;
    SmallVector<BulkCopies::Place> places;
    uint64_t bytes = 0;
    BulkCopies bulk(loop_->getParentOfType<FuncOp>()); // the loop has other arguments since they were planned
    for (auto [plan, ahead] : llvm::zip(boxes_, asked_)) {
      places.push_back(bulk.locate(rewriter, plan, ahead, fits));
      bytes += uint64_t(plan.map.columns) * plan.map.rows * plan.map.elementBytes;
    }
    Value all = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(bytes)));
    Value yes = arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    Value byAll = arith::XOrIOp::create(rewriter, loc, fits, yes);
    Value signal = simt::ViewOp::create(rewriter, loc, oneSlot(signals_), signals_, fill);
    auto announced = [&]() -> Value {
      Value none = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
      return arith::SelectOp::create(rewriter, loc, fits, all, none);
    };
    unsigned warp = 0;
    if (emptied_) {
      warp = simt::warpsOf(loop_) - plan_.last->getAttrOfType<simt::MatrixAttr>(simt::matrixName).getWarps();
      Value one = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(1));
      Value before = arith::XOrIOp::create(rewriter, loc, parity, one);
      Value slot = simt::ViewOp::create(rewriter, loc, oneSlot(emptied_), emptied_, fill);
      auto wait = [&](Value predicate, IntegerAttr which) {
        markSignalled(
            simt::SignalWaitOp::create(rewriter, loc, slot, before, predicate, ValueRange(), which));
      };
      if (hasThreadCopies()) {
        wait(Value(), IntegerAttr());
        simt::SignalArriveOp::create(rewriter, loc, signal, announced(), Value(), simt::warpsOf(loop_), warp);
      } else {
        wait(byAll, IntegerAttr());
        wait(fits, rewriter.getI32IntegerAttr(int32_t(warp)));
        simt::SignalArriveOp::create(rewriter, loc, signal, all, fits, simt::warpsOf(loop_), warp);
      }
    } else {
      simt::SignalArriveOp::create(rewriter, loc, signal, announced(), Value());
    }
    auto module = loop_->getParentOfType<ModuleOp>();
    for (auto [plan, place] : llvm::zip(boxes_, places))
      for (auto [copied, view] : llvm::zip(plan_.copied, views))
        if (plan.access.op == copied.load)
          markSignalled(simt::BulkCopyOp::create(rewriter, copied.load.getLoc(), copied.load.getPtr(),
                                                 place.column, place.row, place.origin, fits, view, signal,
                                                 int32_t(simt::addCopyMap(module, plan.map)), warp));
    return byAll;
  }

  // Ahead of the wait for the other copies.
  void waitForBoxes(IRRewriter &rewriter, Value read, Value parity, ArrayRef<Value> buffers) {
    rewriter.setInsertionPoint(wait_);
    auto signal = simt::ViewOp::create(rewriter, loop_.getLoc(), oneSlot(signals_), signals_, read);
    auto wait =
        simt::SignalWaitOp::create(rewriter, loop_.getLoc(), signal, parity, Value(), buffers, IntegerAttr());
    waits_ = {signal, wait};
  }

  static simt::BufferType oneSlot(Value buffer) {
    auto type = cast<simt::BufferType>(buffer.getType());
    return simt::BufferType::get(type.getContext(), type.getShape(), type.getElementType(), type.getMap(), 1);
  }

  // Small loads that others ahead take their addresses from, as entries of a table of pages, begin one trip
  // ahead of these, which else would wait for them in each trip. Signals and loops around know of one number
  // of trips only.
  void loadIndicesEarlier() {
    if (signals_ || around_)
      return;
    for (LoadOp load : loop_.getBody()->getOps<LoadOp>()) {
      llvm::SetVector<Operation *> needed;
      if (plan_.ahead.contains(load) && !load->use_empty() &&
          registersOfLoaded(load) <= machine_.costs.heldAhead &&
          llvm::all_of(load->getUsers(),
                       [&](Operation *user) { return plan_.ahead.contains(inTrip(user)); }) &&
          findNeeded(load, needed)) {
        early_.insert(needed.begin(), needed.end());
        early_.insert(load);
      }
    }
    // Others get a copy of the ops that these need, but of those which a trip hands on.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop_.getBody()))) {
      auto isOther = [&](OpOperand &use) { return !early_.contains(inTrip(use.getOwner())); };
      if (!early_.contains(&op) || isa<LoadOp>(op) || isYieldedAhead(&op) ||
          llvm::none_of(op.getUses(), isOther))
        continue;
      OpBuilder builder(&op);
      Operation *copy = builder.clone(op);
      plan_.ahead.insert(copy);
      for (auto [from, to] : llvm::zip(op.getResults(), copy->getResults()))
        from.replaceUsesWithIf(to, isOther);
    }
  }

  Operation *inTrip(Operation *op) { return loop_.getBody()->findAncestorOpInBlock(*op); }

  static unsigned registersOfLoaded(LoadOp load) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    return tile ? simt::registersOf(tile) : 1;
  }

  // Collects the ops of the loop that the address and the mask of a load come from. False: there is another
  // load among them, or a tile that trips hand on.
  bool findNeeded(LoadOp load, llvm::SetVector<Operation *> &needed) {
    SmallVector<Value> work(load->getOperands());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value);
          argument && argument.getOwner() == loop_.getBody() && argument != loop_.getInductionVar()) {
        if (isTile(value))
          return false;
        value = loop_.getYieldedValues()[argument.getArgNumber() - 1];
      }
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != loop_.getBody() || needed.contains(op))
        continue;
      if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) || simt::scratchBytes(op) != 0)
        return false;
      needed.insert(op);
      llvm::append_range(work, op->getOperands());
    }
    return true;
  }

  // The load's users read the slot, each in its own layout. Loads before the wait move behind it.
  void readFrom(IRRewriter &rewriter, LoadOp load, Value buffer, Value slot) {
    Location at = load.getLoc();
    rewriter.setInsertionPointAfter(load->isBeforeInBlock(wait_) ? wait_.getOperation()
                                                                 : load.getOperation());
    auto view = simt::ViewOp::create(rewriter, at, oneSlot(buffer), buffer, slot);
    for (simt::ConvertOp convert : convertsFromCopies(load)) {
      rewriter.setInsertionPointAfter(view);
      reads_.push_back(
          rewriter.replaceOpWithNewOp<simt::LocalLoadOp>(convert, convert.getResult().getType(), view));
    }
    if (!load->use_empty()) {
      rewriter.setInsertionPointAfter(view);
      auto whole = simt::LocalLoadOp::create(rewriter, at, load.getType(), view);
      rewriter.replaceAllUsesWith(load.getResult(), whole);
    }
    rewriter.eraseOp(load);
  }

  // Until a slot is read nothing takes registers, and it stays until the next trip's barrier, or until the
  // trip says that it is empty. So what was loaded behind other products is read behind these: ahead of its
  // first user, or right behind the last of them where that pays.
  void readLate() {
    if (plan_.isWaitedFor)
      return;
    for (Operation *read : reads_) {
      for (Operation *user : read->getUsers())
        if (isa<TransOp>(user))
          if (Operation *there = firstUser(user); user->isBeforeInBlock(there))
            user->moveBefore(there);
      Operation *user = firstUser(read), *product = lastProductAhead(user);
      if (!read->isBeforeInBlock(user))
        continue;
      if (product && read->isBeforeInBlock(product) && paysToReadAhead(read))
        read->moveAfter(product);
      else
        read->moveBefore(user);
    }
  }

  Operation *lastProductAhead(Operation *op) {
    Operation *last = nullptr;
    for (DotOp dot : loop_.getBody()->getOps<DotOp>())
      if (dot->isBeforeInBlock(op))
        last = dot;
    return last;
  }

  // Does a read gain by a start as soon as its product may be the next one? Where few warps run, none
  // computes while another waits for shared memory, and registers are there for it.
  bool paysToReadAhead(Operation *read) {
    unsigned warps = simt::warpsOf(read);
    uint64_t bytes = 0;
    read->getParentOfType<FuncOp>().walk(
        [&](simt::AllocOp alloc) { bytes += alloc.getBuffer().getType().bytes(); });
    return warps * machine_.programs(warps, 1, bytes) <= warpsThatWait &&
           std::max(heldByProducts(loop_), mostHeldInTrip(loop_)) +
                   simt::registersOf(read->getResult(0).getType()) <=
               machine_.registersOfThread(warps) * heldWithReads;
  }

  Operation *firstUser(Operation *op) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *here = loop_.getBody()->findAncestorOpInBlock(*user);
      if (!first || here->isBeforeInBlock(first))
        first = here;
    }
    return first ? first : op;
  }

  // The last op of the trip that reads a slot, itself or as a product.
  Operation *lastReader() {
    Operation *last = nullptr;
    loop_.getBody()->walk([&](Operation *op) {
      if (isa<DotOp, simt::LocalLoadOp>(op)) {
        Operation *here = loop_.getBody()->findAncestorOpInBlock(*op);
        if (!last || last->isBeforeInBlock(here))
          last = here;
      }
    });
    return last;
  }

  std::optional<Ring> expand() {
    // Users of a load that stood between the copies and the wait come behind it, in their order.
    restoreOrder();
    readLate();
    if (emptied_)
      tellOfReads();
    scf::PipeliningOption options;
    options.supportDynamicLoops = true;
    options.peelEpilogue = false;
    options.predicateFn = [](RewriterBase &rewriter, Operation *op, Value predicate) {
      return runUnder(rewriter, op, predicate);
    };
    options.getScheduleFn = [&](scf::ForOp loop, std::vector<std::pair<Operation *, unsigned>> &schedule) {
      unsigned ahead = early_.empty() ? 0 : 1, last = ahead + plan_.aheadTrips; // stages
      for (Operation *wait : waits_)
        schedule.push_back({wait, last});
      if (!emptied_)
        schedule.push_back({wait_, last});
      bool isProductFirst = plan_.startsDotsFirst && signals_ && !emptied_;
      Operation *lastRead = plan_.startsCopiesLast ? lastReader() : nullptr;
      bool areCopiesFirst = !emptied_ && !isProductFirst && !lastRead;
      // Behind the first product they may need what is computed there.
      bool areOrdered = plan_.aheadTrips > 1 || areCopiesFirst;
      HeldLoads held(loop, plan_.ahead, areOrdered ? plan_.held : std::vector<LoadOp>(), plan_.aheadTrips);
      auto scheduleAhead = [&] {
        for (Operation &op : loop.getBody()->without_terminator())
          if (plan_.ahead.contains(&op) && !held.contains(&op) && !early_.contains(&op))
            schedule.push_back({&op, ahead});
        // Behind what reads those of the trip before.
        for (Operation &op : loop.getBody()->without_terminator())
          if (early_.contains(&op))
            schedule.push_back({&op, 0});
      };
      if (areCopiesFirst)
        scheduleAhead();
      for (Operation &op : loop.getBody()->without_terminator()) {
        if (!plan_.ahead.contains(&op) && &op != wait_ && !llvm::is_contained(waits_, &op) &&
            !llvm::is_contained(tells_, &op))
          schedule.push_back({&op, last});
        for (Operation *begun : held.behind(&op))
          schedule.push_back({begun, last - 1});
        // The product runs meanwhile.
        if ((emptied_ && &op == plan_.first) || &op == lastRead)
          scheduleAhead();
        // The copies of threads are waited for while the last product of the trip runs.
        if (emptied_ && &op == plan_.last) {
          schedule.push_back({wait_, last - 1});
          for (Operation *tell : tells_)
            schedule.push_back({tell, last - 1});
        }
      }
      if (isProductFirst)
        scheduleAhead();
    };
    IRRewriter rewriter(loop_.getContext());
    rewriter.setInsertionPointAfter(loop_);
    Ring ring{{}, buffers_, signals_, emptied_,         {}, {}, plan_.aheadTrips, {},
              {}, around_,  begin_,   plan_.isWaitedFor};
    if (signals_) {
      // Through ops of their own: the loop that has these results is about to become another one.
      Value none = arith::ConstantOp::create(rewriter, loop_.getLoc(), rewriter.getI32IntegerAttr(0));
      auto own = loop_.getResults().take_back(emptied_ ? 4 : 3);
      ring.end.slot = arith::AddIOp::create(rewriter, loop_.getLoc(), own[1], none);
      ring.end.parity = arith::AddIOp::create(rewriter, loop_.getLoc(), own[2], none);
    }
    rewriter.setInsertionPoint(loop_);
    ring.isUsed = arith::CmpIOp::create(rewriter, loop_.getLoc(), arith::CmpIPredicate::slt,
                                        loop_.getLowerBound(), loop_.getUpperBound());
    if (before_)
      ring.isUsed = arith::OrIOp::create(rewriter, loop_.getLoc(), ring.isUsed, before_->isUsed);
    loop_->removeAttr(simt::stagesName);
    FailureOr<scf::ForOp> made = scf::pipelineForLoop(rewriter, loop_, options);
    rewriter.setInsertionPointAfter(failed(made) ? loop_ : *made);
    for (Value signals : {emptied_, signals_})
      if (signals) {
        ring.endings.push_back(simt::SignalEndOp::create(rewriter, signals.getLoc(), signals));
        rewriter.setInsertionPoint(ring.endings.back());
      }
    if (failed(made)) { // the copies then happen in their own trip
      wait_.setPending(0);
      return std::nullopt;
    }
    if (emptied_)
      finishSignalled(*made);
    if ((!emptied_ || plan_.isWaitedFor) && !plan_.lacksRegisters)
      copyByTiles(*made);
    if (before_)
      askAhead(before_->loop, *made);
    // Nothing is under way when the memory serves others.
    simt::AsyncCommitOp rest = simt::AsyncCommitOp::create(
        rewriter, made->getLoc(), simt::TokenType::get(made->getContext()), ValueRange());
    ring.endings.push_back(rest);
    ring.endings.push_back(simt::AsyncWaitOp::create(rewriter, made->getLoc(), rest.getGroup(), 0));
    ring.loop = ring.first = *made;
    if (const std::optional<Ring> &earlier = before_ ? before_ : alike_) {
      ring.first = earlier->first;
      ring.around = earlier->around;
      ring.begin = earlier->begin;
    }
    return ring;
  }

  // Copies ahead of the loop fill slots for the first time, and barriers order them; unless a loop before has
  // used these slots.
  void finishSignalled(scf::ForOp made) {
    made->setAttr(simt::signalledName, UnitAttr::get(made.getContext()));
    if (before_)
      return;
    Operation *next = nullptr;
    for (Operation *op = made->getPrevNode(); op && !isa<scf::ForOp>(op); op = next) {
      next = op->getPrevNode();
      if (op->hasAttr(simt::signalledName) && isa<simt::SignalWaitOp>(op))
        op->erase();
      else
        op->removeAttr(simt::signalledName);
    }
  }

  // Of the copies that stand in for boxes those of the trips are as fast as can be, unless groups of warps
  // compute beside each other: there they would take registers that these want. In a loop over tiles what
  // they need would be computed for each tile, and held beside its sums. Not where tiles at an edge have no
  // box: copies by elements are slow, and all wait for the program whose tile it is.
  void copyByTiles(scf::ForOp made) {
    bool isOfTiles = isa<scf::ForOp>(made->getParentOp()) && !plan_.isWaitedFor;
    made.getBody()->walk([&](simt::AsyncCopyOp copy) {
      auto width = unsigned(copy->getAttrOfType<IntegerAttr>(simt::widthName).getInt());
      Type element = copy.getBuffer().getType().getElementType();
      if (!isOfTiles || copy->hasAttr(simt::atEdgesName) ||
          width * simt::storedBits(element) < machine_.accessBits)
        copy.getElement().getBlocks().clear();
    });
  }

  // Numbers that the first copies of a loop which goes on need are computed ahead of the loop before it:
  // between the two the tensor cores would wait for them.
  static void askAhead(scf::ForOp before, scf::ForOp made) {
    made->setAttr(simt::goesOnName, UnitAttr::get(made.getContext()));
    auto isNumber = [](Type type) { return type.isIntOrIndex(); };
    auto isEarlier = [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      return !op || op->getBlock() != before->getBlock() || op->isBeforeInBlock(before);
    };
    for (Operation *op = before->getNextNode(), *next = nullptr; op != made; op = next) {
      next = op->getNextNode();
      if (isPlain(op) && llvm::all_of(op->getResultTypes(), isNumber) &&
          llvm::all_of(op->getOperands(), isEarlier))
        op->moveBefore(before);
    }
  }

  // Moves what depends on the wait behind it: through values, or since it must not overtake what was moved. A
  // program reads what it stored before, and stores behind what it read. Ops that run ahead meet no store of
  // the loop (PlanCopies). Of a product that runs into the next trip, what reads the sum stays behind that
  // trip's first product, as it was planned.
  void restoreOrder() {
    llvm::DenseSet<Operation *> behind;
    SmallVector<Operation *> moved;
    bool hasEffect = false, writes = false; // of what was moved
    Value sum = sumUnderWay();
    for (Operation &op : llvm::make_early_inc_range(*loop_.getBody())) {
      if (&op == wait_)
        break;
      bool isOrdered = !plan_.ahead.contains(&op) && !llvm::is_contained(waits_, &op) &&
                       !llvm::is_contained(tells_, &op) && !isa<simt::LocalLoadOp>(op) &&
                       !isMemoryEffectFree(&op);
      bool mayWrite = isOrdered && !isa<LoadOp>(op);
      bool depends = isOrdered && (writes || (mayWrite && hasEffect));
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (sum && operand == sum)
            depends = true;
          else if (Operation *def = operand.getDefiningOp())
            depends |= behind.contains(def) ||
                       (def->getBlock() == loop_.getBody() && !def->isBeforeInBlock(wait_) && def != wait_);
      });
      if (depends) {
        behind.insert(&op);
        moved.push_back(&op);
        hasEffect |= isOrdered;
        writes |= mayWrite;
      }
    }
    // Behind the reads that they depend on, which stand directly behind the wait.
    Operation *after = wait_;
    while (isa<simt::ViewOp, simt::LocalLoadOp>(after->getNextNode()))
      after = after->getNextNode();
    for (Operation *op : moved) {
      op->moveAfter(after);
      after = op;
    }
  }

  // Returns the sum that a trip receives from the product under way. Null: there is none.
  Value sumUnderWay() {
    if (!plan_.last || plan_.isWaitedFor)
      return Value();
    for (OpOperand &use : plan_.last.getResult().getUses())
      if (isa<scf::YieldOp>(use.getOwner()))
        return loop_.getRegionIterArg(use.getOperandNumber());
    return Value();
  }

  CopyPlan plan_;
  scf::ForOp loop_; // as rewritten so far
  scf::ForOp around_;
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
  std::optional<Ring> before_; // in which this loop goes on, once it is known that it does
  std::optional<Ring> alike_;  // the same, but this loop begins anew in its buffers
  RingPlace begin_;
  llvm::SetVector<Operation *> early_; // that run a trip ahead of `plan_.ahead`
  simt::AsyncWaitOp wait_;
  SmallVector<Operation *> reads_; // of slots, in the layout in which a product takes them
  SmallVector<Value> buffers_;
  SmallVector<BulkCopies::Plan> boxes_;                 // loads that may be copies of boxes
  SmallVector<std::optional<BulkCopies::Ahead>> asked_; // of each of them
  Value fits_;                                          // what was asked ahead of the loop
  Value signals_;                  // of the slots, that they are filled; null: there are none
  Value emptied_;                  // that they are empty; null: a barrier says so in each trip
  SmallVector<Operation *> waits_; // for a signal, and its slot
  SmallVector<Operation *> tells_; // that copies of all threads are there, and its slot
};

} // namespace

void pipelineLoops(Operation *function, unsigned stages, const simt::Machine &machine,
                   std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  std::vector<Ring> rings; // as the last loops in them leave them
  std::optional<Ring> ring;
  for (scf::ForOp loop : loops) {
    std::optional<CopyPlan> plan = planCopies(loop, simt::stagesOf(loop, stages), machine, remarks);
    if (!plan)
      continue;
    scf::ForOp around = loopThatMayStartEarly(*plan, remarks);
    ring = Pipeline(std::move(*plan), around, machine, remarks, std::move(ring)).run();
    if (!ring)
      continue;
    if (ring->first != ring->loop)
      rings.pop_back(); // it went on
    rings.push_back(*ring);
  }
  for (Ring &each : rings) {
    auto isBeside = [&](Ring &other) {
      return other.first != each.first && each.around->isAncestor(other.loop);
    };
    if (each.around && llvm::none_of(rings, isBeside))
      startNextTrip(each, machine, remarks);
  }
}

} // namespace tegula::transforms
