// PTX of a few elementwise ops, given as the text of a kernel of scalars: each op is lowered by
// itself, on one element or on a pair; what no op uses is stored.
#pragma once
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Elementwise.h"
#include "targets/nvidia/NvidiaHardware.h"

#include "mlir/Parser/Parser.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace tegula::test {

inline llvm::Type *llvmType(llvm::LLVMContext &context, mlir::Type type) {
  if (isa<tile::PointerType>(type))
    return llvm::PointerType::get(context, 1);
  if (type.isF32())
    return llvm::Type::getFloatTy(context);
  if (type.isF64())
    return llvm::Type::getDoubleTy(context);
  if (type.isF16())
    return llvm::Type::getHalfTy(context);
  if (type.isBF16())
    return llvm::Type::getBFloatTy(context);
  return llvm::IntegerType::get(context, type.getIntOrFloatBitWidth());
}

inline std::unique_ptr<llvm::TargetMachine> machineOf(const std::string &arch) {
  static bool once = (LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget(),
                      LLVMInitializeNVPTXTargetMC(), LLVMInitializeNVPTXAsmPrinter(), true);
  (void)once;
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  std::string features = arch == "sm_120" ? "+ptx87" : "+ptx86";
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, arch, features, {}, std::nullopt));
}

inline void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

// Lowers the ops of the kernel's block; arguments are parameters of `function`.
inline void lowerBlock(mlir::Block &block, llvm::Module &module, const simt::Hardware &hardware,
                       bool paired) {
  llvm::LLVMContext &context = module.getContext();
  auto shaped = [&](mlir::Type type) -> llvm::Type * {
    llvm::Type *element = llvmType(context, type);
    return paired && !element->isPointerTy() ? llvm::FixedVectorType::get(element, 2) : element;
  };
  llvm::SmallVector<llvm::Type *> parameters;
  for (mlir::Value argument : block.getArguments())
    parameters.push_back(shaped(argument.getType()));
  parameters.push_back(llvm::PointerType::get(context, 1));
  auto *function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false),
                             llvm::GlobalValue::ExternalLinkage, "k", module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", function));
  simt::Scalars scalars{b, module, hardware};
  llvm::DenseMap<mlir::Value, llvm::Value *> values;
  for (mlir::BlockArgument argument : block.getArguments())
    values[argument] = function->getArg(argument.getArgNumber());
  uint64_t offset = 0;
  for (mlir::Operation &op : block) {
    if (op.getNumResults() == 0)
      continue;
    llvm::Type *element = llvmType(context, op.getResult(0).getType());
    llvm::SmallVector<llvm::Value *> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(values[operand]);
    llvm::SmallVector<llvm::Value *> results;
    if (auto constant = dyn_cast<mlir::arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<mlir::IntegerAttr>(constant.getValue()))
        results.push_back(llvm::ConstantInt::get(shaped(number.getType()), number.getValue().getZExtValue()));
      else
        results.push_back(llvm::ConstantFP::get(
            shaped(constant.getType()), cast<mlir::FloatAttr>(constant.getValue()).getValueAsDouble()));
    } else if (auto inlineAsm = dyn_cast<tile::ElementwiseInlineAsmOp>(op)) {
      llvm::SmallVector<llvm::Type *> elements;
      for (mlir::Value result : op.getResults())
        elements.push_back(llvmType(context, result.getType()));
      // Each operand stands for all elements of its run; of the results' runs the first are kept.
      llvm::SmallVector<llvm::Value *> runs;
      for (llvm::Value *operand : operands)
        runs.append(inlineAsm.getPackedElement(), operand);
      auto all = simt::lowerInlineAsm(scalars, inlineAsm, runs, elements);
      for (size_t i = 0; i < elements.size(); ++i)
        results.push_back(all[i * inlineAsm.getPackedElement()]);
    } else {
      results.push_back(simt::lowerElementwise(scalars, &op, operands, element));
    }
    for (auto [result, value] : llvm::zip(op.getResults(), results)) {
      ASSERT_TRUE(value) << "no lowering of " << op.getName().getStringRef().str();
      values[result] = value;
      if (!result.use_empty())
        continue;
      if (value->getType()->isIntegerTy(1))
        value = b.CreateZExt(value, b.getInt8Ty());
      b.CreateStore(
          value, b.CreateConstGEP1_64(b.getInt8Ty(), function->getArg(parameters.size() - 1), offset += 16));
    }
  }
  b.CreateRetVoid();
}

// `finish` runs behind the optimizer.
inline std::string ptx(const std::string &arguments, const std::string &body,
                       const std::string &arch = "sm_90a", bool paired = false,
                       void (*finish)(llvm::Module &) = nullptr) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  std::string text = "tt.func @k(" + arguments + ") {\n" + body + "\n tt.return\n}\n";
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!parsed) {
    ADD_FAILURE() << "does not parse:\n" << text;
    return "";
  }
  tile::FuncOp function;
  parsed->walk([&](tile::FuncOp f) { function = f; });
  llvm::LLVMContext llvmContext;
  llvm::Module module("k", llvmContext);
  auto machine = machineOf(arch);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  lowerBlock(function.getBody().front(), module,
             nvidia::NvidiaHardware(std::strtoul(arch.c_str() + 3, nullptr, 10), 4), paired);
  EXPECT_TRUE(codegen::linkMathlib(module).ok());
  std::string broken;
  llvm::raw_string_ostream out(broken);
  EXPECT_FALSE(llvm::verifyModule(module, &out)) << broken;
  optimize(module, *machine);
  if (finish)
    finish(module);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

inline size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

// Whether the assembler takes it; true where there is none.
inline bool assembles(const std::string &text, const std::string &arch) {
  if (std::system("command -v ptxas > /dev/null 2>&1") != 0)
    return true;
  std::string path = testing::TempDir() + "tegula_arithmetic_" + arch + ".ptx";
  std::ofstream(path) << text;
  return std::system(("ptxas -arch=" + arch + " -o /dev/null " + path + " 2> " + path + ".err").c_str()) == 0;
}

} // namespace tegula::test
