// Shapes, memory, dot and reductions.
#include "Program.h"

#include <cmath>

using namespace tegula;
using namespace tegula::test;

namespace {

using I32 = std::vector<int32_t>;
using F32 = std::vector<float>;

I32 shape(const std::string &body, size_t outSize, I32 input) {
  return apply<int32_t>(body, "i32", outSize, Buffer<int32_t>{"i32", input});
}

TEST(Shape, TransposeMovesDimensions) {
  EXPECT_EQ(shape(R"(
  %m = tt.reshape %a : tensor<6xi32> -> tensor<2x3xi32>
  %t = tt.trans %m {order = array<i32: 1, 0>} : tensor<2x3xi32> -> tensor<3x2xi32>
  %r = tt.reshape %t : tensor<3x2xi32> -> tensor<6xi32>)",
                  6, {0, 1, 2, 3, 4, 5}),
            (I32{0, 3, 1, 4, 2, 5}));
  // Result dimension d is operand dimension order[d].
  EXPECT_EQ(shape(R"(
  %m = tt.reshape %a : tensor<6xi32> -> tensor<1x2x3xi32>
  %t = tt.trans %m {order = array<i32: 2, 0, 1>} : tensor<1x2x3xi32> -> tensor<3x1x2xi32>
  %r = tt.reshape %t : tensor<3x1x2xi32> -> tensor<6xi32>)",
                  6, {0, 1, 2, 3, 4, 5}),
            (I32{0, 3, 1, 4, 2, 5}));
}

TEST(Shape, BroadcastRepeats) {
  EXPECT_EQ(shape(R"(
  %m = tt.expand_dims %a {axis = 0 : i32} : tensor<3xi32> -> tensor<1x3xi32>
  %t = tt.broadcast %m : tensor<1x3xi32> -> tensor<2x3xi32>
  %r = tt.reshape %t : tensor<2x3xi32> -> tensor<6xi32>)",
                  6, {7, 8, 9}),
            (I32{7, 8, 9, 7, 8, 9}));
  EXPECT_EQ(shape(R"(
  %m = tt.expand_dims %a {axis = 1 : i32} : tensor<3xi32> -> tensor<3x1xi32>
  %t = tt.broadcast %m : tensor<3x1xi32> -> tensor<3x2xi32>
  %r = tt.reshape %t : tensor<3x2xi32> -> tensor<6xi32>)",
                  6, {7, 8, 9}),
            (I32{7, 7, 8, 8, 9, 9}));
}

TEST(Shape, JoinInterleavesAndSplitUndoesIt) {
  EXPECT_EQ(apply<int32_t>(R"(
  %j = tt.join %a, %b : tensor<2xi32> -> tensor<2x2xi32>
  %r = tt.reshape %j : tensor<2x2xi32> -> tensor<4xi32>)",
                           "i32", 4, Buffer<int32_t>{"i32", {1, 2}}, Buffer<int32_t>{"i32", {3, 4}}),
            (I32{1, 3, 2, 4}));
  EXPECT_EQ(shape(R"(
  %m = tt.reshape %a : tensor<4xi32> -> tensor<2x2xi32>
  %x, %r = tt.split %m : tensor<2x2xi32> -> tensor<2xi32>)",
                  2, {1, 2, 3, 4}),
            (I32{2, 4}));
}

TEST(Shape, SplatAndUnsplat) {
  EXPECT_EQ(shape(R"(
  %s = tt.unsplat %a : tensor<1xi32> -> i32
  %r = tt.splat %s : i32 -> tensor<3xi32>)",
                  3, {42}),
            (I32{42, 42, 42}));
}

TEST(Memory, MaskedLanesTouchNothing) {
  const char *text = R"(tt.func @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %other: f32) {
  %i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %s = tt.splat %n : i32 -> tensor<4xi32>
  %m = arith.cmpi slt, %i, %s : tensor<4xi32>
  // The masked addresses are far away.
  %far = arith.constant dense<1000000000> : tensor<4xi32>
  %safe = arith.select %m, %i, %far : tensor<4xi1>, tensor<4xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %safe : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  %o = tt.splat %other : f32 -> tensor<4xf32>
  %a = tt.load %xp mask %m other %o : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>, mask tensor<4xi1>, other tensor<4xf32>
  %b = tt.load %xp mask %m : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>, mask tensor<4xi1>
  %sum = arith.addf %a, %b : tensor<4xf32>
  tt.store %xp, %sum mask %m : tensor<4x!tt.ptr<f32>>, tensor<4xf32>, mask tensor<4xi1>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  tt.store %yp, %sum : tensor<4x!tt.ptr<f32>>, tensor<4xf32>
  tt.return
})";
  F32 x{1, 2, 3, 4}, y(4);
  ASSERT_TRUE(runText(text, {address(x), address(y), 2, slot(10.0f)}).ok());
  EXPECT_EQ(x, (F32{2, 4, 3, 4}));
  EXPECT_EQ(y, (F32{2, 4, 10, 10}));
}

TEST(Memory, StoresTakeEffectInOrderTileByTile) {
  // p[i+1] = p[i]: the whole tile is read before any element is written.
  const char *text = R"(tt.func @k(%p: !tt.ptr<i16>) {
  %i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %j = tt.make_range {start = 1 : i32, end = 5 : i32} : tensor<4xi32>
  %s = tt.splat %p : !tt.ptr<i16> -> tensor<4x!tt.ptr<i16>>
  %from = tt.addptr %s, %i : tensor<4x!tt.ptr<i16>>, tensor<4xi32>
  %to = tt.addptr %s, %j : tensor<4x!tt.ptr<i16>>, tensor<4xi32>
  %v = tt.load %from : tensor<4x!tt.ptr<i16>> -> tensor<4xi16>
  tt.store %to, %v : tensor<4x!tt.ptr<i16>>, tensor<4xi16>
  tt.barrier
  tt.return
})";
  std::vector<int16_t> p{1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(runText(text, {address(p)}).ok());
  EXPECT_EQ(p, (std::vector<int16_t>{1, 1, 2, 3, 4, 6}));
}

TEST(Memory, ScalarsAndPointersAsValues) {
  const char *text = R"(tt.func @k(%p: !tt.ptr<i64>, %q: !tt.ptr<!tt.ptr<i64>>) {
  %minus = arith.constant -1 : i8
  %inner = tt.load %q : !tt.ptr<!tt.ptr<i64>> -> !tt.ptr<i64>
  %before = tt.addptr %inner, %minus : !tt.ptr<i64>, i8
  %v = tt.load %before : !tt.ptr<i64> -> i64
  %a = tt.ptr_to_int %before : !tt.ptr<i64> -> i64
  %b = tt.int_to_ptr %a : i64 -> !tt.ptr<i64>
  %same = tt.load %b : !tt.ptr<i64> -> i64
  %sum = arith.addi %v, %same : i64
  tt.store %p, %sum : !tt.ptr<i64>, i64
  tt.return
})";
  std::vector<int64_t> values{21, 5}, out(1);
  std::vector<uint64_t> pointers{address(values) + 8};
  ASSERT_TRUE(runText(text, {address(out), address(pointers)}).ok());
  EXPECT_EQ(out[0], 42);
}

TEST(Memory, NullPointersAreRefusedWithThePlace) {
  const char *text = R"(tt.func @k(%p: !tt.ptr<f32>) {
  %v = tt.load %p : !tt.ptr<f32> -> f32 loc("kernel.py":12:5)
  tt.return
})";
  Status status = runText(text, {0});
  EXPECT_EQ(status.code, StatusCode::Data);
  EXPECT_NE(status.message.find("kernel.py:12:5"), std::string::npos) << status.message;
}

TEST(Dot, AddsProductsToTheAccumulator) {
  EXPECT_EQ(apply<float>(R"(
  %x = tt.reshape %a : tensor<6xf32> -> tensor<2x3xf32>
  %y = tt.reshape %b : tensor<6xf32> -> tensor<3x2xf32>
  %z = tt.reshape %c : tensor<4xf32> -> tensor<2x2xf32>
  %d = tt.dot %x, %y, %z : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x2xf32>
  %r = tt.reshape %d : tensor<2x2xf32> -> tensor<4xf32>)",
                         "f32", 4, Buffer<float>{"f32", {1, 2, 3, 4, 5, 6}},
                         Buffer<float>{"f32", {7, 8, 9, 10, 11, 12}},
                         Buffer<float>{"f32", {100, 0, 0, 1000}}),
            (F32{158, 64, 139, 1154}));
}

TEST(Dot, BatchesAndWrappingIntegers) {
  using I8 = std::vector<int8_t>;
  EXPECT_EQ(apply<int32_t>(R"(
  %x = tt.reshape %a : tensor<4xi8> -> tensor<2x1x2xi8>
  %y = tt.reshape %b : tensor<4xi8> -> tensor<2x2x1xi8>
  %z = tt.reshape %c : tensor<2xi32> -> tensor<2x1x1xi32>
  %d = tt.dot %x, %y, %z : tensor<2x1x2xi8>, tensor<2x2x1xi8>, tensor<2x1x1xi32>
  %r = tt.reshape %d : tensor<2x1x1xi32> -> tensor<2xi32>)",
                           "i32", 2, Buffer<int8_t>{"i8", I8{1, -2, 3, 4}},
                           Buffer<int8_t>{"i8", I8{5, 6, -128, 1}}, Buffer<int32_t>{"i32", {10, INT32_MIN}}),
            (I32{3, INT32_MAX - 379}));
}

TEST(Dot, SumsOfHalvesAreRoundedOnce) {
  // 2048 + 1 + 1: each f16 or f32-by-steps sum of f16 parts would lose the ones in f16.
  std::vector<uint16_t> ones{0x3c00, 0x3c00, 0x3c00}, values{0x6800, 0x3c00, 0x3c00};
  EXPECT_EQ(apply<float>(R"(
  %x = tt.reshape %a : tensor<3xf16> -> tensor<1x3xf16>
  %y = tt.reshape %b : tensor<3xf16> -> tensor<3x1xf16>
  %z = arith.constant dense<0.0> : tensor<1x1xf32>
  %d = tt.dot %x, %y, %z : tensor<1x3xf16>, tensor<3x1xf16>, tensor<1x1xf32>
  %r = tt.reshape %d : tensor<1x1xf32> -> tensor<1xf32>)",
                         "f32", 1, Buffer<uint16_t>{"f16", values}, Buffer<uint16_t>{"f16", ones}),
            (F32{2050}));
}

TEST(Reduce, EachAxisOfThree) {
  I32 input(24);
  for (int i = 0; i < 24; ++i)
    input[i] = i * i - 50;
  for (int axis = 0; axis < 3; ++axis) {
    int dims[] = {2, 3, 4};
    I32 expected(24 / dims[axis], 0);
    std::string to;
    for (int d = 0; d < 3; ++d)
      to += d == axis ? "" : std::to_string(dims[d]) + "x";
    for (int i = 0; i < 24; ++i) {
      int c[] = {i / 12, i / 4 % 3, i % 4}, at = 0;
      for (int d = 0; d < 3; ++d)
        at = d == axis ? at : at * dims[d] + c[d];
      expected[at] += input[i];
    }
    EXPECT_EQ(shape(R"(
  %m = tt.reshape %a : tensor<24xi32> -> tensor<2x3x4xi32>
  %t = tt.reduce %m axis )" +
                        std::to_string(axis) + R"( {
  ^bb0(%x: i32, %y: i32):
    %s = arith.addi %x, %y : i32
    tt.reduce.return %s : i32
  } : (tensor<2x3x4xi32>) -> tensor<)" +
                        to + R"(i32>
  %r = tt.reshape %t : tensor<)" +
                        to + "i32> -> tensor<" + std::to_string(expected.size()) + "xi32>",
                    expected.size(), input),
              expected);
  }
}

TEST(Reduce, SeveralOperandsAndControlFlowInside) {
  // The largest value and the first index of it.
  EXPECT_EQ(shape(R"(
  %i = tt.make_range {start = 0 : i32, end = 7 : i32} : tensor<7xi32>
  %v, %at = tt.reduce %a, %i axis 0 {
  ^bb0(%x: i32, %xi: i32, %y: i32, %yi: i32):
    %greater = arith.cmpi sgt, %y, %x : i32
    %value, %index = scf.if %greater -> (i32, i32) {
      scf.yield %y, %yi : i32, i32
    } else {
      scf.yield %x, %xi : i32, i32
    }
    tt.reduce.return %value, %index : i32, i32
  } : (tensor<7xi32>, tensor<7xi32>) -> (i32, i32)
  %vs = tt.splat %v : i32 -> tensor<1xi32>
  %is = tt.splat %at : i32 -> tensor<1xi32>
  %j = tt.join %vs, %is : tensor<1xi32> -> tensor<1x2xi32>
  %r = tt.reshape %j : tensor<1x2xi32> -> tensor<2xi32>)",
                  2, {3, 9, 2, 9, -4, 9, 1}),
            (I32{9, 1}));
}

TEST(Indexing, RangesMayStartAnywhere) {
  EXPECT_EQ(
      apply<int32_t>("  %r = tt.make_range {start = -2 : i32, end = 2 : i32} : tensor<4xi32>", "i32", 4),
      (I32{-2, -1, 0, 1}));
}

} // namespace
