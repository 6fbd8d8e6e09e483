#include "analysis/Access.h"
#include "analysis/PointerOrigins.h"

#include "ir/tile/Tile.h"

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

namespace {

// A form of the operand as a form of the result.
Form remap(const Form &form, ArrayRef<int8_t> map, size_t resultRank) {
  Form result;
  result.conditions = form.conditions;
  // A dimension of extent 1 has index 0: its stride does not matter.
  result.base = form.base.remapped(map);
  result.strides.resize(resultRank);
  for (auto [d, stride] : llvm::enumerate(form.strides))
    if (map[d] >= 0)
      result.strides[map[d]] = stride.remapped(map);
  return result;
}

std::optional<Form> combine(const Form &a, const Form &b, int64_t scaleB) {
  Form result;
  auto addScaled = [&](const Polynomial &x, const Polynomial &y) -> std::optional<Polynomial> {
    auto scaled = y.scaled(scaleB);
    return scaled ? Polynomial::add(x, *scaled) : std::nullopt;
  };
  auto base = addScaled(a.base, b.base);
  if (!base)
    return std::nullopt;
  result.base = *base;
  for (auto [x, y] : llvm::zip(a.strides, b.strides)) {
    auto stride = addScaled(x, y);
    if (!stride)
      return std::nullopt;
    result.strides.push_back(*stride);
  }
  result.conditions = a.conditions;
  for (Value condition : b.conditions)
    if (!llvm::is_contained(result.conditions, condition))
      result.conditions.push_back(condition);
  return result;
}

bool isUniform(const Form &form) {
  return llvm::all_of(form.strides, [](const Polynomial &stride) { return stride.isZero(); });
}

// Polynomials stay small: a product of forms that would not is left opaque.
bool isSmall(const Form &form) {
  size_t terms = form.base.terms().size();
  for (const Polynomial &stride : form.strides)
    terms += stride.terms().size();
  return terms <= 12;
}

std::optional<Form> multiply(const Form &a, const Form &b) {
  const Form &uniform = isUniform(b) ? b : a, &other = isUniform(b) ? a : b;
  if (!isUniform(uniform))
    return std::nullopt;
  // (base + Σ s·i)·u with u varying over the tile is not affine in i unless s is zero
  // wherever u varies; a factor that varies is allowed, since strides may hold factors.
  Form result;
  auto base = Polynomial::multiply(other.base, uniform.base);
  if (!base)
    return std::nullopt;
  result.base = *base;
  for (auto [d, stride] : llvm::enumerate(other.strides)) {
    auto product = Polynomial::multiply(stride, uniform.base);
    if (!product || (!product->isZero() && product->dependsOn(d)))
      return std::nullopt;
    result.strides.push_back(*product);
  }
  result.conditions = a.conditions;
  for (Value condition : b.conditions)
    if (!llvm::is_contained(result.conditions, condition))
      result.conditions.push_back(condition);
  return result;
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
  auto it = forms_.find(value);
  if (it == forms_.end()) {
    auto form = std::make_unique<Form>(computeForm(value));
    it = forms_.try_emplace(value, std::move(form)).first;
  }
  return *it->second;
}

Form AccessAnalysis::computeForm(Value value) {
  size_t rank = shapeOf(value.getType()).size();
  if (auto constant = constantOf(value)) {
    Form form;
    form.base = Polynomial(*constant);
    form.strides.resize(rank);
    return form;
  }
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
    result.base = Polynomial(range.getStart());
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
  if (auto extension = dyn_cast<arith::ExtSIOp>(op)) {
    if (elementType(extension.getIn().getType()).isInteger(1))
      return std::nullopt;
    Form result = form(extension.getIn());
    if (!llvm::is_contained(result.conditions, extension.getIn()))
      result.conditions.push_back(extension.getIn());
    return result;
  }
  return std::nullopt;
}

const Address *AccessAnalysis::address(Value pointers) {
  auto it = addresses_.find(pointers);
  if (it == addresses_.end()) {
    auto address = std::make_unique<std::optional<Address>>(computeAddress(pointers));
    it = addresses_.try_emplace(pointers, std::move(address)).first;
  }
  return it->second->has_value() ? &**it->second : nullptr;
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
  auto pointee = cast<PointerType>(elementType(value.getType())).getPointee();
  int64_t bytes = isa<PointerType>(pointee) ? 8 : (pointee.getIntOrFloatBitWidth() + 7) / 8;
  Form offset = form(add.getOffset());
  // addptr extends its offset to 64 bits: the offset's own arithmetic must not have wrapped.
  if (elementType(add.getOffset().getType()).getIntOrFloatBitWidth() < 64 &&
      !llvm::is_contained(offset.conditions, add.getOffset()))
    offset.conditions.push_back(add.getOffset());
  auto sum = combine(inner->offset, offset, bytes);
  if (!sum)
    return std::nullopt;
  return Address{inner->pointer, *sum};
}

SmallVector<Conjunct, 2> AccessAnalysis::conjuncts(Value mask) {
  auto opaqueMask = [&]() -> SmallVector<Conjunct, 2> { return {Conjunct{std::nullopt, factor(mask)}}; };
  auto rank = shapeOf(mask.getType()).size();
  if (auto constant = constantOf(mask); constant && *constant != 0)
    return {};
  Operation *op = mask.getDefiningOp();
  if (!op)
    return opaqueMask();
  if (auto splat = dyn_cast<SplatOp>(op))
    return {Conjunct{std::nullopt, factor(splat.getValue())}};
  if (isa<arith::AndIOp>(op)) {
    auto both = conjuncts(op->getOperand(0));
    for (Conjunct &c : conjuncts(op->getOperand(1)))
      if (!llvm::is_contained(both, c))
        both.push_back(std::move(c));
    return both;
  }
  if (auto map = coordinateMap(op)) {
    auto inner = conjuncts(op->getOperand(0));
    for (Conjunct &c : inner) {
      if (c.form) {
        c.form = remap(*c.form, *map, rank);
        continue;
      }
      for (int8_t &dim : c.opaque.dims)
        if (dim >= 0)
          dim = (*map)[dim];
    }
    return inner;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || rank == 0)
    return opaqueMask();
  Value left = compare.getLhs(), right = compare.getRhs();
  int64_t slack = 0; // a < b is a - b < 0; a <= b is a - b - 1 < 0
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt: break;
  case arith::CmpIPredicate::sle: slack = -1; break;
  case arith::CmpIPredicate::sgt: std::swap(left, right); break;
  case arith::CmpIPredicate::sge: std::swap(left, right); slack = -1; break;
  default: return opaqueMask();
  }
  auto difference = combine(form(left), form(right), -1);
  if (!difference)
    return opaqueMask();
  auto base = Polynomial::add(difference->base, Polynomial(slack));
  if (!base || !isSmall(*difference))
    return opaqueMask();
  difference->base = *base;
  for (Value side : {left, right})
    if (!llvm::is_contained(difference->conditions, side))
      difference->conditions.push_back(side);
  return {Conjunct{*difference, {}}};
}

} // namespace tegula::analysis
