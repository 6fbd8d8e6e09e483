// Matrix products by instructions of several warps, which read their operands in shared memory by themselves
// and go on while the warps do. In: `simt.dot_async`, its result laid out by layout::matrixResult, its
// operands in buffers as layout/OperandTile.h says, that of the instruction's rows perhaps in registers
// (layout::matrixOperand).
// Out: for each piece of rows that a group of warps has, one instruction a step along k; all of them make one
// group, for which `simt.dot_wait` waits.
#include "codegen/simt/Emitter.h"
#include "codegen/simt/RegisterMap.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Turns.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// The groups of warps of a program, one of which has the turn. The barrier of group i is 1 + i: to it come
// the group itself, which waits, and the one before it.
class Turns {
public:
  Turns(Emitter &e, unsigned warpsOfGroup, unsigned warps)
      : e_(e), groups_(warps / warpsOfGroup), threads_(2 * 32 * warpsOfGroup),
        group_(e.builder.CreateLShr(e.uniformWarp(), e.builder.getInt32(llvm::Log2_32(warpsOfGroup)))) {}

  void await() { meet(group_, true); }
  void handOn() {
    auto &b = e_.builder;
    meet(b.CreateAnd(b.CreateAdd(group_, b.getInt32(1)), b.getInt32(groups_ - 1)), false);
  }
  void open() {
    auto &b = e_.builder;
    e_.when(b.CreateICmpEQ(group_, b.getInt32(groups_ - 1)), [&] { meet(b.getInt32(0), false); });
  }
  void close() {
    auto &b = e_.builder;
    e_.when(b.CreateICmpEQ(group_, b.getInt32(0)), [&] { meet(b.getInt32(0), true); });
  }

private:
  void meet(llvm::Value *group, bool waits) {
    auto &b = e_.builder;
    e_.hardware.namedBarrier(b, b.CreateAdd(group, b.getInt32(1)), threads_, waits);
  }

  Emitter &e_;
  unsigned groups_, threads_; // that come to a barrier
  llvm::Value *group_;
};

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
    std::optional<Operand> a;
    if (op_.getABuffer())
      a.emplace(operand(op_.getABuffer(), rowDim_, op_.getATransposed()));
    Operand b = operand(op_.getB(), 1 - rowDim_, op_.getBTransposed());
    Registers sums(result_.layout().size(Axis::Register), nullptr);
    if (op_.getAcc())
      for (auto [sum, before] : llvm::zip(sums, e_.registers(op_.getAcc())))
        sum = before ? widen(before) : nullptr;
    int64_t k = a_ ? a_->layout().extents()[1 - rowDim_] : lengthOfK();
    Hardware::GroupProduct product;
    product.name = op_.getMatrix().getName();
    product.columns = unsigned(columns_);
    product.isAInShared = a.has_value();
    product.isATransposed = a && a->tile.isTransposed;
    product.isBTransposed = b.tile.isTransposed;
    for (int64_t step = 0; step < k; step += shape_.k)
      product.b.push_back(at(b, 0, step));
    std::vector<unsigned> registers;
    for (int64_t row : rowsOfPieces()) {
      Hardware::GroupProduct::Piece piece;
      for (unsigned reg : registersOf(row)) {
        registers.push_back(reg);
        if (op_.getAcc())
          piece.sums.push_back(sums[reg]);
      }
      for (int64_t step = 0; step < k; step += shape_.k)
        piece.a.push_back(a ? Hardware::Values{at(*a, row, step)} : wordsOfA(row, step));
      product.pieces.push_back(std::move(piece));
    }
    if (op_->hasAttr(takesTurnName))
      Turns(e_, shape_.warps, warpsOf(op_)).await();
    for (auto [reg, sum] : llvm::zip(registers, e_.hardware.startProduct(b_, product)))
      sums[reg] = sum;
    e_.hardware.commitProducts(b_);
    if (op_->hasAttr(takesTurnName))
      Turns(e_, shape_.warps, warpsOf(op_)).handOn();
    e_.set(op_.getResult(), std::move(sums));
  }

private:
  struct Operand {
    layout::OperandTile tile;
    llvm::Value *descriptor = nullptr; // of the group's first row, at the start of k
    std::vector<uint32_t> rowImages, kImages;
    unsigned bytes = 0;
  };

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
    result.tile = *layout::planOperandTile(tile, map, isTransposed, index, result_.layout(), shape_);
    // The part that trips have in common comes first, then the slot.
    auto slot = buffer.getDefiningOp<ViewOp>();
    llvm::Value *place = e_.hardware.operandPlace(b_, e_.scalar(slot ? slot.getBuffer() : buffer));
    place = placeOfGroup(place, result, index);
    if (slot)
      place = e_.hardware.advancePlace(b_, place, e_.scalar(slot.getSlot()), uint64_t(type.slotBytes()));
    result.descriptor = e_.hardware.operandDescriptor(b_, place, result.tile);
    return result;
  }

  // Of the rows of this group of warps, the same in all of its lanes; `place`: of the operand's start.
  llvm::Value *placeOfGroup(llvm::Value *place, const Operand &operand, unsigned index) {
    const Layout &layout = result_.layout();
    unsigned dim = index, inGroup = llvm::Log2_32(shape_.warps);
    const auto &warps = layout.bases(Axis::Warp);
    for (unsigned bit = inGroup; bit < warps.size(); ++bit) {
      uint32_t image =
          bytesOf(operand.rowImages, (warps[bit] & layout.dimMask(dim)) >> layout.shift(dim)) * operand.bytes;
      if (image == 0)
        continue;
      if (!group_)
        group_ = b_.CreateLShr(e_.uniformWarp(), b_.getInt32(inGroup));
      llvm::Value *chosen = b_.CreateAnd(b_.CreateLShr(group_, b_.getInt32(bit - inGroup)), b_.getInt32(1));
      place = e_.hardware.advancePlace(b_, place, chosen, image);
    }
    return place;
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
  Hardware::Values wordsOfA(int64_t row, int64_t k) {
    const Registers &values = e_.registers(op_.getA());
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
  auto turns = [&](IntegerAttr warpsOfGroup) {
    return Turns(e, unsigned(warpsOfGroup.getInt()), warpsOf(op));
  };
  auto opens = op->getAttrOfType<IntegerAttr>(opensTurnsName),
       closes = op->getAttrOfType<IntegerAttr>(closesTurnsName);
  Hardware::Values done = e.hardware.waitForProducts(e.builder, op.getPending(), sums);
  if (op->hasAttr(joinsWaysName))
    for (llvm::Value *&sum : done)
      sum = e.hardware.defineAnew(e.builder, sum);
  if (opens)
    turns(opens).open();
  if (closes)
    turns(closes).close();
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
  auto fence = [&] { e.hardware.fenceForProducts(e.builder); };
  if (op.getFence() && op.getUnless())
    e.when(e.builder.CreateNot(e.scalar(op.getUnless())), fence);
  else if (op.getFence())
    fence();
  e.hardware.barrier(e.builder);
}

} // namespace tegula::simt
