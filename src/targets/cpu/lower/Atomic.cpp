// Atomics, one element after the other: an instruction with a lock where the machine has one, else
// LLVM's loop of compare-and-exchange. Floats of 16 bits add in a loop of our own: in f32, rounded
// once. A locked instruction also drains stores that went past the cache, so what it releases is seen.
//
// Sums of floats have no instruction. Where a row of them is contiguous, a compare-and-exchange takes 16
// bytes: locked instructions are atomic beside all other accesses, of whatever width (Intel's manual, volume
// 3, "Bus Locking"). What lies beside the lanes in these bytes is exchanged for itself.
#include "ir/tile/Tile.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

llvm::AtomicOrdering orderingOf(MemSemantic semantic) {
  switch (semantic) {
  case MemSemantic::Relaxed: return llvm::AtomicOrdering::Monotonic;
  case MemSemantic::Acquire: return llvm::AtomicOrdering::Acquire;
  case MemSemantic::Release: return llvm::AtomicOrdering::Release;
  case MemSemantic::AcquireRelease: return llvm::AtomicOrdering::AcquireRelease;
  }
  llvm_unreachable("closed enumeration");
}

llvm::AtomicRMWInst::BinOp instructionOf(AtomicKind kind) {
  using Op = llvm::AtomicRMWInst::BinOp;
  switch (kind) {
  case AtomicKind::And: return Op::And;
  case AtomicKind::Or: return Op::Or;
  case AtomicKind::Xor: return Op::Xor;
  case AtomicKind::Add: return Op::Add;
  case AtomicKind::FAdd: return Op::FAdd;
  case AtomicKind::Max: return Op::Max;
  case AtomicKind::Min: return Op::Min;
  case AtomicKind::UMax: return Op::UMax;
  case AtomicKind::UMin: return Op::UMin;
  case AtomicKind::Exch: return Op::Xchg;
  }
  llvm_unreachable("closed enumeration");
}

class AtomicEmitter {
public:
  AtomicEmitter(ProgramEmitter &program, Operation *op)
      : p_(program), b_(program.builder), op_(op), loop_(program) {
    element_ = p_.type(elementType(op->getResult(0).getType()));
    bits_ = b_.getIntNTy(element_->isPointerTy() ? 64 : element_->getScalarSizeInBits());
  }

  void emit() {
    if (std::optional<unsigned> lane = laneOfSums())
      return emitSums(cast<AtomicRMWOp>(op_), *lane);
    if (isa<RankedTensorType>(op_->getResult(0).getType()))
      p_.remark(op_, "access", "atomic, one element after the other");
    Value result = op_->getResult(0);
    const Buffer *buffer = p_.plan.buffer(result);
    llvm::AllocaInst *slot = p_.temporary(element_, "old");
    loop_.over(shapeOf(result.getType()), [&](const Coordinates &at) {
      llvm::Value *pointer = loop_.element(op_->getOperand(0), at),
                  *first = loop_.element(op_->getOperand(1), at);
      if (auto cas = dyn_cast<AtomicCASOp>(op_)) {
        llvm::Value *value = loop_.element(cas.getValue(), at);
        p_.setLocation(op_->getLoc());
        b_.CreateStore(exchange(cas.getSem(), pointer, first, value), slot);
      } else {
        auto rmw = cast<AtomicRMWOp>(op_);
        llvm::Value *mask = rmw.getMask() ? loop_.element(rmw.getMask(), at) : b_.getTrue();
        p_.setLocation(op_->getLoc());
        p_.branch(
            mask, [&] { b_.CreateStore(modify(rmw, pointer, first), slot); },
            [&] { b_.CreateStore(llvm::Constant::getNullValue(element_), slot); });
      }
      if (buffer)
        loop_.evaluator().write(*buffer, at, b_.CreateLoad(element_, slot));
    });
    if (!isTile(result))
      p_.setScalar(result, b_.CreateLoad(element_, slot));
  }

private:
  unsigned elementBits() const { return bits_->getIntegerBitWidth(); }
  llvm::Align align() const { return llvm::Align(elementBits() / 8); }
  llvm::Value *toBits(llvm::Value *value) {
    return element_->isPointerTy() ? b_.CreatePtrToInt(value, bits_) : b_.CreateBitCast(value, bits_);
  }
  llvm::Value *fromBits(llvm::Value *value) {
    return element_->isPointerTy() ? b_.CreateIntToPtr(value, element_) : b_.CreateBitCast(value, element_);
  }

  // ---- sums of 16 bytes at once ----
  // The dimension along which sums of floats are contiguous in whole vectors.
  std::optional<unsigned> laneOfSums() {
    auto rmw = dyn_cast<AtomicRMWOp>(op_);
    if (!rmw || rmw.getKind() != AtomicKind::FAdd || !p_.machine.hasPairExchange)
      return std::nullopt;
    auto shape = shapeOf(rmw.getResult().getType());
    std::optional<unsigned> lane = ElementLoop::laneDimOf(p_, shape);
    const Address *address = p_.access.address(rmw.getPtr());
    bool isContiguous = lane && Evaluator::usesForm(address, lane) &&
                        shape[*lane] % p_.machine.lanes() == 0 &&
                        address->offset.strides[*lane].constant() == elementBits() / 8;
    return isContiguous ? lane : std::nullopt;
  }

  // A vector of lanes, with room for 16 bytes on both sides, lies in memory beside the blocks of 16 bytes
  // that it meets. Of a block, the bytes of lanes that are off and of what is no lane stay as they are; a
  // block without any lane is not touched, so each one is on a page of the tile's.
  void emitSums(AtomicRMWOp rmw, unsigned lane) {
    p_.remark(op_, "access", "atomic, 16 bytes at once");
    unsigned lanes = p_.machine.lanes();
    const Buffer *buffer = p_.plan.buffer(rmw.getResult());
    Lanes memory{rmw.getSem(), lanes, 128 / elementBits()};
    llvm::Type *vector = p_.lanesOf(bits_, lanes), *room = p_.lanesOf(bits_, lanes + 2 * memory.group);
    for (llvm::AllocaInst **slot : {&memory.values, &memory.isOn, &memory.old}) {
      *slot = p_.temporary(llvm::ArrayType::get(bits_, lanes + 2 * memory.group), "lanes");
      (*slot)->setAlignment(llvm::Align(16));
      b_.CreateAlignedStore(llvm::Constant::getNullValue(room), *slot, llvm::Align(16));
    }
    llvm::AllocaInst *pointers = p_.temporary(p_.lanesOf(b_.getPtrTy(), lanes), "pointers");
    auto middle = [&](llvm::Value *slot) { return b_.CreateConstGEP1_64(bits_, slot, memory.group); };
    ElementLoop loop(p_, lane);
    loop.over(shapeOf(rmw.getResult().getType()), [&](const Coordinates &at) {
      llvm::Value *places = p_.splat(loop.element(rmw.getPtr(), at), lanes);
      llvm::Value *values = b_.CreateBitCast(p_.splat(loop.element(rmw.getValue(), at), lanes), vector);
      llvm::Value *isOn = rmw.getMask() ? p_.splat(loop.element(rmw.getMask(), at), lanes)
                                        : llvm::Constant::getAllOnesValue(p_.lanesOf(b_.getInt1Ty(), lanes));
      p_.setLocation(op_->getLoc());
      b_.CreateAlignedStore(values, middle(memory.values), llvm::Align(16));
      b_.CreateAlignedStore(b_.CreateSExt(isOn, vector), middle(memory.isOn), llvm::Align(16));
      if (buffer)
        b_.CreateAlignedStore(llvm::Constant::getNullValue(room), memory.old, llvm::Align(16));
      llvm::Value *first = b_.CreatePtrToInt(b_.CreateExtractElement(places, uint64_t(0)), b_.getInt64Ty());
      p_.branch(
          isContiguous(places, first), [&] { addBlocks(memory, first, buffer != nullptr); },
          [&] {
            b_.CreateStore(places, pointers);
            p_.loop(p_.i64(0), p_.i64(lanes), 1, "lane", [&](llvm::Value *i) {
              auto in = [&](llvm::Value *slot) { return b_.CreateGEP(bits_, middle(slot), i); };
              p_.branch(
                  b_.CreateIsNotNull(b_.CreateLoad(bits_, in(memory.isOn))),
                  [&] {
                    llvm::Value *place =
                        b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), pointers, i));
                    llvm::Value *addend = b_.CreateLoad(bits_, in(memory.values));
                    llvm::Value *seen = modify(rmw, place, b_.CreateBitCast(addend, element_));
                    b_.CreateStore(b_.CreateBitCast(seen, bits_), in(memory.old));
                  },
                  [] {});
            });
          },
          /*likely=*/true);
      if (buffer) {
        llvm::Value *old = b_.CreateAlignedLoad(vector, middle(memory.old), llvm::Align(16));
        loop.evaluator().write(*buffer, at, b_.CreateBitCast(old, p_.lanesOf(element_, lanes)));
      }
    });
  }

  // Do the lanes follow each other from `first` on, at whole elements? Arithmetic of addresses may have
  // wrapped.
  llvm::Value *isContiguous(llvm::Value *places, llvm::Value *first) {
    llvm::Type *i64 = b_.getInt64Ty();
    unsigned lanes = p_.machine.lanes(), bytes = elementBits() / 8;
    SmallVector<llvm::Constant *, 16> steps;
    for (unsigned i = 0; i != lanes; ++i)
      steps.push_back(b_.getInt64(uint64_t(i) * bytes));
    llvm::Value *expected =
        b_.CreateAdd(b_.CreateVectorSplat(lanes, first), llvm::ConstantVector::get(steps));
    llvm::Value *follows = b_.CreateICmpEQ(b_.CreatePtrToInt(places, p_.lanesOf(i64, lanes)), expected);
    llvm::Value *isAligned = b_.CreateICmpEQ(b_.CreateAnd(first, b_.getInt64(bytes - 1)), b_.getInt64(0));
    return b_.CreateAnd(isAligned, b_.CreateAndReduce(follows));
  }

  struct Lanes {
    MemSemantic semantic;
    unsigned lanes, group; // elements of a vector, and of a block
    llvm::AllocaInst *values = nullptr, *isOn = nullptr, *old = nullptr;
  };

  void addBlocks(const Lanes &memory, llvm::Value *first, bool keepsOld) {
    unsigned bytes = elementBits() / 8;
    llvm::Value *behind = b_.CreateAnd(first, b_.getInt64(15)); // the start of its block
    llvm::Value *blocks = b_.CreateIntToPtr(b_.CreateSub(first, behind), b_.getPtrTy());
    llvm::Type *whole = b_.getInt128Ty(), *part = p_.lanesOf(bits_, memory.group), *i64 = b_.getInt64Ty();
    llvm::Value *end = b_.CreateAdd(behind, b_.getInt64(memory.lanes * bytes));
    p_.loop(p_.i64(0), end, 16, "block", [&](llvm::Value *offset) {
      llvm::Value *at = b_.CreateSub(b_.CreateAdd(offset, b_.getInt64(16)), behind);
      auto in = [&](llvm::Value *slot) { return b_.CreateGEP(b_.getInt8Ty(), slot, at); };
      llvm::Value *isOn = b_.CreateAlignedLoad(whole, in(memory.isOn), align());
      p_.branch(
          b_.CreateIsNotNull(isOn),
          [&] {
            llvm::Value *values = b_.CreateAlignedLoad(part, in(memory.values), align());
            llvm::Value *block = b_.CreateGEP(b_.getInt8Ty(), blocks, offset);
            llvm::Value *halves = llvm::PoisonValue::get(p_.lanesOf(i64, 2));
            for (unsigned i : {0u, 1u}) {
              llvm::LoadInst *half =
                  b_.CreateAlignedLoad(i64, b_.CreateConstGEP1_64(i64, block, i), llvm::Align(8));
              half->setAtomic(llvm::AtomicOrdering::Monotonic);
              halves = b_.CreateInsertElement(halves, half, uint64_t(i));
            }
            llvm::Value *mask = b_.CreateBitCast(isOn, part), *rest = b_.CreateNot(mask);
            llvm::Value *seen =
                exchangeUntil(memory.semantic, block, b_.CreateBitCast(halves, whole), llvm::Align(16),
                              [&](llvm::Value *now) {
                                llvm::Type *elements = p_.lanesOf(element_, memory.group);
                                llvm::Value *sum = added(b_.CreateBitCast(now, elements),
                                                         b_.CreateBitCast(values, elements));
                                llvm::Value *on = b_.CreateAnd(b_.CreateBitCast(sum, part), mask),
                                            *off = b_.CreateAnd(b_.CreateBitCast(now, part), rest);
                                return b_.CreateBitCast(b_.CreateOr(on, off), whole);
                              });
            if (keepsOld)
              b_.CreateAlignedStore(b_.CreateAnd(b_.CreateBitCast(seen, part), mask), in(memory.old),
                                    align());
          },
          [] {});
    });
  }

  // The sum in the elements' type, rounded once; never one operation with a product.
  llvm::Value *added(llvm::Value *a, llvm::Value *b) {
    llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();
    if (elementBits() != 16)
      return b_.CreateFAdd(a, b);
    return roundTo(p_, b_.CreateFAdd(toFloat(p_, a), toFloat(p_, b)), element_);
  }

  llvm::Value *exchange(MemSemantic semantic, llvm::Value *pointer, llvm::Value *expected,
                        llvm::Value *value) {
    llvm::AtomicOrdering ordering = orderingOf(semantic);
    llvm::Value *pair =
        b_.CreateAtomicCmpXchg(pointer, toBits(expected), toBits(value), align(), ordering,
                               llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
    return fromBits(b_.CreateExtractValue(pair, 0));
  }

  llvm::Value *modify(AtomicRMWOp rmw, llvm::Value *pointer, llvm::Value *value) {
    llvm::AtomicOrdering ordering = orderingOf(rmw.getSem());
    bool isFloatAdd = rmw.getKind() == AtomicKind::FAdd;
    if (isFloatAdd && bits_->getIntegerBitWidth() == 16)
      return addSmall(rmw.getSem(), pointer, value);
    llvm::Value *operand = isFloatAdd ? value : toBits(value);
    llvm::Value *old = b_.CreateAtomicRMW(instructionOf(rmw.getKind()), pointer, operand, align(), ordering);
    return isFloatAdd ? old : fromBits(old);
  }

  llvm::Value *addSmall(MemSemantic semantic, llvm::Value *pointer, llvm::Value *value) {
    llvm::LoadInst *first = b_.CreateAlignedLoad(bits_, pointer, align());
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    llvm::Value *seen = exchangeUntil(semantic, pointer, first, align(), [&](llvm::Value *bits) {
      return toBits(added(b_.CreateBitCast(bits, element_), value));
    });
    return b_.CreateBitCast(seen, element_);
  }

  // Exchanges bits for the new ones that `next` makes of them, until nobody came between; returns the old
  // ones.
  llvm::Value *exchangeUntil(MemSemantic semantic, llvm::Value *pointer, llvm::Value *first,
                             llvm::Align align, llvm::function_ref<llvm::Value *(llvm::Value *)> next) {
    llvm::AtomicOrdering ordering = orderingOf(semantic);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *again = p_.newBlock("again"),
                     *done = p_.newBlock("added");
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    llvm::PHINode *seen = b_.CreatePHI(first->getType(), 2);
    seen->addIncoming(first, before);
    llvm::Value *pair =
        b_.CreateAtomicCmpXchg(pointer, seen, next(seen), align, ordering,
                               llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
    seen->addIncoming(b_.CreateExtractValue(pair, 0), b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateExtractValue(pair, 1), done, again);
    b_.SetInsertPoint(done);
    return seen;
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  Operation *op_;
  ElementLoop loop_;
  llvm::Type *element_;
  llvm::IntegerType *bits_;
};

} // namespace

void emitAtomic(ProgramEmitter &p, Operation *op) { AtomicEmitter(p, op).emit(); }

} // namespace tegula::cpu
