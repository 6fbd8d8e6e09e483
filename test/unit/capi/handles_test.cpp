// A host passes NULL, destroyed handles, handles of another kind, addresses of anything, structs without a
// size, counts without items: each is a status (or nothing, where a function has none), and the process goes
// on.
#include "tegula/tegula.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr const char *handlesText =
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def add(x, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    tl.store(x + i, "
    "tl.load(x + i) + n, mask=i < n)\n";

struct Handles : testing::Test {
  tg_context *context = nullptr;
  tg_module *module = nullptr;
  tg_function *function = nullptr;
  tg_kernel *kernel = nullptr;

  void SetUp() override {
    ASSERT_EQ(tg_context_create(nullptr, &context, nullptr), TG_OK);
    tg_source source{};
    source.struct_size = sizeof source;
    source.text = handlesText;
    source.size = std::string(handlesText).size();
    ASSERT_EQ(tg_module_from_text(context, &source, &module, nullptr), TG_OK);
    ASSERT_EQ(tg_module_find(module, "add", &function, nullptr), TG_OK);
    ASSERT_EQ(tg_compile(function, "x=*f32,n=i32,B=16", nullptr, &kernel, nullptr), TG_OK);
  }
  void TearDown() override {
    tg_kernel_destroy(kernel);
    tg_module_destroy(module);
    tg_context_destroy(context);
  }

  // Any address, as each kind of handle.
  void expectRefused(void *any) {
    auto *badContext = static_cast<tg_context *>(any);
    auto *badModule = static_cast<tg_module *>(any);
    auto *badFunction = static_cast<tg_function *>(any);
    auto *badKernel = static_cast<tg_kernel *>(any);
    auto *badSimulation = static_cast<tg_simulation *>(any);
    int64_t grid[] = {1};
    uint64_t slots[] = {0, 0};
    tg_module *module_ = nullptr;
    tg_function *function_ = nullptr;
    tg_kernel *kernel_ = nullptr;
    const char *data = nullptr;
    size_t size = 0;
    double milliseconds = 0;
    tg_source source{sizeof source, "m.py", handlesText, 5, 1, 0, nullptr};
    tg_kernel_argument argument{sizeof argument, nullptr, TG_I1, 0, 0};
    tg_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    tg_remark remark{sizeof remark, nullptr, nullptr, nullptr};
    tg_kernel_attributes attributes{};
    attributes.struct_size = sizeof attributes;
    tg_simulation_launch launch{};
    launch.struct_size = sizeof launch;
    EXPECT_EQ(tg_module_from_text(badContext, &source, &module_, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_module_from_file(badContext, "m.py", &module_, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_module_find(badModule, "add", &function_, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_module_function_count(badModule), 0u);
    EXPECT_EQ(tg_module_function(badModule, 0), nullptr);
    EXPECT_EQ(tg_function_name(badFunction), nullptr);
    EXPECT_EQ(tg_function_parameter_count(badFunction), 0u);
    EXPECT_EQ(tg_function_parameter(badFunction, 0, &parameter), TG_LAUNCH);
    tg_function_do_not_specialize(badFunction, 0, 0);
    EXPECT_EQ(tg_function_annotate(badFunction, 0, "i64"), 0);
    EXPECT_EQ(tg_compile(badFunction, "", nullptr, &kernel_, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_call(badFunction, nullptr, nullptr, nullptr, 0, grid, 1, &kernel_, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_prepare(badFunction, nullptr, nullptr, nullptr, 0, &kernel_, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_launch(badKernel, nullptr, slots, 2, grid, 1, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_kernel_prepare(badKernel, nullptr, grid, 1, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_kernel_is_kept(badKernel), 0);
    EXPECT_EQ(tg_kernel_name(badKernel), nullptr);
    EXPECT_EQ(tg_kernel_target(badKernel), nullptr);
    EXPECT_EQ(tg_kernel_argument_count(badKernel), 0u);
    EXPECT_EQ(tg_kernel_get_argument(badKernel, 0, &argument), TG_LAUNCH);
    EXPECT_EQ(tg_kernel_get_attributes(badKernel, &attributes, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_kernel_stage_name(badKernel, 0), nullptr);
    EXPECT_EQ(tg_kernel_stage(badKernel, "ttir", &data, &size, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_kernel_remark_count(badKernel), 0u);
    EXPECT_EQ(tg_kernel_remark(badKernel, 0, &remark), TG_LAUNCH);
    EXPECT_EQ(tg_kernel_time(badKernel, 0, &milliseconds), nullptr);
    EXPECT_EQ(tg_kernel_warnings(badKernel), nullptr);
    EXPECT_EQ(tg_simulation_stream(badSimulation), nullptr);
    EXPECT_EQ(tg_simulation_finding_count(badSimulation), 0u);
    uint64_t steps = 1, done = 1, blocks = 1;
    tg_simulation_progress(badSimulation, &steps, &done, &blocks);
    tg_simulation_progress(badSimulation, nullptr, nullptr, nullptr);
    EXPECT_EQ(steps + done + blocks, 0u);
    EXPECT_EQ(tg_simulation_text(badSimulation, "findings"), nullptr);
    EXPECT_EQ(tg_simulation_run(badSimulation, &launch, nullptr), TG_LAUNCH);
    EXPECT_EQ(tg_simulation_replay(badSimulation, "", nullptr), TG_LAUNCH);
    tg_simulation_add_memory(badSimulation, slots, sizeof slots, "m", 1);
    tg_context_destroy(badContext);
    tg_module_destroy(badModule);
    tg_kernel_destroy(badKernel);
    tg_simulation_destroy(badSimulation);
    tg_diagnostics_destroy(static_cast<tg_diagnostics *>(any));
    EXPECT_EQ(tg_diagnostics_count(static_cast<tg_diagnostics *>(any)), 0u);
  }
};

TEST_F(Handles, NullIsAStatus) { expectRefused(nullptr); }

TEST_F(Handles, AnyAddressIsAStatus) {
  alignas(16) char memory[256] = {};
  expectRefused(memory);
  expectRefused(reinterpret_cast<void *>(uintptr_t(8)));
  expectRefused(reinterpret_cast<void *>(~uintptr_t(0)));
}

// Threads that the child does not have held locks: of the tables, of a kernel that the interpreter runs, of
// one whose stages are asked for.
TEST_F(Handles, AChildThatIsForkedAmidstCallsCalls) {
  static float x[16];
  auto call = [&](const char *target) {
    tg_argument arguments[3] = {};
    arguments[0].value.kind = TG_POINTER;
    arguments[0].value.dtype = TG_F32;
    arguments[0].value.as.address = x;
    arguments[1].value.kind = arguments[2].value.kind = TG_INT;
    arguments[1].value.as.integer = arguments[2].value.as.integer = 16;
    int64_t grid[] = {1};
    tg_kernel *called = nullptr;
    tg_status status = tg_call(function, target, nullptr, arguments, 3, grid, 1, &called, nullptr);
    const char *text = nullptr;
    size_t size = 0;
    if (status == TG_OK)
      status = tg_kernel_stage(called, "ttir", &text, &size, nullptr);
    tg_kernel_destroy(called);
    return status;
  };
  auto callBoth = [&] { return std::max(call("cpu"), call("interp")); };
  ASSERT_EQ(callBoth(), TG_OK);
  std::atomic<bool> isOver{false};
  std::thread others[2];
  for (std::thread &each : others)
    each = std::thread([&] {
      while (!isOver)
        callBoth();
    });
  int failures = 0;
  for (int i = 0; i != 60; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(10); // a wait ends the child
      _exit(callBoth() != TG_OK);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  isOver = true;
  for (std::thread &each : others)
    each.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(Handles, AHandleOfAnotherKindIsAStatus) {
  int64_t grid[] = {1};
  uint64_t slots[] = {0, 0};
  EXPECT_EQ(tg_launch(reinterpret_cast<tg_kernel *>(function), nullptr, slots, 2, grid, 1, nullptr),
            TG_LAUNCH);
  EXPECT_EQ(tg_launch(reinterpret_cast<tg_kernel *>(module), nullptr, slots, 2, grid, 1, nullptr), TG_LAUNCH);
  tg_kernel *made = nullptr;
  EXPECT_EQ(tg_compile(reinterpret_cast<tg_function *>(kernel), "", nullptr, &made, nullptr), TG_LAUNCH);
  tg_context_destroy(reinterpret_cast<tg_context *>(module));
  tg_kernel_destroy(reinterpret_cast<tg_kernel *>(function));
  EXPECT_STREQ(tg_function_name(function), "add") << "nothing was destroyed";
}

TEST_F(Handles, ADestroyedHandleIsAStatus) {
  tg_kernel *gone = kernel;
  tg_kernel_destroy(gone);
  EXPECT_EQ(tg_kernel_name(gone), nullptr);
  tg_kernel_destroy(gone);
  kernel = nullptr;
}

TEST_F(Handles, AKernelThatWasGivenOutTwiceLivesUntilItIsDestroyedTwice) {
  float x[16] = {};
  tg_argument arguments[3] = {};
  arguments[0].value.kind = TG_POINTER;
  arguments[0].value.dtype = TG_F32;
  arguments[0].value.as.address = x;
  arguments[1].value.kind = arguments[2].value.kind = TG_INT;
  arguments[1].value.as.integer = arguments[2].value.as.integer = 16;
  int64_t grid[] = {1};
  tg_kernel *called = nullptr, *prepared = nullptr;
  ASSERT_EQ(tg_call(function, "interp", nullptr, arguments, 3, grid, 1, &called, nullptr), TG_OK);
  ASSERT_EQ(tg_prepare(function, "interp", nullptr, arguments, 3, &prepared, nullptr), TG_OK);
  ASSERT_EQ(called, prepared);
  tg_module_destroy(module);
  module = nullptr;
  EXPECT_STREQ(tg_kernel_name(called), "add") << "its module is gone, and it is held";
  tg_kernel_destroy(called);
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(x), 16};
  EXPECT_EQ(tg_kernel_prepare(prepared, nullptr, grid, 1, nullptr), TG_OK);
  int64_t wrong[] = {1, -1};
  EXPECT_EQ(tg_kernel_prepare(prepared, nullptr, wrong, 2, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_kernel_prepare(prepared, nullptr, nullptr, 1, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_launch(prepared, nullptr, slots, 2, grid, 1, nullptr), TG_OK);
  EXPECT_EQ(x[0], 32) << "and it ran once";
  tg_kernel_destroy(prepared);
  EXPECT_EQ(tg_kernel_name(prepared), nullptr);
  tg_kernel_destroy(prepared);
  EXPECT_EQ(tg_launch(prepared, nullptr, slots, 2, grid, 1, nullptr), TG_LAUNCH);
}

TEST_F(Handles, TheStreamOfPtxvmMustBeASimulation) {
  std::vector<float> x(16, 1);
  tg_argument arguments[3] = {};
  arguments[0].value.kind = TG_POINTER;
  arguments[0].value.dtype = TG_F32;
  arguments[0].value.as.address = x.data();
  arguments[1].value.kind = arguments[2].value.kind = TG_INT;
  arguments[1].value.as.integer = arguments[2].value.as.integer = 16;
  int64_t grid[] = {1};
  tg_diagnostics *problems = nullptr;
  tg_place place{sizeof place, -1, x.data()};
  EXPECT_EQ(tg_call(function, "ptxvm", &place, arguments, 3, grid, 1, nullptr, &problems), TG_LAUNCH);
  EXPECT_NE(std::string(tg_diagnostics_text(problems)).find("the stream is no simulation"), std::string::npos)
      << tg_diagnostics_text(problems);
  tg_diagnostics_destroy(problems);
  tg_simulation *simulation = nullptr;
  ASSERT_EQ(tg_simulation_create(nullptr, &simulation, nullptr), TG_OK);
  place.stream = tg_simulation_stream(simulation);
  EXPECT_EQ(tg_call(function, "ptxvm", &place, arguments, 3, grid, 1, nullptr, nullptr), TG_OK);
  EXPECT_EQ(x[0], 17);
  tg_simulation_destroy(simulation);
  EXPECT_EQ(tg_call(function, "ptxvm", &place, arguments, 3, grid, 1, nullptr, nullptr), TG_LAUNCH)
      << "it is gone";
}

TEST_F(Handles, NullInThePlaceOfAResultIsAStatus) {
  tg_source source{sizeof source, "m.py", handlesText, std::string(handlesText).size(), 1, 0, nullptr};
  int64_t grid[] = {1};
  EXPECT_EQ(tg_context_create(nullptr, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_module_from_text(context, &source, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_module_from_text(context, nullptr, &module, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_module_from_file(context, nullptr, &module, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_module_find(module, nullptr, &function, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_module_find(module, "add", nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_compile(function, nullptr, nullptr, &kernel, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_compile(function, "", nullptr, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_kernel_stage(kernel, nullptr, nullptr, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_launch(kernel, nullptr, nullptr, 2, grid, 1, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_call(function, nullptr, nullptr, nullptr, 3, grid, 1, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_call(function, nullptr, nullptr, nullptr, ~size_t(0), grid, 1, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_call(function, nullptr, nullptr, nullptr, 0, nullptr, 1, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_check_file(context, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_language_name(nullptr, nullptr), 0);
  EXPECT_EQ(tg_language_name_at(nullptr, 0), nullptr);
  EXPECT_EQ(tg_language_name_at("triton.no_module", 0), nullptr);
  EXPECT_EQ(tg_language_name_at("triton.language", ~size_t(0)), nullptr);
  EXPECT_EQ(tg_device_count("cpu", nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_memory_allocate("cpu", -1, 8, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_memory_copy("cpu", -1, nullptr, nullptr, 8, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_simulation_create(nullptr, nullptr, nullptr), TG_LAUNCH);
  kernel = nullptr; // what a compile that failed left
}

TEST_F(Handles, AStructWithoutItsSizeIsAStatus) {
  tg_context_options contextOptions{0, "cpu"};
  tg_compile_options compileOptions{};
  tg_place place{0, 5, nullptr};
  tg_source source{0, "m.py", handlesText, 5, 1, 0, nullptr};
  tg_context *otherContext = nullptr;
  tg_module *otherModule = nullptr;
  tg_kernel *otherKernel = nullptr;
  int64_t grid[] = {1};
  uint64_t slots[] = {0, 0};
  EXPECT_EQ(tg_context_create(&contextOptions, &otherContext, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_module_from_text(context, &source, &otherModule, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_compile(function, "x=*f32,n=i32,B=16", &compileOptions, &otherKernel, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_launch(kernel, &place, slots, 2, grid, 1, nullptr), TG_LAUNCH);
}

TEST_F(Handles, ValuesThatPointAtNothingAreNoConstants) {
  tg_argument argument{};
  int64_t grid[] = {1};
  auto refused = [&] { return tg_call(function, nullptr, nullptr, &argument, 1, grid, 1, nullptr, nullptr); };
  for (uint8_t kind : {TG_STRING, TG_LITERAL, TG_MODULE, TG_BUILTIN, TG_TUPLE}) {
    argument.value.kind = kind;
    argument.value.as.text = {nullptr, 5};
    EXPECT_EQ(refused(), TG_LAUNCH);
    argument.value.as.text = {handlesText, ~size_t(0)};
    EXPECT_EQ(refused(), TG_LAUNCH);
  }
  argument.value.kind = TG_FUNCTION;
  argument.value.as.address = &argument;
  EXPECT_EQ(refused(), TG_LAUNCH);
  argument.value.kind = TG_TUPLE; // one that holds itself
  argument.value.as.tuple = {&argument.value, 1};
  EXPECT_EQ(refused(), TG_LAUNCH);
}

TEST_F(Handles, ModulesOfHugeSizesAreRefusedUnread) {
  tg_source source{sizeof source, "m.py", handlesText, ~size_t(0), 1, 0, nullptr};
  tg_module *other = nullptr;
  EXPECT_EQ(tg_module_from_text(context, &source, &other, nullptr), TG_RESOURCE);
}

} // namespace
