#include "transforms/BulkCopies.h"
#include "analysis/Multiples.h"
#include "ir/simt/Scratch.h"
#include "transforms/FormRanges.h"
#include "transforms/LoopVersions.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace tegula::tile;
using tegula::analysis::Address;
using tegula::analysis::Conjunct;
using tegula::analysis::Factor;
using tegula::analysis::Form;
using tegula::analysis::Monomial;
using tegula::analysis::Polynomial;

namespace tegula::transforms {

namespace {

constexpr uint32_t mostOfBox = 256, rowsOfPattern = 8, longestSwizzle = 128, shortestSwizzle = 32;

// The elements of a row of a box of a tile; 0: the tile has none. `inner`: the dimension of columns.
uint32_t boxColumnsOf(ArrayRef<int64_t> shape, unsigned inner, unsigned elementBytes) {
  uint32_t box = std::min(uint32_t(shape[inner]), longestSwizzle / elementBytes);
  return box * elementBytes < shortestSwizzle || shape[1 - inner] % rowsOfPattern ? 0 : box;
}

// `sign·clamp + constant` without its clamp between 0 and at least `atLeast`, where the polynomial is that:
// whether a bound that is cut off there lies beyond it, or is 0, the clamp does not change.
Polynomial withoutClamp(const Polynomial &base, int64_t sign, int64_t constant, int64_t atLeast) {
  Value clamp;
  for (const Monomial &term : base.terms()) {
    bool isConstant = term.factors.empty() && term.coefficient == constant;
    bool isClamp = term.factors.size() == 1 && term.coefficient == sign && !term.factors[0].isTile();
    if (!isConstant && !isClamp)
      return base;
    if (isClamp)
      clamp = term.factors[0].value;
  }
  if (!clamp || base.terms().size() != (constant ? 2 : 1))
    return base;
  if (auto narrowed = clamp.getDefiningOp<arith::TruncIOp>(); narrowed && clamp.getType().isInteger(32))
    clamp = narrowed.getIn();
  auto most = clamp.getDefiningOp<arith::MinSIOp>();
  auto least = most ? most.getLhs().getDefiningOp<arith::MaxSIOp>() : arith::MaxSIOp();
  APInt extent;
  if (!least || !matchPattern(most.getRhs(), m_ConstantInt(&extent)) ||
      !matchPattern(least.getRhs(), m_Zero()) || extent.getSExtValue() < atLeast ||
      extent.getSExtValue() > std::numeric_limits<int32_t>::max())
    return base;
  Polynomial inside(Factor{least.getLhs(), 0, {}});
  auto scaled = inside.scaled(sign);
  auto sum = scaled ? Polynomial::add(*scaled, Polynomial(constant)) : std::nullopt;
  return sum ? *sum : base;
}

void addAll(llvm::SmallSetVector<Value, 8> &conditions, const Form &form) {
  conditions.insert(form.conditions.begin(), form.conditions.end());
}

} // namespace

// Conditions on values of a loop, asked of all trips at once.
class AskedAhead {
public:
  AskedAhead(Emitted e, TripValues &trips) : e_(e), trips_(trips) {}

  Value fits() const { return fits_; }
  void also(Value condition) { fits_ = fits_ ? e_.both(fits_, condition) : condition; }

  template <typename Op> InTrips combine(const InTrips &x, const InTrips &y) {
    return {e_.make<Op>(x.first, y.first), e_.make<Op>(x.second, y.second), e_.make<Op>(x.last, y.last),
            x.size + y.size, x.varies || y.varies};
  }
  static InTrips everywhere(Value value) { return {value, value, value, 0, false}; }

  // Of what is linear, or curved upwards for `<` and downwards for `>=`: then the ends are the extremes.
  void atEnds(arith::CmpIPredicate predicate, const InTrips &value, int64_t than) {
    also(e_.compare(predicate, value.first, than));
    if (value.varies)
      also(e_.compare(predicate, value.last, than));
  }

  // nullopt: it is not known to be linear, or too large for 64 bits.
  std::optional<InTrips> of(const Polynomial &polynomial) {
    std::optional<InTrips> value = trips_.of(polynomial);
    return value && value->size < largestSize ? value : std::nullopt;
  }

  // A form's range over a tile; the strides do not vary.
  std::optional<std::pair<InTrips, InTrips>> range(const Form &form, ArrayRef<int64_t> shape) {
    std::optional<InTrips> least = of(form.base), greatest = least;
    if (!least)
      return std::nullopt;
    for (auto [stride, extent] : llvm::zip(form.strides, shape)) {
      if (stride.isZero() || extent == 1)
        continue;
      std::optional<InTrips> step = of(stride);
      if (!step || step->varies)
        return std::nullopt;
      Value end = e_.make<arith::MulIOp>(step->first, e_.constant(extent - 1)), zero = e_.constant(0);
      least = combine<arith::AddIOp>(*least, everywhere(e_.make<arith::MinSIOp>(end, zero)));
      greatest = combine<arith::AddIOp>(*greatest, everywhere(e_.make<arith::MaxSIOp>(end, zero)));
    }
    return std::pair(*least, *greatest);
  }

  // The arithmetic behind a condition of a form (analysis/Access.h) is exact; false: that is not asked here.
  bool askExact(Value condition, analysis::AccessAnalysis &access) {
    using enum arith::CmpIPredicate;
    ArrayRef<int64_t> shape = shapeOf(condition.getType());
    if (std::optional<analysis::Clamp> clamp = access.clamp(condition))
      return llvm::all_of(clamp->bounds, [&](const Form &bound) {
        auto ends = range(bound, shape);
        if (ends)
          atEnds(slt, ends->second, 0);
        return ends.has_value();
      });
    unsigned width = elementType(condition.getType()).getIntOrFloatBitWidth();
    if (width == 64)
      return true;
    auto ends = range(access.form(condition), shape);
    if (!ends)
      return false;
    auto [least, greatest] = *ends;
    atEnds(sge, least, -(int64_t(1) << (width - 1)));
    atEnds(slt, greatest, int64_t(1) << (width - 1));
    return true;
  }

  // A tile begins at one of the places of maps, and modulo 2^64 all of them lie on a line; steps of this size
  // let no trip between the ends leave what these span.
  void askPlaces(const InTrips &place) {
    using enum arith::CmpIPredicate;
    constexpr int64_t longest = int64_t(1) << 31;
    Value step = e_.make<arith::SubIOp>(place.second, place.first);
    if (place.varies)
      also(e_.b.createOrFold<arith::CmpIOp>(e_.loc, ult, e_.make<arith::AddIOp>(step, e_.constant(longest)),
                                            e_.constant(2 * longest)));
    atEnds(slt, place, int64_t(CopyMap::unit * CopyMap::origins));
    also(isMultiple(place, CopyMap::unit));
  }

  // Is the value a multiple of a power of two in all trips?
  Value isMultiple(const InTrips &value, int64_t of) {
    Value step = e_.make<arith::SubIOp>(value.second, value.first);
    Value bits = e_.make<arith::AndIOp>(e_.make<arith::OrIOp>(value.first, step), e_.constant(of - 1));
    return e_.compare(arith::CmpIPredicate::eq, bits, 0);
  }

private:
  Emitted e_;
  TripValues &trips_;
  Value fits_;
};

BulkCopies::BulkCopies(Operation *function) : function_(function) {}

layout::SharedMap BulkCopies::mapOfBoxes(ArrayRef<int64_t> shape, unsigned inner, unsigned elementBytes) {
  auto columns = uint32_t(shape[inner]), rows = uint32_t(shape[1 - inner]);
  uint32_t box = std::min(columns, longestSwizzle / elementBytes), swizzle = box * elementBytes;
  layout::Layout tile(shape.vec(), {});
  layout::SharedMap map{std::vector<uint32_t>(tile.totalBits())};
  auto put = [&](unsigned dim, unsigned bit, uint32_t element) {
    uint32_t bytes = element * elementBytes;
    bytes ^= bytes >> 3 & (swizzle / 16 - 1) << 4;
    map.images[tile.shift(dim) + bit] = bytes / elementBytes;
  };
  for (unsigned bit = 0; (1u << bit) < columns; ++bit)
    put(inner, bit, (1u << bit) < box ? 1u << bit : rows << bit);
  for (unsigned bit = 0; (1u << bit) < rows; ++bit)
    put(1 - inner, bit, box << bit);
  return map;
}

// The address behind an access's tile, from as far back as may be.
std::optional<Address> BulkCopies::addressOf(const Access &access) {
  return analysis::addressBehind(access_, access.pointers, [](Value) { return true; });
}

// Boxes are read by another proxy than that through which threads write global memory.
bool BulkCopies::isEverywhereRead(LoadOp load) {
  bool isRead = true;
  const analysis::OriginSet from = origins_.of(load.getPtr());
  function_->walk([&](Operation *op) {
    auto assembly = dyn_cast<ElementwiseInlineAsmOp>(op);
    if (isa<AtomicRMWOp, AtomicCASOp, BarrierOp>(op) || (assembly && !assembly.getPure()))
      isRead = false;
    else if (auto store = dyn_cast<StoreOp>(op))
      isRead &= !from.mayShare(origins_.of(store.getPtr()));
  });
  return isRead;
}

std::optional<unsigned> BulkCopies::innerOf(const Access &access) {
  std::optional<Address> address = addressOf(access);
  int64_t size = simt::storedBits(access.tile.getElementType()) / 8;
  for (unsigned dim : {1u, 0u})
    if (address && access.tile.getRank() == 2 && address->offset.strides[dim].constant() == size)
      return dim;
  return std::nullopt;
}

std::optional<int64_t> BulkCopies::distance(const Access &from, const Access &to) {
  std::optional<Address> first = addressOf(from), second = addressOf(to);
  if (!first || !second || first->pointer != second->pointer ||
      first->offset.strides != second->offset.strides)
    return std::nullopt;
  auto less = first->offset.base.scaled(-1);
  auto between = less ? Polynomial::add(second->offset.base, *less) : std::nullopt;
  return between ? between->constant() : std::nullopt;
}

Value BulkCopies::rowDistance(OpBuilder &builder, const Plan &plan) {
  Emitted e{builder, plan.access.op->getLoc()};
  return e.of(addressOf(plan.access)->offset.strides[1 - plan.inner]);
}

std::optional<BulkCopies::Plan> BulkCopies::plan(const Access &access, const layout::SharedMap &map,
                                                 std::string &why) {
  auto refuse = [&](const char *text) {
    why = text;
    return std::nullopt;
  };
  if (auto loop = access.op->getParentOfType<scf::ForOp>(); loop && loop->hasAttr(hasVersionName))
    return refuse("where it could be one, a version of the loop runs");
  ArrayRef<int64_t> shape = access.tile.getShape();
  unsigned bits = simt::storedBits(access.tile.getElementType());
  if (shape.size() != 2 || !llvm::all_of(shape, [](int64_t extent) { return llvm::isPowerOf2_64(extent); }))
    return refuse("its tile has not two dimensions, both powers of two");
  std::optional<Address> address = addressOf(access);
  auto pointer = address ? dyn_cast<BlockArgument>(address->pointer) : BlockArgument();
  if (!pointer || pointer.getOwner() != &function_->getRegion(0).front())
    return refuse("its addresses are no parameter's and an offset");
  std::optional<unsigned> inner = innerOf(access);
  if (!inner)
    return refuse("its elements do not follow each other");
  Plan plan{access, {}, *inner};
  int64_t size = bits / 8;
  CopyMap &made = plan.map;
  made.pointer = pointer.getArgNumber();
  made.elementBytes = uint32_t(size);
  const Polynomial &stride = address->offset.strides[1 - plan.inner];
  if (stride.terms().size() != 1 || stride.terms()[0].factors.size() > 1)
    return refuse("the distance of its rows is no parameter");
  made.strideScale = stride.terms()[0].coefficient;
  for (const Factor &factor : stride.terms()[0].factors) {
    auto parameter = dyn_cast<BlockArgument>(analysis::withoutMultiple(withoutExtension(factor.value)));
    if (factor.isTile() || !parameter || parameter.getOwner() != pointer.getOwner())
      return refuse("the distance of its rows is no parameter");
    unsigned width = parameter.getType().getIntOrFloatBitWidth();
    if (width != 32 && width != 64)
      return refuse("the distance of its rows is no parameter of 32 or 64 bits");
    made.strideOf = int32_t(parameter.getArgNumber());
    made.isNarrow = width == 32;
  }
  made.columns = uint32_t(shape[plan.inner]);
  made.rows = uint32_t(shape[1 - plan.inner]);
  made.boxRows = std::min(made.rows, mostOfBox);
  made.boxColumns = boxColumnsOf(shape, plan.inner, made.elementBytes);
  if (made.boxColumns == 0 || map != mapOfBoxes(shape, plan.inner, made.elementBytes))
    return refuse("its buffer is in another order");
  // Everything that is computed of it.
  llvm::SmallSetVector<Value, 8> conditions;
  addAll(conditions, address->offset);
  if (!isScalar(address->offset.base))
    return refuse("where it begins is no scalar");
  if (access.mask)
    for (const Conjunct &conjunct : access_.conjuncts(access.mask)) {
      if (!conjunct.form) {
        if (conjunct.opaque.isTile() || !conjunct.opaque.value.getType().isInteger(1))
          return refuse("its mask is more than bounds");
        continue;
      }
      unsigned along = 0;
      for (const Polynomial &each : conjunct.form->strides) {
        along += !each.isZero();
        if (!each.isZero() && each.constant() != 1 && each.constant() != -1)
          return refuse("its mask is more than bounds");
      }
      if (along > 1 || !(sizeOf(conjunct.form->base) < largestSize))
        return refuse("its mask is more than bounds");
      addAll(conditions, *conjunct.form);
    }
  plan.isClamped =
      llvm::any_of(conditions, [&](Value condition) { return access_.clamp(condition).has_value(); });
  if (!llvm::all_of(conditions, [&](Value condition) { return isComputed(condition, access_); }))
    return refuse("its arithmetic could wrap in ways that are not computed");
  if (auto load = dyn_cast<LoadOp>(access.op); load && !isEverywhereRead(load))
    return refuse("the kernel may write what it reads");
  return plan;
}

BulkCopies::Needed BulkCopies::neededBy(const Access &access, const Address &address) {
  Needed needed;
  llvm::SmallSetVector<Value, 8> conditions;
  addAll(conditions, address.offset);
  if (access.mask)
    needed.conjuncts = access_.conjuncts(access.mask);
  for (const Conjunct &conjunct : needed.conjuncts)
    if (conjunct.form)
      addAll(conditions, *conjunct.form);
  needed.conditions.assign(conditions.begin(), conditions.end());
  return needed;
}

// The bounds of columns and rows that a mask has; false: what it asks is not known ahead of the loop.
bool BulkCopies::boundsInAllTrips(OpBuilder &builder, const Plan &plan, const Needed &needed,
                                  AskedAhead &asked, std::optional<InTrips> (&bounds)[2]) {
  Emitted e{builder, plan.access.op->getLoc()};
  int64_t extents[2] = {plan.map.columns, plan.map.rows};
  auto loop = plan.access.op->getParentOfType<scf::ForOp>();
  for (const Conjunct &conjunct : needed.conjuncts) {
    if (!conjunct.form) {
      if (!loop.isDefinedOutsideOfLoop(conjunct.opaque.value))
        return false;
      asked.also(conjunct.opaque.value);
      continue;
    }
    unsigned dim = 2;
    for (unsigned d : {0u, 1u})
      if (conjunct.form->strides[d].constant() == 1)
        dim = d;
    unsigned which = dim == plan.inner ? 0 : 1;
    std::optional<InTrips> base = asked.of(conjunct.form->base);
    if (!base)
      base = asked.of(dim == 2 ? withoutClamp(conjunct.form->base, 1, -1, 1)
                               : withoutClamp(conjunct.form->base, -1, 0, extents[which]));
    if (!base || (dim != 2 && bounds[which]))
      return false;
    if (dim == 2)
      asked.atEnds(arith::CmpIPredicate::slt, *base, 0);
    else
      bounds[which] = asked.combine<arith::SubIOp>(AskedAhead::everywhere(e.constant(0)), *base);
  }
  return true;
}

std::optional<BulkCopies::Ahead> BulkCopies::fitsInAllTrips(OpBuilder &builder, const Plan &plan,
                                                            TripValues &trips) {
  Emitted e{builder, plan.access.op->getLoc()};
  AskedAhead asked(e, trips);
  const Address address = *addressOf(plan.access);
  Needed needed = neededBy(plan.access, address);
  std::optional<InTrips> bounds[2]; // of columns and rows
  if (!boundsInAllTrips(builder, plan, needed, asked, bounds) ||
      !llvm::all_of(needed.conditions, [&](Value each) { return asked.askExact(each, access_); }))
    return std::nullopt;
  std::optional<InTrips> stride = trips.of(address.offset.strides[1 - plan.inner]),
                         place = trips.of(address.offset.base);
  if (!place || !stride || stride->varies)
    return std::nullopt;
  asked.askPlaces(*place);
  // The window begins ahead of the tile by what lies behind the bounds. A tile that lies behind them
  // altogether may be anywhere: this is not cut off at the extent, so that the place is curved downwards.
  Ahead ahead;
  int64_t extents[2] = {plan.map.columns, plan.map.rows};
  auto width = uint64_t(plan.access.op->getAttrOfType<IntegerAttr>(simt::widthName).getInt());
  for (unsigned i : {0u, 1u}) {
    if (!bounds[i])
      continue;
    Value unit = i == 0 ? e.constant(plan.map.elementBytes) : stride->first;
    auto missing = [&](Value bound) {
      Value less = e.make<arith::SubIOp>(e.constant(extents[i]), bound);
      return e.make<arith::MulIOp>(e.make<arith::MaxSIOp>(less, e.constant(0)), unit);
    };
    const InTrips &bound = *bounds[i];
    place = asked.combine<arith::SubIOp>(
        *place, {missing(bound.first), missing(bound.second), missing(bound.last), 0, bound.varies});
    // An access that takes all bytes between two places proves that the mask is the same for them.
    if (i == 0 && width * plan.map.elementBytes < CopyMap::unit)
      ahead.tailFits = asked.isMultiple(bound, std::max<int64_t>(CopyMap::unit / plan.map.elementBytes, 1));
  }
  asked.atEnds(arith::CmpIPredicate::sge, *place, 0);
  ahead.fits = asked.fits();
  return ahead;
}

BulkCopies::Place BulkCopies::locate(OpBuilder &builder, const Plan &plan, const std::optional<Ahead> &ahead,
                                     Value &fits) {
  using enum arith::CmpIPredicate;
  Emitted e{builder, plan.access.op->getLoc()};
  const Address address = *addressOf(plan.access);
  Needed needed = neededBy(plan.access, address);
  auto also = [&](Value condition) { fits = e.both(fits, condition); };

  int64_t extents[2] = {plan.map.columns, plan.map.rows};
  Value bounds[2]; // of columns and rows
  for (const Conjunct &conjunct : needed.conjuncts) {
    if (!conjunct.form) {
      if (!ahead)
        also(conjunct.opaque.value);
      continue;
    }
    Value base = e.of(conjunct.form->base);
    unsigned dim = 2;
    for (unsigned d : {0u, 1u})
      if (conjunct.form->strides[d].constant() == 1)
        dim = d;
    if (dim == 2) { // holds for all indices if it does for the first
      if (!ahead)
        also(e.compare(slt, base, 0));
      continue;
    }
    Value bound = e.make<arith::SubIOp>(e.constant(0), base);
    Value &known = bounds[dim == plan.inner ? 0 : 1];
    known = known ? e.make<arith::MinSIOp>(known, bound) : bound;
  }
  if (!ahead)
    for (Value condition : needed.conditions)
      also(e.holds(condition, access_));

  // The first column and row inside of the window; its end is the end of the bounds.
  Value first[2];
  for (unsigned i : {0u, 1u}) {
    Value extent = e.constant(extents[i]);
    if (!bounds[i]) {
      first[i] = e.constant(0);
      continue;
    }
    Value bound = e.make<arith::MaxSIOp>(e.make<arith::MinSIOp>(bounds[i], extent), e.constant(0));
    first[i] = e.make<arith::SubIOp>(extent, bound);
  }
  Value stride = e.of(address.offset.strides[1 - plan.inner]);
  Value begin = e.of(address.offset.base);
  begin = e.make<arith::SubIOp>(begin, e.make<arith::MulIOp>(first[0], e.constant(plan.map.elementBytes)));
  begin = e.make<arith::SubIOp>(begin, e.make<arith::MulIOp>(first[1], stride));
  if (!ahead) {
    also(e.compare(sge, begin, 0));
    also(e.compare(slt, begin, int64_t(CopyMap::unit * CopyMap::origins)));
    also(e.compare(eq, e.make<arith::AndIOp>(begin, e.constant(CopyMap::unit - 1)), 0));
  } else if (ahead->tailFits) {
    also(e.make<arith::OrIOp>(ahead->tailFits, e.compare(sge, bounds[0], extents[0])));
  }
  Value origin = e.make<arith::ShRUIOp>(begin, e.constant(llvm::Log2_64(CopyMap::unit)));
  auto narrow = [&](Value value) {
    return builder.createOrFold<arith::TruncIOp>(e.loc, builder.getI32Type(), value);
  };
  return {narrow(first[0]), narrow(first[1]), narrow(origin)};
}

} // namespace tegula::transforms
