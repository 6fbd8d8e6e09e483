// The layouts of small kernels: each case is a sentence of TileToSimt.h.
#include "Converted.h"

using namespace tegula;
using namespace tegula::convert;
using layout::Axis;
using layout::Layout;

namespace {

const std::string aligned = " {tt.divisibility = 16 : i32}";

// y[i] = x[i] for 1024 elements.
std::string copy(const std::string &element, const std::string &hint) {
  std::string pointers = "tensor<1024x!tt.ptr<" + element + ">>", values = "tensor<1024x" + element + ">";
  std::string type = "!tt.ptr<" + element + ">";
  return "tt.func @k(%x: " + type + hint + ", %y: " + type + hint +
         ") {\n"
         "%i = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>\n"
         "%px = tt.splat %x : " +
         type + " -> " + pointers +
         "\n"
         "%ax = tt.addptr %px, %i : " +
         pointers +
         ", tensor<1024xi32>\n"
         "%v = tt.load %ax : " +
         pointers + " -> " + values +
         "\n"
         "%py = tt.splat %y : " +
         type + " -> " + pointers +
         "\n"
         "%ay = tt.addptr %py, %i : " +
         pointers +
         ", tensor<1024xi32>\n"
         "tt.store %ay, %v : " +
         pointers + ", " + values +
         "\n"
         "tt.return\n}\n";
}

// Addresses of a 64x64 tile: %rows (row-major) and %columns (column-major).
const std::string square = R"(
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %r = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %c = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %n = arith.constant dense<64> : tensor<64x1xi32>
  %m = arith.constant dense<64> : tensor<1x64xi32>
  %rn = arith.muli %r, %n : tensor<64x1xi32>
  %cm = arith.muli %c, %m : tensor<1x64xi32>
  %rb = tt.broadcast %r : tensor<64x1xi32> -> tensor<64x64xi32>
  %cb = tt.broadcast %c : tensor<1x64xi32> -> tensor<64x64xi32>
  %rnb = tt.broadcast %rn : tensor<64x1xi32> -> tensor<64x64xi32>
  %cmb = tt.broadcast %cm : tensor<1x64xi32> -> tensor<64x64xi32>
  %rows = arith.addi %rnb, %cb : tensor<64x64xi32>
  %columns = arith.addi %rb, %cmb : tensor<64x64xi32>
)";

// Loads %v from %x, row-major; `body` makes %w of it, which goes to %y at `order`.
std::string squareKernel(const std::string &body, const std::string &value, const std::string &order) {
  return "tt.func @k(%x: !tt.ptr<f32>" + aligned + ", %y: !tt.ptr<f32>" + aligned + ") {\n" + square + R"(
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ax = tt.addptr %px, %rows : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %v = tt.load %ax : tensor<64x64x!tt.ptr<f32>> -> tensor<64x64xf32>
  %py = tt.splat %y : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ay = tt.addptr %py, )" +
         order + " : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>\n" + body + "\ntt.store %ay, " + value +
         " : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xf32>\ntt.return\n}\n";
}

const std::string sumOfRows = R"(
  %s = tt.reduce %v axis 1 {
  ^bb0(%p: f32, %q: f32):
    %t = arith.addf %p, %q : f32
    tt.reduce.return %t : f32
  } : (tensor<64x64xf32>) -> tensor<64xf32>
  %e = tt.expand_dims %s {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
  %b = tt.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
  %w = arith.divf %v, %b : tensor<64x64xf32>
)";

TEST(Layouts, ACopyOfAlignedMemoryMovesSixteenBytesAnAccess) {
  for (auto [element, width] : {std::pair("f32", 4u), {"f16", 8u}, {"i8", 16u}, {"f64", 2u}}) {
    Converted kernel(copy(element, aligned), 2);
    tile::LoadOp load = kernel.all<tile::LoadOp>().front();
    EXPECT_EQ(Converted::width(load), width) << element;
    EXPECT_GE(simt::layoutOf(load.getResult()).contiguous(0), width) << element;
    EXPECT_EQ(Converted::width(kernel.all<tile::StoreOp>().front()), width) << element;
    EXPECT_EQ(kernel.count<simt::ConvertOp>(), 0u) << element;
  }
}

TEST(Layouts, NeighbouringLanesAccessNeighbouringMemory) {
  Converted kernel(copy("f32", aligned));
  Layout layout = simt::layoutOf(kernel.all<tile::LoadOp>().front().getResult());
  std::set<uint32_t> touched; // by the first access of the first warp
  for (unsigned lane = 0; lane != 32; ++lane)
    for (unsigned reg = 0; reg != 4; ++reg)
      touched.insert(layout.apply(reg, lane, 0));
  EXPECT_EQ(touched.size(), 128u);
  EXPECT_EQ(*touched.rbegin() - *touched.begin(), 127u);
}

TEST(Layouts, AnAccessIsNoWiderThanItsAlignment) {
  Converted kernel(copy("f32", ""));
  EXPECT_EQ(Converted::width(kernel.all<tile::LoadOp>().front()), 1u);
  EXPECT_EQ(Converted::width(kernel.all<tile::StoreOp>().front()), 1u);
}

TEST(Layouts, AccessesInOneOrderShareALayout) {
  Converted kernel(squareKernel("%w = arith.mulf %v, %v : tensor<64x64xf32>", "%w", "%rows"));
  EXPECT_EQ(kernel.count<simt::ConvertOp>(), 0u);
}

TEST(Layouts, AccessesInTwoOrdersConvertOnceAndAreBothWide) {
  Converted kernel(squareKernel("", "%v", "%columns"));
  EXPECT_EQ(kernel.count<simt::ConvertOp>(), 1u);
  EXPECT_EQ(Converted::width(kernel.all<tile::LoadOp>().front()), 4u);
  EXPECT_EQ(Converted::width(kernel.all<tile::StoreOp>().front()), 4u);
}

TEST(Layouts, WhatIsComputedFromCoordinatesIsNeverConverted) {
  for (const char *order : {"%rows", "%columns"}) {
    Converted kernel(squareKernel(sumOfRows, "%w", order));
    for (simt::ConvertOp convert : kernel.all<simt::ConvertOp>())
      EXPECT_TRUE(tile::elementType(convert.getResult().getType()).isF32()) << kernel.printed();
  }
}

TEST(Layouts, AReductionLeavesTheSliceOfItsOperand) {
  Converted kernel(squareKernel(sumOfRows, "%w", "%rows"));
  tile::ReduceOp reduce = kernel.all<tile::ReduceOp>().front();
  Layout source = simt::layoutOf(reduce.getOperands()[0]);
  EXPECT_EQ(simt::layoutOf(reduce.getResults()[0]), source.sliced(1));
  EXPECT_EQ(kernel.count<simt::ConvertOp>(), 0u) << "the broadcast of a slice has the layout of the whole";
}

} // namespace
