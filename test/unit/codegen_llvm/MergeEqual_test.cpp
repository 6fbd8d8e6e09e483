// Equal operations become one where one dominates the other, and code with many branches on one value takes
// no long time.
#include "codegen/llvm/MergeEqual.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

struct Merged {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;

  explicit Merged(const std::string &text) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(text, error, context);
    EXPECT_TRUE(module) << error.getMessage().str();
    llvm::PassBuilder builder;
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager cgscc;
    llvm::ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(cgscc);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, cgscc, modules);
    codegen::MergeEqual().run(*module->getFunction("f"), functions);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  }

  size_t count(unsigned opcode) const {
    size_t number = 0;
    for (const llvm::BasicBlock &block : *module->getFunction("f"))
      for (const llvm::Instruction &each : block)
        number += each.getOpcode() == opcode;
    return number;
  }
};

TEST(MergeEqual, ADominatedOperationIsMerged) {
  Merged merged(R"(
define i32 @f(i32 %n, ptr %p) {
entry:
  %a = and i32 %n, 7
  %c = icmp eq i32 %a, 0
  br i1 %c, label %then, label %end
then:
  %b = and i32 %n, 7
  store i32 %b, ptr %p
  br label %end
end:
  %d = and i32 %n, 7
  %e = or i32 %d, 0
  ret i32 %e
})");
  EXPECT_EQ(merged.count(llvm::Instruction::And), 1u);
  EXPECT_EQ(merged.count(llvm::Instruction::Or), 0u);
}

TEST(MergeEqual, OperationsOfTwoBranchesStayApart) {
  Merged merged(R"(
define i32 @f(i32 %n, i1 %c) {
entry:
  br i1 %c, label %then, label %else
then:
  %a = mul i32 %n, %n
  br label %end
else:
  %b = mul i32 %n, %n
  br label %end
end:
  %r = phi i32 [ %a, %then ], [ %b, %else ]
  %d = mul i32 %n, %n
  %s = add i32 %r, %d
  ret i32 %s
})");
  EXPECT_EQ(merged.count(llvm::Instruction::Mul), 3u);
}

TEST(MergeEqual, AddressesThatAccessesComputeAreMergedWithinABlockOnly) {
  Merged merged(R"(
define i32 @f(ptr %p, i1 %c) {
entry:
  %a = getelementptr i8, ptr %p, i64 64
  %b = getelementptr i8, ptr %p, i64 64
  %x = load i32, ptr %a
  %y = load i32, ptr %b
  br i1 %c, label %then, label %end
then:
  %d = getelementptr i8, ptr %p, i64 64
  store i32 %y, ptr %d
  br label %end
end:
  ret i32 %x
})");
  EXPECT_EQ(merged.count(llvm::Instruction::GetElementPtr), 2u);
}

TEST(MergeEqual, PromisesThatOnlyOneMakesAreDropped) {
  Merged merged(R"(
define i32 @f(i32 %n) {
  %a = add nsw i32 %n, 5
  %b = add i32 %n, 5
  %s = mul i32 %a, %b
  ret i32 %s
})");
  ASSERT_EQ(merged.count(llvm::Instruction::Add), 1u);
  EXPECT_FALSE(merged.module->getFunction("f")->getEntryBlock().front().hasNoSignedWrap());
}

TEST(MergeEqual, LoadsAndFreezesStay) {
  Merged merged(R"(
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
define i32 @f(i32 %n, ptr %p) {
  %a = load i32, ptr %p
  store i32 %n, ptr %p
  %b = load i32, ptr %p
  %c = freeze i32 %n
  %d = freeze i32 %n
  %g = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %n, i32 1, i32 31)
  %h = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %n, i32 1, i32 31)
  %s = add i32 %a, %b
  %t = add i32 %c, %d
  %u = add i32 %g, %h
  %v = add i32 %s, %t
  %w = add i32 %u, %v
  ret i32 %w
})");
  EXPECT_EQ(merged.count(llvm::Instruction::Load), 2u);
  EXPECT_EQ(merged.count(llvm::Instruction::Freeze), 2u);
  EXPECT_EQ(merged.count(llvm::Instruction::Call), 2u);
}

} // namespace
