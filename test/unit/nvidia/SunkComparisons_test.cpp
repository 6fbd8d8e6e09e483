// Comparisons that only another block needs are made there, if they are more than a thread has registers for
// conditions, and cost few other registers; the rest stays.
#include "targets/nvidia/SunkComparisons.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <map>

namespace {

// The number of comparisons that each block of `f` has behind the pass.
std::map<std::string, int> comparisonsOf(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str();
    return {};
  }
  llvm::Function &function = *module->getFunction("f");
  tegula::nvidia::sinkComparisons(function);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::map<std::string, int> found;
  for (llvm::Instruction &each : llvm::instructions(function))
    if (llvm::isa<llvm::ICmpInst>(each) && !each.getName().starts_with("guard"))
      ++found[each.getParent()->getName().str()];
  return found;
}

std::string number(int i) { return std::to_string(i); }

// Compares %row with `count` columns in block `made`; block `needed` stores what is chosen by them. A column
// is %first and a constant, or a word of its own from memory.
std::string masked(int count, bool haveWords = false, bool choosesAhead = false) {
  std::string made, needed;
  for (int i = 0; i != count; ++i) {
    std::string n = number(i);
    if (haveWords)
      made += "%at" + n + " = getelementptr i32, ptr %in, i32 " + n + "\n%column" + n +
              " = load i32, ptr %at" + n + "\n";
    else
      made += "%column" + n + " = add i32 %first, " + n + "\n";
    made += "%mask" + n + " = icmp slt i32 %row, %column" + n + "\n";
    (choosesAhead ? made : needed) +=
        "%chosen" + n + " = select i1 %mask" + n + ", float -1.0e6, float 0.0\n";
    needed += "store volatile float %chosen" + n + ", ptr %out\n";
  }
  return "define void @f(ptr %in, ptr %out, i32 %row, i32 %start, i1 %c) {\n"
         "made:\n%first = shl i32 %start, 3\nstore volatile i32 %first, ptr %out\n" +
         made +
         "br i1 %c, label %copies, label %needed\n"
         "copies:\nstore volatile i32 %first, ptr %in\nbr label %needed\n"
         "needed:\n" +
         needed + "ret void\n}\n";
}

using Counts = std::map<std::string, int>;

TEST(SunkComparisons, GoToTheBlockThatNeedsThem) {
  EXPECT_EQ(comparisonsOf(masked(8)), (Counts{{"needed", 8}}));
  EXPECT_EQ(comparisonsOf(masked(64)), (Counts{{"needed", 64}}));
}

TEST(SunkComparisons, GoWithTheConstantsThatTheyChoose) {
  EXPECT_EQ(comparisonsOf(masked(8, false, true)), (Counts{{"needed", 8}}));
}

TEST(SunkComparisons, StayWhereTheirRegistersSuffice) {
  EXPECT_EQ(comparisonsOf(masked(6)), (Counts{{"made", 6}}));
}

TEST(SunkComparisons, StayWhereEachWouldKeepAWordInARegister) {
  EXPECT_EQ(comparisonsOf(masked(64, true)), (Counts{{"made", 64}}));
}

// Block `needed` as a loop of its own, or as a join of what two blocks give.
std::string elsewhere(bool isLoop) {
  std::string made, needed, joins;
  for (int i = 0; i != 8; ++i) {
    std::string n = number(i);
    made += "%mask" + n + " = icmp slt i32 %row, " + n + "\n";
    joins += "%join" + n + " = phi i1 [%mask" + n + ", %made], [false, %other]\n";
    std::string condition = isLoop ? "%mask" : "%join";
    needed += "%chosen" + n + " = select i1 " + condition + n +
              ", float -1.0e6, float 0.0\n"
              "store volatile float %chosen" +
              n + ", ptr %out\n";
  }
  return "define void @f(ptr %out, i32 %row, i32 %trips, i1 %c) {\nentry:\nbr i1 %c, label %made, label "
         "%other\n"
         "other:\nbr label %" +
         std::string(isLoop ? "end" : "needed") +
         "\n"
         "made:\n" +
         made +
         "br label %needed\n"
         "needed:\n" +
         (isLoop ? "%trip = phi i32 [0, %made], [%next, %needed]\n%next = add i32 %trip, 1\n" : joins) +
         needed +
         (isLoop ? "%guard = icmp slt i32 %next, %trips\nbr i1 %guard, label %needed, label %end\nend:\n"
                 : "") +
         "ret void\n}\n";
}

TEST(SunkComparisons, StayAheadOfALoopAndWherePathsJoin) {
  EXPECT_EQ(comparisonsOf(elsewhere(true)), (Counts{{"made", 8}}));
  EXPECT_EQ(comparisonsOf(elsewhere(false)), (Counts{{"made", 8}}));
}

} // namespace
