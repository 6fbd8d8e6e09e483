// Grids, loops, branches, limits and what is refused.
#include "Program.h"

#include "interp/Interpreter.h"

using namespace tegula;
using namespace tegula::test;

namespace {

using I32 = std::vector<int32_t>;

TEST(Control, ProgramsKnowTheirPlaceAndRunInRowOrder) {
  const char *text = R"(tt.func @k(%out: !tt.ptr<i32>, %next: !tt.ptr<i32>) {
  %x = tt.get_program_id 0
  %y = tt.get_program_id 1
  %z = tt.get_program_id 2
  %nx = tt.get_num_programs 0
  %ny = tt.get_num_programs 1
  %zy = arith.muli %z, %ny : i32
  %row = arith.addi %zy, %y : i32
  %rows = arith.muli %row, %nx : i32
  %linear = arith.addi %rows, %x : i32
  %n = tt.load %next : !tt.ptr<i32> -> i32
  %p = tt.addptr %out, %n : !tt.ptr<i32>, i32
  tt.store %p, %linear : !tt.ptr<i32>, i32
  %one = arith.constant 1 : i32
  %n1 = arith.addi %n, %one : i32
  tt.store %next, %n1 : !tt.ptr<i32>, i32
  tt.return
})";
  I32 out(24, -1), next(1);
  ASSERT_TRUE(runText(text, {address(out), address(next)}, {{2, 3, 4}}).ok());
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(out[i], i);
}

TEST(Control, ForCarriesTiles) {
  const char *text = R"(tt.func @k(%out: !tt.ptr<i32>, %from: i32, %to: i32, %step: i32) {
  %i = tt.make_range {start = 0 : i32, end = 2 : i32} : tensor<2xi32>
  %zero = arith.constant dense<0> : tensor<2xi32>
  %sum:2 = scf.for %iv = %from to %to step %step iter_args(%a = %zero, %b = %i) -> (tensor<2xi32>, tensor<2xi32>) : i32 {
    %s = tt.splat %iv : i32 -> tensor<2xi32>
    %n = arith.addi %b, %s : tensor<2xi32>
    scf.yield %b, %n : tensor<2xi32>, tensor<2xi32>
  }
  %s = tt.splat %out : !tt.ptr<i32> -> tensor<2x!tt.ptr<i32>>
  %p = tt.addptr %s, %i : tensor<2x!tt.ptr<i32>>, tensor<2xi32>
  %both = arith.addi %sum#0, %sum#1 : tensor<2xi32>
  tt.store %p, %both : tensor<2x!tt.ptr<i32>>, tensor<2xi32>
  tt.return
})";
  auto run = [&](int32_t from, int32_t to, int32_t step) {
    I32 out(2, -1);
    Status status = runText(text, {address(out), uint32_t(from), uint32_t(to), uint32_t(step)});
    EXPECT_TRUE(status.ok()) << status.message;
    return out;
  };
  EXPECT_EQ(run(1, 6, 2), (I32{13, 15})); // b: i+1+3+5; a: i+1+3
  EXPECT_EQ(run(5, 5, 1), (I32{0, 1}));
  EXPECT_EQ(run(-3, -1, 1), (I32{-8, -6}));
  EXPECT_EQ(run(INT32_MAX - 1, INT32_MAX, 2), (I32{INT32_MAX - 1, INT32_MIN})); // the next index would wrap
  I32 out(2);
  EXPECT_EQ(runText(text, {address(out), 0, 5, 0}).code, StatusCode::Data);
  EXPECT_EQ(runText(text, {address(out), 0, 5, uint32_t(-1)}).code, StatusCode::Data);
}

TEST(Control, IfTakesOneSide) {
  const char *text = R"(tt.func @k(%out: !tt.ptr<i32>, %c: i1, %null: !tt.ptr<i32>) {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %v = scf.if %c -> i32 {
    scf.yield %one : i32
  } else {
    scf.yield %two : i32
  }
  tt.store %out, %v : !tt.ptr<i32>, i32
  scf.if %c {
    tt.store %null, %v : !tt.ptr<i32>, i32
  }
  tt.return
})";
  I32 out(1), other(1);
  ASSERT_TRUE(runText(text, {address(out), 0, 0}).ok());
  EXPECT_EQ(out[0], 2);
  ASSERT_TRUE(runText(text, {address(out), 1, address(other)}).ok());
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(other[0], 1);
}

TEST(Control, WhileRunsUntilItsConditionFails) {
  // Collatz steps.
  const char *text = R"(tt.func @k(%out: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %steps:2 = scf.while (%x = %n, %s = %zero) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %x, %one : i32
    scf.condition(%more) %x, %s : i32, i32
  } do {
  ^bb0(%x: i32, %s: i32):
    %bit = arith.remsi %x, %two : i32
    %odd = arith.cmpi eq, %bit, %one : i32
    %next = scf.if %odd -> i32 {
      %t = arith.muli %x, %three : i32
      %u = arith.addi %t, %one : i32
      scf.yield %u : i32
    } else {
      %h = arith.divsi %x, %two : i32
      scf.yield %h : i32
    }
    %s1 = arith.addi %s, %one : i32
    scf.yield %next, %s1 : i32, i32
  }
  tt.store %out, %steps#1 : !tt.ptr<i32>, i32
  tt.return
})";
  I32 out(1);
  ASSERT_TRUE(runText(text, {address(out), 27}).ok());
  EXPECT_EQ(out[0], 111);
}

TEST(Control, EndlessLoopsMeetTheLimit) {
  const char *text = R"(tt.func @k() {
  %true = arith.constant true
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    scf.yield
  }
  tt.return
})";
  EXPECT_EQ(runText(text, {}, {}, 1000).code, StatusCode::Resource);
  const char *wide = R"(tt.func @k() {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %end = arith.constant 9223372036854775807 : i64
  scf.for %i = %zero to %end step %one : i64 {
  }
  tt.return
})";
  EXPECT_EQ(runText(wide, {}, {}, 1000).code, StatusCode::Resource);
}

TEST(Control, UnknownOpsAreNamedWithTheirPlace) {
  const char *text = R"(tt.func @k(%x: i32) {
  %c = scf.index_switch %i -> i32
  default { scf.yield %x : i32 } loc("kernel.py":3:7)
  tt.return
})";
  std::string body = text;
  body.replace(body.find("  %c"), 0, "  %i = arith.index_cast %x : i32 to index\n");
  Status status = runText(body, {1});
  EXPECT_EQ(status.code, StatusCode::Unsupported);
  EXPECT_EQ(status.message, "kernel.py:3:7: the interpreter does not know `scf.index_switch`");
}

TEST(Control, ArgumentsAndGridsAreChecked) {
  const char *text = "tt.func @k(%x: i32) { tt.return }";
  EXPECT_EQ(runText(text, {}).code, StatusCode::Launch);
  EXPECT_EQ(runText(text, {1}, {{-1, 1, 1}}).code, StatusCode::Launch);
  EXPECT_TRUE(runText(text, {1}, {{0, 1, 1}}).ok());
  EXPECT_EQ(runText("tt.func @a() { tt.return }\ntt.func @b() { tt.return }", {}).code, StatusCode::Internal);
}

// What the front end emits beside the dialect's own ops. (Those link only with semantics.)
TEST(Coverage, OpsOfTheFrontEndAreKnown) {
  for (const char *name :
       {"arith.constant", "arith.addi",     "arith.subi",    "arith.muli",    "arith.divsi",
        "arith.divui",    "arith.remsi",    "arith.remui",   "arith.andi",    "arith.ori",
        "arith.xori",     "arith.shli",     "arith.shrsi",   "arith.shrui",   "arith.addf",
        "arith.subf",     "arith.mulf",     "arith.divf",    "arith.remf",    "arith.negf",
        "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.maxsi",
        "arith.minsi",    "arith.maxui",    "arith.minui",   "arith.cmpi",    "arith.cmpf",
        "arith.select",   "arith.extsi",    "arith.extui",   "arith.trunci",  "arith.sitofp",
        "arith.uitofp",   "arith.fptosi",   "arith.fptoui",  "arith.extf",    "arith.truncf",
        "arith.bitcast",  "math.absf",      "math.absi",     "math.exp",      "math.exp2",
        "math.log",       "math.log2",      "math.sin",      "math.cos",      "math.sqrt",
        "math.rsqrt",     "math.erf",       "math.tanh",     "math.floor",    "math.ceil",
        "math.fma",       "math.acos",      "math.acosh",    "math.asin",     "math.asinh",
        "math.atan",      "math.atan2",     "math.atanh",    "math.cbrt",     "math.copysign",
        "math.cosh",      "math.ctlz",      "math.ctpop",    "math.erfc",     "math.expm1",
        "math.log10",     "math.log1p",     "math.powf",     "math.round",    "math.roundeven",
        "math.sinh",      "math.tan",       "math.trunc",    "scf.for",       "scf.if",
        "scf.while",      "tt.load",        "tt.reduce",     "tt.func"})
    EXPECT_TRUE(interp::allOps().contains(name)) << name;
}

} // namespace
