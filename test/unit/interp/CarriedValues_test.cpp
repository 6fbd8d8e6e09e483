// Simplifying what loops and branches hand on keeps what a program computes: random nests of `for`, `while`
// and `if` whose values come from outside, from arguments in any place, and from the body.
#include "Program.h"

#include "ir/tile/Canonicalizer.h"
#include "ir/tile/CarriedValues.h"

#include "mlir/IR/Verifier.h"

#include <random>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr int mostResults = 64;

class RandomLoops {
public:
  explicit RandomLoops(unsigned seed) : random_(seed) {}

  // A kernel of a pointer to results and two numbers.
  std::string text() {
    text_ = "tt.func @k(%p: !tt.ptr<i32>, %x: i32, %y: i32) {\n";
    std::vector<std::string> values{"%x", "%y"};
    for (int number : {0, 1, 2, 3})
      values.push_back(define("arith.constant " + std::to_string(number) + " : i32"));
    zero_ = values[2], one_ = values[3];
    for (int i = 0; i < 2; ++i)
      structure(values, 3);
    for (int i = 0; i < mostResults && size_t(i) < values.size(); ++i) {
      std::string offset = define("arith.constant " + std::to_string(i) + " : i32");
      std::string at = define("tt.addptr %p, " + offset + " : !tt.ptr<i32>, i32");
      text_ += "tt.store " + at + ", " + values[values.size() - 1 - i] + " : !tt.ptr<i32>, i32\n";
    }
    return text_ + "tt.return\n}\n";
  }

private:
  using Values = std::vector<std::string>;

  std::string fresh() { return "%v" + std::to_string(count_++); }
  std::string define(const std::string &value) {
    std::string result = fresh();
    text_ += result + " = " + value + "\n";
    return result;
  }
  // Late ones more often: arguments and what is made of them.
  std::string pick(const Values &from) {
    size_t back = std::min(random_() % from.size(), random_() % from.size());
    return from[from.size() - 1 - back];
  }
  Values pickAll(const Values &from, size_t count) {
    Values result;
    for (size_t i = 0; i < count; ++i)
      result.push_back(i && random_() % 3 == 0 ? result[random_() % i] : pick(from));
    return result;
  }
  static std::string list(const Values &values) {
    std::string result;
    for (const std::string &value : values)
      result += (result.empty() ? "" : ", ") + value;
    return result;
  }
  static std::string types(size_t count) { return list(Values(count, "i32")); }

  // Adds what it makes to `values`.
  void structure(Values &values, int depth) {
    sums(values);
    if (depth == 0)
      return;
    size_t count = 1 + random_() % 4;
    std::string name = fresh();
    switch (random_() % 3) {
    case 0: makeFor(name, count, values, depth); break;
    case 1: makeWhile(name, count, values, depth); break;
    default: makeIf(name, count, values, depth);
    }
    for (size_t i = 0; i < count; ++i)
      values.push_back(name + "#" + std::to_string(i));
    sums(values);
  }

  void sums(Values &values) {
    for (size_t i = random_() % 3; i--;)
      values.push_back(define("arith.addi " + pick(values) + ", " + pick(values) + " : i32"));
  }

  std::string condition(const Values &values) {
    return define("arith.cmpi slt, " + pick(values) + ", " + pick(values) + " : i32");
  }

  void makeFor(const std::string &name, size_t count, Values inside, int depth) {
    Values inits = pickAll(inside, count), pairs;
    for (const std::string &init : inits) {
      inside.push_back(fresh());
      pairs.push_back(inside.back() + " = " + init);
    }
    std::string variable = fresh(),
                trips = define("arith.constant " + std::to_string(random_() % 4) + " : i32");
    text_ += name + ":" + std::to_string(count) + " = scf.for " + variable + " = " + zero_ + " to " + trips +
             " step " + one_ + " iter_args(" + list(pairs) + ") -> (" + types(count) + ") : i32 {\n";
    inside.push_back(variable);
    structure(inside, depth - 1);
    text_ += "scf.yield " + list(pickAll(inside, count)) + " : " + types(count) + "\n}\n";
  }

  // The first argument of each region counts trips.
  void makeWhile(const std::string &name, size_t count, Values outside, int depth) {
    size_t before = 1 + random_() % 4;
    Values inits = pickAll(outside, before), inside = outside, pairs, arguments;
    inits[0] = zero_;
    for (const std::string &init : inits) {
      inside.push_back(fresh());
      pairs.push_back(inside.back() + " = " + init);
    }
    std::string counter = inside[outside.size()];
    text_ += name + ":" + std::to_string(count + 1) + " = scf.while (" + list(pairs) + ") : (" +
             types(before) + ") -> (" + types(count + 1) + ") {\n";
    std::string trips = define("arith.constant " + std::to_string(random_() % 4) + " : i32");
    std::string goes = define("arith.cmpi slt, " + counter + ", " + trips + " : i32");
    structure(inside, random_() % 2 ? depth - 1 : 0);
    if (random_() % 2) { // a branch that does what the loop does
      std::string branch = fresh();
      makeIf(branch, 2, inside, 0, goes);
      inside.insert(inside.end(), {branch + "#0", branch + "#1"});
    }
    Values handed = pickAll(inside, count);
    handed.push_back(counter);
    text_ += "scf.condition(" + goes + ") " + list(handed) + " : " + types(count + 1) + "\n} do {\n^bb0(";
    for (size_t i = 0; i < count + 1; ++i) {
      arguments.push_back(fresh());
      text_ += (i ? ", " : "") + arguments.back() + ": i32";
    }
    text_ += "):\n";
    outside.insert(outside.end(), arguments.begin(), arguments.end());
    std::string next = define("arith.addi " + arguments.back() + ", " + one_ + " : i32");
    structure(outside, depth - 1);
    Values yielded = pickAll(outside, before);
    yielded[0] = next;
    text_ += "scf.yield " + list(yielded) + " : " + types(before) + "\n}\n";
  }

  // Of a given condition only one side does anything.
  void makeIf(const std::string &name, size_t count, const Values &values, int depth,
              std::string given = "") {
    std::string chosen = given.empty() ? condition(values) : given;
    text_ += name + ":" + std::to_string(count) + " = scf.if " + chosen + " -> (" + types(count) + ") {\n";
    for (const char *end : {"} else {\n", "}\n"}) {
      Values inside = values;
      if (given.empty() || end[2] == 'e') {
        inside.push_back(define("tt.load %p : !tt.ptr<i32> -> i32")); // keeps the branch a branch
        structure(inside, std::max(depth - 1, 0));
      }
      text_ += "scf.yield " + list(pickAll(inside, count)) + " : " + types(count) + "\n" + end;
    }
  }

  std::mt19937 random_;
  std::string text_, zero_, one_;
  int count_ = 0;
};

using Change = void (*)(mlir::ModuleOp module);

std::vector<int32_t> run(const std::string &text, Change change) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  change(*module);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module))) << text;
  std::vector<int32_t> results(mostResults, 5);
  Status status = interp::run(*module, std::vector<uint64_t>{address(results), 11, uint32_t(-7)}, {});
  EXPECT_TRUE(status.ok()) << status.message;
  return results;
}

TEST(CarriedValues, RandomLoopsKeepTheirResults) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::string text = RandomLoops(seed).text();
    auto plain = run(text, [](mlir::ModuleOp) {});
    auto simplified = run(text, [](mlir::ModuleOp module) { tile::simplifyCarriedValues(module); });
    auto canonical = run(text, [](mlir::ModuleOp module) { tile::canonicalize(module); });
    ASSERT_EQ(plain, simplified) << "seed " << seed << "\n" << text;
    ASSERT_EQ(plain, canonical) << "seed " << seed << "\n" << text;
  }
}

} // namespace
