#include "analysis/Access.h"
#include "analysis/ConstantSteps.h"
#include "analysis/Meetings.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Chunks.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "ir/simt/Turns.h"
#include "ir/tile/Elementwise.h"
#include "ir/tile/Volatile.h"
#include "transforms/SharedMemory.h"
#include "transforms/StandIns.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// What some warp may still be doing when another one is here.
struct Pending {
  // Byte ranges of shared memory that may still be read; that were written, by stores or by copies that were
  // waited for; and into which copies are under way.
  using Range = std::pair<uint64_t, uint64_t>;
  llvm::SmallSetVector<Range, 4> reads, writes, copies;
  // That were written, and no barrier with a fence lies behind: products that read buffers themselves do not
  // see it. And what products under way read.
  llvm::SmallSetVector<Range, 4> unfenced, products;
  // Buffers that stores of boxes under way read.
  llvm::SmallSetVector<Range, 4> stored;
  // Scratch memory that was written, and no barrier with a fence lies behind: copies of boxes, which write as
  // products read, could be overwritten by that.
  llvm::SmallSetVector<Range, 4> scratched;
  // Addresses of loads whose elements may not all be read yet.
  llvm::SmallSetVector<Value, 4> loads;
  // Addresses of stores whose elements may not all be there yet.
  llvm::SmallSetVector<Value, 4> stores;
  // Addresses of atomic updates that give nothing back, with their kind: among those of one kind order is no
  // matter.
  using Update = std::pair<Value, AtomicKind>;
  llvm::SmallSetVector<Update, 4> updates;
  // The same of earlier trips around a loop, whose addresses had other values.
  llvm::SmallSetVector<Value, 4> oldLoads, oldStores;
  llvm::SmallSetVector<Update, 4> oldUpdates;
  // It may still access global memory; a release has to wait for that.
  bool accesses = false;
  // It may not yet have seen what another warp acquired.
  bool acquires = false;

  bool merge(const Pending &other) {
    size_t before = size();
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    copies.insert(other.copies.begin(), other.copies.end());
    unfenced.insert(other.unfenced.begin(), other.unfenced.end());
    products.insert(other.products.begin(), other.products.end());
    stored.insert(other.stored.begin(), other.stored.end());
    scratched.insert(other.scratched.begin(), other.scratched.end());
    loads.insert(other.loads.begin(), other.loads.end());
    stores.insert(other.stores.begin(), other.stores.end());
    oldLoads.insert(other.oldLoads.begin(), other.oldLoads.end());
    oldStores.insert(other.oldStores.begin(), other.oldStores.end());
    updates.insert(other.updates.begin(), other.updates.end());
    oldUpdates.insert(other.oldUpdates.begin(), other.oldUpdates.end());
    accesses |= other.accesses;
    acquires |= other.acquires;
    return size() != before;
  }
  size_t size() const {
    return reads.size() + writes.size() + copies.size() + unfenced.size() + products.size() + stored.size() +
           scratched.size() + loads.size() + stores.size() + updates.size() + oldLoads.size() +
           oldStores.size() + oldUpdates.size() + accesses + acquires;
  }

  // Is there something that a later op could have to meet for?
  bool isOrdered() const {
    return !(writes.empty() && unfenced.empty() && loads.empty() && stores.empty() && updates.empty() &&
             oldLoads.empty() && oldStores.empty() && oldUpdates.empty()) ||
           acquires;
  }

  // All warps have met. What copies, copies on, and what multiplies.
  void meet(bool isFenced = false) {
    Pending met;
    met.copies = std::move(copies);
    met.products = std::move(products);
    met.stored = std::move(stored);
    if (!isFenced) {
      met.unfenced = std::move(unfenced);
      met.scratched = std::move(scratched);
    }
    *this = std::move(met);
  }

  static bool overlaps(Range a, Range b) { return a.first < b.second && b.first < a.second; }
  static bool overlaps(const llvm::SmallSetVector<Range, 4> &ranges, Range with) {
    return llvm::any_of(ranges, [&](Range range) { return overlaps(range, with); });
  }

  // Behind a trip around `loop`: what was computed in it will have another value.
  void age(Operation *loop) {
    auto isOfLoop = [&](Value value) { return loop->isAncestor(value.getParentBlock()->getParentOp()); };
    auto move = [&](auto &from, auto &to, auto addressOf) {
      for (auto each : llvm::to_vector(from))
        if (isOfLoop(addressOf(each))) {
          to.insert(each);
          from.remove(each);
        }
    };
    auto itself = [](Value value) { return value; };
    move(loads, oldLoads, itself);
    move(stores, oldStores, itself);
    move(updates, oldUpdates, [](const Update &update) { return update.first; });
  }
};

// Do several threads hold an element of the tile? All of them load it, and one stores it.
bool hasCopies(Value tile, Operation *user) {
  if (!isa<RankedTensorType>(tile.getType()))
    return true;
  layout::Layout layout = simt::layoutOf(tile);
  bool fillsWarps =
      layout.size(layout::Axis::Lane) == 32 && layout.size(layout::Axis::Warp) >= simt::warpsOf(user);
  return !fillsWarps || layout.freeBits(layout::Axis::Lane) || layout.freeBits(layout::Axis::Warp);
}

// Does the same thread store of both? One thread does all that is stored of scalars.
bool lieAlike(Value a, Value b) {
  if (!isTile(a) || !isTile(b))
    return !isTile(a) && !isTile(b);
  return simt::layoutOf(a) == simt::layoutOf(b);
}

// Does what a load brings reach only scalars, or elements of tiles in its own layout, and from there memory
// or the next trip? Then it does not matter what threads read that hold copies: they store nothing.
bool staysInThreads(LoadOp load) {
  llvm::SetVector<Value> reached;
  auto reach = [&](Value value) {
    reached.insert(value);
    return lieAlike(value, load.getResult());
  };
  if (!reach(load.getResult()))
    return false;
  for (unsigned i = 0; i != reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      unsigned number = use.getOperandNumber();
      bool stays = false;
      if (auto store = dyn_cast<StoreOp>(user)) {
        stays = store.getValue() == reached[i] && store.getPtr() != reached[i] &&
                lieAlike(store.getPtr(), reached[i]);
      } else if (auto loop = dyn_cast<scf::ForOp>(user); loop && number >= loop.getNumControlOperands()) {
        unsigned index = number - loop.getNumControlOperands();
        stays = reach(loop.getRegionIterArg(index)) && reach(loop.getResult(index));
      } else if (isa<scf::YieldOp>(user)) {
        auto outer = dyn_cast<scf::ForOp>(user->getParentOp());
        stays = isa<scf::ForOp, scf::IfOp>(user->getParentOp()) &&
                reach(user->getParentOp()->getResult(number)) &&
                (!outer || reach(outer.getRegionIterArg(number)));
      } else if (user->getNumRegions() == 0 && user->getNumResults() == 1 && isMemoryEffectFree(user) &&
                 isElementwise(user)) {
        stays = reach(user->getResult(0));
      }
      if (!stays)
        return false;
    }
  return true;
}

class Barriers {
public:
  explicit Barriers(FuncOp function) : function_(function) {
    function.walk([&](simt::DotAsyncOp dot) {
      for (Value buffer : {dot.getABuffer(), dot.getB()})
        if (buffer)
          operands_.insert(rangeOf(buffer));
    });
    function.walk([&](simt::BulkCopyOp copy) { boxes_.push_back(copy); });
    function.walk([&](simt::AsyncCopyOp copy) {
      Value fits = conditionOfBoxes(copy);
      auto [known, isNew] = boxed_.try_emplace(simt::allocOf(copy.getBuffer()), fits);
      if (!isNew && known->second != fits)
        known->second = Value();
    });
    function.walk([&](simt::LocalStoreOp store) { boxed_[simt::allocOf(store.getBuffer())] = Value(); });
    function.walk([&](simt::BulkStoreOp store) { operands_.insert(rangeOf(store.getBuffer())); });
  }

  Pending run(Block &block, Pending state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, state);
    return state;
  }

  void markOwned() {
    for (Value address : owned_)
      for (Operation *each : address.getUsers())
        if (isa<LoadOp>(each))
          each->setAttr(simt::ownedName, UnitAttr::get(each->getContext()));
  }

private:
  // The same address in the same layout: each thread meets its own elements, in its own order, unless threads
  // hold copies, which all of them read and one writes, or several elements may have one address. Copies that
  // reach nothing need not be read. Of two stores that does not matter: whichever is the last one, it is of
  // the second.
  bool ownElements(Value a, Value b, Operation *user, bool bothWrite) {
    return a == b && (bothWrite || (isOneToOne(a) && (!hasCopies(a, user) || keepToThemselves(a, b))));
  }
  bool isOneToOne(Value address) {
    return analysis::isOneToOne(access_, address) ||
           meetings_.inTrip(address, address) == analysis::Meeting::Alike;
  }

  // May a thread meet elements of another one? Where only elements of the same coordinates meet, it does not,
  // if one thread holds both: as ownElements has it, of two addresses that may be computed apart.
  bool reachesOthers(analysis::Meeting meeting, Value a, Value b, Operation *user, bool bothWrite) {
    bool areOwn = meeting == analysis::Meeting::Alike && lieAlike(a, b) && areOfThreads(a) &&
                  areOfThreads(b) && (bothWrite || !hasCopies(a, user) || keepToThemselves(a, b));
    return meeting != analysis::Meeting::Never && !areOwn;
  }
  // Do the threads that hold the addresses access them? Copies may be done by others, and later.
  static bool areOfThreads(Value address) {
    return llvm::none_of(address.getUsers(),
                         [](Operation *user) { return isa<simt::AsyncCopyOp, simt::BulkCopyOp>(user); });
  }

  // One side of a meeting: the address, and whether elements are read there.
  struct Side {
    Value address;
    bool isRead;
  };

  // May the two accesses of one trip touch one element of which another thread must see the right value? Of
  // two arguments the memory model for GPUs asks that where a kernel may work in place and several threads
  // hold what is loaded: one of them stores what the others may have yet to read. Otherwise it asks nothing
  // (M12).
  bool mayMeet(Side a, Side b, Operation *user, bool bothWrite) {
    return mayShare(a, b, user) && !analysis::areApart(access_, a.address, b.address) &&
           !formPairs(a.address, b.address) &&
           reachesOthers(meetings_.inTrip(a.address, b.address), a.address, b.address, user, bothWrite);
  }
  // The same of accesses of any two trips around a loop.
  bool mayMeetInTrips(Side a, Side b, Operation *user, bool bothWrite) {
    if (!mayShare(a, b, user) || formPairs(a.address, b.address) ||
        !reachesOthers(meetings_.inAnyTrips(a.address, b.address), a.address, b.address, user, bothWrite))
      return false;
    if (!analysis::areApartInOtherTrips(access_, a.address, b.address))
      return true;
    return !ownElements(a.address, b.address, user, bothWrite) &&
           !analysis::areApart(access_, a.address, b.address);
  }

  // Are the elements of one tile every other one of those of both, of any rows and in any trip?
  bool formPairs(Value a, Value b) {
    if (!isTile(a) || a.getType() != b.getType())
      return false;
    if (!axes_)
      axes_.emplace(function_);
    return analysis::orderInPairs(a, b, *axes_) != 0;
  }

  bool mayShare(Side a, Side b, Operation *user) {
    auto readsCopies = [&](Side side) {
      return side.isRead && isTile(side.address) && hasCopies(side.address, user);
    };
    if ((readsCopies(a) || readsCopies(b)) && areAlike(a.address, b.address) &&
        !keepToThemselves(a.address, b.address))
      return true;
    analysis::OriginSet from = origins_.of(a.address); // a copy: the next answer may move it
    bool isOfOneThread = !isTile(a.address) && !isTile(b.address);
    return from.mayShare(origins_.of(b.address)) &&
           !(isOfOneThread && keepToThemselves(a.address, b.address));
  }

  // Have both tiles the extents of one tile that a kernel could read and write in place?
  static bool areAlike(Value a, Value b) {
    auto extents = [](Value address) {
      SmallVector<int64_t> all(shapeOf(address.getType()));
      llvm::erase(all, 1);
      return all;
    };
    return extents(a) == extents(b);
  }

  // Does each thread that stores at one of the addresses only meet what it read itself at the other one? The
  // same thread stores an element of both. Then nobody waits, so that only it may load there (markOwned).
  bool keepToThemselves(Value a, Value b) {
    auto keeps = [&](Value address) {
      auto known = keeps_.find(address);
      if (known != keeps_.end())
        return known->second;
      bool result = llvm::all_of(address.getUses(), [&](OpOperand &use) {
        Operation *user = use.getOwner();
        auto load = dyn_cast<LoadOp>(user);
        auto store = dyn_cast<StoreOp>(user);
        return (load && !isVolatile(load) && use.getOperandNumber() == 0 && staysInThreads(load)) ||
               (store && store.getPtr() == address && store.getValue() != address) ||
               isa<AddPtrOp>(user); // another address, which is asked about itself
      });
      return keeps_[address] = result;
    };
    if (!lieAlike(a, b) || !keeps(a) || !keeps(b))
      return false;
    owned_.insert(a);
    owned_.insert(b);
    return true;
  }

  // Have threads written such bytes themselves, and nothing tells the copies of boxes?
  static bool isWrittenByThreads(const Pending &state, Pending::Range range) {
    return Pending::overlaps(state.scratched, range) || Pending::overlaps(state.unfenced, range);
  }

  // May the program come to `later` behind `op`? Both are ops of the function that this is about.
  static bool mayFollow(Operation *op, Operation *later) {
    auto outermost = [](Operation *each) {
      while (!isa<FuncOp>(each->getParentOp()))
        each = each->getParentOp();
      return each;
    };
    Operation *first = outermost(op), *second = outermost(later);
    return first == second || first->isBeforeInBlock(second);
  }

  void meet(Operation *before, Pending &state) {
    OpBuilder builder(before);
    bool isFenced = llvm::any_of(state.unfenced,
                                 [&](Pending::Range range) { return Pending::overlaps(operands_, range); }) ||
                    llvm::any_of(boxes_, [&](simt::BulkCopyOp box) {
                      return isWrittenByThreads(state, rangeOf(box.getBuffer())) && mayFollow(before, box);
                    });
    if (isTrial_)
      isWanting_ = true;
    else
      simt::BarrierOp::create(builder, before->getLoc(), isFenced,
                              isFenced ? conditionOfUnfenced(before, state) : Value());
    state.meet(isFenced);
  }

  // Returns the condition under which threads have written nothing that a fence is for: boxes have brought
  // all of it. Null: there is none that is known here.
  Value conditionOfUnfenced(Operation *here, const Pending &state) {
    for (Pending::Range range : state.unfenced)
      if (isForFence(range)) {
        Value condition = conditionOfBytes(range);
        return condition && isKnown(condition, here) && isBroughtUnder(condition, state) ? condition
                                                                                         : Value();
      }
    return Value();
  }

  // Have boxes brought, under the condition, all bytes that a fence is for?
  bool isBroughtUnder(Value condition, const Pending &state) {
    return llvm::none_of(state.scratched, [&](Pending::Range range) { return isOfBoxes(range); }) &&
           llvm::all_of(state.unfenced, [&](Pending::Range range) {
             return !isForFence(range) || conditionOfBytes(range) == condition;
           });
  }

  bool isOfBoxes(Pending::Range range) {
    return llvm::any_of(
        boxes_, [&](simt::BulkCopyOp box) { return Pending::overlaps(range, rangeOf(box.getBuffer())); });
  }
  bool isForFence(Pending::Range range) { return Pending::overlaps(operands_, range) || isOfBoxes(range); }

  // Returns the condition under which boxes bring what is written to all buffers that have bytes there. Null:
  // there is none.
  Value conditionOfBytes(Pending::Range range) {
    std::optional<Value> condition;
    for (auto [alloc, fits] : boxed_)
      if (Pending::overlaps(rangeOf(alloc.getBuffer()), range))
        condition = !condition || *condition == fits ? fits : Value();
    return condition.value_or(Value());
  }

  // A barrier that an earlier visit made, of a loop's trip or ahead of a trial, may meet more now.
  void meetAgain(simt::BarrierOp barrier, Pending &state) {
    if (Value unless = barrier.getUnless(); unless && !isBroughtUnder(unless, state)) {
      if (isTrial_)
        trialsFences_.insert(barrier);
      else
        barrier.getUnlessMutable().clear();
    }
    state.meet(barrier.getFence());
  }

  // Is the value computed ahead of an op, once for all trips of the loops around that?
  static bool isKnown(Value value, Operation *here) {
    Operation *from = value.getDefiningOp(), *outermost = here;
    while (from && outermost->getBlock() != from->getBlock())
      if (!(outermost = outermost->getParentOp()))
        return false;
    return from && isa<FuncOp>(from->getParentOp()) && from->isBeforeInBlock(outermost);
  }

  void visit(Operation *op, Pending &state) {
    if (auto barrier = dyn_cast<simt::BarrierOp>(op)) {
      meetAgain(barrier, state);
    } else if (isa<tile::BarrierOp>(op)) {
      state.meet();
    } else if (auto dot = dyn_cast<simt::DotAsyncOp>(op)) {
      visitDot(dot, state);
    } else if (auto wait = dyn_cast<simt::DotWaitOp>(op)) {
      state.reads.insert(state.products.begin(), state.products.end());
      if (wait.getPending() == 0)
        state.products.clear();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (op->hasAttr(simt::signalledName) && !op->hasAttr(simt::goesOnName) && state.isOrdered())
        meet(op, state); // or a barrier in the loop would tie its groups of warps together
      repeat(op, {loop.getBody()}, state);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      repeat(op, {loop.getBeforeBody(), loop.getAfterBody()}, state);
      state = run(*loop.getBeforeBody(), state); // by which the loop is left
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Pending otherwise = branch.elseBlock() ? run(*branch.elseBlock(), state) : state;
      state = run(*branch.thenBlock(), state);
      state.merge(otherwise);
    } else if (isa<AtomicRMWOp, AtomicCASOp>(op)) {
      visitAtomic(op, state);
    } else if (isa<simt::SignalInitOp, simt::SignalArriveOp, simt::SignalArriveWarpsOp, simt::SignalWaitOp,
                   simt::SignalEndOp, simt::BulkCopyOp>(op)) {
      visitSignal(op, state);
    } else if (auto store = dyn_cast<simt::BulkStoreOp>(op)) {
      Pending::Range range = rangeOf(store.getBuffer());
      if (Pending::overlaps(state.writes, range) || Pending::overlaps(state.unfenced, range))
        meet(op, state);
      state.stored.insert(range);
    } else if (isa<simt::StoreWaitOp>(op)) { // by one thread: the others do not know yet
      state.reads.insert(state.stored.begin(), state.stored.end());
      state.stored.clear();
    } else if (isa<simt::LocalLoadOp, simt::LocalStoreOp, simt::StoreElementsOp, simt::AsyncCopyOp,
                   simt::AsyncWaitOp>(op)) {
      visitBuffer(op, state);
    } else if (auto load = dyn_cast<LoadOp>(op); load && isVolatile(load)) {
      access(op, load.getPtr(), /*reads=*/true, /*writes=*/false, state);
      if (op->hasAttr(simt::scratchName))
        visitScratch(op, state); // one thread loads an element for all that hold it
    } else if (op->hasAttr(simt::scratchName)) {
      visitScratch(op, state);
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      access(op, load.getPtr(), /*reads=*/true, /*writes=*/false, state);
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      access(op, store.getPtr(), /*reads=*/false, /*writes=*/true, state);
    }
  }

  // The bytes of all slots: which one it is shows at run time.
  static Pending::Range rangeOf(Value buffer) {
    simt::AllocOp alloc = simt::allocOf(buffer);
    uint64_t begin = uint64_t(*alloc.getOffset());
    return {begin, begin + alloc.getBuffer().getType().bytes()};
  }

  void visitDot(simt::DotAsyncOp dot, Pending &state) {
    for (Value buffer : {dot.getABuffer(), dot.getB()})
      if (buffer && (Pending::overlaps(state.writes, rangeOf(buffer)) ||
                     Pending::overlaps(state.unfenced, rangeOf(buffer))))
        meet(dot, state);
    for (Value buffer : {dot.getABuffer(), dot.getB()})
      if (buffer)
        state.products.insert(rangeOf(buffer));
  }

  // Does a copy fill a slot of which signals or the trips of a loop say that nobody needs it?
  static bool isOrderedElsewhere(Operation *copy) {
    return copy->hasAttr(simt::signalledName) || copy->hasAttr(simt::earlyName);
  }

  // Was a tile written that the op reads, or the loads behind it? Those of one product stay together: it may
  // read the tiles itself, when all of them are there.
  static bool isReadTogether(Operation *op, const Pending &state) {
    do {
      if (!isa<simt::ViewOp, TransOp>(op) && Pending::overlaps(state.writes, rangeOf(op->getOperand(0))))
        return true;
      op = op->getNextNode();
    } while (isa_and_nonnull<simt::LocalLoadOp, simt::ViewOp, TransOp>(op));
    return false;
  }

  void visitBuffer(Operation *op, Pending &state) {
    if (isa<simt::LocalLoadOp, simt::StoreElementsOp>(op)) {
      Pending::Range range = rangeOf(op->getOperand(0));
      if (isReadTogether(op, state))
        meet(op, state);
      state.reads.insert(range);
    } else if (auto wait = dyn_cast<simt::AsyncWaitOp>(op)) {
      if (op->hasAttr(simt::signalledName))
        return;
      state.writes.insert(state.copies.begin(), state.copies.end());
      state.unfenced.insert(state.copies.begin(), state.copies.end());
      if (wait.getPending() == 0)
        state.copies.clear();
    } else {
      auto copy = dyn_cast<simt::AsyncCopyOp>(op);
      Pending::Range range = rangeOf(copy ? copy.getBuffer() : cast<simt::LocalStoreOp>(op).getBuffer());
      if (!isOrderedElsewhere(op) &&
          (Pending::overlaps(state.reads, range) || Pending::overlaps(state.writes, range)))
        meet(op, state);
      if (copy)
        access(op, copy.getPointers(), /*reads=*/true, /*writes=*/false, state);
      (copy ? state.copies : state.writes).insert(range);
      if (!copy)
        state.unfenced.insert(range);
    }
  }

  // A signal begins and ends once, ahead of and behind what all threads do with it. What copies at it write,
  // each thread may read that has waited for it: no barrier is needed for that.
  void visitSignal(Operation *op, Pending &state) {
    auto copy = dyn_cast<simt::BulkCopyOp>(op);
    Pending::Range signal = rangeOf(copy ? copy.getSignal() : op->getOperand(0));
    bool isWritten = isa<simt::SignalInitOp, simt::SignalEndOp>(op);
    bool waits =
        Pending::overlaps(state.writes, signal) || (isWritten && Pending::overlaps(state.reads, signal));
    if (copy && !isOrderedElsewhere(op)) {
      Pending::Range to = rangeOf(copy.getBuffer());
      waits |= Pending::overlaps(state.reads, to) || Pending::overlaps(state.writes, to) ||
               isWrittenByThreads(state, to);
    }
    if (waits)
      meet(op, state);
    if (copy)
      access(op, copy.getPointers(), /*reads=*/true, /*writes=*/false, state);
    (isWritten ? state.writes : state.reads).insert(signal);
  }

  void visitScratch(Operation *op, Pending &state) {
    uint64_t begin = uint64_t(op->getAttrOfType<IntegerAttr>(simt::scratchName).getInt());
    uint64_t end = begin + simt::scratchBytes(op);
    if (Pending::overlaps(state.reads, {begin, end}) || Pending::overlaps(state.writes, {begin, end}))
      meet(op, state);
    auto convert = dyn_cast<simt::ConvertOp>(op);
    if (!convert || !convert.getPlan()->getWithinWarp())
      state.meet(); // all warps meet between writing and reading
    state.reads.insert({begin, end});
    if (!boxes_.empty())
      state.scratched.insert({begin, end});
    if (convert && isStored(op) && isFilledLater(op, {begin, end})) {
      if (auto barrier = dyn_cast<simt::BarrierOp>(op->getNextNode())) {
        barrier.setFence(true);
        barrier.getUnlessMutable().clear();
      } else if (!isTrial_) {
        OpBuilder builder(op->getNextNode());
        simt::BarrierOp::create(builder, op->getLoc(), /*fence=*/true);
      }
      state.meet(/*isFenced=*/true);
    }
  }

  // Are stores to global memory the next that happens behind an op? A fence behind them waits until they are
  // done, and what a program does between two tiles waits with it.
  static bool isStored(Operation *op) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
      if (isa<StoreOp>(next))
        return isa<RankedTensorType>(next->getOperand(0).getType());
      if (next->getNumRegions() || !(isMemoryEffectFree(next) || isa<simt::BarrierOp>(next)) ||
          next->hasAttr(simt::scratchName))
        return false;
    }
    return false;
  }

  // Will a loop around an op start boxes that fill these bytes?
  bool isFilledLater(Operation *op, Pending::Range range) {
    Operation *outermost = nullptr;
    for (Operation *each = op; each; each = each->getParentOp())
      if (isa<LoopLikeOpInterface>(each))
        outermost = each;
    return outermost && llvm::any_of(boxes_, [&](simt::BulkCopyOp box) {
             return !isOrderedElsewhere(box) && Pending::overlaps(range, rangeOf(box.getBuffer())) &&
                    outermost->isAncestor(box);
           });
  }

  // An access of global memory at `address`; `update`: an atomic of which nobody wants what was there.
  void access(Operation *op, Value address, bool reads, bool writes, Pending &state,
              std::optional<AtomicKind> update = std::nullopt) {
    Side here{address, reads};
    auto old = [&](Side other) { return mayMeetInTrips(other, here, op, false); };
    auto oldStore = [&](Value other) { return mayMeetInTrips({other, false}, here, op, !reads); };
    auto waitsFor = [&](Side other, bool bothWrite) {
      return !ownElements(other.address, address, op, bothWrite) && mayMeet(other, here, op, bothWrite);
    };
    bool waits = llvm::any_of(state.oldStores, oldStore) ||
                 (writes && llvm::any_of(state.oldLoads, [&](Value loaded) { return old({loaded, true}); }));
    waits |= llvm::any_of(state.stores, [&](Value stored) { return waitsFor({stored, false}, !reads); });
    waits |=
        writes && llvm::any_of(state.loads, [&](Value loaded) { return waitsFor({loaded, true}, false); });
    waits |= llvm::any_of(state.updates, [&](const Pending::Update &u) {
      return u.second != update && waitsFor({u.first, true}, false);
    });
    waits |= llvm::any_of(state.oldUpdates, [&](const Pending::Update &u) {
      return u.second != update && old({u.first, true});
    });
    if (waits || state.acquires)
      meet(op, state);
    if (update)
      state.updates.insert({address, *update});
    if (reads && !update)
      state.loads.insert(address);
    if (writes && !update)
      state.stores.insert(address);
    state.accesses = true;
  }

  // What the program did before a release happens before it; what it does after an acquire, behind it.
  template <typename Op> void order(Op op, Pending &state) {
    bool releases = op.getSem() == MemSemantic::Release || op.getSem() == MemSemantic::AcquireRelease;
    bool acquires = op.getSem() == MemSemantic::Acquire || op.getSem() == MemSemantic::AcquireRelease;
    if (releases && state.accesses)
      meet(op, state);
    std::optional<AtomicKind> update;
    if constexpr (std::is_same_v<Op, AtomicRMWOp>)
      if (op->use_empty() && op.getKind() != AtomicKind::Exch)
        update = op.getKind();
    access(op, op.getPtr(), /*reads=*/true, /*writes=*/true, state, update);
    state.acquires |= acquires;
  }

  void visitAtomic(Operation *op, Pending &state) {
    if (auto cas = dyn_cast<AtomicCASOp>(op))
      order(cas, state);
    else
      order(cast<AtomicRMWOp>(op), state);
    if (op->hasAttr(simt::scratchName))
      visitScratch(op, state); // the warps meet behind the step
  }

  // Is there a loop in a loop of this one? A trial begins without what is known of a loop, so that trials of
  // each level of a nest would take time that doubles with the level.
  static bool isDeep(Operation *loop) {
    return loop
        ->walk<WalkOrder::PreOrder>([&](LoopLikeOpInterface inner) {
          auto outer = inner->getParentOfType<LoopLikeOpInterface>();
          return inner != loop && outer.getOperation() != loop ? WalkResult::interrupt()
                                                               : WalkResult::advance();
        })
        .wasInterrupted();
  }

  // What is pending at the end of an iteration is so at the beginning of the next. Where only what is pending
  // ahead of the loop asks for a barrier within it, one ahead of the loop does, in place of one in each trip.
  void repeat(Operation *loop, ArrayRef<Block *> blocks, Pending &state) {
    if (isTrial_ || isDeep(loop))
      return around(loop, blocks, state);
    Pending own = state;
    own.meet();
    around(loop, blocks, own);
    Pending both = state;
    both.merge(own);
    if (both.size() != own.size()) {
      isTrial_ = true;
      isWanting_ = false;
      trialsFences_.clear();
      around(loop, blocks, both);
      isTrial_ = false;
      if (isWanting_) {
        meet(loop, state);
        both = own;
      } else {
        for (simt::BarrierOp barrier : trialsFences_)
          barrier.getUnlessMutable().clear();
      }
    }
    state = both;
  }

  void around(Operation *loop, ArrayRef<Block *> blocks, Pending &state) {
    Pending behind;
    for (bool changed = true; changed;) {
      Pending end = state;
      for (Block *block : blocks)
        end = run(*block, end);
      end.age(loop);
      behind = end;
      if (loop->hasAttr(simt::chunksName)) {
        end.oldLoads = state.oldLoads;
        end.oldStores = state.oldStores;
      }
      changed = state.merge(end);
    }
    state.merge(behind);
  }

  llvm::DenseSet<Value> owned_;                   // addresses at which only those threads load that store
  llvm::DenseMap<Value, bool> keeps_;             // of addresses, as keepToThemselves asks
  bool isTrial_ = false, isWanting_ = false;      // does a trial want a barrier? It makes none
  llvm::SetVector<simt::BarrierOp> trialsFences_; // that may no longer be left out, if the trial counts
  analysis::PointerOrigins origins_;
  FuncOp function_;
  std::optional<analysis::AxisInfoAnalysis> axes_; // once two tiles may share an address
  analysis::AccessAnalysis access_;
  analysis::Meetings meetings_{access_};
  llvm::SmallSetVector<Pending::Range, 4>
      operands_; // of products that read buffers themselves, and of stores of boxes
  SmallVector<simt::BulkCopyOp> boxes_;
  // Of buffers that threads copy into: the condition under which boxes bring what all of these copies do;
  // null: there is none.
  llvm::MapVector<simt::AllocOp, Value> boxed_;
};

} // namespace

void insertBarriers(ModuleOp module) {
  for (FuncOp function : module.getOps<FuncOp>()) {
    Barriers barriers(function);
    barriers.run(function.getBody().front(), {});
    barriers.markOwned();
  }
}

} // namespace tegula::transforms
