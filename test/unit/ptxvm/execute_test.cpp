// Warps, blocks, memory spaces, barriers and what goes wrong with them.
#include "Snippet.h"

#include <bit>
#include <cmath>

namespace tegula::ptxvm {
namespace {

TEST(Execute, LanesThatPartMeetAgain) {
  // Even lanes take one side, odd ones the other; after it all vote.
  auto run = runBody(R"(
    and.b32 %r0, %t, 1;
    setp.eq.s32 %p1, %r0, 0;
    mov.u32 %r1, 5;
    @%p1 bra EVEN;
    mov.u32 %r1, 7;
    bra.uni DONE;
  EVEN:
    mov.u32 %r1, 9;
  DONE:
    activemask.b32 %r2;
    mov.b64 %rd0, {%r1, %r2};
    st.global.u64 [%out], %rd0;)",
                     {}, 64);
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.report.findings.empty());
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(run.out[i], (uint64_t(0xffffffff) << 32) | (i % 2 ? 7 : 9));
}

TEST(Execute, LoopsRunAsLongAsEachLaneNeeds) {
  auto run = runBody(R"(
    mov.u32 %r0, 0;
    mov.u32 %r1, 0;
  LOOP:
    add.s32 %r1, %r1, %r0;
    add.s32 %r0, %r0, 1;
    setp.le.s32 %p1, %r0, %t;
    @%p1 bra LOOP;
    activemask.b32 %r2;
    mov.b64 %rd0, {%r1, %r2};
    st.global.u64 [%out], %rd0;)",
                     {}, 32);
  EXPECT_TRUE(run.report.ok());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], (uint64_t(0xffffffff) << 32) | i * (i + 1) / 2) << i;
}

TEST(Execute, ExitsInsideOfDivergentCode) {
  auto run = runBody(R"(
    setp.lt.u32 %p1, %t, 10;
    @%p1 ret;
    setp.lt.u32 %p2, %t, 20;
    @%p2 bra END;
    setp.eq.u32 %p3, %t, 31;
    @%p3 exit;
  END:
    activemask.b32 %r2;
    st.global.u32 [%out], %r2;)",
                     {}, 32);
  EXPECT_TRUE(run.report.ok());
  EXPECT_EQ(run.out[9], 0u);
  EXPECT_EQ(run.out[10], 0x7ffffc00u);
  EXPECT_EQ(run.out[31], 0u);
}

TEST(Execute, IndexedBranches) {
  auto run = runBody(R"(
    and.b32 %r0, %t, 3;
  LIST: .branchtargets A, B, C, A;
    brx.idx %r0, LIST;
  A: mov.u32 %r1, 1; bra D;
  B: mov.u32 %r1, 2; bra D;
  C: mov.u32 %r1, 3;
  D: st.global.u32 [%out], %r1;)",
                     {}, 4);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.out, (std::vector<uint64_t>{1, 2, 3, 1}));
}

const char *reversal = R"(
    .shared .align 8 .b8 tile[1024];
    mov.u32 %r0, tile;
    shl.b32 %r1, %t, 3;
    add.s32 %r2, %r0, %r1;
    ld.global.u64 %rd0, [%in];
    st.shared.u64 [%r2], %rd0;
    bar.sync 0;
    sub.s32 %r3, 1016, %r1;
    ld.shared.u64 %rd1, [%r3];
    st.global.u64 [%out], %rd1;)";

TEST(Execute, SharedMemoryAndBarriersUnderEverySchedule) {
  std::vector<uint64_t> in(128);
  for (unsigned i = 0; i < 128; ++i)
    in[i] = i * 3;
  for (auto kind : {Schedule::Kind::RoundRobin, Schedule::Kind::Random, Schedule::Kind::Priority})
    for (uint64_t seed = 0; seed < 5; ++seed) {
      auto run = runText(snippetText(reversal), in, 128, {kind, seed});
      ASSERT_EQ(run.error, "");
      EXPECT_TRUE(run.report.findings.empty());
      for (unsigned i = 0; i < 128; ++i)
        EXPECT_EQ(run.out[i], in[127 - i]);
    }
}

TEST(Execute, LanesStayApartUntilTheyAreBroughtTogether) {
  // No lane may count on meeting the others behind a branch, but each comes to the barrier and the shuffle.
  std::string text = snippetText(R"(
    .shared .align 4 .u32 sum;
    setp.eq.u32 %p0, %t, 0;
    @%p0 st.shared.u32 [sum], 0;
    bar.sync 0;
    mov.u32 %r0, 0;
  LOOP:
    atom.shared.add.u32 %r3, [sum], 1;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p1, %r0, %t;
    @%p1 bra LOOP;
    activemask.b32 %r4;
    bar.sync 0;
    shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;
    ld.shared.u32 %r2, [sum];
    mov.b64 %rd0, {%r1, %r2};
    st.global.u64 [%out], %rd0;)");
  for (uint64_t seed = 0; seed < 5; ++seed) {
    auto run = runText(text, {}, 64, {Schedule::Kind::Apart, seed});
    EXPECT_TRUE(run.report.ok()) << run.error;
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(run.out[i], uint64_t(1 + 63 * 64 / 2) << 32 | (i ^ 1));
  }
}

TEST(Execute, LanesApartSeeThatNothingOrdersThem) {
  // Behind the branch each lane reads what its neighbour wrote on the other side: right only if they meet.
  std::string text = snippetText(R"(
    .shared .align 4 .u32 cell;
    setp.eq.u32 %p0, %t, 0;
    @%p0 st.shared.u32 [cell], 1;
    bar.warp.sync -1;
    @%p0 bra WRITE;
    bra READ;
  WRITE:
    st.shared.u32 [cell], 2;
  READ:
    ld.shared.u32 %r0, [cell];
    st.global.u32 [%out], %r0;)");
  EXPECT_EQ(runText(text, {}, 2).out[1], 2u);
  bool differs = false;
  for (uint64_t seed = 0; seed < 20; ++seed)
    differs |= runText(text, {}, 2, {Schedule::Kind::Apart, seed}).out[1] != 2;
  EXPECT_TRUE(differs);
}

TEST(Execute, WarpBarriersMayStandInDifferentPlaces) {
  auto run = runBody(R"(
    setp.lt.u32 %p0, %t, 16;
    @%p0 bra LOW;
    bar.warp.sync -1;
    bra END;
  LOW:
    bar.warp.sync -1;
  END:
    st.global.u32 [%out], 1;)",
                     {}, 32);
  EXPECT_TRUE(run.report.ok()) << run.error;
}

TEST(Execute, LanesThatLeftAreNotWaitedFor) {
  auto run = runBody(R"(
    setp.lt.u32 %p0, %t, 16;
    @%p0 bra LOW;
    shfl.sync.bfly.b32 %r0, %t, 1, 31, -1;
    st.global.u32 [%out], %r0;
    ret;
  LOW:
    nanosleep.u32 10;
    exit;)",
                     {}, 32);
  EXPECT_TRUE(run.report.ok()) << run.error;
  EXPECT_EQ(run.out[16], 17u);
}

TEST(Execute, DynamicSharedMemoryThroughGenericAddresses) {
  std::string text = snippetText(R"(
    mov.u64 %rd0, dyn;
    cvta.shared.u64 %rd1, %rd0;
    st.u32 [%rd1+4], 77;
    ld.shared.u32 %r0, [dyn+4];
    isspacep.shared %p1, %rd1;
    isspacep.global %p2, %rd1;
    isspacep.global %p3, %out;
    selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; selp.u32 %r3, 4, 0, %p3;
    or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3;
    mov.b64 %rd2, {%r0, %r1};
    st.u64 [%out], %rd2;)",
                                 ".extern .shared .align 16 .b8 dyn[];");
  auto run = runText(text, {}, 1, {}, 64);
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.report.findings.empty());
  EXPECT_EQ(run.out[0], uint64_t(5) << 32 | 77);
}

TEST(Execute, LocalMemoryIsEachLanesOwn) {
  auto run = runBody(R"(
    .local .align 8 .b8 depot[16];
    mov.b64 %rd0, depot;
    cvta.local.u64 %rd1, %rd0;
    st.local.u32 [%rd0+8], %t;
    ld.u32 %r0, [%rd1+8];
    st.global.u32 [%out], %r0;)",
                     {}, 40);
  EXPECT_TRUE(run.report.ok()) << run.error;
  for (unsigned i = 0; i < 40; ++i)
    EXPECT_EQ(run.out[i], i);
}

TEST(Execute, VectorsOfMemory) {
  auto run = runBody(R"(
    ld.global.v4.b16 {%h0, %h1, %h2, _}, [%in];
    cvt.u32.u16 %r0, %h2;
    ld.global.v2.u8 {%h3, %h4}, [%in+2];
    cvt.u32.u16 %r1, %h4;
    mov.b64 %rd0, {%r0, %r1};
    st.global.v2.b32 [%out], {%r0, %r1};)",
                     {0x8877665544332211});
  EXPECT_TRUE(run.report.ok()) << run.error;
  EXPECT_EQ(run.out[0], 0x0000004400006655u);
}

// Blackwell's: narrow sources become f32 exactly, and there is one rounding; the least and largest of three.
TEST(Execute, NarrowSourcesAndExtremesOfThree) {
  auto bits = [&](const std::string &text) {
    std::string body = "mov.b16 %h0, 0x3c01; mov.b16 %h1, 0xbf81;\n" + text +
                       "\nmov.b32 %r0, %f0; st.global.u32 [%out], %r0;";
    auto run = runText(snippetText(body, "", ".version 8.8\n.target sm_100\n.address_size 64\n"), {});
    EXPECT_EQ(run.error, "") << text;
    return uint32_t(run.out[0]);
  };
  auto of = [](float value) { return std::bit_cast<uint32_t>(value); };
  constexpr float half = 1.0009765625f, brain = -1.0078125f; // 0x3c01, 0xbf81
  EXPECT_EQ(bits("add.rn.f32.f16 %f0, %h0, 0f33800000;"), of(half + 0x1p-24f));
  EXPECT_EQ(bits("sub.f32.bf16 %f0, %h1, 0f40400000;"), of(brain - 3.0f));
  EXPECT_EQ(bits("fma.rn.f32.f16 %f0, %h0, %h0, 0fBF800000;"), of(half * half - 1.0f));
  EXPECT_EQ(bits("fma.rz.f32.bf16 %f0, %h1, %h1, 0f4B800001;"), of(16777218.0f));
  EXPECT_EQ(bits("fma.rp.f32.bf16 %f0, %h1, %h1, 0f4B800001;"), of(16777220.0f));
  EXPECT_EQ(bits("add.sat.f32.f16 %f0, %h0, 0f40000000;"), of(1.0f));
  EXPECT_EQ(bits("max.f32 %f0, 0f7FC00000, 0f3F800000, 0f40000000;"), of(2.0f));
  EXPECT_EQ(bits("min.f32 %f0, 0fBF800000, 0f3F800000, 0f40000000;"), of(-1.0f));
  EXPECT_EQ(bits("max.NaN.f32 %f0, 0f3F800000, 0f7FC00000, 0f40000000;"), 0x7fffffffu);
  // Older targets have none of them.
  EXPECT_NE(runBody("add.rn.f32.f16 %f0, %h0, %f1;").error, "");
  EXPECT_NE(runBody("max.f32 %f0, %f1, %f2, %f3;").error, "");
}

TEST(Execute, InitialisedVariables) {
  std::string text = snippetText(R"(
    ld.const.f32 %f0, [table+4];
    ld.global.u64 %rd1, [pointer];
    ld.u32 %r1, [%rd1];
    mov.b32 %r0, %f0;
    mov.b64 %rd0, {%r0, %r1};
    st.global.u64 [%out], %rd0;)",
                                 R"(
    .const .align 4 .f32 table[2] = {1.0, 0f40000000};
    .global .align 4 .u32 values[3] = {1, 2, 3};
    .global .align 8 .u64 pointer = generic(values)+8;)");
  EXPECT_EQ(runText(text, {}).error, "");
  EXPECT_EQ(runText(text, {}).out[0], uint64_t(3) << 32 | 0x40000000);
}

TEST(Execute, AtomicsOfManyBlocks) {
  std::string text = snippetText(R"(
    atom.global.add.u32 %r0, [%base], 1;
    red.global.max.s32 [%base+4], %t;
    atom.global.cas.b32 %r1, [%base+8], 0, 5;
    red.global.add.f32 [%base+12], 0f3F800000;)");
  auto run = runText(text, {}, 64, {}, 0, {}, 10);
  EXPECT_TRUE(run.report.ok()) << run.error;
  EXPECT_EQ(run.out[0], uint64_t(63) << 32 | 640);
  EXPECT_EQ(run.out[1], uint64_t(0x44200000) << 32 | 5);
}

TEST(Execute, ExchangesBetweenLanes) {
  auto run = runBody(R"(
    shfl.sync.bfly.b32 %r0|%p1, %t, 1, 0x1f, -1;
    shfl.sync.down.b32 %r1|%p2, %t, 8, 0x1f, -1;
    shfl.sync.up.b32 %r2, %t, 1, 0, -1;
    shfl.sync.idx.b32 %r3, %t, 3, 0x181f, -1;
    setp.gt.u32 %p3, %t, 15;
    vote.sync.ballot.b32 %r4, %p3, -1;
    redux.sync.add.s32 %r5, %t, -1;
    and.b32 %r6, %t, 1;
    match.any.sync.b32 %r7, %r6, -1;
    selp.u32 %r8, 100, 0, %p2;
    add.u32 %r1, %r1, %r8;
    add.u32 %r9, %r0, %r1; add.u32 %r9, %r9, %r2; add.u32 %r9, %r9, %r3;
    xor.b32 %r4, %r4, %r7; xor.b32 %r4, %r4, %r5;
    mov.b64 %rd0, {%r9, %r4};
    st.global.u64 [%out], %rd0;)",
                     {}, 32);
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.report.findings.empty());
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t sum = (i ^ 1) + (i + 8 < 32 ? i + 8 + 100 : i) + (i ? i - 1 : 0) + ((i & 24) | 3);
    uint32_t bits = 0xffff0000u ^ (i & 1 ? 0xaaaaaaaau : 0x55555555u) ^ 496u;
    EXPECT_EQ(run.out[i], uint64_t(bits) << 32 | sum) << i;
  }
}

TEST(Execute, BarriersReduceOverTheBlock) {
  auto run = runBody(R"(
    setp.lt.u32 %p1, %t, 40;
    bar.red.popc.u32 %r0, 1, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3; or.b32 %r1, %r1, %r2;
    mov.b64 %rd0, {%r0, %r1};
    st.global.u64 [%out], %rd0;)",
                     {}, 64);
  EXPECT_TRUE(run.report.ok()) << run.error;
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(run.out[i], uint64_t(2) << 32 | 40);
}

TEST(Execute, ProducersArriveConsumersWait) {
  auto run = runBody(R"(
    .shared .align 4 .u32 cell;
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra PRODUCE;
    bar.sync 3, 64;
    ld.shared.u32 %r0, [cell];
    st.global.u32 [%out], %r0;
    bra END;
  PRODUCE:
    st.shared.u32 [cell], 42;
    bar.arrive 3, 64;
  END:)",
                     {}, 64);
  EXPECT_TRUE(run.report.ok()) << run.error;
  EXPECT_EQ(run.out[40], 42u);
}

TEST(Execute, PrintsAndFailsAssertions) {
  std::string declarations = R"(
    .extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
    .extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
    .global .align 1 .b8 format[16] = {104, 105, 32, 37, 100, 32, 37, 46, 49, 102, 10, 0};
    .global .align 1 .b8 what[4] = {120, 62, 48, 0};)";
  std::string print = R"(
    .local .align 8 .b8 depot[16];
    mov.b64 %rd0, depot;
    cvta.local.u64 %rd1, %rd0;
    st.local.u32 [%rd0], -5;
    st.local.f64 [%rd0+8], 0d4004000000000000;
    mov.b64 %rd2, format;
    cvta.global.u64 %rd3, %rd2;
    { // callseq 0, 0
    .param .b64 param0;
    .param .b64 param1;
    .param .b32 retval0;
    st.param.b64 [param0], %rd3;
    st.param.b64 [param1], %rd1;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r0, [retval0];
    } // callseq 0
  )";
  auto run = runText(snippetText(print, declarations), {});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.report.printed, "hi -5 2.5\n");
  std::string fail = R"(
    mov.b64 %rd2, what;
    {
    .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    st.param.b64 [p0], %rd2; st.param.b64 [p1], %rd2; st.param.b32 [p2], 12; st.param.b64 [p3], %rd2; st.param.b64 [p4], 1;
    call.uni __assertfail, (p0, p1, p2, p3, p4);
    })";
  auto failed = runText(snippetText(fail, declarations), {});
  EXPECT_EQ(failed.error, "");
  ASSERT_TRUE(hasFinding(failed, FindingKind::AssertFailed));
  EXPECT_EQ(failed.report.findings[0].message, "x>0 (x>0:12, in x>0)");
}

// ---- what goes wrong -----------------------------------------------------------------------

TEST(Findings, AccessesOutsideOfMemory) {
  auto far = runBody("ld.global.u32 %r0, [%in+8];", {1}, 1);
  ASSERT_TRUE(hasFinding(far, FindingKind::OutOfBounds));
  EXPECT_EQ(far.report.findings[0].message.find("reads 4 bytes at address"), 0u);
  EXPECT_NE(far.report.findings[0].message.find("byte 8 of in, which has 8"), std::string::npos);
  EXPECT_TRUE(hasFinding(runBody("mov.u64 %rd0, 0; st.u32 [%rd0], 1;"), FindingKind::OutOfBounds));
  EXPECT_TRUE(hasFinding(runBody("mov.u32 %r0, 4096; st.shared.u32 [%r0], 1;"), FindingKind::OutOfBounds));
  EXPECT_TRUE(hasFinding(runBody("ld.global.u32 %r0, [%in+2];"), FindingKind::Misaligned));
  EXPECT_TRUE(hasFinding(runBody("st.global.u32 [%in], 1;"), FindingKind::ReadOnly));
}

TEST(Findings, BarriersThatPartOfAWarpReaches) {
  auto run = runBody("setp.lt.u32 %p1, %t, 16; @%p1 bra L; bar.sync 0; L: st.global.u32 [%out], 1;", {}, 64);
  ASSERT_TRUE(hasFinding(run, FindingKind::DivergentBarrier)) << run.error;
  EXPECT_TRUE(hasFinding(run, FindingKind::MissingBarrier));
}

TEST(Findings, BarriersThatAWarpMisses) {
  auto run = runBody("setp.lt.u32 %p1, %t, 32; @%p1 bra L; bar.sync 1; bra M; L: bar.sync 2; M:", {}, 64);
  ASSERT_TRUE(hasFinding(run, FindingKind::MissingBarrier)) << run.error;
  EXPECT_NE(run.report.findings[0].message.find("warp 1: lanes 0-31 at line"), std::string::npos)
      << run.report.findings[0].message;
}

TEST(Findings, ShufflesWhoseLanesDoNotCome) {
  auto run =
      runBody("setp.lt.u32 %p1, %t, 16; @%p1 bra L; shfl.sync.bfly.b32 %r0, %t, 1, 31, -1; L:", {}, 32);
  EXPECT_TRUE(hasFinding(run, FindingKind::MaskMismatch));
  auto odd =
      runBody("setp.lt.u32 %p1, %t, 16; @%p1 bra L; shfl.sync.bfly.b32 %r0, %t, 1, 31, 0xffff; L:", {}, 32);
  EXPECT_TRUE(hasFinding(odd, FindingKind::MaskMismatch));
  auto absent = runBody(
      "setp.lt.u32 %p1, %t, 16; @%p1 bra L; shfl.sync.idx.b32 %r0, %t, 1, 31, 0xffff0000; L:", {}, 32);
  EXPECT_TRUE(hasFinding(absent, FindingKind::InactiveSource));
}

TEST(Findings, EndlessLoopsAndTraps) {
  EXPECT_TRUE(hasFinding(runBody("L: bra L;"), FindingKind::StepLimit));
  EXPECT_TRUE(hasFinding(runBody("trap;"), FindingKind::Trap));
}

TEST(Launching, RefusesWhatDoesNotFit) {
  std::string text = snippetText("");
  auto module = parse(text, "test.ptx");
  ASSERT_TRUE(module.ok());
  Launch launch;
  EXPECT_EQ(run(**module, "test", launch).status.code, StatusCode::Launch);
  EXPECT_EQ(run(**module, "nothing", launch).status.code, StatusCode::Launch);
  launch.parameters = {0, 0};
  launch.block = {2048, 1, 1};
  EXPECT_EQ(run(**module, "test", launch).status.code, StatusCode::Resource);
}

// As upstream reduces on Blackwell.
TEST(Execute, ReduxOfFloatsPassesNaNsOverUnlessItIsToKeepThem) {
  auto results = [](const std::string &form, uint32_t ofLane3) {
    std::string body = "cvt.rn.f32.u32 %f0, %t; sub.f32 %f0, 0f40A00000, %f0; setp.eq.u32 %p1, %t, 3;"
                       "@%p1 mov.b32 %f0, " +
                       std::to_string(ofLane3) + ";" + form +
                       " %f1, %f0, -1; mov.b32 %r1, %f1; st.global.u32 [%out], %r1;";
    SnippetRun run =
        runText(snippetText(body, "", ".version 8.6\n.target sm_100a\n.address_size 64\n"), {}, 32);
    EXPECT_EQ(run.error, "") << form;
    for (uint64_t lane : run.out)
      EXPECT_EQ(lane, run.out[0]);
    return std::bit_cast<float>(uint32_t(run.out[0]));
  };
  constexpr uint32_t nan = 0x7fc00001, minusZero = 0x80000000;
  EXPECT_EQ(results("redux.sync.max.f32", nan), 5.0f);
  EXPECT_EQ(results("redux.sync.min.f32", nan), -26.0f);
  EXPECT_EQ(results("redux.sync.max.abs.f32", nan), 26.0f);
  EXPECT_EQ(results("redux.sync.min.abs.f32", minusZero), 0.0f);
  EXPECT_TRUE(std::isnan(results("redux.sync.max.NaN.f32", nan)));
  EXPECT_TRUE(std::isnan(results("redux.sync.min.abs.NaN.f32", nan)));
}

} // namespace
} // namespace tegula::ptxvm
