#include "transforms/StartNextTrip.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Turns.h"
#include "transforms/EarlyOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned leastCarried = 6, mostCarried = 8; // instructions; registers of a tile
constexpr unsigned mostHeld = 32;                     // registers, of what a trip loads for the next one

// Starts a copy, or belongs to those that do?
bool isOfCopies(Operation *op) {
  return isa<simt::AsyncCopyOp, simt::BulkCopyOp, simt::AsyncCommitOp, simt::AsyncWaitOp,
             simt::SignalArriveOp, simt::SignalArriveWarpsOp, simt::SignalWaitOp>(op);
}

class NextTrip {
public:
  NextTrip(const Ring &ring, const simt::Machine &machine, std::vector<diag::Remark> &remarks)
      : ring_(ring), around_(ring.around), needed_(ring.around), machine_(machine), remarks_(remarks) {}

  void run() {
    if (!findNeeded())
      return;
    if (!makeRoom(ring_, machine_))
      return remarkNoEarlyStart(around_, "shared memory has no room for its buffers beside all that it does",
                                remarks_);
    handOn();
    separate();
    widenBounds();
    markEarly();
    if (scf::ForOp made = expand())
      beginAnew(made);
  }

private:
  Block *body() { return around_.getBody(); }

  // Does one of the ops read it, itself or in its regions?
  bool isNeededBy(OpOperand &use) {
    Operation *here = body()->findAncestorOpInBlock(*use.getOwner());
    return here && needed_.contains(here);
  }

  // Finds the ops that start the first copies, and all that these need.
  bool findNeeded() {
    scf::ForOp first = ring_.first;
    if (first->getBlock() != body() || ring_.loop->getBlock() != body())
      return false;
    for (Operation *op = &body()->front(); op != first; op = op->getNextNode())
      if (isOfCopies(op))
        needed_.add(op);
    if (needed_.ops().empty())
      return false;
    const char *why = needed_.find();
    if (why)
      remarkNoEarlyStart(around_, why, remarks_);
    else
      addLoads();
    return !why;
  }

  // Small tiles that the trip loads ahead of its products come early, too: the first product waits for them.
  void addLoads() {
    StoresOf stores(around_);
    unsigned held = 0;
    for (Operation *op = &body()->front(); op != ring_.first; op = op->getNextNode()) {
      auto load = dyn_cast<LoadOp>(op);
      if (!load || needed_.contains(op) || stores.mayReach(load))
        continue;
      unsigned registers = std::max(simt::registersOf(load.getType()), 1u);
      EarlyOps with = needed_;
      with.add(op);
      if (held + registers > mostHeld || with.find())
        continue;
      held += registers;
      needed_ = std::move(with);
    }
  }

  // The buffers and their signals outlive a trip, and the next one goes on behind its last slot.
  void handOn() {
    for (Value buffer : ring_.buffers)
      buffer.getDefiningOp()->moveBefore(around_);
    if (!ring_.signals)
      return;
    ring_.signals.getDefiningOp()->moveBefore(around_);
    for (Operation *user : ring_.signals.getUsers())
      if (isa<simt::SignalInitOp>(user))
        user->moveBefore(around_);
    for (Operation *ending : ring_.endings)
      if (isa<simt::SignalEndOp>(ending))
        ending->moveAfter(around_);
    llvm::erase_if(ring_.endings, llvm::IsaPred<simt::SignalEndOp>);
    IRRewriter rewriter(around_);
    Value zero = arith::ConstantOp::create(rewriter, around_.getLoc(), rewriter.getI32IntegerAttr(0));
    auto replaced = around_.replaceWithAdditionalYields(
        rewriter, ValueRange{zero, zero}, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument> places) {
          ring_.begin.slot.replaceAllUsesWith(places[0]);
          ring_.begin.parity.replaceAllUsesWith(places[1]);
          return SmallVector<Value>{ring_.end.slot, ring_.end.parity};
        });
    around_ = cast<scf::ForOp>(replaced->getOperation());
  }

  // A value that the trip itself needs of that is carried to it where it took long to compute, and computed
  // again elsewhere: tiles would take registers that the ops behind the products want.
  void separate() {
    auto isEarly = [&](OpOperand &use) { return isNeededBy(use); };
    llvm::DenseMap<Operation *, unsigned> costs;
    for (Operation &op : *body())
      if (needed_.contains(&op))
        costs[&op] = costOf(op, costs);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body()))) {
      if (!needed_.contains(&op) || !isMemoryEffectFree(&op) || llvm::all_of(op.getUses(), isEarly) ||
          isCarried(op, costs[&op]))
        continue;
      OpBuilder builder(&op);
      Operation *copy = builder.clone(op);
      for (auto [from, to] : llvm::zip(op.getResults(), copy->getResults()))
        from.replaceUsesWithIf(to, [&](OpOperand &use) { return !isEarly(use); });
    }
  }

  static bool isCarried(Operation &op, unsigned cost) {
    for (Type type : op.getResultTypes())
      if (isa<RankedTensorType>(type) && (!isQuotient(op) || simt::registersOf(type) > mostCarried))
        return false;
    return cost > leastCarried;
  }

  static bool isQuotient(Operation &op) {
    return isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(op);
  }

  // Instructions that it would take to compute the op again, about. `costs`: of what stands ahead of it.
  static unsigned costOf(Operation &op, const llvm::DenseMap<Operation *, unsigned> &costs) {
    unsigned cost = isQuotient(op) ? 20 : op.hasTrait<OpTrait::ConstantLike>() ? 0 : 1;
    for (Value operand : op.getOperands())
      if (Operation *from = operand.getDefiningOp())
        cost = std::min(cost + costs.lookup(from), 1000u);
    return cost;
  }

  // It asks whether there is a next trip: that must not overflow.
  void widenBounds() {
    Value index = around_.getInductionVar();
    if (!index.getType().isInteger(32))
      return;
    OpBuilder builder(around_);
    Location loc = around_.getLoc();
    for (OpOperand *bound :
         {&around_.getLowerBoundMutable(), &around_.getUpperBoundMutable(), &around_.getStepMutable()})
      bound->set(builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), bound->get()));
    index.setType(builder.getI64Type());
    builder.setInsertionPointToStart(body());
    auto early = arith::TruncIOp::create(builder, loc, builder.getI32Type(), index);
    auto late = arith::TruncIOp::create(builder, loc, builder.getI32Type(), index);
    index.replaceUsesWithIf(early, [&](OpOperand &use) { return isNeededBy(use); });
    index.replaceUsesWithIf(late, [&](OpOperand &use) {
      return use.getOwner() != early && use.getOwner() != late && use.get() == index;
    });
    needed_.add(early.getOperation());
  }

  // Behind the last slot of the loops the copies meet nobody: there they would fill slots whose readers all
  // threads have left when they met in the last trip. Without signals a loop begins with the first slot.
  void markEarly() {
    if (!ring_.signals)
      return;
    auto mark = [](Operation *op) { op->setAttr(simt::earlyName, UnitAttr::get(op->getContext())); };
    for (Operation &op : *body())
      if (needed_.contains(&op) || llvm::is_contained(ring_.endings, &op))
        mark(&op);
  }

  // The first trip's copies fill slots for the first time: barriers order them.
  static void beginAnew(scf::ForOp made) {
    for (Operation *op = made->getPrevNode(); op; op = op->getPrevNode())
      op->removeAttr(simt::earlyName);
  }

  // Scalars of what comes early, and of what stands behind the products, that these do not decide: they are
  // computed while the last ones run.
  void findBeside() {
    auto isThere = [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return !isa<RankedTensorType>(operand.getType()) &&
             (!from || from->getBlock() != body() || beside_.contains(from) ||
              (!needed_.contains(from) && !ring_.loop->isBeforeInBlock(from)));
    };
    for (Operation &op : body()->without_terminator())
      if ((needed_.contains(&op) || ring_.loop->isBeforeInBlock(&op)) && op.getNumRegions() == 0 &&
          isMemoryEffectFree(&op) && llvm::all_of(op.getOperands(), isThere) &&
          llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
        beside_.insert(&op);
  }

  // To say where copies begin takes longer than the last products run. Such numbers are computed two trips
  // ahead, behind the copies of the next trip, where neither the ring's place nor what the trip does decides
  // them.
  void findNumbers() {
    for (Operation *op : beside_)
      if (needed_.contains(op) &&
          llvm::all_of(op->getResultTypes(), [](Type type) { return type.isInteger(); }))
        numbers_.insert(op);
    auto isKnown = [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && argument.getOwner() == body() && argument != around_.getInductionVar())
        operand = around_.getYieldedValues()[argument.getArgNumber() - 1];
      Operation *from = operand.getDefiningOp();
      return !from || from->getBlock() != body() || numbers_.contains(from);
    };
    for (bool changes = true; changes;) {
      changes = false;
      for (Operation &op : body()->without_terminator())
        if (numbers_.contains(&op) && !llvm::all_of(op.getOperands(), isKnown)) {
          numbers_.erase(&op);
          changes = true;
        }
    }
  }

  // Stages are trips: numbers are computed two of them ahead, copies start one ahead.
  void schedule(std::vector<std::pair<Operation *, unsigned>> &schedule) {
    Operation *last = ring_.loop; // that has to stand ahead of the next trip's copies
    SmallVector<Operation *> ends(ring_.endings);
    for (Value end : {ring_.end.slot, ring_.end.parity})
      if (end)
        ends.push_back(end.getDefiningOp());
    for (Operation *op : ends)
      if (op->getBlock() == body() && last->isBeforeInBlock(op))
        last = op;
    auto isBeside = [&](Operation &op) { return beside_.contains(&op); };
    auto isNumber = [&](Operation &op) { return numbers_.contains(&op); };
    auto append = [&](bool isEarly, auto isWanted) {
      for (Operation &op : body()->without_terminator())
        if (needed_.contains(&op) == isEarly && isWanted(op))
          schedule.push_back({&op, !isEarly ? 2 : isNumber(op) ? 0 : 1});
    };
    // The ops that end the products, and the scalars that these need.
    llvm::DenseSet<Operation *> ending(ends.begin(), ends.end());
    for (Operation &op : llvm::reverse(body()->without_terminator())) {
      bool isNeeded = isBeside(op) && llvm::any_of(op.getUsers(), [&](Operation *user) {
                        return ending.contains(body()->findAncestorOpInBlock(*user));
                      });
      if (isNeeded || (!needed_.contains(&op) && !isBeside(op) && ring_.loop->isBeforeInBlock(&op) &&
                       !last->isBeforeInBlock(&op)))
        ending.insert(&op);
    }
    auto isEnding = [&](Operation &op) { return ending.contains(&op); };
    append(false, [&](Operation &op) { return !ring_.loop->isBeforeInBlock(&op); });
    append(false, [&](Operation &op) { return isBeside(op) && isEnding(op); });
    append(true, [&](Operation &op) { return isBeside(op) && !isNumber(op); });
    append(false, [&](Operation &op) { return !isBeside(op) && isEnding(op); });
    append(true, [&](Operation &op) { return !isBeside(op); });
    append(true, isNumber);
    append(false, [&](Operation &op) { return isBeside(op) && !isEnding(op); });
    append(false, [&](Operation &op) { return last->isBeforeInBlock(&op) && !isBeside(op); });
  }

  scf::ForOp expand() {
    findBeside();
    findNumbers();
    scf::PipeliningOption options;
    options.supportDynamicLoops = true;
    options.peelEpilogue = false;
    options.predicateFn = [](RewriterBase &rewriter, Operation *op, Value predicate) {
      return runUnder(rewriter, op, predicate);
    };
    options.getScheduleFn = [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &stages) {
      schedule(stages);
    };
    IRRewriter rewriter(around_.getContext());
    rewriter.setInsertionPointAfter(around_);
    FailureOr<scf::ForOp> made = scf::pipelineForLoop(rewriter, around_, options);
    if (failed(made)) {
      for (Operation &op : *body())
        op.removeAttr(simt::earlyName);
      return nullptr;
    }
    // The last trip starts none: the wait is for what could be under way.
    Location loc = made->getLoc();
    rewriter.setInsertionPointAfter(*made);
    auto rest =
        simt::AsyncCommitOp::create(rewriter, loc, simt::TokenType::get(loc.getContext()), ValueRange());
    simt::AsyncWaitOp::create(rewriter, loc, rest.getGroup(), 0);
    remarks_.push_back({locationText(loc), "pipeline",
                        "a trip starts the first copies of the next one behind its products"});
    return *made;
  }

  Ring ring_;
  scf::ForOp around_;
  EarlyOps needed_;
  llvm::DenseSet<Operation *> beside_, numbers_; // see findBeside, findNumbers
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
};

} // namespace

void startNextTrip(const Ring &ring, const simt::Machine &machine, std::vector<diag::Remark> &remarks) {
  NextTrip(ring, machine, remarks).run();
}

} // namespace tegula::transforms
