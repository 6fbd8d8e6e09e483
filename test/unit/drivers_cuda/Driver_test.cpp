// The driver's side of a launch against a driver that writes its calls down. A process opens one
// driver: what needs another one, or a fork, runs in a child.
#include "drivers/cuda/LoadedKernel.h"
#include "drivers/cuda/Memory.h"
#include "drivers/cuda/Timing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tegula;
using cuda::Image;
using cuda::LoadedKernel;

namespace {

template <class T> T fake(const char *name) {
  static void *const library = dlopen(std::getenv("TEGULA_LIBCUDA"), RTLD_NOW);
  return reinterpret_cast<T>(dlsym(library, name));
}
std::string calls() { return fake<const char *(*)()>("fakeCudaCalls")(); }
void fail(const char *function, int error) {
  fake<void (*)(const char *, int)>("fakeCudaFail")(function, error);
}
void *makeContext(int device) { return fake<void *(*)(int)>("fakeCudaMakeContext")(device); }
void setCurrent(void *context) { fake<int (*)(void *)>("cuCtxSetCurrent")(context); }
void *getCurrent() {
  void *context = nullptr;
  fake<int (*)(void **)>("cuCtxGetCurrent")(&context);
  return context;
}

Image image(uint64_t shared = 0) { return {"cubin", "softmax_kernel", "sm_90a", 128, shared}; }

class DriverTest : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("TEGULA_LIBCUDA", FAKE_CUDA, 1); }
  void SetUp() override {
    fake<void (*)()>("fakeCudaReset")();
    setCurrent(nullptr);
  }
};

// Runs `body` in a fresh copy of this process; true when it returns true.
template <class Body> bool inChild(Body body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// First in the file: no test before it has opened a driver in this process.
TEST(NoDriverTest, SaysWhatIsMissingAndStaysUsable) {
  EXPECT_TRUE(inChild([] {
    setenv("TEGULA_LIBCUDA", "/no/such/libcuda.so.1", 1);
    Status status = cuda::deviceCount().status();
    return status.code == StatusCode::Driver && status.message.find("no GPU driver") != std::string::npos &&
           status.message.find("hint") != std::string::npos && !cuda::deviceInfo(0).ok() &&
           !cuda::currentDevice().ok();
  }));
}

TEST(NoDriverTest, SaysThatThereIsNoDevice) {
  EXPECT_TRUE(inChild([] {
    setenv("TEGULA_LIBCUDA", FAKE_CUDA, 1);
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    Status status = cuda::deviceCount().status();
    return status.code == StatusCode::Driver &&
           status.message.find("CUDA_ERROR_NO_DEVICE") != std::string::npos;
  }));
}

TEST(NoDriverTest, LoadsOnceADeviceWithoutLibraries) {
  EXPECT_TRUE(inChild([] {
    setenv("TEGULA_LIBCUDA", FAKE_CUDA_OLD, 1);
    LoadedKernel kernel(image(100000));
    setCurrent(makeContext(0)); // not the primary one: code is not loaded there
    for (int device : {0, 1, 0, 1})
      if (!kernel.launch({}, {{1, 1, 1}}, {device, nullptr}).ok())
        return false;
    return fake<int (*)()>("fakeCudaLoads")() == 2;
  }));
}

TEST(NoDriverTest, AChildForkedBeforeTheFirstUseHasItsOwn) {
  EXPECT_TRUE(inChild([] {
    setenv("TEGULA_LIBCUDA", FAKE_CUDA, 1);
    return cuda::deviceCount().ok();
  }));
}

TEST_F(DriverTest, DescribesDevices) {
  Result<int> count = cuda::deviceCount();
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 2);
  Result<const runtime::DeviceInfo *> found = cuda::deviceInfo(1);
  ASSERT_TRUE(found.ok());
  const runtime::DeviceInfo *info = *found;
  EXPECT_EQ(info->name, "Fake GPU");
  EXPECT_EQ(info->arch, "sm_90a");
  EXPECT_EQ(info->multiprocessors, 132);
  EXPECT_EQ(info->maxSharedBytes, 227 * 1024);
  EXPECT_EQ(cuda::deviceInfo(2).status().code, StatusCode::Launch);
  EXPECT_EQ(cuda::archName(8, 6), "sm_86");
  EXPECT_EQ(cuda::archName(12, 0), "sm_120a");
}

TEST_F(DriverTest, LaunchesWithParametersAndTwoScratchPointers) {
  LoadedKernel kernel(image(1024));
  uint64_t slots[] = {0x1000, 42};
  setenv("FAKE_CUDA_PARAMETERS", "4", 1);
  ASSERT_TRUE(kernel.launch(slots, {{5, 6, 7}}, {0, reinterpret_cast<void *>(9)}).ok());
  EXPECT_NE(calls().find("launch softmax_kernel on 0 grid 5,6,7 block 128 shared 1024 stream 9"),
            std::string::npos)
      << calls();
  unsetenv("FAKE_CUDA_PARAMETERS");
  auto parameter = fake<uint64_t (*)(size_t)>("fakeCudaParameter");
  EXPECT_EQ(parameter(0), 0x1000u);
  EXPECT_EQ(parameter(1), 42u);
  EXPECT_EQ(parameter(2), 0u);
  EXPECT_EQ(parameter(3), 0u);
}

// The number for copy maps (base/CopyMap.h) that a launch with this pointer gives its kernel.
uint64_t numberOfMaps(LoadedKernel &kernel, uint64_t pointer) {
  uint64_t slots[] = {pointer};
  EXPECT_TRUE(kernel.launch(slots, {{1, 1, 1}}, {}).ok());
  return fake<uint64_t (*)(size_t)>("fakeCudaParameter")(1);
}

CopyMap someMap() {
  CopyMap map;
  map.strideScale = 256;
  map.elementBytes = 2;
  map.columns = map.rows = map.boxColumns = map.boxRows = 64;
  return map;
}

TEST_F(DriverTest, CopyMapsLieInConstantMemoryUntilThatIsFull) {
  setenv("FAKE_CUDA_PARAMETERS", "2", 1);
  Image code = image();
  code.bytes = "cubin with copy maps"; // four lines of 256 bytes, each of which two maps fill
  code.copyMaps = {someMap(), someMap()};
  LoadedKernel kernel(code);
  for (uint64_t kind = 0; kind != 4; ++kind)
    EXPECT_EQ(numberOfMaps(kernel, 0x1000 * (kind + 1)), CopyMap::inConstants(256 * kind));
  uint64_t own = numberOfMaps(kernel, 0x9000);
  EXPECT_EQ(own % 2, 0u);
  ASSERT_NE(own, 0u);
  EXPECT_EQ(*reinterpret_cast<uint64_t *>(own), 0x9000u);
  EXPECT_EQ(numberOfMaps(kernel, 0x2000), CopyMap::inConstants(256)); // found again
  EXPECT_EQ(numberOfMaps(kernel, 0x2008), 0u);                        // no map has this pointer
  unsetenv("FAKE_CUDA_PARAMETERS");
}

TEST_F(DriverTest, CopyMapsOfCodeWithoutConstantMemoryLieInMemoryOfTheirOwn) {
  setenv("FAKE_CUDA_PARAMETERS", "2", 1);
  Image code = image();
  code.copyMaps = {someMap()};
  LoadedKernel kernel(code);
  uint64_t own = numberOfMaps(kernel, 0x1000);
  ASSERT_NE(own, 0u);
  EXPECT_EQ(*reinterpret_cast<uint64_t *>(own), 0x1000u);
  unsetenv("FAKE_CUDA_PARAMETERS");
}

TEST_F(DriverTest, AThreadWithoutContextGetsThePrimaryAndKeepsIt) {
  LoadedKernel kernel(image());
  ASSERT_TRUE(kernel.launch({}, {{1, 1, 1}}, {}).ok());
  EXPECT_NE(getCurrent(), nullptr);
  EXPECT_EQ(*cuda::currentDevice(), 0);
}

TEST_F(DriverTest, UsesTheCallersContextOfTheDevice) {
  void *mine = makeContext(1);
  setCurrent(mine);
  LoadedKernel kernel(image());
  ASSERT_TRUE(kernel.launch({}, {{1, 1, 1}}, {1, nullptr}).ok());
  EXPECT_EQ(calls().find("retain"), std::string::npos);
  ASSERT_TRUE(kernel.launch({}, {{1, 1, 1}}, {}).ok()); // no device named: the current one
  EXPECT_EQ(calls().find("launch softmax_kernel on 0"), std::string::npos);
  EXPECT_EQ(getCurrent(), mine);
}

TEST_F(DriverTest, PutsTheCallersContextBackAfterAnotherDevice) {
  void *mine = makeContext(0);
  setCurrent(mine);
  LoadedKernel kernel(image());
  ASSERT_TRUE(kernel.launch({}, {{1, 1, 1}}, {1, nullptr}).ok());
  EXPECT_NE(calls().find("launch softmax_kernel on 1"), std::string::npos);
  EXPECT_EQ(getCurrent(), mine);
}

TEST_F(DriverTest, LoadsOnceForAllDevicesAndThreads) {
  LoadedKernel kernel(image());
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int i = 0; i != 16; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n != 20; ++n)
        bad += !kernel.launch({}, {{1, 1, 1}}, {i % 2, nullptr}).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(fake<int (*)()>("fakeCudaLoads")(), 1);
}

TEST_F(DriverTest, LoadsWhileAGraphIsCaptured) {
  fake<void (*)(bool)>("fakeCudaCapture")(true);
  LoadedKernel kernel(image(100000));
  EXPECT_TRUE(kernel.launch({}, {{1, 1, 1}}, {}).ok());
  EXPECT_EQ(calls().find("synchronize"), std::string::npos);
}

TEST_F(DriverTest, AsksForMuchSharedMemoryOnEachDevice) {
  LoadedKernel kernel(image(100000));
  EXPECT_TRUE(kernel.launch({}, {{1, 1, 1}}, {0, nullptr}).ok());
  EXPECT_TRUE(kernel.launch({}, {{1, 1, 1}}, {1, nullptr}).ok());
  EXPECT_NE(calls().find("setAttribute on 1"), std::string::npos);
}

TEST_F(DriverTest, RefusesMoreSharedMemoryThanThereIs) {
  Status status = LoadedKernel(image(300000)).launch({}, {{1, 1, 1}}, {});
  EXPECT_EQ(status.code, StatusCode::Resource);
  EXPECT_NE(status.message.find("232448"), std::string::npos) << status.message;
}

TEST_F(DriverTest, RefusesGridsAndDevicesThatDoNotExist) {
  LoadedKernel kernel(image());
  EXPECT_EQ(kernel.launch({}, {{1, 65536, 1}}, {}).code, StatusCode::Launch);
  EXPECT_EQ(kernel.launch({}, {{1, 1, 1}}, {7, nullptr}).code, StatusCode::Launch);
}

TEST_F(DriverTest, LaunchesACooperativeGridAndRefusesOneThatDoesNotFit) {
  Image cooperative = image();
  cooperative.isCooperative = true;
  LoadedKernel kernel(std::move(cooperative));
  EXPECT_TRUE(kernel.launch({}, {{264, 1, 1}}, {}).ok());
  EXPECT_NE(calls().find("cooperative\nlaunch softmax_kernel on 0 grid 264,1,1"), std::string::npos);
  Status status = kernel.launch({}, {{265, 1, 1}}, {});
  EXPECT_EQ(status.code, StatusCode::Launch);
  EXPECT_NE(status.message.find("grid of 265 programs is cooperative"), std::string::npos) << status.message;
  EXPECT_TRUE(LoadedKernel(image()).launch({}, {{265, 1, 1}}, {}).ok());
}

TEST_F(DriverTest, LaunchesAheadOfTheEndOfTheLaunchBefore) {
  Image early = image();
  early.launchesEarly = true;
  EXPECT_TRUE(LoadedKernel(early).launch({}, {{4, 1, 1}}, {}).ok());
  EXPECT_NE(calls().find("attribute 6 is 1\nlaunch softmax_kernel on 0 grid 4,1,1"), std::string::npos)
      << calls();
  early.isCooperative = true;
  LoadedKernel both(std::move(early));
  EXPECT_TRUE(both.launch({}, {{264, 1, 1}}, {}).ok());
  EXPECT_NE(calls().find("attribute 6 is 1\nattribute 2 is 1\nlaunch softmax_kernel"), std::string::npos)
      << calls();
  EXPECT_EQ(both.launch({}, {{265, 1, 1}}, {}).code, StatusCode::Launch);
}

TEST_F(DriverTest, NamesTheDriversErrors) {
  fail("cuLaunchKernel", 700);
  Status status = LoadedKernel(image()).launch({}, {{1, 1, 1}}, {});
  EXPECT_EQ(status.code, StatusCode::Driver);
  EXPECT_NE(status.message.find("CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"),
            std::string::npos);
  EXPECT_NE(status.message.find("cannot be used any more"), std::string::npos);
  fail("cuLaunchKernel", 701);
  EXPECT_EQ(LoadedKernel(image()).launch({}, {{1, 1, 1}}, {}).code, StatusCode::Resource);
}

TEST_F(DriverTest, SaysThatTheCodeIsForAnotherDevice) {
  Image wrong = image();
  wrong.bytes = "bad";
  LoadedKernel kernel(wrong);
  Status status = kernel.launch({}, {{1, 1, 1}}, {});
  EXPECT_EQ(status.code, StatusCode::Driver);
  EXPECT_NE(status.message.find("compiled for sm_90a"), std::string::npos) << status.message;
}

TEST_F(DriverTest, KnowsWhatTheKernelTakes) {
  LoadedKernel kernel(image(2048));
  Result<runtime::KernelAttributes> attributes = kernel.attributes(0);
  ASSERT_TRUE(attributes.ok());
  EXPECT_EQ(attributes->registers, 40);
  EXPECT_EQ(attributes->spillBytes, 16);
  EXPECT_EQ(attributes->sharedBytes, 2048);
  EXPECT_EQ(attributes->warps, 4);
}

TEST_F(DriverTest, AllocatesCopiesAndWaits) {
  auto allocations = fake<size_t (*)()>("fakeCudaAllocations");
  size_t before = allocations();
  int there[4] = {1, 2, 3, 4}, back[4] = {};
  Result<void *> memory = cuda::allocate(1, sizeof there);
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(cuda::copy(1, *memory, there, sizeof there).ok());
  EXPECT_TRUE(cuda::copy(1, back, *memory, sizeof back).ok());
  EXPECT_EQ(back[3], 4);
  EXPECT_TRUE(cuda::synchronize({1, nullptr}).ok());
  EXPECT_EQ(allocations(), before + 1);
  EXPECT_TRUE(cuda::release(1, *memory).ok());
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(cuda::allocate(0, size_t(1) << 40).status().code, StatusCode::Resource);
  fail("cuStreamSynchronize", 700);
  EXPECT_EQ(cuda::synchronize({}).code, StatusCode::Driver);
}

TEST_F(DriverTest, TimesLaunchesBehindAColdCache) {
  LoadedKernel kernel(image());
  int prepared = 0;
  auto prepare = [&] { return ++prepared, Status::success(); };
  auto launch = [&] { return kernel.launch({}, {{1, 1, 1}}, {}); };
  auto allocations = fake<size_t (*)()>("fakeCudaAllocations");
  size_t before = allocations();
  Result<std::vector<double>> times = cuda::time({}, 3, prepare, launch);
  ASSERT_TRUE(times.ok()) << times.status().message;
  EXPECT_EQ(allocations(), before); // what empties the cache is given back
  EXPECT_EQ(*times, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(prepared, 3);
  std::string noted = calls();
  EXPECT_LT(noted.find("set "), noted.find("launch softmax_kernel")) << noted;
  for (const char *function : {"cuEventCreate", "cuEventRecord", "cuMemsetD8Async", "cuEventSynchronize"}) {
    fail(function, 700);
    EXPECT_EQ(cuda::time({}, 1, prepare, launch).status().code, StatusCode::Driver) << function;
  }
  fail("", 0);
  auto refused = [] { return Status::error(StatusCode::Resource, "too large"); };
  EXPECT_EQ(cuda::time({}, 1, prepare, refused).status().code, StatusCode::Resource);
}

TEST_F(DriverTest, AChildForkedAfterTheFirstUseIsToldSo) {
  ASSERT_TRUE(cuda::deviceCount().ok());
  EXPECT_TRUE(inChild([] {
    Status status = LoadedKernel(image()).launch({}, {{1, 1, 1}}, {});
    return status.code == StatusCode::Driver && status.message.find("fork") != std::string::npos;
  }));
  EXPECT_TRUE(cuda::deviceCount().ok());
}

} // namespace
