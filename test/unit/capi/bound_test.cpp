// Calls that are bound once: launched, changed and refused through the interface.
#include "tegula/tegula.hpp"

#include <gtest/gtest.h>

namespace {

constexpr const char *boundText = "import triton\n"
                                  "import triton.language as tl\n"
                                  "@triton.jit\n"
                                  "def scale(out, n, f, KIND: tl.constexpr = 1):\n"
                                  "    tl.store(out + tl.program_id(0), n * f + KIND)\n";

class BoundCall : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    tg_source source{
        sizeof(tg_source), "k.py", boundText, std::char_traits<char>::length(boundText), 1, 0, nullptr};
    ASSERT_EQ(tg_context_create(nullptr, &context_, nullptr), TG_OK);
    ASSERT_EQ(tg_module_from_text(context_, &source, &module_, nullptr), TG_OK);
    ASSERT_EQ(tg_module_find(module_, "scale", &function, nullptr), TG_OK);
  }
  void TearDown() override {
    tg_module_destroy(module_);
    tg_context_destroy(context_);
  }
  tg_bound *bind(std::vector<tg_argument> arguments, int64_t programs = 2) {
    tg_bound *bound = nullptr;
    tg_diagnostics *problems = nullptr;
    tg_bind(function, GetParam(), nullptr, arguments.data(), arguments.size(), &programs, 1, &bound,
            &problems);
    EXPECT_TRUE(bound) << tg_diagnostics_text(problems);
    tg_diagnostics_destroy(problems);
    return bound;
  }

  tg_function *function = nullptr;

private:
  tg_context *context_ = nullptr;
  tg_module *module_ = nullptr;
};

TEST_P(BoundCall, RunsWithItsArgumentsAndWithOnesInTheirPlace) {
  alignas(16) float out[4] = {}, other[4] = {};
  tg_bound *bound = bind({tg::argument(+out), tg::argument(3), tg::argument(2.0)});
  ASSERT_EQ(tg_bound_launch(bound, nullptr, nullptr, 0, nullptr), TG_OK);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(out[1], 7);
  tg_value n = tg::argument(5).value, where = tg::argument(+other).value, f = tg::argument(0.5).value;
  EXPECT_EQ(tg_bound_set(bound, 0, &where, nullptr), TG_OK);
  EXPECT_EQ(tg_bound_set(bound, 1, &n, nullptr), TG_OK);
  EXPECT_EQ(tg_bound_set(bound, 2, &f, nullptr), TG_OK);
  int64_t grid[] = {3};
  EXPECT_EQ(tg_bound_launch(bound, nullptr, grid, 1, nullptr), TG_OK);
  EXPECT_EQ(other[2], 3.5f);
  EXPECT_EQ(out[2], 0);
  grid[0] = -1;
  EXPECT_EQ(tg_bound_launch(bound, nullptr, grid, 1, nullptr), TG_LAUNCH);
  tg_bound_destroy(bound);
}

TEST_P(BoundCall, RefusesWhatWouldBeAnotherKernel) {
  alignas(16) float out[8] = {};
  tg_bound *bound = bind({tg::argument(+out), tg::argument(3), tg::argument(2.0), tg::named("KIND", 4)});
  tg_value one = tg::argument(1).value, real = tg::argument(1.5).value,
           unaligned = tg::argument(out + 1).value, three = tg::argument(3).value;
  for (auto [index, value] :
       {std::pair<size_t, tg_value *>{1, &one}, {1, &real}, {0, &unaligned}, {3, &three}, {4, &three}}) {
    tg_diagnostics *problems = nullptr;
    EXPECT_EQ(tg_bound_set(bound, index, value, &problems), TG_LAUNCH) << index;
    EXPECT_NE(std::string(tg_diagnostics_text(problems)).find("BoundArgument"), std::string::npos);
    tg_diagnostics_destroy(problems);
  }
  EXPECT_EQ(tg_bound_set(bound, 1, nullptr, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_bound_launch(bound, nullptr, nullptr, 0, nullptr), TG_OK);
  EXPECT_EQ(out[0], 10);
  tg_bound_destroy(bound);
  EXPECT_EQ(tg_bound_launch(bound, nullptr, nullptr, 0, nullptr), TG_LAUNCH);
  tg_bound_destroy(bound);
}

TEST_P(BoundCall, FitsOtherArgumentsOfTheSameKind) {
  alignas(16) float out[8] = {}, other[8] = {};
  tg_bound *bound = bind({tg::argument(+out), tg::argument(3), tg::argument(2.0), tg::named("KIND", 4)});
  uint64_t slots[8] = {};
  size_t count = 0;
  auto fits = [&](std::vector<tg_argument> arguments, size_t room = 8) {
    return tg_bound_fits(bound, arguments.data(), arguments.size(), slots, room, &count);
  };
  tg_argument where = tg::argument(+other), n = tg::argument(5), f = tg::argument(0.5),
              kind = tg::argument(4);
  ASSERT_EQ(fits({where, n, f, kind}), 1);
  tg_place place{sizeof(tg_place), -1, nullptr};
  int64_t grid[] = {3}, nothing[] = {0}, wrong[] = {-1};
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count, grid, 1, nullptr), TG_OK);
  EXPECT_EQ(other[2], 6.5f);
  EXPECT_EQ(other[3], 0);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count, nothing, 1, nullptr), TG_OK);
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count, wrong, 1, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count, nullptr, 1, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count, grid, 0, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count - 1, grid, 1, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_bound_run(bound, nullptr, slots, count, grid, 1, nullptr), TG_OK);

  // Another type, another class of the value, another constant, another number of them.
  tg_argument one = tg::argument(1), whole = tg::argument(16), wide = tg::argument(int64_t(1) << 40),
              odd = tg::argument(other + 1), none = tg::argument(nullptr);
  tg_argument frozen = where;
  frozen.value.flags = TG_READ_ONLY;
  for (const tg_argument &bad : {one, whole, wide, f, none, where})
    EXPECT_EQ(fits({where, bad, f, kind}), 0);
  for (const tg_argument &bad : {odd, n, frozen, none})
    EXPECT_EQ(fits({bad, n, f, kind}), 0);
  for (const tg_argument &bad : {n, f, one})
    EXPECT_EQ(fits({where, n, f, bad}), 0);
  EXPECT_EQ(fits({where, n, f}), 0);
  EXPECT_EQ(fits({where, n, f, kind, kind}), 0);
  EXPECT_EQ(fits({where, n, f, kind}, 1), 0);
  EXPECT_EQ(tg_bound_fits(bound, nullptr, 4, slots, 8, &count), 0);
  EXPECT_EQ(tg_bound_fits(nullptr, nullptr, 0, slots, 8, &count), 0);
  tg_bound_destroy(bound);
  EXPECT_EQ(fits({where, n, f, kind}), 0);
  EXPECT_EQ(tg_bound_run(bound, &place, slots, count, grid, 1, nullptr), TG_LAUNCH);
}

TEST_P(BoundCall, FitsNothingWhenItsKernelIsGivenUp) {
  alignas(16) float out[8] = {};
  std::vector<tg_argument> arguments{tg::argument(+out), tg::argument(3), tg::argument(2.0)};
  tg_bound *bound = bind(arguments);
  uint64_t slots[8];
  size_t count = 0, before = tg_kernel_limit();
  EXPECT_EQ(tg_bound_fits(bound, arguments.data(), 3, slots, 8, &count), 1);
  tg_set_kernel_limit(1);
  for (int kind = 5; kind != 8; ++kind)
    tg_bound_destroy(bind({arguments[0], arguments[1], arguments[2], tg::named("KIND", kind)}));
  tg_set_kernel_limit(before);
  EXPECT_EQ(tg_bound_fits(bound, arguments.data(), 3, slots, 8, &count), 0);
  EXPECT_EQ(tg_bound_launch(bound, nullptr, nullptr, 0, nullptr), TG_OK);
  EXPECT_EQ(out[0], 7);
  tg_bound_destroy(bound);
}

INSTANTIATE_TEST_SUITE_P(Targets, BoundCall, testing::Values("cpu", "interp"));

TEST(Bound, IsAValueInCpp) {
  auto context = tg::Context::create("cpu");
  ASSERT_TRUE(context);
  auto module = context->parse(boundText);
  ASSERT_TRUE(module);
  auto function = module->function("scale");
  ASSERT_TRUE(function);
  alignas(16) float out[2] = {};
  auto bound = function->bind({2}, +out, 3, 2.0);
  ASSERT_TRUE(bound) << bound.error().text();
  EXPECT_TRUE(bound->set(1, 4));
  EXPECT_FALSE(bound->set(1, 16));
  EXPECT_TRUE(bound->launch());
  EXPECT_EQ(out[1], 9);
  EXPECT_EQ(function->bind({2}, +out, 3).error().status(), TG_LAUNCH);
}

// A kernel's PTX behind a call that is bound for so many programs, of which up to four are alone on a GPU
// that need not be here; "" where no assembler is, which the registers are for.
std::string ptxFor(int64_t programs, std::vector<tg_argument> options = {}) {
  constexpr const char *text = "import triton\n"
                               "import triton.language as tl\n"
                               "@triton.jit\n"
                               "def total(x, out, n):\n"
                               "    sums = tl.zeros((256,), tl.float32)\n"
                               "    for i in range(0, n, 256):\n"
                               "        sums += tl.load(x + i + tl.arange(0, 256))\n"
                               "    tl.store(out + tl.program_id(0), tl.sum(sums))\n";
  setenv("TEGULA_PROGRAMS_ALONE", "4", 1);
  auto context = tg::Context::create("sm_90a");
  auto module = context->parse(text);
  auto function = (*module).function("total");
  alignas(16) float memory[4] = {};
  std::vector<tg_argument> arguments{tg::argument(+memory), tg::argument(+memory), tg::argument(512)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  tg_bound *bound = nullptr;
  tg_kernel *kernel = nullptr;
  tg_diagnostics *problems = nullptr;
  const char *data = nullptr;
  size_t size = 0;
  bool isFine = tg_bind(function->handle(), nullptr, nullptr, arguments.data(), arguments.size(), &programs,
                        1, &bound, &problems) == TG_OK &&
                tg_prepare(function->handle(), nullptr, nullptr, arguments.data(), arguments.size(), &kernel,
                           &problems) == TG_OK &&
                tg_kernel_stage(kernel, "ptx", &data, &size, &problems) == TG_OK;
  EXPECT_TRUE(isFine) << tg_diagnostics_text(problems);
  tg_kernel_attributes attributes{};
  attributes.struct_size = sizeof attributes;
  bool isAssembled = tg_kernel_get_attributes(kernel, &attributes, nullptr) == TG_OK;
  std::string ptx(isAssembled ? data : "", isAssembled ? size : 0);
  tg_diagnostics_destroy(problems);
  tg_kernel_destroy(kernel);
  tg_bound_destroy(bound);
  unsetenv("TEGULA_PROGRAMS_ALONE");
  return ptx;
}

TEST(BoundGrid, ChoosesTheCodeThatIsCompiled) {
  std::string few = ptxFor(4), many = ptxFor(5);
  if (few.empty())
    GTEST_SKIP() << "no assembler is here";
  EXPECT_NE(few.find(".maxnreg 255"), few.npos) << "all that a thread can have";
  EXPECT_EQ(many.find(".maxnreg 255"), many.npos);
}

TEST(BoundGrid, OfFewProgramsLeavesTheRegistersThatAreAskedFor) {
  tg_argument bound = tg::argument(40);
  bound.name = "maxnreg";
  std::string few = ptxFor(4, {bound});
  if (few.empty())
    GTEST_SKIP() << "no assembler is here";
  EXPECT_NE(few.find(".maxnreg 40"), few.npos);
}

} // namespace
