#include "codegen/llvm/StoresOfOneLane.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace tegula::codegen {

namespace {

// The lane, if the mask is a constant with one. A lane that is neither need not be written.
std::optional<unsigned> onlyLane(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  std::optional<unsigned> only;
  for (unsigned lane = 0; constant && type && lane != type->getNumElements(); ++lane) {
    llvm::Constant *element = constant->getAggregateElement(lane);
    if (!element || (!llvm::isa<llvm::UndefValue>(element) && !element->isNullValue() && only))
      return std::nullopt;
    if (!llvm::isa<llvm::UndefValue>(element) && !element->isNullValue())
      only = lane;
  }
  return only;
}

void storeElement(llvm::IntrinsicInst &store, unsigned lane) {
  llvm::IRBuilder<> builder(&store);
  llvm::Value *vector = store.getArgOperand(0), *pointer = store.getArgOperand(1);
  llvm::Type *type = vector->getType()->getScalarType();
  uint64_t offset = lane * store.getDataLayout().getTypeAllocSize(type).getFixedValue();
  llvm::StoreInst *made = builder.CreateAlignedStore(
      builder.CreateExtractElement(vector, lane), builder.CreateConstInBoundsGEP1_64(type, pointer, lane),
      llvm::commonAlignment(store.getParamAlign(1).valueOrOne(), offset));
  made->copyMetadata(store);
  store.eraseFromParent();
}

} // namespace

llvm::PreservedAnalyses StoresOfOneLane::run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
  bool isChanged = false;
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        store && store->getIntrinsicID() == llvm::Intrinsic::masked_store)
      if (std::optional<unsigned> lane = onlyLane(store->getArgOperand(store->arg_size() - 1))) {
        storeElement(*store, *lane);
        isChanged = true;
      }
  if (!isChanged)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace tegula::codegen
