// Neighbours are constant steps apart, and tiles a constant distance, unless a sum may wrap behind which an
// extension would break that.
#include "analysis/ConstantSteps.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tegula;

namespace constant_steps {
namespace {

// The values a and b of a kernel's body: ops of tiles of 64, of the range %r, the splats %n of a number that
// 16 divides and %k of any, and the splat %p of addresses of 16-bit words.
struct Kernel {
  explicit Kernel(const std::string &body) : context(mlir::MLIRContext::Threading::DISABLED) {
    tile::loadDialects(context);
    std::string text =
        "tt.func @k(%ns: i32 {tt.divisibility = 16 : i32}, %ks: i32, %ps: !tt.ptr<f16> {tt.divisibility "
        "= 16 : i32}) {\n"
        "%r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>\n"
        "%n = tt.splat %ns : i32 -> tensor<64xi32>\n%k = tt.splat %ks : i32 -> tensor<64xi32>\n"
        "%p = tt.splat %ps : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>\n" +
        body + "tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return;
    }
    module->walk([&](tile::FuncOp f) { function = f; });
    axes.emplace(function);
    module->walk([&](mlir::Operation *op) {
      for (auto [name, value] : {std::pair("a", &a), std::pair("b", &b)})
        if (op->hasAttr(name))
          *value = op->getResult(0);
    });
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tile::FuncOp function;
  std::optional<analysis::AxisInfoAnalysis> axes;
  mlir::Value a, b;
};

std::string number(const std::string &name, int64_t value) {
  return "%" + name + " = arith.constant dense<" + std::to_string(value) + "> : tensor<64xi32>\n";
}
std::string op(const std::string &name, const std::string &what, const std::string &mark = "") {
  return "%" + name + " = arith." + what + (mark.empty() ? "" : " {" + mark + "}") + " : tensor<64xi32>\n";
}
std::string address(const std::string &name, const std::string &offset, const std::string &mark = "",
                    const std::string &type = "i32") {
  return "%" + name + " = tt.addptr %p, %" + offset + (mark.empty() ? "" : " {" + mark + "}") +
         " : tensor<64x!tt.ptr<f16>>, tensor<64x" + type + ">\n";
}
std::string widened(const std::string &name, const std::string &of) {
  return "%" + name + " = arith.extsi %" + of + " : tensor<64xi32> to tensor<64xi64>\n";
}

struct Claim {
  int64_t step, group, divisibility;
  bool operator==(const Claim &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Claim &claim) {
  return out << claim.step << " in groups of " << claim.group << " by " << claim.divisibility;
}
Claim stepsOf(const std::string &body) {
  Kernel kernel(body);
  analysis::Steps steps = analysis::stepsAlong(kernel.a, 0, *kernel.axes);
  return {steps.step, steps.group, steps.divisibility};
}
std::optional<int64_t> distanceOf(const std::string &body) {
  Kernel kernel(body);
  return analysis::distanceBetween(kernel.a, kernel.b, *kernel.axes);
}
int orderInPairs(const std::string &body) {
  Kernel kernel(body);
  return analysis::orderInPairs(kernel.a, kernel.b, *kernel.axes);
}

const std::string twice = number("two", 2) + op("e", "muli %r, %two");

TEST(ConstantSteps, AreThoseThatARangeIsMultipliedBy) {
  EXPECT_EQ(stepsOf(number("two", 2) + op("e", "muli %r, %two", "a")).step, 2);
  EXPECT_EQ(stepsOf(number("two", 2) + op("e", "muli %two, %r", "a")).group, 64);
  EXPECT_EQ(stepsOf(number("three", 3) + op("e", "shli %r, %three", "a")).step, 8);
  EXPECT_EQ(stepsOf(op("e", "muli %r, %k", "a")), (Claim{0, 1, 1}));
}

TEST(ConstantSteps, OfAddressesAreBytes) {
  EXPECT_EQ(stepsOf(twice + op("m", "addi %e, %n") + address("q", "m", "a")), (Claim{4, 8, 16}));
}

TEST(ConstantSteps, AddUp) {
  EXPECT_EQ(stepsOf(twice + op("m", "addi %e, %r", "a")).step, 3);
  EXPECT_EQ(stepsOf(twice + op("m", "addi %e, %k", "a")), (Claim{2, 64, 1}));
}

TEST(ConstantSteps, StopWhereASumMayWrapBehindAnExtension) {
  // Of %k = 2^31 - 1 the second element of a group would be 2^31 less, not 2 more.
  EXPECT_EQ(stepsOf(twice + op("m", "addi %e, %k") + address("q", "m", "a")).group, 1);
  EXPECT_EQ(stepsOf(twice + op("m", "addi %e, %k") + widened("w", "m") +
                    "%q = arith.addi %w, %w {a} : tensor<64xi64>\n")
                .group,
            1);
}

TEST(ConstantDistances, AreThoseOfTheConstantsThatAreAdded) {
  const std::string one = number("one", 1);
  EXPECT_EQ(distanceOf(twice + one + op("x", "addi %e, %n", "a") + op("y", "addi %x, %one", "b")), 1);
  EXPECT_EQ(distanceOf(twice + one + op("x", "addi %e, %one", "a") + op("y", "addi %e, %n", "b")),
            std::nullopt);
  EXPECT_EQ(distanceOf(twice + one + op("x", "addi %e, %one", "b") + op("y", "addi %r, %r", "a")),
            std::nullopt);
  EXPECT_EQ(distanceOf(one + op("x", "addi %r, %one") + number("two", 2) + op("y", "muli %x, %two", "b") +
                       op("z", "muli %r, %two", "a")),
            2);
}

TEST(ConstantDistances, StopWhereASumMayWrapBehindAnExtension) {
  const std::string one = number("one", 1);
  // Of %k = 2^31 - 1 the sum is -2^31.
  EXPECT_EQ(distanceOf(one + op("y", "addi %k, %one") + address("q", "k", "a") + address("s", "y", "b")),
            std::nullopt);
  EXPECT_EQ(distanceOf(one + op("y", "addi %n, %one") + address("q", "n", "a") + address("s", "y", "b")), 1);
  EXPECT_EQ(distanceOf(one + op("y", "addi %n, %one") + address("q", "n", "b") + address("s", "y", "a")), -1);
  EXPECT_EQ(distanceOf(number("less", -1) + op("y", "addi %n, %less") + address("q", "n", "a") +
                       address("s", "y", "b")),
            std::nullopt);
}

TEST(ConstantDistances, OfBytesStopWhereTheirSumWraps) {
  // 0 + 100 + 100 is -56 in eight bits.
  const std::string bytes =
      "%zero = arith.constant dense<0> : tensor<64xi8>\n%hundred = arith.constant dense<100> : "
      "tensor<64xi8>\n%byte = arith.trunci %k : tensor<64xi32> to tensor<64xi8>\n"
      "%x = arith.muli %byte, %zero : tensor<64xi8>\n%y = arith.addi %x, %hundred : tensor<64xi8>\n"
      "%z = arith.addi %y, %hundred : tensor<64xi8>\n";
  auto widened = [](const std::string &name, const std::string &of) {
    return "%" + name + " = arith.extsi %" + of + " {" + name + "} : tensor<64xi8> to tensor<64xi32>\n";
  };
  EXPECT_NE(distanceOf(bytes + widened("a", "x") + widened("b", "z")), 200);
}

TEST(Turns, AreTakenByElementsOfWhichEverySecondIsTheOthers) {
  const std::string both = twice + number("one", 1) + op("x", "addi %e, %n") + op("y", "addi %x, %one");
  EXPECT_EQ(orderInPairs(both + address("q", "x", "a") + address("s", "y", "b")), 1);
  EXPECT_EQ(orderInPairs(both + address("q", "x", "b") + address("s", "y", "a")), -1);
}

TEST(Turns, AreNotTakenFromAnOddPlaceOn) {
  const std::string odd = twice + number("one", 1) + op("x", "addi %e, %one") + op("y", "addi %e, %two");
  EXPECT_EQ(orderInPairs(odd + address("q", "x", "a") + address("s", "y", "b")), 0);
  EXPECT_EQ(orderInPairs(twice + number("one", 1) + op("x", "addi %e, %k") + op("y", "addi %x, %one") +
                         widened("v", "x") + widened("w", "y") + address("q", "v", "a", "i64") +
                         address("s", "w", "b", "i64")),
            0);
}

TEST(ConstantDistances, OfLargeExpressionsAreLeftOpen) {
  std::string body = number("one", 1) + op("x0", "addi %r, %k") + op("y0", "addi %k, %r");
  for (int i = 0; i != 40; ++i)
    for (std::string name : {"x", "y"})
      body += op(name + std::to_string(i + 1),
                 "addi %" + name + std::to_string(i) + ", %" + name + std::to_string(i));
  Kernel kernel(body + op("u", "addi %x40, %one", "a") + op("v", "addi %y40, %one", "b"));
  EXPECT_EQ(analysis::distanceBetween(kernel.a, kernel.b, *kernel.axes), std::nullopt);
  EXPECT_GE(analysis::stepsAlong(kernel.a, 0, *kernel.axes).group, 1);
}

} // namespace
} // namespace constant_steps
