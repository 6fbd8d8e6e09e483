#include "ir/tile/CarriedValues.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace tegula::tile {
namespace {

// An argument of a region, or a result, and the operands that may give its value.
struct Input {
  Value value;
  SmallVector<OpOperand *> from;
};

class Carried {
public:
  explicit Carried(RegionBranchOpInterface op) : op_(op) {
    RegionBranchInverseSuccessorMapping mapping;
    op.getSuccessorInputOperandMapping(mapping);
    auto add = [&](Value value) {
      auto found = mapping.find(value);
      if (found == mapping.end())
        return; // the variable of a loop
      numbers_.try_emplace(value, inputs_.size());
      inputs_.push_back({value, std::move(found->second)});
    };
    for (Region &region : op->getRegions())
      if (!region.empty())
        llvm::for_each(region.front().getArguments(), add);
    llvm::for_each(op->getResults(), add);
  }

  bool simplify() {
    bool isChanged = replaceKnown();
    isChanged |= mergeEqual();
    return eraseDead() || isChanged;
  }

private:
  // The state of an input while it is looked for: nothing yet, one value that is no input, or several.
  struct Origin {
    Value value;
    bool areSeveral = false;

    bool operator==(const Origin &) const = default;
    void meet(const Origin &other) {
      areSeveral |= other.areSeveral || (value && other.value && value != other.value);
      value = areSeveral ? Value() : value ? value : other.value;
    }
  };

  // Each origin changes twice at most, so that the time is in proportion to the operands.
  std::vector<Origin> findOrigins() const {
    std::vector<Origin> origins(inputs_.size());
    std::vector<SmallVector<unsigned, 2>> readers(inputs_.size());
    std::vector<unsigned> open;
    for (unsigned number = inputs_.size(); number--;) {
      open.push_back(number);
      for (OpOperand *operand : inputs_[number].from)
        if (auto source = numbers_.find(operand->get()); source != numbers_.end())
          readers[source->second].push_back(number);
    }
    while (!open.empty()) {
      unsigned number = open.back();
      open.pop_back();
      Origin now;
      for (OpOperand *operand : inputs_[number].from) {
        auto source = numbers_.find(operand->get());
        now.meet(source == numbers_.end() ? Origin{operand->get()} : origins[source->second]);
      }
      if (now == origins[number])
        continue;
      origins[number] = now;
      open.insert(open.end(), readers[number].begin(), readers[number].end());
    }
    return origins;
  }

  bool isOutside(Value value) const { return !op_->isAncestor(value.getParentRegion()->getParentOp()); }

  bool replaceKnown() {
    bool isChanged = false;
    for (auto [input, origin] : llvm::zip_equal(inputs_, findOrigins())) {
      if (!origin.value || !isOutside(origin.value) || input.value.use_empty())
        continue;
      input.value.replaceAllUsesWith(origin.value);
      isChanged = true;
    }
    return isChanged;
  }

  // The first of equal ones stays, among arguments as among results, so that both of one carried value go.
  bool mergeEqual() {
    bool isChanged = false;
    std::map<std::vector<const void *>, Value> first;
    for (Input &input : inputs_) {
      SmallVector<std::pair<const void *, const void *>> given;
      for (OpOperand *operand : input.from)
        given.emplace_back(operand->getOwner(), operand->get().getAsOpaquePointer());
      llvm::sort(given);
      auto argument = dyn_cast<BlockArgument>(input.value);
      std::vector<const void *> key{argument ? static_cast<const void *>(argument.getOwner()) : op_};
      for (auto [giver, value] : given)
        key.insert(key.end(), {giver, value});
      auto [found, isFirst] = first.try_emplace(std::move(key), input.value);
      if (isFirst || input.value.use_empty())
        continue;
      input.value.replaceAllUsesWith(found->second);
      isChanged = true;
    }
    return isChanged;
  }

  // Inputs to which one operand goes come and go together.
  llvm::IntEqClasses tied() const {
    llvm::IntEqClasses classes(inputs_.size());
    llvm::DenseMap<OpOperand *, unsigned> first;
    for (auto [number, input] : llvm::enumerate(inputs_))
      for (OpOperand *operand : input.from)
        classes.join(number, first.try_emplace(operand, number).first->second);
    classes.compress();
    return classes;
  }

  bool eraseDead() {
    if (llvm::none_of(inputs_, [](const Input &input) { return input.value.use_empty(); }))
      return false;
    llvm::IntEqClasses classes = tied();
    llvm::BitVector isUsed(classes.getNumClasses());
    for (auto [number, input] : llvm::enumerate(inputs_))
      if (!input.value.use_empty())
        isUsed.set(classes[number]);
    if (isUsed.all())
      return false;
    llvm::BitVector results(op_->getNumResults());
    llvm::MapVector<Block *, llvm::BitVector> arguments;
    llvm::MapVector<Operation *, llvm::BitVector> operands;
    for (auto [number, input] : llvm::enumerate(inputs_)) {
      if (isUsed[classes[number]])
        continue;
      if (auto argument = dyn_cast<BlockArgument>(input.value)) {
        Block *block = argument.getOwner();
        arguments.try_emplace(block, block->getNumArguments()).first->second.set(argument.getArgNumber());
      } else {
        results.set(cast<OpResult>(input.value).getResultNumber());
      }
      for (OpOperand *operand : input.from) {
        Operation *giver = operand->getOwner();
        operands.try_emplace(giver, giver->getNumOperands()).first->second.set(operand->getOperandNumber());
      }
    }
    for (auto &[giver, which] : operands)
      giver->eraseOperands(which);
    for (auto &[block, which] : arguments)
      block->eraseArguments(which);
    if (results.any())
      IRRewriter(op_->getContext()).eraseOpResults(op_, results);
    return true;
  }

  RegionBranchOpInterface op_;
  SmallVector<Input> inputs_; // arguments region by region, then results
  llvm::DenseMap<Value, unsigned> numbers_;
};

} // namespace

bool simplifyCarriedValues(Operation *root) {
  bool isChanged = false;
  // Inner loops first: what they hand on unchanged is then seen to be unchanged by the outer ones.
  root->walk([&](RegionBranchOpInterface op) { isChanged |= Carried(op).simplify(); });
  return isChanged;
}

} // namespace tegula::tile
