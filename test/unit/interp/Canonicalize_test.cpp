// Canonicalization and CSE keep what a program computes, bit for bit: random programs of
// integer and float arithmetic on tiles, splats and constants, with operands at the
// corners that other languages leave undefined.
#include "Program.h"

#include "ir/tile/Canonicalizer.h"
#include "ir/tile/EqualOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <random>

using namespace tegula;
using namespace tegula::test;

namespace {

class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  // A kernel of pointers to 8 floats and 8 integers, results behind them, and two scalars.
  std::string text() {
    text_ = R"(tt.func @k(%pf: !tt.ptr<f32>, %pi: !tt.ptr<i32>, %n: i32, %x: f32) {
  %r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %pfs = tt.splat %pf : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %pfr = tt.addptr %pfs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %pis = tt.splat %pi : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %pir = tt.addptr %pis, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  %lf = tt.load %pfr : tensor<8x!tt.ptr<f32>> -> tensor<8xf32>
  %li = tt.load %pir : tensor<8x!tt.ptr<i32>> -> tensor<8xi32>
  %ns = tt.splat %n : i32 -> tensor<8xi32>
  %xs = tt.splat %x : f32 -> tensor<8xf32>
)";
    floats_ = {"%lf", "%xs"};
    integers_ = {"%li", "%ns", "%r"};
    conditions_.clear();
    for (const char *value : {"0.0", "-0.0", "1.0", "-1.0", "0x7F800000", "0x7FC00000", "1.0e-40"})
      floats_.push_back(define("arith.constant dense<" + std::string(value) + "> : tensor<8xf32>"));
    for (const char *value : {"0", "1", "-1", "2", "31", "32", "33", "-2147483648", "2147483647"})
      integers_.push_back(define("arith.constant dense<" + std::string(value) + "> : tensor<8xi32>"));
    conditions_.push_back(define("arith.constant dense<true> : tensor<8xi1>"));
    for (int i = 0; i < 30; ++i)
      step();
    for (int i = 0; i < 4; ++i)
      store("%pfs", "f32", pick(floats_)), store("%pis", "i32", pick(integers_));
    return text_ + "  tt.return\n}\n";
  }

private:
  std::string pick(const std::vector<std::string> &from) { return from[random_() % from.size()]; }
  std::string name(std::initializer_list<const char *> names) {
    return *(names.begin() + random_() % names.size());
  }
  std::string define(const std::string &value) {
    std::string result = "%v" + std::to_string(count_++);
    text_ += "  " + result + " = " + value + "\n";
    return result;
  }

  void step() {
    switch (random_() % 8) {
    case 0:
    case 1:
      integers_.push_back(define("arith." +
                                 name({"addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "shli",
                                       "shrsi", "shrui", "andi", "ori", "xori", "maxsi", "minui"}) +
                                 " " + pick(integers_) + ", " + pick(integers_) + " : tensor<8xi32>"));
      break;
    case 2:
    case 3:
      floats_.push_back(define(
          "arith." +
          name({"addf", "subf", "mulf", "divf", "remf", "maxnumf", "minnumf", "maximumf", "minimumf"}) + " " +
          pick(floats_) + ", " + pick(floats_) + " : tensor<8xf32>"));
      break;
    case 4:
      conditions_.push_back(random_() % 2
                                ? define("arith.cmpi " + name({"eq", "slt", "ule", "sgt", "uge"}) + ", " +
                                         pick(integers_) + ", " + pick(integers_) + " : tensor<8xi32>")
                                : define("arith.cmpf " + name({"oeq", "olt", "uge", "une", "ord"}) + ", " +
                                         pick(floats_) + ", " + pick(floats_) + " : tensor<8xf32>"));
      break;
    case 5:
      floats_.push_back(define("arith.select " + pick(conditions_) + ", " + pick(floats_) + ", " +
                               pick(floats_) + " : tensor<8xi1>, tensor<8xf32>"));
      integers_.push_back(define("arith.select " + pick(conditions_) + ", " + pick(integers_) + ", " +
                                 pick(integers_) + " : tensor<8xi1>, tensor<8xi32>"));
      break;
    case 6:
      integers_.push_back(define("arith." + name({"fptosi", "fptoui"}) + " " + pick(floats_) +
                                 " : tensor<8xf32> to tensor<8xi32>"));
      floats_.push_back(define("arith." + name({"sitofp", "uitofp"}) + " " + pick(integers_) +
                               " : tensor<8xi32> to tensor<8xf32>"));
      break;
    case 7:
      floats_.push_back(define(name({"arith.negf ", "math.absf ", "math.exp ", "math.sqrt "}) +
                               pick(floats_) + " : tensor<8xf32>"));
      integers_.push_back(
          define("tt.mulhiui " + pick(integers_) + ", " + pick(integers_) + " : tensor<8xi32>"));
      break;
    }
  }

  void store(const std::string &pointer, const std::string &element, const std::string &value) {
    std::string offset =
        define("arith.constant dense<" + std::to_string(8 * ++stores_) + "> : tensor<8xi32>");
    std::string index = define("arith.addi %r, " + offset + " : tensor<8xi32>");
    std::string at = define("tt.addptr " + pointer + ", " + index + " : tensor<8x!tt.ptr<" + element +
                            ">>, tensor<8xi32>");
    text_ += "  tt.store " + at + ", " + value + " : tensor<8x!tt.ptr<" + element + ">>, tensor<8x" +
             element + ">\n";
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> floats_, integers_, conditions_;
  int count_ = 0, stores_ = 0;
};

struct Results {
  std::vector<float> floats = std::vector<float>(80);
  std::vector<int32_t> integers = std::vector<int32_t>(80);
};

Results run(const std::string &text, bool canonicalize, unsigned seed) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (canonicalize) {
    tile::canonicalize(*module);
    tile::eliminateEqualOps(*module);
  }
  Results results;
  std::mt19937 random(seed);
  for (int i = 0; i < 8; ++i) {
    results.floats[i] = float(int32_t(random())) * 1e-6f;
    results.integers[i] = int32_t(random());
  }
  std::vector<uint64_t> arguments{address(results.floats), address(results.integers), uint32_t(random()) % 40,
                                  slot(float(random()) * 1e-9f)};
  Status status = interp::run(*module, arguments, {});
  EXPECT_TRUE(status.ok()) << status.message;
  return results;
}

// Which of two zeros a maximum gives, and the bits of a NaN, are not specified.
bool same(float a, float b) { return (a != a && b != b) || a == b; }

TEST(Canonicalize, RandomProgramsKeepTheirResults) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::string text = RandomProgram(seed).text();
    Results plain = run(text, false, seed), canonical = run(text, true, seed);
    bool equal = plain.integers == canonical.integers;
    for (size_t i = 0; i < plain.floats.size(); ++i)
      equal &= same(plain.floats[i], canonical.floats[i]);
    ASSERT_TRUE(equal) << "seed " << seed << "\n" << text;
  }
}

// The number of ifs that stay of two whose bodies are `length` multiply-adds and end with these factors.
size_t ifsLeft(unsigned length, const std::string &first, const std::string &second) {
  std::string text = "tt.func @k(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %c: i1, %n: i32, %m: i32) {\n";
  for (const std::string &factor : {first, second}) {
    std::string name = text.find("%one") == std::string::npos ? "%one" : "%two";
    text += name + " = scf.if %c -> i32 {\n%v0 = arith.muli %n, %n : i32\n";
    for (unsigned i = 1; i != length; ++i)
      text += "%v" + std::to_string(i) + " = arith.muli %v" + std::to_string(i - 1) + ", " +
              (i + 1 == length ? factor : "%n") + " : i32\n";
    text += "scf.yield %v" + std::to_string(length - 1) + " : i32\n} else {\nscf.yield %n : i32\n}\n";
  }
  text += "tt.store %p, %one : !tt.ptr<i32>, i32\ntt.store %q, %two : !tt.ptr<i32>, i32\ntt.return\n}\n";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module)
    return 0;
  tile::eliminateEqualOps(*module);
  size_t ifs = 0;
  module->walk([&](mlir::scf::IfOp) { ++ifs; });
  return ifs;
}

TEST(EqualOps, LongBodiesAreComparedToTheirEnd) {
  for (unsigned length : {4u, 200u, 1000u}) {
    EXPECT_EQ(ifsLeft(length, "%m", "%m"), 1u) << length;
    EXPECT_EQ(ifsLeft(length, "%m", "%n"), 2u) << length;
  }
}

} // namespace
