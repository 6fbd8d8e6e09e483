// Matrix products with matrix instructions. In: a dot with `simt.matrix`, its result laid out by
// layout::matrixResult and its operands by layout::matrixOperand. Out: for each step along k one instruction
// for each piece of the result that a warp holds. Registers are found by coordinates: a fragment's register
// is the one whose coordinates are those of the piece plus those of the fragment.
#include "codegen/simt/Emitter.h"
#include "codegen/simt/RegisterMap.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

class MatrixProduct {
public:
  MatrixProduct(Emitter &e, DotOp op)
      : e_(e), b_(e.builder), op_(op), matrix_(op->getAttrOfType<MatrixAttr>(matrixName)),
        shape_(matrix_.shape()), a_(layoutOf(op.getA())), bMap_(layoutOf(op.getB())),
        c_(layoutOf(op.getResult())), rank_(c_.layout().rank()) {
    lying_[0] = wordsInBuffer(e, op.getA(), op);
    lying_[1] = wordsInBuffer(e, op.getB(), op);
    isTriple_ = elementType(op.getA().getType()).isF32() && op.getPrecision() == Precision::TF32x3;
  }

  void emit() {
    const Layout &result = c_.layout();
    Registers sums, before;
    for (llvm::Value *value : e_.registers(op_.getAcc()))
      sums.push_back(value ? widen(value) : nullptr);
    if (isTriple_) {
      before = sums;
      for (llvm::Value *&value : sums)
        value = value ? llvm::Constant::getNullValue(value->getType()) : nullptr;
      multiplyAll(Part::Rests, sums);
      // Their products are NaN where a factor is infinite, and then do not count.
      for (llvm::Value *&value : sums)
        if (value)
          value = b_.CreateSelect(b_.CreateFCmpUNO(value, value),
                                  llvm::Constant::getNullValue(value->getType()), value);
      words_.clear(); // they would wait in registers
    }
    multiplyAll(Part::Whole, sums);
    // The instruction cuts sums off; over many trips that would be more than the third product brings.
    for (unsigned reg = 0; reg != before.size(); ++reg)
      if (before[reg])
        sums[reg] = b_.CreateFAdd(before[reg], sums[reg]);
    llvm::Type *type = e_.type(elementType(op_.getType()));
    for (unsigned reg = 0; reg != sums.size(); ++reg)
      if (sums[reg] && sums[reg]->getType() != type)
        sums[reg] = b_.CreateFPTrunc(sums[reg], type);
    repeat(result, sums);
    e_.set(op_.getResult(), std::move(sums));
  }

private:
  // Of three products instead of one: the two with what one word leaves out of an f32, or the one without.
  enum class Part : uint8_t { Rests, Whole };

  void multiplyAll(Part part, Registers &sums) {
    chains_.clear(); // what the part before gave may have been changed
    const Layout &result = c_.layout();
    int64_t k = shapeOf(op_.getA().getType()).back();
    // K outermost: the operands of one step are few registers. Those of the next are fetched before they are
    // needed.
    auto fetch = [&](int64_t step) {
      forPieces(result, [&](ArrayRef<int64_t> piece) {
        operand(0, piece, step, false);
        operand(1, piece, step, false);
      });
    };
    fetch(0);
    unsigned count = chainsOfPiece(k), chain = 0;
    for (int64_t step = 0; step < k; step += shape_.k, chain = (chain + 1) % count) {
      if (step + int64_t(shape_.k) < k)
        fetch(step + int64_t(shape_.k));
      forPieces(result, [&](ArrayRef<int64_t> piece) { multiply(part, piece, step, chain, sums); });
    }
    for (chain = 1; chain < count; ++chain)
      forPieces(result, [&](ArrayRef<int64_t> piece) { addChain(piece, chain, sums); });
  }

  // A step waits for the one before that adds to the same sums, two or three times as long as the next one
  // could start after it. So of a warp with one piece alone every other step adds to sums of its own.
  unsigned chainsOfPiece(int64_t k) {
    constexpr int64_t leastSteps = 4; // fewer gain no more than it takes to add the sums up
    unsigned pieces = 0;
    forPieces(c_.layout(), [&](ArrayRef<int64_t>) { ++pieces; });
    bool isLong = k > (leastSteps - 1) * int64_t(shape_.k);
    return pieces == 1 && isLong && !isTriple_ && !accumulatorType()->isDoubleTy() ? 2 : 1;
  }

  void addChain(ArrayRef<int64_t> piece, unsigned chain, Registers &sums) {
    SmallVector<int, 4> registers = resultRegisters(piece);
    const Registers &others = chains_.at({piece.vec(), chain});
    for (size_t i = 0; i != registers.size(); ++i)
      if (registers[i] >= 0 && !isRepeated(registers, i)) {
        llvm::Value *&sum = sums[unsigned(registers[i])];
        sum = sum->getType()->isIntegerTy() ? b_.CreateAdd(sum, others[i]) : b_.CreateFAdd(sum, others[i]);
      }
  }

  static bool isRepeated(ArrayRef<int> registers, size_t i) {
    return llvm::is_contained(registers.take_front(i), registers[i]);
  }

  unsigned rowDim() const { return shape_.isSwapped ? rank_ - 1 : rank_ - 2; }
  unsigned columnDim() const { return shape_.isSwapped ? rank_ - 2 : rank_ - 1; }

  // Steps of the tile from one column of the instruction to the next, and from its row 0 to its row 8.
  int64_t columnStep() const { return shape_.pairsColumns ? 2 : 1; }
  int64_t rowStep() const { return shape_.pairsRows ? 1 : 8; }

  // The coordinates of the first element of each piece that lies in this thread's registers.
  template <typename Body> void forPieces(const Layout &result, Body body) {
    llvm::DenseSet<uint32_t> seen;
    for (unsigned reg : result.liveRegisters()) {
      std::vector<int64_t> at = result.coordinates(result.apply(reg, 0, 0));
      at[rowDim()] &= ~int64_t(shape_.m - 1);
      at[columnDim()] &= ~(int64_t(shape_.n - 1) * columnStep());
      if (seen.insert(result.flatten(at)).second)
        body(ArrayRef<int64_t>(at));
    }
  }

  llvm::Value *widen(llvm::Value *value) {
    return value->getType()->isHalfTy() ? b_.CreateFPExt(value, b_.getFloatTy()) : value;
  }

  // The register numbers of c in a piece: rows 0 and 8, two neighbours each.
  SmallVector<int, 4> resultRegisters(ArrayRef<int64_t> piece) {
    SmallVector<int, 4> result;
    for (unsigned row = 0; row != shape_.m / 8; ++row)
      for (int64_t column = 0; column != 2; ++column)
        result.push_back(find(c_, piece, rowDim(), row * rowStep(), columnDim(), column * columnStep()));
    return result;
  }

  // The register at `piece` moved by the two steps; where the tile is shorter than the instruction it
  // repeats.
  static int find(const RegisterMap &map, ArrayRef<int64_t> piece, unsigned rowDim, int64_t row,
                  unsigned columnDim, int64_t column) {
    SmallVector<int64_t> at(piece);
    auto move = [&](unsigned dim, int64_t by) { at[dim] += by < map.layout().hull(dim) ? by : 0; };
    move(rowDim, row);
    move(columnDim, column);
    return map.at(at);
  }

  // The words of an operand's fragment: of row (or column) `own` of the result and step `k`.
  Registers operand(unsigned index, ArrayRef<int64_t> piece, int64_t k, bool small) {
    const RegisterMap &map = index == 0 ? a_ : bMap_;
    Value tile = index == 0 ? op_.getA() : op_.getB();
    unsigned own = index == 0 ? rank_ - 2 : rank_ - 1, inner = index == 0 ? rank_ - 1 : rank_ - 2;
    bool isRows = own == rowDim();
    SmallVector<int64_t> at(piece);
    at[inner] = k;
    unsigned perWord = shape_.elementBits >= 32 ? 1 : 32 / shape_.elementBits;
    Registers words;
    for (int64_t far = 0; far < int64_t(shape_.k); far += 4 * perWord)
      for (unsigned row = 0; row != (isRows ? shape_.m / 8 : 1); ++row) {
        SmallVector<int, 4> registers;
        int64_t first = shape_.pairsDepth ? far / 4 : far;
        for (int64_t near = 0; near != int64_t(perWord); ++near)
          registers.push_back(k + first + near < map.layout().hull(inner)
                                  ? find(map, at, own, row * rowStep(), inner, first + near)
                                  : -1);
        words.push_back(word(tile, registers, k + far, small));
      }
    return words;
  }

  // Neighbours along k as one word, those of a group's first lane from `first` on. Found once for all pieces
  // that need it.
  llvm::Value *word(Value tile, ArrayRef<int> registers, int64_t first, bool small) {
    llvm::Value *&known = words_[{tile, {registers.begin(), registers.end()}, small}];
    if (!known)
      known = withinK(makeWord(tile, registers, small), first, unsigned(registers.size()));
    return known;
  }

  // The word with zeros in place of what lies behind the end of K, or repeats there. The lanes of a group of
  // four have neighbouring words.
  llvm::Value *withinK(llvm::Value *word, int64_t first, unsigned count) {
    int64_t left = shapeOf(op_.getA().getType()).back() - first;
    if (left >= 4 * int64_t(count))
      return word;
    llvm::Value *lane = b_.CreateAnd(e_.lane(), b_.getInt32(3));
    if (shape_.elementBits == 64)
      return b_.CreateSelect(b_.CreateICmpULT(lane, b_.getInt32(uint32_t(std::max<int64_t>(left, 0)))), word,
                             llvm::Constant::getNullValue(word->getType()));
    auto mask = [&](int64_t inGroup) {
      int64_t elements = std::clamp<int64_t>(left - inGroup * count, 0, count);
      return b_.getInt32(uint32_t((uint64_t(1) << (elements * shape_.elementBits)) - 1));
    };
    llvm::Value *kept = mask(3);
    for (int64_t inGroup : {2, 1, 0})
      if (mask(inGroup) != kept)
        kept = b_.CreateSelect(b_.CreateICmpULE(lane, b_.getInt32(uint32_t(inGroup))), mask(inGroup), kept);
    return b_.CreateAnd(word, kept);
  }

  llvm::Value *makeWord(Value tile, ArrayRef<int> registers, bool small) {
    OperandWords *lying = lying_[tile == op_.getA() ? 0 : 1].get();
    if (lying && shape_.elementBits < 32)
      return lying->word(registers);
    if (lying) // of 32 bits
      return rounded(b_.CreateBitCast(lying->word(registers), b_.getFloatTy()), small);
    const Registers &values = e_.registers(tile);
    auto value = [&](int reg) -> llvm::Value * {
      llvm::Value *found = reg < 0 ? nullptr : values[unsigned(reg)];
      return found ? found : llvm::Constant::getNullValue(e_.type(elementType(tile.getType())));
    };
    if (shape_.elementBits == 64)
      return value(registers[0]);
    if (shape_.elementBits == 32)
      return rounded(value(registers[0]), small);
    llvm::Value *all = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(value(registers[0])->getType(), unsigned(registers.size())));
    for (auto [i, reg] : llvm::enumerate(registers))
      all = b_.CreateInsertElement(all, value(reg), uint64_t(i));
    return b_.CreateBitCast(all, b_.getInt32Ty());
  }

  // Returns what the instruction looks at of an f32; `small`: of what that leaves out. A single product takes
  // the bits as they are: the instruction ignores the lowest, as in libraries. So does `small`: a rest has 13
  // bits at most, and what is cut off of them is below 2^-22 of the whole.
  llvm::Value *rounded(llvm::Value *whole, bool small) {
    if (!isTriple_)
      return b_.CreateBitCast(whole, b_.getInt32Ty());
    llvm::Value *big = e_.hardware.roundForMatrix(b_, whole);
    return b_.CreateBitCast(small ? b_.CreateFSub(whole, big) : big, b_.getInt32Ty());
  }

  // The first chain of steps begins with what is added to, each other one with zeros.
  void multiply(Part part, ArrayRef<int64_t> piece, int64_t k, unsigned chain, Registers &sums) {
    SmallVector<int, 4> registers = resultRegisters(piece);
    // All that the instruction gave at the step before, also of rows and columns beyond the tile: nothing
    // reads those, and to give it others would be moves between the steps.
    Registers &c = chains_[{piece.vec(), chain}];
    for (size_t i = c.size(); i != registers.size(); ++i) {
      int reg = registers[i];
      c.push_back(chain == 0 && reg >= 0 && sums[unsigned(reg)] && !isRepeated(registers, i)
                      ? sums[unsigned(reg)]
                      : llvm::Constant::getNullValue(accumulatorType()));
    }
    auto step = [&](bool smallA, bool smallB) {
      unsigned rows = shape_.isSwapped ? 1 : 0;
      Hardware::Values next = e_.hardware.multiplyMatrices(
          b_, matrix_.getName(), operand(rows, piece, k, rows == 0 ? smallA : smallB),
          operand(1 - rows, piece, k, rows == 0 ? smallB : smallA), c);
      c.assign(next.begin(), next.end());
    };
    if (part == Part::Rests) {
      step(true, false);
      step(false, true);
    } else {
      step(false, false);
    }
    for (size_t i = 0; chain == 0 && i != registers.size(); ++i)
      if (registers[i] >= 0 && !isRepeated(registers, i))
        sums[unsigned(registers[i])] = c[i];
  }

  llvm::Type *accumulatorType() {
    llvm::Type *type = e_.type(elementType(op_.getType()));
    return type->isHalfTy() ? b_.getFloatTy() : type;
  }

  // Registers that hold an element once more.
  void repeat(const Layout &result, Registers &sums) {
    for (unsigned reg = 0; reg != sums.size(); ++reg) {
      std::vector<int64_t> at = result.coordinates(result.apply(reg, 0, 0));
      if (int first = c_.at(at); sums[reg] && first >= 0)
        sums[reg] = sums[unsigned(first)];
    }
  }

  struct WordKey {
    Value tile;
    std::vector<int> registers;
    bool small;
    bool operator<(const WordKey &other) const {
      return std::tuple(tile.getAsOpaquePointer(), registers, small) <
             std::tuple(other.tile.getAsOpaquePointer(), other.registers, other.small);
    }
  };

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  DotOp op_;
  MatrixAttr matrix_;
  layout::MatrixShape shape_;
  RegisterMap a_, bMap_, c_;
  unsigned rank_;
  bool isTriple_ = false;
  std::unique_ptr<OperandWords> lying_[2]; // of an operand in shared memory
  std::map<WordKey, llvm::Value *> words_;
  std::map<std::pair<std::vector<int64_t>, unsigned>, Registers> chains_; // of the last steps' results
};

} // namespace

void emitMatrixDot(Emitter &e, DotOp op) { MatrixProduct(e, op).emit(); }

} // namespace tegula::simt
