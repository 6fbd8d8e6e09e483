// Blocks, and the order of elementwise work in them. A long chain of elementwise ops (a random number
// is a hundred) is emitted a few registers at a time through the whole chain, not op by op through all
// registers: what is live at once is then a few elements' intermediate values, not all elements'.
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Elementwise.h"
#include "codegen/simt/Emitter.h"
#include "ir/simt/Costs.h"
#include "ir/simt/Runs.h"
#include "layout/Queries.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;

namespace tegula::simt {

namespace {

// Computes each register from its operands' registers of the same number.
bool joinsChain(Operation *op) {
  if (isa<arith::SelectOp>(op))
    return isTile(op->getResult(0));
  return op->getNumResults() == 1 && isTile(op->getResult(0)) && op->hasTrait<OpTrait::Elementwise>() &&
         isMemoryEffectFree(op) &&
         isa<arith::ArithDialect, math::MathDialect, TileDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp, AddPtrOp, PtrToIntOp, IntToPtrOp, ElementwiseInlineAsmOp>(op);
}

// Registers of an op's result that follow from others (ir/simt/Runs.h): register bits between elements of a
// group.
struct Neighbours {
  unsigned equal = 0; // that are equal
  // Whose dividends count up; with one of the bits set an element is not the group's first.
  unsigned counted = 0;
};

Neighbours neighboursOf(Operation *op) {
  Neighbours found;
  Value result = op->getResult(0);
  if (auto equal = op->getAttrOfType<DenseI64ArrayAttr>(equalName))
    found.equal = layout::registersInside(layoutOf(result), equal.asArrayRef());
  if (auto counted = op->getAttrOfType<DenseI64ArrayAttr>(countedName))
    found.counted = layout::registersInside(layoutOf(result), counted.asArrayRef()) &
                    layout::registersBehind(layoutOf(result));
  return found;
}

} // namespace

void Emitter::emitBlock(Block &block) {
  bool isAround = isAroundProducts(block.getParentOp());
  SmallVector<Operation *> chain;
  auto flush = [&] {
    emitChain(chain);
    chain.clear();
  };
  for (Operation &op : block) {
    bool joins = joinsChain(&op);
    if (joins) {
      if (!chain.empty() && cast<RankedTensorType>(chain.back()->getResult(0).getType()).getEncoding() !=
                                cast<RankedTensorType>(op.getResult(0).getType()).getEncoding())
        flush();
      chain.push_back(&op);
      continue;
    }
    // Scalars, splats and constants need nothing of a chain: they go before it.
    bool before =
        isa<SplatOp, arith::ConstantOp>(op) || (isMemoryEffectFree(&op) && op.getNumRegions() == 0 &&
                                                !hasTile(op.getOperands()) && !hasTile(op.getResults()));
    if (!before)
      flush();
    place(op.getLoc());
    emitOp(&op);
    if (isAround && hasProductLoop(&op))
      beginAnew();
  }
  flush();
}

void Emitter::emitChain(ArrayRef<Operation *> ops) {
  if (ops.size() < costs.shortestChain) {
    for (Operation *op : ops) {
      place(op->getLoc());
      emitElementwise(op);
    }
    return;
  }
  unsigned count = layoutOf(ops[0]->getResult(0)).size(Axis::Register);
  for (Operation *op : ops)
    set(op->getResult(0), Registers(count, nullptr));
  for (unsigned begin = 0; begin < count; begin += costs.chainRegisters)
    for (Operation *op : ops) {
      place(op->getLoc());
      Registers results = registers(op->getResult(0));
      emitElements(op, begin, std::min(begin + costs.chainRegisters, count), results);
      set(op->getResult(0), std::move(results));
    }
}

void Emitter::emitElementwise(Operation *op) {
  Value result = op->getResult(0);
  if (isTile(result)) {
    unsigned count = layoutOf(result).size(Axis::Register);
    Registers results(count, nullptr);
    emitElements(op, 0, count, results);
    return set(result, std::move(results));
  }
  Scalars scalars{builder, module, hardware};
  SmallVector<llvm::Value *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalar(operand));
  set(result, {lowerElementwise(scalars, op, operands, type(result.getType()))});
}

// Registers begin .. end - 1 of the result, pairs of 16-bit floats at once.
void Emitter::emitElements(Operation *op, unsigned begin, unsigned end, Registers &results) {
  Scalars scalars{builder, module, hardware};
  llvm::Type *element = type(elementType(op->getResult(0).getType()));
  auto lower = [&](ArrayRef<llvm::Value *> operands) {
    return lowerElementwise(scalars, op, operands, element);
  };
  auto operandsAt = [&](unsigned reg) {
    SmallVector<llvm::Value *, 4> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand) ? registers(operand)[reg] : scalar(operand));
    return operands;
  };
  const Neighbours neighbours = isTile(op->getResult(0)) ? neighboursOf(op) : Neighbours();
  bool paired = (end - begin) % 2 == 0 && pairs(op);
  SmallVector<llvm::Value *, 4> previous; // of the last register that was computed
  unsigned previousReg = begin;
  for (unsigned reg = begin; reg != end; ++reg) {
    SmallVector<llvm::Value *, 4> operands = operandsAt(reg);
    if (llvm::is_contained(operands, nullptr))
      continue;
    if (unsigned equal = reg & ~neighbours.equal; equal != reg && results[equal]) {
      results[reg] = results[equal];
      continue;
    }
    if (unsigned first = reg & ~neighbours.counted; first != reg && operandsAt(first)[0]) {
      auto [dividend, divisor] = std::pair(operandsAt(first)[0], operands[1]);
      results[reg] = codegen::divideBehind(builder, op, dividend, divisor, operands[0]);
      continue;
    }
    if (operands == previous) { // the same value along a repeated dimension
      results[reg] = results[previousReg];
      continue;
    }
    previous = operands;
    previousReg = reg;
    SmallVector<llvm::Value *, 4> next = paired && (reg - begin) % 2 == 0 ? operandsAt(reg + 1) : operands;
    if (!paired || (reg - begin) % 2 == 1 || llvm::is_contained(next, nullptr) || next == operands) {
      results[reg] = lower(operands);
      continue;
    }
    SmallVector<llvm::Value *, 4> both;
    for (auto [low, high] : llvm::zip(operands, next)) {
      llvm::Value *pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(low->getType(), 2));
      both.push_back(builder.CreateInsertElement(builder.CreateInsertElement(pair, low, uint64_t(0)), high,
                                                 uint64_t(1)));
    }
    llvm::Value *pair = lower(both);
    results[reg] = builder.CreateExtractElement(pair, uint64_t(0));
    results[reg + 1] = builder.CreateExtractElement(pair, uint64_t(1));
    previous.assign(next.begin(), next.end());
    previousReg = ++reg;
  }
}

} // namespace tegula::simt
