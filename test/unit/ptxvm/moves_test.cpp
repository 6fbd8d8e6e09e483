// Moves, conversions, memory forms and float instructions as whole instructions; the arithmetic has
// its own tests (float_test.cpp).
#include "Snippet.h"

namespace tegula::ptxvm {
namespace {

TEST(Moves, PackAndUnpack) {
  EXPECT_EQ(resultOf("mov.b64 %rd0, 0x1122334455667788; mov.b64 {%r0, %r1}, %rd0; mov.b64 %rd1, {%r1, %r0}; "
                     "st.global.b64 [%out], %rd1;"),
            0x5566778811223344u);
  EXPECT_EQ(resultOf("mov.b64 %rd0, 0x1122334455667788; mov.b64 {%h0, %h1, _, %h3}, %rd0; mov.b32 %r0, {%h3, "
                     "%h1}; st.global.b32 [%out], %r0;"),
            0x55661122u);
  EXPECT_EQ(
      resultOf("mov.b64 %rd0, 7; mov.b64 %rd1, 9; .reg .b128 %q<8>; mov.b128 %q0, {%rd0, %rd1}; mov.b128 "
               "%q1, %q0; mov.b128 {%rd2, %rd3}, %q1; sub.s64 %rd4, %rd3, %rd2; st.global.b64 [%out], %rd4;"),
      2u);
}

TEST(Moves, WideLoadsAndStores) {
  auto run =
      runText(snippetText(".reg .b128 %q<8>; .shared .align 16 .b8 s[32]; mov.u32 %r0, s; mov.b64 %rd0, 3; "
                          "mov.b64 %rd1, 4; mov.b128 %q0, {%rd0, %rd1};"
                          "st.shared.b128 [%r0+16], %q0; ld.shared.v2.b64 {%rd2, %rd3}, [%r0+16]; shl.b64 "
                          "%rd3, %rd3, 8; or.b64 %rd2, %rd2, %rd3; st.global.b64 [%out], %rd2;"),
              {});
  EXPECT_TRUE(run.report.ok()) << run.error;
  EXPECT_EQ(run.out[0], 0x403u);
}

TEST(Moves, LoadsExtendIntoWiderRegisters) {
  EXPECT_EQ(resultOf("ld.global.s8 %r0, [%in]; ld.global.u8 %r1, [%in]; mov.b64 %rd0, {%r0, %r1}; "
                     "st.global.b64 [%out], %rd0;",
                     {0x80}),
            0x00000080ffffff80u);
  EXPECT_EQ(resultOf("ld.global.s32 %rd0, [%in]; st.global.b64 [%out], %rd0;", {0x80000000}),
            0xffffffff80000000u);
  EXPECT_EQ(resultOf("ld.global.s8 %h0, [%in]; cvt.u32.u16 %r0, %h0; st.global.b32 [%out], %r0;", {0x80}),
            0xff80u);
}

TEST(Moves, ConvertsBetweenKinds) {
  EXPECT_EQ(resultOf("cvt.rn.f16.f32 %h0, 0f3F800000; cvt.rn.bf16x2.f32 %r0, 0f40000000, 0f3F800000; "
                     "cvt.u32.u16 %r1, %h0; mov.b64 %rd0, {%r0, %r1}; st.global.b64 [%out], %rd0;"),
            0x00003c0040003f80u);
  EXPECT_EQ(resultOf("cvt.rzi.s32.f32 %r0, 0fC0266666; cvt.rni.u8.f32 %r1, 0f43FF0000; mov.b64 %rd0, {%r0, "
                     "%r1}; st.global.b64 [%out], %rd0;"),
            0x000000fffffffffeu);
  EXPECT_EQ(resultOf("cvt.rn.satfinite.e4m3x2.f32 %h0, 0f43E00000, 0f3F800000; cvt.rn.f16x2.e4m3x2 %r0, %h0; "
                     "cvt.u32.u16 %r1, %h0; mov.b64 %rd0, {%r0, %r1}; st.global.b64 [%out], %rd0;"),
            0x00007e385f003c00u);
  EXPECT_EQ(resultOf("cvt.rn.f64.s64 %fd0, -3; cvt.rn.f32.f64 %f0, %fd0; st.global.f32 [%out], %f0;"),
            0xc0400000u);
}

TEST(Floats, InstructionsReachTheirArithmetic) {
  EXPECT_EQ(resultOf("fma.rn.f32 %f0, 0f40000000, 0f40400000, 0f3F800000; st.global.f32 [%out], %f0;"),
            0x40e00000u);
  EXPECT_EQ(resultOf("add.rz.f32 %f0, 0f3F800000, 0f33800001; st.global.f32 [%out], %f0;"), 0x3f800000u);
  EXPECT_EQ(resultOf("add.ftz.f32 %f0, 0f00000001, 0f00000001; st.global.f32 [%out], %f0;"), 0u);
  EXPECT_EQ(resultOf("mul.sat.f32 %f0, 0f40000000, 0f40400000; st.global.f32 [%out], %f0;"), 0x3f800000u);
  EXPECT_EQ(resultOf("div.rn.f64 %fd0, 0d3FF0000000000000, 0d4008000000000000; st.global.f64 [%out], %fd0;"),
            0x3fd5555555555555u);
  EXPECT_EQ(resultOf("mov.b32 %r0, 0x3c004000; add.f16x2 %r1, %r0, %r0; st.global.b32 [%out], %r1;"),
            0x40004400u);
  EXPECT_EQ(resultOf("max.NaN.f32 %f0, 0f7FC00000, 0f3F800000; st.global.f32 [%out], %f0;"), 0x7fffffffu);
  EXPECT_EQ(
      resultOf("ex2.approx.f32 %f0, 0f40400000; rcp.approx.ftz.f32 %f1, %f0; st.global.f32 [%out], %f1;"),
      0x3e000000u);
  EXPECT_EQ(
      resultOf("testp.notanumber.f32 %p0, 0f7FC00000; selp.u32 %r0, 5, 6, %p0; st.global.u32 [%out], %r0;"),
      5u);
}

uint64_t atomicOf(const std::string &instruction, uint64_t initial) {
  // In shared memory; the value afterwards.
  return resultOf(".shared .align 16 .b8 s[16]; mov.b64 %rd0, " + std::to_string(initial) +
                  "U; st.shared.b64 [s], %rd0; " + instruction +
                  " ld.shared.b64 %rd1, [s]; st.global.b64 [%out], %rd1;");
}

TEST(Atomics, EachOperation) {
  EXPECT_EQ(atomicOf("red.shared.add.u32 [s], 5;", 0xffffffff), 4u);
  EXPECT_EQ(atomicOf("red.shared.min.s32 [s], -5;", 3), 0xfffffffbu);
  EXPECT_EQ(atomicOf("red.shared.max.u64 [s], 9;", 3), 9u);
  EXPECT_EQ(atomicOf("red.shared.and.b32 [s], 6;", 3), 2u);
  EXPECT_EQ(atomicOf("red.shared.inc.u32 [s], 3;", 3), 0u);
  EXPECT_EQ(atomicOf("red.shared.dec.u32 [s], 3;", 0), 3u);
  EXPECT_EQ(
      atomicOf("atom.shared.exch.b64 %rd3, [s], 8; add.s64 %rd3, %rd3, 1; st.shared.b64 [s], %rd3;", 41),
      42u);
  EXPECT_EQ(atomicOf("atom.shared.cas.b16 %h0, [s], 3, 7;", 3), 7u);
  // Modifiers in any order.
  EXPECT_EQ(atomicOf("atom.shared.gpu.acq_rel.cas.b32 %r1, [s], 3, 7;", 3), 7u);
  EXPECT_EQ(atomicOf("atom.shared.acq_rel.gpu.cas.b32 %r1, [s], 3, 7;", 3), 7u);
  EXPECT_EQ(atomicOf("red.gpu.shared.relaxed.add.u32 [s], 4;", 3), 7u);
  EXPECT_EQ(atomicOf("red.shared.add.noftz.f16x2 [s], %r9;", 0x3c003c00), 0x3c003c00u);
  EXPECT_EQ(atomicOf("red.shared.add.f64 [s], 0d3FF0000000000000;", 0x3ff0000000000000), 0x4000000000000000u);
  EXPECT_EQ(atomicOf("mov.b32 %f0, 0f3F800000; atom.shared.add.f32 %f1, [s], %f0;", 0x40000000), 0x40400000u);
}

TEST(Runs, AreTheSameForTheSameSeed) {
  // Who is first depends on the schedule only.
  std::string text = snippetText(R"(
    .shared .align 4 .u32 turn;
    setp.eq.u32 %p0, %t, 0;
    @%p0 st.shared.u32 [turn], 0;
    bar.sync 0;
    atom.shared.add.u32 %r0, [turn], 1;
    st.global.u32 [%out], %r0;)");
  for (auto kind : {Schedule::Kind::RoundRobin, Schedule::Kind::Random, Schedule::Kind::Priority}) {
    auto first = runText(text, {}, 256, {kind, 7}), second = runText(text, {}, 256, {kind, 7});
    EXPECT_TRUE(first.report.ok()) << first.error;
    EXPECT_EQ(first.out, second.out);
  }
  EXPECT_NE(runText(text, {}, 256, {Schedule::Kind::Random, 1}).out,
            runText(text, {}, 256, {Schedule::Kind::Random, 2}).out);
}

TEST(Runs, BlocksThatWaitForEachOther) {
  // Block 0 waits for a flag that the last block sets.
  std::string text = snippetText(R"(
    mov.u32 %r0, %ctaid.x;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra WAIT;
    setp.eq.u32 %p1, %r0, 7;
    @%p1 st.release.gpu.global.u32 [%base], 5;
    ret;
  WAIT:
    ld.acquire.gpu.global.u32 %r1, [%base];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra WAIT;
    st.global.u32 [%base+4], %r1;)");
  auto run = runText(text, {}, 1, {}, 0, {}, 8);
  EXPECT_TRUE(run.report.ok()) << run.error;
  EXPECT_EQ(run.out[0], uint64_t(5) << 32 | 5);
}

TEST(Runs, FunctionsWithoutABodyAreRefusedWhereTheyAreCalled) {
  std::string declared = ".func (.param .b32 r) f (.param .b32 a);";
  EXPECT_EQ(runText(snippetText("st.global.u32 [%out], 1;", declared), {}).error, "");
  auto called = runText(snippetText("{ .param .b32 a; .param .b32 r; call.uni (r), f, (a); }", declared), {});
  EXPECT_EQ(called.report.status.code, StatusCode::Unsupported);
  EXPECT_NE(called.error.find("does not execute"), std::string::npos);
}

} // namespace
} // namespace tegula::ptxvm
