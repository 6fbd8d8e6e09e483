// What a reduction's combine function is to the emitter: an identity where it is one known
// op, and the function itself on lanes.
#include "ir/tile/Tile.h"
#include "targets/cpu/Program.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::cpu {

namespace {

// combine(identity, x) == x for every x, NaN included.
llvm::Constant *identityOf(Operation *op, llvm::Type *type) {
  auto floating = [&](double value) { return llvm::ConstantFP::get(type, value); };
  bool isInt = type->isIntegerTy();
  unsigned bits = isInt ? type->getIntegerBitWidth() : 0;
  auto integer = [&](const llvm::APInt &value) { return llvm::ConstantInt::get(type, value); };
  if (isa<arith::AddFOp>(op)) return floating(-0.0);
  if (isa<arith::MulFOp>(op)) return floating(1.0);
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op)) return llvm::ConstantFP::getNaN(type);
  if (isa<arith::MaximumFOp>(op)) return llvm::ConstantFP::getInfinity(type, /*Negative=*/true);
  if (isa<arith::MinimumFOp>(op)) return llvm::ConstantFP::getInfinity(type);
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op)) return integer(llvm::APInt(bits, 0));
  if (isa<arith::MulIOp>(op)) return integer(llvm::APInt(bits, 1));
  if (isa<arith::AndIOp, arith::MinUIOp>(op)) return integer(llvm::APInt::getAllOnes(bits));
  if (isa<arith::MaxSIOp>(op)) return integer(llvm::APInt::getSignedMinValue(bits));
  if (isa<arith::MinSIOp>(op)) return integer(llvm::APInt::getSignedMaxValue(bits));
  return nullptr;
}

} // namespace

Combiner::Combiner(Program &program, Operation *reduceOp) : program_(program), reduce_(reduceOp) {
  auto reduce = cast<ReduceOp>(reduceOp);
  for (Value operand : reduce.getOperands())
    types_.push_back(program.type(elementType(operand.getType())));
  Block &block = reduce.getCombine().front();
  if (types_.size() != 1 || block.getOperations().size() != 2)
    return;
  Operation *op = &block.front();
  bool plain = op->getNumOperands() == 2 && op->getOperand(0) == block.getArgument(0) &&
               op->getOperand(1) == block.getArgument(1) && block.getTerminator()->getOperand(0) == op->getResult(0);
  if (!plain)
    return;
  single_ = op;
  identity_ = identityOf(op, types_[0]);
}

llvm::SmallVector<llvm::Value *> Combiner::combine(llvm::ArrayRef<llvm::Value *> accumulated,
                                                   llvm::ArrayRef<llvm::Value *> next) {
  if (single_)
    return {lowerOp(program_, single_, {accumulated[0], next[0]})};
  Block &block = cast<ReduceOp>(reduce_).getCombine().front();
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

} // namespace tegula::cpu
