// The middle end. The emitter has chosen vector widths, unrolling and storage; what is left
// is to promote its temporaries, fold, and hoist.
#include "codegen/llvm/BoundedPasses.h"
#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/Target.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

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

} // namespace

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
  size_t blocks = CodeSize::of(module).blocks;
  llvm::FunctionPassManager cleanup;
  cleanup.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG)); // the emitter's temporaries
  // They ask each branch about the uses of what it compares, or each block about all that branch there.
  bool simplifies = blocks <= 8 * bounds.mostBlocks;
  if (simplifies)
    cleanup.addPass(llvm::EarlyCSEPass());
  if (blocks <= 2 * bounds.mostBlocks)
    cleanup.addPass(llvm::InstCombinePass());
  if (simplifies)
    cleanup.addPass(llvm::SimplifyCFGPass());
  // Constants of the math library and row invariants leave the loops.
  cleanup.addPass(
      llvm::createFunctionToLoopPassAdaptor(Hoist(blocks <= bounds.mostBlocks), /*UseMemorySSA=*/true));
  if (simplifies)
    cleanup.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  cleanup.addPass(llvm::ADCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(cleanup)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
}

Status optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  return recoverably(module.getContext(), [&] { runPasses(module, machine); });
}

} // namespace tegula::codegen
