#include "targets/cpu/Guards.h"

#include "ir/tile/Tile.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

struct Range {
  llvm::Value *low, *high; // i64, inclusive
};

// Walks the inline expressions of a nest with the map from each tile's dimensions to the
// nest's.
class AccessWalk {
public:
  AccessWalk(const Nest &nest, const NestPlan &plan) : nest_(nest), plan_(plan), filled_(filledBy(nest)) {}

  NestAccesses run() {
    SmallVector<int8_t, 4> identity;
    for (size_t d = 0; d < nest_.shape.size(); ++d)
      identity.push_back(nest_.shape[d] == 1 ? -1 : int8_t(d));
    for (const Root &root : nest_.roots) {
      if (root.kind == RootKind::Buffer) {
        expand(root.value, identity);
        continue;
      }
      for (Value operand : root.op->getOperands()) {
        if (root.kind == RootKind::Reduce && root.over == ReduceOver::All)
          operand = operand.getDefiningOp()->getOperand(0);
        visit(operand, identity);
      }
      if (auto store = dyn_cast<StoreOp>(root.op))
        found_.stores.push_back({store, store.getPtr(), store.getMask(), identity});
    }
    return std::move(found_);
  }

private:
  struct Key {
    Value value;
    SmallVector<int8_t, 4> map;
    bool operator<(const Key &other) const {
      return value != other.value
                 ? value.getAsOpaquePointer() < other.value.getAsOpaquePointer()
                 : std::lexicographical_compare(map.begin(), map.end(), other.map.begin(), other.map.end());
    }
  };

  bool isRead(Value value) const {
    return !isa<RankedTensorType>(value.getType()) || (plan_.buffer(value) && !filled_.contains(value));
  }

  void visit(Value value, ArrayRef<int8_t> map) {
    if (isRead(value))
      noteRead(value, map);
    else
      expand(value, map);
  }

  void noteRead(Value value, ArrayRef<int8_t> map) {
    SmallVector<int8_t, 4> dims(map);
    if (isa<RankedTensorType>(value.getType()) && seen_.insert({value, dims}).second)
      found_.reads.push_back({value, dims});
  }

  // Users before their operands, those from left to right.
  void expand(Value root, ArrayRef<int8_t> rootMap) {
    SmallVector<Key> stack{{root, SmallVector<int8_t, 4>(rootMap)}};
    while (!stack.empty()) {
      auto [value, map] = stack.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || !isInline(op) || !seen_.insert({value, map}).second)
        continue;
      if (auto load = dyn_cast<LoadOp>(op))
        found_.loads.push_back({load, load.getPtr(), load.getMask(), map});
      SmallVector<int8_t, 4> inner(map);
      if (isa<JoinOp>(op))
        inner.pop_back();
      if (auto moved = coordinateMap(op)) {
        inner.clear();
        for (int8_t d : *moved)
          inner.push_back(d < 0 ? -1 : map[d]);
      }
      for (Value operand : llvm::reverse(op->getOperands())) {
        if (!isRead(operand))
          stack.push_back({operand, inner});
        else if (!readsBuffer(op, operand)) // else at other coordinates
          noteRead(operand, inner);
      }
    }
  }

  const Nest &nest_;
  const NestPlan &plan_;
  llvm::DenseSet<Value> filled_;
  NestAccesses found_;
  std::set<Key> seen_; // membership only
};

class GuardEmitter {
public:
  GuardEmitter(ProgramEmitter &program, const Nest &nest, const std::optional<Bound> &bound)
      : p_(program), b_(program.builder), nest_(nest), bound_(bound), filled_(filledBy(nest)) {}

  llvm::Value *holds() const { return holds_; }
  llvm::Value *apart() const { return apart_; }

  static void require(llvm::IRBuilder<> &b, llvm::Value *&sum, llvm::Value *condition) {
    if (auto *constant = llvm::dyn_cast<llvm::ConstantInt>(condition); constant && constant->isOne())
      return;
    sum = sum ? b.CreateAnd(sum, condition) : condition;
  }

  // Whatever the addresses are: one store after the other.
  void requireOneByOne() { require(b_, holds_, b_.getFalse()); }

  // The integer's own form stays within its type over its whole tile.
  void requireNoWrap(Value integer) {
    if (!done_.insert(integer).second)
      return;
    unsigned bits = elementType(integer.getType()).getIntOrFloatBitWidth();
    const Form &form = p_.access.form(integer);
    bool isLeaf = form.base == Polynomial(p_.access.factor(integer));
    if (bits >= 64 || isLeaf)
      return;
    Range range = rangeOf(form, shapeOf(integer.getType()));
    int64_t low = -(int64_t(1) << (bits - 1)), high = (int64_t(1) << (bits - 1)) - 1;
    llvm::Value *fits = b_.CreateAnd(b_.CreateICmpSGE(range.low, b_.getInt64(low)),
                                     b_.CreateICmpSLE(range.high, b_.getInt64(high)));
    require(b_, holds_, fits);
  }

  // Each pair of accesses asks: the code for it is emitted once.
  Range addresses(const NestAccess &access) {
    std::pair key{access.pointers, access.mask};
    auto known = ranges_.find(key);
    return known != ranges_.end() ? known->second : ranges_.try_emplace(key, rangeOf(access)).first->second;
  }

  // Disjoint, or the same walk over distinct addresses, or side by side in the rows of one array.
  void requireOrder(const NestAccess &first, const NestAccess &second, const Nest &nest) {
    Range a = addresses(first), c = addresses(second);
    llvm::Value *disjoint = b_.CreateOr(b_.CreateICmpULT(a.high, c.low), b_.CreateICmpULT(c.high, a.low));
    if (llvm::Value *same = sameWalk(first, second, nest))
      disjoint = b_.CreateOr(disjoint, same);
    if (llvm::Value *beside = sideBySide(first, second))
      disjoint = b_.CreateOr(disjoint, beside);
    require(b_, isa<StoreOp>(first.op) ? holds_ : apart_, disjoint);
  }

private:
  // The nest runs behind its guards: tiles that it buffers are computed here.
  Evaluator computing(unsigned lanes = 1) {
    Evaluator evaluator(p_, lanes, true);
    evaluator.written = filled_;
    return evaluator;
  }

  Range rangeOf(const NestAccess &access) {
    const Address &address = *p_.access.address(access.pointers);
    Range offsets = rangeOf(address.offset, shapeOf(access.pointers.getType()), lastOf(access));
    llvm::Value *base = b_.CreatePtrToInt(p_.scalar(address.pointer), b_.getInt64Ty());
    return {b_.CreateAdd(base, offsets.low),
            b_.CreateAdd(base, b_.CreateAdd(offsets.high, b_.getInt64(elementBytes(access.pointers) - 1)))};
  }

  // The dimension of the access that is the lanes', and the last index along it below the nest's bound:
  // nothing behind it is touched, though the tile be longer. With no element below it the first one counts as
  // one. The conditions of the bound are among those that the guards require.
  struct Last {
    unsigned dim;
    llvm::Value *index;
  };
  std::optional<Last> lastOf(const NestAccess &access) {
    if (!bound_ || !access.mask || access.map.size() != nest_.shape.size())
      return std::nullopt;
    for (auto [d, dim] : llvm::enumerate(access.map))
      if (dim != int8_t(d) && dim != -1)
        return std::nullopt;
    const Form &form = *bound_->lane.form;
    bool isSame = access.map[nest_.lane] == int8_t(nest_.lane) && !form.base.hasTiles();
    for (auto [d, stride] : llvm::enumerate(form.strides))
      isSame &= d == nest_.lane || stride.isZero();
    if (!isSame || !llvm::is_contained(p_.access.conjuncts(access.mask), bound_->lane))
      return std::nullopt;
    // index + base < 0
    llvm::Value *last = b_.CreateSub(b_.getInt64(-1), constantPart(form.base));
    last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, last, b_.getInt64(0));
    int64_t extent = nest_.shape[nest_.lane];
    return Last{nest_.lane, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, b_.getInt64(extent - 1))};
  }

  llvm::Value *constantPart(const Polynomial &value) {
    Evaluator evaluator = computing();
    evaluator.pushLevel();
    return evaluator.polynomial(value, {});
  }

  // [min, max] of a form over a tile. Factors that are tiles are read in a small loop, in vectors of lanes
  // along the last dimension; forms that several pointers share are read once.
  Range rangeOf(const Form &form, ArrayRef<int64_t> shape, std::optional<Last> last = std::nullopt) {
    SmallVector<unsigned> dims; // that factors depend on
    for (unsigned d = 0; d < shape.size(); ++d) {
      bool needed = form.base.dependsOn(d);
      for (const Polynomial &stride : form.strides)
        needed |= stride.dependsOn(d);
      if (needed)
        dims.push_back(d);
    }
    if (dims.empty()) {
      Evaluator evaluator = computing();
      evaluator.pushLevel();
      return rangeAt(form, shape, evaluator, Coordinates(shape.size(), evaluator.zero()), {}, last);
    }
    for (const FormRange &known : formRanges_)
      if (known.form == form && known.shape == shape)
        return known.range;
    unsigned lanes = lanesAlong(shape[dims.back()]);
    Evaluator evaluator = computing(lanes);
    evaluator.pushLevel();
    llvm::Type *type = p_.lanesOf(b_.getInt64Ty(), lanes);
    llvm::AllocaInst *low = p_.temporary(type, "low"), *high = p_.temporary(type, "high");
    b_.CreateStore(p_.splat(b_.getInt64(INT64_MAX), lanes), low);
    b_.CreateStore(p_.splat(b_.getInt64(INT64_MIN), lanes), high);
    Coordinates at(shape.size(), evaluator.zero());
    loopOver(dims, 0, shape, evaluator, at, [&] {
      Range here = rangeAt(form, shape, evaluator, at, dims);
      auto keep = [&](llvm::Intrinsic::ID which, llvm::Value *value, llvm::AllocaInst *slot) {
        llvm::Value *before = b_.CreateLoad(type, slot);
        b_.CreateStore(b_.CreateBinaryIntrinsic(which, before, p_.splat(value, lanes)), slot);
      };
      keep(llvm::Intrinsic::smin, here.low, low);
      keep(llvm::Intrinsic::smax, here.high, high);
    });
    Range range{b_.CreateLoad(type, low), b_.CreateLoad(type, high)};
    if (lanes > 1)
      range = {b_.CreateIntMinReduce(range.low, true), b_.CreateIntMaxReduce(range.high, true)};
    if (formRanges_.size() < mostFormRanges)
      formRanges_.push_back({form, SmallVector<int64_t, 4>(shape), range});
    return range;
  }

  // The machine's lanes, or as many of them as divide the extent.
  unsigned lanesAlong(int64_t extent) const {
    unsigned lanes = p_.machine.lanes();
    while (extent % lanes != 0)
      lanes /= 2;
    return lanes;
  }

  void loopOver(ArrayRef<unsigned> dims, size_t k, ArrayRef<int64_t> shape, Evaluator &evaluator,
                Coordinates &at, llvm::function_ref<void()> body) {
    if (k == dims.size())
      return body();
    unsigned lanes = k + 1 == dims.size() ? evaluator.lanes : 1;
    evaluator.sealLevel();
    p_.loop(b_.getInt64(0), b_.getInt64(shape[dims[k]]), lanes, "range", [&](llvm::Value *index) {
      evaluator.pushLevel();
      at[dims[k]] = {index, lanes > 1, evaluator.level(), int8_t(dims[k])};
      loopOver(dims, k + 1, shape, evaluator, at, body);
      evaluator.popLevel();
    });
  }

  // i64, one a lane where the coordinate runs over the lanes.
  llvm::Value *indexOf(const Coordinate &coordinate, unsigned lanes) {
    if (!coordinate.lane)
      return coordinate.index;
    llvm::SmallVector<llvm::Constant *, 16> steps;
    for (unsigned i = 0; i < lanes; ++i)
      steps.push_back(b_.getInt64(i));
    return b_.CreateAdd(p_.splat(coordinate.index, lanes), llvm::ConstantVector::get(steps));
  }

  Range rangeAt(const Form &form, ArrayRef<int64_t> shape, Evaluator &evaluator, const Coordinates &at,
                ArrayRef<unsigned> looped, std::optional<Last> last = std::nullopt) {
    // Both become vectors if one of them is.
    auto add = [&](llvm::Value *&sum, llvm::Value *term) {
      unsigned width = sum->getType()->isVectorTy() || term->getType()->isVectorTy() ? evaluator.lanes : 1;
      sum = b_.CreateAdd(p_.splat(sum, width), p_.splat(term, width));
    };
    llvm::Value *base = evaluator.polynomial(form.base, at);
    Range range{base, base};
    for (auto [d, stride] : llvm::enumerate(form.strides)) {
      if (stride.isZero() || shape[d] == 1)
        continue;
      llvm::Value *step = evaluator.polynomial(stride, at);
      bool isLoop = llvm::is_contained(looped, d);
      llvm::Value *times = isLoop                   ? indexOf(at[d], evaluator.lanes)
                           : last && last->dim == d ? last->index
                                                    : b_.getInt64(shape[d] - 1);
      unsigned width = step->getType()->isVectorTy() || times->getType()->isVectorTy() ? evaluator.lanes : 1;
      llvm::Value *span = b_.CreateMul(p_.splat(step, width), p_.splat(times, width));
      if (isLoop) {
        add(range.low, span);
        add(range.high, span);
        continue;
      }
      if (auto *known = llvm::dyn_cast<llvm::ConstantInt>(span)) { // folds: often nothing is left to test
        add(known->isNegative() ? range.low : range.high, span);
        continue;
      }
      llvm::Value *zero = llvm::Constant::getNullValue(span->getType());
      add(range.low, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, span, zero));
      add(range.high, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, span, zero));
    }
    return range;
  }

  // Both accesses have equal addresses at equal coordinates, and different ones elsewhere.
  // nullptr: never.
  llvm::Value *sameWalk(const NestAccess &first, const NestAccess &second, const Nest &nest) {
    if (elementBytes(first.pointers) != elementBytes(second.pointers))
      return nullptr;
    const Address &a = *p_.access.address(first.pointers), &c = *p_.access.address(second.pointers);
    SmallVector<Polynomial, 4> x(nest.shape.size()), y(nest.shape.size());
    for (auto [d, stride] : llvm::enumerate(a.offset.strides))
      if (first.map[d] >= 0)
        x[first.map[d]] = stride.remapped(first.map);
    for (auto [d, stride] : llvm::enumerate(c.offset.strides))
      if (second.map[d] >= 0)
        y[second.map[d]] = stride.remapped(second.map);
    x.push_back(a.offset.base.remapped(first.map));
    y.push_back(c.offset.base.remapped(second.map));
    llvm::Value *same = b_.CreateICmpEQ(p_.scalar(a.pointer), p_.scalar(c.pointer));
    for (auto [p, q] : llvm::zip(x, y)) {
      if (p == q)
        continue;
      if (p.hasTiles() || q.hasTiles())
        return nullptr;
      same = b_.CreateAnd(same, b_.CreateICmpEQ(constantPart(p), constantPart(q)));
    }
    if (x.back().hasTiles())
      return nullptr; // equal, but perhaps the same address for different coordinates
    return b_.CreateAnd(same, isInjective(nest, x, elementBytes(first.pointers)));
  }

  // Columns of one array: the same distance from row to row, and within a row the two do not meet.
  llvm::Value *sideBySide(const NestAccess &first, const NestAccess &second) {
    const Address &a = *p_.access.address(first.pointers), &c = *p_.access.address(second.pointers);
    auto shapeA = shapeOf(first.pointers.getType()), shapeC = shapeOf(second.pointers.getType());
    if (shapeA.size() != 2 || shapeC.size() != 2 || a.offset.base.hasTiles() || c.offset.base.hasTiles())
      return nullptr;
    for (unsigned d : {0u, 1u})
      if (a.offset.strides[d].hasTiles() || c.offset.strides[d].hasTiles())
        return nullptr;
    // Rows are the dimension with the larger step; only where they are dimension 0.
    llvm::Value *zero = b_.getInt64(0), *one = b_.getInt64(1);
    llvm::Value *row = constantPart(a.offset.strides[0]), *otherRow = constantPart(c.offset.strides[0]);
    llvm::Value *widthA = widthOf(a.offset.strides[1], first, shapeA[1]);
    llvm::Value *widthC = widthOf(c.offset.strides[1], second, shapeC[1]);
    auto start = [&](const Address &address) {
      return b_.CreateAdd(b_.CreatePtrToInt(p_.scalar(address.pointer), b_.getInt64Ty()),
                          constantPart(address.offset.base));
    };
    llvm::Value *usable = b_.CreateAnd(b_.CreateICmpEQ(row, otherRow), b_.CreateICmpSGT(row, zero));
    llvm::Value *divisor = b_.CreateSelect(usable, row, one);
    llvm::Value *distance = b_.CreateSRem(b_.CreateSub(start(c), start(a)), divisor);
    distance = b_.CreateSelect(b_.CreateICmpSLT(distance, zero), b_.CreateAdd(distance, divisor), distance);
    // In a row: a is [0, widthA), c begins at `distance` and must end before the next a.
    usable = b_.CreateAnd(usable, b_.CreateICmpSGE(distance, widthA));
    return b_.CreateAnd(usable, b_.CreateICmpSLE(b_.CreateAdd(distance, widthC), row));
  }

  // Bytes that a row of an access spans; a negative step is taken for more than any row.
  llvm::Value *widthOf(const Polynomial &stride, const NestAccess &access, int64_t extent) {
    llvm::Value *step = extent == 1 ? b_.getInt64(0) : constantPart(stride);
    std::optional<Last> last = lastOf(access);
    llvm::Value *times = last && last->dim == 1 ? last->index : b_.getInt64(extent - 1);
    llvm::Value *span = b_.CreateAdd(b_.CreateMul(step, times), b_.getInt64(elementBytes(access.pointers)));
    return b_.CreateSelect(b_.CreateICmpSLT(step, b_.getInt64(0)), b_.getInt64(INT64_MAX / 4), span);
  }

  // Each dimension steps over all that the dimensions with smaller strides span; checked in
  // the order lanes' dimension first, then the others from last to first.
  llvm::Value *isInjective(const Nest &nest, ArrayRef<Polynomial> strides, int64_t bytes) {
    llvm::Value *span = b_.getInt64(bytes), *injective = b_.getTrue();
    SmallVector<unsigned> order{nest.lane};
    for (unsigned d = nest.shape.size(); d-- > 0;)
      if (d != nest.lane)
        order.push_back(d);
    for (unsigned d : order) {
      if (nest.shape[d] == 1)
        continue;
      if (strides[d].hasTiles())
        return b_.getFalse();
      llvm::Value *stride = constantPart(strides[d]);
      llvm::Value *step = b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, stride, b_.getFalse());
      injective = b_.CreateAnd(injective, b_.CreateICmpSGE(step, span));
      span = b_.CreateAdd(span, b_.CreateMul(step, b_.getInt64(nest.shape[d] - 1)));
    }
    return injective;
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  const Nest &nest_;
  const std::optional<Bound> &bound_;
  llvm::Value *holds_ = nullptr, *apart_ = nullptr;
  llvm::DenseSet<Value> filled_, done_;
  llvm::DenseMap<std::pair<Value, Value>, Range> ranges_; // of the addresses of pointers under a mask
  struct FormRange {
    Form form;
    SmallVector<int64_t, 4> shape;
    Range range;
  };
  static constexpr size_t mostFormRanges = 16; // each form is compared with all
  SmallVector<FormRange, 2> formRanges_;
};

std::optional<unsigned> laneDimOf(const NestAccess &access, unsigned lane) {
  for (auto [d, dim] : llvm::enumerate(access.map))
    if (dim == int8_t(lane))
      return d;
  return std::nullopt;
}

// Along the lanes a row of the tile lies in memory as in a buffer.
bool isLikeABuffer(ProgramEmitter &program, const NestAccess &access, unsigned lane) {
  auto laneDim = laneDimOf(access, lane);
  const Address &address = *program.access.address(access.pointers);
  if (elementType(access.op->getResult(0).getType()).isInteger(1) || !Evaluator::usesForm(&address, laneDim))
    return false;
  size_t rank = address.offset.strides.size();
  return !laneDim || (*laneDim + 1 == rank &&
                      address.offset.strides[*laneDim].constant() == elementBytes(access.pointers));
}

// Are the access's coordinates those of the nest, and the lanes' dimension the last one? Then a nest of its
// own asks for no other forms.
bool isTheNest(const NestAccess &access, const Nest &nest) {
  if (access.map.size() != nest.shape.size() || nest.lane + 1 != nest.shape.size())
    return false;
  for (auto [d, dim] : llvm::enumerate(access.map))
    if (dim != (nest.shape[d] == 1 ? -1 : int8_t(d)))
      return false;
  return true;
}

} // namespace

int64_t elementBytes(Value pointers) {
  Type pointee = cast<PointerType>(elementType(pointers.getType())).getPointee();
  return isa<PointerType>(pointee) ? 8 : (pointee.getIntOrFloatBitWidth() + 7) / 8;
}

llvm::DenseSet<Value> filledBy(const Nest &nest) {
  llvm::DenseSet<Value> tiles;
  for (const Root &root : nest.roots)
    if (root.kind == RootKind::Buffer)
      tiles.insert(root.value);
  return tiles;
}

NestAccesses accessesOf(const Nest &nest, const NestPlan &plan) { return AccessWalk(nest, plan).run(); }

Guards emitGuards(ProgramEmitter &program, const Nest &nest, const NestAccesses &accesses,
                  const std::optional<Bound> &bound) {
  GuardEmitter emitter(program, nest, bound);
  Guards guards;
  auto hasForm = [&](const NestAccess &access) {
    return Evaluator::usesForm(program.access.address(access.pointers), laneDimOf(access, nest.lane));
  };
  auto requireForm = [&](const NestAccess &access) {
    for (Value condition : program.access.address(access.pointers)->offset.conditions)
      emitter.requireNoWrap(condition);
  };
  bool storesHaveForms = true;
  for (const NestAccess &store : accesses.stores)
    storesHaveForms &= program.access.address(store.pointers) != nullptr;
  for (const NestAccess &access : accesses.loads) {
    if (hasForm(access))
      requireForm(access);
    if (accesses.stores.empty())
      continue;
    if (!hasForm(access) || !storesHaveForms) {
      guards.alwaysSaved.push_back({access.op, isTheNest(access, nest)});
      continue;
    }
    guards.canRedirect &= isLikeABuffer(program, access, nest.lane);
    requireForm(access);
    guards.maySee.push_back(access.op);
    for (const NestAccess &store : accesses.stores)
      emitter.requireOrder(access, store, nest);
  }
  for (auto [i, store] : llvm::enumerate(accesses.stores)) {
    if (program.access.address(store.pointers))
      requireForm(store);
    for (size_t j = 0; j < i; ++j) {
      if (storesHaveForms)
        emitter.requireOrder(accesses.stores[j], store, nest);
      else
        emitter.requireOneByOne();
    }
  }
  if (bound) {
    for (Value condition : bound->lane.form->conditions)
      emitter.requireNoWrap(condition);
    for (const Conjunct &conjunct : bound->uniform)
      if (conjunct.form)
        for (Value condition : conjunct.form->conditions)
          emitter.requireNoWrap(condition);
  }
  guards.holds = emitter.holds();
  guards.apart = emitter.apart();
  return guards;
}

} // namespace tegula::cpu
