// Conditions that a block's accesses share are conjoined once, and those of one access are made beside it;
// conditions that have registers stay as they are.
#include "targets/nvidia/MasksOfAccesses.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace {

struct Counted {
  int conjunctions = 0;
  int held = 0; // the most conditions that are made and not yet used, of those of one use
};

Counted countOf(const std::string &body) {
  std::string text = "define void @f(ptr %p, i32 %n, i32 %w, i32 %row, i32 %first, i1 %in) {\nstart:\n" +
                     body + "ret void\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str() << error.getLineContents().str();
    return {};
  }
  llvm::Function &function = *module->getFunction("f");
  tegula::nvidia::makeMasksAtAccesses(function);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  Counted counted;
  int held = 0;
  for (llvm::Instruction &each : llvm::instructions(function)) {
    for (const llvm::Use &operand : each.operands())
      held -=
          llvm::isa<llvm::Instruction>(operand) && operand->getType()->isIntegerTy(1) && operand->hasOneUse();
    held += each.getType()->isIntegerTy(1) && each.hasOneUse();
    counted.held = std::max(counted.held, held);
    counted.conjunctions += each.getOpcode() == llvm::Instruction::And;
  }
  return counted;
}

// Loads of elements of a row: each asks for its column, then all ask for the row, then for `%in`.
std::string loads(int count) {
  std::string columns, rows = "%below = icmp slt i32 %row, %n\n", ins, accesses;
  for (int i = 0; i != count; ++i) {
    std::string n = std::to_string(i);
    columns += "%c" + n + " = add i32 %first, " + n + "\n%left" + n + " = icmp sge i32 %c" + n +
               ", 0\n%right" + n + " = icmp slt i32 %c" + n + ", %w\n%column" + n + " = and i1 %left" + n +
               ", %right" + n + "\n";
    rows += "%both" + n + " = and i1 %column" + n + ", %below\n";
    ins += "%all" + n + " = and i1 %both" + n + ", %in\n";
    accesses += "%v" + n + " = call i16 asm sideeffect \"@$1 ld.global.b16 $0, [$2];\", \"=h,b,l\"(i1 %all" +
                n + ", ptr %p)\n";
  }
  return columns + rows + ins + accesses;
}

TEST(MasksOfAccesses, AreConjoinedOnceAndMadeBesideEach) {
  Counted counted = countOf(loads(16));
  EXPECT_EQ(counted.conjunctions, 1 + 2 * 16) << "the row and the loop, then two of each";
  EXPECT_LE(counted.held, 3);
}

TEST(MasksOfAccesses, StayWhereTheyHaveRegisters) { EXPECT_EQ(countOf(loads(6)).conjunctions, 3 * 6); }

TEST(MasksOfAccesses, ThatAreOneConditionStay) {
  std::string text = "%all = icmp slt i32 %row, %n\n";
  for (int i = 0; i != 16; ++i)
    text += "call void asm sideeffect \"@$0 st.global.b16 [$1], 0;\", \"b,l\"(i1 %all, ptr %p)\n";
  EXPECT_EQ(countOf(text).conjunctions, 0);
}

TEST(MasksOfAccesses, ThatOthersReadAreNotTakenApart) {
  std::string text;
  for (int i = 0; i != 8; ++i) {
    std::string n = std::to_string(i);
    text += "%c" + n + " = icmp sgt i32 %row, " + n + "\n%d" + n + " = icmp slt i32 %row, %n\n%all" + n +
            " = and i1 %c" + n + ", %d" + n + "\n%s" + n + " = select i1 %all" + n +
            ", i32 1, i32 0\nstore volatile i32 %s" + n + ", ptr %p\n" +
            "call void asm sideeffect \"@$0 st.global.b16 [$1], 0;\", \"b,l\"(i1 %all" + n + ", ptr %p)\n";
  }
  EXPECT_EQ(countOf(text).conjunctions, 8);
}

} // namespace
