// Sums of what a trip changes and what it does not have their constants added last, where several share the
// rest and nothing wraps that was extended.
#include "codegen/llvm/ConstantsLast.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

size_t productsIn(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  llvm::Function &function = *module->getFunction("f");
  codegen::ConstantsLast().run(function, functions);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  size_t products = 0;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &each : block)
      products += each.getOpcode() == llvm::Instruction::Mul;
  return products;
}

// The number of products in a loop whose trips sum `i * 64` and rows, each times 4096. `rows` computes %r0
// and %r1, 64 bits, of the 32 bits %t.
size_t productsWith(const std::string &rows, const std::string &sum = "or disjoint") {
  std::string text =
      "declare void @g(i64, i64)\n"
      "define void @f(i32 %t, i64 %n) {\nentry:\n" +
      rows +
      "br label %loop\nloop:\n"
      "%i = phi i64 [0, %entry], [%next, %loop]\n%next = add i64 %i, 1\n%base = shl i64 %i, 6\n"
      "%a0 = " +
      sum + " i64 %base, %r0\n%a1 = " + sum +
      " i64 %base, %r1\n"
      "%p0 = mul i64 %a0, 4096\n%p1 = mul i64 %a1, 4096\n"
      "call void @g(i64 %p0, i64 %p1)\n"
      "%more = icmp slt i64 %next, %n\nbr i1 %more, label %loop, label %end\nend:\nret void\n}\n";
  return productsIn(text);
}

TEST(ConstantsLast, SumsThatShareAllButAConstantHaveOneProduct) {
  EXPECT_EQ(productsWith("%y = add nuw i32 %t, 8\n%r0 = zext i32 %t to i64\n%r1 = zext i32 %y to i64\n"), 1u);
  EXPECT_EQ(
      productsWith("%y = or disjoint i32 %t, 8\n%r0 = zext i32 %t to i64\n%r1 = zext i32 %y to i64\n", "add"),
      1u);
  EXPECT_EQ(
      productsWith("%y = add nsw i32 %t, -8\n%r0 = sext i32 %t to i64\n%r1 = sext i32 %y to i64\n", "add"),
      1u);
  EXPECT_EQ(productsWith("%r0 = zext i32 %t to i64\n%r1 = add i64 %r0, 8\n", "add"), 1u);
}

TEST(ConstantsLast, ASumThatMayWrapBeforeItIsExtendedStays) {
  EXPECT_EQ(productsWith("%y = add i32 %t, 8\n%r0 = zext i32 %t to i64\n%r1 = zext i32 %y to i64\n"), 2u);
  EXPECT_EQ(productsWith("%y = add nsw i32 %t, 8\n%r0 = zext i32 %t to i64\n%r1 = zext i32 %y to i64\n"), 2u);
  EXPECT_EQ(
      productsWith("%y = add nuw i32 %t, 8\n%r0 = sext i32 %t to i64\n%r1 = sext i32 %y to i64\n", "add"),
      2u);
}

TEST(ConstantsLast, SumsOfDifferentThingsStay) {
  EXPECT_EQ(
      productsWith("%y = add nuw i32 %t, 8\n%r0 = sext i32 %t to i64\n%r1 = zext i32 %y to i64\n", "add"),
      2u);
}

TEST(ConstantsLast, RowsOfAProgramHaveOneProductWithoutALoop) {
  auto rows = [](const std::string &second) {
    return "declare void @g(i64, i64)\n"
           "define void @f(i32 %t, i64 %i) {\n%base = shl i64 %i, 6\n" +
           second +
           "%r0 = zext i32 %t to i64\n%r1 = zext i32 %y to i64\n"
           "%a0 = or disjoint i64 %base, %r0\n%a1 = or disjoint i64 %base, %r1\n"
           "%p0 = mul i64 %a0, 4096\n%p1 = mul i64 %a1, 4096\ncall void @g(i64 %p0, i64 %p1)\nret void\n}\n";
  };
  EXPECT_EQ(productsIn(rows("%y = or disjoint i32 %t, 16\n")), 1u);
  EXPECT_EQ(productsIn(rows("%y = add i32 %t, 16\n")), 2u);
}

} // namespace
