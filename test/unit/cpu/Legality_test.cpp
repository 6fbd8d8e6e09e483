// What this target does not have is refused by name, before anything is emitted; and what a failed assertion
// tells.
#include "Compiled.h"

using namespace tegula;
using namespace tegula::test;

namespace {

void expectRefused(const std::string &text, const std::string &words) {
  Compiled kernel(text);
  EXPECT_EQ(kernel.status.code, StatusCode::Unsupported);
  EXPECT_NE(kernel.status.message.find(words), std::string::npos) << kernel.status.message;
}

TEST(Legality, NoPtx) {
  expectRefused(
      overTwoArrays(
          R"(%y = tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r", pure = true, packedElement = 1 : i32} %i : tensor<64xi32> -> tensor<64xi32>)"),
      "PTX");
}

TEST(Legality, FunctionsThatTheLibraryLacks) {
  expectRefused(overTwoArrays("%y = math.ipowi %i, %i : tensor<64xi32>"), "`math.ipowi`");
}

TEST(Legality, DotsOfMixedKinds) {
  expectRefused(R"(tt.func @k(%p: !tt.ptr<i32>) {
    %a = arith.constant dense<1> : tensor<16x16xi32>
    %c = arith.constant dense<0> : tensor<16x16xi8>
    %d = tt.dot %a, %a, %c : tensor<16x16xi32>, tensor<16x16xi32>, tensor<16x16xi8>
    tt.return
  })",
                "dot");
}

TEST(Legality, ProcessorsThatLlvmDoesNotKnow) {
  testing::internal::CaptureStderr();
  Compiled kernel(overTwoArrays(""), "vax");
  EXPECT_EQ(kernel.status.code, StatusCode::Unsupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "LLVM has its own words for it";
}

TEST(Assertion, EndsTheLaunchWithItsMessage) {
  Compiled kernel(overTwoArrays(R"(
    %x = tt.load %pa : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    %zero = arith.constant dense<0> : tensor<64xi32>
    %c = arith.cmpi sge, %x, %zero : tensor<64xi32>
    tt.assert %c, "no negative numbers" : tensor<64xi1>
    tt.store %qa, %x : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)"));
  std::vector<int32_t> p(64, 3), q(64);
  EXPECT_TRUE(kernel.run({address(p), address(q)}, {{50, 1, 1}}).ok());
  EXPECT_EQ(q, p);
  p[63] = -1;
  q.assign(64, 0);
  Status failed = kernel.run({address(p), address(q)}, {{50, 1, 1}});
  EXPECT_EQ(failed.code, StatusCode::Assertion);
  EXPECT_NE(failed.message.find("assertion failed: no negative numbers"), std::string::npos)
      << failed.message;
  EXPECT_EQ(q, std::vector<int32_t>(64, 0)) << "nothing behind the assertion took place";
  p[63] = 1;
  EXPECT_TRUE(kernel.run({address(p), address(q)}).ok()) << "the next launch knows nothing of it";
}

TEST(Atomics, CountWhatAllProgramsAdd) {
  Compiled kernel(overTwoArrays(R"(
    %one = arith.constant dense<1> : tensor<64xi32>
    %three = arith.constant dense<3> : tensor<64xi32>
    %bin = arith.andi %i, %three : tensor<64xi32>
    %a = tt.addptr %ps, %bin : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %old = tt.atomic_rmw add, relaxed, gpu, %a, %one : tensor<64x!tt.ptr<i32>>, tensor<64xi32> -> tensor<64xi32>)"));
  std::vector<int32_t> p(4), q(64);
  ASSERT_TRUE(kernel.run({address(p), address(q)}, {{3000, 1, 1}}).ok());
  EXPECT_EQ(p, std::vector<int32_t>(4, 3000 * 16));
}

} // namespace
