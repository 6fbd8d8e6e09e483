// LLVM's errors are statuses: the process goes on, and the next compile works.
#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/Target.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace tegula;

namespace {

// The status of the assembly of a function with this inline assembly.
Status emitted(const std::string &text, const std::string &constraints) {
  auto machine = codegen::makeHostMachine("");
  EXPECT_TRUE(machine.ok());
  auto context = std::make_shared<llvm::LLVMContext>();
  llvm::SMDiagnostic error;
  auto module = std::shared_ptr<llvm::Module>(
      llvm::parseAssemblyString("define i32 @f(i32 %a) {\n%r = call i32 asm sideeffect \"" + text + "\", \"" +
                                    constraints + "\"(i32 %a)\nret i32 %r\n}\n",
                                error, *context));
  EXPECT_TRUE(module) << error.getMessage().str();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  auto object = codegen::emitAssembly(*module, **machine);
  if (object.ok())
    return {};
  codegen::abandon(context);
  codegen::abandon(module);
  codegen::abandon(std::move(*machine));
  return object.status();
}

TEST(Recovery, AnErrorOfInlineAssemblyIsAStatus) {
  testing::internal::CaptureStderr();
  Status status = emitted("mov $1, $0", "=Z,r");
  EXPECT_EQ(status.code, StatusCode::Unsupported) << status.message;
  EXPECT_NE(status.message.find("couldn't allocate output register for constraint 'Z'"), std::string::npos)
      << status.message;
  EXPECT_EQ(emitted("mov $1, $0", "={nothing},r").code, StatusCode::Unsupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Recovery, AFatalErrorIsAStatus) {
  Status status = emitted("mov $7, $0", "=r,r"); // no such operand: report_fatal_error
  EXPECT_EQ(status.code, StatusCode::Internal);
  EXPECT_EQ(status.message.find("LLVM gave up: "), 0u) << status.message;
  EXPECT_TRUE(emitted("", "=r,r").ok()) << "the next one works";
}

TEST(Recovery, ScopesNest) {
  llvm::LLVMContext outer, inner;
  Status within;
  Status around = codegen::recoverably(outer, [&] {
    within = codegen::recoverably(inner, [] { llvm::report_fatal_error("the inner"); });
    llvm::report_fatal_error("the outer");
  });
  EXPECT_EQ(within.message, "LLVM gave up: the inner");
  EXPECT_EQ(around.message, "LLVM gave up: the outer");
}

// Uses a stack of about 400 bytes a level.
[[gnu::noinline]] unsigned descend(unsigned levels) {
  volatile char frame[400];
  frame[levels % sizeof frame] = char(levels);
  return levels == 0 ? 0 : descend(levels - 1) + unsigned(frame[levels % sizeof frame] == char(levels));
}

TEST(Recovery, RecursionAsDeepAsAKernelIsLongHasAStack) {
  llvm::LLVMContext context;
  unsigned reached = 0;
  EXPECT_TRUE(codegen::recoverably(context, [&] { reached = descend(200'000); }).ok());
  EXPECT_EQ(reached, 200'000u);
}

} // namespace
