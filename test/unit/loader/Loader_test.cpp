// The choice among the code of an archive, and what is refused before anything runs. Devices are of a driver
// that writes its calls down; they are sm_90a.
#include "artifact/Archive.h"
#include "runtime/CpuFeatures.h"
#include "tegula/runtime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using artifact::Archive;
using artifact::Artifact;

namespace {

Artifact code(const std::string &target, const std::string &arch, std::vector<artifact::Part> parts) {
  Artifact a;
  a.kernel = "add";
  a.target = target, a.arch = arch;
  a.parameters = {{"x", DType::F32, true, false, true, 16}, {"n", DType::I32, false, false, false, 1}};
  a.launch.entry = "add_" + arch;
  a.launch.warps = 4;
  a.parts = std::move(parts);
  return a;
}

tgr_library *open(const Archive &archive, const char *target) {
  std::string bytes = artifact::write(archive);
  tgr_library *library = nullptr;
  EXPECT_EQ(tgr_library_open_bytes(bytes.data(), bytes.size(), target, nullptr, &library), TG_OK)
      << tgr_message();
  return library;
}

class Loading : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("TEGULA_LIBCUDA", FAKE_CUDA, 1); }
  static std::string calls() {
    static void *const library = dlopen(FAKE_CUDA, RTLD_NOW);
    return reinterpret_cast<const char *(*)()>(dlsym(library, "fakeCudaCalls"))();
  }
  // The launch's status on a device of `archive`; the driver's calls of it in `said`.
  tg_status launch(const Archive &archive, uint64_t address = 64) {
    tgr_library *library = open(archive, "cuda");
    size_t before = calls().size();
    uint64_t slots[] = {address, 5};
    tg_status status = tgr_launch(tgr_library_kernel(library, 0), nullptr, slots, 2, {3, 1, 1});
    said = calls().substr(before);
    tgr_library_close(library);
    return status;
  }
  std::string said;
};

Archive of(std::vector<Artifact> code) { return {{{"add", std::move(code)}}}; }

TEST_F(Loading, TakesTheCodeOfTheDevicesOwnArchitecture) {
  std::vector<artifact::Part> both = {{"ptx", "text"}, {"cubin", "binary"}};
  EXPECT_EQ(
      launch(of({code("cuda", "sm_80", both), code("cuda", "sm_90a", both), code("cuda", "sm_90", both)})),
      TG_OK)
      << tgr_message();
  EXPECT_NE(said.find("add_sm_90a"), std::string::npos) << said;
  EXPECT_EQ(launch(of({code("cuda", "sm_80", both), code("cuda", "sm_90", both)})), TG_OK);
  EXPECT_NE(said.find("add_sm_90"), std::string::npos) << said;
}

TEST_F(Loading, TextOfAnEarlierArchitectureRuns) {
  std::vector<artifact::Part> both = {{"ptx", "text"}, {"cubin", "binary"}};
  EXPECT_EQ(
      launch(of({code("cuda", "sm_75", both), code("cuda", "sm_80", both), code("cuda", "sm_100a", both)})),
      TG_OK)
      << tgr_message();
  EXPECT_NE(said.find("add_sm_80"), std::string::npos) << said;
}

TEST_F(Loading, RefusesADeviceWithoutCodeByName) {
  std::vector<artifact::Part> both = {{"ptx", "text"}, {"cubin", "binary"}};
  EXPECT_EQ(launch(of({code("cuda", "sm_80", {{"cubin", "binary"}}), code("cuda", "sm_100a", both)})),
            TG_UNSUPPORTED);
  for (const char *part : {"compiled for sm_80, sm_100a", "(sm_90a)", "--targets"})
    EXPECT_NE(std::strstr(tgr_message(), part), nullptr) << tgr_message();
  EXPECT_EQ(said.find("Launch"), std::string::npos) << said;
}

TEST_F(Loading, RefusesAValueThatIsNotDivisible) {
  Archive archive = of({code("cuda", "sm_90a", {{"cubin", "binary"}})});
  EXPECT_EQ(launch(archive, 8), TG_LAUNCH);
  EXPECT_NE(std::strstr(tgr_message(), "argument `x` of kernel `add` is not divisible by 16"), nullptr)
      << tgr_message();
  EXPECT_EQ(said, "");
}

TEST_F(Loading, RefusesAProcessorWithoutTheFeatures) {
  Artifact artifact = code("cpu", "someday", {{"obj", "code"}});
  artifact.features = {"a feature of the future"};
  tgr_library *library = open(of({artifact}), "cpu");
  uint64_t slots[] = {64, 5};
  EXPECT_EQ(tgr_launch(tgr_library_find(library, "add"), nullptr, slots, 2, {1, 1, 1}), TG_UNSUPPORTED);
  EXPECT_NE(std::strstr(tgr_message(), "a processor with "), nullptr) << tgr_message();
  // Nothing runs: nothing is asked for.
  EXPECT_EQ(tgr_launch(tgr_library_find(library, "add"), nullptr, slots, 2, {1, 0, 1}), TG_OK);
  tgr_library_close(library);
}

// A thread that the child does not have was choosing the code of the kernel.
TEST_F(Loading, AChildThatIsForkedAmidstLaunchesLaunches) {
  tgr_library *library = open(of({code("cpu", "", {{"obj", "no object"}})}), "cpu");
  auto launch = [&] {
    uint64_t slots[] = {64, 5};
    return tgr_launch(tgr_library_kernel(library, 0), nullptr, slots, 2, {1, 1, 1});
  };
  ASSERT_NE(launch(), TG_OK) << "so that the code is looked for each time";
  std::atomic<bool> isOver{false};
  std::thread other([&] {
    while (!isOver)
      launch();
  });
  int failures = 0;
  for (int i = 0; i != 60; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10); // a wait ends the child
      ::_exit(launch() == TG_OK);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    failures += status != 0;
  }
  isOver = true;
  other.join();
  EXPECT_EQ(failures, 0);
  tgr_library_close(library);
}

TEST_F(Loading, RefusesWrongCalls) {
  Archive archive = of({code("cuda", "sm_90a", {{"cubin", "binary"}})});
  std::string bytes = artifact::write(archive);
  tgr_library *library = nullptr;
  auto opened = [&](const char *target, const char *interface) {
    return tgr_library_open_bytes(bytes.data(), bytes.size(), target, interface, &library);
  };
  EXPECT_EQ(opened("tpu", nullptr), TG_UNSUPPORTED);
  EXPECT_NE(std::strstr(tgr_message(), "cpu, cuda"), nullptr);
  EXPECT_EQ(opened("cpu", nullptr), TG_UNSUPPORTED);
  EXPECT_NE(std::strstr(tgr_message(), "no code for the target `cpu`"), nullptr);
  EXPECT_EQ(opened("cuda", "0123456789abcdef"), TG_DATA);
  EXPECT_NE(std::strstr(tgr_message(), "other kernels or parameters than the header"), nullptr);
  EXPECT_EQ(library, nullptr);
  EXPECT_EQ(tgr_library_open("/nowhere/k.tga", "cuda", nullptr, &library), TG_DATA);
  EXPECT_EQ(tgr_library_open("/dev/zero", "cuda", nullptr, &library), TG_DATA);
  EXPECT_NE(std::string(tgr_message()).find("it is no file"), std::string::npos) << tgr_message();
  EXPECT_EQ(tgr_library_open("/tmp", "cuda", nullptr, &library), TG_DATA);
  EXPECT_EQ(tgr_library_open(nullptr, "cuda", nullptr, &library), TG_LAUNCH);
  EXPECT_EQ(tgr_library_open_bytes("bytes", 5, "cuda", nullptr, &library), TG_DATA);
  ASSERT_EQ(opened("cuda", artifact::interfaceDigest(archive).c_str()), TG_OK) << tgr_message();
  tgr_kernel *kernel = tgr_library_kernel(library, 0);
  EXPECT_EQ(tgr_library_kernel(library, 1), nullptr);
  EXPECT_EQ(tgr_library_find(library, "sub"), nullptr);
  uint64_t slots[] = {64, 5};
  tg_place place{};
  EXPECT_EQ(tgr_launch(nullptr, nullptr, slots, 2, {1, 1, 1}), TG_LAUNCH);
  EXPECT_EQ(tgr_launch(kernel, nullptr, slots, 1, {1, 1, 1}), TG_LAUNCH);
  EXPECT_NE(std::strstr(tgr_message(), "takes 2 arguments, and 1 were given"), nullptr);
  EXPECT_EQ(tgr_launch(kernel, nullptr, nullptr, 2, {1, 1, 1}), TG_LAUNCH);
  EXPECT_EQ(tgr_launch(kernel, nullptr, slots, 2, {-1, 1, 1}), TG_LAUNCH);
  EXPECT_EQ(tgr_launch(kernel, &place, slots, 2, {1, 1, 1}), TG_LAUNCH);
  EXPECT_NE(std::strstr(tgr_message(), "struct_size"), nullptr);
  place = {sizeof place, 99, nullptr};
  EXPECT_EQ(tgr_launch(kernel, &place, slots, 2, {1, 1, 1}), TG_LAUNCH);
  tgr_library_close(library);
  tgr_library_close(nullptr);
}

TEST(CpuFeatures, NamesThoseOfTheTableOnly) {
  EXPECT_TRUE(runtime::cpuHas("sse3")); // of every x86-64 processor since 2005
  EXPECT_FALSE(runtime::cpuHas("a feature of the future"));
  EXPECT_GT(runtime::cpuFeatures().size(), 20u);
}

} // namespace
