// Buffers in shared memory: a buffer is the address of its first byte. Offsets of elements are linear in the
// bits of thread and register (layout/SharedMap.h): what the thread adds is computed once a kernel, the
// register's part is a constant that is XORed in where bits could meet and else part of the address.
#include "codegen/simt/MatrixStores.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

class BufferAccess {
public:
  BufferAccess(Emitter &e, Value buffer, Type tile) : BufferAccess(e, buffer, layoutOf(tile)) {}
  BufferAccess(Emitter &e, Value buffer, const Layout &layout)
      : e_(e), b_(e.builder), buffer_(e.scalar(buffer)), layout_(layout),
        map_(cast<BufferType>(buffer.getType()).getMap().map()),
        element_(e.type(cast<BufferType>(buffer.getType()).getElementType())),
        stored_(storedType(e, element_)), bytes_(stored_->getScalarSizeInBits() / 8) {
    for (Axis axis : {Axis::Lane, Axis::Warp}) {
      for (uint32_t basis : layout_.bases(axis))
        threads_.push_back(map_.offset(basis));
      if (axis == Axis::Lane)
        threads_.resize(layout::laneBits, 0);
    }
  }

  Registers load() {
    if (std::optional<layout::MatrixAccess> access = matrixAccess())
      return loadMatrices(*access);
    Registers result(layout_.size(Axis::Register), nullptr);
    forRuns(loadWidth(),
            [&](uint32_t offset, unsigned width, ArrayRef<int> run) { loadRun(offset, width, run, result); });
    // Registers that hold an element once more.
    for (unsigned reg = 0; reg != result.size(); ++reg)
      if (!result[reg] && layout_.isLive(reg))
        result[reg] = result[first_.lookup(offsetOf(reg))];
    return result;
  }

  void store(const Registers &values) {
    if (std::optional<layout::MatrixAccess> access = planMatrixStore(e_, layout_, map_, bytes_ * 8))
      return storeMatrices(e_, *access, stored_, values,
                           [&](uint32_t offset) { return address(threadsOf(*access), offset); });
    e_.when(e_.isFirstCopy(layout_), [&] {
      forRuns(layout::accessWidth(layout_, map_, bytes_ * 8), [&](uint32_t offset, unsigned width,
                                                                  ArrayRef<int> run) {
        llvm::Value *words = llvm::PoisonValue::get(llvm::FixedVectorType::get(stored_, width));
        for (unsigned i = 0; i != width; ++i)
          if (run[i] >= 0)
            words = b_.CreateInsertElement(words, toStored(e_, values[unsigned(run[i])]), uint64_t(i));
        b_.CreateAlignedStore(b_.CreateBitCast(words, runType(width)), address(threads_, offset),
                              llvm::Align(bytes_ * width));
      });
    });
  }

  void copy(AsyncCopyOp op, const Registers &pointers, const Registers *mask, unsigned width) {
    auto all = [&] {
      for (unsigned reg = 0; reg < layout_.size(Axis::Register); reg += width) {
        if (!layout_.isLive(reg) || (reg & layout_.freeBits(Axis::Register)))
          continue;
        Access access = accessOf(op, width);
        access.pointer = pointers[reg];
        access.predicate = e_.both(e_.inside(layout_, reg), mask ? (*mask)[reg] : nullptr);
        e_.hardware.asyncCopy(b_, address(threads_, offsetOf(reg)), access);
      }
    };
    e_.when(e_.both(op.getPredicate() ? e_.scalar(op.getPredicate()) : nullptr, e_.isFirstCopy(layout_)),
            all);
  }

  // As the copy computes each element.
  void copyEach(AsyncCopyOp op, unsigned width) {
    e_.when(op.getPredicate() ? e_.scalar(op.getPredicate()) : nullptr, [&] {
      forElements(op.getElement(), width, {}, [&](llvm::Value *inBuffer, const Registers &element) {
        Access access = accessOf(op, width);
        access.pointer = element[0];
        access.predicate = element.size() == 2 ? element[1] : nullptr;
        e_.hardware.asyncCopy(b_, inBuffer, access);
      });
    });
  }

  void storeEach(StoreElementsOp op, unsigned width) {
    auto before = std::pair(unsigned(op.getDim()), uint32_t(op.getBefore()));
    forElements(op.getElement(), width, before, [&](llvm::Value *inBuffer, const Registers &element) {
      llvm::Value *words = b_.CreateAlignedLoad(runType(width), inBuffer, llvm::Align(bytes_ * width));
      words = b_.CreateBitCast(words, llvm::FixedVectorType::get(stored_, width));
      SmallVector<llvm::Value *> values;
      for (unsigned i = 0; i != width; ++i)
        values.push_back(b_.CreateExtractElement(words, uint64_t(i)));
      Access access;
      access.element = stored_;
      access.count = width;
      access.pointer = element[0];
      access.predicate = element.size() == 2 ? element[1] : nullptr;
      e_.hardware.store(b_, access, values);
    });
  }

  llvm::IRBuilder<> &builder() const { return b_; }

  // Of each run of `width` elements its offset and the registers that hold them (-1: none).
  void forRuns(unsigned width, llvm::function_ref<void(uint32_t, unsigned, ArrayRef<int>)> body) {
    std::map<uint32_t, SmallVector<int>> runs;
    first_.clear();
    for (unsigned reg = 0; reg != layout_.size(Axis::Register); ++reg) {
      if (!layout_.isLive(reg) || !first_.try_emplace(offsetOf(reg), reg).second)
        continue;
      SmallVector<int> &run =
          runs.try_emplace(offsetOf(reg) / width * width, SmallVector<int>(width, -1)).first->second;
      run[offsetOf(reg) % width] = int(reg);
    }
    for (auto &[offset, run] : runs)
      body(offset, width, run);
  }

  void loadRun(uint32_t offset, unsigned width, ArrayRef<int> run, Registers &result) {
    if (layout_.hasPadding())
      return loadInside(offset, width, run, result);
    llvm::Value *words =
        b_.CreateAlignedLoad(runType(width), address(threads_, offset), llvm::Align(bytes_ * width));
    words = b_.CreateBitCast(words, llvm::FixedVectorType::get(stored_, width));
    for (unsigned i = 0; i != width; ++i)
      if (run[i] >= 0)
        result[unsigned(run[i])] = fromStored(e_, b_.CreateExtractElement(words, uint64_t(i)), element_);
  }

  unsigned loadWidth() const {
    return layout::wholeWidth(layout_, map_, layout::accessWidth(layout_, map_, bytes_ * 8));
  }

  // The widest loads whose elements stay together where register bits from `first` to `last` move them.
  unsigned widthBelow(unsigned first, unsigned last) const {
    unsigned width = loadWidth();
    for (uint32_t image : imagesOf(first, last))
      while (image & (width - 1))
        width /= 2;
    return width;
  }

  // All accesses move as these register bits would by the bits of `index`.
  void moveBy(llvm::Value *index, unsigned first, unsigned last) {
    std::vector<uint32_t> images = imagesOf(first, last);
    for (uint32_t &image : images) {
      movedMask_ |= image;
      image *= bytes_;
    }
    moved_ = e_.linearOf(index, images);
  }

  std::optional<layout::MatrixAccess> matrixAccess() const {
    return e_.hardware.hasMatrixLoad() ? layout::planMatrixAccess(layout_, map_, bytes_ * 8) : std::nullopt;
  }

  // The words of one instruction, in the order of its matrices.
  Hardware::Values loadPiece(const layout::MatrixAccess &access, const layout::MatrixAccess::Piece &piece) {
    return e_.hardware.matrixLoad(b_, address(threadsOf(access), piece.offset), access.matrices,
                                  access.isTransposed);
  }

private:
  Access accessOf(AsyncCopyOp op, unsigned width) const {
    Access access;
    access.element = stored_;
    access.count = width;
    access.cache = op.getCache();
    access.evict = op.getEvict();
    return access;
  }

  // In a loop, each of whose trips is about `width` elements a thread: where they lie in the buffer, and the
  // region's results for their coordinates, of which one is larger than in the buffer by `before`.
  void forElements(Region &region, unsigned width, std::pair<unsigned, uint32_t> before,
                   llvm::function_ref<void(llvm::Value *, const Registers &)> body) {
    const std::vector<int64_t> &shape = layout_.extents();
    unsigned inner = map_.images[layout_.shift(0)] == 1 ? 0 : 1;
    auto imagesFrom = [&](unsigned dim, unsigned bit) {
      std::vector<uint32_t> images;
      for (; 1 << bit < shape[dim]; ++bit)
        images.push_back(map_.images[layout_.shift(dim) + bit] * bytes_);
      return images;
    };
    std::vector<uint32_t> columnImages = imagesFrom(inner, llvm::Log2_32(width)),
                          rowImages = imagesFrom(1 - inner, 0);
    auto at = [&](llvm::Value *row, llvm::Value *column) {
      Registers coordinates(2);
      coordinates[inner] = b_.CreateShl(column, uint64_t(llvm::Log2_32(width)));
      coordinates[1 - inner] = row;
      coordinates[before.first] = b_.CreateAdd(coordinates[before.first], b_.getInt32(before.second));
      llvm::Value *offset = b_.CreateXor(e_.linearOf(column, columnImages), e_.linearOf(row, rowImages));
      body(b_.CreateInBoundsPtrAdd(buffer_, offset), e_.emitCombine(region, coordinates));
    };
    // The threads lie along the columns, then along the rows, over which they step together.
    uint32_t columns = uint32_t(shape[inner]) / width, rows = uint32_t(shape[1 - inner]),
             threads = 32 * e_.warps;
    auto rowOf = [&](llvm::Value *index) { return b_.CreateLShr(index, uint64_t(llvm::Log2_32(columns))); };
    auto columnOf = [&](llvm::Value *index) { return b_.CreateAnd(index, columns - 1); };
    if (columns > threads)
      return stepBy(e_.thread(), columns * rows, threads, [&](llvm::Value *index) {
        llvm::Value *row = rowOf(index);
        at(row, columnOf(index));
      });
    llvm::Value *column = columnOf(e_.thread());
    stepBy(rowOf(e_.thread()), rows, threads / columns, [&](llvm::Value *row) { at(row, column); });
  }

  // A loop that stays one: from `first` on, which is less than `step`, up to `end`. The numbers are powers of
  // two. It counts trips, of which all threads have as many: a test of what a thread has reached would let
  // the assembler take all that is around for places which threads reach at different times.
  void stepBy(llvm::Value *first, uint32_t end, uint32_t step, llvm::function_ref<void(llvm::Value *)> body) {
    auto loop = [&] {
      llvm::BasicBlock *before = b_.GetInsertBlock(), *trip = e_.newBlock("each"),
                       *behind = e_.newBlock("each.end");
      b_.CreateBr(trip);
      b_.SetInsertPoint(trip);
      llvm::PHINode *done = b_.CreatePHI(b_.getInt32Ty(), 2);
      done->addIncoming(b_.getInt32(0), before);
      body(b_.CreateAdd(first, done));
      llvm::Value *next = b_.CreateAdd(done, b_.getInt32(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
      done->addIncoming(next, b_.GetInsertBlock());
      keepRolled(b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(end)), trip, behind));
      b_.SetInsertPoint(behind);
    };
    e_.when(step > end ? b_.CreateICmpULT(first, b_.getInt32(end)) : nullptr, loop);
  }

  static std::vector<uint32_t> threadsOf(const layout::MatrixAccess &access) {
    std::vector<uint32_t> threads = access.laneOffsets;
    llvm::append_range(threads, access.warpOffsets);
    return threads;
  }

  uint32_t offsetOf(unsigned reg) const { return map_.offset(layout_.apply(reg, 0, 0)); }

  llvm::Value *address(ArrayRef<uint32_t> threads, uint32_t offset) {
    uint32_t mask = movedMask_;
    std::vector<uint32_t> images(threads.begin(), threads.end());
    for (uint32_t &image : images) {
      mask |= image;
      image *= bytes_;
    }
    llvm::Value *thread = e_.linear(images);
    if (moved_)
      thread = b_.CreateXor(thread, moved_);
    if (offset & mask)
      thread = b_.CreateXor(thread, b_.getInt32((offset & mask) * bytes_));
    return b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), b_.CreateInBoundsPtrAdd(buffer_, thread),
                                         (offset & ~mask) * bytes_);
  }

  std::vector<uint32_t> imagesOf(unsigned first, unsigned last) const {
    std::vector<uint32_t> images;
    for (unsigned bit = first; bit != last; ++bit)
      images.push_back(map_.offset(layout_.bases(Axis::Register)[bit]));
    return images;
  }

  llvm::Type *runType(unsigned width) {
    unsigned bits = bytes_ * 8 * width;
    if (bits < 64 || bytes_ >= 4)
      return bits < 64 ? static_cast<llvm::Type *>(b_.getIntNTy(bits))
                       : llvm::FixedVectorType::get(stored_, width);
    return llvm::FixedVectorType::get(b_.getInt32Ty(), bits / 32);
  }

  // Threads outside of the extents find nothing that was written: they read nothing.
  void loadInside(uint32_t offset, unsigned width, ArrayRef<int> run, Registers &result) {
    Access access;
    access.pointer = address(threads_, offset);
    access.element = stored_;
    access.count = width;
    bool isAlways = false;
    for (int reg : run)
      if (reg >= 0) {
        llvm::Value *inside = e_.inside(layout_, unsigned(reg));
        isAlways |= !inside;
        access.predicate = access.predicate && inside ? b_.CreateOr(access.predicate, inside) : inside;
      }
    if (isAlways)
      access.predicate = nullptr;
    Hardware::Values values = e_.hardware.load(b_, access, {});
    for (auto [reg, value] : llvm::zip(run, values))
      if (reg >= 0)
        result[unsigned(reg)] = fromStored(e_, value, element_);
  }

  Registers loadMatrices(const layout::MatrixAccess &access) {
    Registers result(layout_.size(Axis::Register), nullptr);
    for (const layout::MatrixAccess::Piece &piece : access.pieces) {
      Hardware::Values words = loadPiece(access, piece);
      for (auto [word, registers] : llvm::zip(words, piece.registers)) {
        unsigned count = unsigned(registers.size());
        llvm::Value *elements = b_.CreateBitCast(word, llvm::FixedVectorType::get(stored_, count));
        for (unsigned i = 0; i != count; ++i)
          result[registers[i]] = fromStored(e_, b_.CreateExtractElement(elements, uint64_t(i)), element_);
      }
    }
    return result;
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  llvm::Value *buffer_;
  Layout layout_;
  layout::SharedMap map_;
  llvm::Type *element_, *stored_;
  unsigned bytes_;
  std::vector<uint32_t> threads_;
  llvm::Value *moved_ = nullptr; // bytes, and the bits of an offset that they move
  uint32_t movedMask_ = 0;
  llvm::DenseMap<uint32_t, unsigned> first_; // register by offset
};

class WordsInBuffer : public OperandWords {
public:
  WordsInBuffer(Emitter &e, LocalLoadOp load)
      : access_(e, load.getBuffer(), load.getResult().getType()), matrices_(*access_.matrixAccess()),
        zero_(e.builder.getInt32(0)) {
    for (auto [index, piece] : llvm::enumerate(matrices_.pieces))
      for (auto [matrix, registers] : llvm::enumerate(piece.registers))
        for (auto [element, reg] : llvm::enumerate(registers))
          places_[reg] = {unsigned(index), unsigned(matrix), unsigned(element)};
  }

  llvm::Value *word(ArrayRef<int> registers) override {
    auto place = places_.find(unsigned(registers[0]));
    if (place == places_.end()) // outside of the tile in every thread
      return zero_;
    llvm::Value *first = loaded(place->second);
    if (registers.size() < 4 || !matrices_.isTransposed)
      return first;
    // Bytes from two matrices: each has two of them.
    const Place &other = places_.find(unsigned(registers[2]))->second;
    SmallVector<int, 4> bytes;
    for (auto [i, reg] : llvm::enumerate(registers))
      bytes.push_back(int(places_.find(unsigned(reg))->second.element + (i < 2 ? 0 : 4)));
    auto &b = access_.builder();
    llvm::Type *type = llvm::FixedVectorType::get(b.getInt8Ty(), 4);
    return b.CreateBitCast(
        b.CreateShuffleVector(b.CreateBitCast(first, type), b.CreateBitCast(loaded(other), type), bytes),
        b.getInt32Ty());
  }

private:
  struct Place {
    unsigned piece, matrix, element;
  };

  llvm::Value *loaded(const Place &place) {
    Hardware::Values &words = loaded_[place.piece];
    if (words.empty())
      words = access_.loadPiece(matrices_, matrices_.pieces[place.piece]);
    return words[place.matrix];
  }

  BufferAccess access_;
  layout::MatrixAccess matrices_;
  llvm::Value *zero_;
  llvm::DenseMap<unsigned, Place> places_;      // by register
  std::map<unsigned, Hardware::Values> loaded_; // by piece
};

class ElementsInBuffer : public FactorElements {
public:
  ElementsInBuffer(Emitter &e, LocalLoadOp load)
      : layout_(layoutOf(load.getResult())), access_(e, load.getBuffer(), layout_),
        elements_(layout_.size(Axis::Register), nullptr) {
    findRuns(access_.widthBelow(0, 0));
  }

  llvm::Value *element(unsigned reg) override {
    if (!elements_[reg]) {
      const Run &run = runs_[runOf_[reg]];
      access_.loadRun(run.offset, unsigned(run.registers.size()), run.registers, elements_);
    }
    return elements_[reg];
  }

  void moveBy(llvm::Value *index, unsigned first, unsigned last) override {
    findRuns(access_.widthBelow(first, last));
    access_.moveBy(index, first, last);
  }

private:
  struct Run {
    uint32_t offset;
    SmallVector<int> registers;
  };

  void findRuns(unsigned width) {
    runs_.clear();
    runOf_.assign(layout_.size(Axis::Register), 0);
    access_.forRuns(width, [&](uint32_t offset, unsigned, ArrayRef<int> registers) {
      for (int reg : registers)
        if (reg >= 0)
          runOf_[unsigned(reg)] = unsigned(runs_.size());
      runs_.push_back({offset, SmallVector<int>(registers)});
    });
  }

  Layout layout_;
  BufferAccess access_;
  std::vector<Run> runs_;
  std::vector<unsigned> runOf_; // each register
  Registers elements_;          // that were asked for
};

} // namespace

namespace {

// The only use of a tile, behind transpositions that rename no register; null: there are several.
OpOperand *onlyUse(Value tile) {
  while (tile.hasOneUse()) {
    auto turn = dyn_cast<TransOp>(*tile.user_begin());
    if (!turn)
      return &*tile.use_begin();
    std::span<const int32_t> order(turn.getOrder().data(), turn.getOrder().size());
    if (layoutOf(turn.getResult()) != layoutOf(tile).transposed(order))
      return nullptr;
    tile = turn.getResult();
  }
  return nullptr;
}

} // namespace

bool isFetchedByUser(const Emitter &e, LocalLoadOp load) {
  OpOperand *use = onlyUse(load.getResult());
  auto dot = use ? dyn_cast<DotOp>(use->getOwner()) : DotOp();
  if (!dot || dot->getBlock() != load->getBlock() || use->getOperandNumber() == 2)
    return false;
  for (Operation *op = load->getNextNode(); op != dot; op = op->getNextNode())
    if (!isa<LocalLoadOp, ViewOp>(op) && !isMemoryEffectFree(op))
      return false;
  if (isFactorOfMultiplyAdds(*use))
    return true;
  if (use->get() != load.getResult())
    return false;
  auto type = cast<BufferType>(load.getBuffer().getType());
  return e.hardware.hasMatrixLoad() &&
         layout::planMatrixAccess(layoutOf(load.getResult()), type.getMap().map(),
                                  storedBits(type.getElementType()));
}

std::unique_ptr<OperandWords> wordsInBuffer(Emitter &e, Value operand, DotOp user) {
  auto load = operand.getDefiningOp<LocalLoadOp>();
  return load && isFetchedByUser(e, load) ? std::make_unique<WordsInBuffer>(e, load) : nullptr;
}

static LocalLoadOp loadBehindTurns(Value tile) {
  while (auto turn = tile.getDefiningOp<TransOp>())
    tile = turn.getValue();
  return tile.getDefiningOp<LocalLoadOp>();
}

std::unique_ptr<FactorElements> elementsInBuffer(Emitter &e, Value operand) {
  LocalLoadOp load = loadBehindTurns(operand);
  return load && isFetchedByUser(e, load) ? std::make_unique<ElementsInBuffer>(e, load) : nullptr;
}

bool isFetchedByUser(const Emitter &e, TransOp turn) {
  LocalLoadOp load = loadBehindTurns(turn.getValue());
  return load && isFetchedByUser(e, load);
}

void emitBuffer(Emitter &e, Operation *op) {
  auto &b = e.builder;
  if (auto alloc = dyn_cast<AllocOp>(op))
    return e.set(alloc.getBuffer(), {e.shared(unsigned(*alloc.getOffset()))});
  if (auto view = dyn_cast<ViewOp>(op)) {
    llvm::Value *bytes =
        b.CreateMul(e.scalar(view.getSlot()), b.getInt32(unsigned(view.getResult().getType().slotBytes())));
    return e.set(view.getResult(), {b.CreateInBoundsPtrAdd(e.scalar(view.getBuffer()), bytes)});
  }
  if (auto load = dyn_cast<LocalLoadOp>(op); load && isFetchedByUser(e, load))
    return;
  if (auto load = dyn_cast<LocalLoadOp>(op))
    return e.set(load.getResult(), BufferAccess(e, load.getBuffer(), load.getResult().getType()).load());
  if (auto store = dyn_cast<LocalStoreOp>(op))
    return BufferAccess(e, store.getBuffer(), store.getValue().getType())
        .store(e.registers(store.getValue()));
  if (auto copy = dyn_cast<AsyncCopyOp>(op)) {
    BufferAccess access(e, copy.getBuffer(), copy.getPointers().getType());
    unsigned width = unsigned(op->getAttrOfType<IntegerAttr>(widthName).getInt());
    if (copy.getElement().empty())
      access.copy(copy, e.registers(copy.getPointers()),
                  copy.getMask() ? &e.registers(copy.getMask()) : nullptr, width);
    else
      access.copyEach(copy, width);
    return e.set(copy.getToken(), {});
  }
  if (auto store = dyn_cast<StoreElementsOp>(op)) {
    Layout all({store.getBuffer().getType().getShape().vec()}, {}); // no thread has a place of its own
    return BufferAccess(e, store.getBuffer(), all)
        .storeEach(store, unsigned(op->getAttrOfType<IntegerAttr>(widthName).getInt()));
  }
  if (auto commit = dyn_cast<AsyncCommitOp>(op)) {
    e.hardware.asyncCommit(b);
    return e.set(commit.getGroup(), {});
  }
  e.hardware.asyncWait(b, unsigned(cast<AsyncWaitOp>(op).getPending()));
}

} // namespace tegula::simt
