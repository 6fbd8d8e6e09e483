// The forward walk. Loops start from what holds before their first round and are walked again
// while a round takes facts away; facts only ever weaken, so that this ends.
#include "analysis/AxisInfo.h"
#include "analysis/Access.h"
#include "analysis/AxisFacts.h"
#include "analysis/UsualStride.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

class Walk {
public:
  Walk(FuncOp function, bool trust) : trust_(trust) {
    Block &body = function.getBody().front();
    for (unsigned i = 0; i < body.getNumArguments(); ++i)
      facts_[body.getArgument(i)] = argumentFact(function, i, trust);
    walk(body);
  }

  llvm::DenseMap<Value, AxisInfo> infos() const {
    llvm::DenseMap<Value, AxisInfo> infos;
    for (auto [value, fact] : facts_) {
      addAddressHints(fact, value);
      infos[value] = fact.info();
    }
    return infos;
  }

private:
  // Rounds after which what still changes counts as unknown. A fact can weaken some hundred times.
  static constexpr unsigned mostRounds = 24;

  AxisFact at(Value value) const {
    auto it = facts_.find(value);
    return it == facts_.end() ? unknownFact(value) : it->second;
  }

  void walk(Block &block) {
    for (Operation &op : block)
      walk(&op);
  }

  void walk(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return walkFor(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return walkWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return walkIf(branch);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        walk(block); // of reductions and scans: nothing is known of the arguments
    for (OpResult result : op->getResults())
      facts_[result] = ruleOf(op, result.getResultNumber(), trust_, [&](Value value) { return at(value); });
  }

  void walkIf(scf::IfOp branch) {
    walk(*branch.thenBlock());
    if (!branch.elseBlock())
      return;
    walk(*branch.elseBlock());
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      facts_[result] = joinFacts(at(branch.thenYield().getOperand(i)), at(branch.elseYield().getOperand(i)));
  }

  void walkFor(scf::ForOp loop) {
    AxisFact lower = at(loop.getLowerBound());
    AxisFact index = unknownFact(loop.getInductionVar());
    index.dims[0].divisibility = std::min(lower.divisibilityOfAll(), at(loop.getStep()).divisibilityOfAll());
    index.nonNegative = lower.nonNegative && !loop.getUnsignedCmp();
    facts_[loop.getInductionVar()] = index;
    weaken(loop.getRegionIterArgs(), loop.getInitArgs());
    auto yielded = cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperands();
    untilStable([&] {
      walk(*loop.getBody());
      return weaken(loop.getRegionIterArgs(), yielded);
    });
    for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
      facts_[result] = at(argument);
  }

  void walkWhile(scf::WhileOp loop) {
    auto condition = loop.getConditionOp().getArgs();
    auto yielded = loop.getYieldOp().getOperands();
    weaken(loop.getBeforeArguments(), loop.getInits());
    untilStable([&] {
      walk(*loop.getBeforeBody());
      bool changed = weaken(loop.getAfterArguments(), condition);
      walk(*loop.getAfterBody());
      return weaken(loop.getBeforeArguments(), yielded) || changed;
    });
    for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getAfterArguments()))
      facts_[result] = at(argument);
  }

  void untilStable(llvm::function_ref<bool()> round) {
    bool outer = std::exchange(givenUp_, false);
    for (unsigned rounds = 0; round(); ++rounds)
      givenUp_ = rounds + 1 >= mostRounds;
    givenUp_ = outer;
  }

  // Each argument holds for the value too from now on. Whether any fact changed.
  bool weaken(ValueRange arguments, ValueRange values) {
    bool changed = false;
    for (auto [argument, value] : llvm::zip(arguments, values)) {
      auto [it, isNew] = facts_.try_emplace(argument, AxisFact());
      AxisFact before = it->second;
      AxisFact joined = isNew ? at(value) : joinFacts(before, at(value));
      if (!isNew && joined == before)
        continue;
      facts_[argument] = givenUp_ ? unknownFact(argument) : joined;
      changed |= facts_[argument] != before || isNew;
    }
    return changed;
  }

  bool trust_, givenUp_ = false;
  llvm::DenseMap<Value, AxisFact> facts_;
};

} // namespace

AxisInfoAnalysis::AxisInfoAnalysis(FuncOp function, Trust trust) {
  likely_ = Walk(function, true).infos();
  facts_ = trust == Trust::Indices ? likely_ : Walk(function, false).infos();
}

static const AxisInfo &factOf(llvm::DenseMap<Value, AxisInfo> &facts, Value value) {
  auto [it, isNew] = facts.try_emplace(value);
  if (isNew)
    it->second = unknownFact(value).info();
  return it->second;
}

const AxisInfo &AxisInfoAnalysis::at(Value value) { return factOf(facts_, value); }

const AxisInfo &AxisInfoAnalysis::likelyAt(Value value) { return factOf(likely_, value); }

llvm::SmallVector<unsigned> AxisInfoAnalysis::order(Value pointers) {
  const AxisInfo &info = likelyAt(pointers);
  llvm::SmallVector<unsigned> order;
  for (unsigned d = info.rank(); d-- > 0;)
    order.push_back(d);
  bool isKnown = llvm::any_of(info.contiguity, [](int64_t run) { return run > 1; });
  // Nothing is adjacent everywhere: what usually is nearest, but for a dimension whose elements are all the
  // same.
  llvm::SmallVector<double, 4> distance(info.rank(), 0);
  if (!isKnown && info.rank() > 1)
    for (unsigned d = 0; d != info.rank(); ++d) {
      std::optional<double> stride = usualStride(pointers, d);
      distance[d] = stride && *stride != 0 ? std::abs(*stride) : std::numeric_limits<double>::infinity();
    }
  // Of distances that only run time knows the inner one divides the outer ones, as in a tensor without gaps.
  llvm::SmallVector<int64_t, 4> unit(info.rank(), 0);
  if (llvm::count(distance, std::numeric_limits<double>::infinity()) > 1)
    unit = knownDivisorsOfStrides(pointers);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tuple(info.contiguity[a], distance[b], unit[b], a) >
           std::tuple(info.contiguity[b], distance[a], unit[a], b);
  });
  return order;
}

llvm::SmallVector<int64_t, 4> AxisInfoAnalysis::knownDivisorsOfStrides(Value pointers) {
  constexpr int64_t most = 1 << 20;
  AccessAnalysis access;
  std::optional<Address> address = addressBehind(access, pointers, [](Value) { return true; });
  llvm::SmallVector<int64_t, 4> divisors(shapeOf(pointers.getType()).size(), most);
  for (unsigned d = 0; address && d != divisors.size(); ++d)
    for (const Monomial &term : address->offset.strides[d].terms()) {
      uint64_t known = uint64_t(term.coefficient) & -uint64_t(term.coefficient);
      for (const Factor &factor : term.factors)
        known = factor.isTile()
                    ? most
                    : std::min<uint64_t>(known, most) * uint64_t(at(factor.value).divisibility[0]);
      divisors[d] = std::min<int64_t>(divisors[d], int64_t(std::min<uint64_t>(known, most)));
    }
  return divisors;
}

} // namespace tegula::analysis
