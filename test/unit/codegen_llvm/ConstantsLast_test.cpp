// Sums of what a trip changes and what it does not have their constants added last, where several share the
// rest and nothing wraps that was extended.
#include "codegen/llvm/ConstantsLast.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

std::unique_ptr<llvm::Module> parsed(const std::string &text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  return module;
}

void run(llvm::Function &function) {
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
  codegen::ConstantsLast().run(function, functions);
  EXPECT_FALSE(llvm::verifyModule(*function.getParent(), &llvm::errs()));
}

size_t productsIn(const std::string &text) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parsed(text, context);
  llvm::Function &function = *module->getFunction("f");
  run(function);
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

// The arguments of the calls in a function without branches, if each of its arguments is a power of ten.
std::vector<int64_t> argumentsOfCalls(const std::string &text, bool passes) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parsed(text, context);
  llvm::Function &function = *module->getFunction("f");
  if (passes)
    run(function);
  int64_t next = 1;
  for (llvm::Argument &argument : function.args())
    argument.replaceAllUsesWith(llvm::ConstantInt::get(argument.getType(), uint64_t(next *= 10)));
  std::vector<int64_t> given;
  for (llvm::Instruction &each : function.getEntryBlock()) {
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&each))
      for (llvm::Use &argument : call->args())
        given.push_back(llvm::cast<llvm::ConstantInt>(argument)->getSExtValue());
    if (llvm::Constant *folded = llvm::ConstantFoldInstruction(&each, module->getDataLayout()))
      each.replaceAllUsesWith(folded);
  }
  return given;
}

TEST(ConstantsLast, SumsOfSumsKeepTheirValues) {
  std::string text = "declare void @g(i64)\ndefine void @f(i64 %i, i32 %t, i32 %u) {\n", calls;
  for (int n = 0; n < 3; ++n) {
    std::string k = std::to_string(n), step = std::to_string(8 * n);
    text += "%t" + k + " = add nuw i32 %t, " + step + "\n%r" + k + " = zext i32 %t" + k + " to i64\n" + //
            "%u" + k + " = add nuw i32 %u, " + step + "\n%c" + k + " = zext i32 %u" + k + " to i64\n";
  }
  for (char row : {'0', '1', '2'})
    text += std::string("%a") + row + " = add i64 %i, %r" + row + "\n";
  for (char row : {'0', '1', '2'})
    for (char column : {'0', '1', '2'}) {
      std::string name = std::string("%b") + row + column;
      text += name + " = add i64 %a" + row + ", %c" + column + "\n";
      calls += "call void @g(i64 " + name + ")\n";
    }
  text += calls + "ret void\n}\n";
  EXPECT_EQ(argumentsOfCalls(text, true), argumentsOfCalls(text, false));
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

// Rows of 32 bits, of which each is `i * 64 | t | 4 * row`, t below 4: the number of shifts of a loop that
// loads from `row * 2048`, and of comparisons.
std::pair<size_t, size_t> shiftsOfRows(const std::string &sum, const std::string &widening, bool compares) {
  std::string text = "declare void @g(i64)\ndeclare void @h(i1)\ndefine void @f(i32 %t, i32 %n) {\nentry:\n",
              loop;
  for (int row = 1; row != 4; ++row) {
    std::string r = std::to_string(row);
    text += "%r" + r + " = or disjoint i32 %t, " + std::to_string(4 * row) + "\n";
    loop += "%a" + r + " = " + sum + " i32 %base, %r" + r + "\n%p" + r + " = shl i32 %a" + r + ", 11\n%w" +
            r + " = " + widening + " i32 %p" + r + " to i64\n" +
            (compares ? "%c" + r + " = icmp eq i64 %w" + r + ", 7\ncall void @h(i1 %c" + r + ")\n"
                      : "call void @g(i64 %w" + r + ")\n");
  }
  text += "br label %loop\nloop:\n%i = phi i32 [0, %entry], [%next, %loop]\n%next = add i32 %i, 1\n"
          "%base = shl i32 %i, 6\n" +
          loop + "%more = icmp slt i32 %next, %n\nbr i1 %more, label %loop, label %end\nend:\nret void\n}\n";
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parsed(text, context);
  llvm::Function &function = *module->getFunction("f");
  run(function);
  size_t shifts = 0, widenings = 0;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &each : block) {
      shifts += each.getOpcode() == llvm::Instruction::Shl;
      widenings += llvm::isa<llvm::SExtInst, llvm::ZExtInst>(each);
    }
  return {shifts, widenings};
}

TEST(ConstantsLast, RowsWithoutACommonBitShareTheirShiftAndExtension) {
  EXPECT_EQ(shiftsOfRows("or disjoint", "sext", false), std::pair(size_t(2), size_t(1)));
  EXPECT_EQ(shiftsOfRows("or disjoint", "zext", false), std::pair(size_t(2), size_t(1)));
}

TEST(ConstantsLast, RowsOf32BitsThatMayWrapStay) {
  EXPECT_EQ(shiftsOfRows("add", "sext", false), std::pair(size_t(4), size_t(3)));
  EXPECT_EQ(shiftsOfRows("or", "sext", false), std::pair(size_t(4), size_t(3)));
}

TEST(ConstantsLast, RowsThatAreComparedStay) {
  EXPECT_EQ(shiftsOfRows("or disjoint", "sext", true), std::pair(size_t(4), size_t(3)));
}

TEST(ConstantsLast, ShiftedAndExtendedUnionsKeepTheirValues) {
  // Of %t, which is 10, the bits 3 and 1: shifted by 28 the first one is the sign, as bits of constants are.
  std::string text = "declare void @g(i64)\ndefine void @f(i32 %t) {\n%low = and i32 %t, 10\n", calls;
  for (uint32_t bits : {1u, 4u, 1u << 21, 1u << 31}) {
    std::string k = std::to_string(bits);
    text += "%u" + k + " = or disjoint i32 %low, " + k + "\n";
    for (std::string widening : {"sext", "zext"}) {
      std::string name = widening + k;
      for (std::string count : {"10", "28"})
        text += "%s" + name + count + " = shl i32 %u" + k + ", " + count + "\n";
      text += "%w" + name + " = " + widening + " i32 %s" + name + "10 to i64\n%x" + name + " = " + widening +
              " i32 %s" + name + "28" + " to i64\n%v" + name + " = " + widening + " i32 %u" + k + " to i64\n";
      for (std::string of : {"%w", "%x", "%v"})
        calls += "call void @g(i64 " + of + name + ")\n";
    }
    calls += "%e" + k + " = zext i32 %u" + k + " to i64\ncall void @g(i64 %e" + k + ")\n";
  }
  text += calls + "ret void\n}\n";
  EXPECT_EQ(argumentsOfCalls(text, true), argumentsOfCalls(text, false));
}

} // namespace
