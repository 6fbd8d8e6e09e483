// The C interface when all is right: what it tells of kernels, and its promises to callers
// that were built against another version.
#include "tegula/tegula.hpp"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include <gtest/gtest.h>

namespace {

constexpr const char *interfaceText = R"(import triton
import triton.language as tl

@triton.jit
def scale(x, n, f, BLOCK: tl.constexpr, KIND: tl.constexpr = 'plain'):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * f
    if KIND == 'negative':
        v = -v
    tl.store(x + i, v, mask=i < n)
)";

class Interface : public testing::TestWithParam<const char *> {
protected:
  tg::Context context = *tg::Context::create(GetParam());
  tg::Module module = *context.parse(interfaceText, "scale.py");
  tg::Function scale = *module.function("scale");
};
INSTANTIATE_TEST_SUITE_P(Targets, Interface, testing::Values("interp", "cpu"),
                         [](auto &info) { return std::string(info.param); });

TEST_P(Interface, DescribesParameters) {
  auto parameters = scale.parameters();
  ASSERT_EQ(parameters.size(), 5u);
  EXPECT_EQ(parameters[0].name, "x");
  EXPECT_FALSE(parameters[0].isConstexpr);
  EXPECT_TRUE(parameters[3].isConstexpr);
  EXPECT_EQ(parameters[3].annotation, "tl.constexpr");
  EXPECT_FALSE(parameters[3].defaultValue);
  EXPECT_EQ(parameters[4].defaultValue, "'plain'");
  EXPECT_EQ(parameters[4].line, 5u);
}

TEST_P(Interface, CompilesForASignatureAndLaunches) {
  auto kernel = scale.compile("x=*f32,n=i32,f=f32,BLOCK=8,KIND='negative'");
  ASSERT_TRUE(kernel) << kernel.error().text();
  std::vector<float> x(13, 2);
  std::array<int64_t, 1> grid{2};
  std::array<uint64_t, 3> slots{reinterpret_cast<uintptr_t>(x.data()), 13, std::bit_cast<uint32_t>(1.5f)};
  const std::vector<float> before = x;
  ASSERT_TRUE(kernel->prepare(grid));
  EXPECT_FALSE(kernel->prepare(std::array<int64_t, 1>{-1}));
  EXPECT_EQ(x, before) << "nothing ran";
  ASSERT_TRUE(kernel->launch(grid, slots));
  EXPECT_EQ(x, std::vector<float>(13, -3));
}

TEST_P(Interface, TellsArgumentsOfAKernel) {
  auto kernel = scale.compile("x=*f16,n=i64,f=2,BLOCK=8");
  ASSERT_TRUE(kernel) << kernel.error().text();
  ASSERT_EQ(tg_kernel_argument_count(kernel->handle()), 2u); // f is a constant
  tg_kernel_argument argument{.struct_size = sizeof argument};
  tg_kernel_get_argument(kernel->handle(), 0, &argument);
  EXPECT_STREQ(argument.name, "x");
  EXPECT_EQ(argument.dtype, TG_F16);
  EXPECT_TRUE(argument.is_pointer && argument.is_written);
  tg_kernel_get_argument(kernel->handle(), 1, &argument);
  EXPECT_EQ(argument.dtype, TG_I64);
}

TEST_P(Interface, CallSpecializes) {
  std::vector<float> x(16, 1);
  auto call = [&](auto n, auto... more) {
    auto kernel = scale.call({2}, x.data(), n, 2.0, tg::named("BLOCK", 8), more...);
    EXPECT_TRUE(kernel);
    return kernel->handle();
  };
  tg_kernel *first = call(13);
  EXPECT_EQ(call(14), first);
  EXPECT_NE(call(16), first);
  EXPECT_NE(call(1), first);
  EXPECT_NE(call(int64_t(1) << 40), first);
  EXPECT_NE(call(13, tg::named("KIND", "negative")), first);
  EXPECT_EQ(call(13, tg::named("KIND", "plain")), first);
  EXPECT_EQ(call(13, tg::named("num_warps", 4)), first);
}

TEST_P(Interface, StagesAreTexts) {
  auto kernel = scale.compile("x=*f32,n=i32,f=f32,BLOCK=8");
  ASSERT_TRUE(kernel);
  auto stages = kernel->stages();
  EXPECT_EQ(stages.front(), "ttir");
  for (const std::string &stage : stages) {
    auto data = kernel->stage(stage);
    ASSERT_TRUE(data) << stage << ": " << data.error().text();
    EXPECT_FALSE(data->empty());
  }
  EXPECT_FALSE(kernel->times().empty());
}

TEST_P(Interface, EmptyGridRunsNothing) {
  std::vector<float> x(8, 1);
  ASSERT_TRUE(scale.call({4, 0}, x.data(), 8, 2.0, tg::named("BLOCK", 8)));
  EXPECT_EQ(x, std::vector<float>(8, 1));
}

TEST_P(Interface, LiteralsAreConstants) {
  std::vector<float> x(8, 1);
  ASSERT_TRUE(scale.call({1}, x.data(), 8, tg::literal("-0x3"), tg::named("BLOCK", tg::literal("8")),
                         tg::named("KIND", tg::literal("'negative'"))));
  EXPECT_EQ(x, std::vector<float>(8, 3));
}

TEST_P(Interface, CallsFromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t != 8; ++t)
    threads.emplace_back([&, t] {
      for (int block : {4, 8, 16, 32}) {
        std::vector<float> x(32, float(t));
        auto called = scale.call({32 / block}, x.data(), 32, 3.0, tg::named("BLOCK", block));
        wrong += !called || x != std::vector<float>(32, 3.0f * t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Version, OfTheInterface) {
  EXPECT_EQ(tg_abi_version(), uint32_t(TG_ABI_VERSION));
  EXPECT_STREQ(tg_dtype_name(TG_BF16), "bf16");
  EXPECT_EQ(tg_dtype_size(TG_I1), 1u);
  EXPECT_EQ(tg_dtype_from_name("float16"), TG_F16);
}

// A caller built when the struct ended earlier gets what it knows, and not a byte more.
TEST(StructSize, OlderCallersAreServed) {
  tg::Context context = *tg::Context::create("interp");
  tg::Module module = *context.parse(interfaceText, "scale.py");
  struct {
    tg_parameter parameter;
  } room;
  std::memset(&room, 0x5a, sizeof room);
  room.parameter.struct_size = offsetof(tg_parameter, annotation);
  ASSERT_EQ(tg_function_parameter(module.function("scale")->handle(), 0, &room.parameter), TG_OK);
  EXPECT_STREQ(room.parameter.name, "x");
  uint64_t rest;
  std::memcpy(&rest, &room.parameter.annotation, sizeof rest);
  EXPECT_EQ(rest, 0x5a5a5a5a5a5a5a5aull);
}

// ---- a host's environment ---------------------------------------------------------------------

struct Host {
  std::map<std::string, tg_value> names;
  std::vector<std::string> asked;
  int version = 0;
};

int lookup(void *user, const char *name, tg_value *out) {
  auto *host = static_cast<Host *>(user);
  host->asked.push_back(name);
  auto known = host->names.find(name);
  if (known == host->names.end())
    return 0;
  *out = known->second;
  return 1;
}

int attribute(void *, const tg_value *object, const char *name, tg_value *out) {
  if (object->kind != TG_OPAQUE || object->as.opaque.handle != 7 || std::string(name) != "size")
    return 0;
  *out = tg::value(5);
  out->flags = TG_CONSTEXPR;
  return 1;
}

int call(void *, const tg_value *callee, const tg_value *arguments, size_t count, tg_value *out) {
  if (callee->kind != TG_OPAQUE || count != 1 || arguments[0].kind != TG_INT)
    return 0;
  *out = tg::value(arguments[0].as.integer * 10);
  return 1;
}

tg_value named(tg_value_kind kind, std::string_view name) {
  tg_value value = tg::value(name);
  value.kind = kind;
  return value;
}

TEST(HostEnvironment, AnswersFreeNames) {
  constexpr const char *source = "def kernel(x):\n    tl.store(x, config.size + double(4) + LIMIT)\n";
  Host host;
  host.names["tl"] = named(TG_MODULE, "triton.language");
  tg_value opaque{};
  opaque.kind = TG_OPAQUE;
  opaque.as.opaque = {7, "a config"};
  host.names["config"] = opaque;
  opaque.as.opaque = {8, "a function"};
  host.names["double"] = opaque;
  host.names["LIMIT"] = tg::value(100);
  host.names["LIMIT"].flags = TG_CONSTEXPR;

  tg_host callbacks{sizeof(tg_host), &host, lookup, attribute, call, nullptr, nullptr};
  tg_source description{sizeof(tg_source), "host.py", source, std::strlen(source), 40, 4, &callbacks};
  tg_context *context = nullptr;
  tg_module *module = nullptr;
  tg_diagnostics *problems = nullptr;
  ASSERT_EQ(tg_context_create(nullptr, &context, nullptr), TG_OK);
  ASSERT_EQ(tg_module_from_text(context, &description, &module, &problems), TG_OK);
  int32_t x = 0;
  tg_argument argument = tg::argument(&x);
  int64_t grid = 1;
  tg_status status =
      tg_call(tg_module_function(module, 0), "interp", nullptr, &argument, 1, &grid, 1, nullptr, &problems);
  EXPECT_EQ(status, TG_OK) << tg_diagnostics_text(problems);
  EXPECT_EQ(x, 5 + 40 + 100);

  // Without the name: an error at the place in the host's file.
  host.names.erase("LIMIT");
  int64_t y = 0;
  argument = tg::argument(&y);
  EXPECT_EQ(
      tg_call(tg_module_function(module, 0), "interp", nullptr, &argument, 1, &grid, 1, nullptr, &problems),
      TG_TYPE);
  tg_diagnostic first{};
  first.struct_size = sizeof first;
  ASSERT_EQ(tg_diagnostics_get(problems, 0, &first), TG_OK);
  EXPECT_STREQ(first.file, "host.py");
  EXPECT_EQ(first.line, 41u);
  tg_diagnostics_destroy(problems);
  tg_module_destroy(module);
  tg_context_destroy(context);
}

uint64_t version(void *user) { return uint64_t(static_cast<Host *>(user)->version); }

int callNamed(void *, const tg_value *, const tg_value *arguments, const char *const *names, size_t count,
              tg_value *out) {
  int64_t sum = 0;
  for (size_t i = 0; i != count; ++i)
    sum += arguments[i].as.integer * (names[i] && std::string_view(names[i]) == "tens" ? 10 : 1);
  if (sum == 0) {
    *out = tg::value(std::string_view("ValueError: nothing to add"));
    return -1;
  }
  *out = tg::value(sum);
  return 1;
}

// A function of a host whose names are `host.names`.
struct Hosted {
  explicit Hosted(const char *source, Host &host) {
    host.names["tl"] = named(TG_MODULE, "triton.language");
    tg_value opaque{};
    opaque.kind = TG_OPAQUE;
    opaque.as.opaque = {7, "the function `add`"};
    host.names["add"] = opaque;
    tg_host callbacks{sizeof(tg_host), &host, lookup, attribute, call, version, callNamed};
    tg_source description{sizeof(tg_source), "host.py", source, std::strlen(source), 1, 0, &callbacks};
    EXPECT_EQ(tg_context_create(nullptr, &context, nullptr), TG_OK);
    EXPECT_EQ(tg_module_from_text(context, &description, &module, nullptr), TG_OK);
  }
  Hosted(const Hosted &) = delete;
  ~Hosted() {
    tg_diagnostics_destroy(problems);
    tg_module_destroy(module);
    tg_context_destroy(context);
  }

  tg_status run(tg_kernel **kernel = nullptr) {
    tg_diagnostics_destroy(problems);
    tg_argument argument = tg::argument(&x);
    int64_t grid = 1;
    return tg_call(tg_module_function(module, 0), "interp", nullptr, &argument, 1, &grid, 1, kernel,
                   &problems);
  }

  int32_t x = 0;
  tg_context *context = nullptr;
  tg_module *module = nullptr;
  tg_diagnostics *problems = nullptr;
};

TEST(HostEnvironment, IsAskedAgainWhenItsVersionChanges) {
  Host host;
  host.names["LIMIT"] = tg::value(100);
  host.names["LIMIT"].flags = TG_CONSTEXPR;
  Hosted kernel("def kernel(x):\n    tl.store(x, LIMIT)\n", host);
  ASSERT_EQ(kernel.run(), TG_OK);
  host.names["LIMIT"].as.integer = 5;
  host.asked.clear();
  ASSERT_EQ(kernel.run(), TG_OK);
  EXPECT_TRUE(host.asked.empty());
  EXPECT_EQ(kernel.x, 100); // the host has not said that anything changed
  host.version = 1;
  ASSERT_EQ(kernel.run(), TG_OK);
  EXPECT_EQ(kernel.x, 5);
  host.names.erase("LIMIT");
  host.version = 2;
  EXPECT_EQ(kernel.run(), TG_TYPE);
}

TEST(HostEnvironment, GetsKeywordsAndSaysWhatWasRaised) {
  Host host;
  Hosted kernel("def kernel(x):\n    tl.store(x, add(1, 2, tens=3))\n", host);
  ASSERT_EQ(kernel.run(), TG_OK) << tg_diagnostics_text(kernel.problems);
  EXPECT_EQ(kernel.x, 33);
  Hosted raises("def kernel(x):\n    tl.store(x, add(0))\n", host);
  EXPECT_EQ(raises.run(), TG_TYPE);
  EXPECT_NE(std::string(tg_diagnostics_text(raises.problems))
                .find("the function `add` raised ValueError: nothing to add [HostFunctionRaised]"),
            std::string::npos)
      << tg_diagnostics_text(raises.problems);
}

TEST(KernelsOfCalls, AreTheCallersUntilDestroyedAndBoundedInTheProcess) {
  Host host;
  Hosted first("def first(x):\n    tl.store(x, 1)\n", host);
  tg_kernel *kernel = nullptr, *again = nullptr;
  ASSERT_EQ(first.run(&kernel), TG_OK);
  ASSERT_EQ(first.run(&again), TG_OK);
  EXPECT_EQ(kernel, again);
  tg_kernel_destroy(again);
  EXPECT_TRUE(tg_kernel_is_kept(kernel));

  size_t limit = tg_kernel_limit();
  tg_set_kernel_limit(1);
  Hosted second("def second(x):\n    tl.store(x, 2)\n", host);
  ASSERT_EQ(second.run(), TG_OK);
  EXPECT_EQ(tg_kept_kernels(), 1u);
  EXPECT_FALSE(tg_kernel_is_kept(kernel));
  EXPECT_STREQ(tg_kernel_name(kernel), "first"); // evicted, and still the caller's
  ASSERT_EQ(first.run(), TG_OK);                 // compiled again
  tg_kernel_destroy(kernel);
  tg_set_kernel_limit(limit);
}

TEST(Variables, AreListed) {
  tg_variable row{};
  EXPECT_EQ(tg_variable_get(0, &row), TG_LAUNCH); // no struct_size
  row.struct_size = sizeof row;
  setenv("TEGULA_SIM_SEED", "12", 1);
  size_t count = 0;
  bool found = false;
  for (; tg_variable_get(count, &row) == TG_OK; ++count)
    found |=
        std::string_view(row.name) == "TEGULA_SIM_SEED" && row.value && std::string_view(row.value) == "12";
  unsetenv("TEGULA_SIM_SEED");
  EXPECT_GT(count, 20u);
  EXPECT_TRUE(found);
}

TEST(Memory, OfATargetOnThisMachinesCores) {
  auto memory = tg::Memory::create("cpu", 4 * sizeof(int));
  ASSERT_TRUE(memory);
  int there[4] = {1, 2, 3, 4}, back[4] = {};
  EXPECT_TRUE(memory->copyFrom(there, sizeof there));
  EXPECT_TRUE(memory->copyTo(back, sizeof back));
  EXPECT_EQ(back[3], 4);
  EXPECT_TRUE(tg::synchronize("cpu"));
  EXPECT_EQ(tg::Memory::create("vax", 4).error().status(), TG_UNSUPPORTED);
  EXPECT_TRUE(tg_memory_release("cpu", -1, nullptr, nullptr) == TG_OK);
}

TEST(Device, OfTargetsThatHaveNone) {
  auto devices = tg::devices("interp");
  ASSERT_TRUE(devices);
  EXPECT_TRUE(devices->empty());
  tg_device device{};
  device.struct_size = sizeof device;
  EXPECT_EQ(tg_device_get("cpu", 0, &device, nullptr), TG_LAUNCH);
}

TEST(Device, KernelsForOneThatIsNotHere) {
  auto where = tg::Context::create("sm_80");
  ASSERT_TRUE(where);
  auto module = where->parse("import triton\nimport triton.language as tl\n@triton.jit\n"
                             "def one(out):\n    tl.store(out, 1.0)\n");
  ASSERT_TRUE(module);
  auto kernel = (*module).function("one")->compile("out=*f32", {.numWarps = 2});
  ASSERT_TRUE(kernel) << kernel.error().text();
  EXPECT_EQ(kernel->target(), "cuda");
  auto ptx = kernel->stage("ptx");
  ASSERT_TRUE(ptx);
  EXPECT_NE((*ptx).find(".target sm_80"), std::string::npos);
  auto attributes = kernel->attributes();
  if (!attributes) // no assembler here: then only the driver knows
    GTEST_SKIP() << attributes.error().text();
  EXPECT_EQ(attributes->arch, "sm_80");
  EXPECT_EQ(attributes->warps, 2);
  EXPECT_GT(attributes->registers, 0);
}

} // namespace
