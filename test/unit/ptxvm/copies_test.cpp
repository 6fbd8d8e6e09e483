// Asynchronous copies: what arrives, when, and what an adversary may do in between.
#include "Snippet.h"

namespace tegula::ptxvm {
namespace {

constexpr Copies everyPolicy[] = {Copies::Late, Copies::AtOnce, Copies::Random};

// %r0: the thread's 16 bytes of shared memory. Each thread has 8 bytes of input; even threads copy 16.
const char *begin = R"(
    .shared .align 16 .b8 tile[2048];
    mov.u32 %r0, tile;
    mad.lo.u32 %r0, %t, 16, %r0;
    and.b32 %r9, %t, 1;
    setp.eq.u32 %p0, %r9, 0;
)";

SnippetRun copy(const std::string &body, Copies copies, unsigned threads = 32, Schedule schedule = {}) {
  std::vector<uint64_t> in(threads);
  for (unsigned i = 0; i < threads; ++i)
    in[i] = 0x1111111100000000 * (i % 15) + i;
  SnippetRun run = runText(snippetText(begin + body), in, threads, schedule, 0, {}, 1, copies);
  EXPECT_EQ(run.error, "") << body;
  return run;
}
uint64_t input(unsigned i) { return 0x1111111100000000 * (i % 15) + i; }

TEST(Copies, ArriveWhenTheyWereWaitedFor) {
  for (std::string wait : {"cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;"})
    for (Copies policy : everyPolicy) {
      SnippetRun run = copy("cp.async.ca.shared.global [%r0], [%in], 8;\n" + wait + R"(
        ld.shared.u64 %rd0, [%r0];
        st.global.u64 [%out], %rd0;)", policy);
      EXPECT_TRUE(run.report.ok());
      for (unsigned i = 0; i < 32; ++i)
        EXPECT_EQ(run.out[i], input(i));
    }
}

TEST(Copies, EachSizeAndTheRestOfItAsZeros) {
  for (Copies policy : everyPolicy) {
    SnippetRun wide = copy(R"(
      @%p0 cp.async.cg.shared.global [%r0], [%in], 16;
      cp.async.wait_all;
      @%p0 ld.shared.v2.u64 {%rd0, %rd1}, [%r0];
      @%p0 st.global.v2.u64 [%out], {%rd0, %rd1};)", policy);
    SnippetRun partial = copy(R"(
      cp.async.ca.shared.global [%r0], [%in], 8, 4;
      cp.async.wait_all;
      ld.shared.u64 %rd0, [%r0];
      st.global.u64 [%out], %rd0;)", policy);
    SnippetRun differing = copy(R"(
      and.b32 %r1, %t, 3;
      cp.async.ca.shared.global [%r0], [%in], 8, %r1;
      cp.async.wait_all;
      ld.shared.u64 %rd0, [%r0];
      st.global.u64 [%out], %rd0;)", policy);
    SnippetRun ignored = copy(R"(
      cp.async.ca.shared.global [%r0], [%in], 8, !%p0;
      cp.async.wait_all;
      ld.shared.u64 %rd0, [%r0];
      st.global.u64 [%out], %rd0;)", policy);
    EXPECT_TRUE(wide.report.ok() && partial.report.ok() && differing.report.ok() && ignored.report.ok());
    for (unsigned i = 0; i < 32; ++i) {
      EXPECT_EQ(wide.out[i], input(i));
      EXPECT_EQ(partial.out[i], i);
      EXPECT_EQ(differing.out[i], i % 4 ? i : 0u); // i fits in the byte that is there
      EXPECT_EQ(ignored.out[i], i % 2 ? 0 : input(i));
    }
  }
}

TEST(Copies, NothingIsReadBehindTheSourcesSize) {
  // The last thread's 16 bytes would end behind the buffer.
  SnippetRun run = copy("cp.async.ca.shared.global [%r0], [%in+8], 8, 0;\ncp.async.wait_all;", Copies::Late, 1);
  EXPECT_TRUE(run.report.ok());
  EXPECT_TRUE(hasFinding(copy("cp.async.ca.shared.global [%r0], [%in+8], 8;\ncp.async.wait_all;", Copies::Late, 1),
                         FindingKind::OutOfBounds));
}

TEST(Copies, GroupsCompleteInTheirOrder) {
  // Three groups; wait_group 1 leaves the last under way, whose bytes are poison until the end.
  std::string body = R"(
    cp.async.ca.shared.global [%r0], [%in], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r0+4], [%in], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r0+8], [%in], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r1, [%r0+4];
    ld.shared.u32 %r2, [%r0+8];
    ld.shared.u32 %r3, [%r0];
    xor.b32 %r1, %r1, %r3;
    mov.b64 %rd0, {%r1, %r2};
    st.global.u64 [%out], %rd0;
    cp.async.wait_all;)";
  EXPECT_EQ(copy(body, Copies::Late).out[5], uint64_t(0xffffffff) << 32);
  EXPECT_EQ(copy(body, Copies::AtOnce).out[5], uint64_t(5) << 32);
  bool differs = false;
  for (uint64_t seed = 0; seed < 20; ++seed)
    differs |= copy(body, Copies::Random, 32, {Schedule::Kind::Random, seed}).out != copy(body, Copies::Late).out;
  EXPECT_TRUE(differs);
}

TEST(Copies, AnEmptyGroupCounts) {
  SnippetRun run = copy(R"(
    cp.async.ca.shared.global [%r0], [%in], 8;
    cp.async.commit_group;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u64 %rd0, [%r0];
    st.global.u64 [%out], %rd0;)", Copies::Late);
  EXPECT_TRUE(run.report.ok());
  EXPECT_EQ(run.out[7], input(7));
}

TEST(Copies, WhatIsInNoGroupIsNotWaitedFor) {
  SnippetRun run = copy(R"(
    cp.async.ca.shared.global [%r0], [%in], 8;
    cp.async.wait_group 0;
    ld.shared.u64 %rd0, [%r0];
    st.global.u64 [%out], %rd0;
    cp.async.wait_all;)", Copies::Late);
  EXPECT_EQ(run.out[7], ~uint64_t(0));
}

TEST(Copies, LateOnesReadTheirSourceLate) {
  std::string body = R"(
    st.global.u32 [%out], 1;
    cp.async.ca.shared.global [%r0], [%out], 4;
    st.global.u32 [%out], 2;
    cp.async.wait_all;
    ld.shared.u32 %r1, [%r0];
    st.global.u32 [%out+4], %r1;)";
  EXPECT_EQ(copy(body, Copies::Late, 1).out[0], uint64_t(2) << 32 | 2);
  EXPECT_EQ(copy(body, Copies::AtOnce, 1).out[0], uint64_t(1) << 32 | 2);
}

TEST(Copies, TheSameSeedGivesTheSameRun) {
  std::string body = R"(
    cp.async.ca.shared.global [%r0], [%in], 8;
    nanosleep.u32 1;
    ld.shared.u64 %rd0, [%r0];
    st.global.u64 [%out], %rd0;
    cp.async.wait_all;)";
  auto with = [&](uint64_t seed) { return copy(body, Copies::Random, 64, {Schedule::Kind::RoundRobin, seed}).out; };
  EXPECT_EQ(with(4), with(4));
  EXPECT_NE(with(4), with(5));
}

// ---- what goes wrong ------------------------------------------------------------------------

TEST(Findings, CopiesThatAreMisalignedOrElsewhere) {
  auto found = [](const std::string &body, FindingKind kind) {
    SnippetRun run = copy(body + "\ncp.async.wait_all;", Copies::Late);
    return hasFinding(run, kind);
  };
  EXPECT_TRUE(found("cp.async.cg.shared.global [%r0], [%in], 16;", FindingKind::Misaligned)); // odd threads
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0+4], [%in], 8;", FindingKind::Misaligned));
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0], [%in+2], 4;", FindingKind::Misaligned));
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0], [%in+4], 8, 4;", FindingKind::Misaligned)); // as the copy, not the read
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0+2048], [%in], 8;", FindingKind::OutOfBounds));
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0], [%in+8], 8;", FindingKind::OutOfBounds));
  EXPECT_TRUE(found("mov.u32 %r1, 9; cp.async.ca.shared.global [%r0], [%in], 8, %r1;", FindingKind::BadOperand));
  EXPECT_FALSE(found("cp.async.ca.shared.global [%r0], [%in], 8;", FindingKind::Misaligned));
}

TEST(Parsing, SizesOfCopiesAreChecked) {
  auto error = [](const std::string &body) { return runBody(begin + body).error; };
  EXPECT_NE(error("cp.async.cg.shared.global [%r0], [%in], 8;").find(".cg copies 16 bytes"), std::string::npos);
  EXPECT_NE(error("cp.async.ca.shared.global [%r0], [%in], 6;").find("4, 8 or 16"), std::string::npos);
  EXPECT_NE(error("cp.async.ca.shared.global [%r0], [%in], 8, 9;"), "");
  EXPECT_EQ(error("cp.async.ca.shared.global [%r0], [%in], 8, 8;"), "");
  EXPECT_NE(error("cp.async.ca.shared.global [%in], [%r0], 8;"), "");
}

} // namespace
} // namespace tegula::ptxvm
