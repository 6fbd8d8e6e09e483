#include "codegen/llvm/KnownLanes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <numeric>

namespace tegula::codegen {

namespace {

// Of the computation behind a mask, or what is stored, that is looked at: the work doubles with each.
constexpr unsigned deepest = 8;

unsigned lanesOf(llvm::Value *vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

// The value, computed where all that it is made of is constant; null: it is not.
llvm::Constant *constantOf(llvm::Value *value, const llvm::DataLayout &layout, unsigned depth = deepest) {
  if (auto *constant = llvm::dyn_cast<llvm::Constant>(value))
    return constant;
  auto *op = llvm::dyn_cast<llvm::Instruction>(value);
  if (!op || depth == 0 || llvm::isa<llvm::PHINode, llvm::LoadInst, llvm::CallBase>(op))
    return nullptr;
  llvm::SmallVector<llvm::Constant *> operands;
  for (llvm::Value *operand : op->operands())
    if (llvm::Constant *constant = constantOf(operand, layout, depth - 1))
      operands.push_back(constant);
    else
      return nullptr;
  return llvm::ConstantFoldInstOperands(op, operands, layout);
}

// Lanes of a mask that may be on; and whether all that may be are.
struct Lanes {
  llvm::BitVector mayBeOn;
  bool areOn = false;
};

Lanes lanesThatMayBeOn(llvm::Value *mask, const llvm::DataLayout &layout, unsigned depth = deepest) {
  unsigned count = lanesOf(mask);
  if (llvm::Constant *constant = constantOf(mask, layout)) {
    Lanes lanes{llvm::BitVector(count), true};
    for (unsigned lane = 0; lane != count; ++lane) {
      llvm::Constant *element = constant->getAggregateElement(lane);
      bool isKnown = element && llvm::isa<llvm::ConstantInt, llvm::UndefValue>(element);
      lanes.areOn &= isKnown;
      if (!isKnown || (llvm::isa<llvm::ConstantInt>(element) && !element->isNullValue()))
        lanes.mayBeOn.set(lane);
    }
    return lanes;
  }
  Lanes lanes{llvm::BitVector(count, true)};
  auto *op = llvm::dyn_cast<llvm::Instruction>(mask);
  if (!op || depth == 0)
    return lanes;
  auto of = [&](unsigned operand) {
    return lanesThatMayBeOn(op->getOperand(operand), layout, depth - 1).mayBeOn;
  };
  switch (op->getOpcode()) {
  case llvm::Instruction::And:
    lanes.mayBeOn = of(0);
    lanes.mayBeOn &= of(1);
    break;
  case llvm::Instruction::Or:
    lanes.mayBeOn = of(0);
    lanes.mayBeOn |= of(1);
    break;
  case llvm::Instruction::Freeze: lanes.mayBeOn = of(0); break;
  case llvm::Instruction::Select: { // `a && b` is one, too
    lanes.mayBeOn = of(1);
    if (op->getOperand(0)->getType()->isVectorTy())
      lanes.mayBeOn &= of(0);
    lanes.mayBeOn |= of(2);
    break;
  }
  default: break;
  }
  return lanes;
}

struct Piece {
  unsigned begin, count;
};

class Access {
public:
  Access(llvm::IntrinsicInst &access, Lanes lanes)
      : access_(access), builder_(&access), lanes_(std::move(lanes)),
        isLoad_(access.getIntrinsicID() == llvm::Intrinsic::masked_load) {
    mask_ = access.getArgOperand(isLoad_ ? 1 : 2);
    pointer_ = access.getArgOperand(isLoad_ ? 0 : 1);
    vector_ = isLoad_ ? access.getArgOperand(2) : access.getArgOperand(0); // other values; what is stored
  }

  void split() {
    cut({0, lanesOf(mask_)});
    for (Piece piece : pieces_)
      emit(piece);
    if (isLoad_)
      access_.replaceAllUsesWith(vector_);
    access_.eraseFromParent();
  }

  // Is it one piece as it is?
  bool isWhole() const { return !lanes_.areOn && !hasPieceThatIsOff({0, lanesOf(mask_)}); }

private:
  bool isOff(Piece piece) const {
    int next = lanes_.mayBeOn.find_first_in(piece.begin, piece.begin + piece.count);
    return next < 0;
  }

  // A half of it, a quarter, and so on; single lanes do not count, which no register is made of.
  bool hasPieceThatIsOff(Piece piece) const {
    if (piece.count < 4)
      return isOff(piece);
    unsigned half = piece.count / 2;
    return isOff(piece) || hasPieceThatIsOff({piece.begin, half}) ||
           hasPieceThatIsOff({piece.begin + half, piece.count - half});
  }

  void cut(Piece piece) {
    unsigned end = piece.begin + piece.count, half = piece.count / 2;
    bool isOnInPart = lanes_.areOn && lanes_.mayBeOn.find_first_unset_in(piece.begin, end) >= 0;
    if (isOff(piece))
      return;
    if (!isOnInPart && !hasPieceThatIsOff(piece)) {
      pieces_.push_back(piece);
      return;
    }
    cut({piece.begin, half});
    cut({piece.begin + half, piece.count - half});
  }

  llvm::Value *lanesOfPiece(llvm::Value *vector, Piece piece) {
    llvm::SmallVector<int> lanes(piece.count);
    std::iota(lanes.begin(), lanes.end(), int(piece.begin));
    return builder_.CreateShuffleVector(vector, lanes);
  }

  // `vector_` with the piece in the place of its lanes.
  void insert(llvm::Value *made, Piece piece) {
    unsigned count = lanesOf(vector_);
    llvm::SmallVector<int> wide(count, -1), lanes(count);
    std::iota(wide.begin(), wide.begin() + piece.count, 0);
    std::iota(lanes.begin(), lanes.end(), 0);
    std::iota(lanes.begin() + piece.begin, lanes.begin() + piece.begin + piece.count, int(count));
    vector_ = builder_.CreateShuffleVector(vector_, builder_.CreateShuffleVector(made, wide), lanes);
  }

  void emit(Piece piece) {
    llvm::Type *element = vector_->getType()->getScalarType();
    uint64_t bytes = access_.getDataLayout().getTypeAllocSize(element).getFixedValue();
    llvm::Align align =
        llvm::commonAlignment(access_.getParamAlign(isLoad_ ? 0 : 1).valueOrOne(), piece.begin * bytes);
    llvm::Value *at = builder_.CreateConstInBoundsGEP1_64(element, pointer_, piece.begin);
    llvm::Type *type = llvm::FixedVectorType::get(element, piece.count);
    llvm::Instruction *made = nullptr;
    if (lanes_.areOn && piece.count == 1)
      made = isLoad_ ? llvm::cast<llvm::Instruction>(builder_.CreateAlignedLoad(element, at, align))
                     : builder_.CreateAlignedStore(builder_.CreateExtractElement(vector_, piece.begin), at,
                                                   align);
    else if (lanes_.areOn)
      made = isLoad_ ? llvm::cast<llvm::Instruction>(builder_.CreateAlignedLoad(type, at, align))
                     : builder_.CreateAlignedStore(lanesOfPiece(vector_, piece), at, align);
    else if (isLoad_)
      made = builder_.CreateMaskedLoad(type, at, align, lanesOfPiece(mask_, piece),
                                       lanesOfPiece(vector_, piece));
    else
      made = builder_.CreateMaskedStore(lanesOfPiece(vector_, piece), at, align, lanesOfPiece(mask_, piece));
    made->copyMetadata(access_);
    if (isLoad_ && lanes_.areOn && piece.count == 1)
      vector_ = builder_.CreateInsertElement(vector_, made, piece.begin);
    else if (isLoad_)
      insert(made, piece);
  }

  llvm::IntrinsicInst &access_;
  llvm::IRBuilder<> builder_;
  Lanes lanes_;
  bool isLoad_;
  llvm::Value *mask_, *pointer_, *vector_;
  llvm::SmallVector<Piece> pieces_;
};

// Is it narrowed, or made of what is?
bool isNarrowed(llvm::Value *value, unsigned depth = deepest) {
  auto *op = llvm::dyn_cast<llvm::Instruction>(value);
  if (!op || depth == 0 || llvm::isa<llvm::LoadInst, llvm::PHINode>(op))
    return false;
  return llvm::isa<llvm::TruncInst>(op) ||
         llvm::any_of(op->operands(), [&](llvm::Value *operand) { return isNarrowed(operand, depth - 1); });
}

llvm::Value *withLanes(llvm::IRBuilder<> &builder, llvm::Value *vector, unsigned count) {
  llvm::SmallVector<int> lanes(count, -1);
  std::iota(lanes.begin(), lanes.begin() + std::min(count, lanesOf(vector)), 0);
  return builder.CreateShuffleVector(vector, lanes);
}

// Passes what is stored through assembly that does nothing, in a register of vectors.
void hideStored(llvm::IntrinsicInst &store) {
  constexpr unsigned leastRegister = 128, largestRegister = 512; // bits
  llvm::Value *stored = store.getArgOperand(0);
  unsigned lanes = lanesOf(stored), bits = lanes * stored->getType()->getScalarSizeInBits();
  if (bits > largestRegister || !llvm::isPowerOf2_32(bits))
    return;
  llvm::IRBuilder<> builder(&store);
  llvm::Value *wide =
      bits < leastRegister ? withLanes(builder, stored, lanes * (leastRegister / bits)) : stored;
  llvm::Type *words = llvm::FixedVectorType::get(builder.getInt32Ty(), std::max(bits, leastRegister) / 32);
  auto *nothing = llvm::InlineAsm::get(llvm::FunctionType::get(words, {words}, false), "", "=x,0",
                                       /*hasSideEffects=*/false);
  llvm::Value *hidden =
      builder.CreateBitCast(builder.CreateCall(nothing, builder.CreateBitCast(wide, words)), wide->getType());
  store.setArgOperand(0, bits < leastRegister ? withLanes(builder, hidden, lanes) : hidden);
}

bool isMaskedAccess(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && (call->getIntrinsicID() == llvm::Intrinsic::masked_load ||
                  call->getIntrinsicID() == llvm::Intrinsic::masked_store);
}

} // namespace

llvm::PreservedAnalyses KnownLanes::run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
  bool isChanged = false;
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!isMaskedAccess(instruction))
      continue;
    auto &call = llvm::cast<llvm::IntrinsicInst>(instruction);
    bool isLoad = call.getIntrinsicID() == llvm::Intrinsic::masked_load;
    Lanes lanes = lanesThatMayBeOn(call.getArgOperand(isLoad ? 1 : 2), function.getDataLayout());
    if (narrowsInStores_ && !isLoad && !lanes.areOn && isNarrowed(call.getArgOperand(0))) {
      hideStored(call);
      isChanged = true;
    }
    Access access(call, std::move(lanes));
    if (access.isWhole())
      continue;
    access.split();
    isChanged = true;
  }
  if (!isChanged)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace tegula::codegen
