#include "analysis/Access.h"
#include "analysis/Forms.h"
#include "analysis/PointerOrigins.h"

#include "ir/tile/Tile.h"

#include <set>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

bool Conjunct::dependsOn(unsigned dim) const {
  if (!form)
    return opaque.dependsOn(dim);
  return form->base.dependsOn(dim) || (dim < form->strides.size() && !form->strides[dim].isZero());
}

std::optional<SmallVector<int8_t, 4>> coordinateMap(Operation *op) {
  SmallVector<int8_t, 4> map;
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    for (size_t d = 0; d < shapeOf(expand.getValue().getType()).size(); ++d)
      map.push_back(int8_t(d < expand.getAxis() ? d : d + 1));
    return map;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (auto [d, extent] : llvm::enumerate(shapeOf(broadcast.getValue().getType())))
      map.push_back(extent == 1 ? -1 : int8_t(d));
    return map;
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    map.resize(trans.getOrder().size());
    for (auto [d, source] : llvm::enumerate(trans.getOrder()))
      map[source] = int8_t(d);
    return map;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    // Only dimensions of extent 1 come or go: the others keep their order.
    auto from = shapeOf(reshape.getValue().getType()), to = shapeOf(reshape.getType());
    size_t t = 0;
    for (int64_t extent : from) {
      if (extent == 1) {
        map.push_back(-1);
        continue;
      }
      while (t < to.size() && to[t] == 1)
        ++t;
      if (t == to.size() || to[t] != extent)
        return std::nullopt;
      map.push_back(int8_t(t++));
    }
    return map;
  }
  return std::nullopt;
}

int64_t bytesOf(PointerType pointer) {
  Type pointee = pointer.getPointee();
  return isa<PointerType>(pointee) ? 8 : (pointee.getIntOrFloatBitWidth() + 7) / 8;
}

std::optional<int64_t> constantOf(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
    return integer.getValue().getSExtValue();
  auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (dense && dense.isSplat())
    return dense.getSplatValue<APInt>().getSExtValue();
  return std::nullopt;
}

namespace {

// A mask of more parts than this is one condition without a form.
constexpr size_t mostConjuncts = 16, mostPartsOfMask = 256;

// The operands whose forms a tile's form is made of.
SmallVector<Value, 4> operandsOfForm(Value value, bool throughClamps) {
  Operation *op = value.getDefiningOp();
  if (!op || shapeOf(value.getType()).empty())
    return {};
  if (isa<SplatOp, arith::ExtSIOp>(op) || coordinateMap(op))
    return {op->getOperand(0)};
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  if (!throughClamps)
    return {};
  if (isa<arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && !shapeOf(select.getCondition().getType()).empty()) {
    SmallVector<Value, 4> operands{select.getTrueValue(), select.getFalseValue()};
    if (auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>())
      llvm::append_range(operands, compare->getOperands());
    return operands;
  }
  return {};
}

// The operand whose address a tile of addresses is made of, or null.
Value operandOfAddress(Value pointers) {
  Operation *op = pointers.getDefiningOp();
  bool isMade = op && !shapeOf(pointers.getType()).empty() && (isa<AddPtrOp>(op) || coordinateMap(op));
  return isMade ? op->getOperand(0) : Value();
}

// Computes what `value` needs before the value itself, on a stack of our own: an expression may be as deep as
// the program is long. `missing` appends the operands that are not known yet.
void computeInOrder(Value value, llvm::function_ref<bool(Value)> isKnown,
                    llvm::function_ref<void(Value, SmallVectorImpl<Value> &)> missing,
                    llvm::function_ref<void(Value)> compute) {
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value next = stack.back();
    size_t depth = stack.size();
    if (!isKnown(next)) {
      missing(next, stack);
      if (stack.size() != depth)
        continue;
      compute(next);
    }
    stack.pop_back();
  }
}

} // namespace

unsigned AccessAnalysis::number(Value value) {
  return numbers_.try_emplace(value, numbers_.size()).first->second;
}

Factor AccessAnalysis::factor(Value value) {
  Factor factor{value, number(value), {}};
  for (auto [d, extent] : llvm::enumerate(shapeOf(value.getType())))
    factor.dims.push_back(extent == 1 ? -1 : int8_t(d));
  return factor;
}

Form AccessAnalysis::opaque(Value value) {
  Form form;
  form.base = Polynomial(factor(value));
  form.strides.resize(shapeOf(value.getType()).size());
  return form;
}

const Form &AccessAnalysis::form(Value value) {
  auto isKnown = [&](Value v) { return forms_.contains(v); };
  auto missing = [&](Value v, SmallVectorImpl<Value> &stack) {
    llvm::copy_if(operandsOfForm(v, throughClamps_), std::back_inserter(stack),
                  [&](Value operand) { return !isKnown(operand); });
  };
  auto compute = [&](Value v) {
    auto form = std::make_unique<Form>(computeForm(v)); // it looks up others: first it, then its place
    forms_.try_emplace(v, std::move(form));
  };
  computeInOrder(value, isKnown, missing, compute);
  return *forms_.find(value)->second;
}

Form AccessAnalysis::computeForm(Value value) {
  size_t rank = shapeOf(value.getType()).size();
  if (auto constant = constantOf(value))
    return constantForm(*constant, rank);
  Operation *op = value.getDefiningOp();
  // Scalars are leaves: they are computed as written, so that nothing can wrap unseen.
  if (rank != 0 && op)
    if (auto form = formOfTileOp(op); form && isSmall(*form))
      return *form;
  return opaque(value);
}

std::optional<Form> AccessAnalysis::formOfTileOp(Operation *op) {
  size_t rank = shapeOf(op->getResult(0).getType()).size();
  if (auto range = dyn_cast<MakeRangeOp>(op)) {
    Form result;
    result.base = Polynomial(int32_t(range.getStart()));
    result.strides.push_back(Polynomial(1));
    return result;
  }
  if (auto splat = dyn_cast<SplatOp>(op)) {
    if (!isa<IntegerType>(splat.getValue().getType()))
      return std::nullopt;
    Form result = form(splat.getValue());
    result.strides.assign(rank, Polynomial());
    return result;
  }
  if (auto map = coordinateMap(op))
    return remap(form(op->getOperand(0)), *map, rank);
  if (isa<arith::AddIOp>(op))
    return combine(form(op->getOperand(0)), form(op->getOperand(1)), 1);
  if (isa<arith::SubIOp>(op))
    return combine(form(op->getOperand(0)), form(op->getOperand(1)), -1);
  if (isa<arith::MulIOp>(op))
    return multiply(form(op->getOperand(0)), form(op->getOperand(1)));
  if (std::optional<Clamp> found = clamp(op->getResult(0))) {
    Form result = form(found->inside);
    addCondition(result, found->inside);
    for (const Form &bound : found->bounds)
      addConditions(result, bound.conditions);
    result.conditions.push_back(op->getResult(0));
    return result;
  }
  if (auto extension = dyn_cast<arith::ExtSIOp>(op)) {
    if (elementType(extension.getIn().getType()).isInteger(1))
      return std::nullopt;
    Form result = form(extension.getIn());
    addCondition(result, extension.getIn());
    return result;
  }
  return std::nullopt;
}

const Address *AccessAnalysis::address(Value pointers) {
  auto isKnown = [&](Value v) { return addresses_.contains(v); };
  auto missing = [&](Value v, SmallVectorImpl<Value> &stack) {
    if (Value operand = operandOfAddress(v); operand && !isKnown(operand))
      stack.push_back(operand);
  };
  auto compute = [&](Value v) {
    auto address = std::make_unique<std::optional<Address>>(computeAddress(v));
    addresses_.try_emplace(v, std::move(address));
  };
  computeInOrder(pointers, isKnown, missing, compute);
  const std::optional<Address> &address = *addresses_.find(pointers)->second;
  return address ? &*address : nullptr;
}

std::optional<Address> AccessAnalysis::computeAddress(Value value) {
  auto shape = shapeOf(value.getType());
  auto scalarPointer = [&](Value pointer) {
    Address address{pointer, {}};
    address.offset.strides.resize(shape.size());
    return address;
  };
  if (shape.empty())
    return scalarPointer(value);
  Operation *op = value.getDefiningOp();
  Value from = op ? movedAddress(op) : Value();
  if (!from)
    return std::nullopt;
  if (isa<SplatOp>(op))
    return scalarPointer(from);
  auto map = coordinateMap(op);
  auto add = dyn_cast<AddPtrOp>(op);
  const Address *inner = map || add ? address(from) : nullptr;
  if (!inner)
    return std::nullopt;
  if (map)
    return Address{inner->pointer, remap(inner->offset, *map, shape.size())};
  int64_t bytes = bytesOf(cast<PointerType>(elementType(value.getType())));
  Form offset = form(add.getOffset());
  // addptr extends its offset to 64 bits: the offset's own arithmetic must not have wrapped.
  if (elementType(add.getOffset().getType()).getIntOrFloatBitWidth() < 64)
    addCondition(offset, add.getOffset());
  auto sum = combine(inner->offset, offset, bytes);
  if (!sum || !isSmall(*sum, limitsOfAddress))
    return std::nullopt;
  return Address{inner->pointer, *sum};
}

std::optional<SmallVector<Factor, 2>> conditionsOf(Value mask) {
  size_t rank = shapeOf(mask.getType()).size();
  std::set<std::pair<const void *, SmallVector<int8_t, 3>>> seen; // membership only
  SmallVector<Factor> stack{{mask, 0, {}}};
  for (size_t d = 0; d < rank; ++d)
    stack.back().dims.push_back(int8_t(d));
  SmallVector<Factor, 2> all;
  while (!stack.empty()) {
    Factor part = stack.pop_back_val();
    Operation *op = part.value.getDefiningOp();
    if (!seen.emplace(part.value.getAsOpaquePointer(), part.dims).second)
      continue;
    if (seen.size() > mostPartsOfMask || all.size() > mostConjuncts)
      return std::nullopt;
    if (isa_and_nonnull<arith::AndIOp>(op)) {
      stack.push_back({op->getOperand(1), 0, part.dims});
      stack.push_back({op->getOperand(0), 0, part.dims}); // comes first
      continue;
    }
    if (auto map = op ? coordinateMap(op) : std::nullopt) {
      Factor inner{op->getOperand(0), 0, {}};
      for (int8_t dim : *map)
        inner.dims.push_back(dim < 0 ? int8_t(-1) : part.dims[dim]);
      stack.push_back(std::move(inner));
      continue;
    }
    if (auto constant = constantOf(part.value); !constant || *constant == 0)
      all.push_back(std::move(part));
  }
  return all;
}

SmallVector<Conjunct, 2> AccessAnalysis::conjuncts(Value mask) {
  size_t rank = shapeOf(mask.getType()).size();
  auto conditions = conditionsOf(mask);
  if (!conditions)
    return {Conjunct{std::nullopt, factor(mask)}};
  SmallVector<Conjunct, 2> all;
  for (const Factor &condition : *conditions) {
    Conjunct conjunct = conjunctOf(condition.value);
    if (conjunct.form)
      conjunct.form = remap(*conjunct.form, condition.dims, rank);
    for (int8_t &dim : conjunct.opaque.dims)
      if (dim >= 0)
        dim = condition.dims[dim];
    if (!llvm::is_contained(all, conjunct))
      all.push_back(std::move(conjunct));
  }
  return all;
}

Conjunct AccessAnalysis::conjunctOf(Value mask) {
  Conjunct opaque{std::nullopt, factor(mask)};
  if (auto splat = mask.getDefiningOp<SplatOp>())
    return {std::nullopt, factor(splat.getValue())};
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
  if (!compare || shapeOf(mask.getType()).empty())
    return opaque;
  Value left = compare.getLhs(), right = compare.getRhs();
  int64_t slack = 0; // a < b is a - b < 0; a <= b is a - b - 1 < 0
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt: break;
  case arith::CmpIPredicate::sle: slack = -1; break;
  case arith::CmpIPredicate::sgt: std::swap(left, right); break;
  case arith::CmpIPredicate::sge:
    std::swap(left, right);
    slack = -1;
    break;
  default: return opaque;
  }
  auto below = difference(form(left), form(right), slack);
  if (!below)
    return opaque;
  for (Value side : {left, right})
    addCondition(*below, side);
  return {*below, {}};
}

std::optional<SmallVector<Value>> masksOf(Value pointers) {
  SmallVector<Value> masks;
  for (OpOperand &use : pointers.getUses()) {
    auto load = dyn_cast<LoadOp>(use.getOwner());
    auto store = dyn_cast<StoreOp>(use.getOwner());
    bool isAccess = (load || store) && use.getOperandNumber() == 0;
    Value mask = !isAccess ? Value() : load ? load.getMask() : store.getMask();
    if (isAccess ? !mask : !isMemoryEffectFree(use.getOwner()))
      return std::nullopt;
    if (isAccess && !llvm::is_contained(masks, mask))
      masks.push_back(mask);
  }
  return masks;
}

} // namespace tegula::analysis
