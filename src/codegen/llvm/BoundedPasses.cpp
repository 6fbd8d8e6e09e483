#include "codegen/llvm/BoundedPasses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"

#include <algorithm>

namespace tegula::codegen {

namespace {

// Passes of LLVM whose time grows faster than the code. Each is left out where the code is larger than these
// bounds. Within the bounds is what hand-written kernels have; larger is what unrolling makes.
constexpr size_t anySize = SIZE_MAX;
struct SteepPass {
  llvm::StringRef name;
  CodeSize bounds;
};
constexpr SteepPass steepPasses[] = {
    // Cubic in the depth of products. No example has 1 % fewer instructions with it.
    {"Straight line strength reduction", {0, 0, 0, 0}},
    // Quadratic in the number of loops. It moves freezes for loop strength reduction; we emit none.
    {"Canonicalize Freeze Instructions in Loops", {0, 0, 0, 0}},
    // Asks for the range of each sum and of all that it is made of; cubic in loops that follow each other.
    {"Nary reassociation", {1024, anySize, anySize, 64}},
    {"Global Value Numbering", {4096, anySize, 256, anySize}},        // EarlyCSE has run already
    {"GPU Load and Store Vectorizer", {4096, anySize, 256, anySize}}, // accesses are as wide as they can be
    {"Loop Strength Reduction", {8192, 1024, anySize, 256}},          // with the users of every variable
    // Compares what it hoists with all that it hoisted, and hoists more than there are registers.
    {"Early Machine Loop Invariant Code Motion", {8192, anySize, anySize, anySize}},
    // Dominators are computed again after each change.
    {"CodeGen Prepare", {anySize, anySize, anySize, 1024}},
    {"Machine code sinking", {anySize, anySize, anySize, 1024}}, // into which block, for every value
    // The one asks what dominates each use of what a branch compares, the other what has the same operands.
    {"Early CSE", {anySize, anySize, anySize, 4096}},
    {"Machine Common Subexpression Elimination", {anySize, anySize, anySize, 4096}},
    // Joins what each operation of a chain leaves with all that the chain left before. What is not joined is
    // given the same register where that is free, and is not copied then.
    {"Register Coalescer", {16384, anySize, anySize, 4096}},
    {"Machine Instruction Scheduler",
     {anySize, 512, anySize, anySize}}, // every store of a block depends on the others
    {"Post RA top-down list latency scheduler", {anySize, 512, anySize, anySize}},
};

// The instruction selector and the passes over machine code look at one block at a time, some of them at all
// pairs of its accesses or at all that a sum is made of. A block of more instructions becomes several.
constexpr size_t largestBlock = 1024;
constexpr llvm::StringRef beforeSelection = "Insert stack protectors"; // the selector needs its results

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
    size_t length = 0;
    for (llvm::Instruction &each : block)
      if (++length > largestBlock && !llvm::isa<llvm::PHINode, llvm::AllocaInst>(each)) {
        places.push_back(&each);
        length = 1;
      }
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

void BoundedPasses::add(llvm::Pass *pass) {
  llvm::StringRef name = pass->getPassName();
  auto steep = llvm::find_if(steepPasses, [&](const SteepPass &each) { return each.name == name; });
  if (steep != std::end(steepPasses) && size_.exceeds(steep->bounds)) {
    delete pass;
    return;
  }
  if (name == beforeSelection && size_.block > largestBlock)
    llvm::legacy::PassManager::add(new CutBlocks);
  llvm::legacy::PassManager::add(pass);
}

} // namespace tegula::codegen
