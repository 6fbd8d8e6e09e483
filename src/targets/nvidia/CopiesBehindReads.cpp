#include "targets/nvidia/CopiesBehindReads.h"
#include "targets/nvidia/InlineAssembly.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <optional>

using namespace llvm;

namespace tegula::nvidia {

namespace {

// Of a program. With 256 kernels took 1.01 of their time on an H200, with fewer 0.99.
constexpr unsigned mostThreads = 128;
// Groups of copies that a trip does not wait for. Where it waits for all, kernels took 1.03 of their time.
constexpr uint64_t fewestPending = 1;
// Copies of a thread. With so many 82 kernels took 0.98 of their time; fewer hold nobody back, with more the
// reads of later steps wait for them.
constexpr unsigned fewestCopies = 4, mostCopies = 16;

constexpr unsigned sharedSpace = 3;

// Source: PTX ISA, "cp.async".
struct CopyForm {
  StringRef name;
  unsigned bytes;
};

std::optional<CopyForm> formOf(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return std::nullopt;
  constexpr StringRef first = "cp.async.ca.shared.global", around = "cp.async.cg.shared.global";
  switch (call->getIntrinsicID()) {
  case Intrinsic::nvvm_cp_async_ca_shared_global_4:
  case Intrinsic::nvvm_cp_async_ca_shared_global_4_s: return CopyForm{first, 4};
  case Intrinsic::nvvm_cp_async_ca_shared_global_8:
  case Intrinsic::nvvm_cp_async_ca_shared_global_8_s: return CopyForm{first, 8};
  case Intrinsic::nvvm_cp_async_ca_shared_global_16:
  case Intrinsic::nvvm_cp_async_ca_shared_global_16_s: return CopyForm{first, 16};
  case Intrinsic::nvvm_cp_async_cg_shared_global_16:
  case Intrinsic::nvvm_cp_async_cg_shared_global_16_s: return CopyForm{around, 16};
  default: return std::nullopt;
  }
}

const Function *intrinsicOf(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call ? call->getCalledFunction() : nullptr;
}

bool isProduct(const Instruction &instruction) {
  if (const InlineAsm *assembly = assemblyOf(instruction))
    return StringRef(assembly->getAsmString()).contains("mma.sync");
  const Function *called = intrinsicOf(instruction);
  return called && called->getName().starts_with("llvm.nvvm.mma.");
}

bool readsShared(const Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->isSimple() && load->getPointerAddressSpace() == sharedSpace;
  const Function *called = intrinsicOf(instruction);
  return called && called->getName().starts_with("llvm.nvvm.ldmatrix.");
}

bool isCommit(const Instruction &instruction) {
  const Function *called = intrinsicOf(instruction);
  return called && called->getIntrinsicID() == Intrinsic::nvvm_cp_async_commit_group;
}

// Is a trip's wait for copies one that leaves some under way?
bool waitsForEarlierTrips(const Loop &loop) {
  bool isAny = false;
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &each : *block)
      if (const Function *called = intrinsicOf(each);
          called && called->getIntrinsicID() == Intrinsic::nvvm_cp_async_wait_group) {
        auto *pending = dyn_cast<ConstantInt>(cast<CallBase>(each).getArgOperand(0));
        if (!pending || pending->getZExtValue() < fewestPending)
          return false;
        isAny = true;
      }
  return isAny;
}

bool isOfFewWarps(const Function &function) {
  unsigned threads = 0;
  StringRef along = function.getFnAttribute("nvvm.reqntid").getValueAsString().split(',').first;
  return !along.getAsInteger(10, threads) && threads <= mostThreads;
}

// An `if` without `else` that starts copies, and computes at most their addresses.
struct Copies {
  BranchInst *branch;
  BasicBlock *block, *join;

  static std::optional<Copies> of(BasicBlock &block) {
    BasicBlock *head = block.getSinglePredecessor(), *join = block.getSingleSuccessor();
    auto *branch = head ? dyn_cast<BranchInst>(head->getTerminator()) : nullptr;
    if (!branch || !branch->isConditional() || !join || join == head || !join->hasNPredecessors(2) ||
        !is_contained(branch->successors(), join) || isa<PHINode>(join->front()))
      return std::nullopt;
    unsigned copies = 0;
    for (Instruction &each : make_range(block.begin(), std::prev(block.end())))
      if (formOf(each))
        ++copies;
      else if (each.mayReadOrWriteMemory() || !isSafeToSpeculativelyExecute(&each))
        return std::nullopt;
    bool isFit = copies >= fewestCopies && copies <= mostCopies;
    return isFit ? std::optional(Copies{branch, &block, join}) : std::nullopt;
  }
};

// The reads with which the first step of a block's products begins.
struct FirstStep {
  Instruction *behind; // the last of its reads
  Instruction *commit; // of the copies ahead of them; null: there is none
};

// The last of the reads ahead of `product` that it, and those products beside it that add to other sums,
// multiply.
Instruction *lastRead(Instruction &product) {
  const BasicBlock &block = *product.getParent();
  SmallPtrSet<const Value *, 32> step;
  SmallSetVector<Instruction *, 32> needed;
  auto need = [&](const Instruction &user) {
    for (Value *operand : user.operands())
      if (auto *from = dyn_cast<Instruction>(operand); from && from->getParent() == &block)
        needed.insert(from);
  };
  auto addsTo = [&](const Use &operand) {
    auto *part = dyn_cast<ExtractValueInst>(operand);
    return part && step.contains(part->getAggregateOperand());
  };
  for (Instruction &each : make_range(product.getIterator(), product.getParent()->end())) {
    if (!isProduct(each))
      continue;
    if (any_of(each.operands(), addsTo))
      break;
    step.insert(&each);
    need(each);
  }
  Instruction *last = nullptr;
  for (size_t i = 0; i != needed.size(); ++i) {
    Instruction *each = needed[i];
    if (readsShared(*each) && each->comesBefore(&product) && (!last || last->comesBefore(each)))
      last = each;
    if (!readsShared(*each) && !isa<PHINode>(each))
      need(*each);
  }
  return last;
}

// None where something else than reads and computations comes first.
std::optional<FirstStep> firstStep(BasicBlock &block) {
  Instruction *commit = nullptr;
  for (Instruction &each : block) {
    if (isProduct(each)) {
      Instruction *behind = lastRead(each);
      return behind ? std::optional(FirstStep{behind, commit}) : std::nullopt;
    }
    if (isCommit(each) && !commit)
      commit = &each;
    else if (!readsShared(each) && !isComputation(each))
      return std::nullopt;
  }
  return std::nullopt;
}

// "[$number + a constant distance]", of the pointer's base, which is returned.
Value *addressOf(Value *pointer, unsigned number, const DataLayout &layout, std::string &text) {
  APInt distance(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  Value *base = pointer->stripAndAccumulateConstantOffsets(layout, distance, /*AllowNonInbounds=*/true);
  text += "[$" + std::to_string(number) + "+" + std::to_string(distance.getSExtValue()) + "]";
  return base;
}

// The copy where the builder stands, if the condition holds.
void emitCopy(IRBuilderBase &b, Value *condition, const IntrinsicInst &copy) {
  const CopyForm form = *formOf(copy);
  const DataLayout &layout = copy.getDataLayout();
  std::string text = "@$0 " + form.name.str() + " ", constraints = "b,r,l";
  Value *to = addressOf(copy.getArgOperand(0), 1, layout, text);
  text += ", ";
  Value *from = addressOf(copy.getArgOperand(1), 2, layout, text);
  text += ", " + std::to_string(form.bytes);
  SmallVector<Value *> arguments{condition, b.CreatePtrToInt(to, b.getInt32Ty()), from};
  if (copy.arg_size() > 2) { // bytes of the source; the others are zeros
    text += ", $3";
    constraints += ",r";
    arguments.push_back(copy.getArgOperand(2));
  }
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  b.CreateCall(InlineAsm::get(FunctionType::get(b.getVoidTy(), types, false), text + ";",
                              constraints + ",~{memory}", /*hasSideEffects=*/true),
               arguments);
}

void move(const Copies &copies, const FirstStep &step) {
  IRBuilder<> b(copies.branch);
  bool isInverted = copies.branch->getSuccessor(0) == copies.join;
  Value *condition = copies.branch->getCondition();
  if (isInverted)
    condition = b.CreateNot(condition);
  Instruction *end = step.behind->getNextNode();
  for (Instruction &each :
       make_early_inc_range(make_range(copies.block->begin(), std::prev(copies.block->end())))) {
    each.moveBefore(end->getIterator());
    if (!formOf(each))
      continue;
    b.SetInsertPoint(&each);
    emitCopy(b, condition, cast<IntrinsicInst>(each));
    each.eraseFromParent();
  }
  if (step.commit)
    step.commit->moveBefore(end->getIterator());
  b.SetInsertPoint(copies.branch);
  b.CreateBr(copies.join);
  copies.branch->eraseFromParent();
  DeleteDeadBlock(copies.block);
  MergeBlockIntoPredecessor(copies.join);
}

} // namespace

void moveCopiesBehindReads(Function &function) {
  if (function.isDeclaration() || !isOfFewWarps(function))
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  SmallVector<Copies> found; // all, before blocks are joined
  for (Loop *loop : loops.getLoopsInPreorder())
    if (loop->isInnermost() && waitsForEarlierTrips(*loop))
      for (BasicBlock *block : loop->blocks())
        if (std::optional<Copies> copies = Copies::of(*block))
          found.push_back(*copies);
  for (const Copies &copies : found)
    if (std::optional<FirstStep> step = firstStep(*copies.join))
      move(copies, *step);
}

} // namespace tegula::nvidia
