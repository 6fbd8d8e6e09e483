#include "ir/simt/VerifyTokens.h"
#include "ir/simt/Simt.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

namespace tegula::simt {

namespace {

// Groups older than this are one: no buffer has so many slots.
constexpr size_t mostGroups = 64;

// A copy, and the slot that it writes as far as it is known here.
struct Copy {
  AsyncCopyOp op;
  AllocOp alloc; // null: not known
  Value slot;    // null: not known, or another trip's
  bool operator==(const Copy &other) const = default;
};
using Copies = SmallVector<Copy, 4>;

// Unites two sets; true if `into` grew.
bool unite(Copies &into, const Copies &from) {
  size_t before = into.size();
  for (const Copy &copy : from)
    if (!llvm::is_contained(into, copy))
      into.push_back(copy);
  return into.size() != before;
}

// All that may be under way at one point, whichever path leads there.
struct State {
  Copies started;                    // since the last commit
  SmallVector<Copies, 4> groups;     // not waited for, the youngest first
  DenseMap<Value, unsigned> younger; // of a group's token: groups committed since, at least

  bool join(const State &other) {
    bool grew = unite(started, other.started);
    if (groups.size() < other.groups.size()) {
      groups.resize(other.groups.size());
      grew = true;
    }
    for (size_t i = 0; i != other.groups.size(); ++i)
      grew |= unite(groups[i], other.groups[i]);
    for (auto [token, count] : other.younger) {
      auto [known, isNew] = younger.try_emplace(token, count);
      grew |= isNew || count < known->second;
      known->second = std::min(known->second, count);
    }
    return grew;
  }

  // Behind an edge between regions of `op`: what was another trip's value names no slot of this one.
  void forgetSlotsWithin(Operation *op) {
    auto forget = [&](Copies &copies) {
      Copies kept;
      for (Copy copy : copies) {
        Operation *owner = copy.slot ? copy.slot.getParentBlock()->getParentOp() : nullptr;
        if (owner && op->isAncestor(owner) && !matchPattern(copy.slot, m_Constant()))
          copy.slot = Value();
        unite(kept, {copy});
      }
      copies = std::move(kept);
    };
    forget(started);
    llvm::for_each(groups, forget);
  }
};

class Verifier {
public:
  LogicalResult function(Operation *function) {
    State state;
    if (failed(block(function->getRegion(0).front(), state)))
      return failure();
    state.groups.insert(state.groups.begin(), state.started);
    for (const Copies &group : state.groups)
      if (!group.empty()) {
        AsyncCopyOp copy = group.front().op;
        return copy.emitOpError("is under way at the end of the kernel: no wait for its group is behind it");
      }
    return success();
  }

private:
  LogicalResult block(Block &block, State &state) {
    for (Operation &op : block) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](AsyncCopyOp copy) { return start(copy, state); })
              .Case([&](AsyncCommitOp commit) { return this->commit(commit, state); })
              .Case([&](AsyncWaitOp wait) { return this->wait(wait, state); })
              .Case([&](LocalLoadOp load) { return touch(load, load.getBuffer(), "reads", state); })
              .Case([&](DotAsyncOp dot) { return this->dot(dot, state); })
              .Case([&](LocalStoreOp store) { return touch(store, store.getBuffer(), "writes", state); })
              .Case([&](RegionBranchOpInterface branch) { return this->branch(branch, state); })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    return success();
  }

  static Value slotOf(Value buffer) {
    auto view = buffer.getDefiningOp<ViewOp>();
    return view ? view.getSlot() : Value();
  }

  static bool isSame(Value a, Value b) {
    APInt first, second;
    return a && b &&
           (a == b || (matchPattern(a, m_ConstantInt(&first)) && matchPattern(b, m_ConstantInt(&second)) &&
                       first == second));
  }

  // Does no copy that is under way write what `op` touches?
  static LogicalResult touch(Operation *op, Value buffer, const char *what, const State &state) {
    AllocOp alloc = allocOf(buffer);
    Value slot = slotOf(buffer);
    int64_t underWay = 0;
    auto look = [&](const Copies &copies) {
      bool isHit = false;
      for (const Copy &copy : copies) {
        if (copy.alloc && alloc && copy.alloc != alloc)
          continue;
        isHit = true;
        if (isSame(copy.slot, slot))
          return true;
      }
      underWay += isHit;
      return false;
    };
    if (look(state.started) || llvm::any_of(state.groups, look))
      return op->emitOpError() << what << " a slot that a copy is writing: there is no wait between them";
    int64_t slots = alloc ? alloc.getBuffer().getType().getSlots() : 1;
    if (underWay >= slots)
      return op->emitOpError() << what << " one of " << slots << " slots while " << underWay
                               << " groups of copies into them may be under way";
    return success();
  }

  static LogicalResult dot(DotAsyncOp dot, const State &state) {
    for (Value buffer : {dot.getABuffer(), dot.getB()})
      if (buffer && failed(touch(dot, buffer, "reads", state)))
        return failure();
    llvm::SmallPtrSet<void *, 4> seen;
    SmallVector<Value> sums{dot.getResult()};
    while (!sums.empty()) {
      Value sum = sums.pop_back_val();
      if (!seen.insert(sum.getAsOpaquePointer()).second)
        continue;
      for (OpOperand &use : sum.getUses()) {
        auto next = dyn_cast<DotAsyncOp>(use.getOwner());
        if (isa<DotWaitOp>(use.getOwner()) || (next && next.getAcc() == sum))
          continue;
        if (auto taking = dyn_cast<scf::ForOp>(use.getOwner())) {
          sums.push_back(taking.getTiedLoopRegionIterArg(&use));
          sums.push_back(taking.getTiedLoopResult(&use));
          continue;
        }
        auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
        if (!loop || !isa<scf::YieldOp>(use.getOwner()))
          return dot.emitOpError("has a result that is read without a wait for it");
        sums.push_back(loop.getRegionIterArg(use.getOperandNumber()));
        sums.push_back(loop.getResult(use.getOperandNumber()));
      }
    }
    return success();
  }

  static LogicalResult start(AsyncCopyOp copy, State &state) {
    auto isCommit = [](OpOperand &use) { return isa<AsyncCommitOp>(use.getOwner()); };
    if (llvm::count_if(copy.getToken().getUses(), isCommit) != 1)
      return copy.emitOpError("has a token that does not go to one commit");
    if (failed(touch(copy, copy.getBuffer(), "copies into", state)))
      return failure();
    unite(state.started, {{copy, allocOf(copy.getBuffer()), slotOf(copy.getBuffer())}});
    return success();
  }

  static LogicalResult commit(AsyncCommitOp commit, State &state) {
    llvm::DenseSet<Operation *> named, started;
    for (Value token : commit.getCopies()) {
      auto copy = token.getDefiningOp<AsyncCopyOp>();
      if (!copy)
        return commit.emitOpError("takes a token that is no copy's");
      named.insert(copy);
    }
    for (const Copy &copy : state.started)
      started.insert(copy.op);
    if (named != started)
      return commit.emitOpError() << "takes " << named.size() << " copies, and other ones were started since "
                                  << "the last commit (" << started.size() << ")";
    state.groups.insert(state.groups.begin(), std::move(state.started));
    state.started.clear();
    if (state.groups.size() > mostGroups) {
      unite(state.groups[mostGroups - 1], state.groups[mostGroups]);
      state.groups.pop_back();
    }
    for (auto &entry : state.younger)
      entry.second = std::min(entry.second + 1, unsigned(mostGroups));
    state.younger[commit.getGroup()] = 0;
    return success();
  }

  static LogicalResult wait(AsyncWaitOp wait, State &state) {
    auto known = state.younger.find(wait.getGroup());
    if (known == state.younger.end())
      return wait.emitOpError("waits for what is no group: no commit leads here");
    if (known->second < wait.getPending())
      return wait.emitOpError() << "leaves " << wait.getPending() << " groups under way, and its own with "
                                << "them: " << known->second << " may be younger";
    if (state.groups.size() > wait.getPending())
      state.groups.resize(wait.getPending());
    return success();
  }

  // Runs each region until nothing new comes to its entry; `state` is then that behind the op.
  LogicalResult branch(RegionBranchOpInterface op, State &state) {
    llvm::MapVector<Region *, State> entries; // null: behind the op
    SmallVector<Region *> work;
    auto flow = [&](RegionBranchPoint from, const State &now) {
      SmallVector<RegionSuccessor> successors;
      op.getSuccessorRegions(from, successors);
      for (RegionSuccessor &successor : successors) {
        State next = now;
        next.forgetSlotsWithin(op);
        ValueRange inputs = successor.getSuccessorInputs();
        for (auto [operand, input] : llvm::zip(op.getSuccessorOperands(from, successor), inputs))
          if (auto known = now.younger.find(operand); known != now.younger.end())
            next.younger[input] = known->second;
        Region *region = successor.getSuccessor();
        auto [entry, isNew] = entries.insert({region, next});
        if ((isNew || entry->second.join(next)) && region)
          work.push_back(region);
      }
    };
    flow(RegionBranchPoint::parent(), state);
    while (!work.empty()) {
      Region *region = work.pop_back_val();
      State inside = entries[region];
      if (failed(block(region->front(), inside)))
        return failure();
      if (auto last = dyn_cast<RegionBranchTerminatorOpInterface>(region->front().getTerminator()))
        flow(last, inside);
    }
    if (auto behind = entries.find(nullptr); behind != entries.end())
      state = behind->second;
    return success();
  }
};

} // namespace

LogicalResult verifyTokens(ModuleOp module) {
  bool isAsync = module
                     .walk([](Operation *op) {
                       return isa<AsyncCopyOp, AsyncCommitOp, AsyncWaitOp, DotAsyncOp>(op)
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted();
  for (auto function : module.getOps<tile::FuncOp>())
    if (isAsync && !function.isExternal() && failed(Verifier().function(function)))
      return failure();
  return success();
}

} // namespace tegula::simt
