// Finding the fastest configuration through the interface, on the library's own clock and with a host's.
#include "tegula/tegula.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace {

constexpr const char *tunedText = R"(import triton
import triton.language as tl

SIZES = (16, 64)
MORE = [triton.Config({}, num_warps=2)]

def configs():
    return [triton.Config({"BLOCK": b * 2 ** i, 'KIND': "plain"}, num_warps=4) for b in SIZES for i in (0, 1) if b * i != 64]

@triton.autotune(configs=configs() + MORE, key=["n"])
@triton.jit
def accumulate(out, x, n, BLOCK: tl.constexpr = 32, KIND: tl.constexpr = "plain"):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(out + o, mask=o < n) + tl.load(x + o, mask=o < n), mask=o < n)

@triton.autotune(configs=[triton.Config({"B": open("x").read()})], key=[])
@triton.jit
def unknown(out, B: tl.constexpr):
    tl.store(out, B)

@triton.jit
def bare(out, B: tl.constexpr):
    tl.static_assert(B != 4)
    tl.store(out + tl.arange(0, B), 1.0)
)";

class Tune : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tegula-tune-XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(name.data()));
    room_ = name;
    setenv("TEGULA_CACHE_DIR", name.c_str(), 1);
    auto context = tg::Context::create(GetParam());
    ASSERT_TRUE(context);
    context_ = *context;
    auto module = context_->parse(tunedText);
    ASSERT_TRUE(module) << module.error().text();
    module_ = *module;
  }
  void TearDown() override {
    unsetenv("TEGULA_CACHE_DIR");
    std::filesystem::remove_all(room_);
  }
  tg::Function find(const char *name) {
    auto function = module_->function(name);
    EXPECT_TRUE(function);
    return *function;
  }
  static tg::TuneSettings settings(std::initializer_list<std::string> configurations = {}) {
    tg::TuneSettings settings;
    settings.grid = "cdiv(n, BLOCK), 1";
    settings.configurations = configurations;
    settings.milliseconds = 1;
    return settings;
  }

private:
  std::string room_;
  std::optional<tg::Context> context_;
  std::optional<tg::Module> module_;
};

TEST_P(Tune, LeavesArgumentsAsTheyWereWhateverTheNumberOfConfigurations) {
  tg::Function accumulate = find("accumulate");
  for (size_t count : {1, 2, 5, 16}) {
    alignas(16) float out[100], x[100];
    for (int i = 0; i != 100; ++i)
      out[i] = float(i), x[i] = 1;
    std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(+x), tg::argument(100)};
    tg::TuneSettings wanted = settings();
    wanted.memory = {{out, sizeof out}, {x, sizeof x}};
    for (size_t i = 0; i != count; ++i)
      wanted.configurations.push_back("BLOCK=" + std::to_string(16 << i % 4) +
                                      ",num_warps=" + std::to_string(1 << i / 4));
    auto tuning = accumulate.tune(arguments, wanted);
    ASSERT_TRUE(tuning) << tuning.error().text();
    EXPECT_EQ(tuning->rows().size(), count);
    for (int i = 0; i != 100; ++i)
      ASSERT_EQ(out[i], float(i));
  }
}

TEST_P(Tune, ReadsTheDecoratorsList) {
  alignas(16) float out[100] = {}, x[100] = {};
  std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(+x), tg::argument(100)};
  tg::TuneSettings wanted = settings();
  wanted.memory = {{out, sizeof out}};
  auto tuning = find("accumulate").tune(arguments, wanted);
  ASSERT_TRUE(tuning) << tuning.error().text();
  std::vector<std::string> names;
  for (const tg::TuningRow &row : tuning->rows())
    names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"BLOCK=16, KIND='plain', num_warps=4",
                                             "BLOCK=32, KIND='plain', num_warps=4",
                                             "BLOCK=64, KIND='plain', num_warps=4", "num_warps=2"}));
}

TEST_P(Tune, WhatWasMeasuredIsKeptAndOneMoreIsMeasured) {
  alignas(16) float out[100] = {}, x[100] = {};
  std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(+x), tg::argument(100)};
  tg::TuneSettings wanted = settings({"BLOCK=16", "BLOCK=128"});
  wanted.memory = {{out, sizeof out}};
  auto first = find("accumulate").tune(arguments, wanted),
       second = find("accumulate").tune(arguments, wanted);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->best(), first->best());
  for (size_t i = 0; i != 2; ++i) {
    EXPECT_TRUE(second->rows()[i].isKept && !second->rows()[i].runs);
    EXPECT_EQ(second->rows()[i].milliseconds, first->rows()[i].milliseconds);
  }
  wanted.configurations.push_back("BLOCK=1024");
  auto third = find("accumulate").tune(arguments, wanted);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->rows()[2].runs > 0 && !third->rows()[2].isKept);
  wanted.forgets = true;
  auto fourth = find("accumulate").tune(arguments, wanted);
  ASSERT_TRUE(fourth);
  EXPECT_GT(fourth->rows()[0].runs, 0u);
}

TEST_P(Tune, BeginsWithWhatNearSizesChose) {
  alignas(16) float out[160] = {}, x[160] = {};
  tg::TuneSettings wanted = settings({"BLOCK=16", "BLOCK=64", "BLOCK=128"});
  for (int n : {150, 140}) {
    std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(+x), tg::argument(n)};
    wanted.memory = {{out, size_t(n) * 4}, {x, size_t(n) * 4}};
    auto tuning = find("accumulate").tune(arguments, wanted);
    ASSERT_TRUE(tuning);
    ASSERT_EQ(tuning->remarks().size(), n == 150 ? 0u : 1u);
    if (n == 140)
      EXPECT_NE(tuning->remarks()[0].find("began with BLOCK="), std::string::npos);
  }
}

TEST_P(Tune, EqualCodeIsMeasuredOnce) {
  if (GetParam() == std::string("ptxvm"))
    return; // the number of warps is in its code
  alignas(16) float out[100] = {}, x[100] = {};
  std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(+x), tg::argument(100)};
  tg::TuneSettings wanted = settings({"BLOCK=16,num_warps=1", "BLOCK=64", "BLOCK=16,num_warps=8"});
  wanted.memory = {{out, sizeof out}};
  auto tuning = find("accumulate").tune(arguments, wanted);
  ASSERT_TRUE(tuning);
  EXPECT_EQ(tuning->rows()[2].sameAs, 0);
  EXPECT_EQ(tuning->rows()[2].milliseconds, tuning->rows()[0].milliseconds);
}

TEST_P(Tune, RefusesWithAReason) {
  alignas(16) float out[100] = {}, x[100] = {};
  std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(+x), tg::argument(100)};
  auto failed = [&](const char *kernel, std::vector<tg_argument> all, const tg::TuneSettings &wanted,
                    const char *says, tg_status status) {
    auto tuning = find(kernel).tune(all, wanted);
    ASSERT_FALSE(tuning) << says;
    EXPECT_NE(tuning.error().text().find(says), std::string::npos) << tuning.error().text();
    EXPECT_EQ(tuning.error().status(), status) << says;
  };
  // Memory that the kernel writes could not be put back.
  failed("accumulate", arguments, settings({"BLOCK=16"}), "memory whose size is not known", TG_LAUNCH);
  failed("accumulate", arguments, settings({"BLOCK"}), "is no configuration", TG_LAUNCH);
  failed("accumulate", arguments, settings({"NAME=16"}), "NAME", TG_LAUNCH);
  tg::TuneSettings wanted = settings({"BLOCK=16"});
  wanted.memory = {{out, sizeof out}};
  wanted.grid = "cdiv(m, BLOCK)";
  failed("accumulate", arguments, wanted, "names `m`", TG_LAUNCH);
  wanted.grid = "1, 2, 3, 4";
  failed("accumulate", arguments, wanted, "", TG_LAUNCH);
  wanted.grid = "(";
  failed("accumulate", arguments, wanted, "is no expression", TG_LAUNCH);
  wanted.grid = "1.5";
  failed("accumulate", arguments, wanted, "no integer", TG_LAUNCH);
  wanted.grid = "1", wanted.configurations = {};
  failed("unknown", {tg::argument(+out)}, wanted, "known only to Python", TG_LAUNCH);
  failed("bare", {tg::argument(+out)}, wanted, "no @autotune", TG_LAUNCH);
  wanted.configurations = {"B=4"};
  failed("bare", {tg::argument(+out)}, wanted, "no configuration of `bare` can run", TG_RESOURCE);
}

TEST_P(Tune, OneThatCannotRunLoses) {
  alignas(16) float out[16] = {};
  tg::TuneSettings wanted = settings({"B=4", "B=8"});
  wanted.grid = "1", wanted.memory = {{out, sizeof out}};
  std::vector<tg_argument> arguments{tg::argument(+out)};
  auto tuning = find("bare").tune(arguments, wanted);
  ASSERT_TRUE(tuning) << tuning.error().text();
  EXPECT_EQ(tuning->best(), 1u);
  EXPECT_NE(tuning->rows()[0].refusal.find("static_assert"), std::string::npos) << tuning->rows()[0].refusal;
  EXPECT_TRUE(std::isinf(tuning->rows()[0].milliseconds));
  EXPECT_EQ(out[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, Tune, testing::Values("cpu", "ptxvm"));

struct FakeHost {
  std::atomic<int> compiled{0};
  int measured = 0, answer = 1;
};
tg_tune_host hostOf(FakeHost &own) {
  tg_tune_host host{};
  host.struct_size = sizeof host;
  host.user = &own;
  host.compile = [](void *user, size_t, tg_value *) { return ++static_cast<FakeHost *>(user)->compiled, 1; };
  host.measure = [](void *user, size_t configuration, size_t runs, double *times, tg_value *out) {
    auto &own = *static_cast<FakeHost *>(user);
    ++own.measured;
    for (size_t i = 0; i != runs; ++i)
      times[i] = own.answer == 2 ? NAN : double(2 - configuration % 2);
    out->kind = TG_STRING;
    out->as.text = {"why", 3};
    return own.answer == 2 ? 1 : own.answer;
  };
  return host;
}

TEST(TuneHost, CompilesAndMeasuresItself) {
  FakeHost own;
  tg_tune_host host = hostOf(own);
  tg_configuration configurations[] = {{"a", nullptr, 0, nullptr, 0}, {"b", nullptr, 0, nullptr, 1}};
  tg_tune_options options{};
  options.struct_size = sizeof options;
  options.configurations = configurations, options.configuration_count = 2;
  options.host = &host;
  tg_tuning *tuning = nullptr;
  ASSERT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_OK);
  EXPECT_EQ(tg_tuning_best(tuning), 1u);
  EXPECT_EQ(own.compiled, 2);
  tg_tuning_row row{};
  EXPECT_EQ(tg_tuning_get(tuning, 0, &row), TG_LAUNCH); // struct_size
  EXPECT_EQ(tg_tuning_get(tuning, 2, &row), TG_LAUNCH);
  tg_tuning_destroy(tuning);
  EXPECT_EQ(tg_tuning_count(tuning), 0u); // a destroyed handle
  tg_tuning_destroy(tuning);
  own.answer = 0;
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_RESOURCE);
  for (int answer : {-1, 2}) {
    own.answer = answer;
    EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH) << answer;
    EXPECT_EQ(tuning, nullptr);
  }
}

TEST(TuneHost, MisuseIsAStatus) {
  FakeHost own;
  tg_tune_host host = hostOf(own);
  tg_configuration configurations[] = {{nullptr, nullptr, 0, nullptr, 0}};
  tg_tune_options options{};
  tg_tuning *tuning = nullptr;
  EXPECT_EQ(tg_tune(nullptr, nullptr, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_tune(nullptr, nullptr, &tuning, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH);
  options.struct_size = sizeof options;
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH);
  options.host = &host, options.configuration_count = 1;
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH);
  options.configurations = configurations;
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH); // without a name
  configurations[0].name = "a";
  options.milliseconds = -1;
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH);
  options.milliseconds = 0, host.measure = nullptr;
  EXPECT_EQ(tg_tune(nullptr, &options, &tuning, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_tuning_best(nullptr), 0u);
  EXPECT_EQ(tg_tuning_remark(nullptr, 0), nullptr);
  char digest[65];
  EXPECT_EQ(tg_kernel_digest(nullptr, digest), TG_LAUNCH);
}

} // namespace
