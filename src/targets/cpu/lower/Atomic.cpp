// Atomics, one element after the other: an instruction with a lock where the machine has one, else
// LLVM's loop of compare-and-exchange. Floats of 16 bits add in a loop of our own: in f32, rounded
// once. A locked instruction also drains stores that went past the cache, so what it releases is seen.
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
  llvm::Align align() const { return llvm::Align(bits_->getIntegerBitWidth() / 8); }
  llvm::Value *toBits(llvm::Value *value) {
    return element_->isPointerTy() ? b_.CreatePtrToInt(value, bits_) : b_.CreateBitCast(value, bits_);
  }
  llvm::Value *fromBits(llvm::Value *value) {
    return element_->isPointerTy() ? b_.CreateIntToPtr(value, element_) : b_.CreateBitCast(value, element_);
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
    llvm::AtomicOrdering ordering = orderingOf(semantic);
    llvm::LoadInst *first = b_.CreateAlignedLoad(bits_, pointer, align());
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *again = p_.newBlock("again"),
                     *done = p_.newBlock("added");
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    llvm::PHINode *seen = b_.CreatePHI(bits_, 2);
    seen->addIncoming(first, before);
    llvm::Value *sum = b_.CreateFAdd(toFloat(p_, b_.CreateBitCast(seen, element_)), toFloat(p_, value));
    llvm::Value *pair =
        b_.CreateAtomicCmpXchg(pointer, seen, toBits(roundTo(p_, sum, element_)), align(), ordering,
                               llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
    seen->addIncoming(b_.CreateExtractValue(pair, 0), again);
    b_.CreateCondBr(b_.CreateExtractValue(pair, 1), done, again);
    b_.SetInsertPoint(done);
    return b_.CreateBitCast(seen, element_);
  }

  ProgramEmitter &p_;
  llvm::IRBuilder<> &b_;
  Operation *op_;
  ElementLoop loop_;
  llvm::Type *element_;
  llvm::IntegerType *bits_;
};

} // namespace

void emitAtomic(ProgramEmitter &p, Operation *op) {
  if (isa<RankedTensorType>(op->getResult(0).getType()))
    p.remark(op, "access", "atomic, one element after the other");
  AtomicEmitter(p, op).emit();
}

} // namespace tegula::cpu
