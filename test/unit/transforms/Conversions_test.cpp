// Moves of conversions: the kernel is given with its layouts.
#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"
#include "transforms/MoveConverts.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tegula;

namespace {

// A thread has two elements, two others, or, of copies, four.
const std::string layouts = R"(
#two = #simt.layout<"[64] register=[(32)] lane=[(1),(2),(4),(8),(16)] warp=[]">
#pairs = #simt.layout<"[64] register=[(1)] lane=[(2),(4),(8),(16),(32)] warp=[]">
#four = #simt.layout<"[64] register=[(1),(2)] lane=[(0),(4),(8),(16),(32)] warp=[]">
)";

// The conversions that are left of a kernel's, behind `hoistConverts`.
size_t convertsLeft(const std::string &body) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  simt::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      layouts + "tt.func @k(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {\n" + body + "\n tt.return\n}\n", &context);
  if (!module) {
    ADD_FAILURE() << "does not parse:\n" << body;
    return 0;
  }
  transforms::hoistConverts(*module);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  size_t count = 0;
  module->walk([&](simt::ConvertOp) { ++count; });
  return count;
}

// The second one, behind which a thread has fewer elements, moves over the first one, which is no more then:
// nothing asks it whether it may move.
TEST(HoistConverts, ForgetsWhatAnotherOneMovedOver) {
  EXPECT_EQ(convertsLeft(R"(
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #two>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #pairs>
    %v = tt.load %ps : tensor<64x!tt.ptr<f32>, #two> -> tensor<64xf32, #two>
    %copies = simt.convert %v : tensor<64xf32, #two> -> tensor<64xf32, #four>
    %e = math.exp %copies : tensor<64xf32, #four>
    %w = simt.convert %e : tensor<64xf32, #four> -> tensor<64xf32, #pairs>
    tt.store %qs, %w : tensor<64x!tt.ptr<f32>, #pairs>, tensor<64xf32, #pairs>)"),
            1u);
}

} // namespace
