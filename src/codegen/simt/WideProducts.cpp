#include "codegen/simt/WideProducts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PatternMatch.h"

namespace tegula::simt {

namespace {

using namespace llvm::PatternMatch;

// The factors of a product of 32-bit numbers, as 64 bits (`wide`) or as 32, in an order of their own;
// a constant factor is second.
struct Factors {
  llvm::Value *x = nullptr, *y = nullptr;
};

llvm::Value *narrowed(llvm::Value *value) {
  llvm::Value *source;
  if (match(value, m_ZExt(m_Value(source))) && source->getType()->isIntegerTy(32))
    return source;
  auto *constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  if (constant && constant->getValue().getActiveBits() <= 32)
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(value->getContext()), constant->getZExtValue());
  return nullptr;
}

Factors factorsOf(llvm::BinaryOperator *product) {
  llvm::Value *x = product->getOperand(0), *y = product->getOperand(1);
  if (product->getType()->isIntegerTy(64)) {
    x = narrowed(x);
    y = narrowed(y);
  } else if (!product->getType()->isIntegerTy(32)) {
    return {};
  }
  if (!x || !y || (llvm::isa<llvm::Constant>(x) && llvm::isa<llvm::Constant>(y)))
    return {};
  return {x, y};
}

void merge(llvm::BinaryOperator *first, llvm::BinaryOperator *second, Factors f) {
  llvm::IRBuilder<> b(first);
  llvm::Value *x = b.CreateZExt(f.x, b.getInt64Ty()), *y = b.CreateZExt(f.y, b.getInt64Ty());
  llvm::Value *wide = b.CreateNUWMul(x, y);
  for (llvm::BinaryOperator *product : {first, second}) {
    bool isWide = product->getType()->isIntegerTy(64);
    product->replaceAllUsesWith(isWide ? wide : b.CreateTrunc(wide, b.getInt32Ty()));
  }
}

} // namespace

void shareWideProducts(llvm::Function &function) {
  llvm::SmallVector<llvm::Instruction *> merged; // erased last: a product may be a factor that is looked up
  for (llvm::BasicBlock &block : function) {
    // The products that may find their other half, by their factors in one order; narrow ones, then wide
    // ones.
    using Pair = std::pair<llvm::Value *, llvm::Value *>;
    llvm::DenseMap<Pair, llvm::SmallVector<llvm::BinaryOperator *, 1>> open[2];
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
      auto *product = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      if (!product || product->getOpcode() != llvm::Instruction::Mul)
        continue;
      Factors f = factorsOf(product);
      if (!f.x)
        continue;
      Pair key = std::minmax(f.x, f.y, std::less<llvm::Value *>());
      bool isWide = product->getType()->isIntegerTy(64);
      auto other = open[!isWide].find(key);
      if (other == open[!isWide].end() || other->second.empty()) {
        open[isWide][key].push_back(product);
      } else {
        merged.append({other->second.back(), product});
        merge(other->second.pop_back_val(), product, f);
      }
    }
  }
  for (llvm::Instruction *each : merged)
    each->eraseFromParent();
}

} // namespace tegula::simt
