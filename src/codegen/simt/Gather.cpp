// result[.., i, ..] = source[.., indices[.., i, ..], ..] along an axis. Where one warp holds each line of
// the source and the lines of its own results, lanes hand elements to each other; else the source
// goes to shared memory, mixed where lanes would read from one bank, and each thread reads what it needs.
#include "codegen/simt/Emitter.h"
#include "ir/simt/KnownIndices.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

class Gather {
public:
  Gather(Emitter &e, GatherOp op)
      : e_(e), b_(e.builder), op_(op), axis_(unsigned(op.getAxis())), source_(layoutOf(op.getSource())),
        result_(layoutOf(op.getResult())), values_(e.registers(op.getSource())),
        indices_(e.registers(op.getIndices())), pitch_(gatheredPitch(op)), isMixed_(mixesBanks(op)),
        element_(e.type(elementType(op.getType()))) {}

  void emit() {
    bool inWarp = op_->hasAttr(inWarpName);
    if (!inWarp)
      share();
    Registers results(result_.size(Axis::Register), nullptr);
    for (unsigned reg = 0; reg != results.size(); ++reg) {
      if (!result_.isLive(reg))
        continue;
      llvm::Value *index = b_.CreateSExtOrTrunc(indices_[reg], b_.getInt32Ty());
      llvm::Value *extent = b_.getInt32(uint32_t(source_.extents()[axis_]));
      bool isInside = knownBits(op_.getIndices(), reg).getMaxValue().ult(uint64_t(source_.extents()[axis_]));
      llvm::Value *inside = isInside ? b_.getTrue() : b_.CreateICmpULT(index, extent);
      index = b_.CreateSelect(inside, index, b_.getInt32(0));
      llvm::Value *value = inWarp ? fromLanes(index, reg) : fromShared(index, reg);
      results[reg] = b_.CreateSelect(inside, value, llvm::Constant::getNullValue(element_));
    }
    e_.set(op_, std::move(results));
  }

private:
  // The bit of a source coordinate that a basis (a power of two) moves, as i32 0 or 1.
  llvm::Value *coordinateBit(uint32_t basis, llvm::Value *index, unsigned reg) {
    unsigned bit = llvm::Log2_32(basis), dim = source_.rank() - 1;
    while (bit >= source_.shift(dim) + source_.hullBits(dim))
      --dim;
    llvm::Value *coordinate = dim == axis_ ? index : e_.coordinate(result_, dim, reg);
    return b_.CreateAnd(b_.CreateLShr(coordinate, bit - source_.shift(dim)), b_.getInt32(1));
  }

  llvm::Value *fromLanes(llvm::Value *index, unsigned reg) {
    llvm::Value *lane = b_.getInt32(0);
    for (auto [i, basis] : llvm::enumerate(source_.bases(Axis::Lane)))
      if (basis)
        lane = b_.CreateOr(lane, b_.CreateShl(coordinateBit(basis, index, reg), uint64_t(i)), "",
                           /*IsDisjoint=*/true);
    // Each register that may hold the element crosses; the bits of its number choose, as far as they are not
    // known.
    Registers candidates(values_.size(), nullptr);
    for (unsigned each : gatheredFrom(op_, reg)) {
      llvm::Value *value = values_[each];
      SmallVector<llvm::Value *, 2> words =
          toWords(e_, toStored(e_, value ? value : llvm::PoisonValue::get(element_)));
      for (llvm::Value *&word : words)
        word = e_.hardware.shuffleIndex(b_, word, lane);
      candidates[each] = fromStored(e_, fromWords(e_, words, storedType(e_, element_)), element_);
    }
    for (uint32_t basis : source_.bases(Axis::Register)) {
      llvm::Value *odd = nullptr;
      Registers half;
      for (unsigned i = 0; i + 1 < candidates.size(); i += 2) {
        llvm::Value *first = candidates[i], *second = candidates[i + 1];
        if (first && second && !odd)
          odd = b_.CreateTrunc(coordinateBit(basis, index, reg), b_.getInt1Ty());
        half.push_back(first && second ? b_.CreateSelect(odd, second, first) : first ? first : second);
      }
      candidates = std::move(half);
    }
    return candidates[0];
  }

  // The number of a row of banks moves `down` by so many bits, onto those that tell its words apart.
  struct Mixing {
    unsigned down;
    uint32_t mask;
  };
  Mixing mixing() {
    constexpr unsigned wordBytes = 4, banks = 32;
    unsigned bytes = storedType(e_, element_)->getScalarSizeInBits() / 8;
    unsigned within = llvm::Log2_32(std::max(1u, wordBytes / bytes)); // bits of an element in its word
    unsigned row = llvm::Log2_32(wordBytes * banks / bytes);
    return {row - within, ((1u << row) - 1) & ~((1u << within) - 1)};
  }
  llvm::Value *mixed(llvm::Value *place) {
    if (!isMixed_)
      return place;
    Mixing mixing = this->mixing();
    return b_.CreateXor(place, b_.CreateAnd(b_.CreateLShr(place, uint64_t(mixing.down)), mixing.mask));
  }
  uint32_t mixed(uint32_t place) {
    Mixing mixing = this->mixing();
    return place ^ ((place >> mixing.down) & mixing.mask);
  }

  // The place of the element that has these flat coordinates.
  llvm::Value *spread(llvm::Value *flat) {
    unsigned last = source_.rank() - 1, between = pitch_ - unsigned(source_.hull(last));
    if (!between)
      return flat;
    llvm::Value *row = b_.CreateLShr(flat, uint64_t(source_.hullBits(last)));
    return b_.CreateAdd(flat, b_.CreateMul(row, b_.getInt32(between)));
  }

  // The source, row by row (gatheredPitch).
  void share() {
    llvm::Type *stored = storedType(e_, element_);
    unsigned bytes = stored->getScalarSizeInBits() / 8, last = source_.rank() - 1;
    unsigned width = std::min(source_.contiguous(last), (isMixed_ ? std::max(4u, bytes) : 16) / bytes);
    llvm::Value *first = isMixed_ ? mixed(e_.flatCoordinate(source_, 0)) : nullptr;
    e_.when(e_.isFirstCopy(source_), [&] {
      for (unsigned reg = 0; reg < source_.size(Axis::Register); reg += width) {
        if (!source_.isLive(reg))
          continue;
        llvm::Value *run = llvm::PoisonValue::get(llvm::FixedVectorType::get(stored, width));
        for (unsigned i = 0; i != width; ++i)
          if (values_[reg + i])
            run = b_.CreateInsertElement(run, toStored(e_, values_[reg + i]), uint64_t(i));
        unsigned bits = width * bytes * 8;
        llvm::Type *words = bits <= 64 ? static_cast<llvm::Type *>(b_.getIntNTy(bits))
                                       : llvm::FixedVectorType::get(b_.getInt32Ty(), bits / 32);
        // Places are linear in the bits of threads and registers, mixed ones, too.
        llvm::Value *place = isMixed_ ? b_.CreateXor(first, b_.getInt32(mixed(source_.apply(reg, 0, 0))))
                                      : spread(e_.flatCoordinate(source_, reg));
        llvm::Value *at = e_.scratch(op_, b_.CreateMul(place, b_.getInt32(bytes)));
        b_.CreateAlignedStore(b_.CreateBitCast(run, words), at, llvm::Align(bytes * width));
      }
    });
    e_.hardware.barrier(b_);
  }

  llvm::Value *fromShared(llvm::Value *index, unsigned reg) {
    llvm::Type *stored = storedType(e_, element_);
    unsigned bytes = stored->getScalarSizeInBits() / 8;
    unsigned last = source_.rank() - 1;
    llvm::Value *row = nullptr, *column = nullptr;
    for (unsigned d = 0; d != source_.rank(); ++d) {
      llvm::Value *coordinate = d == axis_ ? index : e_.coordinate(result_, d, reg);
      if (d == last) {
        column = coordinate;
        continue;
      }
      coordinate = b_.CreateShl(coordinate, uint64_t(source_.shift(d) - source_.hullBits(last)));
      row = row ? b_.CreateOr(row, coordinate, "", true) : coordinate;
    }
    llvm::Value *flat = row ? b_.CreateAdd(b_.CreateMul(row, b_.getInt32(pitch_)), column) : column;
    llvm::Value *at = e_.scratch(op_, b_.CreateMul(mixed(flat), b_.getInt32(bytes)));
    // Threads outside of the extents find nothing that was stored: they read nothing.
    Access access;
    access.pointer = at;
    access.element = stored;
    access.predicate = e_.inside(result_, reg);
    return fromStored(e_, e_.hardware.load(b_, access, {})[0], element_);
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  GatherOp op_;
  unsigned axis_;
  Layout source_, result_;
  const Registers values_, indices_;
  unsigned pitch_;
  bool isMixed_;
  llvm::Type *element_;
};

} // namespace

void emitGather(Emitter &e, GatherOp op) { Gather(e, op).emit(); }

} // namespace tegula::simt
