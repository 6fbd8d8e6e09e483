// Matrix products without tensor cores: both operands go to shared memory with k outermost, then each
// thread runs over k with its own small outer product of fused multiply-adds in f32 (f64 for
// f64, i32 for integers).
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Emitter.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

constexpr unsigned unroll = 2;

class Product {
public:
  Product(Emitter &e, DotOp op)
      : e_(e), b_(e.builder), op_(op), scratch_(op), result_(layoutOf(op.getResult())),
        wide_(wideType(elementType(op.getType()))) {}

  void emit() {
    put(op_.getA(), 0, /*transposed=*/true);
    put(op_.getB(), scratch_.bOffset, /*transposed=*/false);
    e_.hardware.barrier(b_);
    Registers sums;
    for (llvm::Value *value : e_.registers(op_.getAcc()))
      sums.push_back(value ? widen(value, elementType(op_.getType())) : nullptr);

    llvm::BasicBlock *before = b_.GetInsertBlock(), *body = e_.newBlock("dot"),
                     *after = e_.newBlock("dot.end");
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    llvm::PHINode *k = b_.CreatePHI(b_.getInt32Ty(), 2, "k");
    k->addIncoming(b_.getInt32(0), before);
    SmallVector<llvm::PHINode *> phis(sums.size(), nullptr);
    for (unsigned reg = 0; reg != sums.size(); ++reg)
      if (sums[reg]) {
        phis[reg] = b_.CreatePHI(wide_, 2);
        phis[reg]->addIncoming(sums[reg], before);
        sums[reg] = phis[reg];
      }
    unsigned steps = scratch_.k % unroll == 0 ? unroll : 1;
    for (unsigned u = 0; u != steps; ++u)
      outerProduct(u ? b_.CreateOr(k, b_.getInt32(u), "", /*IsDisjoint=*/true) : k, sums);
    llvm::Value *next = b_.CreateAdd(k, b_.getInt32(steps));
    k->addIncoming(next, b_.GetInsertBlock());
    for (unsigned reg = 0; reg != sums.size(); ++reg)
      if (phis[reg])
        phis[reg]->addIncoming(sums[reg], b_.GetInsertBlock());
    // Unrolled further it would take most of a compile's time for little.
    keepRolled(b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(scratch_.k)), body, after));
    b_.SetInsertPoint(after);
    llvm::Type *type = e_.type(elementType(op_.getType()));
    for (llvm::Value *&sum : sums)
      if (sum && type != wide_)
        sum = wide_->isIntegerTy() ? b_.CreateTrunc(sum, type) : b_.CreateFPTrunc(sum, type);
    e_.set(op_.getResult(), std::move(sums));
  }

private:
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

  // Element [batch, k, i] of an operand, i along the result's dimension.
  llvm::Value *address(uint64_t offset, llvm::Value *batch, llvm::Value *k, llvm::Value *i, unsigned extent,
                       unsigned bytes) {
    llvm::Value *row = batch ? b_.CreateAdd(b_.CreateMul(batch, b_.getInt32(scratch_.k)), k) : k;
    llvm::Value *index = b_.CreateAdd(b_.CreateMul(row, b_.getInt32(extent)), i);
    return e_.scratch(op_,
                      b_.CreateAdd(b_.CreateMul(index, b_.getInt32(bytes)), b_.getInt32(unsigned(offset))));
  }

  void put(Value operand, uint64_t offset, bool transposed) {
    Layout layout = layoutOf(operand);
    unsigned rank = layout.rank(), bytes = scratch_.bytesOf(operand);
    e_.when(e_.isFirstCopy(layout), [&] {
      for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg) {
        if (!layout.isLive(reg))
          continue;
        e_.when(e_.inside(layout, reg), [&] {
          llvm::Value *batch = rank == 3 ? e_.coordinate(layout, 0, reg) : nullptr;
          llvm::Value *row = e_.coordinate(layout, rank - 2, reg),
                      *column = e_.coordinate(layout, rank - 1, reg);
          llvm::Value *at = transposed ? address(offset, batch, column, row, scratch_.m, bytes)
                                       : address(offset, batch, row, column, scratch_.n, bytes);
          b_.CreateAlignedStore(e_.registers(operand)[reg], at, llvm::Align(bytes));
        });
      }
    });
  }

  void outerProduct(llvm::Value *k, Registers &sums) {
    unsigned rank = result_.rank();
    std::map<std::pair<llvm::Value *, llvm::Value *>, llvm::Value *> rows, columns;
    auto fetch = [&](auto &known, Value operand, uint64_t offset, llvm::Value *batch, llvm::Value *i,
                     unsigned extent) {
      llvm::Value *&value = known[{batch, i}];
      if (!value) {
        unsigned bytes = scratch_.bytesOf(operand);
        // Beyond an extent that is no power of two any element will do.
        auto inside = [&](llvm::Value *index, unsigned end) {
          return llvm::isPowerOf2_32(end)
                     ? index
                     : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, b_.getInt32(end - 1));
        };
        llvm::Value *at = address(offset, batch ? inside(batch, scratch_.batches) : nullptr, k,
                                  inside(i, extent), extent, bytes);
        Type element = elementType(operand.getType());
        value = widen(b_.CreateAlignedLoad(e_.type(element), at, llvm::Align(bytes)), element);
      }
      return value;
    };
    for (unsigned reg = 0; reg != sums.size(); ++reg) {
      if (!sums[reg])
        continue;
      llvm::Value *batch = rank == 3 ? coordinateOf(0, reg) : nullptr;
      llvm::Value *a = fetch(rows, op_.getA(), 0, batch, coordinateOf(rank - 2, reg), scratch_.m);
      llvm::Value *b =
          fetch(columns, op_.getB(), scratch_.bOffset, batch, coordinateOf(rank - 1, reg), scratch_.n);
      sums[reg] = wide_->isIntegerTy() ? b_.CreateAdd(sums[reg], b_.CreateMul(a, b))
                                       : b_.CreateIntrinsic(llvm::Intrinsic::fma, {wide_}, {a, b, sums[reg]});
    }
  }

  // Equal coordinates are one value, so that rows and columns are fetched once.
  llvm::Value *coordinateOf(unsigned dim, unsigned reg) {
    unsigned shift = 0;
    for (unsigned d = dim + 1; d != result_.rank(); ++d)
      shift += result_.hullBits(d);
    uint32_t constant = result_.apply(reg, 0, 0) >> shift & uint32_t(result_.hull(dim) - 1);
    llvm::Value *&known = coordinates_[{dim, constant}];
    if (!known) {
      llvm::IRBuilder<>::InsertPointGuard guard(b_);
      known = e_.coordinate(result_, dim, reg);
    }
    return known;
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  DotOp op_;
  DotScratch scratch_;
  Layout result_;
  llvm::Type *wide_;
  std::map<std::pair<unsigned, uint32_t>, llvm::Value *> coordinates_;
};

} // namespace

void emitDot(Emitter &e, DotOp op) {
  if (op->hasAttr(matrixName))
    return emitMatrixDot(e, op);
  Product(e, op).emit();
}

} // namespace tegula::simt
