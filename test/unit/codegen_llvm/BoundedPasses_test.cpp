// Code that is longer than some of LLVM's passes can bear is compiled without them, and computes the same.
#include "codegen/llvm/BoundedPasses.h"
#include "codegen/llvm/Target.h"
#include "runtime/LoadedCode.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

#include <ctime>
#include <numeric>

using namespace tegula;

namespace {

// A function that adds up `count` integers, in one block.
std::string sumOf(unsigned count) {
  std::string text = "define i32 @f(ptr %p) {\n%s0 = load i32, ptr %p\n";
  for (unsigned i = 1; i < count; ++i) {
    std::string n = std::to_string(i);
    text += "%a" + n + " = getelementptr i32, ptr %p, i64 " + n + "\n%v" + n +
            " = load volatile i32, ptr %a" + n + "\n%s" + n + " = add i32 %s" + std::to_string(i - 1) +
            ", %v" + n + "\n";
  }
  return text + "ret i32 %s" + std::to_string(count - 1) + "\n}\n";
}

struct Compiled {
  std::unique_ptr<runtime::LoadedCode> code;
  double seconds = 0; // of the processor
};

// A function of `count` loops in a row, each of which adds its trips to what it was given, in temporaries.
// Another one is written as a float and read as an integer.
std::string loopsOf(unsigned count) {
  std::string temporaries, text, before = "entry";
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i), last = i + 1 == count ? "end" : "before" + std::to_string(i + 1);
    temporaries += "%i" + n + " = alloca i32\n%s" + n + " = alloca i32\n";
    std::string given = i ? "%x" + std::to_string(i - 1) : "%n";
    text += "before" + n + ":\n" + (i ? given + " = load i32, ptr %s" + std::to_string(i - 1) + "\n" : "") +
            "store i32 0, ptr %i" + n + "\nstore i32 " + given + ", ptr %s" + n + "\nbr label %head" + n +
            "\nhead" + n + ":\n%a" + n + " = load i32, ptr %i" + n + "\n%c" + n + " = icmp slt i32 %a" + n +
            ", %n\nbr i1 %c" + n + ", label %body" + n + ", label %" + last + "\nbody" + n + ":\n%b" + n +
            " = load i32, ptr %s" + n + "\n%d" + n + " = add i32 %b" + n + ", %a" + n + "\nstore i32 %d" + n +
            ", ptr %s" + n + "\n%e" + n + " = add i32 %a" + n + ", 1\nstore i32 %e" + n + ", ptr %i" + n +
            "\nbr label %head" + n + "\n";
  }
  return "define i32 @f(i32 %n) {\n%bits = alloca float\n" + temporaries +
         "store float 1.0, ptr %bits\nbr label %before0\n" + text + "end:\n%r = load i32, ptr %s" +
         std::to_string(count - 1) + "\n%one = load i32, ptr %bits\n%q = xor i32 %r, %one\nret i32 %q\n}\n";
}

Compiled compile(const std::string &text, bool isOptimized = false) {
  auto machine = codegen::makeHostMachine("");
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  std::clock_t began = std::clock();
  if (isOptimized)
    EXPECT_TRUE(codegen::optimize(*module, **machine).ok());
  auto object = codegen::emitObject(*module, **machine);
  double seconds = double(std::clock() - began) / CLOCKS_PER_SEC;
  EXPECT_TRUE(object.ok());
  auto loaded = runtime::LoadedCode::load(*object);
  EXPECT_TRUE(loaded.ok());
  return {std::move(*loaded), seconds};
}

TEST(BoundedPasses, ALongBlockComputesTheSame) {
  for (unsigned count : {2u, 341u, 342u, 1024u, 12'000u}) {
    Compiled compiled = compile(sumOf(count));
    auto *function = reinterpret_cast<int (*)(const int *)>(compiled.code->address("f"));
    ASSERT_TRUE(function);
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 7);
    EXPECT_EQ(function(values.data()), std::accumulate(values.begin(), values.end(), 0)) << count;
  }
}

TEST(BoundedPasses, ManyLoopsComputeTheSame) {
  for (unsigned count : {1u, 100u, 200u, 1000u}) {
    Compiled compiled = compile(loopsOf(count), /*isOptimized=*/true);
    auto *function = reinterpret_cast<int (*)(int)>(compiled.code->address("f"));
    ASSERT_TRUE(function);
    for (int n : {0, 1, 5})
      EXPECT_EQ(function(n), (n + int(count) * n * (n - 1) / 2) ^ 0x3F800000) << count;
  }
}

TEST(BoundedPasses, TimeOfLoopsInARowGrowsWithThem) {
  double base = compile(loopsOf(500), true).seconds, more = compile(loopsOf(2'000), true).seconds;
  EXPECT_LT(more, 8 * base + 0.2) << "16 times as long would be quadratic";
}

TEST(BoundedPasses, TimeOfALongBlockGrowsWithIt) {
  double base = compile(sumOf(5'000)).seconds, longer = compile(sumOf(20'000)).seconds;
  EXPECT_LT(longer, 10 * base + 0.2) << "16 times as long would be quadratic";
}

TEST(BoundedPasses, SizeIsThatOfTheLargestFunction) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(
      sumOf(10) + "define void @g() {\nbr label %next\nnext:\nret void\n}\n", error, context);
  codegen::CodeSize size = codegen::CodeSize::of(*module);
  EXPECT_EQ(size.instructions, 29u);
  EXPECT_EQ(size.block, 29u);
  EXPECT_EQ(size.accesses, 10u);
  EXPECT_EQ(size.blocks, 2u);
  EXPECT_FALSE(size.exceeds({29, 29, 10, 2}));
  EXPECT_TRUE(size.exceeds({29, 29, 9, 2}));
}

} // namespace
