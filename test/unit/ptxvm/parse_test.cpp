// What the parser accepts and how it refuses the rest.
#include "Snippet.h"

#include <fstream>
#include <sstream>

namespace tegula::ptxvm {
namespace {

std::string errorOf(const std::string &body) {
  auto module = parse(snippetText(body), "test.ptx");
  return module ? "" : module.status().message;
}

TEST(Parse, RefusesWithLineAndText) {
  EXPECT_NE(errorOf("frobnicate.b32 %r0, %r1;").find("unknown instruction: `frobnicate.b32`"),
            std::string::npos);
  EXPECT_NE(errorOf("add.f16.s32 %r0, %r1;").find("no such form"), std::string::npos);
  EXPECT_NE(errorOf("\n\nadd.u32 %r0, %r1;").find("test.ptx:17: an operand is missing: `add.u32 %r0, %r1`"),
            std::string::npos)
      << errorOf("\n\nadd.u32 %r0, %r1;");
  EXPECT_NE(errorOf("add.u32 %r0, %r1, %rd2;"), "");
  EXPECT_NE(errorOf("add.f32 %f0, %f1, 3;"), "");
  EXPECT_NE(errorOf("add.u32 %r0, %r1, %f2;"), "");
  EXPECT_NE(errorOf("add.u32 %r0, %r1, %r2, %r3;"), "");
  EXPECT_NE(errorOf("add.u32 %r0, %r1, %nothing;").find("unknown register"), std::string::npos);
  EXPECT_NE(errorOf("bra NOWHERE;").find("no such label"), std::string::npos);
  EXPECT_NE(errorOf("add.u32 %r64, 1, 2;"), "");
  EXPECT_NE(errorOf("@%r0 ret;"), "");
  EXPECT_NE(errorOf("ld.global.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%in];"), "");
  EXPECT_NE(errorOf("L: ret; L: ret;"), "");
  EXPECT_NE(errorOf("tcgen05.fence::before_thread_sync;"), "");
}

TEST(Parse, RefusesWhatIsNewerThanTheModule) {
  std::string head = ".version 7.0\n.target sm_70\n.address_size 64\n";
  auto old = parse(snippetText("redux.sync.add.s32 %r0, %r1, -1;", "", head), "test.ptx");
  ASSERT_FALSE(old.ok());
  EXPECT_NE(old.status().message.find("sm_80"), std::string::npos) << old.status().message;
}

TEST(Parse, ScopesHaveTheirOwnNames) {
  EXPECT_EQ(
      resultOf("{ .reg .b32 x; mov.u32 x, 1; { .reg .b32 x; mov.u32 x, 2; } st.global.u32 [%out], x; }"), 1u);
  EXPECT_EQ(errorOf("{ .reg .b32 y; bra L; L: } { .reg .b32 y; bra L; L: }"), "");
}

// As ptxas takes and refuses them.
TEST(Parse, InitialValuesFitTheirVariable) {
  auto errorOfVariable = [](const std::string &variable) {
    auto module = parse(snippetText("", variable), "test.ptx");
    return module ? "" : module.status().message;
  };
  for (const char *good : {".global .s32 a[2][3] = {{1}, {4, 5, 6}};", ".global .v2 .s32 a[2] = {{1, 2}};",
                           ".global .s32 a[6] = {};", ".global .b32 a = 1.5;", ".global .f64 a = 0f3F800000;",
                           ".global .s32 a[] = {1, 2}, b = 3;", ".const .v2 .u32 a[] = {{1, 2}, {3, 4}};",
                           ".global .f32 a[3] = {.5, 1e5, 1.0e-5};", ".global .u32 a[2] = {0x1e5, 0b11U};"})
    EXPECT_EQ(errorOfVariable(good), "") << good;
  for (const char *bad :
       {".global .s32 a = 1.5;", ".global .s32 a = 0f3F800000;", ".global .f32 a = 3;", ".global .f64 a = 3;",
        ".global .s32 a[4] = 7;", ".global .s32 a = {7};", ".global .s32 a[2][3] = {1, 2, {4, 5, 6}};",
        ".global .s32 a[2][3] = {1, 2, 3};", ".global .s32 a[6] = {1, 2,};", ".global .s32 a[6] = {1 2};",
        ".global .s32 a[2] = {1, 2, 3};", ".global .v2 .u32 a[2] = {{1}, {3}};", ".global .v2 .u32 a = {1};",
        ".global .u32 a[] = {};", ".global .u32 a[2][] = {{1}};", ".global .u32 a[] = 1;",
        ".global .u8 a[4294967296][4294967296];"})
    EXPECT_NE(errorOfVariable(bad).find("test.ptx:"), std::string::npos) << bad;
}

// ptxas has these bounds, too.
TEST(Parse, ConstantsOfBarriersAndEventsAreInTheirRange) {
  for (const char *good :
       {"mbarrier.arrive.shared.b64 _, [%rd1], 1;", "mbarrier.arrive.expect_tx.shared.b64 _, [%rd1], 0;",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%rd1], 1;", "pmevent 15;"})
    EXPECT_EQ(errorOf(good), "") << good;
  for (const char *bad :
       {"mbarrier.arrive.shared.b64 _, [%rd1], -1;",
        "mbarrier.arrive.release.cta.shared.b64 %rd2, [%rd1], 0;",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%rd1], 2;",
        "mbarrier.test_wait.parity.shared.b64 %p1, [%rd1], -1;", "pmevent 16;", "pmevent -1;"})
    EXPECT_NE(errorOf(bad).find("test.ptx:"), std::string::npos) << bad;
}

TEST(Parse, CommentsMayStandWithinAMnemonic) {
  EXPECT_EQ(
      resultOf("mov.u32 %r1, 3; add/* of */.u32/*\n*/ // numbers\n %r0, %r1, 1; st.global.u32 [%out], %r0;"),
      4u);
  EXPECT_NE(errorOf("add/* of */.f7 %r0, %r1, 1;").find("no such form of this instruction: `add.f7`"),
            std::string::npos);
}

TEST(Parse, ARegisterIsDeclaredOnce) {
  EXPECT_NE(errorOf(".reg .u32 %r1;").find("declared already"), std::string::npos);
  EXPECT_EQ(errorOf("{ .reg .u32 %r1; mov.u32 %r1, 1; } .reg .u32 %r64;"), "");
}

TEST(Parse, LimitsOfRegistersAreMultiplesOfEight) {
  EXPECT_EQ(errorOf("setmaxnreg.inc.sync.aligned.u32 240; setmaxnreg.dec.sync.aligned.u32 24;"), "");
  for (const char *bad : {"16", "31", "264", "-8", "%r1"})
    EXPECT_NE(errorOf(std::string("setmaxnreg.inc.sync.aligned.u32 ") + bad + ";"), "") << bad;
}

TEST(Parse, AnArrayWithoutAnExtentHasAsManyElementsAsValues) {
  std::string variables = ".global .u32 a[] = {5, 6, 7};\n.global .u32 b = 8;\n";
  SnippetRun run =
      runText(snippetText("ld.global.u32 %r0, [a+8]; st.global.u32 [%out], %r0;", variables), {});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.out[0], 7u);
}

TEST(Parse, ARegisterInBracesIsAVectorOfOne) {
  EXPECT_EQ(
      resultOf("ld.global.b32 { %r1 }, [%in]; mov.b32 {%r2}, {%r1}; st.global.b32 [%out], { %r2 };", {7}),
      7u);
  EXPECT_NE(errorOf("add.u32 {%r0}, %r1, %r2;"), "");
  EXPECT_NE(errorOf("mov.u32 %r0, {%r1};"), "");
  EXPECT_NE(errorOf("red.global.add.u32 [%in], {%r1};"), "");
  EXPECT_NE(errorOf("ld.global.v2.b32 {%r1}, [%in];"), "");
}

TEST(Parse, HalvesOfBothKindsConvertToNearestWithoutARounding) {
  // 1 + 2^-8 lies between two numbers of bf16, and goes to the even one.
  EXPECT_EQ(resultOf("mov.b16 %h0, 0x3c04; cvt.bf16.f16 %h1, %h0; st.global.b16 [%out], %h1;"), 0x3f80u);
  EXPECT_EQ(resultOf("mov.b16 %h0, 0x3f81; cvt.f16.bf16 %h1, %h0; st.global.b16 [%out], %h1;"), 0x3c08u);
}

const char *const twice = R"(
.func (.param .b32 result) twice(.param .b32 x);
.func (.param .b32 result) fourTimes(.param .b32 x)
{
  .reg .b32 %r<4>; .param .b32 a, b;
  ld.param.b32 %r1, [x];
  st.param.b32 [a], %r1;
  call.uni (b), twice, (a);
  ld.param.b32 %r2, [b];
  st.param.b32 [a], %r2;
  call.uni (b), twice, (a);
  ld.param.b32 %r3, [b];
  st.param.b32 [result], %r3;
  ret;
}
.func (.param .b32 result) twice(.param .b32 x)
{
  .reg .b32 %r<4>; .reg .pred %p;
  ld.param.b32 %r1, [x];
  setp.lt.u32 %p, %r1, 100;
  @%p bra SMALL;
  st.param.b32 [result], 0;
  ret;
SMALL:
  add.u32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
}
)";

TEST(Parse, AFunctionWithABodyIsCalled) {
  std::string body = R"(
    .param .b32 a, b;
    ld.global.b32 %r1, [%in];
    mov.u32 %r2, 1;
    st.param.b32 [a], %r1;
    st.param.b32 [b], %r2;
    setp.ne.u32 %p1, %r1, 5;
    @%p1 call.uni (b), fourTimes, (a);
    ld.param.b32 %r2, [b];
    st.global.b32 [%out], %r2;)";
  SnippetRun run = runText(snippetText(body, twice), {3, 40, 5, 60, 200}, 5);
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.report.findings.empty());
  EXPECT_EQ(run.out, (std::vector<uint64_t>{12, 160, 1, 0, 0}));
}

TEST(Parse, AFunctionThatCallsItselfAndAWrongCallAreRefused) {
  auto errorWith = [](const std::string &functions, const std::string &body) {
    auto module = parse(snippetText(body, functions), "test.ptx");
    return module ? "" : module.status().message;
  };
  EXPECT_NE(errorWith(".func f() { call f; ret; }", "call f;").find("calls itself"), std::string::npos);
  EXPECT_NE(errorWith(twice, ".param .b32 a; call (a), twice;").find("number of parameters"),
            std::string::npos);
  EXPECT_NE(errorWith(twice, ".param .b32 a; .param .b64 b; call (a), twice, (b);").find("another size"),
            std::string::npos);
  EXPECT_NE(errorWith(twice, ".param .b32 a; call (a), twice, (%r1);").find("no .param variable"),
            std::string::npos);
  // Each calls the one before it twice: 2^59 bodies.
  std::string functions = ".func f0() { ret; }\n";
  for (int i = 1; i != 60; ++i) {
    std::string before = "f" + std::to_string(i - 1);
    functions += ".func f" + std::to_string(i) + "() { call " + before + "; call " + before + "; ret; }\n";
  }
  EXPECT_NE(errorWith(functions, "call f59;").find("more than this machine executes"), std::string::npos);
}

TEST(Parse, SourceLines) {
  auto module = parse(snippetText(".loc 1 10 3\nadd.u32 %r0, 1, 2;\n.loc 2 5 1, function_name N, inlined_at "
                                  "1 12 4\nadd.u32 %r0, 1, 2;",
                                  ".file 1 \"kernel.py\"\n.file 2 \"inner.py\""),
                      "test.ptx");
  ASSERT_TRUE(module.ok()) << module.status().message;
  const PtxKernel &kernel = *(*module)->kernels[0];
  auto count = uint32_t(kernel.instructions.size());
  EXPECT_EQ(kernel.sourceLine(count - 3), 10u);
  EXPECT_EQ(kernel.sourceFile(count - 3), "kernel.py");
  EXPECT_EQ(kernel.sourceLine(count - 2), 12u);
  EXPECT_EQ(kernel.sourceFile(count - 2), "kernel.py");
}

TEST(Parse, BadTextNeverCrashes) {
  std::string good = snippetText("L: ld.global.v2.b32 {%r0, %r1}, [%in+8]; @!%p1 bra L; { .reg .b32 z; }");
  for (size_t i = 0; i < good.size(); ++i) {
    (void)parse(std::string_view(good).substr(0, i), "cut");
    std::string changed = good;
    changed[i] = "{}[]();,.%@0x\"\0"[i % 15];
    (void)parse(changed, "changed");
    changed.erase(i, 1 + i % 7);
    (void)parse(changed, "erased");
  }
  (void)parse(std::string(100000, '{'), "deep");
  (void)parse(good + std::string(1000000, '('), "deep");
}

} // namespace
} // namespace tegula::ptxvm
