// Matrix products by instructions of several warps, which read their operands in shared memory by themselves
// and go on while the warps do. In: `simt.dot_async`, its result laid out by layout::matrixResult, its
// operands in buffers as layout/OperandTile.h says, that of the instruction's rows perhaps in registers
// (layout::matrixOperand), perhaps fetched from there by the op itself, half of K at a time: each half is a
// group of its own, and its registers are those of the same half of the product before. Out: for each piece
// of rows that a group of warps has, one instruction a step along k; all of them make one group, for which
// `simt.dot_wait` waits.
#include "codegen/simt/BufferTile.h"
#include "codegen/simt/RegisterMap.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

class AsyncProduct {
public:
  AsyncProduct(Emitter &e, DotAsyncOp op)
      : e_(e), b_(e.builder), op_(op), shape_(op.getMatrix().shape()), result_(layoutOf(op.getResult())),
        rowDim_(shape_.isSwapped ? 1 : 0), columns_(layout::columnsTogether(result_.layout(), shape_)),
        rows_(shape_.m * shape_.warps) {
    if (op.getA())
      a_.emplace(layoutOf(op.getA()));
  }

  void emit() {
    columnsTile_.emplace(operand(op_.getB(), 1 - rowDim_, op_.getBTransposed()));
    sums_.assign(result_.layout().size(Axis::Register), nullptr);
    if (op_.getAcc())
      for (auto [sum, before] : llvm::zip(sums_, e_.registers(op_.getAcc())))
        sum = before ? widen(before) : nullptr;
    hasSums_ = bool(op_.getAcc());
    int64_t k = a_ ? a_->layout().extents()[1 - rowDim_] : lengthOfK();
    if (op_.getABuffer() && !planOf(op_.getABuffer(), rowDim_, op_.getATransposed()))
      fetchAndStart(k);
    else
      start(0, k, a_ ? &e_.registers(op_.getA()) : nullptr);
    e_.set(op_.getResult(), std::move(sums_));
  }

private:
  struct Operand {
    layout::OperandTile tile;
    llvm::Value *descriptor = nullptr; // of the group's first row, at the start of k
    std::vector<uint32_t> rowImages, kImages;
    unsigned bytes = 0;
  };

  // The product of `length` elements of K from `begin` on, as a group. `rows`: those that a_ lays out; null:
  // they lie in the buffer.
  void start(int64_t begin, int64_t length, const Registers *rows) {
    std::optional<Operand> a;
    if (!rows)
      a.emplace(operand(op_.getABuffer(), rowDim_, op_.getATransposed()));
    Hardware::GroupProduct product;
    product.name = op_.getMatrix().getName();
    product.columns = unsigned(columns_);
    product.isAInShared = a.has_value();
    product.isATransposed = a && a->tile.isTransposed;
    product.isBTransposed = columnsTile_->tile.isTransposed;
    for (int64_t step = 0; step < length; step += shape_.k)
      product.b.push_back(at(*columnsTile_, 0, begin + step));
    std::vector<unsigned> registers;
    for (int64_t row : rowsOfPieces()) {
      Hardware::GroupProduct::Piece piece;
      for (unsigned reg : registersOf(row)) {
        registers.push_back(reg);
        if (hasSums_)
          piece.sums.push_back(sums_[reg]);
      }
      for (int64_t step = 0; step < length; step += shape_.k)
        piece.a.push_back(a ? Hardware::Values{at(*a, row, begin + step)} : wordsOfA(*rows, row, step));
      product.pieces.push_back(std::move(piece));
    }
    for (auto [reg, sum] : llvm::zip(registers, e_.hardware.startProduct(b_, product)))
      sums_[reg] = sum;
    hasSums_ = true;
    e_.hardware.commitProducts(b_);
  }

  // Of the groups before, all but the last are done: that which had the same half among them. The other one
  // goes on.
  void fetchAndStart(int64_t k) {
    auto type = cast<BufferType>(op_.getABuffer().getType());
    bool isTransposed = op_.getATransposed();
    layout::SharedMap map = type.getMap().map();
    uint32_t step =
        *layout::planOperandHalves(Layout(type.getShape().vec(), {}), map, isTransposed, rowDim_, shape_);
    Layout whole = layout::matrixOperand(result_.layout(), shape_, rowDim_, k);
    Layout::Bases bases;
    for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp})
      bases[size_t(axis)] = whole.bases(axis);
    uint32_t highest = whole.dimMask(1 - rowDim_) & ~(whole.dimMask(1 - rowDim_) >> 1);
    std::erase(bases[size_t(Axis::Register)], highest);
    Layout rows(whole.extents(), std::move(bases)); // of the first half
    a_.emplace(rows);
    Layout lying = isTransposed ? rows.transposed(std::vector<int32_t>{1, 0}) : rows;
    for (int64_t half : {0, 1}) {
      e_.hardware.waitForProducts(b_, 1, {});
      llvm::Value *address = b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), e_.scalar(op_.getABuffer()),
                                                           unsigned(half) * step * shape_.elementBits / 8);
      Registers values = loadTile(e_, address, lying, map, type.getElementType());
      start(half * k / 2, k / 2, &values);
    }
  }

  std::optional<layout::OperandTile> planOf(Value buffer, unsigned index, bool isTransposed) {
    auto type = cast<BufferType>(buffer.getType());
    return layout::planOperandTile(Layout(type.getShape().vec(), {}), type.getMap().map(), isTransposed,
                                   index, result_.layout(), shape_);
  }

  llvm::Value *widen(llvm::Value *value) {
    return value->getType()->isHalfTy() ? b_.CreateFPExt(value, b_.getFloatTy()) : value;
  }

  // `index`: of the operand of the tiles' product.
  Operand operand(Value buffer, unsigned index, bool isTransposed) {
    auto type = cast<BufferType>(buffer.getType());
    layout::SharedMap map = type.getMap().map();
    Layout tile(type.getShape().vec(), {});
    unsigned rowDim = (index == 0) != isTransposed ? 0 : 1;
    auto imagesOf = [&](unsigned dim) {
      auto first = map.images.begin() + tile.shift(dim);
      return std::vector<uint32_t>(first, first + tile.hullBits(dim));
    };
    Operand result;
    result.rowImages = imagesOf(rowDim);
    result.kImages = imagesOf(1 - rowDim);
    result.bytes = shape_.elementBits / 8;
    // There is one, or the op would not have been made (transforms/StartDots.cpp).
    result.tile = *planOf(buffer, index, isTransposed);
    llvm::Value *address = e_.scalar(buffer);
    if (llvm::Value *offset = offsetOfGroup(result, index))
      address = b_.CreateInBoundsPtrAdd(address, offset);
    result.descriptor = e_.hardware.operandDescriptor(b_, address, result.tile);
    return result;
  }

  // The bytes from the operand's start to the rows of this group of warps, the same in all of its lanes;
  // null: 0.
  llvm::Value *offsetOfGroup(const Operand &operand, unsigned index) {
    const Layout &layout = result_.layout();
    unsigned dim = index, inGroup = llvm::Log2_32(shape_.warps);
    llvm::Value *offset = nullptr;
    const auto &warps = layout.bases(Axis::Warp);
    for (unsigned bit = inGroup; bit < warps.size(); ++bit) {
      uint32_t image =
          bytesOf(operand.rowImages, (warps[bit] & layout.dimMask(dim)) >> layout.shift(dim)) * operand.bytes;
      if (image == 0)
        continue;
      if (!group_)
        group_ = b_.CreateLShr(e_.hardware.shuffleIndex(b_, e_.warp(), b_.getInt32(0)), b_.getInt32(inGroup));
      llvm::Value *chosen = b_.CreateAnd(b_.CreateLShr(group_, b_.getInt32(bit - inGroup)), b_.getInt32(1));
      llvm::Value *part = b_.CreateMul(chosen, b_.getInt32(image));
      offset = offset ? b_.CreateAdd(offset, part) : part;
    }
    return offset;
  }

  static uint32_t bytesOf(const std::vector<uint32_t> &images, uint64_t coordinate) {
    uint32_t offset = 0;
    for (unsigned bit = 0; bit != images.size(); ++bit)
      offset ^= coordinate >> bit & 1 ? images[bit] : 0;
    return offset;
  }

  llvm::Value *at(const Operand &operand, int64_t row, int64_t k) {
    uint32_t elements = bytesOf(operand.rowImages, uint64_t(row)) ^ bytesOf(operand.kImages, uint64_t(k));
    return e_.hardware.advanceDescriptor(b_, operand.descriptor, uint64_t(elements) * operand.bytes);
  }

  int64_t lengthOfK() {
    auto type = cast<BufferType>(op_.getABuffer().getType());
    return type.getShape()[op_.getATransposed() ? rowDim_ : 1 - rowDim_];
  }

  // The first rows of the pieces that a group has, as its first warp sees them.
  std::vector<int64_t> rowsOfPieces() {
    llvm::SmallSetVector<int64_t, 4> rows;
    const Layout &layout = result_.layout();
    for (unsigned reg : layout.liveRegisters()) {
      int64_t row = layout.coordinates(layout.apply(reg, 0, 0))[rowDim_];
      rows.insert(row - row % rows_);
    }
    return {rows.begin(), rows.end()};
  }

  // Steps of the tile from the instruction's row 0 to its row 8.
  int64_t rowStep() const { return shape_.pairsRows ? 1 : 8; }

  // `row` and `other` of a tile whose dimension of rows is `dim`.
  static int at(const RegisterMap &map, unsigned dim, int64_t row, int64_t other) {
    return dim == 0 ? map.at({row, other}) : map.at({other, row});
  }

  // In the order of the instruction: of each eight columns two neighbours, in a row and in the eighth behind
  // it.
  std::vector<unsigned> registersOf(int64_t row) {
    std::vector<unsigned> registers;
    for (int64_t column = 0; column < columns_; column += 8)
      for (int64_t half : {0, 1})
        for (int64_t next : {0, 1})
          registers.push_back(unsigned(at(result_, rowDim_, row + half * rowStep(), column + next)));
    return registers;
  }

  // The words of the fragment of A at a piece of rows and a step.
  Hardware::Values wordsOfA(const Registers &values, int64_t row, int64_t k) {
    unsigned perWord = 32 / shape_.elementBits;
    Hardware::Values words;
    for (unsigned far = 0; far < shape_.k; far += 4 * perWord)
      for (int64_t half : {0, 1}) {
        llvm::Value *word = nullptr;
        for (unsigned near = 0; near != perWord; ++near) {
          llvm::Value *value = values[unsigned(at(*a_, rowDim_, row + half * rowStep(), k + far + near))];
          if (perWord == 1)
            word = value;
          else
            word = b_.CreateInsertElement(
                word ? word : llvm::PoisonValue::get(llvm::FixedVectorType::get(value->getType(), perWord)),
                value, uint64_t(near));
        }
        words.push_back(b_.CreateBitCast(word, b_.getInt32Ty()));
      }
    return words;
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  DotAsyncOp op_;
  layout::MatrixShape shape_;
  RegisterMap result_;
  unsigned rowDim_;        // the dimension of the result along which the instruction's rows lie
  int64_t columns_, rows_; // of one instruction
  std::optional<RegisterMap> a_;
  std::optional<Operand> columnsTile_;
  Registers sums_;               // by register of the result
  bool hasSums_ = false;         // else they start from zero
  llvm::Value *group_ = nullptr; // the number of the group of warps
};

} // namespace

void emitDotAsync(Emitter &e, DotAsyncOp op) { AsyncProduct(e, op).emit(); }

void emitDotWait(Emitter &e, DotWaitOp op) {
  SmallVector<llvm::Value *> sums;
  for (Value each : op.getSums())
    for (llvm::Value *sum : e.registers(each))
      if (sum)
        sums.push_back(sum);
  Hardware::Values done = e.hardware.waitForProducts(e.builder, op.getPending(), sums);
  auto *next = done.begin();
  for (auto [before, result] : llvm::zip(op.getSums(), op.getResults())) {
    Registers values = e.registers(before);
    llvm::Type *type = e.type(elementType(result.getType()));
    for (llvm::Value *&value : values)
      if (value)
        value = type->isHalfTy() ? e.builder.CreateFPTrunc(*next++, type) : *next++;
    e.set(result, std::move(values));
  }
}

void emitBarrier(Emitter &e, BarrierOp op) {
  if (op.getFence())
    e.hardware.fenceForProducts(e.builder);
  e.hardware.barrier(e.builder);
}

} // namespace tegula::simt
