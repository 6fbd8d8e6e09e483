// What a reduction's combine function is to the emitter: an identity where it is one known
// op, and the function itself on lanes. And histograms, which count into a buffer.
#include "ir/tile/Branches.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// combine(identity, x) == x for every x, NaN included.
llvm::Constant *identityOf(Operation *op, llvm::Type *type) {
  auto floating = [&](double value) { return llvm::ConstantFP::get(type, value); };
  bool isInt = type->isIntegerTy();
  unsigned bits = isInt ? type->getIntegerBitWidth() : 0;
  if (isInt && isa<FloatType>(op->getResult(0).getType()))
    return nullptr; // 8-bit floats are bits
  auto integer = [&](const llvm::APInt &value) { return llvm::ConstantInt::get(type, value); };
  if (isa<arith::AddFOp>(op))
    return floating(-0.0);
  if (isa<arith::MulFOp>(op))
    return floating(1.0);
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op))
    return llvm::ConstantFP::getNaN(type);
  if (isa<arith::MaximumFOp>(op))
    return llvm::ConstantFP::getInfinity(type, /*Negative=*/true);
  if (isa<arith::MinimumFOp>(op))
    return llvm::ConstantFP::getInfinity(type);
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op))
    return integer(llvm::APInt(bits, 0));
  if (isa<arith::MulIOp>(op))
    return integer(llvm::APInt(bits, 1));
  if (isa<arith::AndIOp, arith::MinUIOp>(op))
    return integer(llvm::APInt::getAllOnes(bits));
  if (isa<arith::MaxSIOp>(op))
    return integer(llvm::APInt::getSignedMinValue(bits));
  if (isa<arith::MinSIOp>(op))
    return integer(llvm::APInt::getSignedMaxValue(bits));
  return nullptr;
}

} // namespace

Combiner::Combiner(ProgramEmitter &program, Operation *combining)
    : program_(program), block_(&combining->getRegion(0).front()) {
  for (Value operand : combining->getOperands())
    types_.push_back(program.type(elementType(operand.getType())));
  Block &block = *block_;
  if (types_.size() != 1 || block.getOperations().size() != 2)
    return;
  Operation *op = &block.front();
  bool plain = op->getNumRegions() == 0 && op->getNumOperands() == 2 &&
               op->getOperand(0) == block.getArgument(0) && op->getOperand(1) == block.getArgument(1) &&
               block.getTerminator()->getOperand(0) == op->getResult(0);
  if (!plain)
    return;
  single_ = op;
  identity_ = identityOf(op, types_[0]);
}

llvm::SmallVector<llvm::Value *> Combiner::combine(llvm::ArrayRef<llvm::Value *> accumulated,
                                                   llvm::ArrayRef<llvm::Value *> next) {
  if (single_)
    return {lowerOp(program_, single_, {accumulated[0], next[0]})};
  Block &block = *block_;
  if (runsOneByOne(*block.getParent())) {
    llvm::SmallVector<llvm::Value *> all(accumulated);
    llvm::append_range(all, next);
    return emitFunction(program_, block, all);
  }
  llvm::DenseMap<Value, llvm::Value *> values;
  for (unsigned i = 0; i < types_.size(); ++i) {
    values[block.getArgument(i)] = accumulated[i];
    values[block.getArgument(types_.size() + i)] = next[i];
  }
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(accumulated[0]->getType());
  unsigned lanes = vector ? vector->getNumElements() : 1;
  auto valueOf = [&](Value value) {
    auto it = values.find(value);
    return program_.splat(it != values.end() ? it->second : program_.scalar(value), lanes);
  };
  for (Operation &op : block.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      values[constant] = program_.splat(program_.constant(constant.getValue(), constant.getType()), lanes);
      continue;
    }
    llvm::SmallVector<llvm::Value *, 3> operands;
    for (Value operand : op.getOperands())
      operands.push_back(valueOf(operand));
    values[op.getResult(0)] = lowerOp(program_, &op, operands);
  }
  llvm::SmallVector<llvm::Value *> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(valueOf(result));
  return results;
}

void emitHistogram(ProgramEmitter &p, Operation *op) {
  auto histogram = cast<HistogramOp>(op);
  auto &b = p.builder;
  p.remark(op, "scan", "counted one element after the other");
  const Buffer *bins = p.plan.buffer(histogram.getResult());
  if (!bins)
    return;
  b.CreateMemSet(p.scratchAt(bins->offset), b.getInt8(0), uint64_t(bins->elements() * bins->elementBytes()),
                 llvm::Align(64));
  ElementLoop loop(p);
  loop.over(shapeOf(histogram.getSource().getType()), [&](const Coordinates &at) {
    llvm::Value *bin = b.CreateZExtOrTrunc(loop.element(histogram.getSource(), at), b.getInt64Ty());
    llvm::Value *counts = b.CreateICmpULT(bin, b.getInt64(bins->elements()));
    if (histogram.getMask())
      counts = b.CreateAnd(counts, loop.element(histogram.getMask(), at));
    // What does not count goes to the first bin, as 0.
    llvm::Type *type = p.type(bins->element);
    llvm::Value *place =
        b.CreateGEP(type, p.scratchAt(bins->offset), b.CreateSelect(counts, bin, b.getInt64(0)));
    b.CreateStore(b.CreateAdd(b.CreateLoad(type, place), b.CreateZExt(counts, type)), place);
  });
}

} // namespace tegula::cpu
