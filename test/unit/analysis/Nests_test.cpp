// What fuses, what is buffered, and that planning is quick on graphs that are large as trees. The plans of
// whole kernels are golden tests (test/golden/cpu/nests.py).
#include "Parsed.h"
#include "analysis/Nests.h"

#include <chrono>

using namespace tegula;
using namespace tegula::test;
using analysis::StepKind;

namespace {

const std::string prologue = R"(
    %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %pa = tt.addptr %ps, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %qa = tt.addptr %qs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %x = tt.load %pa : tensor<64x!tt.ptr<f32>> -> tensor<64xf32>
)";
const std::string store = "tt.store %qa, %y : tensor<64x!tt.ptr<f32>>, tensor<64xf32>\n";

struct Planned : Parsed {
  explicit Planned(const std::string &body) : Parsed("%p: !tt.ptr<f32>, %q: !tt.ptr<f32>", prologue + body) {
    plan = analysis::planNests(function, access);
    for (const analysis::NestStep &step : plan.steps(&function.getBody().front()))
      if (step.kind != StepKind::Scalar && step.kind != StepKind::Yield)
        kinds.push_back(step.kind);
  }
  const analysis::Nest &nest(unsigned i) {
    for (const analysis::NestStep &step : plan.steps(&function.getBody().front()))
      if (step.kind == StepKind::Nest && i-- == 0)
        return step.nest;
    static analysis::Nest none;
    ADD_FAILURE() << "there is no such nest";
    return none;
  }

  analysis::AccessAnalysis access;
  analysis::NestPlan plan;
  std::vector<StepKind> kinds;
};

TEST(NestPlan, StreamsWhatIsReadOnce) {
  Planned kernel("%y = arith.addf %x, %x {here} : tensor<64xf32>\n" + store);
  EXPECT_EQ(kernel.kinds, std::vector{StepKind::Nest});
  EXPECT_EQ(kernel.plan.buffer(kernel.marked()), nullptr);
  EXPECT_EQ(kernel.plan.scratchBytes(), 0);
}

TEST(NestPlan, KeepsALoadThatAStoreMayChange) {
  Planned kernel(R"(%y = arith.negf %x : tensor<64xf32>
    tt.store %pa, %y : tensor<64x!tt.ptr<f32>>, tensor<64xf32>
    %z = tt.load %pa : tensor<64x!tt.ptr<f32>> -> tensor<64xf32>
    %w = arith.addf %x, %z : tensor<64xf32>
    tt.store %qa, %w : tensor<64x!tt.ptr<f32>>, tensor<64xf32>)");
  EXPECT_EQ(kernel.kinds, (std::vector{StepKind::Nest, StepKind::Nest}));
  EXPECT_EQ(kernel.nest(0).roots[0].kind, analysis::RootKind::Buffer);
}

// What is read at other coordinates is written by a nest of its own, also where the shapes agree.
TEST(NestPlan, GathersFromWhatIsWhole) {
  Planned kernel(R"(%s = arith.negf %x {here} : tensor<64xf32>
    %y = tt.gather %s[%i] axis 0 : tensor<64xf32>, tensor<64xi32> -> tensor<64xf32>
)" + store);
  EXPECT_EQ(kernel.kinds, (std::vector{StepKind::Nest, StepKind::Nest}));
  EXPECT_NE(kernel.plan.buffer(kernel.marked()), nullptr);
  EXPECT_EQ(kernel.nest(1).roots[0].kind, analysis::RootKind::Store);
}

TEST(NestPlan, AtomicsKeepTheirPlaceAmongStores) {
  Planned kernel(R"(%y = arith.negf %x : tensor<64xf32>
    tt.store %pa, %y : tensor<64x!tt.ptr<f32>>, tensor<64xf32>
    %old = tt.atomic_rmw fadd, relaxed, gpu, %qa, %y : tensor<64x!tt.ptr<f32>>, tensor<64xf32> -> tensor<64xf32>
    tt.store %qa, %y : tensor<64x!tt.ptr<f32>>, tensor<64xf32>)");
  EXPECT_EQ(kernel.kinds, (std::vector{StepKind::Nest, StepKind::Whole, StepKind::Nest}));
}

TEST(NestPlan, AReductionEndsTheNestOfItsReaders) {
  Planned kernel(R"(%s = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<64xf32>) -> f32
    %t = tt.splat %s : f32 -> tensor<64xf32>
    %y = arith.subf %x, %t : tensor<64xf32>
)" + store);
  EXPECT_EQ(kernel.kinds, (std::vector{StepKind::Nest, StepKind::Nest}));
}

TEST(NestPlan, BuffersAreApartAndAligned) {
  Planned kernel(R"(%s = arith.negf %x : tensor<64xf32>
    %g = tt.gather %s[%i] axis 0 : tensor<64xf32>, tensor<64xi32> -> tensor<64xf32>
    %h = arith.negf %g : tensor<64xf32>
    %y = tt.gather %h[%i] axis 0 : tensor<64xf32>, tensor<64xi32> -> tensor<64xf32>
)" + store);
  const auto &buffers = kernel.plan.buffers();
  ASSERT_GE(buffers.size(), 2u);
  for (const analysis::Buffer &a : buffers) {
    EXPECT_EQ(a.offset % 64, 0);
    EXPECT_LE(a.offset + a.elements() * a.elementBytes(), kernel.plan.scratchBytes());
    for (const analysis::Buffer &b : buffers)
      EXPECT_TRUE(&a == &b || a.offset + a.elements() * a.elementBytes() <= b.offset ||
                  b.offset + b.elements() * b.elementBytes() <= a.offset);
  }
}

// The load needs the reduction, and the store must not come before it: it cannot share the reduction's nest.
TEST(NestPlan, StoresStayBehindLoadsThatNeedTheOpenNest) {
  Planned kernel(R"(%s = "tt.reduce"(%i) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.maxsi %a, %b : i32
      tt.reduce.return %c : i32
    }) : (tensor<64xi32>) -> i32
    %t = tt.splat %s : i32 -> tensor<64xi32>
    %ra = tt.addptr %pa, %t : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %y = tt.load %ra : tensor<64x!tt.ptr<f32>> -> tensor<64xf32>
    tt.store %pa, %x : tensor<64x!tt.ptr<f32>>, tensor<64xf32>
)" + store);
  EXPECT_EQ(kernel.nest(0).roots.size(), 1u);
  EXPECT_EQ(kernel.nest(0).roots[0].kind, analysis::RootKind::Reduce);
}

// 2^60 paths, 60 ops.
TEST(NestPlan, WalksGraphsNotTrees) {
  std::string body = "%v0 = arith.addf %x, %x : tensor<64xf32>\n";
  for (int k = 1; k < 60; ++k) {
    std::string before = "%v" + std::to_string(k - 1);
    body += "%v" + std::to_string(k) + " = arith.addf " + before + ", " + before + " : tensor<64xf32>\n";
  }
  auto start = std::chrono::steady_clock::now();
  Planned kernel(body + "%y = arith.negf %v59 : tensor<64xf32>\n" + store);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(kernel.kinds, std::vector{StepKind::Nest});
}

} // namespace
