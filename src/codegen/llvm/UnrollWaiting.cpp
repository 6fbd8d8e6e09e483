#include "codegen/llvm/UnrollWaiting.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace tegula::codegen {

namespace {

constexpr unsigned mostTrips = 8;     // at once
constexpr unsigned mostOfUnknown = 4; // the same, where there may be fewer: what is left is taken singly
constexpr unsigned mostLoads = 16;    // of these together: so many hide what memory takes
constexpr unsigned mostBytes = 160;   // of these together: registers hold them
constexpr unsigned mostInstructions = 1024; // of these together
constexpr unsigned narrowBytes = 8;         // of a load that brings so little that few are under way
constexpr unsigned tripsOfSmall = 4;        // that the assembler takes at once by itself
constexpr unsigned smallLoop = 100;         // instructions of a loop of which it does (ptxas 13.0)

// The address of a load, as an instruction of LLVM or, of one under a mask, of the machine; null: it is none.
const llvm::Value *addressOfLoad(const llvm::Instruction &instruction) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return load->isSimple() ? load->getPointerOperand() : nullptr;
  auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  auto *assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  if (!assembly || assembly->hasSideEffects() || call->isConvergent() ||
      !assembly->getAsmString().contains("ld.global"))
    return nullptr;
  for (const llvm::Use &argument : call->args())
    if (argument->getType()->isPointerTy())
      return argument;
  return nullptr;
}

// Does the value follow from the trip's number and from what the loop does not change?
bool followsFromTrip(const llvm::Value *value, const llvm::Loop &loop) {
  llvm::SmallSetVector<const llvm::Value *, 32> parts;
  parts.insert(value);
  for (size_t i = 0; i != parts.size(); ++i) {
    auto *part = llvm::dyn_cast<llvm::Instruction>(parts[i]);
    if (!part || !loop.contains(part))
      continue;
    if (part->mayReadOrWriteMemory() || parts.size() > mostInstructions)
      return false;
    for (const llvm::Value *operand : part->operands())
      parts.insert(operand);
  }
  return true;
}

// Does a loop write memory, of any kind, or do threads meet in it?
bool writesInLoops(const llvm::Function &function, const llvm::LoopInfo &loops) {
  return llvm::any_of(function, [&](const llvm::BasicBlock &block) {
    return loops.getLoopFor(&block) && llvm::any_of(block, [](const llvm::Instruction &each) {
             return each.mayWriteToMemory() && !addressOfLoad(each);
           });
  });
}

// The number of trips to take at once; 1: the loop stays. `narrowOnly`: of loads up to `narrowBytes` each.
unsigned tripsOf(const llvm::Loop &loop, llvm::ScalarEvolution &evolution, bool narrowOnly) {
  const llvm::BasicBlock *latch = loop.getLoopLatch();
  if (!loop.isInnermost() || !latch || loop.getExitingBlock() != latch ||
      !evolution.hasLoopInvariantBackedgeTakenCount(&loop))
    return 1;
  // In a loop that begins again and again, the trips that are left cost more than the others save.
  unsigned most = evolution.getSmallConstantTripCount(&loop) ? mostTrips : mostOfUnknown;
  if (most != mostTrips && !loop.isOutermost())
    return 1;
  const llvm::DataLayout &layout = latch->getDataLayout();
  unsigned instructions = 0, loads = 0;
  uint64_t bytes = 0;
  bool isAhead = false;
  for (const llvm::BasicBlock *block : loop.blocks())
    for (const llvm::Instruction &each : *block) {
      if (llvm::isa<llvm::PHINode>(each) || each.isDebugOrPseudoInst())
        continue;
      ++instructions;
      if (const llvm::Value *address = addressOfLoad(each)) {
        ++loads;
        const uint64_t size = layout.getTypeStoreSize(each.getType());
        if (narrowOnly && size > narrowBytes)
          return 1;
        bytes += size;
        isAhead |= followsFromTrip(address, loop);
      } else if (each.mayReadOrWriteMemory() || each.mayHaveSideEffects()) {
        return 1;
      } else if (auto *call = llvm::dyn_cast<llvm::CallBase>(&each); call && call->isConvergent()) {
        return 1;
      }
    }
  unsigned trips = 1;
  while (isAhead && trips < most && 2 * trips * loads <= mostLoads && 2 * trips * bytes <= mostBytes &&
         2 * trips * instructions <= mostInstructions)
    trips *= 2;
  // Of a small loop that is left alone the assembler takes more trips than fit here if loads are as wide.
  bool isLeft = most == mostOfUnknown && instructions <= smallLoop && tripsOfSmall * bytes > mostBytes;
  return isLeft ? 1 : trips;
}

} // namespace

llvm::PreservedAnalyses UnrollWaiting::run(llvm::Function &function,
                                           llvm::FunctionAnalysisManager &analyses) {
  auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const llvm::LoopInfo &loops = analyses.getResult<llvm::LoopAnalysis>(function);
  // A program that writes as it reads, rows say, is one of as many as there are rows: others fill its waits,
  // as long as registers leave room for them.
  bool narrowOnly = !function.hasFnAttribute(aloneName) && writesInLoops(function, loops), isAny = false;
  for (llvm::Loop *loop : loops.getLoopsInPreorder())
    if (unsigned trips = tripsOf(*loop, evolution, narrowOnly); trips != 1) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.count", trips);
      isAny = true;
    }
  if (!isAny)
    return llvm::PreservedAnalyses::all();
  constexpr int level = 2;
  llvm::LoopUnrollOptions options(level, /*OnlyWhenForced=*/true);
  options.setRuntime(true).setPartial(true).setPeeling(false).setUpperBound(false);
  return llvm::LoopUnrollPass(options).run(function, analyses);
}

} // namespace tegula::codegen
