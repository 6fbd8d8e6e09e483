// Asks which arguments an address may be derived from: each way an address is made, and long programs.
#include "Parsed.h"
#include "analysis/PointerOrigins.h"

using namespace tegula;
using namespace tegula::test;
using analysis::OriginSet;
using analysis::PointerOrigins;

namespace {

const std::string arguments =
    "%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %r: !tt.ptr<f32>, %n: i32, %w: i64, %c: i1, "
    "%table: !tt.ptr<!tt.ptr<f32>>";

// The arguments behind the marked value as their letters, and `?` where there may be others.
std::string originsOf(const std::string &body) {
  Parsed kernel(arguments, body);
  if (!kernel.module)
    return "";
  PointerOrigins origins;
  const OriginSet &set = origins.of(kernel.marked());
  std::string text;
  for (unsigned i = 0; i != 3; ++i)
    if (set.contains(i))
      text += "pqr"[i];
  for (unsigned i = 3; i != 7; ++i)
    EXPECT_FALSE(set.contains(i)) << i;
  return text + (set.isUnknown ? "?" : "");
}

TEST(PointerOrigins, OfMovedAndDisplacedAddresses) {
  EXPECT_EQ(originsOf("%a = tt.addptr %q, %n {here} : !tt.ptr<f32>, i32"), "q");
  EXPECT_EQ(originsOf(R"(
    %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %s = tt.splat %r : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %a = tt.addptr %s, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %e = tt.expand_dims %a {axis = 1 : i32} : tensor<64x!tt.ptr<f32>> -> tensor<64x1x!tt.ptr<f32>>
    %b = tt.broadcast %e : tensor<64x1x!tt.ptr<f32>> -> tensor<64x8x!tt.ptr<f32>>
    %t = tt.trans %b {order = array<i32: 1, 0>} : tensor<64x8x!tt.ptr<f32>> -> tensor<8x64x!tt.ptr<f32>>
    %v = tt.reshape %t : tensor<8x64x!tt.ptr<f32>> -> tensor<512x!tt.ptr<f32>>
    %g = tt.bitcast %v {here} : tensor<512x!tt.ptr<f32>> -> tensor<512x!tt.ptr<i32>>)"),
            "r");
}

TEST(PointerOrigins, OfSeveralInOneTile) {
  const std::string both = R"(
    %x = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %y = tt.splat %r : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>)";
  EXPECT_EQ(originsOf("%s = arith.select %c, %p, %q {here} : !tt.ptr<f32>"), "pq");
  EXPECT_EQ(
      originsOf(both + "%j = tt.join %x, %y {here} : tensor<4x!tt.ptr<f32>> -> tensor<4x2x!tt.ptr<f32>>"),
      "pr");
  EXPECT_EQ(originsOf(both + R"(
    %j = tt.cat %x, %y axis 0 : tensor<4x!tt.ptr<f32>>, tensor<4x!tt.ptr<f32>> -> tensor<8x!tt.ptr<f32>>
    %i = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
    %g = tt.gather %j[%i] axis 0 {here} : tensor<8x!tt.ptr<f32>>, tensor<8xi32> -> tensor<8x!tt.ptr<f32>>)"),
            "pr");
}

TEST(PointerOrigins, OfBranches) {
  EXPECT_EQ(originsOf(R"(
    %s = scf.if %c -> !tt.ptr<f32> {
      %a = tt.addptr %p, %n : !tt.ptr<f32>, i32
      scf.yield %a : !tt.ptr<f32>
    } else {
      scf.yield %r : !tt.ptr<f32>
    } {here})"),
            "pr");
}

const std::string bounds = "%c0 = arith.constant 0 : i32\n %c1 = arith.constant 1 : i32\n";

// A loop that carries three pointers, in which each takes the place of the next.
std::string rotation(const std::string &inside, const std::string &behind) {
  return bounds + R"(
    %x, %y, %z = scf.for %k = %c0 to %n step %c1 iter_args(%l = %p, %m = %q, %o = %r)
        -> (!tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>) : i32 {)" +
         inside + R"(
      scf.yield %m, %o, %l : !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>
    })" + behind;
}

TEST(PointerOrigins, OfWhatALoopCarries) {
  EXPECT_EQ(originsOf(rotation("%a = tt.addptr %m, %k {here} : !tt.ptr<f32>, i32", "")), "pqr")
      << "not the initial one only";
  EXPECT_EQ(originsOf(rotation("", "%a = tt.addptr %x, %n {here} : !tt.ptr<f32>, i32")), "pqr");
  EXPECT_EQ(originsOf(bounds + R"(
    %x, %y = scf.for %k = %c0 to %n step %c1 iter_args(%l = %p, %m = %q) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {
      %next = tt.addptr %m, %c1 {here} : !tt.ptr<f32>, i32
      scf.yield %l, %next : !tt.ptr<f32>, !tt.ptr<f32>
    })"),
            "q")
      << "each stays in its place";
}

TEST(PointerOrigins, OfNestedLoops) {
  EXPECT_EQ(originsOf(bounds + R"(
    %x, %y = scf.for %k = %c0 to %n step %c1 iter_args(%l = %p, %m = %q) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {
      %u, %v = scf.for %h = %c0 to %k step %c1 iter_args(%d = %l, %e = %r) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {
        scf.yield %e, %d : !tt.ptr<f32>, !tt.ptr<f32>
      }
      scf.yield %u, %l : !tt.ptr<f32>, !tt.ptr<f32>
    }
    %a = tt.addptr %y, %n {here} : !tt.ptr<f32>, i32)"),
            "pqr");
}

TEST(PointerOrigins, OfWhile) {
  const std::string loop = R"(
    %x, %y = scf.while (%k = %n, %l = %p, %m = %q) : (i32, !tt.ptr<f32>, !tt.ptr<f32>) -> (!tt.ptr<f32>, !tt.ptr<f32>) {
      %more = arith.cmpi slt, %k, %n : i32
      scf.condition(%more) %m, %l : !tt.ptr<f32>, !tt.ptr<f32>
    } do {
    ^bb0(%d: !tt.ptr<f32>, %e: !tt.ptr<f32>):
      %a = tt.addptr %d, %n MARK : !tt.ptr<f32>, i32
      scf.yield %n, %r, %d : i32, !tt.ptr<f32>, !tt.ptr<f32>
    }
)";
  auto replaced = [&](const std::string &mark) {
    std::string text = loop;
    return text.replace(text.find("MARK"), 4, mark);
  };
  // %m is q, then what the condition passed before.
  EXPECT_EQ(originsOf(replaced("{here}")), "q");
  EXPECT_EQ(originsOf(replaced("") + "%b = tt.addptr %y, %n {here} : !tt.ptr<f32>, i32"), "pr");
}

TEST(PointerOrigins, OfIntegers) {
  const std::string integers = R"(
    %x = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
    %y = tt.ptr_to_int %q : !tt.ptr<f32> -> i64
    %c16 = arith.constant 16 : i64
)";
  EXPECT_EQ(originsOf(integers +
                      "%z = arith.addi %x, %w : i64\n %a = tt.int_to_ptr %z {here} : i64 -> !tt.ptr<f32>"),
            "p")
      << "displaced by a number";
  EXPECT_EQ(originsOf(integers +
                      "%z = arith.andi %c16, %x : i64\n %a = tt.int_to_ptr %z {here} : i64 -> !tt.ptr<f32>"),
            "p");
  EXPECT_EQ(originsOf(integers +
                      "%z = arith.xori %x, %y : i64\n %a = tt.int_to_ptr %z {here} : i64 -> !tt.ptr<f32>"),
            "pq");
  EXPECT_EQ(originsOf("%a = tt.int_to_ptr %w {here} : i64 -> !tt.ptr<f32>"), "?");
  EXPECT_EQ(originsOf("%z = arith.constant 4096 : i64\n %a = tt.int_to_ptr %z {here} : i64 -> !tt.ptr<f32>"),
            "?");
  EXPECT_EQ(
      originsOf(integers +
                "%z = arith.select %c, %x, %w : i64\n %a = tt.int_to_ptr %z {here} : i64 -> !tt.ptr<f32>"),
      "p?");
  EXPECT_EQ(originsOf(integers + bounds + R"(
    %u, %v = scf.for %k = %c0 to %n step %c1 iter_args(%l = %x, %m = %y) -> (i64, i64) : i32 {
      %a = tt.int_to_ptr %l {here} : i64 -> !tt.ptr<f32>
      %next = arith.addi %m, %c16 : i64
      scf.yield %next, %l : i64, i64
    })"),
            "pq");
}

TEST(PointerOrigins, OfMemoryAreUnknown) {
  EXPECT_EQ(originsOf("%a = tt.load %table {here} : !tt.ptr<!tt.ptr<f32>> -> !tt.ptr<f32>"), "?");
  EXPECT_EQ(originsOf(R"(
    %a = tt.load %table : !tt.ptr<!tt.ptr<f32>> -> !tt.ptr<f32>
    %b = arith.select %c, %a, %r : !tt.ptr<f32>
    %d = tt.addptr %b, %n {here} : !tt.ptr<f32>, i32)"),
            "r?");
}

TEST(PointerOrigins, DoNotComeFromOffsets) {
  EXPECT_EQ(originsOf(R"(
    %x = tt.ptr_to_int %q : !tt.ptr<f32> -> i64
    %a = tt.addptr %p, %x {here} : !tt.ptr<f32>, i64)"),
            "p");
}

TEST(PointerOrigins, MayShare) {
  auto set = [](std::initializer_list<unsigned> arguments, bool isUnknown = false) {
    OriginSet set;
    for (unsigned argument : arguments) {
      set.arguments.resize(std::max(argument + 1, unsigned(set.arguments.size())));
      set.arguments.set(argument);
    }
    set.isUnknown = isUnknown;
    return set;
  };
  EXPECT_FALSE(set({0}).mayShare(set({70})));
  EXPECT_TRUE(set({0, 70}).mayShare(set({70})));
  EXPECT_TRUE(set({0}).mayShare(set({1}, true)));
  EXPECT_TRUE(set({}, true).mayShare(set({})));
}

// A loop that rotates 300 pointers around a chain of 20,000 displacements each trip: neither the stack nor
// the time ends.
TEST(PointerOrigins, OfLongPrograms) {
  std::string body = bounds + "%f0 = tt.addptr %p, %n : !tt.ptr<f32>, i32\n";
  for (int i = 1; i != 20000; ++i)
    body +=
        "%f" + std::to_string(i) + " = tt.addptr %f" + std::to_string(i - 1) + ", %n : !tt.ptr<f32>, i32\n";
  std::string carried = "%l0 = %f19999", types = "!tt.ptr<f32>", yielded;
  for (int i = 1; i != 300; ++i) {
    carried += ", %l" + std::to_string(i) + " = " + (i == 150 ? "%q" : "%p");
    types += ", !tt.ptr<f32>";
    yielded += "%l" + std::to_string(i) + ", ";
  }
  body += "%o:300 = scf.for %k = %c0 to %n step %c1 iter_args(" + carried + ") -> (" + types +
          ") : i32 {\n scf.yield " + yielded + "%l0 : " + types +
          "\n}\n%a = tt.addptr %o#0, %n {here} : !tt.ptr<f32>, i32";
  EXPECT_EQ(originsOf(body), "pq");
}

} // namespace
