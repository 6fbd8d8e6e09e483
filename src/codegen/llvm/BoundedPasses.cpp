#include "codegen/llvm/BoundedPasses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"

#include <algorithm>

namespace tegula::codegen {

namespace {

struct SteepPass {
  llvm::StringRef name;
  CodeSize bounds;
};
constexpr size_t any = SIZE_MAX;
constexpr SteepPass steepPasses[] = {
#define PASS(name, instructions, block, accesses, blocks, why, shape)                                        \
  {name, {instructions, block, accesses, blocks}},
#include "codegen/llvm/Bounds.def"
#undef PASS
};

// Those that nothing can do without, but that optimize at levels above none.
constexpr SteepPass plainPasses[] = {
#define PLAIN(name, instructions, block, accesses, blocks, why, shape)                                       \
  {name, {instructions, block, accesses, blocks}},
#include "codegen/llvm/Bounds.def"
#undef PLAIN
};

// Without it copies stand between assembly that changes registers in place, where they may be under way.
constexpr llvm::StringRef joinsCopies = "Register Coalescer";
constexpr llvm::StringRef holdsAddresses = "Loop Strength Reduction";
constexpr llvm::StringRef sinks = "Machine code sinking";
constexpr llvm::StringRef beforeSelection = "Insert stack protectors"; // the selector needs its results

// Sets the level at which the passes behind this one run, for each function.
class SetLevel : public llvm::FunctionPass {
public:
  static char ID;
  SetLevel(llvm::TargetMachine &machine, llvm::CodeGenOptLevel level)
      : llvm::FunctionPass(ID), machine_(machine), level_(level) {}
  llvm::StringRef getPassName() const override { return "Set the level of optimization"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool runOnFunction(llvm::Function &) override {
    machine_.setOptLevel(level_);
    return false;
  }

private:
  llvm::TargetMachine &machine_;
  llvm::CodeGenOptLevel level_;
};
char SetLevel::ID = 0;

// The assembly, if it reads and writes an operand in one register; null: it is none.
const llvm::InlineAsm *tiedAssembly(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  auto isTied = [](const llvm::InlineAsm::ConstraintInfo &constraint) {
    return constraint.hasMatchingInput();
  };
  return text && llvm::any_of(text->ParseConstraints(), isTied) ? text : nullptr;
}

class CutBlocks : public llvm::FunctionPass {
public:
  static char ID;
  CutBlocks() : llvm::FunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "Cut blocks"; }

  bool runOnFunction(llvm::Function &function) override {
    llvm::SmallVector<llvm::Instruction *> places;
    for (llvm::BasicBlock &block : function)
      collectPlaces(block, places);
    // The last first: what is cut off is moved.
    for (llvm::Instruction *place : llvm::reverse(places))
      place->getParent()->splitBasicBlock(place->getIterator());
    return !places.empty();
  }

private:
  // Those instructions of the block with which a new one begins; none of them has to be among the first.
  static void collectPlaces(llvm::BasicBlock &block, llvm::SmallVectorImpl<llvm::Instruction *> &places) {
    constexpr size_t longestTogether = 4; // blocks
    const llvm::DenseMap<const llvm::Instruction *, int> chains = chainsIn(block);
    size_t length = 0;
    int open = 0;
    for (llvm::Instruction &each : block) {
      bool isTogether = open != 0 && length <= longestTogether * bounds.largestBlock;
      if (++length > bounds.largestBlock && !isTogether &&
          !llvm::isa<llvm::PHINode, llvm::AllocaInst>(each)) {
        places.push_back(&each);
        length = 1;
      }
      open += chains.lookup(&each);
    }
  }

  // Assembly with effects that goes on in registers of other such assembly of the block stays with it:
  // between blocks the code generator would copy them, and a product under way has them (PTX ISA, wgmma). By
  // how much more such assembly is open behind an instruction than ahead of it.
  static llvm::DenseMap<const llvm::Instruction *, int> chainsIn(const llvm::BasicBlock &block) {
    llvm::DenseMap<const llvm::Instruction *, int> chains;
    for (const llvm::Instruction &each : block)
      if (isTiedAssembly(each))
        for (const llvm::Instruction *before : sourcesOf(each))
          if (before->getParent() == &block && isTiedAssembly(*before)) {
            ++chains[before];
            --chains[&each];
          }
    return chains;
  }

  static bool isTiedAssembly(const llvm::Instruction &instruction) {
    const llvm::InlineAsm *text = tiedAssembly(instruction);
    return text && text->hasSideEffects();
  }

  // Whose results it takes, each once.
  static llvm::SmallPtrSet<const llvm::Instruction *, 4> sourcesOf(const llvm::Instruction &instruction) {
    llvm::SmallPtrSet<const llvm::Instruction *, 4> sources;
    for (const llvm::Value *operand : instruction.operands()) {
      while (auto *part = llvm::dyn_cast<llvm::ExtractValueInst>(operand))
        operand = part->getAggregateOperand();
      if (auto *source = llvm::dyn_cast<llvm::Instruction>(operand))
        sources.insert(source);
    }
    return sources;
  }
};
char CutBlocks::ID = 0;

} // namespace

CodeSize CodeSize::of(const llvm::Module &module) {
  CodeSize largest;
  for (const llvm::Function &function : module) {
    CodeSize size;
    size.blocks = function.size();
    for (const llvm::BasicBlock &block : function) {
      size.instructions += block.size();
      size.block = std::max(size.block, block.size());
      size.accesses += size_t(llvm::count_if(block, [](const llvm::Instruction &each) {
        return each.getOpcode() == llvm::Instruction::Load || each.getOpcode() == llvm::Instruction::Store;
      }));
    }
    largest = {std::max(largest.instructions, size.instructions), std::max(largest.block, size.block),
               std::max(largest.accesses, size.accesses), std::max(largest.blocks, size.blocks)};
  }
  return largest;
}

bool CodeSize::exceeds(const CodeSize &bounds) const {
  return instructions > bounds.instructions || block > bounds.block || accesses > bounds.accesses ||
         blocks > bounds.blocks;
}

// Does one of these passes have the name, and bounds that the code exceeds?
static bool isTooSteep(llvm::ArrayRef<SteepPass> passes, llvm::StringRef name, const CodeSize &size) {
  return llvm::any_of(passes,
                      [&](const SteepPass &each) { return each.name == name && size.exceeds(each.bounds); });
}

// Has the function assembly of which an operand is read and written in one register?
static bool hasTiedAssembly(const llvm::Function &function) {
  return llvm::any_of(llvm::instructions(function), tiedAssembly);
}

// The most addresses that assembly in a block of an innermost loop takes.
static size_t mostAddresses(llvm::Function &function) {
  if (function.isDeclaration())
    return 0;
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  size_t most = 0;
  for (const llvm::BasicBlock &block : function) {
    const llvm::Loop *loop = loops.getLoopFor(&block);
    if (!loop || !loop->isInnermost())
      continue;
    size_t addresses = 0;
    for (const llvm::Instruction &each : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&each); call && call->isInlineAsm())
        addresses += size_t(llvm::count_if(
            call->args(), [](const llvm::Use &operand) { return operand->getType()->isPointerTy(); }));
    most = std::max(most, addresses);
  }
  return most;
}

bool sinksFar(const llvm::Function &function) {
  auto isSlowPath = [](const llvm::BasicBlock &block) {
    const llvm::Instruction *end = block.getTerminator();
    return end->getNumSuccessors() == 2 && end->hasMetadata(llvm::LLVMContext::MD_prof);
  };
  return function.getParent()->getTargetTriple().isGPU() &&
         size_t(llvm::count_if(function, isSlowPath)) > bounds.mostSlowPathsSunkOver;
}

BoundedPasses::BoundedPasses(llvm::Module &module, llvm::TargetMachine &machine)
    : machine_(machine), size_(CodeSize::of(module)), sinksFar_(llvm::any_of(module, sinksFar)),
      changesInPlace_(llvm::any_of(module, hasTiedAssembly)) {
  for (llvm::Function &function : module)
    addresses_ = std::max(addresses_, mostAddresses(function));
}

void BoundedPasses::add(llvm::Pass *pass) {
  llvm::StringRef name = pass->getPassName();
  bool holdsTooMany = name == holdsAddresses && addresses_ > bounds.mostAddressesHeld;
  bool isLeftOut = isTooSteep(steepPasses, name, size_) && !(changesInPlace_ && name == joinsCopies);
  if (isLeftOut || holdsTooMany || (name == sinks && sinksFar_)) {
    delete pass;
    return;
  }
  if (isTooSteep(plainPasses, name, size_)) {
    llvm::legacy::PassManager::add(new SetLevel(machine_, llvm::CodeGenOptLevel::None));
    llvm::legacy::PassManager::add(pass);
    llvm::legacy::PassManager::add(new SetLevel(machine_, machine_.getOptLevel()));
    return;
  }
  if (name == beforeSelection && size_.block > bounds.largestBlock)
    llvm::legacy::PassManager::add(new CutBlocks);
  llvm::legacy::PassManager::add(pass);
}

} // namespace tegula::codegen
