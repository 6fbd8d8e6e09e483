// A compile: what it asks the host, what it makes, what it refuses. Annotations as texts.
#include "compiler/Compiler.h"
#include "compiler/ModuleFile.h"
#include "compiler/Parameters.h"
#include "compiler/Signature.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tegula;

namespace {

constexpr const char *text = "import triton\n"
                             "import triton.language as tl\n"
                             "N = tl.constexpr(3)\n"
                             "M = tl.constexpr(4)\n"
                             "\n"
                             "@triton.jit\n"
                             "def kernel(x, n, B: \"tl.constexpr\" = M):\n"
                             "    for i in range(B):\n"
                             "        tl.store(x + i, n + N)\n";

struct Compiled {
  explicit Compiled(std::string source = text)
      : module(compiler::makeModule(std::make_shared<diag::Source>("k.py", std::move(source), 1, 0), nullptr,
                                    sink)) {}

  std::unique_ptr<compiler::Compilation> compile(const char *signature, compiler::CompileOptions options,
                                                 sema::HostRecord *record = nullptr) {
    auto function = module.functions.at(0);
    auto specs = compiler::parseSignature(signature, *function, compiler::parametersOf(*function), sink);
    return specs ? compiler::compile({function, std::move(*specs), options.language, record}, options, sink)
                 : nullptr;
  }

  diag::Sink sink;
  compiler::Module module;
};

compiler::CompileOptions target(std::string name) {
  compiler::CompileOptions options;
  options.target = std::move(name);
  return options;
}

TEST(CompilerTest, RecordsWhatItAskedTheHostOnceAQuestion) {
  Compiled kernel;
  sema::HostRecord record;
  ASSERT_TRUE(kernel.compile("x=*i32,n=i32", target("interp"), &record));
  EXPECT_EQ(record.size(), 5u); // tl, range, N, M of the default, and the default as the host evaluated it
  EXPECT_TRUE(record.holds());
  sema::HostRecord again;
  ASSERT_TRUE(kernel.compile("x=*i32,n=i32", target("interp"), &again));
  EXPECT_EQ(record.digest(), again.digest());
  sema::HostRecord fewer;
  ASSERT_TRUE(kernel.compile("x=*i32,n=i32,B=2", target("interp"), &fewer));
  EXPECT_NE(record.digest(), fewer.digest());
}

TEST(CompilerTest, LaunchesWhatItCompiled) {
  for (const char *name : {"interp", "cpu"}) {
    Compiled kernel;
    auto compilation = kernel.compile("x=*i32,n=i32", target(name));
    ASSERT_TRUE(compilation) << name;
    int32_t x[4] = {};
    uint64_t slots[] = {reinterpret_cast<uintptr_t>(x), 5};
    EXPECT_TRUE(compilation->launch(slots, {}).ok());
    EXPECT_EQ(x[0], 8);
    EXPECT_EQ(x[3], 8);
    ASSERT_EQ(compilation->arguments().size(), 2u);
    EXPECT_TRUE(compilation->arguments()[0].written);
  }
}

TEST(CompilerTest, ACooperativeGridOfTargetsThatRunProgramsInTurnHasOneProgram) {
  for (const char *name : {"interp", "ptxvm"}) {
    Compiled kernel;
    compiler::CompileOptions options = target(name);
    options.targetOptions.isCooperative = true;
    auto compilation = kernel.compile("x=*i32,n=i32", options);
    ASSERT_TRUE(compilation) << name;
    int32_t x[4] = {};
    uint64_t slots[] = {reinterpret_cast<uintptr_t>(x), 5};
    Status status = compilation->launch(slots, {{2, 1, 1}});
    EXPECT_EQ(status.code, StatusCode::Launch) << name;
    EXPECT_NE(status.message.find("cooperative"), std::string::npos) << status.message;
    EXPECT_EQ(x[0], 0);
  }
}

TEST(CompilerTest, TheArchitectureOfTheSimulationIsChosenBeforeTheCompile) {
  diag::Sink sink;
  setenv("TEGULA_SIM_ARCH", "sm_80", 1);
  compiler::TargetOptions options;
  ASSERT_TRUE(compiler::chooseTarget("ptxvm", options, -1, sink));
  EXPECT_EQ(options.arch, "sm_80");
  setenv("TEGULA_SIM_ARCH", "sm_90a", 1); // too late for these options
  ASSERT_TRUE(compiler::chooseTarget("ptxvm", options, -1, sink));
  EXPECT_EQ(options.arch, "sm_80");
  setenv("TEGULA_SIM_ARCH", "gfx90a", 1);
  compiler::TargetOptions wrong;
  EXPECT_FALSE(compiler::chooseTarget("ptxvm", wrong, -1, sink));
  unsetenv("TEGULA_SIM_ARCH");
}

TEST(CompilerTest, RefusesWhatATargetDoesNotTake) {
  Compiled kernel;
  EXPECT_FALSE(kernel.compile("x=*i32,n=i32", target("vax")));
  EXPECT_EQ(kernel.sink.all().front().kind, diag::Kind::TargetUnknown);
  Compiled other;
  compiler::CompileOptions warps = target("sm_90a");
  warps.language.numWarps = 64;
  EXPECT_FALSE(other.compile("x=*i32,n=i32", warps));
  EXPECT_EQ(other.sink.all().front().kind, diag::Kind::TargetTooSmall);
}

TEST(ParametersTest, AnnotationsThatAreTexts) {
  struct Case {
    const char *text;
    bool isKnown, isConstexpr, isConst, isPointer;
    std::optional<DType> type;
  };
  const Case cases[] = {{"tl.constexpr", true, true, false, false, {}},
                        {" constexpr ", true, true, false, false, {}},
                        {"tl.const", true, false, true, false, {}},
                        {"tl.float64", true, false, false, false, DType::F64},
                        {"fp64", true, false, false, false, DType::F64},
                        {"i64", true, false, false, false, DType::I64},
                        {"*fp16", true, false, false, true, DType::F16},
                        {"*ki32", true, false, false, true, DType::I32},
                        {"tl.int8 *", true, false, false, true, DType::I8},
                        {"const fp32*", true, false, false, true, DType::F32},
                        {"Tensor", false, false, false, false, {}},
                        {"", false, false, false, false, {}},
                        {"  ", false, false, false, false, {}},
                        {"*", false, false, false, false, {}},
                        {"not_constexpr", false, false, false, false, {}}};
  for (const Case &each : cases) {
    compiler::Parameter parameter;
    EXPECT_EQ(compiler::applyAnnotation(each.text, parameter), each.isKnown) << each.text;
    EXPECT_EQ(parameter.isConstexpr, each.isConstexpr) << each.text;
    EXPECT_EQ(parameter.isConst, each.isConst) << each.text;
    EXPECT_EQ(parameter.pinned.has_value(), each.type.has_value()) << each.text;
    if (parameter.pinned && each.type) {
      EXPECT_EQ(parameter.pinned->element, *each.type) << each.text;
      EXPECT_EQ(parameter.pinned->pointer, each.isPointer) << each.text;
    }
  }
}

} // namespace
