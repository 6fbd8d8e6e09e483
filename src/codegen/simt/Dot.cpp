// Matrix products without tensor cores. In: a dot without `simt.matrix`, its factors laid out by
// layout::dotOperand, so that each thread has all of K for its part of the result. Out: one small outer
// product after the other, in the order of k, of fused multiply-adds in f32 (f64 for f64, i32 for integers).
// Of a factor in shared memory a thread fetches what the next products need; a long K becomes a loop then.
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Emitter.h"
#include "codegen/simt/RegisterMap.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// Of one trip of the loop over k, about: more would not fit into the cache of instructions, and take long to
// compile.
constexpr unsigned multiplyAddsOfTrip = 512;
constexpr unsigned shortestTrip = 4; // values of k, as many as one access fetches where f32 lie along K

class Product {
public:
  Product(Emitter &e, DotOp op)
      : e_(e), b_(e.builder), op_(op), result_(layoutOf(op.getResult())),
        k_(unsigned(shapeOf(op.getA().getType()).back())), wide_(wideType(elementType(op.getType()))),
        factors_{Factor(e, op.getA()), Factor(e, op.getB())} {
    for (unsigned reg = 0; reg != result_.size(Axis::Register); ++reg)
      if (result_.isLive(reg))
        terms_.push_back({reg, firstOf(0, reg), firstOf(1, reg)});
  }

  void emit() {
    Registers sums;
    for (llvm::Value *value : e_.registers(op_.getAcc()))
      sums.push_back(value ? widen(value, elementType(op_.getType())) : nullptr);
    if (unsigned steps = stepsOfTrip(); steps == k_)
      addProducts(steps, sums);
    else
      addInTrips(steps, sums);
    llvm::Type *type = e_.type(elementType(op_.getType()));
    for (llvm::Value *&sum : sums)
      if (sum && type != wide_)
        sum = wide_->isIntegerTy() ? b_.CreateTrunc(sum, type) : b_.CreateFPTrunc(sum, type);
    e_.set(op_.getResult(), std::move(sums));
  }

private:
  struct Factor {
    Factor(Emitter &e, Value tile)
        : tile(tile), map(layoutOf(tile)), inBuffer(elementsInBuffer(e, tile)),
          elements(map.layout().size(Axis::Register), nullptr) {}
    Value tile;
    RegisterMap map;
    std::unique_ptr<FactorElements> inBuffer;
    Registers elements; // widened, of those that were asked for
  };

  // A register of the result, and those of the factors' first elements along K.
  struct Term {
    unsigned sum, a, b;
  };

  llvm::Type *wideType(Type element) {
    if (isa<FloatType>(element))
      return element.isF64() ? b_.getDoubleTy() : b_.getFloatTy();
    return b_.getInt32Ty();
  }

  llvm::Value *widen(llvm::Value *value, Type element) {
    if (value->getType() == wide_)
      return value;
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8) {
      Type f32 = Float32Type::get(element.getContext());
      llvm::Value *direct = e_.hardware.convert(b_, value, element, f32, /*towardZero=*/false);
      return direct ? direct : codegen::convertFloat(b_, value, element, f32, wide_);
    }
    return wide_->isIntegerTy() ? b_.CreateSExtOrTrunc(value, wide_) : b_.CreateFPExt(value, wide_);
  }

  // The register of a factor that holds k = 0 for a register of the result.
  unsigned firstOf(unsigned index, unsigned reg) {
    std::vector<int64_t> at = result_.coordinates(result_.apply(reg, 0, 0));
    at[result_.rank() - (index == 0 ? 1 : 2)] = 0;
    int found = factors_[index].map.at(at);
    assert(found >= 0 && "a factor is laid out for its result");
    return unsigned(found);
  }

  // Values of k that one trip takes; all of them: there is no loop. A factor in registers has each k in
  // another one.
  unsigned stepsOfTrip() const {
    bool areInBuffers = factors_[0].inBuffer && factors_[1].inBuffer;
    unsigned sums = unsigned(terms_.size()),
             most = std::max(multiplyAddsOfTrip / std::max(sums, 1u), shortestTrip);
    if (!areInBuffers || k_ <= most)
      return k_;
    unsigned steps = 1;
    while (2 * steps <= most && k_ % (2 * steps) == 0)
      steps *= 2;
    return steps;
  }

  void addInTrips(unsigned steps, Registers &sums) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *body = e_.newBlock("dot"),
                     *after = e_.newBlock("dot.end");
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    llvm::PHINode *trip = b_.CreatePHI(b_.getInt32Ty(), 2, "k");
    trip->addIncoming(b_.getInt32(0), before);
    SmallVector<llvm::PHINode *> phis(sums.size(), nullptr);
    for (unsigned reg = 0; reg != sums.size(); ++reg)
      if (sums[reg]) {
        phis[reg] = b_.CreatePHI(wide_, 2);
        phis[reg]->addIncoming(sums[reg], before);
        sums[reg] = phis[reg];
      }
    for (Factor &factor : factors_)
      factor.inBuffer->moveBy(trip, llvm::Log2_32(steps), llvm::Log2_32_Ceil(k_));
    addProducts(steps, sums);
    llvm::Value *next = b_.CreateAdd(trip, b_.getInt32(1));
    trip->addIncoming(next, b_.GetInsertBlock());
    for (unsigned reg = 0; reg != sums.size(); ++reg)
      if (phis[reg])
        phis[reg]->addIncoming(sums[reg], b_.GetInsertBlock());
    keepRolled(b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(k_ / steps)), body, after));
    b_.SetInsertPoint(after);
  }

  void addProducts(unsigned steps, Registers &sums) {
    auto fetch = [&](unsigned k) {
      for (const Term &term : terms_) {
        element(0, term.a, k);
        element(1, term.b, k);
      }
    };
    // Elements that the next products need are on their way while these are computed.
    fetch(0);
    for (unsigned k = 0; k != steps; ++k) {
      if (k + 1 != steps)
        fetch(k + 1);
      for (const Term &term : terms_) {
        llvm::Value *a = element(0, term.a, k), *b = element(1, term.b, k), *&sum = sums[term.sum];
        sum = wide_->isIntegerTy() ? b_.CreateAdd(sum, b_.CreateMul(a, b))
                                   : b_.CreateIntrinsic(llvm::Intrinsic::fma, {wide_}, {a, b, sum});
      }
    }
  }

  // The lowest bits of a factor's register are K.
  llvm::Value *element(unsigned index, unsigned first, unsigned k) {
    Factor &factor = factors_[index];
    llvm::Value *&known = factor.elements[first | k];
    if (!known)
      known =
          widen(factor.inBuffer ? factor.inBuffer->element(first | k) : e_.registers(factor.tile)[first | k],
                elementType(factor.tile.getType()));
    return known;
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  DotOp op_;
  Layout result_;
  unsigned k_;
  llvm::Type *wide_;
  Factor factors_[2];
  std::vector<Term> terms_;
};

} // namespace

void emitDot(Emitter &e, DotOp op) {
  if (op->hasAttr(matrixName))
    return emitMatrixDot(e, op);
  Product(e, op).emit();
}

} // namespace tegula::simt
