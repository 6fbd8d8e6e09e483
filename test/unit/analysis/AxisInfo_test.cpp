// What is known of single ops and of the addresses of whole kernels.
#include "analysis/AxisInfo.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tegula;
using analysis::AxisInfo;
using analysis::Trust;

namespace {

struct Kernel {
  Kernel(const std::string &arguments, const std::string &body, Trust trust = Trust::Nothing)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    tile::loadDialects(context);
    std::string text = "tt.func @k(" + arguments + ") {\n" + body + "\n tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return;
    }
    module->walk([&](tile::FuncOp f) { function = f; });
    analysis.emplace(function, trust);
  }

  // The value of the op that carries the attribute `here`.
  mlir::Value marked() {
    mlir::Value found;
    module->walk([&](mlir::Operation *op) {
      if (op->hasAttr("here"))
        found = op->getResult(0);
    });
    return found;
  }
  AxisInfo info() { return analysis->at(marked()); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tile::FuncOp function;
  std::optional<analysis::AxisInfoAnalysis> analysis;
};

using Numbers = llvm::SmallVector<int64_t, 4>;

const std::string range64 = "%r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>\n";
const std::string n16 = "%n: i32 {tt.divisibility = 16 : i32, tt.name = \"n\"}";
std::string splat(const std::string &name, const std::string &of) {
  return "%" + name + " = tt.splat %" + of + " : i32 -> tensor<64xi32>\n";
}
std::string number(const std::string &name, int value) {
  return "%" + name + " = arith.constant dense<" + std::to_string(value) + "> : tensor<64xi32>\n";
}
// An op of two tiles of 64 integers, x and y.
AxisInfo binary(const std::string &op, const std::string &x, const std::string &y,
                const std::string &arguments = "", Trust trust = Trust::Nothing) {
  return Kernel(arguments, range64 + x + y + "%z = " + op + " %x, %y {here} : tensor<64xi32>", trust).info();
}
const std::string xIsRange = "%x = arith.addi %r, %zero : tensor<64xi32>\n";
const std::string rangeX = number("zero", 0) + xIsRange;

TEST(AxisInfo, RangeIsContiguous) {
  AxisInfo info =
      Kernel("", "%r = tt.make_range {start = 48 : i32, end = 64 : i32, here} : tensor<16xi32>").info();
  EXPECT_EQ(info.contiguity, Numbers{16});
  EXPECT_EQ(info.divisibility, Numbers{16});
  EXPECT_EQ(info.constancy, Numbers{1});
}

TEST(AxisInfo, RangeOfAnyExtentIsOneGroup) {
  AxisInfo info =
      Kernel("", "%r = tt.make_range {start = 4 : i32, end = 52 : i32, here} : tensor<48xi32>").info();
  EXPECT_EQ(info.contiguity, Numbers{64});
  EXPECT_EQ(info.divisibility, Numbers{4});
}

TEST(AxisInfo, AnAccessInTheSameBlockPromisesForItsAddress) {
  auto kernel = [](const std::string &load, const std::string &inside = "") {
    return Kernel("%p: !tt.ptr<f32>, %on: i1",
                  range64 +
                      "%s = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"
                      "%a = tt.addptr %s, %r {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n" +
                      load +
                      "%x = tt.load %a {tt.address_divisibility = array<i64: 16>} : "
                      "tensor<64x!tt.ptr<f32>> -> tensor<64xf32>\n" +
                      inside)
        .info();
  };
  EXPECT_EQ(kernel("").divisibility, Numbers{16});
  EXPECT_EQ(kernel("scf.if %on {\n", "}\n").divisibility, Numbers{1});
}

TEST(AxisInfo, SplatIsConstantAndKeepsDivisibility) {
  AxisInfo info = Kernel(n16, "%s = tt.splat %n {here} : i32 -> tensor<8x4xi32>").info();
  EXPECT_EQ(info.constancy, (Numbers{8, 4}));
  EXPECT_EQ(info.divisibility, (Numbers{16, 16}));
  EXPECT_EQ(info.contiguity, (Numbers{1, 1}));
}

TEST(AxisInfo, ConstantIsKnown) {
  AxisInfo info = Kernel("", "%c = arith.constant {here} dense<24> : tensor<8xi32>").info();
  EXPECT_EQ(info.constant, 24);
  EXPECT_EQ(info.divisibility, Numbers{8});
}

TEST(AxisInfo, SumOfRangeAndConstantIsContiguous) {
  AxisInfo info = binary("arith.addi", rangeX, splat("y", "n"), n16);
  EXPECT_EQ(info.contiguity, Numbers{64});
  EXPECT_EQ(info.divisibility, Numbers{16});
}

TEST(AxisInfo, OnlyTheLeftOfADifferenceIsContiguous) {
  EXPECT_EQ(binary("arith.subi", rangeX, splat("y", "n"), n16).contiguity, Numbers{64});
  EXPECT_EQ(
      binary("arith.subi", splat("x", "n"), "%y = arith.addi %r, %x : tensor<64xi32>\n", n16).contiguity,
      Numbers{1});
}

TEST(AxisInfo, DifferenceOfRangesIsConstant) {
  EXPECT_EQ(binary("arith.subi", rangeX, "%y = arith.addi %x, %zero : tensor<64xi32>\n").constancy,
            Numbers{64});
}

TEST(AxisInfo, ProductMultipliesDivisibility) {
  AxisInfo info = binary("arith.muli", splat("x", "n"), number("y", 12), n16);
  EXPECT_EQ(info.divisibility, Numbers{64});
  EXPECT_EQ(info.constancy, Numbers{64});
  EXPECT_EQ(binary("arith.muli", rangeX, number("y", 4)).divisibility, Numbers{4});
  EXPECT_EQ(binary("arith.muli", rangeX, number("y", 1)).contiguity, Numbers{64});
}

TEST(AxisInfo, QuotientOfARangeIsConstantInRuns) {
  EXPECT_EQ(binary("arith.divsi", rangeX, number("y", 8)).constancy, Numbers{8});
  EXPECT_EQ(binary("arith.shrui", rangeX, number("y", 4)).constancy, Numbers{16});
}

TEST(AxisInfo, QuotientOfWhatMayBeNegativeIsNot) {
  std::string x = splat("s", "n") + "%x = arith.addi %r, %s : tensor<64xi32>\n";
  EXPECT_EQ(binary("arith.divsi", x, number("y", 8), n16).constancy, Numbers{1});
  EXPECT_EQ(binary("arith.divsi", x, number("y", 8), n16, Trust::Indices).constancy, Numbers{8});
  EXPECT_EQ(binary("arith.divui", x, number("y", 8), n16).constancy, Numbers{8});
  EXPECT_EQ(binary("arith.shrsi", x, number("y", 3), n16).constancy, Numbers{8});
}

TEST(AxisInfo, RemainderOfARangeIsContiguousInRuns) {
  AxisInfo info = binary("arith.remsi", rangeX, number("y", 24));
  EXPECT_EQ(info.contiguity, Numbers{8});
  EXPECT_EQ(info.divisibility, Numbers{8});
  EXPECT_EQ(binary("arith.andi", rangeX, number("y", 15)).contiguity, Numbers{16});
}

TEST(AxisInfo, RemainderByWhatMayBeZeroIsNot) {
  EXPECT_EQ(binary("arith.remsi", rangeX, splat("y", "n"), n16).contiguity, Numbers{1});
  EXPECT_EQ(binary("arith.remsi", rangeX, splat("y", "n"), n16, Trust::Indices).contiguity, Numbers{16});
}

TEST(AxisInfo, MaskedBitsAreConstantInRuns) {
  EXPECT_EQ(binary("arith.andi", rangeX, number("y", -8)).constancy, Numbers{8});
  EXPECT_EQ(binary("arith.ori", rangeX, number("y", 64)).contiguity, Numbers{64});
  EXPECT_EQ(binary("arith.xori", rangeX, number("y", 32)).contiguity, Numbers{32});
}

TEST(AxisInfo, ComparisonIsConstantInRuns) {
  auto mask = [](const std::string &predicate, const std::string &arguments) {
    return Kernel(arguments, range64 + splat("y", "n") + "%m = arith.cmpi " + predicate +
                                 ", %r, %y {here} : tensor<64xi32>")
        .info()
        .constancy;
  };
  EXPECT_EQ(mask("slt", n16), Numbers{16});
  EXPECT_EQ(mask("uge", n16), Numbers{16});
  EXPECT_EQ(mask("sle", n16), Numbers{1});
  EXPECT_EQ(mask("eq", n16), Numbers{1});
  EXPECT_EQ(mask("slt", "%n: i32"), Numbers{1});
}

TEST(AxisInfo, ComparisonWithOneLessThanAMultipleIsConstantInRuns) {
  auto mask = [](const std::string &compare, const std::string &less = "arith.addi %n, %minus") {
    return Kernel(n16, range64 + "%minus = arith.constant -1 : i32\n%two = arith.constant 2 : i32\n%e = " +
                           less + " : i32\n" + splat("y", "e") + "%m = arith.cmpi " + compare +
                           " {here} : tensor<64xi32>")
        .info()
        .constancy;
  };
  EXPECT_EQ(mask("sle, %r, %y"), Numbers{16});
  EXPECT_EQ(mask("ugt, %r, %y"), Numbers{16});
  EXPECT_EQ(mask("sge, %y, %r"), Numbers{16});
  EXPECT_EQ(mask("slt, %y, %r"), Numbers{16});
  EXPECT_EQ(mask("slt, %r, %y"), Numbers{1}) << "the last of a run is out";
  EXPECT_EQ(mask("sge, %r, %y"), Numbers{1});
  EXPECT_EQ(mask("sle, %y, %r"), Numbers{1});
  EXPECT_EQ(mask("sle, %r, %y", "arith.subi %n, %two"), Numbers{1});
  EXPECT_EQ(mask("sle, %r, %y", "arith.addi %n, %two"), Numbers{1});
}

TEST(AxisInfo, ChoiceKeepsWhatBothHave) {
  std::string body = range64 + splat("y", "n") + "%m = arith.cmpi slt, %r, %y : tensor<64xi32>\n" +
                     number("k", 32) + "%w = arith.addi %r, %k : tensor<64xi32>\n";
  AxisInfo info =
      Kernel(n16, body + "%s = arith.select %m, %r, %w {here} : tensor<64xi1>, tensor<64xi32>").info();
  EXPECT_EQ(info.contiguity, Numbers{16});
  EXPECT_EQ(Kernel(n16, body + "%s = arith.minsi %r, %w {here} : tensor<64xi32>").info().contiguity,
            Numbers{32});
}

TEST(AxisInfo, ExtensionKeepsRunsThatCannotWrap) {
  auto extended = [](const std::string &x, const std::string &arguments, Trust trust = Trust::Nothing) {
    return Kernel(arguments, range64 + x + "%e = arith.extsi %x {here} : tensor<64xi32> to tensor<64xi64>",
                  trust)
        .info()
        .contiguity;
  };
  EXPECT_EQ(extended(rangeX, ""), Numbers{64});
  std::string sum = splat("s", "n") + "%x = arith.addi %r, %s : tensor<64xi32>\n";
  EXPECT_EQ(extended(sum, n16), Numbers{16});
  EXPECT_EQ(extended(sum, "%n: i32"), Numbers{1});
  EXPECT_EQ(extended(sum, "%n: i32", Trust::Indices), Numbers{64});
}

TEST(AxisInfo, ShapesMoveDimensions) {
  std::string row = range64 + "%e = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>\n"
                              "%b = tt.broadcast %e : tensor<1x64xi32> -> tensor<32x64xi32>\n";
  AxisInfo wide =
      Kernel("",
             row +
                 "%t = tt.trans %b {here, order = array<i32: 1, 0>} : tensor<32x64xi32> -> tensor<64x32xi32>")
          .info();
  EXPECT_EQ(wide.contiguity, (Numbers{64, 1}));
  EXPECT_EQ(wide.constancy, (Numbers{1, 32}));
}

TEST(AxisInfo, ReshapeCutsRuns) {
  AxisInfo cut =
      Kernel("", range64 + "%s = tt.reshape %r {here} : tensor<64xi32> -> tensor<2x4x8xi32>").info();
  EXPECT_EQ(cut.contiguity, (Numbers{1, 1, 8}));
  EXPECT_EQ(cut.divisibility, (Numbers{1, 1, 8}));
  std::string runs = range64 + number("k", 16) + "%q = arith.divui %r, %k : tensor<64xi32>\n";
  AxisInfo equal =
      Kernel("", runs + "%s = tt.reshape %q {here} : tensor<64xi32> -> tensor<4x2x8xi32>").info();
  EXPECT_EQ(equal.constancy, (Numbers{1, 2, 8}));
}

TEST(AxisInfo, PointersCountDivisibilityInBytes) {
  std::string body = range64 + "%s = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"
                               "%q = tt.addptr %s, %r {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>";
  AxisInfo info = Kernel("%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}", body).info();
  EXPECT_EQ(info.contiguity, Numbers{64});
  EXPECT_EQ(info.divisibility, Numbers{16});
}

TEST(AxisInfo, LoopWeakensWhatIsCarried) {
  std::string body =
      "%c0 = arith.constant 0 : i32\n%c8 = arith.constant 8 : i32\n" + splat("i", "n") + number("e", 8) +
      "%l = scf.for %k = %c0 to %n step %c8 iter_args(%v = %i) -> (tensor<64xi32>) : i32 {\n"
      "  %s = tt.splat %k {here} : i32 -> tensor<64xi32>\n"
      "  %w = arith.addi %v, %e {there} : tensor<64xi32>\n  scf.yield %w : tensor<64xi32>\n}\n";
  Kernel kernel(n16, body);
  EXPECT_EQ(kernel.info().divisibility, Numbers{8}); // the index
  kernel.module->walk([&](mlir::Operation *op) {
    if (op->hasAttr("there"))
      EXPECT_EQ(kernel.analysis->at(op->getOperand(0)).divisibility, Numbers{8});
  });
}

TEST(AxisInfo, BranchesMeet) {
  std::string body =
      "%c = arith.cmpi slt, %n, %n : i32\n%x = arith.constant 24 : i32\n"
      "%v = scf.if %c -> (i32) {\n scf.yield %n : i32\n} else {\n scf.yield %x : i32\n} {here}";
  EXPECT_EQ(Kernel(n16, body).info().divisibility, Numbers{8});
}

TEST(AxisInfo, WhileLoopsReachAFixpoint) {
  std::string body =
      "%z = arith.constant 64 : i32\n%two = arith.constant 4 : i32\n"
      "%v = scf.while (%a = %z) : (i32) -> i32 {\n %c = arith.cmpi slt, %a, %n : i32\n scf.condition(%c) %a "
      ": i32\n"
      "} do {\n^bb0(%b: i32):\n %w = arith.addi %b, %two : i32\n scf.yield %w : i32\n} attributes {here}";
  EXPECT_EQ(Kernel(n16, body).info().divisibility, Numbers{4});
}

TEST(AxisInfo, HintsArePromises) {
  std::string body = range64 + splat("s", "n") +
                     "%x = arith.muli %r, %s {here, tt.divisibility = array<i32: 16>, tt.contiguity = "
                     "array<i32: 8>} : tensor<64xi32>";
  AxisInfo info = Kernel("%n: i32", body).info();
  EXPECT_EQ(info.contiguity, Numbers{8});
  EXPECT_EQ(info.divisibility, Numbers{16});
}

// ---- whole kernels ----

std::string rowKernel(const std::string &element) {
  return "%pid = tt.get_program_id 0\n%start = arith.muli %pid, %n : i32\n"
         "%base = tt.addptr %p, %start : !tt.ptr<" +
         element +
         ">, i32\n"
         "%r = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>\n"
         "%b = tt.splat %base : !tt.ptr<" +
         element + "> -> tensor<1024x!tt.ptr<" + element +
         ">>\n"
         "%q = tt.addptr %b, %r {here} : tensor<1024x!tt.ptr<" +
         element +
         ">>, tensor<1024xi32>\n"
         "%s = tt.splat %n : i32 -> tensor<1024xi32>\n%m = arith.cmpi slt, %r, %s {mask} : "
         "tensor<1024xi32>\n";
}

unsigned rowWidth(const std::string &element, const std::string &arguments, std::string *why = nullptr) {
  Kernel kernel(arguments, rowKernel(element));
  mlir::Value mask;
  kernel.module->walk([&](mlir::arith::CmpIOp op) { mask = op; });
  return kernel.analysis->accessWidth(kernel.marked(), mask, 0, 128, why);
}

const std::string aligned = "%p: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.name = \"x\"}, ";

TEST(AccessWidth, SoftmaxRowOfAMultipleIsWide) {
  EXPECT_EQ(rowWidth("f32", aligned + n16), 4u);
  EXPECT_EQ(rowWidth("f16", "%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, " + n16), 8u);
}

TEST(AccessWidth, SaysThatTheRowMayBeMisaligned) {
  std::string why;
  EXPECT_EQ(rowWidth("f32", aligned + "%n: i32 {tt.name = \"n\"}", &why), 1u);
  EXPECT_EQ(why, "x + (program_id(0) * n) + arange(0, 1024) is known to be aligned to 4 bytes only, not 16");
}

TEST(AccessWidth, SaysThatTheMaskMayEndInside) {
  std::string body = range64 + splat("s", "n") +
                     "%m = arith.cmpi slt, %r, %s : tensor<64xi32>\n"
                     "%b = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"
                     "%q = tt.addptr %b, %r {here} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n";
  Kernel kernel(aligned + "%n: i32 {tt.name = \"n\", tt.divisibility = 2 : i32}", body);
  mlir::Value mask;
  kernel.module->walk([&](mlir::arith::CmpIOp op) { mask = op; });
  std::string why;
  EXPECT_EQ(kernel.analysis->accessWidth(kernel.marked(), mask, 0, 128, &why), 2u);
  EXPECT_EQ(why,
            "n is not known to be a multiple of 4: the mask `arange(0, 64) < n` may end inside a vector");
}

TEST(AccessWidth, ExtentLimits) {
  std::string body = "%r = tt.make_range {start = 0 : i32, end = 6 : i32} : tensor<6xi32>\n"
                     "%b = tt.splat %p : !tt.ptr<f32> -> tensor<6x!tt.ptr<f32>>\n"
                     "%q = tt.addptr %b, %r {here} : tensor<6x!tt.ptr<f32>>, tensor<6xi32>\n";
  std::string why;
  Kernel kernel(aligned + n16, body);
  EXPECT_EQ(kernel.analysis->accessWidth(kernel.marked(), {}, 0, 128, &why), 2u);
  EXPECT_EQ(why, "the tile's extent 6 is not a multiple of 4");
}

// A block of a matrix as in a product: rows `pid·32 + i` wrapped at n, columns contiguous.
TEST(AccessWidth, MatmulOperandIsWideAlongItsRows) {
  std::string body =
      "%pid = tt.get_program_id 0\n%c = arith.constant 32 : i32\n%at = arith.muli %pid, %c : i32\n"
      "%r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>\n"
      "%as = tt.splat %at : i32 -> tensor<32xi32>\n%i = arith.addi %as, %r : tensor<32xi32>\n"
      "%ns = tt.splat %n : i32 -> tensor<32xi32>\n%j = arith.remsi %i, %ns : tensor<32xi32>\n"
      "%rows = tt.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>\n"
      "%cols = tt.expand_dims %j {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>\n"
      "%nr = tt.splat %n : i32 -> tensor<32x1xi32>\n%off = arith.muli %rows, %nr : tensor<32x1xi32>\n"
      "%ob = tt.broadcast %off : tensor<32x1xi32> -> tensor<32x32xi32>\n"
      "%cb = tt.broadcast %cols : tensor<1x32xi32> -> tensor<32x32xi32>\n"
      "%o = arith.addi %ob, %cb : tensor<32x32xi32>\n%b = tt.splat %p : !tt.ptr<f32> -> "
      "tensor<32x32x!tt.ptr<f32>>\n"
      "%q = tt.addptr %b, %o {here} : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>\n";
  Kernel kernel(aligned + n16, body, Trust::Indices);
  EXPECT_EQ(kernel.analysis->accessWidth(kernel.marked(), {}, 1, 128), 4u);
  EXPECT_EQ(kernel.analysis->accessWidth(kernel.marked(), {}, 0, 128), 1u);
  EXPECT_EQ(kernel.analysis->order(kernel.marked()), (llvm::SmallVector<unsigned>{1, 0}));
  EXPECT_EQ(Kernel(aligned + n16, body).analysis->order(kernel.marked()),
            (llvm::SmallVector<unsigned>{1, 0}));
}

// Pixels of an image behind `%` and `//` by numbers that are not known, channels a plane apart.
TEST(Order, FollowsTheUsualStrideWhereNothingIsAdjacentEverywhere) {
  std::string body =
      "%r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>\n"
      "%ns = tt.splat %n : i32 -> tensor<32xi32>\n%x = arith.remsi %r, %ns : tensor<32xi32>\n"
      "%y = arith.divsi %r, %ns : tensor<32xi32>\n%m = arith.muli %y, %ns : tensor<32xi32>\n"
      "%at = arith.addi %m, %x : tensor<32xi32>\n"
      "%pixels = tt.expand_dims %at {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>\n"
      "%c = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>\n"
      "%plane = tt.splat %STEP : i32 -> tensor<1x32xi32>\n%far = arith.muli %c, %plane : tensor<1x32xi32>\n"
      "%pb = tt.broadcast %pixels : tensor<32x1xi32> -> tensor<32x32xi32>\n"
      "%fb = tt.broadcast %far : tensor<1x32xi32> -> tensor<32x32xi32>\n"
      "%o = arith.addi %pb, %fb : tensor<32x32xi32>\n%b = tt.splat %p : !tt.ptr<f32> -> "
      "tensor<32x32x!tt.ptr<f32>>\n"
      "%q = tt.addptr %b, %o {here} : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>\n";
  auto orderWith = [&](const std::string &step) {
    std::string named = body;
    named.replace(named.find("STEP"), 4, step);
    Kernel kernel("%p: !tt.ptr<f32> {tt.name = \"p\"}, %n: i32 {tt.name = \"n\"}",
                  "%three = arith.constant 3 : i32\n" + named);
    return kernel.analysis->order(kernel.marked());
  };
  EXPECT_EQ(orderWith("n"), (llvm::SmallVector<unsigned>{0, 1}));
  EXPECT_EQ(orderWith("three"), (llvm::SmallVector<unsigned>{0, 1}));
}

// Every second pixel of rows of 16 that lie an unknown number apart: most neighbours are two elements apart,
// and the next row costs a line. The mean distance is unknown; with rows of 2^20 it is large.
TEST(Order, CountsWhereAQuotientStepsOnAsALineHoweverFarThatGoes) {
  auto orderWith = [&](const std::string &row) {
    Kernel kernel(
        "%p: !tt.ptr<f32> {tt.name = \"p\"}, %n: i32 {tt.name = \"n\"}",
        "%large = arith.constant 1048576 : i32\n%sixteen = arith.constant dense<16> : tensor<32xi32>\n"
        "%two = arith.constant dense<2> : tensor<32xi32>\n%eight = arith.constant dense<8> : "
        "tensor<1x32xi32>\n"
        "%r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>\n"
        "%x0 = arith.remsi %r, %sixteen : tensor<32xi32>\n%x = arith.muli %x0, %two : tensor<32xi32>\n"
        "%y = arith.divsi %r, %sixteen : tensor<32xi32>\n%rows = tt.splat %" +
            row +
            " : i32 -> tensor<32xi32>\n"
            "%m = arith.muli %y, %rows : tensor<32xi32>\n%at = arith.addi %m, %x : tensor<32xi32>\n"
            "%pixels = tt.expand_dims %at {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>\n"
            "%k = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>\n"
            "%far = arith.muli %k, %eight : tensor<1x32xi32>\n"
            "%pb = tt.broadcast %pixels : tensor<32x1xi32> -> tensor<32x32xi32>\n"
            "%fb = tt.broadcast %far : tensor<1x32xi32> -> tensor<32x32xi32>\n"
            "%o = arith.addi %pb, %fb : tensor<32x32xi32>\n%b = tt.splat %p : !tt.ptr<f32> -> "
            "tensor<32x32x!tt.ptr<f32>>\n"
            "%q = tt.addptr %b, %o {here} : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>\n");
    return kernel.analysis->order(kernel.marked());
  };
  EXPECT_EQ(orderWith("n"), (llvm::SmallVector<unsigned>{0, 1}));
  EXPECT_EQ(orderWith("large"), (llvm::SmallVector<unsigned>{0, 1}));
}

// Two jumps of unknown length that go against each other are no length at all: lanes lie where most
// neighbours share an address, at a line's distance at the most, not along elements that lie 1000 apart.
TEST(Order, KnowsDifferencesOfUnknownJumps) {
  auto orderWith = [&](unsigned apart) {
    Kernel kernel(
        "%p: !tt.ptr<f32> {tt.name = \"p\"}, %n: i32 {tt.name = \"n\"}, %m: i32 {tt.name = \"m\"}",
        "%eight = arith.constant dense<8> : tensor<32xi32>\n%far = arith.constant dense<" +
            std::to_string(apart) +
            "> : tensor<1x32xi32>\n"
            "%r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>\n"
            "%q = arith.divsi %r, %eight : tensor<32xi32>\n%ns = tt.splat %n : i32 -> tensor<32xi32>\n"
            "%ms = tt.splat %m : i32 -> tensor<32xi32>\n%a = arith.muli %q, %ns : tensor<32xi32>\n"
            "%c = arith.muli %q, %ms : tensor<32xi32>\n%at = arith.subi %a, %c : tensor<32xi32>\n"
            "%rows = tt.expand_dims %at {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>\n"
            "%k = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>\n"
            "%apart = arith.muli %k, %far : tensor<1x32xi32>\n"
            "%rb = tt.broadcast %rows : tensor<32x1xi32> -> tensor<32x32xi32>\n"
            "%fb = tt.broadcast %apart : tensor<1x32xi32> -> tensor<32x32xi32>\n"
            "%o = arith.addi %rb, %fb : tensor<32x32xi32>\n%b = tt.splat %p : !tt.ptr<f32> -> "
            "tensor<32x32x!tt.ptr<f32>>\n"
            "%x = tt.addptr %b, %o {here} : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>\n");
    return kernel.analysis->order(kernel.marked());
  };
  EXPECT_EQ(orderWith(1000), (llvm::SmallVector<unsigned>{0, 1}));
  EXPECT_EQ(orderWith(2), (llvm::SmallVector<unsigned>{1, 0}));
}

// Gathered columns of rows that lie an unknown number apart: a row holds all of its columns.
TEST(Order, PutsIndicesFromMemoryAheadOfUnknownStrides) {
  Kernel kernel(
      "%p: !tt.ptr<f32> {tt.name = \"p\"}, %ids: !tt.ptr<i32> {tt.name = \"ids\"}, %n: i32 {tt.name = \"n\"}",
      "%r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>\n"
      "%is = tt.splat %ids : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>\n"
      "%ip = tt.addptr %is, %r : tensor<32x!tt.ptr<i32>>, tensor<32xi32>\n"
      "%at = tt.load %ip : tensor<32x!tt.ptr<i32>> -> tensor<32xi32>\n"
      "%columns = tt.expand_dims %at {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>\n"
      "%k = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>\n"
      "%step = tt.splat %n : i32 -> tensor<1x32xi32>\n%far = arith.muli %k, %step : tensor<1x32xi32>\n"
      "%cb = tt.broadcast %columns : tensor<32x1xi32> -> tensor<32x32xi32>\n"
      "%fb = tt.broadcast %far : tensor<1x32xi32> -> tensor<32x32xi32>\n"
      "%o = arith.addi %cb, %fb : tensor<32x32xi32>\n%b = tt.splat %p : !tt.ptr<f32> -> "
      "tensor<32x32x!tt.ptr<f32>>\n"
      "%q = tt.addptr %b, %o {here} : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>\n");
  EXPECT_EQ(kernel.analysis->order(kernel.marked()), (llvm::SmallVector<unsigned>{0, 1}));
}

} // namespace
