// Words of bytes that come from several numbers are made by permutations, of the bytes that they are.
#include "targets/nvidia/GatheredBytes.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

// The function that stores %word, a vector of four bytes, of the numbers %x and %y.
std::string gathered(const std::string &word) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString("define void @f(ptr %p, i32 %x, i32 %y) {\n" + word +
                                    "store <4 x i8> %word, ptr %p, align 4\nret void\n}\n",
                                error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  nvidia::gatherBytes(*module->getFunction("f"));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string text;
  llvm::raw_string_ostream out(text);
  module->getFunction("f")->print(out);
  return text;
}

TEST(GatheredBytes, BytesOfTwoWordsAreOnePermutation) {
  std::string text =
      gathered("%a = bitcast i32 %x to <4 x i8>\n%b = bitcast i32 %y to <4 x i8>\n"
               "%word = shufflevector <4 x i8> %a, <4 x i8> %b, <4 x i32> <i32 3, i32 4, i32 0, i32 6>\n");
  // Of the selector's digits the lowest is the first byte's: 3, 0 + 4, 0, 2 + 4.
  EXPECT_NE(text.find("prmt(i32 %x, i32 %y, i32 " + std::to_string(0x6043) + ")"), std::string::npos) << text;
}

TEST(GatheredBytes, ElementsOfTwoBytesAreNotCountedAsBytes) {
  std::string text =
      gathered("%v = bitcast i32 %x to <2 x i16>\n%a = trunc <2 x i16> %v to <2 x i8>\n"
               "%w = bitcast i32 %y to <2 x i16>\n%b = trunc <2 x i16> %w to <2 x i8>\n"
               "%word = shufflevector <2 x i8> %a, <2 x i8> %b, <4 x i32> <i32 0, i32 1, i32 2, i32 3>\n");
  EXPECT_EQ(text.find("prmt"), std::string::npos) << text;
}

} // namespace
