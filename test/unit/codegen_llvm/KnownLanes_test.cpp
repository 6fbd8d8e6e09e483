// Masked accesses some of whose lanes are known to be off become those of the others.
#include "codegen/llvm/KnownLanes.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

// The body of @f, of which `mask` computes %m of 8 lanes from %c and %n, behind the pass.
std::string behind(const std::string &mask, const std::string &access) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString("declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, <8 x i1>, <8 x i32>)\n"
                                "declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)\n"
                                "define <8 x i32> @f(ptr %p, <8 x i1> %c, i32 %n, <8 x i32> %v) {\n" +
                                    mask + access + "ret <8 x i32> %v\n}\n",
                                error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::FunctionAnalysisManager analyses;
  codegen::KnownLanes().run(*module->getFunction("f"), analyses);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string text;
  llvm::raw_string_ostream(text) << *module->getFunction("f");
  return text;
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

std::string lanes(const std::string &on) {
  std::string text = "<8 x i1> <";
  for (char c : on)
    text += std::string(text.back() == '<' ? "" : ", ") + "i1 " + (c == '1' ? "true" : "false");
  return text + ">";
}

const std::string store =
                      "call void @llvm.masked.store.v8i32.p0(<8 x i32> %v, ptr align 4 %p, <8 x i1> %m)\n",
                  load =
                      "%l = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %p, <8 x i1> %m, <8 x i32> "
                      "%v)\nstore <8 x i32> %l, ptr %p\n";

TEST(KnownLanes, OneLaneIsAScalar) {
  std::string text = behind("%m = or " + lanes("00100000") + ", zeroinitializer\n", store);
  EXPECT_TRUE(has(text, "store i32") && !has(text, "masked")) << text;
}

TEST(KnownLanes, MasksAreComputedWhereAllIsConstant) {
  std::string text =
      behind("%a = trunc i64 32 to i32\n%b = sub i32 33, %a\n"
             "%i = insertelement <8 x i32> poison, i32 %b, i64 0\n"
             "%s = shufflevector <8 x i32> %i, <8 x i32> poison, <8 x i32> zeroinitializer\n"
             "%m = icmp sgt <8 x i32> %s, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>\n",
             store);
  EXPECT_TRUE(has(text, "store i32") && !has(text, "masked")) << text;
}

TEST(KnownLanes, AHalfThatIsOffIsNotAccessed) {
  for (const std::string &access : {store, load}) {
    std::string text = behind("%m = and <8 x i1> %c, " + lanes("11000000").substr(9) + "\n", access);
    EXPECT_TRUE(has(text, ".v2i32") && !has(text, ".v8i32") && !has(text, ".v4i32")) << text;
    text = behind("%m = and <8 x i1> %c, " + lanes("00001111").substr(9) + "\n", access);
    EXPECT_TRUE(has(text, ".v4i32") && has(text, "i64 4") && !has(text, ".v8i32")) << text;
  }
}

TEST(KnownLanes, LanesThatAreOnHaveNoMask) {
  std::string text = behind("%m = or " + lanes("11110000") + ", zeroinitializer\n", load);
  EXPECT_TRUE(has(text, "load <4 x i32>") && !has(text, "masked")) << text;
}

TEST(KnownLanes, OtherMasksStay) {
  for (const std::string &mask : {"%m = and <8 x i1> %c, " + lanes("11111101").substr(9) + "\n",
                                  std::string("%m = xor <8 x i1> %c, %c\n")})
    EXPECT_TRUE(has(behind(mask, store), "masked.store.v8i32"));
}

} // namespace
