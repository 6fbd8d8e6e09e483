// PTX through the worker: with the real assembler when there is one, and with tools that refuse,
// crash, hang and lie, which are scripts.
#include "targets/nvidia/Assembler.h"
#include "targets/nvidia/AssemblerLog.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tegula;
namespace fs = std::filesystem;

namespace {

const char *const goodPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret;
}
)";

bool hasAssembler() {
  static const bool has = std::system("command -v ptxas > /dev/null 2>&1") == 0;
  return has;
}

// A program that does `body`; the folder goes with the test.
class Scripts : public testing::Test {
protected:
  void SetUp() override {
    setenv("TEGULA_WORKER", TEGULA_WORKER, 1);
    // Of each test one of its own: an assembler that a test before prepared may open its script only now.
    const char *test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("tegula_assembler_" + std::to_string(getpid()) + test);
    fs::create_directories(folder_);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    unsetenv("TMPDIR");
  }
  std::string script(const std::string &body) {
    // The one of before may be about to run, and cannot be written to then.
    fs::path path = folder_ / "tool", made = folder_ / "made";
    std::ofstream(made) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(made, fs::perms::owner_all);
    fs::rename(made, path);
    return path;
  }
  // A child has workers of its own, which see its environment.
  template <class Body>::testing::AssertionResult inChild(Body body) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
      std::string wrong = body();
      [[maybe_unused]] ssize_t written = write(ends[1], wrong.data(), wrong.size());
      _exit(wrong.empty() ? 0 : 1);
    }
    close(ends[1]);
    char text[4096];
    ssize_t size = read(ends[0], text, sizeof text);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << std::string(text, size_t(std::max<ssize_t>(size, 0)));
  }
  // A script writes the processes it is about here.
  std::string started() const { return folder_ / "started"; }
  std::vector<pid_t> processes() const {
    std::vector<pid_t> found;
    std::ifstream in(started());
    for (pid_t each = 0; in >> each;)
      found.push_back(each);
    return found;
  }
  template <class Condition> static bool holdsSoon(Condition condition) {
    for (int i = 0; i != 1000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  }
  // "" when the status is of `code`, its text has `part`, and it names a kept PTX or none is kept.
  static std::string expect(const Status &status, StatusCode code, const std::string &part, bool kept) {
    std::string message = status.message;
    bool isThere = false, isNamed = false;
    for (const auto &entry : fs::directory_iterator(std::getenv("TMPDIR"))) {
      if (entry.path().extension() != ".ptx")
        continue;
      isThere = true;
      isNamed |= message.find(entry.path().string()) != std::string::npos &&
                 fs::file_size(entry) == std::string(goodPtx).size();
    }
    bool right =
        status.code == code && message.find(part) != std::string::npos && (kept ? isNamed : !isThere);
    return right ? "" : "status " + std::to_string(int(status.code)) + ": " + message;
  }
  fs::path folder_;
};

TEST_F(Scripts, AssemblesWithPtxasAndReadsItsUsage) {
  if (!hasAssembler())
    GTEST_SKIP() << "no ptxas on this machine";
  EXPECT_TRUE(inChild([]() -> std::string {
    setenv("TEGULA_PTXAS", "/usr/local/bin/ptxas", 1);
    for (const char *arch : {"sm_80", "sm_90a", "sm_120a"}) {
      Result<nvidia::Assembled> result = nvidia::assemble(goodPtx, arch);
      if (!result)
        return result.status().message;
      if (result->cubin.substr(1, 3) != "ELF" || result->registers < 4 || result->spillBytes != 0)
        return "no cubin, or no usage: " + result->log;
    }
    return "";
  }));
}

TEST_F(Scripts, AssemblesFromManyThreads) {
  if (!hasAssembler())
    GTEST_SKIP() << "no ptxas on this machine";
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int i = 0; i != 6; ++i)
    threads.emplace_back([&] { bad += !nvidia::assemble(goodPtx, "sm_90a").ok(); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(bad, 0);
}

TEST_F(Scripts, ARefusedTextIsAStatusWithTheToolsWordsAndThePtx) {
  if (!hasAssembler())
    GTEST_SKIP() << "no ptxas on this machine";
  EXPECT_TRUE(inChild([]() -> std::string {
    Status status = nvidia::assemble(".version 8.0\n.target sm_80\nnonsense\n", "sm_80").status();
    return status.code == StatusCode::Toolchain && status.message.find("error") != std::string::npos &&
                   status.message.find(".ptx") != std::string::npos
               ? ""
               : status.message;
  }));
}

TEST_F(Scripts, ACrashIsAStatusAndTheNextTextAssembles) {
  std::string tool = script("kill -SEGV $$");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    Status status = nvidia::assemble(goodPtx, "sm_80").status();
    std::string wrong = expect(status, StatusCode::Toolchain, "crashed", true);
    script("cat > $6"); // the same worker, a tool that works: it copies
    Result<nvidia::Assembled> again = nvidia::assemble(goodPtx, "sm_80");
    return wrong.empty() && !again ? again.status().message : wrong;
  }));
}

TEST_F(Scripts, AToolThatHangsIsEnded) {
  std::string tool = script("sleep 1000");
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    setenv("TEGULA_ASSEMBLER_TIMEOUT", "1", 1);
    return expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Toolchain, "within 1 seconds",
                  true);
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(Scripts, AToolThatWritesNothingIsFoundOut) {
  std::string tool = script("exit 0");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    return expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Toolchain, "no cubin", true);
  }));
}

TEST_F(Scripts, TooMuchSharedMemoryIsAResourceAndLeavesNoFile) {
  std::string tool = script(
      "echo \"ptxas error   : Entry function 'f' uses too much shared data (0x40000 bytes)\" >&2; exit 255");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    return expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Resource, "too much shared data",
                  false);
  }));
}

TEST_F(Scripts, AMissingToolIsSaid) {
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", "/no/such/ptxas", 1);
    return expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Toolchain, "cannot be started",
                  true);
  }));
}

TEST_F(Scripts, AMissingWorkerIsSaid) {
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_WORKER", "/no/such/worker", 1);
    return expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Unsupported, "cannot be started",
                  false);
  }));
}

TEST_F(Scripts, AWorkerThatWasKilledIsStartedAgain) {
  std::string tool = script("kill -9 $PPID; sleep 1");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    std::string wrong =
        expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Toolchain, "was lost", true);
    script("cat > $6");
    Result<nvidia::Assembled> again = nvidia::assemble(goodPtx, "sm_80");
    return wrong.empty() && !again ? again.status().message : wrong;
  }));
}

TEST_F(Scripts, AnAssemblerTakesItsMemoryInLargePagesAndWhatTheUserSetsCountsMore) {
  // A result of less than 64 bytes is no cubin.
  std::string tool = script("cat > /dev/null; printf '%s%064d' \"$GLIBC_TUNABLES\" 0 > $6");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0", 1);
    Result<nvidia::Assembled> result = nvidia::assemble(goodPtx, "sm_80");
    if (!result)
      return result.status().message;
    size_t ours = result->cubin.find("glibc.malloc.hugetlb=1:");
    size_t users = result->cubin.find(":glibc.malloc.hugetlb=0");
    return ours == 0 && users != std::string::npos ? "" : result->cubin;
  }));
}

TEST_F(Scripts, AHostThatIsKilledTakesWorkerAndToolAlong) {
  std::string tool = script("echo $PPID $$ > " + started() + "; sleep 1000");
  pid_t host = fork();
  if (host == 0) {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    (void)nvidia::assemble(goodPtx, "sm_80");
    _exit(0);
  }
  bool areStarted = holdsSoon([&] { return processes().size() == 2; });
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  ASSERT_TRUE(areStarted);
  for (pid_t each : processes())
    EXPECT_TRUE(holdsSoon([&] { return kill(each, 0) != 0; })) << each;
}

TEST_F(Scripts, AToolEndsWithItsWorker) {
  std::string tool = script("echo $$ > " + started() + "; kill -9 $PPID; exec sleep 1000");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    return expect(nvidia::assemble(goodPtx, "sm_80").status(), StatusCode::Toolchain, "was lost", true);
  }));
  ASSERT_EQ(processes().size(), 1u);
  EXPECT_TRUE(holdsSoon([&] { return kill(processes()[0], 0) != 0; }));
}

TEST_F(Scripts, AHostHasNoChildToWaitFor) {
  std::string tool = script("cat > $6");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    if (Status status = nvidia::assemble(goodPtx, "sm_80").status(); !status.ok())
      return status.message;
    return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? "" : "there is a child";
  }));
}

TEST_F(Scripts, WithoutStandardStreamsTheSocketIsNoneOfThem) {
  std::string tool = script("cat > $6");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    for (int stream : {0, 1, 2})
      close(stream);
    if (Status status = nvidia::assemble(goodPtx, "sm_80").status(); !status.ok())
      return status.message;
    for (int stream : {0, 1, 2})
      if (fcntl(stream, F_GETFD) != -1)
        return "descriptor " + std::to_string(stream) + " is open";
    return "";
  }));
}

TEST_F(Scripts, TheNextAssemblerStartsBehindATextAndEndsWithTheHost) {
  std::string tool = script("echo $$ >> " + started() + "; cat > $6");
  EXPECT_TRUE(inChild([&]() -> std::string {
    setenv("TEGULA_PTXAS", tool.c_str(), 1);
    for (size_t texts : {1, 2}) {
      if (Status status = nvidia::assemble(goodPtx, "sm_80").status(); !status.ok())
        return status.message;
      if (!holdsSoon([&] { return processes().size() == texts + 1; }))
        return std::to_string(processes().size()) + " assemblers for texts: " + std::to_string(texts);
    }
    return "";
  }));
  ASSERT_EQ(processes().size(), 3u);
  EXPECT_TRUE(holdsSoon([&] { return kill(processes().back(), 0) != 0; }));
}

TEST(UsageTest, ReadsBothToolsLogs) {
  nvidia::Assembled ptxas, linked, spilled;
  nvidia::readUsage("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                    "ptxas info    : Used 24 registers, used 1 barriers, 2048 bytes smem",
                    ptxas);
  EXPECT_EQ(ptxas.registers, 24);
  EXPECT_EQ(ptxas.spillBytes, 0);
  EXPECT_EQ(ptxas.sharedBytes, 2048);
  nvidia::readUsage("info    : used 8 registers, used 0 barriers, 0 stack, 0 bytes smem, 540 bytes cmem[0]",
                    linked);
  EXPECT_EQ(linked.registers, 8);
  EXPECT_EQ(linked.spillBytes, -1);
  nvidia::readUsage("    240 bytes stack frame, 252 bytes spill stores, 2504 bytes spill loads", spilled);
  EXPECT_EQ(spilled.spillBytes, 2504);
  EXPECT_EQ(spilled.stackBytes, 240);
  nvidia::Assembled both; // of a library that assembles and links
  nvidia::readUsage(
      "ptxas info    : Used 22 registers, used 1 barriers\ninfo    : used 22 registers, 1024 bytes smem",
      both);
  EXPECT_EQ(both.registers, 22);
  EXPECT_EQ(both.sharedBytes, 0);
}

TEST(PlaceTest, OfAnErrorIsThatOfTheDirectiveAbove) {
  const std::string ptx = "{\n"
                          "\t.loc\t1 4 0\n"
                          "\tmov.u32 \t%r3, %tid.x;\n"
                          "\t.loc\t2 17 9, function_name $L__info_string0, inlined_at 1 8 3\n"
                          "\tfoo.bar %r1, %r2;\n"
                          "}\n"
                          "\tbar;\n"
                          "\t.file\t1 \"/a/kernels.py\"\n"
                          "\t.file\t2 \"/a/more of them.py\"\n";
  auto placeOf = [&](const char *log) { return nvidia::placeOfError(log, ptx); };
  EXPECT_EQ(placeOf("ptxas /dev/stdin, line 5; error   : Unknown modifier '.bar'\nptxas fatal   : aborted"),
            "/a/more of them.py:17:9: ");
  EXPECT_EQ(placeOf("ptxas x.ptx, line 3; warning : w\nptxas x.ptx, line 3; error : e"),
            "/a/kernels.py:4:1: ");
  EXPECT_EQ(placeOf("ptxas x.ptx, line 1; error : e"), "") << "no directive above";
  EXPECT_EQ(placeOf("ptxas fatal : Ptx assembly aborted due to errors"), "");
  EXPECT_EQ(placeOf(""), "");
}

} // namespace
