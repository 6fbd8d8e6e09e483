// for, if and while. Scalars that regions carry live in temporaries, which LLVM promotes;
// tiles live in the buffers that the plan gave them.
#include "ir/tile/Tile.h"
#include "targets/cpu/ProgramEmitter.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

llvm::AllocaInst *ProgramEmitter::slotOf(Value value) {
  llvm::AllocaInst *&slot = slots_[value];
  if (!slot)
    slot = temporary(type(value.getType()), "carried");
  return slot;
}

void ProgramEmitter::carry(ArrayRef<Value> from, ArrayRef<Value> to) {
  SmallVector<std::pair<llvm::Value *, llvm::AllocaInst *>> scalars;
  SmallVector<std::pair<const Buffer *, int64_t>> staged; // target, place of the copy
  llvm::DenseSet<int64_t> written;
  for (Value target : to)
    if (isTile(target))
      written.insert(plan.buffer(target)->offset);
  for (auto [source, target] : llvm::zip(from, to)) {
    if (!isTile(target)) {
      scalars.push_back({scalar(source), slotOf(target)});
      continue;
    }
    const Buffer *buffer = plan.buffer(target), *sourceBuffer = plan.buffer(source);
    bool overwritten =
        sourceBuffer && sourceBuffer->offset != buffer->offset && written.contains(sourceBuffer->offset);
    if (!overwritten) {
      continue;
    }
    // The source is itself a target (two tiles change places): copy it aside first.
    Buffer aside = *buffer;
    aside.offset = plan.reserve(buffer->elements() * buffer->elementBytes() + 128);
    copyBuffer(aside, *sourceBuffer);
    staged.push_back({buffer, aside.offset});
  }
  for (auto [source, target] : llvm::zip(from, to)) {
    if (!isTile(target))
      continue;
    const Buffer *buffer = plan.buffer(target);
    auto aside = llvm::find_if(staged, [&](const auto &entry) { return entry.first == buffer; });
    if (aside == staged.end()) {
      copyTo(source, *buffer);
      continue;
    }
    Buffer copy = *buffer;
    copy.offset = aside->second;
    copyBuffer(*buffer, copy);
  }
  for (auto [value, slot] : scalars)
    builder.CreateStore(value, slot);
}

void ProgramEmitter::copyBuffer(const Buffer &to, const Buffer &from) {
  llvm::Align align(64);
  builder.CreateMemCpy(scratchAt(to.offset), align, scratchAt(from.offset), align,
                       uint64_t(to.elements() * to.elementBytes()));
}

void ProgramEmitter::enter(ArrayRef<Value> carried) {
  for (Value value : carried)
    if (!isTile(value)) {
      llvm::AllocaInst *slot = slotOf(value);
      setScalar(value, builder.CreateLoad(slot->getAllocatedType(), slot));
    }
}

void ProgramEmitter::emitFor(Operation *op) {
  auto loopOp = cast<scf::ForOp>(op);
  SmallVector<Value> inits(loopOp.getInitArgs()), carried(loopOp.getRegionIterArgs()),
      results(loopOp.getResults());
  carry(inits, carried);
  // Counted in 64 bits, so that the last step of a 32-bit loop cannot wrap around.
  llvm::Type *i64 = builder.getInt64Ty();
  bool isUnsigned = loopOp.getUnsignedCmp();
  auto widen = [&](Value value) {
    return isUnsigned ? builder.CreateZExt(scalar(value), i64) : builder.CreateSExt(scalar(value), i64);
  };
  llvm::Value *lower = widen(loopOp.getLowerBound()), *upper = widen(loopOp.getUpperBound()),
              *step = widen(loopOp.getStep());
  // A step that does not advance runs no iteration, rather than all of eternity.
  llvm::Value *runs = builder.CreateAnd(builder.CreateICmpSLT(lower, upper),
                                        builder.CreateICmpSGT(step, builder.getInt64(0)));
  llvm::BasicBlock *before = builder.GetInsertBlock(), *body = newBlock("for"), *after = newBlock("for.end");
  builder.CreateCondBr(runs, body, after);
  builder.SetInsertPoint(body);
  llvm::PHINode *index = builder.CreatePHI(i64, 2, "for.i");
  index->addIncoming(lower, before);
  enter(carried);
  setScalar(loopOp.getInductionVar(), builder.CreateTrunc(index, type(loopOp.getInductionVar().getType())));
  emitBlock(loopOp.getBody());
  llvm::Value *next = builder.CreateAdd(index, step);
  index->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, upper), body, after);
  builder.SetInsertPoint(after);
  for (auto [result, argument] : llvm::zip(results, carried))
    if (!isTile(result)) {
      llvm::AllocaInst *slot = slotOf(argument);
      setScalar(result, builder.CreateLoad(slot->getAllocatedType(), slot));
    }
}

void ProgramEmitter::emitIf(Operation *op) {
  auto ifOp = cast<scf::IfOp>(op);
  branch(
      scalar(ifOp.getCondition()), [&] { emitBlock(ifOp.thenBlock()); },
      [&] {
        if (ifOp.elseBlock())
          emitBlock(ifOp.elseBlock());
      });
  SmallVector<Value> results(ifOp.getResults());
  enter(results);
}

// A loop that waits for another program may do so for ever: each 1,024th of its trips, which `counter`
// counts, asks whether the launch is to end.
void ProgramEmitter::askToGoOn(Operation *loop, llvm::AllocaInst *counter) {
  constexpr unsigned tripsBetween = 1024;
  llvm::Value *trips =
      builder.CreateAdd(builder.CreateLoad(builder.getInt32Ty(), counter), builder.getInt32(1));
  builder.CreateStore(trips, counter);
  branch(
      builder.CreateICmpNE(builder.CreateURem(trips, builder.getInt32(tripsBetween)), builder.getInt32(0)),
      [] {},
      [&] {
        auto ask = module.getOrInsertFunction(
            "tegula_goes_on", llvm::FunctionType::get(builder.getInt8Ty(), {builder.getPtrTy()}, false));
        llvm::Value *place = builder.CreateGlobalString(locationOf(loop), "text");
        branch(
            builder.CreateIsNotNull(builder.CreateCall(ask, {place})), [] {}, [&] { leave(); },
            /*likely=*/true);
      },
      /*likely=*/true);
}

void ProgramEmitter::emitWhile(Operation *op) {
  auto whileOp = cast<scf::WhileOp>(op);
  SmallVector<Value> inits(whileOp.getInits()), before(whileOp.getBeforeArguments()),
      after(whileOp.getAfterArguments());
  carry(inits, before);
  llvm::AllocaInst *trips = temporary(builder.getInt32Ty(), "trips");
  builder.CreateStore(builder.getInt32(0), trips);
  llvm::BasicBlock *test = newBlock("while"), *body = newBlock("while.body"), *end = newBlock("while.end");
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  enter(before);
  emitBlock(whileOp.getBeforeBody()); // its condition hands the values to `after`
  builder.CreateCondBr(scalar(whileOp.getConditionOp().getCondition()), body, end);
  builder.SetInsertPoint(body);
  askToGoOn(op, trips);
  enter(after);
  emitBlock(whileOp.getAfterBody());
  builder.CreateBr(test);
  builder.SetInsertPoint(end);
  for (auto [result, argument] : llvm::zip(whileOp.getResults(), after))
    if (!isTile(result)) {
      llvm::AllocaInst *slot = slotOf(argument);
      setScalar(result, builder.CreateLoad(slot->getAllocatedType(), slot));
    }
}

void ProgramEmitter::emitYield(Operation *op) {
  Operation *parent = op->getParentOp();
  if (isa<ReturnOp>(op))
    return;
  SmallVector<Value> targets;
  SmallVector<Value> sources(op->getOperands());
  if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
    sources.assign(condition.getArgs().begin(), condition.getArgs().end());
    auto after = cast<scf::WhileOp>(parent).getAfterArguments();
    targets.assign(after.begin(), after.end());
  } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    targets.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    targets.assign(loop.getBeforeArguments().begin(), loop.getBeforeArguments().end());
  } else {
    targets.assign(parent->getResults().begin(), parent->getResults().end());
  }
  carry(sources, targets);
}

} // namespace tegula::cpu
