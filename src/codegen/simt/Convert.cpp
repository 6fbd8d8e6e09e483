// The same tile in another layout, the way the plan says.
#include "codegen/simt/Emitter.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

SmallVector<llvm::Value *, 2> toWords(Emitter &e, llvm::Value *value) {
  auto &b = e.builder;
  llvm::Type *type = value->getType();
  if (type->isPointerTy())
    value = b.CreatePtrToInt(value, b.getInt64Ty());
  unsigned bits = value->getType()->getScalarSizeInBits();
  value = b.CreateBitCast(value, b.getIntNTy(bits));
  if (bits <= 32)
    return {b.CreateZExt(value, b.getInt32Ty())};
  llvm::Value *high = b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty());
  return {b.CreateTrunc(value, b.getInt32Ty()), high};
}

llvm::Value *fromWords(Emitter &e, ArrayRef<llvm::Value *> words, llvm::Type *type) {
  auto &b = e.builder;
  if (words.size() == 1) {
    unsigned bits = type->getScalarSizeInBits();
    return b.CreateBitCast(b.CreateTrunc(words[0], b.getIntNTy(bits)), type);
  }
  llvm::Type *i64 = b.getInt64Ty();
  llvm::Value *whole = b.CreateOr(b.CreateZExt(words[0], i64), b.CreateShl(b.CreateZExt(words[1], i64), 32));
  return type->isPointerTy() ? b.CreateIntToPtr(whole, type) : b.CreateBitCast(whole, type);
}

namespace {

using Words = SmallVector<llvm::Value *, 2>; // one element, or several packed ones

class Conversion {
public:
  Conversion(Emitter &e, ConvertOp op)
      : e_(e), b_(e.builder), op_(op), plan_(planOf(op)), from_(layoutOf(op.getValue())),
        to_(layoutOf(op.getResult())), values_(e.registers(op.getValue())),
        element_(e.type(tile::elementType(op.getType()))), stored_(storedType(e, element_)) {}

  Registers emit() {
    Registers result(to_.size(Axis::Register), nullptr);
    switch (plan_.kind) {
    case layout::ConversionPlan::Kind::None: return values_;
    case layout::ConversionPlan::Kind::Registers:
      for (auto [reg, source] : llvm::enumerate(plan_.sourceRegister))
        result[reg] = values_[source];
      return result;
    case layout::ConversionPlan::Kind::Shuffle: return throughLanes();
    case layout::ConversionPlan::Kind::Shared: break;
    }
    return throughShared();
  }

private:
  // ---- lanes ----

  Words pack(unsigned word) {
    unsigned bits = stored_->getScalarSizeInBits(), packed = plan_.packed;
    if (packed == 1) {
      llvm::Value *value = values_[word];
      return value ? toWords(e_, toStored(e_, value))
                   : Words(bits == 64 ? 2 : 1, llvm::PoisonValue::get(b_.getInt32Ty()));
    }
    llvm::Value *all = llvm::PoisonValue::get(llvm::FixedVectorType::get(stored_, packed));
    for (unsigned i = 0; i != packed; ++i)
      if (llvm::Value *value = values_[word * packed + i])
        all = b_.CreateInsertElement(all, toStored(e_, value), uint64_t(i));
    return {b_.CreateZExt(b_.CreateBitCast(all, b_.getIntNTy(bits * packed)), b_.getInt32Ty())};
  }

  void unpack(const Words &words, Registers &result, unsigned word) {
    unsigned bits = stored_->getScalarSizeInBits(), packed = plan_.packed;
    if (packed == 1) {
      result[word] = fromStored(e_, fromWords(e_, words, stored_), element_);
      return;
    }
    llvm::Value *all = b_.CreateBitCast(b_.CreateTrunc(words[0], b_.getIntNTy(bits * packed)),
                                        llvm::FixedVectorType::get(stored_, packed));
    for (unsigned i = 0; i != packed; ++i)
      if (to_.isLive(word * packed + i))
        result[word * packed + i] = fromStored(e_, b_.CreateExtractElement(all, uint64_t(i)), element_);
  }

  std::vector<uint32_t> bases(ArrayRef<uint32_t> lanes, ArrayRef<uint32_t> warps) {
    std::vector<uint32_t> result(lanes.begin(), lanes.end());
    result.resize(layout::laneBits, 0);
    llvm::append_range(result, warps);
    return result;
  }

  void apply(const layout::ConversionStep &step, SmallVector<Words> &words) {
    SmallVector<Words> old = std::move(words);
    Words poison(old[0].size(), llvm::PoisonValue::get(b_.getInt32Ty()));
    bool rotates = step.kind == layout::ConversionStep::Kind::Rotate;
    words.assign(rotates ? old.size() : step.sources.size(), poison);
    llvm::Value *condition = nullptr, *lane = nullptr;
    if (rotates) {
      std::vector<uint32_t> parity;
      for (unsigned bit = 0; bit != layout::laneBits; ++bit)
        parity.push_back(step.laneMask >> bit & 1);
      for (unsigned bit = 0; 1u << bit < e_.warps; ++bit)
        parity.push_back(step.warpMask >> bit & 1);
      condition = b_.CreateICmpNE(e_.linear(parity), b_.getInt32(0));
    } else if (step.kind == layout::ConversionStep::Kind::Shuffle && !step.keepsLanes()) {
      lane = e_.linear(bases(std::vector<uint32_t>(step.laneImages.begin(), step.laneImages.end()),
                             std::vector<uint32_t>(step.warpImages.begin(), step.warpImages.end())));
    }
    for (unsigned i = 0; i != words.size(); ++i) {
      if (!step.needed.empty() && !step.needed[i])
        continue;
      if (rotates) {
        for (unsigned part = 0; part != poison.size(); ++part)
          words[i][part] = b_.CreateSelect(condition, old[i ^ step.wordMask][part], old[i][part]);
        continue;
      }
      if (step.sources[i] < 0)
        continue;
      words[i] = old[unsigned(step.sources[i])];
      if (step.kind == layout::ConversionStep::Kind::Rename)
        continue;
      for (llvm::Value *&part : words[i]) {
        if (lane)
          part = e_.hardware.shuffleIndex(b_, part, b_.CreateXor(lane, b_.getInt32(step.offsets[i])));
        else if (step.offsets[i])
          part = e_.hardware.shuffleXor(b_, part, step.offsets[i]);
      }
    }
  }

  Registers throughLanes() {
    SmallVector<Words> words;
    for (unsigned word = 0; word != values_.size() / plan_.packed; ++word)
      words.push_back(pack(word));
    for (const layout::ConversionStep &step : plan_.steps)
      apply(step, words);
    Registers result(to_.size(Axis::Register), nullptr);
    for (unsigned word = 0; word != words.size(); ++word)
      if (plan_.packed > 1 || to_.isLive(word))
        unpack(words[word], result, word);
    return result;
  }

  // ---- shared memory ----

  llvm::Value *address(const layout::SharedSide &side, uint32_t offset) {
    unsigned bytes = stored_->getScalarSizeInBits() / 8;
    std::vector<uint32_t> images = bases(side.laneOffsets, side.warpOffsets);
    for (uint32_t &image : images)
      image *= bytes;
    llvm::Value *thread = e_.linear(images);
    uint32_t mask = side.threadMask();
    if (offset & mask)
      thread = b_.CreateXor(thread, b_.getInt32((offset & mask) * bytes));
    return b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), e_.scratch(op_, thread), (offset & ~mask) * bytes);
  }

  // A run of elements moves as words of 32 bits, which every machine has vectors of.
  llvm::Type *runType(unsigned width) {
    unsigned bits = stored_->getScalarSizeInBits() * width;
    if (bits < 64 || stored_->getScalarSizeInBits() >= 32)
      return bits < 64 ? static_cast<llvm::Type *>(b_.getIntNTy(bits))
                       : llvm::FixedVectorType::get(stored_, width);
    return llvm::FixedVectorType::get(b_.getInt32Ty(), bits / 32);
  }

  Registers throughShared() {
    const layout::SharedExchange &exchange = plan_.shared;
    uint32_t free = exchange.freeLanes | exchange.freeWarps << layout::laneBits;
    llvm::Value *stores = free ? b_.CreateICmpEQ(b_.CreateAnd(e_.thread(), free), b_.getInt32(0)) : nullptr;
    Registers result(to_.size(Axis::Register), nullptr);
    unsigned bytes = stored_->getScalarSizeInBits() / 8;
    for (unsigned round = 0; round != exchange.rounds.size(); ++round) {
      if (round)
        meet();
      e_.when(stores, [&] {
        for (const layout::SharedAccess &access : exchange.rounds[round].stores)
          store(access, bytes);
      });
      meet();
      for (const layout::SharedAccess &access : exchange.rounds[round].loads)
        load(access, bytes, result);
    }
    for (auto [copy, original] : exchange.copies)
      result[copy] = result[original];
    return result;
  }

  void meet() {
    if (plan_.withinWarp)
      e_.hardware.warpBarrier(b_);
    else
      e_.hardware.barrier(b_);
  }

  void store(const layout::SharedAccess &access, unsigned bytes) {
    unsigned width = plan_.shared.store.width;
    llvm::Value *run = llvm::PoisonValue::get(llvm::FixedVectorType::get(stored_, width));
    for (unsigned i = 0; i != width; ++i)
      if (access.registers[i] >= 0 && values_[unsigned(access.registers[i])])
        run = b_.CreateInsertElement(run, toStored(e_, values_[unsigned(access.registers[i])]), uint64_t(i));
    b_.CreateAlignedStore(b_.CreateBitCast(run, runType(width)), address(plan_.shared.store, access.offset),
                          llvm::Align(bytes * width));
  }

  void load(const layout::SharedAccess &access, unsigned bytes, Registers &result) {
    unsigned width = plan_.shared.load.width;
    if (to_.hasPadding())
      return loadInside(access, result);
    llvm::Value *run = b_.CreateAlignedLoad(runType(width), address(plan_.shared.load, access.offset),
                                            llvm::Align(bytes * width));
    run = b_.CreateBitCast(run, llvm::FixedVectorType::get(stored_, width));
    for (unsigned i = 0; i != width; ++i)
      if (access.registers[i] >= 0)
        result[unsigned(access.registers[i])] =
            fromStored(e_, b_.CreateExtractElement(run, uint64_t(i)), element_);
  }

  // Threads outside of the extents find nothing that was stored: they read nothing. A run may begin outside
  // and reach inside: its registers need not be neighbours in the tile.
  void loadInside(const layout::SharedAccess &access, Registers &result) {
    SmallVector<llvm::Value *> inside;
    for (int reg : access.registers)
      if (reg >= 0 && to_.isLive(unsigned(reg)))
        inside.push_back(e_.inside(to_, unsigned(reg)));
    if (inside.empty())
      return;
    Access run;
    run.pointer = address(plan_.shared.load, access.offset);
    run.element = stored_;
    run.count = plan_.shared.load.width;
    run.predicate = inside.front();
    for (llvm::Value *other : llvm::drop_begin(inside))
      run.predicate = run.predicate == other ? other : b_.CreateOr(run.predicate, other);
    Hardware::Values values = e_.hardware.load(b_, run, {});
    for (auto [reg, value] : llvm::zip(access.registers, values))
      if (reg >= 0)
        result[unsigned(reg)] = fromStored(e_, value, element_);
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  ConvertOp op_;
  layout::ConversionPlan plan_;
  Layout from_, to_;
  const Registers values_;
  llvm::Type *element_, *stored_;
};

} // namespace

void emitConvert(Emitter &e, ConvertOp op) { e.set(op.getResult(), Conversion(e, op).emit()); }

} // namespace tegula::simt
