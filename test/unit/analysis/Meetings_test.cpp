// Elements of two tiles of addresses that share one, in one trip of the loops around them and in any two.
#include "Parsed.h"
#include "analysis/Meetings.h"

namespace tegula::test {

using analysis::AccessAnalysis;
using analysis::Meeting;
using analysis::Meetings;

namespace {

const char *nameOf(Meeting meeting) {
  return meeting == Meeting::Never ? "never" : meeting == Meeting::Alike ? "alike" : "anywhere";
}

// The answers for the tiles of the ops that carry `a` and `b`: of one trip, and of any two.
std::pair<std::string, std::string> meet(const std::string &arguments, const std::string &body) {
  Parsed kernel(arguments, body);
  mlir::Value a, b;
  kernel.module->walk([&](mlir::Operation *op) {
    if (op->hasAttr("a"))
      a = op->getResult(0);
    if (op->hasAttr("b"))
      b = op->getResult(0);
  });
  AccessAnalysis access;
  Meetings meetings(access);
  return {nameOf(meetings.inTrip(a, b ? b : a)), nameOf(meetings.inAnyTrips(a, b ? b : a))};
}

using Answers = std::pair<std::string, std::string>;

// 64 elements of f16 at %p from the number `first` on, and from `second` on; of i32 every other element.
std::string blocks(const std::string &scalars, const std::string &first, const std::string &second,
                   const std::string &type = "i32") {
  std::string tile = "tensor<64x" + type + ">", pointers = "tensor<64x!tt.ptr<f16>>";
  auto block = [&](const std::string &name, const std::string &at) {
    return "%s" + name + " = tt.splat " + at + " : " + type + " -> " + tile + "\n%o" + name +
           " = arith.addi %s" + name + ", %i : " + tile + "\n%" + name + " = tt.addptr %ps, %o" + name +
           " {" + name + "} : " + pointers + ", " + tile + "\n";
  };
  return R"(
    %i0 = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %i = )" +
         (type == "i32"   ? "arith.addi %i0, %i0 : tensor<64xi32>\n"
          : type == "i64" ? "arith.extsi %i0 : tensor<64xi32> to tensor<64xi64>\n"
                          : "arith.trunci %i0 : tensor<64xi32> to " + tile + "\n") +
         scalars + block("a", first) + block("b", second);
}

} // namespace

TEST(Meetings, OfBlocksAConstantApart) {
  std::string base = "%x = arith.muli %n, %m : i32\n";
  auto apartBy = [&](const std::string &by) {
    return meet(
        "%p: !tt.ptr<f16>, %n: i32, %m: i32",
        blocks(base + "%k = arith.constant " + by + " : i32\n%y = arith.addi %x, %k : i32\n", "%x", "%y"));
  };
  EXPECT_EQ(apartBy("128"), Answers("never", "never"));
  EXPECT_EQ(apartBy("-128"), Answers("never", "never"));
  EXPECT_EQ(apartBy("126"), Answers("anywhere", "anywhere")) << "the last of one is the first of the other";
  EXPECT_EQ(apartBy("127"), Answers("never", "never")) << "the other ones of each pair";
  EXPECT_EQ(apartBy("0"), Answers("alike", "alike"));
}

TEST(Meetings, OfNumbersThatNobodyKnows) {
  EXPECT_EQ(meet("%p: !tt.ptr<f16>, %n: i32, %m: i32", blocks("", "%n", "%m")),
            Answers("anywhere", "anywhere"));
  std::string multiples = "%x = arith.muli %n, %k : i32\n%y = arith.muli %m, %k : i32\n";
  auto by = [&](const std::string &k) {
    return meet("%p: !tt.ptr<f16>, %n: i32, %m: i32",
                blocks("%k = arith.constant " + k + " : i32\n" + multiples, "%x", "%y"));
  };
  EXPECT_EQ(by("128"), Answers("alike", "alike")) << "whatever wraps";
  EXPECT_EQ(by("64"), Answers("anywhere", "anywhere"));
  EXPECT_EQ(by("200"), Answers("anywhere", "anywhere")) << "2^32 is no multiple of 200";
}

TEST(Meetings, OfNumbersOfFewBits) {
  std::string next = "%k = arith.constant 128 : i16\n%y = arith.addi %n, %k : i16\n";
  EXPECT_EQ(meet("%p: !tt.ptr<f16>, %n: i16", blocks(next, "%n", "%y", "i16")),
            Answers("anywhere", "anywhere"));
}

// Blocks of 64 that a loop of `step` walks over: by its number, or by a tile that it carries.
std::string walk(const std::string &step, const std::string &offsets) {
  return R"(
    %zero = arith.constant 0 : i32
    %step = arith.constant )" +
         step + R"( : i32
    %steps = arith.constant dense<)" +
         step + R"(> : tensor<64xi32>
    %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %v = arith.constant dense<1.0> : tensor<64xf16>
    %last = scf.for %k = %zero to %n step %step iter_args(%c = %i) -> tensor<64xi32> : i32 {
      %next = arith.addi %c, %steps : tensor<64xi32>
      %doubled = arith.addi %c, %c : tensor<64xi32>
      %ks = tt.splat %k : i32 -> tensor<64xi32>
      %at = arith.addi %ks, %i : tensor<64xi32>
      %a = tt.addptr %ps, %at {a} : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
      %b = tt.addptr %ps, )" +
         offsets + R"( {b} : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
      scf.yield )" +
         (offsets == "%doubled" ? "%doubled" : "%next") + R"( : tensor<64xi32>
    })";
}

TEST(Meetings, OfTrips) {
  std::string arguments = "%p: !tt.ptr<f16>, %n: i32";
  EXPECT_EQ(meet(arguments, walk("64", "%c")), Answers("alike", "alike"));
  EXPECT_EQ(meet(arguments, walk("64", "%next")), Answers("never", "alike")) << "the next trip is there";
  EXPECT_EQ(meet(arguments, walk("32", "%c")), Answers("alike", "anywhere"));
  EXPECT_EQ(meet(arguments, walk("96", "%c")), Answers("alike", "anywhere")) << "after many trips";
  EXPECT_EQ(meet(arguments, walk("64", "%doubled")), Answers("anywhere", "anywhere"));
}

// Rows `first` and `second` of `length` elements, of which a mask keeps those below `limit`.
Answers meetRows(const std::string &rows, const std::string &limit, const std::string &from = "0",
                 const std::string &open = "", const std::string &close = "") {
  auto row = [&](const std::string &name) {
    return "%f" + name + " = arith.muli %r" + name + ", %n : i32\n%s" + name + " = tt.splat %f" + name +
           " : i32 -> tensor<64xi32>\n%o" + name + " = arith.addi %s" + name + ", %i : tensor<64xi32>\n%" +
           name + " = tt.addptr %ps, %o" + name + " {" + name +
           "} : tensor<64x!tt.ptr<f16>>, tensor<64xi32>\ntt.store %" + name + ", %v mask %below" +
           " : tensor<64x!tt.ptr<f16>>, tensor<64xf16>, mask tensor<64xi1>\n";
  };
  return meet("%p: !tt.ptr<f16>, %n: i32, %m: i32", R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %i = tt.make_range {start = )" + from + " : i32, end = " +
                                                        std::to_string(std::stoi(from) + 64) +
                                                        R"( : i32} : tensor<64xi32>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %v = arith.constant dense<1.0> : tensor<64xf16>
    %less = arith.subi %n, %one : i32
    %more = arith.addi %n, %one : i32
    )" + open + "\n%limits = tt.splat " + limit +
                                                        R"( : i32 -> tensor<64xi32>
    %below = arith.cmpi slt, %i, %limits : tensor<64xi32>
    )" + rows + row("a") + row("b") + close);
}

TEST(Meetings, OfRowsUnderMasks) {
  std::string neighbours = "%ra = arith.addi %m, %one : i32\n%rb = arith.addi %m, %two : i32\n";
  std::string loop = "scf.for %k = %zero to %m step %one : i32 {\n";
  EXPECT_EQ(meetRows(neighbours, "%n"), Answers("never", "never"));
  EXPECT_EQ(meetRows(neighbours, "%m"), Answers("anywhere", "anywhere")) << "the mask leaves the row";
  EXPECT_EQ(meetRows(neighbours, "%more"), Answers("anywhere", "anywhere")) << "by one element";
  EXPECT_EQ(meetRows(neighbours, "%n", "-8"), Answers("anywhere", "anywhere"))
      << "it begins ahead of the row";
  EXPECT_EQ(
      meetRows("%ra = arith.addi %k, %m : i32\n%rb = arith.addi %k, %one : i32\n", "%n", "0", loop, "}"),
      Answers("alike", "alike"));
  EXPECT_EQ(
      meetRows("%ra = arith.addi %k, %one : i32\n%rb = arith.addi %k, %two : i32\n", "%n", "0", loop, "}"),
      Answers("never", "alike"));
  EXPECT_EQ(
      meetRows("%ra = arith.addi %k, %one : i32\n%rb = arith.addi %k, %two : i32\n", "%m", "0", loop, "}"),
      Answers("anywhere", "anywhere"));
}

} // namespace tegula::test
