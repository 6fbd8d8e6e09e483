// The middle end. The emitter has chosen vector widths, unrolling and storage; what is left
// is to promote its temporaries, fold, and hoist.
#include "codegen/llvm/BoundedPasses.h"
#include "codegen/llvm/ConstantsLast.h"
#include "codegen/llvm/JoinIfs.h"
#include "codegen/llvm/KnownLanes.h"
#include "codegen/llvm/MergeEqual.h"
#include "codegen/llvm/NarrowQuotients.h"
#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/ShareDividends.h"
#include "codegen/llvm/Target.h"
#include "codegen/llvm/UnrollWaiting.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/SCCPSolver.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

namespace tegula::codegen {

std::shared_ptr<Code> makeCode(llvm::StringRef name, std::unique_ptr<llvm::TargetMachine> machine) {
  auto code = std::make_shared<Code>(std::make_unique<llvm::LLVMContext>(), nullptr, std::move(machine));
  code->module = std::make_unique<llvm::Module>(name, *code->context);
  code->module->setTargetTriple(code->machine->getTargetTriple());
  code->module->setDataLayout(code->machine->createDataLayout());
  return code;
}

void forbidContraction(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (llvm::isa<llvm::FPMathOperator>(instruction))
          instruction.setHasAllowContract(false);
}

namespace {

// Hoists out of loops; where there are very many blocks only out of inner loops. What leaves the outermost
// one lives across all blocks, and register allocation takes time for each value in each block.
class Hoist : public llvm::PassInfoMixin<Hoist> {
public:
  explicit Hoist(bool fromOutermost) : fromOutermost_(fromOutermost) {}

  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &results, llvm::LPMUpdater &updater) {
    if (loop.isOutermost() && !fromOutermost_)
      return llvm::PreservedAnalyses::all();
    return llvm::LICMPass(llvm::LICMOptions()).run(loop, analyses, results, updater);
  }

private:
  bool fromOutermost_;
};

// Makes values of the emitter's temporaries, each in the time of the blocks between its stores and loads.
// SROA, which promotes them, too, takes the time of all blocks behind the first store of each.
struct PromoteTemporaries : llvm::PassInfoMixin<PromoteTemporaries> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
    for (llvm::Instruction &each : llvm::make_early_inc_range(function.getEntryBlock()))
      if (auto *temporary = llvm::dyn_cast<llvm::AllocaInst>(&each))
        promote(*temporary);
    return llvm::PreservedAnalyses::none();
  }

private:
  static bool isAccess(const llvm::User *user, const llvm::AllocaInst &temporary) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(user))
      return load->isSimple() && load->getType() == temporary.getAllocatedType();
    auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
    return store && store->isSimple() && store->getPointerOperand() == &temporary &&
           store->getValueOperand()->getType() == temporary.getAllocatedType();
  }

  static void promote(llvm::AllocaInst &temporary) {
    if (temporary.isArrayAllocation() ||
        !llvm::all_of(temporary.users(), [&](const llvm::User *user) { return isAccess(user, temporary); }))
      return;
    llvm::SmallVector<llvm::Instruction *> accesses;
    for (llvm::User *user : temporary.users())
      accesses.push_back(llvm::cast<llvm::Instruction>(user));
    llvm::SSAUpdater values;
    llvm::LoadAndStorePromoter(accesses, values, temporary.getName()).run(accesses);
    temporary.eraseFromParent();
  }
};

// Values about which a branch on the condition says something: what its comparisons compare, and of what that
// is computed in one step.
void collectCompared(llvm::Value *condition, llvm::SmallSetVector<const llvm::Value *, 8> &compared) {
  llvm::SmallSetVector<llvm::Value *, 8> parts;
  parts.insert(condition);
  for (size_t index = 0; index < parts.size() && index < bounds.mostPartsOfACondition; ++index) {
    auto *part = llvm::dyn_cast<llvm::Instruction>(parts[index]);
    if (!part)
      continue;
    compared.insert(part);
    bool isComparison = llvm::isa<llvm::CmpInst>(part);
    for (llvm::Value *operand : part->operands()) {
      if (llvm::isa<llvm::Constant>(operand))
        continue;
      if (!isComparison && operand->getType()->isIntegerTy(1)) {
        parts.insert(operand);
        continue;
      }
      compared.insert(operand);
      if (auto *step = llvm::dyn_cast<llvm::Instruction>(operand);
          isComparison && step &&
          (step->isBinaryOp() || step->isCast() || llvm::isa<llvm::GetElementPtrInst>(step)))
        for (llvm::Value *source : step->operands())
          if (!llvm::isa<llvm::Constant>(source))
            compared.insert(source);
    }
  }
}

// The number of times that a pass which looks, for each branch, at each use of what it compares, looks at
// one. Selects on a comparison are looked at in the same way, but only at its own uses, which is quicker; for
// each of them it looks at the blocks that dominate it, too, and for each pointer that a call gets at the
// uses of comparisons.
uint64_t usesOfCompared(const llvm::Function &function) {
  llvm::DenseMap<const llvm::Value *, uint64_t> branches, selects;
  uint64_t numSelects = 0, numPointersOfCalls = 0, mostUsesOfOne = 0;
  for (const llvm::BasicBlock &block : function) {
    for (const llvm::Instruction &each : block) {
      if (auto *select = llvm::dyn_cast<llvm::SelectInst>(&each);
          select && llvm::isa<llvm::ICmpInst>(select->getCondition()))
        ++selects[select->getCondition()], ++numSelects;
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&each))
        numPointersOfCalls += uint64_t(
            llvm::count_if(call->args(), [](const llvm::Use &use) { return use->getType()->isPointerTy(); }));
      if (llvm::isa<llvm::ICmpInst>(each))
        mostUsesOfOne = std::max<uint64_t>(mostUsesOfOne, each.getNumUses());
    }
    auto *branch = llvm::dyn_cast_or_null<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional())
      continue;
    llvm::SmallSetVector<const llvm::Value *, 8> compared;
    collectCompared(branch->getCondition(), compared);
    for (const llvm::Value *value : compared)
      ++branches[value];
  }
  uint64_t sum =
      (numSelects * function.size() + numPointersOfCalls * mostUsesOfOne) / bounds.looksLikeABranch;
  for (auto [value, number] : branches)
    if (number > 1)
      sum += number * value->getNumUses();
  for (auto [value, number] : selects)
    sum += number * value->getNumUses() / bounds.looksLikeABranch;
  return sum;
}

// InstCombine where its questions about what branches say take time in proportion to the code. It is asked
// behind the pass that makes equal comparisons one.
struct Combine : llvm::PassInfoMixin<Combine> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    if (usesOfCompared(function) > bounds.mostUsesOfCompared)
      return llvm::PreservedAnalyses::all();
    if (!sinksFar(function))
      return llvm::InstCombinePass().run(function, analyses);
    llvm::SmallVector<llvm::BasicBlock *> returns = separateReturns(function);
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
    llvm::InstCombinePass().run(function, analyses);
    for (llvm::BasicBlock *block : returns)
      llvm::MergeBlockIntoPredecessor(block);
    return llvm::PreservedAnalyses::none();
  }

private:
  // InstCombine sinks what a block that returns reads into it, past whatever lies between: it finds none that
  // adds up over threads and returns. What elements of a tile are computed by may sink to their stores: it is
  // computed of many at a time then, and takes a few per cent less time.
  static llvm::SmallVector<llvm::BasicBlock *> separateReturns(llvm::Function &function) {
    auto isConvergent = [](const llvm::Instruction &each) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&each);
      return call && call->isConvergent();
    };
    llvm::SmallVector<llvm::Instruction *> returns;
    for (llvm::BasicBlock &block : function)
      if (llvm::isa<llvm::ReturnInst>(block.getTerminator()) && llvm::any_of(block, isConvergent))
        returns.push_back(block.getTerminator());
    llvm::SmallVector<llvm::BasicBlock *> made;
    for (llvm::Instruction *each : returns)
      made.push_back(each->getParent()->splitBasicBlock(each));
    return made;
  }
};

// Propagates constants where that shows that a block is never reached, as of a loop without a trip. Other
// code stays as it is: elsewhere the pass only rewrites extensions, which changes the code that is generated.
struct DropUnreached : llvm::PassInfoMixin<DropUnreached> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    const auto &library = analyses.getResult<llvm::TargetLibraryAnalysis>(function);
    llvm::SCCPSolver solver(
        function.getDataLayout(),
        [&](llvm::Function &) -> const llvm::TargetLibraryInfo & { return library; }, function.getContext());
    solver.markBlockExecutable(&function.front());
    for (llvm::Argument &argument : function.args())
      solver.markOverdefined(&argument);
    do
      solver.solve();
    while (solver.resolvedUndefsIn(function));
    if (llvm::all_of(function, [&](llvm::BasicBlock &block) { return solver.isBlockExecutable(&block); }))
      return llvm::PreservedAnalyses::all();
    return llvm::SCCPPass().run(function, analyses);
  }
};

} // namespace

static bool hasWideDivisions(const llvm::Module &module) {
  auto isWide = [](const llvm::Instruction &instruction) {
    unsigned opcode = instruction.getOpcode();
    return (opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem ||
            opcode == llvm::Instruction::UDiv || opcode == llvm::Instruction::URem) &&
           instruction.getType()->isIntegerTy(64);
  };
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return llvm::any_of(llvm::instructions(function), isWide);
  });
}

static bool comparesChosen(const llvm::Module &module) {
  auto isChosen = [](const llvm::Value *value) { return llvm::isa<llvm::SelectInst>(value); };
  auto compares = [&](const llvm::Instruction &instruction) {
    return llvm::isa<llvm::ICmpInst>(instruction) && llvm::any_of(instruction.operands(), isChosen);
  };
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return llvm::any_of(llvm::instructions(function), compares);
  });
}

// Code of which no loop waits stays as it is.
struct UnrollAndCombine : llvm::PassInfoMixin<UnrollAndCombine> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    llvm::PreservedAnalyses preserved = UnrollWaiting().run(function, analyses);
    if (preserved.areAllPreserved())
      return preserved;
    analyses.invalidate(function, preserved);
    llvm::FunctionPassManager cleanup;
    cleanup.addPass(Combine());
    cleanup.addPass(llvm::SimplifyCFGPass());
    preserved.intersect(cleanup.run(function, analyses));
    return preserved;
  }
};

static void runPasses(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);

  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass());
  CodeSize size = CodeSize::of(module);
  size_t blocks = size.blocks;
  bool isLong = size.instructions > bounds.mostForEarlyCse;
  llvm::FunctionPassManager cleanup;
  if (blocks > bounds.mostBlocks)
    cleanup.addPass(PromoteTemporaries());
  cleanup.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG)); // the emitter's temporaries
  if (isLong)
    cleanup.addPass(MergeEqual());
  else
    cleanup.addPass(llvm::EarlyCSEPass());
  cleanup.addPass(Combine());
  if (!isLong)
    cleanup.addPass(ShareDividends());
  cleanup.addPass(DropUnreached());
  cleanup.addPass(JoinIfs());
  cleanup.addPass(llvm::SimplifyCFGPass());
  // Constants of the math library and row invariants leave the loops.
  cleanup.addPass(
      llvm::createFunctionToLoopPassAdaptor(Hoist(blocks <= bounds.mostBlocks), /*UseMemorySSA=*/true));
  if (module.getTargetTriple().isNVPTX() && !isLong)
    cleanup.addPass(UnrollAndCombine());
  if (isLong)
    cleanup.addPass(MergeEqual());
  else
    cleanup.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  if (module.getTargetTriple().isNVPTX() && !isLong)
    cleanup.addPass(ConstantsLast());
  // Quotients in 64 bits of numbers that have 32 are divided in 32.
  // Comparisons of a place with one that was chosen among lesser ones are known.
  bool comparesPlaces = comparesChosen(module), dividesWide = hasWideDivisions(module);
  if (dividesWide && module.getTargetTriple().isNVPTX())
    cleanup.addPass(ThawDividends());
  if (comparesPlaces || dividesWide)
    cleanup.addPass(llvm::CorrelatedValuePropagationPass());
  if (dividesWide && module.getTargetTriple().isNVPTX())
    cleanup.addPass(NarrowQuotients());
  if (comparesPlaces)
    cleanup.addPass(Combine());
  if (!module.getTargetTriple().isNVPTX())
    cleanup.addPass(KnownLanes(machine.getMCSubtargetInfo()->checkFeatures("+avx512f")));
  cleanup.addPass(llvm::ADCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(cleanup)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
}

Status optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  return recoverably(module.getContext(), [&] { runPasses(module, machine); });
}

} // namespace tegula::codegen
