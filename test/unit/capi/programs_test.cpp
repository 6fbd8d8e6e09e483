// Programs that a host runs one operation at a time: values, places, warnings, and handles that are none.
#include "tegula/tegula.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace {

constexpr const char *programsText =
    "import triton\nimport triton.language as tl\n\n"
    "@triton.jit\ndef kernel(p, n, BLOCK: tl.constexpr):\n    tl.store(p, n)\n";

tg_value held(tg_held *value) {
  tg_value out{};
  out.kind = TG_HELD;
  out.as.held = value;
  return out;
}
tg_value builtin(const char *name) {
  tg_value out{};
  out.kind = TG_BUILTIN;
  out.as.text = {name, std::strlen(name)};
  return out;
}
tg_value integer(int64_t number) {
  tg_value out{};
  out.kind = TG_INT;
  out.as.integer = number;
  return out;
}

struct Programs : testing::Test {
  void SetUp() override {
    ASSERT_EQ(tg_context_create(nullptr, &context, nullptr), TG_OK);
    tg_source source{sizeof source, "kernel.py", programsText, std::strlen(programsText), 1, 0, nullptr};
    ASSERT_EQ(tg_module_from_text(context, &source, &module, nullptr), TG_OK);
    tg_argument arguments[3] = {};
    arguments[0].value.kind = TG_POINTER;
    arguments[0].value.dtype = TG_F32;
    arguments[0].value.as.address = memory;
    arguments[1].value = integer(1);
    arguments[2] = {integer(8), "BLOCK"};
    ASSERT_EQ(tg_program_create(tg_module_function(module, 0), arguments, 3, bound, &program, nullptr),
              TG_OK);
  }
  void TearDown() override {
    tg_held_release(bound[0].as.held);
    tg_held_release(bound[1].as.held);
    tg_program_destroy(program);
    tg_module_destroy(module);
    tg_context_destroy(context);
  }

  tg_status run(tg_action action, const char *name, std::initializer_list<tg_value> operands, tg_value &out,
                std::string *problem = nullptr, const tg_span *span = nullptr) {
    std::vector<tg_argument> all;
    for (const tg_value &operand : operands)
      all.push_back({operand, nullptr});
    tg_diagnostics *problems = nullptr;
    tg_status status = tg_program_do(program, action, name, all.data(), all.size(), span, &out, &problems);
    if (problem)
      *problem = tg_diagnostics_text(problems);
    tg_diagnostics_destroy(problems);
    return status;
  }

  float memory[8] = {5};
  tg_context *context = nullptr;
  tg_module *module = nullptr;
  tg_program *program = nullptr;
  tg_value bound[3] = {};
};

TEST_F(Programs, BindArgumentsAsALaunchTypesThem) {
  tg_held_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tg_held_get(bound[0].as.held, &info), TG_OK);
  EXPECT_EQ(info.kind, TG_HELD_TILE);
  EXPECT_TRUE(info.is_pointer && info.dtype == TG_F32 && info.rank == 0);
  ASSERT_EQ(tg_held_get(bound[1].as.held, &info), TG_OK); // 1 is a number as any other
  EXPECT_STREQ(info.type, "int32");
  EXPECT_EQ(bound[2].kind, TG_ABSENT); // a constant, which the host has
}

TEST_F(Programs, CarryOutOperationsOnMemory) {
  tg_value loaded{}, sum{}, nothing{};
  ASSERT_EQ(run(TG_DO_CALL, "", {builtin("triton.language.load"), bound[0]}, loaded), TG_OK);
  ASSERT_EQ(run(TG_DO_BINARY, "+", {loaded, bound[1]}, sum), TG_OK);
  size_t size = 0;
  const void *data = tg_held_data(sum.as.held, &size);
  float value = 0;
  ASSERT_EQ(size, sizeof value);
  std::memcpy(&value, data, size);
  EXPECT_EQ(value, 6);
  ASSERT_EQ(run(TG_DO_CALL, "", {builtin("triton.language.store"), bound[0], sum}, nothing), TG_OK);
  EXPECT_EQ(nothing.kind, TG_NONE);
  EXPECT_EQ(memory[0], 6);
  tg_held_release(loaded.as.held);
  tg_held_release(sum.as.held);
}

TEST_F(Programs, TellThePlaceOfAnError) {
  uint32_t number = 9;
  const char *lines = "first\nx = a ** b\n";
  ASSERT_EQ(tg_program_add_source(program, "host.py", lines, std::strlen(lines), &number, nullptr), TG_OK);
  tg_span span{number, 2, 5, 2, 11};
  tg_value out{};
  std::string problem;
  EXPECT_EQ(run(TG_DO_BINARY, "**", {bound[1], bound[1]}, out, &problem, &span), TG_TYPE);
  EXPECT_NE(problem.find("host.py:2:5: error"), std::string::npos) << problem;
  EXPECT_NE(problem.find("    2 | x = a ** b\n      |     ^~~~~~\n"), std::string::npos) << problem;
}

TEST_F(Programs, KnowTheProgramOfTheGrid) {
  int64_t index[2] = {3, 1}, grid[2] = {4, 2}, outside[2] = {4, 0};
  ASSERT_EQ(tg_program_move(program, index, grid, 2, nullptr), TG_OK);
  tg_value out{};
  ASSERT_EQ(run(TG_DO_CALL, "", {builtin("triton.language.program_id"), integer(0)}, out), TG_OK);
  size_t size = 0;
  EXPECT_EQ(*static_cast<const int32_t *>(tg_held_data(out.as.held, &size)), 3);
  tg_held_release(out.as.held);
  EXPECT_EQ(tg_program_move(program, outside, grid, 2, nullptr), TG_LAUNCH);
}

TEST_F(Programs, RefuseWhatIsNoOperation) {
  tg_value out{};
  std::string problem;
  EXPECT_EQ(run(TG_DO_BINARY, "plus", {bound[1], bound[1]}, out), TG_LAUNCH);
  EXPECT_EQ(run(TG_DO_BINARY, "+", {bound[1]}, out), TG_LAUNCH);
  EXPECT_EQ(run(tg_action(99), "", {bound[1]}, out), TG_LAUNCH);
  EXPECT_EQ(run(TG_DO_UNARY, "-", {held(reinterpret_cast<tg_held *>(memory))}, out, &problem), TG_LAUNCH);
  EXPECT_NE(problem.find("operand 0 is no value"), std::string::npos) << problem;
  EXPECT_EQ(run(TG_DO_CALL, "", {builtin("triton.language.nothing"), bound[1]}, out), TG_TYPE);
  EXPECT_EQ(tg_program_do(nullptr, TG_DO_UNARY, "-", nullptr, 0, nullptr, &out, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_program_has_method(program, &bound[1], "to"), 1);
  EXPECT_EQ(tg_program_has_method(program, &bound[1], "nothing"), 0);
  tg_held_info info{};
  EXPECT_EQ(tg_held_get(nullptr, &info), TG_LAUNCH);
  EXPECT_EQ(tg_held_data(nullptr, nullptr), nullptr);
}

} // namespace
