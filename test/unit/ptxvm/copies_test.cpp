// Asynchronous copies: what arrives, when, and what an adversary may do in between.
#include "Snippet.h"
#include "ptxvm/checks/Checks.h"

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
    in[i] = 0x1111111100000000u * (i % 15) + i;
  SnippetRun run = runText(snippetText(begin + body), in, threads, schedule, 0, {}, 1, copies);
  EXPECT_EQ(run.error, "") << body;
  return run;
}
uint64_t input(unsigned i) { return 0x1111111100000000u * (i % 15) + i; }

TEST(Copies, ArriveWhenTheyWereWaitedFor) {
  for (std::string wait : {"cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;"})
    for (Copies policy : everyPolicy) {
      SnippetRun run = copy("cp.async.ca.shared.global [%r0], [%in], 8;\n" + wait + R"(
        ld.shared.u64 %rd0, [%r0];
        st.global.u64 [%out], %rd0;)",
                            policy);
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
      @%p0 st.global.v2.u64 [%out], {%rd0, %rd1};)",
                           policy);
    SnippetRun partial = copy(R"(
      cp.async.ca.shared.global [%r0], [%in], 8, 4;
      cp.async.wait_all;
      ld.shared.u64 %rd0, [%r0];
      st.global.u64 [%out], %rd0;)",
                              policy);
    SnippetRun differing = copy(R"(
      and.b32 %r1, %t, 3;
      cp.async.ca.shared.global [%r0], [%in], 8, %r1;
      cp.async.wait_all;
      ld.shared.u64 %rd0, [%r0];
      st.global.u64 [%out], %rd0;)",
                                policy);
    SnippetRun ignored = copy(R"(
      cp.async.ca.shared.global [%r0], [%in], 8, !%p0;
      cp.async.wait_all;
      ld.shared.u64 %rd0, [%r0];
      st.global.u64 [%out], %rd0;)",
                              policy);
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
  SnippetRun run =
      copy("cp.async.ca.shared.global [%r0], [%in+8], 8, 0;\ncp.async.wait_all;", Copies::Late, 1);
  EXPECT_TRUE(run.report.ok());
  EXPECT_TRUE(
      hasFinding(copy("cp.async.ca.shared.global [%r0], [%in+8], 8;\ncp.async.wait_all;", Copies::Late, 1),
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
    differs |=
        copy(body, Copies::Random, 32, {Schedule::Kind::Random, seed}).out != copy(body, Copies::Late).out;
  EXPECT_TRUE(differs);
}

TEST(Copies, AnEmptyGroupCounts) {
  SnippetRun run = copy(R"(
    cp.async.ca.shared.global [%r0], [%in], 8;
    cp.async.commit_group;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u64 %rd0, [%r0];
    st.global.u64 [%out], %rd0;)",
                        Copies::Late);
  EXPECT_TRUE(run.report.ok());
  EXPECT_EQ(run.out[7], input(7));
}

TEST(Copies, WhatIsInNoGroupIsNotWaitedFor) {
  SnippetRun run = copy(R"(
    cp.async.ca.shared.global [%r0], [%in], 8;
    cp.async.wait_group 0;
    ld.shared.u64 %rd0, [%r0];
    st.global.u64 [%out], %rd0;
    cp.async.wait_all;)",
                        Copies::Late);
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
  auto with = [&](uint64_t seed) {
    return copy(body, Copies::Random, 64, {Schedule::Kind::RoundRobin, seed}).out;
  };
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
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0], [%in+4], 8, 4;",
                    FindingKind::Misaligned)); // as the copy, not the read
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0+2048], [%in], 8;", FindingKind::OutOfBounds));
  EXPECT_TRUE(found("cp.async.ca.shared.global [%r0], [%in+8], 8;", FindingKind::OutOfBounds));
  EXPECT_TRUE(
      found("mov.u32 %r1, 9; cp.async.ca.shared.global [%r0], [%in], 8, %r1;", FindingKind::BadOperand));
  EXPECT_FALSE(found("cp.async.ca.shared.global [%r0], [%in], 8;", FindingKind::Misaligned));
}

// Findings of a body with all checks, which do not depend on when copies complete.
SnippetRun checked(const std::string &body, unsigned threads = 64) {
  SnippetRun first;
  for (Copies policy : everyPolicy) {
    auto races = checkRaces(), copies = checkAsyncCopies(), initialised = checkInitialised();
    std::vector<uint64_t> in(threads);
    for (unsigned i = 0; i < threads; ++i)
      in[i] = input(i);
    SnippetRun run = runText(snippetText(begin + body), in, threads, {}, 0,
                             {races.get(), copies.get(), initialised.get()}, 1, policy);
    EXPECT_EQ(run.error, "") << body;
    if (policy == Copies::Late)
      first = run;
    EXPECT_EQ(run.report.findings.size(), first.report.findings.size()) << body;
  }
  return first;
}
// The only kind that is found, or Count.
FindingKind onlyFinding(const SnippetRun &run) {
  EXPECT_FALSE(run.report.findings.empty());
  for (const Finding &finding : run.report.findings)
    EXPECT_EQ(finding.kind, run.report.findings[0].kind) << finding.message;
  return run.report.findings.empty() ? FindingKind::Trap : run.report.findings[0].kind;
}

const std::string issue = "cp.async.ca.shared.global [%r0], [%in], 8;\ncp.async.commit_group;\n";
const std::string read = "ld.shared.u64 %rd0, [%r0];\nst.global.u64 [%out], %rd0;\n";
const std::string waitAll = "cp.async.wait_group 0;\n", barrier = "bar.sync 0;\n";
const std::string other = "xor.b32 %r1, %r0, 512;\n"; // of the other warp; 16 * 32
const std::string readOther = "ld.shared.u64 %rd0, [%r1];\nst.global.u64 [%out], %rd0;\n";

TEST(Findings, ReadsBeforeTheWait) {
  SnippetRun run = checked(issue + read + waitAll);
  EXPECT_EQ(onlyFinding(run), FindingKind::CopyUnderWay);
  const Finding &finding = run.report.findings[0];
  EXPECT_EQ(finding.ptxText.substr(0, 13), "ld.shared.u64");
  EXPECT_EQ(finding.otherPtxText.substr(0, 8), "cp.async");
  EXPECT_NE(finding.message.find("the thread has not waited for it"), std::string::npos) << finding.message;
  EXPECT_TRUE(checked(issue + waitAll + read).report.ok());
}

TEST(Findings, ReadsOfAGroupThatMayStillBeUnderWay) {
  std::string two = issue + "cp.async.ca.shared.global [%r0+8], [%in], 8;\ncp.async.commit_group;\n";
  EXPECT_TRUE(checked(two + "cp.async.wait_group 1;\n" + read + waitAll).report.ok());
  EXPECT_EQ(onlyFinding(checked(two + "cp.async.wait_group 2;\n" + read + waitAll)),
            FindingKind::CopyUnderWay);
}

TEST(Findings, AWaitSpeaksForItsThreadOnly) {
  // The barrier hands it on; without one, and with one before the wait, nothing does.
  EXPECT_TRUE(checked(other + issue + waitAll + barrier + readOther).report.ok());
  EXPECT_TRUE(hasFinding(checked(other + issue + waitAll + readOther), FindingKind::Race));
  EXPECT_TRUE(hasFinding(checked(other + issue + barrier + waitAll + readOther), FindingKind::Race));
  EXPECT_TRUE(hasFinding(checked(other + issue + barrier + readOther + waitAll), FindingKind::CopyUnderWay));
  // Within the warp too.
  std::string neighbour = "xor.b32 %r1, %r0, 16;\n";
  EXPECT_EQ(onlyFinding(checked(neighbour + issue + waitAll + readOther, 32)), FindingKind::Race);
  EXPECT_TRUE(checked(neighbour + issue + waitAll + "bar.warp.sync -1;\n" + readOther, 32).report.ok());
}

TEST(Findings, CopiesIntoWhatAnotherStillReads) {
  std::string filled = "st.shared.u64 [%r0], %in;\nbar.sync 0;\n";
  EXPECT_TRUE(checked(filled + other + readOther + barrier + issue + waitAll).report.ok());
  SnippetRun run = checked(filled + other + readOther + issue + waitAll);
  EXPECT_EQ(onlyFinding(run), FindingKind::Race);
  bool isAtTheCopy = false;
  for (const Finding &finding : run.report.findings)
    isAtTheCopy |= finding.ptxText.starts_with("cp.async.ca");
  EXPECT_TRUE(isAtTheCopy);
}

TEST(Findings, WritesUnderACopy) {
  EXPECT_EQ(onlyFinding(checked(issue + "st.shared.u64 [%r0], %in;\n" + waitAll)), FindingKind::CopyUnderWay);
  EXPECT_EQ(onlyFinding(checked(issue + issue + waitAll)), FindingKind::CopyUnderWay);
  EXPECT_EQ(onlyFinding(checked(issue + "atom.shared.add.u32 %r5, [%r0], 1;\n" + waitAll)),
            FindingKind::CopyUnderWay);
  EXPECT_TRUE(checked(issue + waitAll + issue + waitAll).report.ok());
}

TEST(Findings, LanesThatCopyToOnePlace) {
  // Of one source they copy the same; of two they do not.
  std::string where = "mov.u32 %r3, tile;\nshr.u32 %r4, %t, 1;\nmad.lo.u32 %r3, %r4, 16, %r3;\n";
  std::string same = "and.b32 %r4, %t, 1;\nmul.wide.u32 %rd5, %r4, 8;\nsub.s64 %rd5, %in, %rd5;\n";
  EXPECT_TRUE(checked(where + same + "cp.async.ca.shared.global [%r3], [%rd5], 8;\ncp.async.wait_all;\n")
                  .report.ok());
  EXPECT_EQ(
      onlyFinding(checked(where + "cp.async.ca.shared.global [%r3], [%in], 8;\ncp.async.wait_all;\n", 2)),
      FindingKind::Race);
}

TEST(Findings, SourcesThatAreWrittenUnderTheCopy) {
  std::string own = "st.global.u64 [%out], %in;\ncp.async.ca.shared.global [%r0], [%out], 8;\n";
  std::string write = "st.global.u32 [%out+4], 7;\n";
  SnippetRun run = checked(own + write + "cp.async.wait_all;\n");
  EXPECT_EQ(onlyFinding(run), FindingKind::CopyUnderWay);
  EXPECT_NE(run.report.findings[0].message.find("may still read"), std::string::npos);
  EXPECT_TRUE(checked(own + "cp.async.wait_all;\n" + write).report.ok());
  // Bytes that are not read are no source.
  EXPECT_TRUE(checked("st.global.u64 [%out], %in;\ncp.async.ca.shared.global [%r0], [%out], 8, 4;\n" + write +
                      "cp.async.wait_all;\n")
                  .report.ok());
}

TEST(Findings, LanesThatEndWithCopiesUnderWay) {
  EXPECT_EQ(onlyFinding(checked(issue)), FindingKind::CopyUnfinished);
  EXPECT_EQ(onlyFinding(checked(issue + "@%p0 exit;\n" + waitAll)), FindingKind::CopyUnfinished);
  EXPECT_TRUE(checked(issue + waitAll).report.ok());
}

TEST(Findings, SharedMemoryThatNoCopyHasWritten) {
  EXPECT_EQ(onlyFinding(checked(issue + waitAll + "ld.shared.u64 %rd0, [%r0+8];\n")),
            FindingKind::Uninitialised);
  EXPECT_TRUE(checked("cp.async.ca.shared.global [%r0], [%in], 8, 0;\ncp.async.wait_all;\n" + read)
                  .report.ok()); // zeros are written
}

TEST(Findings, MatricesReadWhatTheWholeWarpMustHaveWritten) {
  std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r0];\n";
  std::string fill = "st.shared.v2.u64 [%r0], {%in, %in};\n";
  EXPECT_TRUE(checked(fill + "bar.warp.sync -1;\n" + load).report.ok());
  EXPECT_EQ(onlyFinding(checked(fill + load)), FindingKind::Race);
  EXPECT_EQ(onlyFinding(checked(load)), FindingKind::Uninitialised);
  std::string rest = "st.shared.u64 [%r0+8], %in;\n";
  EXPECT_TRUE(checked(rest + issue + waitAll + "bar.warp.sync -1;\n" + load).report.ok());
  EXPECT_EQ(onlyFinding(checked(rest + issue + waitAll + load)), FindingKind::Race);
  EXPECT_EQ(onlyFinding(checked(rest + issue + "bar.warp.sync -1;\n" + load + waitAll)),
            FindingKind::CopyUnderWay);
}

TEST(Parsing, SizesOfCopiesAreChecked) {
  auto error = [](const std::string &body) { return runBody(begin + body).error; };
  EXPECT_NE(error("cp.async.cg.shared.global [%r0], [%in], 8;").find(".cg copies 16 bytes"),
            std::string::npos);
  EXPECT_NE(error("cp.async.ca.shared.global [%r0], [%in], 6;").find("4, 8 or 16"), std::string::npos);
  EXPECT_NE(error("cp.async.ca.shared.global [%r0], [%in], 8, 9;"), "");
  EXPECT_EQ(error("cp.async.ca.shared.global [%r0], [%in], 8, 8;"), "");
  EXPECT_NE(error("cp.async.ca.shared.global [%in], [%r0], 8;"), "");
}

} // namespace
} // namespace tegula::ptxvm
