// Addresses and masks as functions of coordinates, with the conditions under which they hold.
#include "Parsed.h"
#include "analysis/Access.h"
#include "analysis/Indices.h"

using namespace tegula;
using namespace tegula::test;
using analysis::AccessAnalysis;
using analysis::Address;

namespace {

const std::string range = "%i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>\n";
const std::string pointers = "%s = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n";

TEST(Address, OfABlockOfAnArray) {
  Parsed kernel("%p: !tt.ptr<f32>, %start: i32", range + pointers + R"(
    %b = tt.splat %start : i32 -> tensor<64xi32>
    %o = arith.addi %b, %i : tensor<64xi32>
    %a = tt.addptr %s, %o {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>)");
  AccessAnalysis access;
  const Address *address = access.address(kernel.marked());
  ASSERT_NE(address, nullptr);
  EXPECT_EQ(address->pointer, kernel.argument(0));
  EXPECT_EQ(address->offset.strides[0].constant(), 4);
  EXPECT_EQ(address->offset.base, *analysis::Polynomial(access.factor(kernel.argument(1))).scaled(4));
  EXPECT_EQ(address->offset.conditions.size(), 1u) << "the sum of 32 bits must not wrap";
  EXPECT_TRUE(analysis::isOneToOne(access, kernel.marked()));
}

TEST(Address, OfRowsWithAStride) {
  Parsed kernel("%p: !tt.ptr<f16>, %stride: i32", R"(
    %r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
    %r1 = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
    %st = tt.splat %stride : i32 -> tensor<8x1xi32>
    %rows = arith.muli %r1, %st : tensor<8x1xi32>
    %rb = tt.broadcast %rows : tensor<8x1xi32> -> tensor<8x16xi32>
    %c = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
    %c0 = tt.expand_dims %c {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %cb = tt.broadcast %c0 : tensor<1x16xi32> -> tensor<8x16xi32>
    %o = arith.addi %rb, %cb : tensor<8x16xi32>
    %s = tt.splat %p : !tt.ptr<f16> -> tensor<8x16x!tt.ptr<f16>>
    %a = tt.addptr %s, %o {here} : tensor<8x16x!tt.ptr<f16>>, tensor<8x16xi32>)");
  AccessAnalysis access;
  const Address *address = access.address(kernel.marked());
  ASSERT_NE(address, nullptr);
  EXPECT_EQ(address->offset.strides[0], *analysis::Polynomial(access.factor(kernel.argument(1))).scaled(2));
  EXPECT_EQ(address->offset.strides[1].constant(), 2);
  EXPECT_TRUE(address->offset.base.isZero());
  EXPECT_FALSE(analysis::isOneToOne(access, kernel.marked())) << "rows of a stride below 16 overlap";
}

// Rows of %n elements, walked over by blocks of 16 columns, stored under `mask`; `next`: the loop's step.
std::string rowsOf(const std::string &next, const std::string &mask) {
  return R"(
    %zero = arith.constant 0 : i32
    %step = arith.constant )" +
         next + R"( : i32
    %r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
    %r1 = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
    %st = tt.splat %n : i32 -> tensor<8x1xi32>
    %rows = arith.muli %r1, %st : tensor<8x1xi32>
    %rb = tt.broadcast %rows : tensor<8x1xi32> -> tensor<8x16xi32>
    %i = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
    %s = tt.splat %p : !tt.ptr<f16> -> tensor<8x16x!tt.ptr<f16>>
    %v = arith.constant dense<1.0> : tensor<8x16xf16>
    scf.for %k = %zero to %n step %step : i32 {
      %ks = tt.splat %k : i32 -> tensor<16xi32>
      %c = arith.addi %ks, %i : tensor<16xi32>
      %c0 = tt.expand_dims %c {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
      %cb = tt.broadcast %c0 : tensor<1x16xi32> -> tensor<8x16xi32>
      %o = arith.addi %rb, %cb : tensor<8x16xi32>
      %limit = tt.splat %n : i32 -> tensor<8x16xi32>
      %other = tt.splat %m : i32 -> tensor<8x16xi32>
      %below = arith.cmpi slt, %cb, %limit : tensor<8x16xi32>
      %belowOther = arith.cmpi slt, %cb, %other : tensor<8x16xi32>
      %offsetBelow = arith.cmpi slt, %o, %limit : tensor<8x16xi32>
      %both = arith.andi %below, %belowOther : tensor<8x16xi1>
      %a = tt.addptr %s, %o {here} : tensor<8x16x!tt.ptr<f16>>, tensor<8x16xi32>
      )" +
         mask +
         R"(
    })";
}

bool areRowsApart(const std::string &next, const std::string &stores) {
  Parsed kernel("%p: !tt.ptr<f16>, %n: i32, %m: i32", rowsOf(next, stores));
  AccessAnalysis access;
  bool inTrips = analysis::areApartInOtherTrips(access, kernel.marked(), kernel.marked());
  EXPECT_TRUE(!inTrips || analysis::isOneToOne(access, kernel.marked()));
  return inTrips;
}

TEST(Rows, AreApartUnderMasksBelowTheirStride) {
  auto store = [](const std::string &mask) {
    return "tt.store %a, %v mask %" + mask +
           " : tensor<8x16x!tt.ptr<f16>>, tensor<8x16xf16>, mask tensor<8x16xi1>\n";
  };
  EXPECT_TRUE(areRowsApart("16", store("below")));
  EXPECT_TRUE(areRowsApart("32", store("both"))) << "a conjunct is enough";
  EXPECT_FALSE(areRowsApart("8", store("below"))) << "trips overlap";
  EXPECT_FALSE(areRowsApart("16", store("belowOther"))) << "a mask that leaves the row";
  EXPECT_FALSE(areRowsApart("16", store("offsetBelow"))) << "a mask of another index";
  EXPECT_FALSE(areRowsApart("16", store("below") + store("belowOther")))
      << "one of two accesses leaves the row";
  EXPECT_FALSE(
      areRowsApart("16", store("below") + "tt.store %a, %v : tensor<8x16x!tt.ptr<f16>>, tensor<8x16xf16>\n"))
      << "an access without a mask";
}

TEST(Address, OfLoadedIndicesVariesWithThem) {
  Parsed kernel("%p: !tt.ptr<f32>, %q: !tt.ptr<i32>", range + pointers + R"(
    %t = tt.splat %q : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %u = tt.addptr %t, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %index = tt.load %u : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    %a = tt.addptr %s, %index {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>)");
  AccessAnalysis access;
  const Address *address = access.address(kernel.marked());
  ASSERT_NE(address, nullptr);
  EXPECT_TRUE(address->offset.base.dependsOn(0)) << "no stride describes it";
  EXPECT_TRUE(address->offset.strides[0].isZero());
  EXPECT_FALSE(analysis::isOneToOne(access, kernel.marked())) << "an index may come twice";
}

TEST(Address, OfChosenPointersIsUnknown) {
  Parsed kernel("%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1", pointers + R"(
    %t = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %a = arith.select %c, %s, %t {here} : tensor<64x!tt.ptr<f32>>)");
  AccessAnalysis access;
  EXPECT_EQ(access.address(kernel.marked()), nullptr);
}

TEST(Form, OfAProductOfCoordinatesIsTheValueItself) {
  Parsed kernel("%n: i32", range + "%a = arith.muli %i, %i {here} : tensor<64xi32>");
  AccessAnalysis access;
  EXPECT_EQ(access.form(kernel.marked()).base, analysis::Polynomial(access.factor(kernel.marked())));
}

TEST(Form, OfARangeBelowZeroBeginsThere) {
  Parsed kernel("", "%a = tt.make_range {start = -8 : i32, end = 56 : i32, here} : tensor<64xi32>");
  AccessAnalysis access;
  EXPECT_EQ(access.form(kernel.marked()).base.constant(), -8);
  EXPECT_FALSE(analysis::Indices().contains(kernel.marked()));
}

TEST(Mask, IsAConjunctionOfBounds) {
  Parsed kernel("%n: i32", range + R"(
    %m = tt.splat %n : i32 -> tensor<64xi32>
    %low = arith.constant dense<3> : tensor<64xi32>
    %x = arith.cmpi slt, %i, %m : tensor<64xi32>
    %y = arith.cmpi sge, %i, %low : tensor<64xi32>
    %z = arith.cmpi ult, %i, %m : tensor<64xi32>
    %xy = arith.andi %x, %y : tensor<64xi1>
    %a = arith.andi %xy, %z {here} : tensor<64xi1>)");
  AccessAnalysis access;
  auto conjuncts = access.conjuncts(kernel.marked());
  ASSERT_EQ(conjuncts.size(), 3u);
  ASSERT_TRUE(conjuncts[0].form && conjuncts[1].form);
  EXPECT_EQ(conjuncts[0].form->strides[0].constant(), 1);  // i - n < 0
  EXPECT_EQ(conjuncts[1].form->strides[0].constant(), -1); // 3 - i - 1 < 0
  EXPECT_EQ(conjuncts[1].form->base.constant(), 2);
  EXPECT_FALSE(conjuncts[2].form) << "an unsigned comparison is no bound";
}

TEST(Mask, OfTrueAsksNothing) {
  Parsed kernel("%n: i32", "%a = arith.constant {here} dense<true> : tensor<64xi1>");
  AccessAnalysis access;
  EXPECT_TRUE(access.conjuncts(kernel.marked()).empty());
}

// `%a` is %i added to itself `times` times more.
std::string sums(unsigned times) {
  std::string text = "%x0 = arith.addi %i, %i : tensor<64xi32>\n";
  for (unsigned n = 1; n < times; ++n)
    text += "%x" + std::to_string(n) + " = arith.addi %x" + std::to_string(n - 1) + ", %i : tensor<64xi32>\n";
  return text + "%a = arith.addi %x" + std::to_string(times - 1) + ", %i {here} : tensor<64xi32>\n";
}

TEST(Form, OfManySumsTakesNoStack) {
  Parsed kernel("%n: i32", range + sums(20000));
  AccessAnalysis access;
  EXPECT_EQ(access.form(kernel.marked()).strides[0].constant(), 20002);
}

TEST(Mask, ThatDoublesIsWalkedOnce) {
  std::string text =
      range +
      "%z = arith.constant dense<9> : tensor<64xi32>\n%m0 = arith.cmpi slt, %i, %z : tensor<64xi32>\n";
  for (unsigned n = 0; n < 60; ++n) {
    std::string from = "%m" + std::to_string(n);
    text += "%m" + std::to_string(n + 1) + " = arith.andi " + from + ", " + from + " : tensor<64xi1>\n";
  }
  Parsed kernel("%n: i32", text + "%a = arith.andi %m60, %m60 {here} : tensor<64xi1>\n");
  AccessAnalysis access;
  auto conjuncts = access.conjuncts(kernel.marked());
  ASSERT_EQ(conjuncts.size(), 1u);
  EXPECT_TRUE(conjuncts[0].form.has_value());
}

TEST(Mask, OfTooManyPartsIsOneCondition) {
  std::string text = range + "%m0 = arith.constant dense<true> : tensor<64xi1>\n", arguments;
  for (unsigned n = 0; n < 20; ++n) {
    std::string id = std::to_string(n);
    arguments += (n ? ", %n" : "%n") + id + ": i32";
    text += "%s" + id + " = tt.splat %n" + id + " : i32 -> tensor<64xi32>\n%c" + id +
            " = arith.cmpi slt, %i, %s" + id + " : tensor<64xi32>\n%m" + std::to_string(n + 1) +
            " = arith.andi %m" + id + ", %c" + id + " : tensor<64xi1>\n";
  }
  Parsed kernel(arguments, text + "%a = arith.andi %m20, %c0 {here} : tensor<64xi1>\n");
  AccessAnalysis access;
  auto conjuncts = access.conjuncts(kernel.marked());
  ASSERT_EQ(conjuncts.size(), 1u);
  EXPECT_FALSE(conjuncts[0].form.has_value());
  EXPECT_EQ(conjuncts[0].opaque.value, kernel.marked());
}

TEST(Address, OfPointersMovedByScalarsNeedsNoCondition) {
  Parsed kernel("%p: !tt.ptr<f32>, %n: i32", range + pointers + R"(
    %b = tt.splat %n : i32 -> tensor<64xi32>
    %t = tt.addptr %s, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %a = tt.addptr %t, %b {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>)");
  AccessAnalysis access;
  const Address *address = access.address(kernel.marked());
  ASSERT_NE(address, nullptr);
  EXPECT_TRUE(address->offset.conditions.empty()) << "neither a range nor a scalar can have wrapped";
}

// A tile of rows that an op clamps, as offsets of addresses.
std::string clampedBy(const std::string &ops) {
  return range + pointers + R"(
    %b = tt.splat %start : i32 -> tensor<64xi32>
    %x = arith.addi %b, %i : tensor<64xi32>
    %n = tt.splat %limit : i32 -> tensor<64xi32>
    %z = arith.constant dense<0> : tensor<64xi32>
    )" + ops +
         R"(
    %a = tt.addptr %s, %c {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>)";
}

TEST(Address, OfClampedOffsetsIsThatOfTheOffsetsUnderBounds) {
  struct {
    std::string ops;
    size_t bounds; // 0: none is seen through
  } spellings[] = {
      {"%c = arith.remsi %x, %n : tensor<64xi32>", 2},
      {"%c = arith.minsi %x, %n : tensor<64xi32>", 1},
      {"%c = arith.minsi %n, %x : tensor<64xi32>", 1},
      {"%c = arith.maxsi %x, %z : tensor<64xi32>", 1},
      {"%m = arith.cmpi slt, %x, %n : tensor<64xi32>\n"
       "%c = arith.select %m, %x, %z : tensor<64xi1>, tensor<64xi32>",
       1},
      {"%m = arith.cmpi sge, %x, %n : tensor<64xi32>\n"
       "%c = arith.select %m, %z, %x : tensor<64xi1>, tensor<64xi32>",
       1},
      {"%m = arith.cmpi ult, %x, %n : tensor<64xi32>\n"
       "%c = arith.select %m, %x, %z : tensor<64xi1>, tensor<64xi32>",
       0},
      {"%c = arith.minui %x, %n : tensor<64xi32>", 0},
      {"%c = arith.minsi %x, %x : tensor<64xi32>", 0},
      // Never all inside, whatever the arguments are.
      {"%h = arith.constant dense<32> : tensor<64xi32>\n"
       "%m = arith.cmpi slt, %i, %h : tensor<64xi32>\n"
       "%c = arith.select %m, %x, %i : tensor<64xi1>, tensor<64xi32>",
       0},
  };
  for (const auto &[ops, bounds] : spellings) {
    SCOPED_TRACE(ops);
    Parsed kernel("%p: !tt.ptr<f32>, %start: i32, %limit: i32", clampedBy(ops));
    AccessAnalysis through(/*throughClamps=*/true), plain;
    const Address *address = through.address(kernel.marked());
    ASSERT_NE(address, nullptr);
    EXPECT_EQ(address->offset.strides[0].constant() == 4, bounds != 0);
    EXPECT_TRUE(plain.address(kernel.marked())->offset.strides[0].isZero());
    size_t found = 0;
    for (mlir::Value condition : address->offset.conditions)
      if (auto clamp = through.clamp(condition))
        found += clamp->bounds.size();
    EXPECT_EQ(found, bounds);
  }
}

} // namespace
