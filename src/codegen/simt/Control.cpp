// for, if and while: blocks, and a phi for each register of each carried value.
#include "codegen/simt/Emitter.h"

using namespace mlir;

namespace tegula::simt {

SmallVector<llvm::PHINode *> Emitter::phis(ValueRange values) {
  SmallVector<llvm::PHINode *> result;
  for (Value value : values) {
    if (isa<TokenType>(value.getType())) { // an order of ops, no value
      set(value, {});
      continue;
    }
    llvm::Type *element = type(tile::elementType(value.getType()));
    Registers registers;
    if (!isa<RankedTensorType>(value.getType())) {
      result.push_back(builder.CreatePHI(element, 2));
      set(value, {result.back()});
      continue;
    }
    layout::Layout layout = layoutOf(value);
    for (unsigned reg = 0; reg != layout.size(layout::Axis::Register); ++reg) {
      registers.push_back(layout.isLive(reg) ? builder.CreatePHI(element, 2) : nullptr);
      if (registers.back())
        result.push_back(cast<llvm::PHINode>(registers.back()));
    }
    set(value, std::move(registers));
  }
  return result;
}

void Emitter::addIncoming(ArrayRef<llvm::PHINode *> phis, ValueRange values) {
  unsigned next = 0;
  for (Value value : values) {
    const Registers &held = registers(value);
    for (unsigned reg = 0; reg != held.size(); ++reg)
      if (!tile::isTile(value) ||
          layoutOf(value).isLive(reg)) // a splat has a value for registers that do not exist, too
        phis[next++]->addIncoming(held[reg], builder.GetInsertBlock());
  }
  assert(next == phis.size() && "carried values have the layouts of their places");
}

// The sums of such loops leave few registers: what threads compute for themselves beside one, each trip
// around it computes again, behind the last of them, in place of all of it ahead of the loops.
void Emitter::emitTrip(scf::ForOp op) {
  llvm::Value *thread = thread_, *uniformWarp = uniformWarp_, *zeroOfLane = zeroOfLane_;
  std::map<std::vector<uint32_t>, llvm::Value *> linear = std::move(linear_);
  llvm::BasicBlock *prologue = prologue_;
  beginAnew();
  emitBlock(*op.getBody());
  thread_ = thread;
  uniformWarp_ = uniformWarp;
  zeroOfLane_ = zeroOfLane;
  linear_ = std::move(linear);
  prologue_ = prologue;
}

// From here on nothing is known of the thread.
void Emitter::beginAnew() {
  llvm::BasicBlock *rest = newBlock("anew");
  linear_.clear();
  prologue_ = builder.GetInsertBlock();
  thread_ = hardware.threadIndexHere(builder);
  builder.CreateBr(rest);
  builder.SetInsertPoint(rest);
}

namespace {

// May the assembler run several trips at once, for their loads to start together? It does so with loops whose
// trips it can count. Products, copies and exchanges between threads have their own order, which the loop was
// planned for.
bool mayRunTripsTogether(scf::ForOp op) {
  std::optional<llvm::APInt> step = op.getConstantStep();
  return step && step->isOne() &&
         !op.getBody()
              ->walk([](Operation *inner) {
                bool isPlanned =
                    isa<tile::DotOp, LoopLikeOpInterface>(inner) || isa<SimtDialect>(inner->getDialect());
                return isPlanned ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

} // namespace

void Emitter::emitFor(scf::ForOp op) {
  bool isUnsigned = op.getUnsignedCmp();
  auto less = isUnsigned ? llvm::CmpInst::ICMP_ULT : llvm::CmpInst::ICMP_SLT;
  llvm::Value *lower = scalar(op.getLowerBound()), *upper = scalar(op.getUpperBound()),
              *step = scalar(op.getStep());
  llvm::Value *runs = builder.CreateICmp(less, lower, upper);
  // A step that does not advance runs no iteration, rather than all of eternity.
  runs = builder.CreateAnd(runs,
                           builder.CreateICmp(isUnsigned ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_SGT,
                                              step, llvm::ConstantInt::get(step->getType(), 0)));
  llvm::BasicBlock *before = builder.GetInsertBlock(), *body = newBlock("for"), *after = newBlock("for.end");
  builder.CreateCondBr(runs, body, after);

  builder.SetInsertPoint(after);
  SmallVector<llvm::PHINode *> results = phis(op.getResults());
  builder.SetInsertPoint(before);
  addIncoming(results, op.getInitArgs());

  builder.SetInsertPoint(body);
  llvm::PHINode *index = builder.CreatePHI(lower->getType(), 2, "i");
  index->addIncoming(lower, before);
  set(op.getInductionVar(), {index});
  SmallVector<llvm::PHINode *> carried = phis(op.getRegionIterArgs());
  builder.SetInsertPoint(before);
  addIncoming(carried, op.getInitArgs());
  builder.SetInsertPoint(body);
  if (isAroundProducts(op))
    emitTrip(op);
  else
    emitBlock(*op.getBody());
  // There is another one when more than a step is left: nothing can overflow, nor can a step of 1 do so.
  bool isCounted = mayRunTripsTogether(op);
  llvm::Value *left = isCounted ? nullptr : builder.CreateSub(upper, index);
  llvm::Value *next = builder.CreateAdd(index, step, "", isUnsigned, !isUnsigned);
  index->addIncoming(next, builder.GetInsertBlock());
  addIncoming(carried, op.getYieldedValues());
  addIncoming(results, op.getYieldedValues());
  llvm::Value *goesOn = nullptr;
  if (isCounted) { // in 64 bits, as addresses are: no trip's number is cut out of one
    llvm::BasicBlock *end = builder.GetInsertBlock();
    auto wide = [&](llvm::Value *value) {
      return isUnsigned ? builder.CreateZExt(value, builder.getInt64Ty())
                        : builder.CreateSExt(value, builder.getInt64Ty());
    };
    builder.SetInsertPoint(before->getTerminator());
    llvm::Value *trips = builder.CreateSub(wide(upper), wide(lower));
    builder.SetInsertPoint(body, body->begin());
    llvm::PHINode *done = builder.CreatePHI(builder.getInt64Ty(), 2, "done");
    builder.SetInsertPoint(end);
    llvm::Value *more = builder.CreateAdd(done, builder.getInt64(1));
    done->addIncoming(builder.getInt64(0), before);
    done->addIncoming(more, end);
    goesOn = builder.CreateICmpNE(more, trips);
  } else {
    goesOn = builder.CreateICmpUGT(left, step);
  }
  builder.CreateCondBr(goesOn, body, after);
  builder.SetInsertPoint(after);
}

void Emitter::emitIf(scf::IfOp op) {
  llvm::BasicBlock *then = newBlock("then"), *otherwise = op.elseBlock() ? newBlock("else") : nullptr,
                   *end = newBlock("if.end");
  builder.CreateCondBr(scalar(op.getCondition()), then, otherwise ? otherwise : end);
  builder.SetInsertPoint(end);
  SmallVector<llvm::PHINode *> results = phis(op.getResults());
  builder.SetInsertPoint(then);
  emitBlock(*op.thenBlock());
  if (op.getNumResults())
    addIncoming(results, op.thenYield()->getOperands());
  builder.CreateBr(end);
  if (otherwise) {
    builder.SetInsertPoint(otherwise);
    emitBlock(*op.elseBlock());
    if (op.getNumResults())
      addIncoming(results, op.elseYield()->getOperands());
    builder.CreateBr(end);
  }
  builder.SetInsertPoint(end);
}

void Emitter::emitWhile(scf::WhileOp op) {
  llvm::BasicBlock *test = newBlock("while"), *body = newBlock("while.body"), *end = newBlock("while.end");
  builder.CreateBr(test);
  llvm::BasicBlock *before = test->getSinglePredecessor();
  builder.SetInsertPoint(test);
  SmallVector<llvm::PHINode *> carried = phis(op.getBeforeArguments());
  builder.SetInsertPoint(before->getTerminator());
  addIncoming(carried, op.getInits());
  builder.SetInsertPoint(test);
  emitBlock(*op.getBeforeBody());
  auto condition = op.getConditionOp();
  for (auto [argument, result, value] :
       llvm::zip(op.getAfterArguments(), op.getResults(), condition.getArgs())) {
    Registers copy = registers(value);
    set(argument, copy);
    set(result, std::move(copy));
  }
  builder.CreateCondBr(scalar(condition.getCondition()), body, end);
  builder.SetInsertPoint(body);
  emitBlock(*op.getAfterBody());
  addIncoming(carried, op.getYieldOp()->getOperands());
  builder.CreateBr(test);
  builder.SetInsertPoint(end);
}

} // namespace tegula::simt
