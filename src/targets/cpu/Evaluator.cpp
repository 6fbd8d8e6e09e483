#include "targets/cpu/Evaluator.h"

#include "ir/tile/Tile.h"
#include "targets/cpu/Transposition.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/VectorUtils.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

// The conjuncts of a mask: what all lanes share, and what each has of its own. `ofAll` nullptr: true.
struct MaskParts {
  llvm::Value *ofAll = nullptr;
  llvm::SmallVector<llvm::Value *, 2> ofLanes;
  llvm::SmallPtrSet<llvm::Value *, 8> seen = {}; // a conjunct may come by many ways
};

namespace {

bool isTrue(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  return !mask || (constant && constant->isAllOnesValue());
}

bool isFalse(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  return constant && constant->isNullValue();
}

int64_t bytesOf(llvm::Type *element) {
  return element->isPointerTy() ? 8 : (element->getPrimitiveSizeInBits().getFixedValue() + 7) / 8;
}

void splitMask(llvm::IRBuilder<> &b, llvm::Value *mask, MaskParts &parts) {
  if (isTrue(mask) || !parts.seen.insert(mask).second)
    return;
  llvm::Value *shared = mask->getType()->isVectorTy() ? llvm::getSplatValue(mask) : mask;
  auto *both = llvm::dyn_cast<llvm::BinaryOperator>(mask);
  if (shared) {
    parts.ofAll = parts.ofAll ? b.CreateAnd(parts.ofAll, shared) : shared;
  } else if (both && both->getOpcode() == llvm::Instruction::And) {
    splitMask(b, both->getOperand(0), parts);
    splitMask(b, both->getOperand(1), parts);
  } else {
    parts.ofLanes.push_back(mask);
  }
}

// The same bits as another element type of the same width. bf16 moves as integers: LLVM
// makes calls of a run-time library of what moves it as a float on its own.
llvm::Value *withElement(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Type *element) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return b.CreateBitCast(value,
                         vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element);
}

// Masks and coordinates of a form at other coordinates: map[dimension] = the nest's.
Conjunct atNest(const Conjunct &conjunct, ArrayRef<int8_t> map, unsigned nestRank) {
  Conjunct result = conjunct;
  if (conjunct.form) {
    Form form;
    form.base = conjunct.form->base.remapped(map);
    form.strides.resize(nestRank);
    for (auto [d, stride] : llvm::enumerate(conjunct.form->strides))
      if (map[d] >= 0)
        form.strides[map[d]] = stride.remapped(map);
    result.form = form;
    return result;
  }
  for (int8_t &dim : result.opaque.dims)
    if (dim >= 0)
      dim = map[dim];
  return result;
}

} // namespace

bool Bound::contains(const Conjunct &conjunct) const {
  return conjunct == lane || llvm::is_contained(uniform, conjunct);
}

Evaluator::Evaluator(ProgramEmitter &program, unsigned lanes, bool exact)
    : program(program), lanes(lanes), exact(exact) {}

void Evaluator::sealLevel() {
  auto &b = program.builder;
  llvm::BasicBlock *here = b.GetInsertBlock();
  llvm::BasicBlock *next = program.newBlock("loops");
  b.CreateBr(next);
  b.SetInsertPoint(next);
  levels_.back().block = here;
}

Coordinate Evaluator::zero() const { return {program.builder.getInt64(0), false, 0, -1}; }

llvm::Value *Evaluator::evaluate(Value tile, ArrayRef<Coordinate> at) {
  uint8_t deepest = 0;
  for (const Coordinate &c : at)
    deepest = std::max(deepest, c.level);
  auto &b = program.builder;
  Level &level = levels_[deepest];
  for (const Memo &memo : level.memo[tile])
    if (ArrayRef<Coordinate>(memo.at) == at)
      return memo.value;
  // In the innermost level code follows code, in new blocks perhaps; in an outer one it goes to the level's
  // place.
  std::optional<llvm::IRBuilderBase::InsertPointGuard> guard;
  if (deepest + 1u < levels_.size()) {
    guard.emplace(b);
    b.SetInsertPoint(level.block->getTerminator());
  }
  llvm::Value *value = compute(tile, at);
  levels_[deepest].memo[tile].push_back({Coordinates(at), value});
  return value;
}

llvm::Value *Evaluator::index32(const Coordinate &c, int64_t start) {
  auto &b = program.builder;
  llvm::Value *first = b.CreateAdd(b.CreateTrunc(c.index, b.getInt32Ty()), b.getInt32(start));
  if (!c.lane || lanes == 1)
    return first;
  llvm::SmallVector<llvm::Constant *, 16> steps;
  for (unsigned i = 0; i < lanes; ++i)
    steps.push_back(b.getInt32(i));
  return b.CreateAdd(b.CreateVectorSplat(lanes, first), llvm::ConstantVector::get(steps));
}

llvm::Value *Evaluator::ofTransposed(Value tile, ArrayRef<Coordinate> at) {
  auto &b = program.builder;
  for (const Transposed &block : transposed) {
    bool isHere = block.tile == tile && llvm::all_of(llvm::enumerate(at), [&](auto coordinate) {
                    return coordinate.value().dim == block.map[coordinate.index()];
                  });
    if (!isHere)
      continue;
    if (!block.block)
      return block.vectors[llvm::cast<llvm::ConstantInt>(transposedAt)->getZExtValue()];
    llvm::Type *type = program.lanesOf(program.type(elementType(tile.getType())), lanes);
    return b.CreateLoad(type, b.CreateGEP(type, block.block, transposedAt));
  }
  return nullptr;
}

llvm::Value *Evaluator::compute(Value tile, ArrayRef<Coordinate> at) {
  if (llvm::Value *known = ofTransposed(tile, at))
    return known;
  if (auto it = saved.find(tile); it != saved.end())
    return read(*it->second, at);
  if (const Buffer *buffer = program.plan.buffer(tile); buffer && !written.contains(tile))
    return read(*buffer, at);
  Operation *op = tile.getDefiningOp();
  program.setLocation(op->getLoc());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return program.constant(constant.getValue(), tile.getType());
  if (auto splat = dyn_cast<SplatOp>(op))
    return program.scalar(splat.getValue());
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return index32(at[0], int32_t(range.getStart()));
  if (auto map = coordinateMap(op)) {
    Coordinates inner;
    for (int8_t d : *map)
      inner.push_back(d < 0 ? zero() : at[d]);
    return evaluate(op->getOperand(0), inner);
  }
  if (isa<LoadOp>(op))
    return computeLoad(op, at);
  if (isa<ReshapeOp>(op))
    return computeReshape(op, at);
  if (isa<GatherOp>(op))
    return computeGather(op, at);
  if (isa<JoinOp>(op))
    return computeJoin(op, at);
  if (elementType(tile.getType()).isInteger(1))
    if (llvm::Value *known = knownCondition(tile, at))
      return known;
  llvm::SmallVector<llvm::Value *, 3> operands;
  unsigned width = 1;
  for (Value operand : op->getOperands()) {
    operands.push_back(shapeOf(operand.getType()).empty() ? program.scalar(operand) : evaluate(operand, at));
    if (operands.back()->getType()->isVectorTy())
      width = lanes;
  }
  bool isSelect = isa<arith::SelectOp>(op);
  for (auto [i, operand] : llvm::enumerate(operands))
    if (!(isSelect && i == 0 && !operand->getType()->isVectorTy()))
      operand = program.splat(operand, width);
  program.setLocation(op->getLoc());
  return lowerOp(program, op, operands);
}

// A condition that follows from which part of the lanes' dimension this loop covers.
llvm::Value *Evaluator::knownCondition(Value mask, ArrayRef<Coordinate> at) {
  if (region == Region::Any || !bound)
    return nullptr;
  bool touchesLanes = false;
  SmallVector<int8_t, 4> map;
  for (const Coordinate &c : at) {
    touchesLanes |= c.lane;
    map.push_back(c.dim);
  }
  if (!touchesLanes)
    return nullptr;
  unsigned rank = bound->lane.form->strides.size();
  bool all = true, sawLane = false;
  unsigned seen = 0;
  for (const Conjunct &conjunct : program.access.conjuncts(mask)) {
    Conjunct here = atNest(conjunct, map, rank);
    if (!bound->contains(here)) {
      all = false;
      continue;
    }
    ++seen;
    sawLane |= here == bound->lane;
  }
  auto &b = program.builder;
  // Outside: the conjunction of all of the bound's conjuncts is false, whatever else is asked.
  if (region == Region::Outside)
    return sawLane && seen == bound->uniform.size() + 1 ? b.getFalse() : nullptr;
  if (!all)
    return nullptr;
  return region == Region::Inside || !sawLane ? static_cast<llvm::Value *>(b.getTrue()) : valid;
}

// ---- memory -----------------------------------------------------------------------------

llvm::Value *Evaluator::polynomial(const Polynomial &value, ArrayRef<Coordinate> at) {
  auto &b = program.builder;
  // Both become vectors if one of them is.
  auto multiply = [&](llvm::Value *x, llvm::Value *y) {
    unsigned width = x->getType()->isVectorTy() || y->getType()->isVectorTy() ? lanes : 1;
    return b.CreateMul(program.splat(x, width), program.splat(y, width));
  };
  auto add = [&](llvm::Value *x, llvm::Value *y) {
    unsigned width = x->getType()->isVectorTy() || y->getType()->isVectorTy() ? lanes : 1;
    return b.CreateAdd(program.splat(x, width), program.splat(y, width));
  };
  llvm::Value *sum = nullptr;
  for (const Monomial &term : value.terms()) {
    llvm::Value *product = nullptr;
    for (const Factor &factor : term.factors) {
      llvm::Value *element;
      if (factor.isTile()) {
        Coordinates inner;
        for (int8_t d : factor.dims)
          inner.push_back(d < 0 ? zero() : at[d]);
        element = evaluate(factor.value, inner);
      } else {
        element = program.scalar(factor.value);
      }
      unsigned width = element->getType()->isVectorTy() ? lanes : 1;
      element = b.CreateSExt(element, program.lanesOf(b.getInt64Ty(), width));
      product = product ? multiply(product, element) : element;
    }
    if (!product)
      product = b.getInt64(term.coefficient);
    else if (term.coefficient != 1)
      product = multiply(product, b.getInt64(term.coefficient));
    sum = sum ? add(sum, product) : product;
  }
  return sum ? sum : b.getInt64(0);
}

bool Evaluator::usesForm(const Address *address, std::optional<unsigned> laneDim) {
  if (!address)
    return false;
  if (!laneDim)
    return true;
  unsigned dim = *laneDim;
  if (address->offset.base.dependsOn(dim))
    return false;
  for (const Polynomial &stride : address->offset.strides)
    if (stride.dependsOn(dim))
      return false;
  return true;
}

Evaluator::ElementAddress Evaluator::addressAt(Value pointers, ArrayRef<Coordinate> at) {
  auto &b = program.builder;
  const Address *address = program.access.address(pointers);
  std::optional<unsigned> laneDim;
  for (auto [d, c] : llvm::enumerate(at))
    if (c.lane)
      laneDim = d;
  if (exact || !usesForm(address, laneDim)) {
    llvm::Value *computed = evaluate(pointers, at); // a scalar where no lane changes it
    return {computed, computed->getType()->isVectorTy() ? std::nullopt : std::optional<int64_t>(0)};
  }
  llvm::Value *offset = polynomial(address->offset.base, at);
  for (auto [d, c] : llvm::enumerate(at)) {
    const Polynomial &stride = address->offset.strides[d];
    if (!stride.isZero())
      offset = b.CreateAdd(offset, b.CreateMul(polynomial(stride, at), c.index));
  }
  ElementAddress place{b.CreateGEP(b.getInt8Ty(), program.scalar(address->pointer), offset), 0};
  if (laneDim) {
    const Polynomial &stride = address->offset.strides[*laneDim];
    place.stride = stride.constant();
    if (!place.stride)
      place.runtimeStride = polynomial(stride, at);
  }
  return place;
}

Evaluator::ElementAddress Evaluator::bufferAddressAt(const Buffer &buffer, ArrayRef<Coordinate> at) {
  auto &b = program.builder;
  int64_t bytes = buffer.elementBytes();
  llvm::Value *offset = b.getInt64(0);
  ElementAddress place{nullptr, 0};
  int64_t stride = bytes;
  for (size_t d = at.size(); d-- > 0;) {
    if (buffer.shape[d] != 1) {
      offset = b.CreateAdd(offset, b.CreateMul(at[d].index, b.getInt64(stride)));
      if (at[d].lane)
        place.stride = stride;
    }
    stride *= buffer.shape[d];
  }
  place.address = b.CreateGEP(b.getInt8Ty(), program.scratchAt(buffer.offset), offset);
  return place;
}

// The row of the memory or of the copy; along it both are alike.
Evaluator::ElementAddress Evaluator::redirect(Value pointers, ArrayRef<Coordinate> at,
                                              const Redirection &redirection) {
  auto &b = program.builder;
  Coordinates row(at);
  llvm::Value *along = b.getInt64(0);
  ElementAddress place{nullptr, 0};
  for (auto [d, c] : llvm::enumerate(row))
    if (c.lane && redirection.buffer->shape[d] != 1) {
      place.stride = redirection.buffer->elementBytes();
      along = b.CreateMul(c.index, b.getInt64(*place.stride));
      c = zero();
    }
  llvm::Value *start = b.CreateSelect(redirection.isSaved, bufferAddressAt(*redirection.buffer, row).address,
                                      this->addressAt(pointers, row).address);
  place.address = b.CreateGEP(b.getInt8Ty(), start, along);
  return place;
}

// One address a lane.
llvm::Value *Evaluator::pointersOf(const ElementAddress &place, llvm::Type *element) {
  auto &b = program.builder;
  if (place.address->getType()->isVectorTy())
    return place.address;
  llvm::SmallVector<llvm::Constant *, 16> steps;
  for (unsigned i = 0; i < lanes; ++i)
    steps.push_back(b.getInt64(i));
  llvm::Value *stride = place.stride ? b.getInt64(*place.stride) : place.runtimeStride;
  llvm::Value *offsets = b.CreateMul(b.CreateVectorSplat(lanes, stride), llvm::ConstantVector::get(steps));
  return b.CreateGEP(b.getInt8Ty(), place.address, offsets);
}

llvm::Value *Evaluator::loadFrom(const ElementAddress &place, llvm::Type *element, llvm::Value *mask,
                                 llvm::Value *other, bool isVolatile) {
  auto &b = program.builder;
  if (element->isBFloatTy()) {
    llvm::Value *bits = loadFrom(place, b.getInt16Ty(), mask,
                                 other ? withElement(b, other, b.getInt16Ty()) : nullptr, isVolatile);
    return withElement(b, bits, element);
  }
  llvm::Align align(bytesOf(element));
  if (isFalse(mask))
    return other;
  bool scalarAddress = !place.address->getType()->isVectorTy();
  bool one = scalarAddress && place.stride == 0;
  if (one && isTrue(mask))
    return b.CreateAlignedLoad(element, place.address, align, isVolatile);
  if (one && !mask->getType()->isVectorTy()) {
    // A masked scalar: LLVM turns a masked vector of one element into a branch.
    auto *single = llvm::FixedVectorType::get(element, 1);
    bool isOtherOfLanes = other->getType()->isVectorTy();
    llvm::Value *otherOfOne = isOtherOfLanes ? llvm::Constant::getNullValue(element) : other;
    llvm::Value *loaded =
        b.CreateExtractElement(b.CreateMaskedLoad(single, place.address, align, b.CreateVectorSplat(1, mask),
                                                  b.CreateVectorSplat(1, otherOfOne)),
                               uint64_t(0));
    return isOtherOfLanes ? program.select(mask, program.splat(loaded, lanes), other) : loaded;
  }
  auto *vector = llvm::FixedVectorType::get(element, lanes);
  bool contiguous = scalarAddress && place.stride == int64_t(align.value());
  if (contiguous && isTrue(mask))
    return b.CreateAlignedLoad(vector, place.address, align, isVolatile);
  if (contiguous)
    return loadVector(place.address, vector, mask, other, isVolatile);
  llvm::Value *masks = mask ? program.splat(mask, lanes) : nullptr;
  llvm::Value *pointers = pointersOf(place, element);
  if (!isTrue(mask))
    return b.CreateMaskedGather(vector, pointers, align, masks, program.splat(other, lanes));
  llvm::Value *result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < lanes; ++i) {
    llvm::Value *pointer = b.CreateExtractElement(pointers, uint64_t(i));
    result =
        b.CreateInsertElement(result, b.CreateAlignedLoad(element, pointer, align, isVolatile), uint64_t(i));
  }
  return result;
}

// Is some lane of the mask on, whose parts these are? nullptr: one surely is.
llvm::Value *Evaluator::someLane(llvm::Value *mask, const MaskParts &parts) {
  auto &b = program.builder;
  // The first lane of a vector is within the tile, and below the bound that the vector is across.
  bool isFirstOn = llvm::all_of(parts.ofLanes, [&](llvm::Value *m) { return m == valid || m == within; });
  if (isFirstOn)
    return parts.ofAll;
  return mask->getType()->isVectorTy() ? b.CreateOrReduce(mask) : mask;
}

// A vector of which no lane is on may lie in a page that is not there, and the processor takes a hundred
// nanoseconds or more to find that it does not matter. It is read from zeros instead.
llvm::Value *Evaluator::loadVector(llvm::Value *address, llvm::FixedVectorType *vector, llvm::Value *mask,
                                   llvm::Value *other, bool isVolatile) {
  auto &b = program.builder;
  llvm::Align align(bytesOf(vector->getElementType()));
  MaskParts parts;
  splitMask(b, mask, parts);
  if (llvm::Value *isOn = someLane(mask, parts))
    address = b.CreateSelect(isOn, address, program.zeros());
  auto *constant = llvm::dyn_cast<llvm::Constant>(other);
  bool isZero = constant && constant->isNullValue(); // then what all lanes share is in the address already
  if (parts.ofLanes.empty()) {
    llvm::Value *loaded = b.CreateAlignedLoad(vector, address, align, isVolatile);
    return isZero ? loaded : program.select(parts.ofAll, loaded, program.splat(other, lanes));
  }
  llvm::Value *masks = isZero ? b.CreateAnd(parts.ofLanes) : program.splat(mask, lanes);
  return b.CreateMaskedLoad(vector, address, align, masks, program.splat(other, lanes));
}

// May blocks follow here? Code of an outer level goes ahead of the end of its block.
static bool isAtEnd(llvm::IRBuilder<> &b) { return b.GetInsertPoint() == b.GetInsertBlock()->end(); }

// Are addresses computed from a quotient of indices, by a number of all lanes that is not small? Neighbours
// then mostly have one address, as channels of pixels or scales of groups have: one read takes 0.6 to 0.75 of
// the time of the lanes' own, and where they differ the question costs 1.3 of it. Nothing is followed through
// memory.
bool Evaluator::comesInRuns(Value pointers) {
  constexpr unsigned mostOps = 64;
  llvm::SetVector<Value> reached;
  reached.insert(pointers);
  for (unsigned i = 0; i != reached.size() && i != mostOps; ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (!op || !isTile(reached[i].getType()) || isa<LoadOp>(op) || program.plan.buffer(reached[i]))
      continue;
    bool isShift = isa<arith::ShRSIOp, arith::ShRUIOp>(op);
    if (isShift || isa<arith::DivSIOp, arith::DivUIOp>(op)) {
      Value by = op->getOperand(1);
      if (auto splat = by.getDefiningOp<SplatOp>())
        by = splat.getValue();
      APInt number;
      if (!matchPattern(by, m_ConstantInt(&number)))
        return !isTile(by.getType()); // of all lanes, and known at run time
      uint64_t run = number.getLimitedValue(1 << 20);
      return (isShift ? uint64_t(1) << std::min<uint64_t>(run, 20) : run) >= 2 * lanes;
    }
    reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

// Reads an address that all lanes have once.
llvm::Value *Evaluator::loadRuns(const ElementAddress &place, llvm::Type *element, llvm::Value *mask,
                                 llvm::Value *other) {
  auto &b = program.builder;
  if (element->isBFloatTy()) {
    llvm::Value *bits = loadRuns(place, b.getInt16Ty(), mask, withElement(b, other, b.getInt16Ty()));
    return withElement(b, bits, element);
  }
  llvm::Value *first = b.CreateExtractElement(place.address, uint64_t(0));
  llvm::Value *isOne = b.CreateAndReduce(b.CreateICmpEQ(place.address, b.CreateVectorSplat(lanes, first)));
  llvm::Value *masks = isTrue(mask) ? nullptr : program.splat(mask, lanes);
  if (masks) // of lanes without an address of their own nothing is read
    isOne = b.CreateAnd(isOne, b.CreateOrReduce(masks));
  llvm::Value *values[2];
  llvm::BasicBlock *blocks[2];
  auto side = [&](unsigned index, llvm::Value *loaded) {
    values[index] = loaded;
    blocks[index] = b.GetInsertBlock();
  };
  program.branch(
      isOne,
      [&] {
        llvm::Value *one =
            b.CreateVectorSplat(lanes, b.CreateAlignedLoad(element, first, llvm::Align(bytesOf(element))));
        side(0, masks ? b.CreateSelect(masks, one, program.splat(other, lanes)) : one);
      },
      [&] { side(1, loadFrom(place, element, mask, other, false)); }, /*likely=*/true);
  llvm::PHINode *result = b.CreatePHI(values[0]->getType(), 2);
  for (unsigned index : {0, 1})
    result->addIncoming(values[index], blocks[index]);
  return result;
}

llvm::Value *Evaluator::computeLoad(Operation *op, ArrayRef<Coordinate> at) {
  auto load = cast<LoadOp>(op);
  auto &b = program.builder;
  llvm::Type *element = program.type(elementType(load.getType()));
  bool varies = llvm::any_of(at, [](const Coordinate &c) { return c.lane; }) && lanes > 1;
  llvm::Value *mask = load.getMask() ? evaluate(load.getMask(), at) : nullptr;
  llvm::Value *other = llvm::Constant::getNullValue(element);
  if (load.getOther() && !isTrue(mask))
    other = evaluate(load.getOther(), at);
  if (isFalse(mask))
    return other;
  if (varies && within)
    mask = isTrue(mask) ? within : b.CreateAnd(program.splat(mask, lanes), within);
  auto redirection = redirected.find(op);
  ElementAddress where = redirection == redirected.end() ? addressAt(load.getPtr(), at)
                                                         : redirect(load.getPtr(), at, redirection->second);
  program.setLocation(op->getLoc());
  // Into the second cache: in the first one, rows that a power of two lies between share a set.
  if (llvm::Value *way = prefetched.lookup(op); way && varies && !where.address->getType()->isVectorTy())
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                      {b.CreateGEP(b.getInt8Ty(), where.address, way), /*write=*/b.getInt32(0),
                       /*locality=*/b.getInt32(2), /*data=*/b.getInt32(1)});
  if (!load.getIsVolatile())
    return where.address->getType()->isVectorTy() && isAtEnd(b) && comesInRuns(load.getPtr())
               ? loadRuns(where, element, mask, other)
               : loadFrom(where, element, mask, other, false);
  // Loads under a mask know no `volatile`. The fences emit nothing; LLVM merges and moves no access across
  // them.
  b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
  llvm::Value *loaded = loadFrom(where, element, mask, other, true);
  b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
  return loaded;
}

// Every second, fourth or eighth element: whole vectors are read, and the even ones of two taken, again and
// again.
llvm::Value *Evaluator::readApart(const ElementAddress &place, llvm::Type *element, unsigned apart) {
  auto &b = program.builder;
  llvm::Type *bits = b.getIntNTy(element->getPrimitiveSizeInBits());
  int64_t bytes = bytesOf(element);
  SmallVector<llvm::Value *, 8> vectors;
  for (unsigned i = 0; i < apart; ++i)
    vectors.push_back(b.CreateAlignedLoad(
        program.lanesOf(bits, lanes), b.CreateConstGEP1_64(b.getInt8Ty(), place.address, i * lanes * bytes),
        llvm::Align(bytes)));
  SmallVector<int, 16> even;
  for (unsigned i = 0; i < lanes; ++i)
    even.push_back(int(2 * i));
  for (; apart > 1; apart /= 2)
    for (unsigned i = 0; i < apart / 2; ++i)
      vectors[i] = b.CreateShuffleVector(vectors[2 * i], vectors[2 * i + 1], even);
  return b.CreateBitCast(vectors[0], program.lanesOf(element, lanes));
}

llvm::Value *Evaluator::read(const Buffer &buffer, ArrayRef<Coordinate> at) {
  llvm::Type *element = program.type(buffer.element);
  bool isBool = element->isIntegerTy(1);
  llvm::Type *stored = isBool ? program.builder.getInt8Ty() : element;
  ElementAddress place = bufferAddressAt(buffer, at);
  int64_t apart = place.stride.value_or(0) / bytesOf(stored);
  // The last vector ends behind the last element by less than a buffer's spare room.
  bool readsApart =
      lanes > 1 && !stored->isPointerTy() && (apart == 2 || (!within && (apart == 4 || apart == 8)));
  llvm::Value *value = readsApart ? readApart(place, stored, unsigned(apart))
                                  : loadFrom(place, stored, nullptr, nullptr, false);
  return isBool ? program.builder.CreateIsNotNull(value) : value;
}

// A reshape reads the operand's buffer in row-major order.
llvm::Value *Evaluator::computeReshape(Operation *op, ArrayRef<Coordinate> at) {
  Buffer flat = *program.plan.buffer(op->getOperand(0));
  flat.shape.assign(shapeOf(op->getResult(0).getType()).begin(), shapeOf(op->getResult(0).getType()).end());
  return read(flat, at);
}

// Both halves are evaluated, the last coordinate chooses.
llvm::Value *Evaluator::computeJoin(Operation *op, ArrayRef<Coordinate> at) {
  auto &b = program.builder;
  llvm::Value *left = evaluate(op->getOperand(0), at.drop_back()),
              *right = evaluate(op->getOperand(1), at.drop_back());
  if (auto *half = llvm::dyn_cast<llvm::ConstantInt>(at.back().index); half && !at.back().lane)
    return half->isZero() ? left : right;
  llvm::Value *isRight = b.CreateIsNotNull(index32(at.back(), 0));
  bool isVector =
      isRight->getType()->isVectorTy() || left->getType()->isVectorTy() || right->getType()->isVectorTy();
  unsigned width = isVector ? lanes : 1;
  return program.select(isRight, program.splat(right, width), program.splat(left, width));
}

// The source is a buffer; a lane whose index is outside of the axis reads nothing.
llvm::Value *Evaluator::computeGather(Operation *op, ArrayRef<Coordinate> at) {
  auto gather = cast<GatherOp>(op);
  auto &b = program.builder;
  const Buffer &source = *program.plan.buffer(gather.getSource());
  unsigned axis = gather.getAxis();
  llvm::Value *index = evaluate(gather.getIndices(), at);
  unsigned width = index->getType()->isVectorTy() ? lanes : 1;
  llvm::Type *i64 = program.lanesOf(b.getInt64Ty(), width);
  index = b.CreateSExt(index, i64);
  llvm::Value *inside = b.CreateICmpULT(index, program.splat(b.getInt64(source.shape[axis]), width));
  bool varies = lanes > 1 && llvm::any_of(at, [](const Coordinate &c) { return c.lane; });
  if (within && varies)
    inside = b.CreateAnd(program.splat(inside, lanes), within);
  Coordinates others(at);
  others[axis] = zero();
  ElementAddress place = bufferAddressAt(source, others);
  int64_t bytes = source.elementBytes(), stride = bytes;
  for (size_t d = axis + 1; d < source.shape.size(); ++d)
    stride *= source.shape[d];
  llvm::Value *offsets = b.CreateMul(index, program.splat(b.getInt64(stride), width));
  // One index for all lanes moves the place; one a lane gives each its own.
  llvm::Value *start = width > 1 && place.stride != 0 ? pointersOf(place, nullptr) : place.address;
  ElementAddress where{b.CreateGEP(b.getInt8Ty(), start, offsets), width > 1 ? std::nullopt : place.stride};
  llvm::Type *element = program.type(source.element);
  llvm::Type *stored = element->isIntegerTy(1) ? b.getInt8Ty() : element;
  llvm::Value *value = loadFrom(where, stored, inside, llvm::Constant::getNullValue(stored), false);
  return element->isIntegerTy(1) ? b.CreateIsNotNull(value) : value;
}

// A vector of which no lane is on is not stored (see loadVector).
void Evaluator::storeVector(llvm::Value *address, llvm::Value *value, llvm::Value *mask) {
  auto &b = program.builder;
  llvm::Align align(bytesOf(value->getType()->getScalarType()));
  MaskParts parts;
  splitMask(b, mask, parts);
  llvm::Value *isOn = someLane(mask, parts);
  llvm::Value *masks = parts.ofLanes.empty() ? nullptr : b.CreateAnd(parts.ofLanes);
  auto store = [&] {
    if (masks)
      b.CreateMaskedStore(value, address, align, masks);
    else
      b.CreateAlignedStore(value, address, align);
  };
  if (isOn)
    program.branch(isOn, store, [] {}, /*likely=*/true);
  else
    store();
}

void Evaluator::storeTo(const ElementAddress &place, llvm::Value *value, llvm::Value *mask, bool streams) {
  auto &b = program.builder;
  llvm::Type *element = value->getType()->getScalarType();
  if (element->isBFloatTy())
    return storeTo(place, withElement(b, value, b.getInt16Ty()), mask, streams);
  llvm::Align align(bytesOf(element));
  if (isFalse(mask))
    return;
  bool scalarAddress = !place.address->getType()->isVectorTy();
  if (lanes == 1) {
    if (isTrue(mask))
      b.CreateAlignedStore(value, place.address, align);
    else
      b.CreateMaskedStore(b.CreateVectorSplat(1, value), place.address, align, b.CreateVectorSplat(1, mask));
    return;
  }
  value = program.splat(value, lanes);
  llvm::Value *masks = mask ? program.splat(mask, lanes) : nullptr;
  if (scalarAddress && place.stride == int64_t(align.value())) {
    if (!isTrue(mask))
      return storeVector(place.address, value, mask);
    llvm::StoreInst *whole = b.CreateAlignedStore(value, place.address, align);
    if (streams) {
      whole->setAlignment(llvm::Align(align.value() * lanes));
      auto *one = llvm::ConstantAsMetadata::get(b.getInt32(1));
      whole->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(program.context, one));
    }
    return;
  }
  llvm::Value *pointers = pointersOf(place, element);
  if (!isTrue(mask)) {
    b.CreateMaskedScatter(value, pointers, align, masks);
    return;
  }
  for (unsigned i = 0; i < lanes; ++i)
    b.CreateAlignedStore(b.CreateExtractElement(value, uint64_t(i)),
                         b.CreateExtractElement(pointers, uint64_t(i)), align);
}

void Evaluator::prepare(Operation *op, ArrayRef<Coordinate> at) {
  auto store = cast<StoreOp>(op);
  if (store.getMask() && isFalse(evaluate(store.getMask(), at)))
    return;
  evaluate(store.getValue(), at);
}

void Evaluator::store(Operation *op, ArrayRef<Coordinate> at) {
  auto storeOp = cast<StoreOp>(op);
  auto &b = program.builder;
  llvm::Value *mask = storeOp.getMask() ? evaluate(storeOp.getMask(), at) : nullptr;
  if (isFalse(mask))
    return;
  llvm::Value *value = evaluate(storeOp.getValue(), at);
  if (within)
    mask = isTrue(mask) ? within : b.CreateAnd(program.splat(mask, lanes), within);
  ElementAddress where = addressAt(storeOp.getPtr(), at);
  program.setLocation(op->getLoc());
  storeTo(where, value, mask, streamed.contains(op));
}

// The first half of a vector with that of the one half of the vectors behind it, then the second halves;
// again and again.
void Evaluator::writeInterleaved(const Buffer &buffer, ArrayRef<Coordinate> at,
                                 ArrayRef<llvm::Value *> vectors) {
  auto &b = program.builder;
  llvm::Type *element = vectors[0]->getType()->getScalarType();
  bool isBool = element->isIntegerTy(1);
  int64_t bytes = isBool ? 1 : bytesOf(element);
  llvm::Type *bits = program.lanesOf(b.getIntNTy(unsigned(8 * bytes)), lanes);
  SmallVector<llvm::Value *, 8> now;
  for (llvm::Value *vector : vectors)
    now.push_back(isBool                   ? b.CreateZExt(vector, bits)
                  : element->isPointerTy() ? b.CreatePtrToInt(vector, bits)
                                           : b.CreateBitCast(vector, bits));
  llvm::Value *first = bufferAddressAt(buffer, at).address;
  for (auto [i, vector] : llvm::enumerate(interleave(b, now)))
    b.CreateAlignedStore(vector, b.CreateConstGEP1_64(b.getInt8Ty(), first, i * lanes * bytes),
                         llvm::Align(bytes));
}

void Evaluator::write(const Buffer &buffer, ArrayRef<Coordinate> at, llvm::Value *value) {
  if (value->getType()->getScalarType()->isIntegerTy(1)) {
    llvm::Type *bytes = program.builder.getInt8Ty();
    if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
      bytes = llvm::FixedVectorType::get(bytes, vector->getNumElements());
    value = program.builder.CreateZExt(value, bytes);
  }
  bool overLanes = llvm::any_of(at, [](const Coordinate &c) { return c.lane; });
  if (!overLanes && lanes > 1) {
    // One element, written by a nest whose lanes run over another dimension.
    ElementAddress where = bufferAddressAt(buffer, at);
    program.builder.CreateAlignedStore(value, where.address, llvm::Align(bytesOf(value->getType())));
    return;
  }
  storeTo(bufferAddressAt(buffer, at), value, overLanes ? within : nullptr);
}

} // namespace tegula::cpu
