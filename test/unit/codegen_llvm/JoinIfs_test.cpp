// Ifs in a row that ask the same become one, if nothing is between them; others stay.
#include "codegen/llvm/JoinIfs.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

struct Joined {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  size_t branches = 0; // that ask something

  explicit Joined(const std::string &text) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(text, error, context);
    EXPECT_TRUE(module) << error.getMessage().str();
    llvm::Function &function = *module->getFunction("f");
    llvm::FunctionAnalysisManager none;
    codegen::JoinIfs().run(function, none);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    for (llvm::BasicBlock &block : function)
      if (auto *branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator()))
        branches += branch->isConditional();
  }

  // Do the calls of `g` that run if the condition is `sense` have these arguments, in this order?
  void expectCalls(bool sense, std::vector<uint64_t> numbers) {
    std::vector<uint64_t> seen;
    llvm::BasicBlock *block = &module->getFunction("f")->getEntryBlock();
    while (block) {
      for (llvm::Instruction &each : *block)
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&each))
          seen.push_back(llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue());
      auto *branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      block = branch ? branch->getSuccessor(branch->isConditional() && !sense ? 1 : 0) : nullptr;
    }
    EXPECT_EQ(seen, numbers);
  }
};

// Calls g(0), g(1) ... each under a branch on the condition of its row, with `between` behind the first.
std::string rowOf(const std::vector<std::string> &branches, const std::string &between = "") {
  std::string text = "declare void @g(i32)\ndefine i32 @f(i1 %c, i1 %d, i32 %n) {\nb0:\n";
  for (size_t i = 0; i != branches.size(); ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1), branch = branches[i];
    branch.replace(branch.find("THEN"), 4, "%t" + n).replace(branch.find("END"), 3, "%b" + next);
    text += "br i1 " + branch + "\nt" + n + ":\ncall void @g(i32 " + n + ")\nbr label %b" + next + "\nb" +
            next + ":\n" + (i == 0 ? between : "");
  }
  return text + "ret i32 %n\n}\n";
}

const std::string ifTrue = "%c, label THEN, label END", ifFalse = "%c, label END, label THEN";

TEST(JoinIfs, ARowOnOneConditionBecomesOneIf) {
  for (const std::string &branch : {ifTrue, ifFalse}) {
    Joined joined(rowOf({branch, branch, branch}));
    EXPECT_EQ(joined.branches, 1u);
    joined.expectCalls(branch == ifTrue, {0, 1, 2});
    joined.expectCalls(branch != ifTrue, {});
  }
}

TEST(JoinIfs, OtherConditionsAndSidesStayApart) {
  Joined sides(rowOf({ifTrue, ifFalse}));
  EXPECT_EQ(sides.branches, 2u);
  sides.expectCalls(true, {0});
  sides.expectCalls(false, {1});
  EXPECT_EQ(Joined(rowOf({ifTrue, "%d, label THEN, label END"})).branches, 2u);
}

TEST(JoinIfs, OperationsBetweenKeepIfsApart) {
  EXPECT_EQ(Joined(rowOf({ifTrue, ifTrue}, "call void @g(i32 9)\n")).branches, 2u);
  EXPECT_EQ(Joined(rowOf({ifTrue, ifTrue}, "%p = phi i32 [ 1, %b0 ], [ 2, %t0 ]\n")).branches, 2u);
}

TEST(JoinIfs, ValuesOfTheLastIfAndLoopsStayRight) {
  Joined joined(R"(
declare void @g(i32)
define i32 @f(i1 %c, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  br i1 %c, label %then, label %middle
then:
  call void @g(i32 0)
  br label %middle
middle:
  br i1 %c, label %again, label %next
again:
  call void @g(i32 1)
  br label %next
next:
  %v = phi i32 [ %n, %again ], [ 7, %middle ]
  %j = add i32 %i, %v
  %more = icmp slt i32 %j, %n
  br i1 %more, label %head, label %end
end:
  ret i32 %j
})");
  EXPECT_EQ(joined.branches, 2u);
  for (llvm::BasicBlock &block : *joined.module->getFunction("f"))
    if (block.getName() == "next") {
      auto &phi = llvm::cast<llvm::PHINode>(block.front());
      for (unsigned i : {0u, 1u})
        EXPECT_EQ(phi.getIncomingBlock(i)->getName(),
                  llvm::isa<llvm::Argument>(phi.getIncomingValue(i)) ? "again" : "head");
    }
}

} // namespace
