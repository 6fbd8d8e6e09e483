// Every fact that is claimed of the values of a random program holds of what the reference
// computes, at each coordinate.
#include "analysis/AxisInfo.h"
#include "analysis/ConstantSteps.h"
#include "interp/Interp.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>

using namespace tegula;
using analysis::AxisInfo;
using analysis::Trust;

namespace {

constexpr int64_t rows = 6, columns = 16, count = rows * columns;

// A program over tiles of 6x16; each of its tiles is stored as i64, one after the other.
struct Program {
  std::mt19937 random;
  bool trusted; // stays among small numbers that are not negative
  std::string body, stores;
  std::vector<std::string> ints, masks, stored;
  unsigned names = 0, products = 0;

  Program(unsigned seed, bool trusted) : random(seed), trusted(trusted) {
    line("%c = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>");
    line("%ce = tt.expand_dims %c {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>");
    line("%r = tt.make_range {start = 2 : i32, end = 8 : i32} : tensor<6xi32>");
    line("%re = tt.expand_dims %r {axis = 1 : i32} : tensor<6xi32> -> tensor<6x1xi32>");
    line("%f = tt.make_range {start = 0 : i32, end = 96 : i32} : tensor<96xi32>");
    keepInt("tt.broadcast %ce : tensor<1x16xi32> -> " + type("i32"));
    keepInt("tt.broadcast %re : tensor<6x1xi32> -> " + type("i32"));
    keepInt("tt.reshape %f : tensor<96xi32> -> " + type("i32"));
    for (std::string argument : {"%n", "%k", "%m"})
      keepInt("tt.splat " + argument + " : i32 -> " + type("i32"));
    for (int i = 0; i < 12; ++i)
      step();
  }

  static std::string type(const std::string &element) { return "tensor<6x16x" + element + ">"; }
  void line(const std::string &text) { body += "  " + text + "\n"; }
  std::string fresh() { return "%v" + std::to_string(names++); }
  unsigned below(unsigned n) { return random() % n; }
  const std::string &anInt() { return ints[below(ints.size())]; }

  void store(const std::string &name, const std::string &wide) {
    std::string at = std::to_string(stored.size());
    stored.push_back(name);
    stores += "  %k" + at + " = arith.constant " + std::to_string((stored.size() - 1) * count) +
              " : i32\n  %b" + at + " = tt.addptr %out, %k" + at + " : !tt.ptr<i64>, i32\n  %s" + at +
              " = tt.splat %b" + at + " : !tt.ptr<i64> -> " + type("!tt.ptr<i64>") + "\n  %q" + at +
              " = tt.addptr %s" + at + ", %place : " + type("!tt.ptr<i64>") + ", " + type("i32") +
              "\n  tt.store %q" + at + ", " + wide + " : " + type("!tt.ptr<i64>") + ", " + type("i64") + "\n";
  }
  std::string keep(const std::string &text, const std::string &widen) {
    std::string name = fresh(), wide = name + "w";
    line(name + " = " + text);
    if (widen.empty()) {
      store(name, name);
      return name;
    }
    stores += "  " + wide + " = " + widen + " " + name + " : ";
    return name;
  }
  void keepInt(const std::string &text) {
    std::string name = keep(text, "arith.extsi");
    stores += type("i32") + " to " + type("i64") + "\n";
    store(name, name + "w");
    ints.push_back(name);
  }
  void keepMask(const std::string &text) {
    std::string name = keep(text, "arith.extui");
    stores += type("i1") + " to " + type("i64") + "\n";
    store(name, name + "w");
    masks.push_back(name);
  }
  void keepNarrow(const std::string &text) {
    std::string name = keep(text, "arith.extsi");
    stores += type("i8") + " to " + type("i64") + "\n";
    store(name, name + "w");
    std::string back = below(2) ? "arith.extsi " : "arith.extui ";
    keepInt(back + name + " : " + type("i8") + " to " + type("i32"));
  }
  void keepPointers(const std::string &text) {
    std::string name = keep(text, "tt.ptr_to_int");
    stores += type("!tt.ptr<i32>") + " -> " + type("i64") + "\n";
    store(name, name + "w");
  }

  std::string aNumber() {
    static const int numbers[] = {0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 32, -1, -4, -8, 100, 2147483647};
    std::string name = fresh();
    int value = numbers[1 + below(trusted ? 10 : std::size(numbers) - 1)];
    line(name + " = arith.constant dense<" + std::to_string(value) + "> : " + type("i32"));
    return name;
  }

  void step() {
    static const char *wild[] = {"addi", "subi", "muli",  "divsi", "divui", "remsi", "remui", "andi", "ori",
                                 "xori", "shli", "shrsi", "shrui", "minsi", "maxsi", "minui", "maxui"};
    static const char *tame[] = {"addi",  "divsi", "remsi", "muli",  "andi",
                                 "minsi", "maxsi", "shrsi", "divui", "remui"};
    static const char *predicates[] = {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"};
    unsigned kind = below(12);
    if (kind < 6) {
      std::string op = trusted ? tame[below(std::size(tame))] : wild[below(std::size(wild))];
      bool isProduct = op == "muli" || op == "addi";
      if (trusted && isProduct && ++products > 3)
        op = "maxsi";
      std::string y = below(2) || (trusted && op != "addi" && op != "minsi") ? aNumber() : anInt();
      return keepInt("arith." + op + " " + anInt() + ", " + y + " : " + type("i32"));
    }
    if (kind < 8 || masks.empty()) {
      std::string y = below(2) ? aNumber() : anInt();
      return keepMask(std::string("arith.cmpi ") + predicates[below(10)] + ", " + anInt() + ", " + y + " : " +
                      type("i32"));
    }
    const std::string &mask = masks[below(masks.size())];
    if (kind == 8)
      return keepMask(std::string(below(2) ? "arith.andi " : "arith.ori ") + mask + ", " +
                      masks[below(masks.size())] + " : " + type("i1"));
    if (kind == 9)
      return keepInt("arith.select " + mask + ", " + anInt() + ", " + anInt() + " : " + type("i1") + ", " +
                     type("i32"));
    if (kind == 10 && !trusted)
      return keepNarrow("arith.trunci " + anInt() + " : " + type("i32") + " to " + type("i8"));
    keepPointers("tt.addptr %ps, " + anInt() + " : " + type("!tt.ptr<i32>") + ", " + type("i32"));
  }

  std::string text() const {
    return "tt.func @k(%n: i32 {tt.divisibility = 16 : i32}, %k: i32, %m: i32 {tt.divisibility = 4 : i32}, "
           "%p: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<i64>) {\n"
           "  %ps = tt.splat %p : !tt.ptr<i32> -> " +
           type("!tt.ptr<i32>") + "\n" + body +
           "  %pl = tt.make_range {start = 0 : i32, end = 96 : i32} : tensor<96xi32>\n"
           "  %place = tt.reshape %pl : tensor<96xi32> -> " +
           type("i32") + "\n" + stores + "  tt.return\n}\n";
  }
};

// The first claim that the values break, in words.
std::string broken(const AxisInfo &info, mlir::Type element, const int64_t *values) {
  unsigned bits = isa<tile::PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  uint64_t width = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  uint64_t step = isa<tile::PointerType>(element) ? 4 : 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      uint64_t value = uint64_t(values[i * columns + j]) & width;
      std::string place = " at " + std::to_string(i) + ", " + std::to_string(j);
      if (info.constant && (uint64_t(*info.constant) & width) != value)
        return "constant" + place;
      for (unsigned d = 0; d < 2; ++d) {
        int64_t index = d == 0 ? i : j, stride = d == 0 ? columns : 1;
        auto first = [&](int64_t group) {
          return uint64_t(values[i * columns + j - index % group * stride]) & width;
        };
        if (value != first(info.constancy[d]))
          return "constancy" + place;
        if (value != ((first(info.contiguity[d]) + uint64_t(index % info.contiguity[d]) * step) & width))
          return "contiguity" + place;
        if (index % info.contiguity[d] == 0 && value % uint64_t(info.divisibility[d]) != 0)
          return "divisibility" + place;
      }
    }
  return "";
}

// The same of a claim about steps along a dimension.
std::string broken(const analysis::Steps &steps, unsigned dim, mlir::Type element, const int64_t *values) {
  unsigned bits = isa<tile::PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  uint64_t width = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      int64_t index = dim == 0 ? i : j, stride = dim == 0 ? columns : 1, inGroup = index % steps.group;
      uint64_t value = uint64_t(values[i * columns + j]),
               first = uint64_t(values[i * columns + j - inGroup * stride]);
      std::string place = " at " + std::to_string(i) + ", " + std::to_string(j);
      if (((first + uint64_t(inGroup * steps.step)) & width) != (value & width))
        return "steps of " + std::to_string(steps.step) + " in groups of " + std::to_string(steps.group) +
               place;
      if (inGroup == 0 && (value & width) % uint64_t(steps.divisibility) != 0)
        return "first of groups by " + std::to_string(steps.divisibility) + place;
    }
  return "";
}

// A value of the program, and what the reference computed of it.
struct Computed {
  mlir::Value value;
  const int64_t *elements;
};

// The number of claims of steps, and of distances between two values, that say something.
struct StepClaims {
  int64_t steps = 0, distances = 0;
};

std::string brokenSteps(llvm::ArrayRef<Computed> computed, analysis::AxisInfoAnalysis &analysis,
                        StepClaims &claims) {
  for (const Computed &each : computed)
    for (unsigned d = 0; d < 2; ++d) {
      analysis::Steps steps = analysis::stepsAlong(each.value, d, analysis);
      claims.steps += steps.group > 1 && steps.step > 1;
      mlir::Type element = tile::elementType(each.value.getType());
      if (std::string fault = broken(steps, d, element, each.elements); !fault.empty())
        return fault;
    }
  for (const Computed &from : computed)
    for (const Computed &to : computed) {
      if (&from == &to || from.value.getType() != to.value.getType())
        continue;
      std::optional<int64_t> distance = analysis::distanceBetween(from.value, to.value, analysis);
      if (!distance)
        continue;
      claims.distances += *distance != 0;
      mlir::Type element = tile::elementType(from.value.getType());
      bool isPointer = isa<tile::PointerType>(element);
      unsigned bits = isPointer ? 64 : element.getIntOrFloatBitWidth();
      uint64_t width = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1, unit = isPointer ? 4 : 1;
      for (int64_t i = 0; i < count; ++i)
        if (((uint64_t(from.elements[i]) + uint64_t(*distance) * unit - uint64_t(to.elements[i])) & width) !=
            0)
          return "distance of " + std::to_string(*distance) + " at " + std::to_string(i);
    }
  return "";
}

void check(unsigned seed, bool trusted, int64_t &claims, StepClaims &stepClaims) {
  Program program(seed, trusted);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program.text(), &context);
  ASSERT_TRUE(module) << program.text();
  tile::FuncOp function;
  module->walk([&](tile::FuncOp f) { function = f; });
  analysis::AxisInfoAnalysis analysis(function, trusted ? Trust::Indices : Trust::Nothing);

  auto pick = [&](std::vector<int32_t> numbers) {
    return uint64_t(uint32_t(numbers[program.below(numbers.size())]));
  };
  uint64_t n = trusted ? pick({16, 32, 48}) : pick({0, 16, 48, -16, -2147483648, 2147483632, 96});
  uint64_t k = trusted ? pick({1, 3, 8, 31}) : pick({0, 1, 5, -3, 2147483647, -2147483648, 64});
  uint64_t m = trusted ? pick({4, 20, 64}) : pick({0, 4, -4, 12, 2147483644, -64});
  std::vector<int64_t> out(program.stored.size() * count);
  uint64_t arguments[] = {n, k, m, 0x7f0000000010, reinterpret_cast<uint64_t>(out.data())};
  Status status = interp::run(*module, arguments, {});
  ASSERT_TRUE(status.ok()) << status.message;

  // The values in the order of the text: those that were stored.
  size_t at = 0;
  llvm::SmallVector<Computed> computed;
  for (mlir::Operation &op : function.getBody().front()) {
    if (at == program.stored.size())
      break;
    auto shape =
        op.getNumResults() == 1 ? tile::shapeOf(op.getResult(0).getType()) : llvm::ArrayRef<int64_t>();
    bool isSplatOfBase = op.getNumOperands() == 1 && isa<tile::SplatOp>(op) &&
                         isa<tile::PointerType>(op.getOperand(0).getType());
    if (shape.size() != 2 || shape[0] != rows || shape[1] != columns || isa<mlir::arith::ConstantOp>(op) ||
        isSplatOfBase)
      continue;
    const AxisInfo &info = analysis.at(op.getResult(0));
    for (unsigned d = 0; d < 2; ++d)
      claims += info.contiguity[d] > 1 || info.constancy[d] > 1 || info.divisibility[d] > 1;
    std::string fault = broken(info, tile::elementType(op.getResult(0).getType()), &out[at * count]);
    std::string shown;
    llvm::raw_string_ostream(shown) << op;
    ASSERT_EQ(fault, "") << shown << "\nn " << int32_t(n) << ", k " << int32_t(k) << ", m " << int32_t(m)
                         << "\n"
                         << program.text();
    computed.push_back({op.getResult(0), &out[at * count]});
    ++at;
  }
  ASSERT_EQ(at, program.stored.size());
  ASSERT_EQ(brokenSteps(computed, analysis, stepClaims), "")
      << "n " << int32_t(n) << ", k " << int32_t(k) << ", m " << int32_t(m) << "\n"
      << program.text();
}

TEST(AxisInfoSoundness, ProvenFactsHoldWhateverWraps) {
  int64_t claims = 0;
  StepClaims stepClaims;
  for (unsigned seed = 1; seed <= 400 && !HasFatalFailure(); ++seed)
    check(seed, false, claims, stepClaims);
  EXPECT_GT(claims, 3000);
  EXPECT_GT(stepClaims.steps, 100);
  EXPECT_GT(stepClaims.distances, 100);
}

TEST(AxisInfoSoundness, TrustedFactsHoldOfIndicesInRange) {
  int64_t claims = 0;
  StepClaims stepClaims;
  for (unsigned seed = 1; seed <= 300 && !HasFatalFailure(); ++seed)
    check(seed, true, claims, stepClaims);
  EXPECT_GT(claims, 3000);
}

} // namespace
