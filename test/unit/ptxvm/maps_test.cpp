// Tensor maps that a kernel makes itself, as compilers write that: zeros, then a field at a time, then a copy
// to global memory.
#include "Snippet.h"

#include <algorithm>

namespace tegula::ptxvm {
namespace {

// Of a tensor of 2 x 4 numbers of 32 bits a box of 2 x 4 at (1, 0): its rows lie 16 bytes apart, the last of
// each is outside. `%in` is the tensor; the map comes to the end of `%out`.
std::string mapText(const std::string &instead = "", const std::string &more = "") {
  std::string fields;
  for (std::string field : {"global_address", "rank", "box_dim 0", "box_dim 1", "global_dim 0",
                            "global_dim 1", "global_stride 0", "element_stride 0", "element_stride 1",
                            "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"}) {
    std::string name = field.substr(0, field.find(' ')), which;
    if (name.size() != field.size())
      which = ", " + field.substr(name.size() + 1);
    std::string value = "1";
    if (field == "global_address")
      value = "%in";
    if (field == "box_dim 0" || field == "global_dim 0")
      value = "4";
    if (field == "box_dim 1" || field == "global_dim 1")
      value = "2";
    if (field == "global_stride 0")
      value = "16";
    if (field == "elemtype" || name.ends_with("_layout") || name.ends_with("_mode"))
      value = field == "elemtype" ? "2" : "0";
    bool isWide = field == "global_address" || field == "global_stride 0";
    fields += "@%p1 tensormap.replace.tile." + name + ".shared::cta.b1024." + (isWide ? "b64" : "b32") +
              " [map]" + which + ", " + value + ";\n";
  }
  return snippetText(
      "setp.eq.u32 %p1, %t, 0;\n mul.lo.u32 %r1, %t, 4;\n mov.u32 %r2, map;\n"
      " add.u32 %r1, %r1, %r2;\n st.shared.u32 [%r1], 0;\n bar.warp.sync -1;\n"
      "ld.param.u64 %in, [in_param];\n" +
          (instead.empty() ? fields : instead) + more +
          "add.u64 %rd1, %base, 127;\n and.b64 %rd1, %rd1, -64;\n"
          "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
          " [%rd1], [map], 128;\n"
          "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n"
          "@%p1 mbarrier.init.shared::cta.b64 [signal], 1;\n"
          "@%p1 fence.mbarrier_init.release.cluster;\n bar.sync 0;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [signal], 32;\n"
          "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
          " [box], [%rd1, {1, 0}], [signal];\n"
          "L: mbarrier.try_wait.parity.shared::cta.b64 %p2, [signal], 0;\n @!%p2 bra L;\n"
          "setp.lt.u32 %p3, %t, 8;\n mov.u32 %r3, box;\n mad.lo.u32 %r3, %t, 4, %r3;\n"
          "@%p3 ld.shared.u32 %r4, [%r3];\n @%p3 st.global.u32 [%out], %r4;",
      ".shared .align 128 .b8 map[128];\n.shared .align 128 .b8 box[32];\n"
      ".shared .align 8 .b64 signal;\n");
}

// The block writes 8 results of 8 bytes; behind them, at a multiple of 64, is room for the map.
SnippetRun runMap(const std::string &text) {
  std::vector<uint64_t> in;
  for (uint64_t i = 0; i != 4; ++i)
    in.push_back((2 * i + 1) | (2 * i + 2) << 32);
  return runText(text, in, 32);
}

TEST(Maps, AKernelMakesItsMapAFieldAtATime) {
  SnippetRun run = runMap(mapText());
  ASSERT_EQ(run.error, "");
  for (const Finding &finding : run.report.findings)
    ADD_FAILURE() << name(finding.kind) << ": " << finding.message << " at " << finding.ptxText;
  for (uint64_t i = 0; i != 8; ++i)
    EXPECT_EQ(uint32_t(run.out[i]), i % 4 == 3 ? 0 : i + 2) << i;
}

TEST(Maps, AMapThatChangesInMemoryNeedsAnotherFence) {
  std::string text = mapText(), fence = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
  size_t behind = text.find(fence) + fence.size();
  std::string change = "@%p1 tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %in;\n";
  SnippetRun run = runMap(std::string(text).insert(behind, change));
  ASSERT_EQ(run.report.findings.size(), 1u) << run.error;
  EXPECT_EQ(run.report.findings[0].kind, FindingKind::MissingFence);
  EXPECT_TRUE(runMap(std::string(text).insert(behind, change + fence)).report.findings.empty());
}

// The block adds 1 ... 8 twice to 2 x 4 numbers at %base; `type` as .elemtype numbers them.
SnippetRun runReduction(const std::string &operation, const std::string &type) {
  std::string text = mapText();
  auto replaceAll = [&](const std::string &what, const std::string &with) {
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
      text.replace(at, what.size(), with);
  };
  replaceAll("[map], %in;", "[map], %base;");
  replaceAll("elemtype.shared::cta.b1024.b32 [map], 2;",
             "elemtype.shared::cta.b1024.b32 [map], " + type + ";");
  size_t copy = text.find("@%p1 mbarrier.init");
  text = text.substr(0, copy) +
         "setp.lt.u32 %p3, %t, 8;\n mov.u32 %r3, box;\n mad.lo.u32 %r3, %t, 4, %r3;\n add.u32 %r4, %t, 1;\n"
         "@%p3 st.shared.u32 [%r3], %r4;\n fence.proxy.async.shared::cta;\n bar.sync 0;\n";
  for (int i = 0; i != 2; ++i)
    text += "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta." + operation +
            ".bulk_group [%rd1, {0, 0}], [box];\n cp.async.bulk.commit_group;\n";
  text += " cp.async.bulk.wait_group 0;\n ret;\n}\n";
  return runText(text, {0, 0, 0, 0}, 32);
}

TEST(Maps, BoxesAreReducedIntoTheirTensor) {
  SnippetRun run = runReduction("add", "2");
  ASSERT_EQ(run.error, "");
  for (const Finding &finding : run.report.findings)
    ADD_FAILURE() << name(finding.kind) << ": " << finding.message << " at " << finding.ptxText;
  for (uint32_t i = 0; i != 4; ++i)
    EXPECT_EQ(run.out[i], 2 * (2 * i + 1) | uint64_t(2 * (2 * i + 2)) << 32) << i;
  EXPECT_EQ(runReduction("min", "2").out[0], 0u);
  EXPECT_EQ(runReduction("xor", "2").out[0], 0u);
  EXPECT_EQ(runReduction("or", "2").out[0], 1 | uint64_t(2) << 32);
  // 1 and 2 as bits of f32 are subnormal, which sums in memory flush.
  EXPECT_EQ(runReduction("add", "7").out[0], 0u);
  for (auto [operation, type] : {std::pair("inc", "3"), {"min", "7"}, {"and", "7"}}) {
    SnippetRun bad = runReduction(operation, type);
    ASSERT_FALSE(bad.report.findings.empty()) << operation << type;
    EXPECT_NE(bad.report.findings[0].message.find("for which there is no such operation"), std::string::npos);
  }
}

TEST(Maps, BytesThatAreNoMapAreAFinding) {
  std::string change = "@%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 1;\n";
  SnippetRun run = runMap(mapText("@%p1 st.shared.u32 [map+8], 5;\n" + change, ""));
  ASSERT_FALSE(run.report.findings.empty());
  EXPECT_EQ(run.report.findings[0].message, "changes 128 bytes that are neither a tensor map nor zeros");
  run = runMap(mapText("@%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [map+64], 1;\n"));
  ASSERT_FALSE(run.report.findings.empty()) << "it is cut off";
}

TEST(Maps, FieldsThatTheMachineDoesNotKnowAreFindings) {
  for (auto [field, reason] :
       {std::pair("fill_mode", "fills with NaNs"), {"interleave_layout", "interleaved"}}) {
    SnippetRun run = runMap(mapText("", std::string("@%p1 tensormap.replace.tile.") + field +
                                            ".shared::cta.b1024.b32 [map], 1;\n"));
    EXPECT_TRUE(std::ranges::any_of(run.report.findings, [&](const Finding &finding) {
      return finding.message.find(reason) != std::string::npos;
    })) << field;
  }
}

TEST(Maps, AreMadeOnTheSpecificArchitecturesOnly) {
  auto isTaken = [](const char *target, const char *version) {
    return bool(parse(
        snippetText("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%rd1], 1;", "",
                    std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n"),
        "test.ptx"));
  };
  EXPECT_TRUE(isTaken("sm_90a", "8.3"));
  EXPECT_TRUE(isTaken("sm_100a", "8.6"));
  EXPECT_FALSE(isTaken("sm_90", "8.3"));
  EXPECT_FALSE(isTaken("sm_90a", "8.2"));
}

TEST(Maps, NumbersAreInTheirRange) {
  auto errorOf = [](const std::string &body) {
    auto module = parse(snippetText(body), "test.ptx");
    return module ? "" : module.status().message;
  };
  std::string start = "tensormap.replace.tile.";
  for (const char *good :
       {"box_dim.shared::cta.b1024.b32 [%rd1], 4, 3;", "rank.b1024.b32 [%rd1], %r1;",
        "global_stride.global.b1024.b64 [%rd1], 3, %rd2;", "elemtype.b1024.b32 [%rd1], 12;"})
    EXPECT_EQ(errorOf(start + good), "") << good;
  for (const char *bad : {"box_dim.shared::cta.b1024.b32 [%rd1], 5, 3;", "box_dim.b1024.b32 [%rd1], -1, 3;",
                          "global_stride.b1024.b64 [%rd1], 4, 16;", "swizzle_mode.b1024.b32 [%rd1], 4;",
                          "elemtype.b1024.b32 [%rd1], %r1;", "rank.shared.b1024.b32 [%rd1], 1;",
                          "global_address.b1024.b32 [%rd1], %r1;", "fill_mode.b1024.b32 [%rd1], 2;"})
    EXPECT_NE(errorOf(start + bad).find("test.ptx:"), std::string::npos) << bad;
}

} // namespace
} // namespace tegula::ptxvm
