#include "analysis/PointerOrigins.h"

#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

// Holds what a value is made of, one step back.
struct PointerOrigins::Sources {
  SmallVector<Value, 4> values;
  bool isMixed = false; // computed of all of them together; else each element is an element of one of them
  State own;            // what it has beside theirs
};

// The values that an answer depends on, each behind those it is made of but around loops.
struct PointerOrigins::Slice {
  SmallVector<Value> values;
  std::vector<Sources> sources;
  std::vector<SmallVector<unsigned, 2>> users; // within the slice
};

namespace {

bool isPointer(Value value) { return isa<PointerType>(elementType(value.getType())); }

} // namespace

Value movedAddress(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumOperands() == 0 || op->getNumResults() == 0 ||
      !isMemoryEffectFree(op))
    return {};
  if (isa<AddPtrOp, GatherOp>(op))
    return op->getOperand(0);
  bool isMove = op->getNumOperands() == 1 && isPointer(op->getOperand(0)) && isPointer(op->getResult(0));
  return isMove && !isa<ElementwiseInlineAsmOp>(op) ? op->getOperand(0) : Value();
}

PointerOrigins::Sources PointerOrigins::sourcesOf(Value value) {
  Sources sources;
  // A value that has no rule is a pointer from somewhere, or a number.
  auto unnamed = [&] { (isPointer(value) ? sources.own.origins.isUnknown : sources.own.isNumber) = true; };
  auto oneOf = [&](std::initializer_list<Value> values) { sources.values.append(values); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    unsigned index = argument.getArgNumber();
    if (isa<FuncOp>(owner) && isPointer(value)) {
      sources.own.origins.arguments.resize(index + 1);
      sources.own.origins.arguments.set(index);
    } else if (auto loop = dyn_cast<scf::ForOp>(owner); loop && index > 0) {
      oneOf({loop.getInitArgs()[index - 1], loop.getYieldedValues()[index - 1]});
    } else if (auto loop = dyn_cast<scf::WhileOp>(owner)) {
      if (argument.getOwner() == loop.getBeforeBody())
        oneOf({loop.getInits()[index], loop.getYieldOp()->getOperand(index)});
      else
        oneOf({loop.getConditionOp().getArgs()[index]});
    } else {
      unnamed();
    }
    return sources;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    oneOf({branch.thenYield()->getOperand(index), branch.elseYield()->getOperand(index)});
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    oneOf({loop.getInitArgs()[index], loop.getYieldedValues()[index]});
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    oneOf({loop.getConditionOp().getArgs()[index]});
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    oneOf({select.getTrueValue(), select.getFalseValue()});
  } else if (Value moved = movedAddress(op)) {
    oneOf({moved});
  } else if (isa<JoinOp, CatOp, PtrToIntOp, IntToPtrOp>(op)) {
    sources.values.append(op->operand_begin(), op->operand_end());
  } else if (isMemoryEffectFree(op)) {
    // Arithmetic on addresses as integers, or assembly. A region may add what is no operand.
    sources.isMixed = true;
    sources.values.append(op->operand_begin(), op->operand_end());
    if (op->getNumOperands() == 0 || op->getNumRegions() != 0 || isPointer(value))
      unnamed();
  } else {
    unnamed();
  }
  return sources;
}

// Brings the state of a value up to those of its sources. Returns true if it grew.
bool PointerOrigins::update(const Slice &slice, unsigned index) {
  Value value = slice.values[index];
  const Sources &sources = slice.sources[index];
  State joined = sources.own;
  bool areNumbers = sources.isMixed && !sources.values.empty();
  for (Value source : sources.values) {
    const State &state = states_.find(source)->second;
    joined.origins.arguments |= state.origins.arguments;
    joined.origins.isUnknown |= state.origins.isUnknown;
    areNumbers &= state.isNumber;
    joined.isNumber |= state.isNumber && !sources.isMixed;
  }
  joined.isNumber |= areNumbers;
  if (joined.isNumber && isPointer(value))
    joined.origins.isUnknown = true; // a number taken for an address
  State &state = states_[value];
  bool grew = joined.origins.arguments.test(state.origins.arguments) || joined.isNumber != state.isNumber ||
              joined.origins.isUnknown != state.origins.isUnknown;
  state = std::move(joined);
  return grew;
}

void PointerOrigins::solve(Value start) {
  Slice slice;
  // Backwards by hand: a chain of user code may be as long as the program.
  struct Visit {
    Value value;
    Sources sources;
    size_t next = 0;
  };
  std::vector<Visit> path;
  llvm::DenseMap<Value, unsigned> indexOf;
  auto enter = [&](Value value) {
    if (states_.try_emplace(value).second)
      path.push_back({value, sourcesOf(value)});
  };
  for (enter(start); !path.empty();) {
    Visit &visit = path.back();
    if (visit.next != visit.sources.values.size()) {
      enter(visit.sources.values[visit.next++]);
      continue;
    }
    indexOf[visit.value] = slice.values.size();
    slice.values.push_back(visit.value);
    slice.sources.push_back(std::move(visit.sources));
    path.pop_back();
  }
  slice.users.resize(slice.values.size());
  for (unsigned i = 0; i != slice.values.size(); ++i)
    for (Value source : slice.sources[i].values)
      if (auto at = indexOf.find(source); at != indexOf.end())
        slice.users[at->second].push_back(i);
  // Once in order, then what follows where a loop leads back.
  std::vector<unsigned> grown;
  for (unsigned i = 0; i != slice.values.size(); ++i)
    if (update(slice, i) && llvm::any_of(slice.users[i], [&](unsigned user) { return user <= i; }))
      grown.push_back(i);
  while (!grown.empty()) {
    unsigned from = grown.back();
    grown.pop_back();
    for (unsigned user : slice.users[from])
      if (update(slice, user))
        grown.push_back(user);
  }
}

const OriginSet &PointerOrigins::of(Value address) {
  if (!states_.contains(address))
    solve(address);
  return states_.find(address)->second.origins;
}

} // namespace tegula::analysis
