// Copies for later trips start behind the reads of a product's first step, under predicates, where a program
// has few warps and waits for none of the copies that it has just started.
#include "targets/nvidia/CopiesBehindReads.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace {

struct Case {
  std::string threads = "128", pending = "1";
  std::string then = "copies", otherwise = "trip"; // of the condition
  std::string inCopies, aheadOfReads;
  std::string copy =
      "call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)";
  int copies = 4;
};

// A trip of two steps; each reads a word of each factor.
std::string loopOf(const Case &each) {
  std::string copies;
  for (int i = 0; i != each.copies; ++i)
    copies += each.copy + "\n";
  std::string trip = "trip:\ncall void @llvm.nvvm.cp.async.commit.group()\n" + each.aheadOfReads;
  auto reads = [&](const std::string &step, int at) {
    for (std::string factor : {"a", "b"}) {
      std::string name = "%" + factor + step;
      trip += name + "at = getelementptr i8, ptr addrspace(3) %shared, i32 " + std::to_string(at += 16) +
              "\n" + name + "w = load <2 x half>, ptr addrspace(3) " + name + "at\n";
    }
  };
  auto product = [&](const std::string &step, const std::string &sum) {
    std::string a = "<2 x half> %a" + step + "w", b = "<2 x half> %b" + step + "w";
    trip += "%p" + step + " = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(" +
            a + ", " + a + ", " + a + ", " + a + ", " + b + ", " + b + ", float " + sum + ", float " + sum +
            ", float " + sum + ", float " + sum + ")\n%s" + step +
            " = extractvalue {float, float, float, float} %p" + step + ", 0\n";
  };
  reads("0", 0);
  reads("1", 64);
  product("0", "%sum");
  product("1", "%s0");
  return "declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))\n"
         "declare void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3), ptr addrspace(1), i32)\n"
         "declare void @llvm.nvvm.cp.async.commit.group()\n"
         "declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)\n"
         "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
         "declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x "
         "half>, "
         "<2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)\n"
         "define void @f(ptr addrspace(3) %shared, ptr addrspace(1) %in, ptr %out, i32 %n, i32 %size) "
         "\"nvvm.reqntid\"=\"" +
         each.threads +
         ",1,1\" {\nentry:\nbr label %loop\n"
         "loop:\n%i = phi i32 [0, %entry], [%next, %trip]\n%sum = phi float [0.0, %entry], [%s1, %trip]\n"
         "call void @llvm.nvvm.cp.async.wait.group(i32 " +
         each.pending +
         ")\ncall void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
         "%more = icmp slt i32 %i, %n\nbr i1 %more, label %" +
         each.then + ", label %" + each.otherwise +
         "\ncopies:\n%to = getelementptr i8, ptr addrspace(3) %shared, i32 4096\n"
         "%place = getelementptr i8, ptr addrspace(1) %in, i32 %i\n"
         "%from = getelementptr i8, ptr addrspace(1) %place, i32 -32\n" +
         each.inCopies + copies + "br label %trip\n" + trip +
         "%next = add i32 %i, 1\n%again = icmp slt i32 %next, %n\nbr i1 %again, label %loop, label %end\n"
         "end:\nstore float %s1, ptr %out\nret void\n}\n";
}

// The steps of the loop's block behind the pass, in order: "read", "copy", "commit", "product", "not". Empty:
// the copies have stayed in a block of their own. `text` becomes the assembly of the first copy.
std::vector<std::string> orderOf(const Case &each, std::string *text = nullptr) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(loopOf(each), error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str() << " in line " << error.getLineNo();
    return {};
  }
  llvm::Function &function = *module->getFunction("f");
  tegula::nvidia::moveCopiesBehindReads(function);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::vector<std::string> order;
  for (llvm::BasicBlock &block : function) {
    if (block.getName() == "copies")
      return {};
    for (llvm::Instruction &instruction : block) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (llvm::isa<llvm::LoadInst>(instruction))
        order.push_back("read");
      else if (instruction.getOpcode() == llvm::Instruction::Xor)
        order.push_back("not");
      else if (auto *assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr) {
        order.push_back("copy");
        if (text)
          *text = assembly->getAsmString();
      } else if (call && call->getCalledFunction()->getName().contains("mma"))
        order.push_back("product");
      else if (call && call->getCalledFunction()->getName().contains("commit"))
        order.push_back("commit");
    }
  }
  return order;
}

using Order = std::vector<std::string>;

// Of a loop with `copies`: behind the first step's reads. `first`: what comes ahead of them.
Order moved(int copies, Order first = {}) {
  Order order = std::move(first);
  for (int i = 0; i != 2; ++i)
    order.push_back("read");
  order.insert(order.end(), size_t(copies), "copy");
  for (const char *each : {"commit", "read", "read", "product", "product"})
    order.push_back(each);
  return order;
}

TEST(CopiesBehindReads, GoBehindThoseOfTheFirstStep) {
  std::string text;
  EXPECT_EQ(orderOf({}, &text), moved(4));
  EXPECT_EQ(text, "@$0 cp.async.cg.shared.global [$1+4096], [$2+-32], 16;");
}

TEST(CopiesBehindReads, HaveTheOtherConditionWhereTheBranchHas) {
  EXPECT_EQ(orderOf({.then = "trip", .otherwise = "copies"}), moved(4, {"not"}));
}

TEST(CopiesBehindReads, KeepTheBytesOfTheirSource) {
  std::string text;
  orderOf(
      {.copy =
           "call void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3) %to, ptr addrspace(1) %from, "
           "i32 %size)"},
      &text);
  EXPECT_EQ(text, "@$0 cp.async.ca.shared.global [$1+4096], [$2+-32], 4, $3;");
}

TEST(CopiesBehindReads, StayWhereTheNextTripWaitsForThem) { EXPECT_EQ(orderOf({.pending = "0"}), Order{}); }

TEST(CopiesBehindReads, StayInProgramsOfManyWarps) { EXPECT_EQ(orderOf({.threads = "256"}), Order{}); }

TEST(CopiesBehindReads, StayWhereTheyAreFewOrWouldHoldLaterReadsBack) {
  EXPECT_EQ(orderOf({.copies = 3}), Order{});
  EXPECT_EQ(orderOf({.copies = 16}), moved(16));
  EXPECT_EQ(orderOf({.copies = 17}), Order{});
}

TEST(CopiesBehindReads, StayAheadOfABarrierAndOfStores) {
  EXPECT_EQ(orderOf({.aheadOfReads = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"}), Order{});
  EXPECT_EQ(orderOf({.aheadOfReads = "store i32 %i, ptr addrspace(3) %shared\n"}), Order{});
}

TEST(CopiesBehindReads, StayBesideWhatOnlyTheConditionAllows) {
  EXPECT_EQ(orderOf({.inCopies = "%word = load volatile i32, ptr addrspace(1) %in\n"}), Order{});
  EXPECT_EQ(orderOf({.inCopies = "%part = sdiv i32 %n, %size\n"}), Order{});
}

} // namespace
