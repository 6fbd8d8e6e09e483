// One nest as loops over native vectors. The lanes' dimension is cut at the bound that most
// accesses share: full vectors without masks below it, one masked vector across it, and
// behind it only what a reduction or a buffer must still see. Where loads may see what the nest
// stores, their tiles are copied first; where an address may have wrapped, or stores meet, one root
// runs after the other in scalars, every address as written.
#include "ir/tile/Tile.h"
#include "targets/cpu/Prefetch.h"
#include "targets/cpu/Streaming.h"
#include "targets/cpu/Transposition.h"

#include <map>

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// Where reductions to a scalar leave their results, in order of the nest's roots.
struct ScalarResults {
  SmallVector<std::pair<Operation *, SmallVector<llvm::AllocaInst *, 2>>, 2> slots;
  ArrayRef<llvm::AllocaInst *> of(Operation *op) const {
    for (const auto &[known, allocas] : slots)
      if (known == op)
        return allocas;
    return {};
  }
};

// The accumulators of one reduction: a vector (or scalar) each unrolled copy and operand.
struct Accumulators {
  const Root *root;
  std::unique_ptr<Combiner> combiner;
  SmallVector<SmallVector<llvm::AllocaInst *>> values; // [copy][operand]
  SmallVector<llvm::AllocaInst *> seen;                // [copy], without an identity: lanes in use
};

class NestEmitter {
public:
  NestEmitter(ProgramEmitter &program, const Nest &nest, ArrayRef<Root> roots, unsigned lanes, bool exact,
              const ScalarResults &scalarResults, const Buffer *target)
      : p_(program), b_(program.builder), nest_(nest), roots_(roots), evaluator_(program, lanes, exact),
        lanes_(lanes), scalarResults_(scalarResults), target_(target) {}

  Evaluator &evaluator() { return evaluator_; }

  // The root is written there.
  void writeTo(Value root, const Buffer &buffer) { areas_[root] = &buffer; }

  // Blocks of `transposition`, each place along its dimension `unrolled` or in a loop.
  // One way of reading them: where nothing is to be asked for ahead, what is read anyhow is asked for.
  void emitBlocks(const Transposition &transposition, bool unrolled, const Prefetch &prefetch) {
    transposition_ = &transposition;
    isUnrolled_ = unrolled;
    Prefetch always;
    for (auto [load, way] : prefetch.ways)
      always.ways[load] = b_.CreateSelect(prefetch.condition, way, b_.getInt64(0));
    emit(std::nullopt, 1, Streaming(), always);
  }

  // Buffers whose dimensions behind the lanes' hold `together` elements: they are computed in as many
  // vectors, which are interleaved and written whole.
  void emitInterleaved(unsigned together) {
    together_ = together;
    emit(std::nullopt, 1);
  }

  void emit(const std::optional<Bound> &bound, unsigned unroll, const Streaming &streaming = {},
            const Prefetch &prefetch = Prefetch()) {
    streaming_ = streaming;
    prefetch_ = prefetch;
    evaluator_.bound = bound;
    evaluator_.laneDim = nest_.lane;
    unroll_ = unroll;
    for (const Root &root : roots_) {
      if (root.kind == RootKind::Buffer && !isCopied(root))
        evaluator_.written.insert(root.value);
      if (root.kind == RootKind::Reduce)
        makeAccumulators(root);
    }
    at_.assign(nest_.shape.size(), Coordinate{b_.getInt64(0), false, 0, -1});
    for (unsigned d = 0; d < nest_.shape.size(); ++d)
      if (d != nest_.lane && nest_.inner != d && (together_ == 1 || d < nest_.lane))
        outer_.push_back(d);
    evaluator_.pushLevel();
    reset(ReduceOver::All);
    emitOuter(0);
    finish(ReduceOver::All);
  }

private:
  // ---- loops ----
  void emitOuter(size_t k) {
    if (k == outer_.size())
      return emitLanes();
    unsigned dim = outer_[k];
    if (nest_.shape[dim] == 1)
      return emitOuter(k + 1);
    evaluator_.sealLevel();
    int64_t step = transposition_ && dim == transposition_->dim ? lanes_ : 1;
    p_.loop(b_.getInt64(0), b_.getInt64(nest_.shape[dim]), step, "row", [&](llvm::Value *index) {
      evaluator_.pushLevel();
      at_[dim] = {index, false, evaluator_.level(), int8_t(dim)};
      emitOuter(k + 1);
      evaluator_.popLevel();
    });
  }

  void emitLanes() {
    reset(ReduceOver::Lane);
    int64_t extent = nest_.shape[nest_.lane];
    if (transposition_) {
      emitTransposed(extent);
    } else if (together_ > 1) {
      emitTogether(extent);
    } else if (lanes_ == 1) {
      lanesLoop(b_.getInt64(0), b_.getInt64(extent), 1, Region::Any, nullptr);
    } else if (evaluator_.bound) {
      emitBounded(extent);
    } else {
      int64_t step = int64_t(lanes_) * unroll_, full = extent / step * step;
      if (full)
        wholeVectors(b_.getInt64(full), Region::Any);
      if (full != extent)
        lanesLoop(b_.getInt64(full), b_.getInt64(extent), 1, Region::Any, nullptr);
    }
    finish(ReduceOver::Lane);
  }

  void emitTogether(int64_t extent) {
    evaluator_.sealLevel();
    p_.loop(b_.getInt64(0), b_.getInt64(extent), lanes_, "lanes", [&](llvm::Value *index) {
      evaluator_.pushLevel();
      at_[nest_.lane] = {index, true, evaluator_.level(), int8_t(nest_.lane)};
      std::vector<SmallVector<llvm::Value *, 8>> vectors(roots_.size());
      for (unsigned place = 0; place < together_; ++place) {
        goToMinor(place);
        for (auto [root, values] : llvm::zip_equal(roots_, vectors))
          values.push_back(p_.splat(ofBuffer(root), lanes_));
      }
      goToMinor(0);
      for (auto [root, values] : llvm::zip_equal(roots_, vectors))
        evaluator_.writeInterleaved(bufferOf(root), at_, values);
      evaluator_.popLevel();
    });
  }

  // The coordinates behind the lanes' dimension, in row-major order.
  void goToMinor(unsigned place) {
    for (unsigned d = nest_.shape.size(); d-- > nest_.lane + 1;) {
      if (nest_.shape[d] == 1)
        continue;
      at_[d] = {b_.getInt64(place % nest_.shape[d]), false, evaluator_.level(), int8_t(d)};
      place /= nest_.shape[d];
    }
  }

  void emitTransposed(int64_t extent) {
    unsigned dim = transposition_->dim;
    const Coordinate first = at_[dim];
    auto goTo = [&](llvm::Value *place) {
      evaluator_.pushLevel();
      evaluator_.transposedAt = place;
      at_[dim] = {b_.CreateAdd(first.index, place), false, evaluator_.level(), int8_t(dim)};
      emitRoots(0);
      evaluator_.popLevel();
    };
    evaluator_.sealLevel();
    p_.loop(b_.getInt64(0), b_.getInt64(extent), lanes_, "lanes", [&](llvm::Value *index) {
      evaluator_.pushLevel();
      at_[nest_.lane] = {index, true, evaluator_.level(), int8_t(nest_.lane)};
      evaluator_.transposed.clear();
      for (const NestRead &read : transposition_->tiles)
        readBlock(read, first.index, index);
      evaluator_.sealLevel();
      if (isUnrolled_)
        for (unsigned place = 0; place < lanes_; ++place)
          goTo(b_.getInt64(place));
      else
        p_.loop(b_.getInt64(0), b_.getInt64(lanes_), 1, "place", goTo);
      at_[dim] = first;
      evaluator_.popLevel();
    });
  }

  // `lanes` vectors across the lanes, transposed.
  void readBlock(const NestRead &read, llvm::Value *firstAcross, llvm::Value *firstLane) {
    Evaluator across(p_, lanes_, false);
    across.written = evaluator_.written;
    across.saved = evaluator_.saved;
    across.prefetched = prefetch_.ways;
    across.pushLevel();
    llvm::Type *element = p_.type(elementType(read.tile.getType()));
    SmallVector<llvm::Value *, 16> rows;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Coordinates at;
      for (int8_t d : read.map) {
        Coordinate c = d < 0 ? across.zero() : at_[d];
        if (d == int8_t(nest_.lane))
          c = {b_.CreateAdd(firstLane, b_.getInt64(lane)), false, 0, d};
        else if (d == int8_t(transposition_->dim))
          c = {firstAcross, true, 0, d};
        c.level = 0;
        at.push_back(c);
      }
      llvm::Value *row = p_.splat(across.evaluate(read.tile, at), lanes_);
      // As integers: LLVM has no shuffles of bf16.
      llvm::Type *bits = p_.lanesOf(b_.getIntNTy(element->getScalarSizeInBits()), lanes_);
      rows.push_back(b_.CreateBitCast(row, bits));
    }
    Evaluator::Transposed block{read.tile, read.map, {}, nullptr};
    for (llvm::Value *vector : transpose(b_, rows))
      block.vectors.push_back(b_.CreateBitCast(vector, p_.lanesOf(element, lanes_)));
    if (!isUnrolled_) {
      llvm::Type *type = p_.lanesOf(element, lanes_);
      block.block = p_.temporary(llvm::ArrayType::get(type, lanes_), "block");
      for (auto [place, vector] : llvm::enumerate(block.vectors))
        b_.CreateStore(vector, b_.CreateConstGEP1_64(type, block.block, place));
    }
    evaluator_.transposed.push_back(std::move(block));
  }

  void emitBounded(int64_t extent) {
    llvm::Value *count = elementsBelowBound(extent);
    int64_t step = int64_t(lanes_) * unroll_;
    llvm::Value *full = b_.CreateAnd(count, b_.getInt64(~(step - 1)));
    if (extent >= step)
      wholeVectors(full, Region::Inside);
    else
      full = b_.getInt64(0);
    lanesLoop(full, count, 1, Region::Across, count);
    if (!seesOutside())
      return;
    llvm::Value *rounded =
        b_.CreateAnd(b_.CreateAdd(count, b_.getInt64(lanes_ - 1)), b_.getInt64(~int64_t(lanes_ - 1)));
    lanesLoop(rounded, b_.getInt64(extent), 1, Region::Outside, nullptr);
  }

  void wholeVectors(llvm::Value *end, Region region) {
    auto run = [&] { lanesLoop(b_.getInt64(0), end, unroll_, region, nullptr); };
    // Stores stream in nests of stores, rows are prefetched in those of reductions: never both.
    llvm::Value *condition = streaming_.condition ? streaming_.condition : prefetch_.condition;
    if (!condition)
      return run();
    evaluator_.sealLevel(); // what this row needs is computed in front of both
    auto inLevel = [&](bool isSpecial) {
      evaluator_.pushLevel();
      if (isSpecial) {
        evaluator_.streamed = streaming_.stores;
        evaluator_.prefetched = prefetch_.ways;
      }
      run();
      evaluator_.streamed.clear();
      evaluator_.prefetched.clear();
      evaluator_.popLevel();
    };
    p_.branch(condition, [&] { inLevel(true); }, [&] { inLevel(false); });
  }

  // Does any root do something behind the bound? A store under the bound's condition does not.
  bool seesOutside() {
    for (const Root &root : roots_) {
      if (root.kind != RootKind::Store)
        return true;
      Value mask = cast<StoreOp>(root.op).getMask();
      if (!mask)
        return true;
      auto conjuncts = p_.access.conjuncts(mask);
      bool covered = llvm::is_contained(conjuncts, evaluator_.bound->lane);
      for (const Conjunct &uniform : evaluator_.bound->uniform)
        covered &= llvm::is_contained(conjuncts, uniform);
      if (!covered)
        return true;
    }
    return false;
  }

  // How many leading elements of this row satisfy the bound: 0..extent.
  llvm::Value *elementsBelowBound(int64_t extent) {
    const Form &form = *evaluator_.bound->lane.form;
    llvm::Value *rest = evaluator_.polynomial(form.base, at_);
    for (auto [d, stride] : llvm::enumerate(form.strides))
      if (d != nest_.lane && !stride.isZero())
        rest = b_.CreateAdd(rest, b_.CreateMul(evaluator_.polynomial(stride, at_), at_[d].index));
    // index + rest < 0
    llvm::Value *count = b_.CreateNeg(rest);
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, b_.getInt64(extent));
    for (const Conjunct &conjunct : evaluator_.bound->uniform)
      count = b_.CreateSelect(holds(conjunct), count, b_.getInt64(0));
    return count;
  }

  llvm::Value *holds(const Conjunct &conjunct) {
    if (!conjunct.form) {
      const Factor &factor = conjunct.opaque;
      if (!factor.isTile())
        return p_.scalar(factor.value);
      Coordinates at;
      for (int8_t d : factor.dims)
        at.push_back(d < 0 ? evaluator_.zero() : at_[d]);
      return evaluator_.evaluate(factor.value, at);
    }
    llvm::Value *sum = evaluator_.polynomial(conjunct.form->base, at_);
    for (auto [d, stride] : llvm::enumerate(conjunct.form->strides))
      if (!stride.isZero())
        sum = b_.CreateAdd(sum, b_.CreateMul(evaluator_.polynomial(stride, at_), at_[d].index));
    return b_.CreateICmpSLT(sum, b_.getInt64(0));
  }

  // `copies` vectors an iteration. With `count`, lanes at or behind it are across the bound.
  void lanesLoop(llvm::Value *begin, llvm::Value *end, unsigned copies, Region region, llvm::Value *count) {
    int64_t extent = nest_.shape[nest_.lane];
    bool ragged = lanes_ > 1 && copies == 1 && extent % lanes_ != 0 && region != Region::Inside;
    evaluator_.sealLevel();
    p_.loop(begin, end, int64_t(lanes_) * copies, "lanes", [&](llvm::Value *index) {
      evaluator_.pushLevel();
      evaluator_.region = region;
      SmallVector<llvm::Value *, 4> firsts{index};
      for (unsigned copy = 1; copy < copies; ++copy)
        firsts.push_back(b_.CreateAdd(index, b_.getInt64(int64_t(copy) * lanes_)));
      if (ragged)
        evaluator_.within = lanesBelow(index, b_.getInt64(extent));
      if (count)
        evaluator_.valid = lanesBelow(index, count);
      emitVectors(firsts);
      evaluator_.within = evaluator_.valid = nullptr;
      evaluator_.region = Region::Any;
      evaluator_.popLevel();
    });
  }

  llvm::Value *lanesBelow(llvm::Value *first, llvm::Value *limit) {
    // In 32 bits: extents are far below 2^31.
    llvm::Type *i32 = b_.getInt32Ty();
    llvm::Value *left = b_.CreateTrunc(b_.CreateSub(limit, first), i32);
    SmallVector<llvm::Constant *, 16> steps;
    for (unsigned i = 0; i < lanes_; ++i)
      steps.push_back(b_.getInt32(i));
    return b_.CreateICmpSLT(llvm::ConstantVector::get(steps), b_.CreateVectorSplat(lanes_, left));
  }

  void emitVectors(ArrayRef<llvm::Value *> firsts) {
    auto goTo = [&, level = evaluator_.level()](llvm::Value *first) {
      at_[nest_.lane] = {first, lanes_ > 1, level, int8_t(nest_.lane)};
    };
    if (nest_.inner)
      return emitInner(firsts, goTo);
    // All copies load before the first one stores: the machine may not exchange them later.
    if (firsts.size() > 1)
      for (llvm::Value *first : firsts) {
        goTo(first);
        prepareRoots();
      }
    for (auto [copy, first] : llvm::enumerate(firsts)) {
      goTo(first);
      emitRoots(copy);
    }
  }

  // The copies go through the reduced dimension side by side: what one row has of them is read together, and
  // no sum waits for itself.
  void emitInner(ArrayRef<llvm::Value *> firsts, llvm::function_ref<void(llvm::Value *)> goTo) {
    unsigned dim = *nest_.inner;
    for (unsigned copy = 0; copy < firsts.size(); ++copy)
      reset(ReduceOver::Inner, copy);
    evaluator_.sealLevel();
    p_.loop(b_.getInt64(0), b_.getInt64(nest_.shape[dim]), 1, "reduced", [&](llvm::Value *index) {
      evaluator_.pushLevel();
      at_[dim] = {index, false, evaluator_.level(), int8_t(dim)};
      for (auto [copy, first] : llvm::enumerate(firsts)) {
        goTo(first);
        emitRoots(copy);
      }
      evaluator_.popLevel();
    });
    at_[dim] = evaluator_.zero();
    for (auto [copy, first] : llvm::enumerate(firsts)) {
      goTo(first);
      finish(ReduceOver::Inner, copy);
    }
  }

  // The loads of a nest come before its stores, those of reductions and buffers, too.
  void prepareRoots() {
    if (llvm::none_of(roots_, [](const Root &root) { return root.kind == RootKind::Store; }))
      return;
    for (const Root &root : roots_) {
      if (root.kind == RootKind::Store)
        evaluator_.prepare(root.op, at_);
      else if (root.kind == RootKind::Buffer)
        evaluator_.evaluate(root.value, at_);
      else
        for (Value operand : root.op->getOperands())
          evaluator_.evaluate(reduced(root, operand), at_);
    }
  }

  // What a reduction combines: the elements before they are flattened.
  static Value reduced(const Root &root, Value operand) {
    return root.over == ReduceOver::All ? operand.getDefiningOp()->getOperand(0) : operand;
  }

  void emitRoots(unsigned copy) {
    if (roots_.size() > 1)
      prepareRoots();
    for (const Root &root : roots_) {
      if (root.kind == RootKind::Store)
        evaluator_.store(root.op, at_);
      else if (root.kind == RootKind::Buffer)
        writeBuffer(root);
      else
        accumulate(accumulators_[&root], copy);
    }
  }

  // Does the nest read the tile from its buffer, to write it to another one?
  bool isCopied(const Root &root) const { return target_ && p_.plan.buffer(root.value); }

  const Buffer &bufferOf(const Root &root) const {
    const Buffer *area = areas_.lookup(root.value);
    return area ? *area : target_ ? *target_ : *p_.plan.buffer(root.value);
  }

  llvm::Value *ofBuffer(const Root &root) {
    const Buffer &buffer = bufferOf(root);
    llvm::Value *value = evaluator_.evaluate(root.value, at_);
    if (buffer.element != elementType(root.value.getType()))
      value = widen(value, elementType(root.value.getType()),
                    p_.type(buffer.element)); // a factor of a dot, in the type it computes in
    return value;
  }

  void writeBuffer(const Root &root) { evaluator_.write(bufferOf(root), at_, ofBuffer(root)); }

  llvm::Value *widen(llvm::Value *value, Type from, llvm::Type *element) {
    if (!element->isIntegerTy())
      return floatOf(p_, value, from);
    llvm::Type *to = value->getType()->isVectorTy() ? p_.lanesOf(element, lanes_) : element;
    return b_.CreateSExt(value, to);
  }

  // ---- reductions ----
  void makeAccumulators(const Root &root) {
    Accumulators &acc = accumulators_[&root];
    acc.root = &root;
    acc.combiner = std::make_unique<Combiner>(p_, root.op);
    for (unsigned copy = 0; copy < unroll_; ++copy) {
      SmallVector<llvm::AllocaInst *> values;
      for (llvm::Type *element : acc.combiner->elementTypes())
        values.push_back(p_.temporary(p_.lanesOf(stored(element), lanes_), "acc"));
      acc.values.push_back(std::move(values));
      if (!acc.combiner->hasIdentity())
        acc.seen.push_back(p_.temporary(p_.lanesOf(b_.getInt1Ty(), lanes_), "seen"));
    }
  }

  void reset(ReduceOver over, std::optional<unsigned> only = std::nullopt) {
    for (const Root &root : roots_) {
      if (root.kind != RootKind::Reduce || root.over != over)
        continue;
      Accumulators &acc = accumulators_[&root];
      for (unsigned copy = 0; copy < unroll_; ++copy) {
        if (only && *only != copy)
          continue;
        for (llvm::AllocaInst *slot : acc.values[copy]) {
          llvm::Type *type = slot->getAllocatedType();
          llvm::Value *initial = acc.combiner->hasIdentity() ? p_.splat(acc.combiner->identity(), lanes_)
                                                             : llvm::Constant::getNullValue(type);
          keep(initial, slot);
        }
        if (!acc.seen.empty())
          b_.CreateStore(llvm::Constant::getNullValue(acc.seen[copy]->getAllocatedType()), acc.seen[copy]);
      }
    }
  }

  void accumulate(Accumulators &acc, unsigned copy) {
    SmallVector<llvm::Value *> next;
    for (Value operand : acc.root->op->getOperands())
      next.push_back(p_.splat(evaluator_.evaluate(reduced(*acc.root, operand), at_), lanes_));
    p_.setLocation(acc.root->op->getLoc());
    SmallVector<llvm::Value *> old = load(acc, copy);
    if (acc.combiner->hasIdentity()) {
      llvm::Value *value = acc.combiner->combine(old, next)[0];
      if (evaluator_.within)
        value = p_.select(evaluator_.within, value, old[0]);
      keep(value, acc.values[copy][0]);
      return;
    }
    llvm::Value *seen = b_.CreateLoad(acc.seen[copy]->getAllocatedType(), acc.seen[copy]);
    llvm::Value *use =
        evaluator_.within ? evaluator_.within : llvm::Constant::getAllOnesValue(seen->getType());
    merge(acc, acc.values[copy], acc.seen[copy], old, seen, next, use);
  }

  // slots = both seen ? combine(a, b) : seenA ? a : b
  void merge(Accumulators &acc, ArrayRef<llvm::AllocaInst *> slots, llvm::AllocaInst *seenSlot,
             ArrayRef<llvm::Value *> a, llvm::Value *seenA, ArrayRef<llvm::Value *> b, llvm::Value *seenB) {
    auto combined = acc.combiner->combine(a, b);
    for (auto [i, slot] : llvm::enumerate(slots)) {
      llvm::Value *value = p_.select(seenB, p_.select(seenA, combined[i], b[i]), a[i]);
      keep(value, slot);
    }
    b_.CreateStore(b_.CreateOr(seenA, seenB), seenSlot);
  }

  // bf16 is kept as integers, see ProgramEmitter::select.
  llvm::Type *stored(llvm::Type *element) { return element->isBFloatTy() ? b_.getInt16Ty() : element; }
  void keep(llvm::Value *value, llvm::AllocaInst *slot) {
    b_.CreateStore(b_.CreateBitCast(value, slot->getAllocatedType()), slot);
  }
  SmallVector<llvm::Value *> load(Accumulators &acc, unsigned copy) {
    SmallVector<llvm::Value *> values;
    for (auto [slot, element] : llvm::zip(acc.values[copy], acc.combiner->elementTypes()))
      values.push_back(
          b_.CreateBitCast(b_.CreateLoad(slot->getAllocatedType(), slot), p_.lanesOf(element, lanes_)));
    return values;
  }

  void finish(ReduceOver over, std::optional<unsigned> only = std::nullopt) {
    for (const Root &root : roots_) {
      if (root.kind != RootKind::Reduce || root.over != over)
        continue;
      Accumulators &acc = accumulators_[&root];
      p_.setLocation(root.op->getLoc());
      if (over == ReduceOver::Inner) {
        deliver(root, load(acc, *only));
        continue;
      }
      SmallVector<llvm::Value *> total = load(acc, 0);
      llvm::Value *seen =
          acc.seen.empty() ? nullptr : b_.CreateLoad(acc.seen[0]->getAllocatedType(), acc.seen[0]);
      for (unsigned copy = 1; copy < unroll_; ++copy)
        total = join(acc, total, seen, load(acc, copy),
                     acc.seen.empty() ? nullptr
                                      : b_.CreateLoad(acc.seen[copy]->getAllocatedType(), acc.seen[copy]));
      // Halve the vector until one lane is left.
      for (unsigned width = lanes_ / 2; width >= 1; width /= 2) {
        SmallVector<int, 16> shuffle(lanes_, -1);
        for (unsigned i = 0; i < width; ++i)
          shuffle[i] = int(i + width);
        SmallVector<llvm::Value *> upper;
        for (llvm::Value *value : total)
          upper.push_back(b_.CreateShuffleVector(value, shuffle));
        total = join(acc, total, seen, upper, seen ? b_.CreateShuffleVector(seen, shuffle) : nullptr);
      }
      if (lanes_ > 1)
        for (llvm::Value *&value : total)
          value = p_.firstLane(value);
      deliver(root, total);
    }
  }

  // Combines two sets of partial results; `seen` becomes that of the result.
  SmallVector<llvm::Value *> join(Accumulators &acc, ArrayRef<llvm::Value *> a, llvm::Value *&seen,
                                  ArrayRef<llvm::Value *> b, llvm::Value *seenB) {
    auto combined = acc.combiner->combine(a, b);
    if (!seen)
      return combined;
    SmallVector<llvm::Value *> result;
    for (auto [i, value] : llvm::enumerate(combined))
      result.push_back(p_.select(seenB, p_.select(seen, value, b[i]), a[i]));
    seen = b_.CreateOr(seen, seenB);
    return result;
  }

  // A result goes to its buffer at the coordinates that are left, or to a scalar.
  void deliver(const Root &root, ArrayRef<llvm::Value *> values) {
    auto reduce = cast<ReduceOp>(root.op);
    for (auto [i, result] : llvm::enumerate(reduce.getResults())) {
      const Buffer *buffer = p_.plan.buffer(result);
      if (!buffer) {
        b_.CreateStore(values[i], scalarResults_.of(root.op)[i]);
        continue;
      }
      Coordinates at = at_;
      at.erase(at.begin() + reduce.getAxis());
      evaluator_.write(*buffer, at, values[i]);
    }
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  const Nest &nest_;
  ArrayRef<Root> roots_;
  Evaluator evaluator_;
  unsigned lanes_, unroll_ = 1;
  const ScalarResults &scalarResults_;
  Streaming streaming_;
  Prefetch prefetch_;
  const Transposition *transposition_ = nullptr;
  unsigned together_ = 1;
  bool isUnrolled_ = false;
  const Buffer *target_;                        // of the nest's buffer roots; nullptr: the plan says
  llvm::DenseMap<Value, const Buffer *> areas_; // of some of them
  SmallVector<unsigned, 3> outer_;
  Coordinates at_;
  std::map<const Root *, Accumulators> accumulators_; // by place in the nest's list
};

constexpr size_t mostBounds = 16;

// The condition to cut the lanes' dimension at: the one most accesses have.
std::optional<Bound> pickBound(const Nest &nest, const NestAccesses &accesses, AccessAnalysis &access) {
  std::vector<std::pair<Bound, int>> candidates;
  auto consider = [&](const NestAccess &memory, int weight) {
    if (!memory.mask)
      return;
    for (auto [d, dim] : llvm::enumerate(memory.map))
      if (dim != int8_t(d) && dim != -1)
        return; // under another order of coordinates
    if (memory.map.size() != nest.shape.size())
      return;
    Bound bound;
    bool found = false;
    for (const Conjunct &conjunct : access.conjuncts(memory.mask)) {
      bool onLane = conjunct.dependsOn(nest.lane);
      bool isBound = onLane && conjunct.form && conjunct.form->strides[nest.lane].constant() == 1 &&
                     !conjunct.form->base.dependsOn(nest.lane);
      for (size_t d = 0; isBound && d < conjunct.form->strides.size(); ++d)
        isBound &= !conjunct.form->strides[d].dependsOn(nest.lane);
      if (isBound && !found) {
        bound.lane = conjunct;
        found = true;
      } else if (!onLane && !(nest.inner && conjunct.dependsOn(*nest.inner))) {
        bound.uniform.push_back(conjunct);
      }
    }
    if (!found || (nest.inner && bound.lane.dependsOn(*nest.inner)))
      return;
    for (auto &[known, count] : candidates)
      if (known.lane == bound.lane && known.uniform == bound.uniform) {
        count += weight;
        return;
      }
    if (candidates.size() < mostBounds) // the first ones: each access is compared with all
      candidates.push_back({std::move(bound), weight});
  };
  for (const NestAccess &load : accesses.loads)
    consider(load, 1);
  for (const NestAccess &store : accesses.stores)
    consider(store, 2);
  std::optional<Bound> best;
  int most = 0;
  for (auto &[bound, count] : candidates)
    if (count > most) {
      best = bound;
      most = count;
    }
  return best;
}

// The elements of the dimensions behind the lanes', where vectors of them can be interleaved; else 1.
unsigned pickTogether(const Nest &nest, const CpuModel &machine) {
  bool isOfBuffers = llvm::all_of(nest.roots, [](const Root &root) { return root.kind == RootKind::Buffer; });
  if (!isOfBuffers || nest.shape[nest.lane] % machine.lanes() != 0)
    return 1;
  int64_t together = 1;
  for (unsigned d = nest.lane + 1; d < nest.shape.size(); ++d)
    together *= nest.shape[d];
  return together == 2 || together == 4 || together == 8 ? unsigned(together) : 1;
}

// The ops of a nest's body, as far as they matter to the copies of it.
unsigned countOps(const Nest &nest, const CpuModel &machine) {
  unsigned ops = 0;
  llvm::DenseSet<Value> seen;
  auto count = [&](Value root) {
    SmallVector<Value> work{root};
    while (!work.empty() && ops <= machine.twoCopiesOps) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || !isInline(op) || !seen.insert(value).second)
        continue;
      if (!coordinateMap(op) && !isa<SplatOp, arith::ConstantOp>(op))
        ops += isa<math::MathDialect>(op->getDialect()) ? machine.mathOps : 1;
      work.append(op->operand_begin(), op->operand_end());
    }
  };
  for (const Root &root : nest.roots) {
    if (root.kind == RootKind::Buffer)
      count(root.value);
    else
      for (Value operand : root.op->getOperands())
        count(operand);
  }
  return ops;
}

// Beyond so many ops that the roots of a nest have in common, each counted once for each root but the first,
// the safe variant does not compute them root by root, if the values have room in so many bytes.
constexpr size_t mostRepeated = 256;
constexpr int64_t mostKept = 1 << 20, largestElement = 8;

// The values that the nest's stores have, where they are to be computed together ahead of the first store:
// apart, each would compute anew what they have in common. Empty: they are not.
SmallVector<Value> valuesComputedTogether(const Nest &nest, const NestAccesses &accesses,
                                          const NestPlan &plan) {
  SmallVector<Value> values, all;
  Operation *firstStore = nullptr;
  for (const Root &root : nest.roots) {
    if (root.kind == RootKind::Reduce)
      return {};
    if (root.kind == RootKind::Buffer) {
      all.push_back(root.value);
      continue;
    }
    auto store = dyn_cast<StoreOp>(root.op);
    if (!store || shapeOf(store.getValue().getType()) != ArrayRef<int64_t>(nest.shape))
      return {};
    firstStore = firstStore ? firstStore : root.op;
    all.push_back(store.getValue());
    if (Operation *op = store.getValue().getDefiningOp(); op && isInline(op) && !isa<LoadOp>(op) &&
                                                          !plan.buffer(store.getValue()) &&
                                                          !llvm::is_contained(values, store.getValue()))
      values.push_back(store.getValue());
  }
  for (const NestAccess &load : accesses.loads)
    if (!firstStore || load.op->getBlock() != firstStore->getBlock() || !load.op->isBeforeInBlock(firstStore))
      return {};
  int64_t bytes = largestElement * int64_t(values.size());
  for (int64_t extent : nest.shape)
    bytes *= extent;
  if (bytes > mostKept)
    return {};
  llvm::DenseSet<Value> once;
  size_t ofRoots = 0;
  for (Value root : all) {
    llvm::DenseSet<Value> own;
    SmallVector<Value> work{root};
    while (!work.empty() && ofRoots <= once.size() + mostRepeated) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || !isInline(op) || (value != root && plan.buffer(value)) || !own.insert(value).second)
        continue;
      once.insert(value);
      ++ofRoots;
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  return ofRoots > once.size() + mostRepeated ? values : SmallVector<Value>();
}

// Copies of the body in a loop: enough to hide latency, few enough to stay in registers.
unsigned pickUnroll(const Nest &nest, unsigned ops, const CpuModel &machine) {
  unsigned few = ops <= machine.fourCopiesOps ? 4 : ops <= machine.twoCopiesOps ? 2 : 1;
  // Sums side by side stay in registers, one each a copy; what is more than a sum has less room.
  bool isSum = nest.roots.size() == 1 && nest.roots[0].op && nest.roots[0].op->getNumOperands() == 1;
  unsigned unroll = !nest.inner ? few : isSum && few == 4 ? machine.sumCopies : machine.innerLoopCopies;
  while (unroll > 1 && nest.shape[nest.lane] < int64_t(unroll) * machine.lanes())
    unroll /= 2;
  return unroll;
}

} // namespace

// A nest that only evaluates `tile`, row by row.
Nest elementwiseNest(Value tile) {
  Nest nest;
  nest.shape.assign(shapeOf(tile.getType()).begin(), shapeOf(tile.getType()).end());
  nest.lane = nest.shape.size() - 1;
  nest.roots.push_back({RootKind::Buffer, nullptr, tile, {}});
  return nest;
}

namespace {

void remarkAccesses(ProgramEmitter &p, const Nest &nest, const NestAccesses &accesses) {
  auto tell = [&](const NestAccess &memory, StringRef verb) {
    std::optional<unsigned> laneDim;
    for (auto [d, dim] : llvm::enumerate(memory.map))
      if (dim == int8_t(nest.lane))
        laneDim = d;
    const Address *address = p.access.address(memory.pointers);
    Type pointee = cast<PointerType>(elementType(memory.pointers.getType())).getPointee();
    int64_t bytes = isa<PointerType>(pointee) ? 8 : (pointee.getIntOrFloatBitWidth() + 7) / 8;
    std::string text;
    if (!Evaluator::usesForm(address, laneDim)) {
      text = std::string(verb) +
             " of single elements: the addresses along the lanes are not base + stride·index";
    } else if (!laneDim) {
      text = std::string(verb) + " of one element a row";
    } else if (auto stride = address->offset.strides[*laneDim].constant(); stride && *stride == bytes) {
      text = std::string(verb) + " of vectors of " + std::to_string(p.machine.lanes()) + " elements";
    } else {
      text = std::string(verb) + " of single elements: the stride along the lanes is " +
             (stride ? std::to_string(*stride / bytes) + ", not 1" : "known only at run time");
    }
    p.remark(memory.op, "access", text);
  };
  for (const NestAccess &load : accesses.loads)
    tell(load, "load");
  for (const NestAccess &store : accesses.stores)
    tell(store, "store");
}

} // namespace

void ProgramEmitter::emitNest(const Nest &nest, const Buffer *target) {
  NestAccesses accesses = accessesOf(nest, plan);
  std::optional<Bound> bound = pickBound(nest, accesses, access);
  remarkAccesses(*this, nest, accesses);
  ScalarResults results;
  for (const Root &root : nest.roots) {
    if (root.kind != RootKind::Reduce || plan.buffer(root.op->getResult(0)))
      continue;
    results.slots.emplace_back(root.op, SmallVector<llvm::AllocaInst *, 2>());
    for (Value result : root.op->getResults())
      results.slots.back().second.push_back(temporary(type(result.getType()), "reduced"));
  }

  Guards guards = emitGuards(*this, nest, accesses, bound);
  // Tiles that the nest itself buffers are not in their buffers yet: a save computes them. What was saved
  // before is read: loads whose addresses are loaded, and so on, would compute the first ones again and
  // again.
  using Saved = decltype(Evaluator::saved);
  auto save = [&](Operation *load, unsigned lanes, bool exact, Saved &before) {
    Nest saving = elementwiseNest(load->getResult(0));
    NestEmitter emitter(*this, saving, saving.roots, lanes, exact, results,
                        &plan.saveArea(load->getResult(0)));
    emitter.evaluator().written.insert_range(filledBy(nest));
    std::swap(emitter.evaluator().saved, before);
    emitter.emit(std::nullopt, 1);
    std::swap(emitter.evaluator().saved, before);
    before[load->getResult(0)] = &plan.saveArea(load->getResult(0));
  };
  llvm::Value *isSaved = nullptr; // some load would see what the nest stores: its tile was read whole
  auto fast = [&] {
    Saved before; // accesses list users before their operands
    for (auto [load, usesForms] : llvm::reverse(guards.alwaysSaved))
      save(load, machine.lanes(), !usesForms, before);
    NestEmitter emitter(*this, nest, nest.roots, machine.lanes(), false, results, target);
    for (auto [load, usesForms] : guards.alwaysSaved)
      emitter.evaluator().saved[load->getResult(0)] = &plan.saveArea(load->getResult(0));
    for (Operation *load : guards.maySee)
      if (isSaved)
        emitter.evaluator().redirected[load] = {isSaved, &plan.saveArea(load->getResult(0))};
    unsigned ops = countOps(nest, machine);
    llvm::DenseSet<Value> saved;
    for (auto [load, usesForms] : guards.alwaysSaved)
      saved.insert(load->getResult(0));
    if (auto transposition = pickTransposition(*this, nest, accesses, saved)) {
      for (const NestRead &read : transposition->tiles)
        remark(read.tile.getDefiningOp(), "access",
               "read in vectors across the lanes, blocks of " + std::to_string(machine.lanes()) + "x" +
                   std::to_string(machine.lanes()) + " are transposed in registers");
      return emitter.emitBlocks(*transposition, ops <= machine.fourCopiesOps,
                                emitPrefetch(*this, nest, accesses, transposition->dim));
    }
    if (unsigned together = pickTogether(nest, machine); together > 1)
      return emitter.emitInterleaved(together);
    unsigned unroll = pickUnroll(nest, ops, machine);
    Streaming streaming;
    if (unroll > 1) // else arithmetic hides what the stores cost
      streaming = emitStreaming(*this, nest, accesses);
    hasStreams |= streaming.condition != nullptr;
    emitter.emit(bound, unroll, streaming, emitPrefetch(*this, nest, accesses, nest.lane));
  };
  auto inScalars = [&] {
    SmallVector<Operation *> loads;
    for (auto [load, usesForms] : guards.alwaysSaved)
      loads.push_back(load);
    loads.append(guards.maySee.begin(), guards.maySee.end());
    Saved before;
    for (Operation *load : llvm::reverse(loads))
      save(load, 1, true, before);
    Nest rest = nest;
    Saved saved = before;
    SmallVector<Value> values;
    if (!target)
      values = valuesComputedTogether(nest, accesses, plan);
    if (!values.empty()) {
      Nest together = nest;
      auto isBuffer = [](const Root &root) { return root.kind == RootKind::Buffer; };
      llvm::erase_if(together.roots, std::not_fn(isBuffer));
      llvm::erase_if(rest.roots, isBuffer);
      for (Value value : values)
        together.roots.push_back({RootKind::Buffer, nullptr, value, {}});
      NestEmitter emitter(*this, together, together.roots, 1, true, results, nullptr);
      emitter.evaluator().saved = before;
      for (Value value : values) {
        emitter.writeTo(value, plan.saveArea(value));
        saved[value] = &plan.saveArea(value);
      }
      emitter.emit(std::nullopt, 1);
    }
    for (const Root &root : rest.roots) {
      NestEmitter emitter(*this, nest, root, 1, true, results, target);
      emitter.evaluator().saved = saved;
      emitter.emit(std::nullopt, 1);
    }
  };
  auto inVectors = [&] {
    if (guards.apart && guards.canRedirect) {
      isSaved = builder.CreateNot(guards.apart);
      branch(
          guards.apart, [] {},
          [&] {
            Saved before;
            for (Operation *load : llvm::reverse(guards.maySee))
              save(load, machine.lanes(), false, before);
          },
          /*likely=*/true);
    }
    fast();
  };
  llvm::Value *inOrder = guards.holds;
  if (guards.apart && !guards.canRedirect)
    inOrder = inOrder ? builder.CreateAnd(inOrder, guards.apart) : guards.apart;
  Operation *where = nest.roots[0].op ? nest.roots[0].op : nest.roots[0].value.getDefiningOp();
  if (guards.apart && guards.canRedirect)
    remark(where, "guard",
           "a run-time test of overlap: where loads would see the stores, they are read whole first");
  if (inOrder) {
    remark(where, "guard", "a run-time test chooses between vector code and a safe variant");
    branch(inOrder, inVectors, inScalars, /*likely=*/true);
  } else {
    inVectors();
  }
  for (auto &[op, slots] : results.slots)
    for (auto [result, slot] : llvm::zip(op->getResults(), slots))
      setScalar(result, builder.CreateLoad(slot->getAllocatedType(), slot));
}

void ProgramEmitter::copyTo(Value value, const Buffer &buffer) {
  const Buffer *source = plan.buffer(value);
  if (!source)
    return emitNest(elementwiseNest(value), &buffer);
  if (source->element != buffer.element)
    return widenTo(value, buffer);
  if (source->offset != buffer.offset)
    copyBuffer(buffer, *source);
}

void ProgramEmitter::widenTo(Value buffered, const Buffer &buffer) {
  Nest copy = elementwiseNest(buffered);
  ScalarResults none;
  NestEmitter(*this, copy, copy.roots, machine.lanes(), false, none, &buffer).emit(std::nullopt, 1);
}

} // namespace tegula::cpu
