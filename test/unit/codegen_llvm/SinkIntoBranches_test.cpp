// Addresses that one branch alone needs are computed there; others stay.
#include "codegen/llvm/SinkIntoBranches.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

// The number of instructions that are left ahead of a branch, the branch not counted.
size_t leftAhead(const std::string &ahead, const std::string &then, const std::string &end = "") {
  std::string text =
      "declare void @g(ptr)\ndeclare i32 @h()\ndefine void @f(i1 %c, ptr %p, i32 %n, ptr %q) {\n" + ahead +
      "br i1 %c, label %then, label %end\nthen:\n" + then + "br label %end\nend:\n" + end + "ret void\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::Function &function = *module->getFunction("f");
  llvm::FunctionAnalysisManager none;
  codegen::SinkIntoBranches().run(function, none);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  return function.getEntryBlock().size() - 1;
}

const std::string address = "%w = sext i32 %n to i64\n%a = getelementptr float, ptr %p, i64 %w\n"
                            "%b = getelementptr i8, ptr %a, i64 64\n",
                  calls = "call void @g(ptr %a)\ncall void @g(ptr %b)\n";

TEST(SinkIntoBranches, AnAddressAndWhatItIsMadeOfMove) { EXPECT_EQ(leftAhead(address, calls), 0u); }

TEST(SinkIntoBranches, AValueThatIsUsedBehindTheBranchStays) {
  EXPECT_EQ(leftAhead(address, "call void @g(ptr %b)\n", "call void @g(ptr %a)\n"), 2u);
  EXPECT_EQ(leftAhead(address, calls, "%x = phi ptr [%a, %0], [%q, %then]\ncall void @g(ptr %x)\n"), 2u);
}

TEST(SinkIntoBranches, ConditionsStay) {
  EXPECT_EQ(leftAhead("%x = icmp slt i32 %n, 7\n%y = and i1 %x, %c\n%z = select i1 %y, i32 16, i32 0\n",
                      "store i32 %z, ptr %q\n"),
            3u);
}

TEST(SinkIntoBranches, WhatTouchesMemoryOrMayTrapStays) {
  EXPECT_EQ(leftAhead("%x = load i32, ptr %p\n%y = add i32 %x, 1\n", "store i32 %y, ptr %q\n"), 1u);
  EXPECT_EQ(leftAhead("%x = call i32 @h()\n", "store i32 %x, ptr %q\n"), 1u);
  EXPECT_EQ(leftAhead("%x = sdiv i32 7, %n\n", "store i32 %x, ptr %q\n"), 1u);
  EXPECT_EQ(leftAhead("%x = sitofp i32 %n to float\n%y = fptosi float %x to i32\n", "store i32 %y, ptr %q\n"),
            2u);
}

// A loop begins behind the branch: what is computed once would be computed in each trip.
TEST(SinkIntoBranches, NothingMovesIntoALoop) {
  EXPECT_EQ(leftAhead("%a = getelementptr i8, ptr %p, i64 64\n",
                      "br i1 %c, label %loop, label %end\nloop:\n"
                      "call void @g(ptr %a)\nbr i1 %c, label %loop, label %more\nmore:\n"),
            1u);
}

} // namespace
