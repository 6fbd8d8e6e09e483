// Runs pieces of PTX: a body with a few registers declared, one block, an output buffer.
#pragma once
#include "ptxvm/Run.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tegula::ptxvm {

struct SnippetRun {
  Report report;
  std::vector<uint64_t> out; // by thread
  std::string error;         // of the parser
};

// The body sees %out (b64, the address of the thread's 8 bytes), %in (b64, the same of the input),
// %t (b32); registers %r<64> b32, %rd<64> b64, %h<64> b16, %f<64> f32, %fd<64> f64, %p<64>.
inline std::string snippetText(const std::string &body, const std::string &declarations = "",
                               const std::string &head = ".version 8.3\n.target sm_90a\n.address_size 64\n") {
  return head + declarations + R"(
.visible .entry test(.param .u64 in_param, .param .u64 out_param)
{
  .reg .pred %p<64>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<64>; .reg .f64 %fd<64>;
  .reg .b32 %t; .reg .b64 %in, %out, %base, %offset;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [in_param];
  ld.param.u64 %base, [out_param];
  mul.wide.u32 %offset, %t, 8;
  add.s64 %in, %in, %offset;
  add.s64 %out, %base, %offset;
)" + body +
         "\n  ret;\n}\n";
}

inline SnippetRun runText(const std::string &text, std::vector<uint64_t> in, unsigned threads = 1,
                          Schedule schedule = {}, uint64_t sharedBytes = 0,
                          std::vector<Observer *> observers = {}, unsigned blocks = 1,
                          Copies copies = Copies::Late) {
  SnippetRun result;
  result.out.assign(threads, 0);
  auto module = parse(text, "test.ptx");
  if (!module) {
    result.error = module.status().message;
    return result;
  }
  in.resize(std::max<size_t>(in.size(), threads));
  Buffer buffers[] = {{in.data(), in.size() * 8, false, true, "in"},
                      {result.out.data(), result.out.size() * 8, true, true, "out"}};
  Launch launch;
  launch.block[0] = threads;
  launch.grid[0] = blocks;
  launch.sharedBytes = sharedBytes;
  launch.parameters = {reinterpret_cast<uint64_t>(in.data()), reinterpret_cast<uint64_t>(result.out.data())};
  launch.buffers = buffers;
  launch.schedule = schedule;
  launch.copies = copies;
  launch.stepLimit = 1'000'000;
  launch.observers = std::move(observers);
  result.report = run(**module, "test", launch);
  if (!result.report.status.ok())
    result.error = result.report.status.message;
  return result;
}

inline SnippetRun runBody(const std::string &body, std::vector<uint64_t> in = {}, unsigned threads = 1) {
  return runText(snippetText(body), std::move(in), threads);
}

// The first thread's result; fails when anything was wrong.
inline uint64_t resultOf(const std::string &body, std::vector<uint64_t> in = {}) {
  SnippetRun run = runBody(body, std::move(in));
  EXPECT_EQ(run.error, "") << body;
  for (const Finding &finding : run.report.findings)
    ADD_FAILURE() << name(finding.kind) << ": " << finding.message << " at " << finding.ptxText;
  return run.out.empty() ? 0 : run.out[0];
}

inline bool hasFinding(const SnippetRun &run, FindingKind kind) {
  for (const Finding &finding : run.report.findings)
    if (finding.kind == kind)
      return true;
  return false;
}

} // namespace tegula::ptxvm
