#include "sema/ConstMath.h"
#include "sema/Session.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace tegula::sema {

using Op = syntax::BinaryOperator;

namespace {

using Arguments = std::span<const Const>;

// ---- of one float, or two -----------------------------------------------------------------

struct Unary {
  std::string_view name;
  double (*function)(double);
};
constexpr Unary unaries[] = {{"sqrt", std::sqrt},
                             {"cbrt", std::cbrt},
                             {"exp", std::exp},
                             {"exp2", std::exp2},
                             {"expm1", std::expm1},
                             {"log", std::log},
                             {"log2", std::log2},
                             {"log10", std::log10},
                             {"log1p", std::log1p},
                             {"sin", std::sin},
                             {"cos", std::cos},
                             {"tan", std::tan},
                             {"asin", std::asin},
                             {"acos", std::acos},
                             {"atan", std::atan},
                             {"sinh", std::sinh},
                             {"cosh", std::cosh},
                             {"tanh", std::tanh},
                             {"asinh", std::asinh},
                             {"acosh", std::acosh},
                             {"atanh", std::atanh},
                             {"erf", std::erf},
                             {"erfc", std::erfc},
                             {"gamma", std::tgamma},
                             {"lgamma", std::lgamma},
                             {"fabs", std::fabs},
                             {"degrees", [](double x) { return x * (180 / M_PI); }},
                             {"radians", [](double x) { return x * (M_PI / 180); }}};

struct Binary {
  std::string_view name;
  double (*function)(double, double);
};
constexpr Binary binaries[] = {{"pow", std::pow},
                               {"atan2", std::atan2},
                               {"fmod", std::fmod},
                               {"remainder", std::remainder},
                               {"copysign", std::copysign}};

struct Question {
  std::string_view name;
  bool (*function)(double);
};
constexpr Question questions[] = {{"isnan", [](double x) { return std::isnan(x); }},
                                  {"isinf", [](double x) { return std::isinf(x); }},
                                  {"isfinite", [](double x) { return std::isfinite(x); }}};

// Null: there is no such row, or it is not `wanted`.
template <class Row, size_t N>
const Row *find(const Row (&rows)[N], std::string_view name, bool wanted = true) {
  for (const Row &row : rows)
    if (wanted && row.name == name)
      return &row;
  return nullptr;
}

// ---- of integers --------------------------------------------------------------------------

std::optional<Const> gcd(const Const &a, const Const &b, ConstError &error) {
  std::optional<Const> left = makeInt(integerOf(a).abs()), right = makeInt(integerOf(b).abs());
  while (isTrue(*right)) {
    std::optional<Const> rest = evaluate(Op::Mod, *left, *right, error);
    if (!rest)
      return rest;
    left = std::exchange(right, rest);
  }
  return left;
}

std::optional<Const> lcm(const Const &a, const Const &b, ConstError &error) {
  std::optional<Const> shared = gcd(a, b, error);
  if (!shared || !isTrue(*shared))
    return shared;
  auto part = evaluate(Op::FloorDiv, makeInt(integerOf(a).abs()), *shared, error);
  return part ? evaluate(Op::Mul, *part, makeInt(integerOf(b).abs()), error) : part;
}

constexpr int64_t mostFactors = 1 << 12; // beyond that the product has more bits than constants may have

// first · (first - 1) · ... of so many factors.
std::optional<Const> falling(int64_t first, int64_t factors, ConstError &error) {
  std::optional<Const> product = makeInt(int64_t(1));
  for (int64_t i = 0; product && i < factors; ++i)
    product = evaluate(Op::Mul, *product, makeInt(first - i), error);
  return product;
}

std::optional<Const> ofCounts(const std::string &name, Arguments arguments, ConstError &error) {
  std::optional<int64_t> n = asInt64(arguments[0]), k = asInt64(arguments.back());
  if (!n || !k)
    return error.set(diag::Kind::ConstTooLarge, {"64 bits, as math." + name + " takes them"});
  if (*n < 0 || *k < 0)
    return error.set(diag::Kind::ConstDomain, {"math." + name, repr(arguments[*n < 0 ? 0 : 1])});
  if (name == "isqrt") {
    auto root = int64_t(std::sqrt(double(*n)));
    while (root > 3037000499 || root * root > *n)
      --root;
    while (root < 3037000499 && (root + 1) * (root + 1) <= *n)
      ++root;
    return makeInt(root);
  }
  bool isFactorial = name == "factorial" || arguments.size() == 1;
  if (!isFactorial && *k > *n)
    return makeInt(int64_t(0));
  int64_t factors = isFactorial ? *n : name == "comb" ? std::min(*k, *n - *k) : *k;
  if (factors > mostFactors)
    return error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstBits) + " bits"});
  auto product = falling(*n, factors, error);
  auto divisor = product && name == "comb" ? falling(factors, factors, error) : product;
  return product && divisor && name == "comb" ? evaluate(Op::FloorDiv, *product, *divisor, error) : product;
}

struct OfIntegers {
  std::string_view name;
  size_t least, most;
};
constexpr OfIntegers ofIntegers[] = {{"gcd", 0, ~size_t(0)}, {"lcm", 0, ~size_t(0)}, {"isqrt", 1, 1},
                                     {"factorial", 1, 1},    {"comb", 2, 2},         {"perm", 1, 2}};

std::optional<Const> foldIntegers(const OfIntegers &row, Arguments arguments, ConstError &error) {
  const std::string name(row.name);
  for (const Const &argument : arguments)
    if (!isInteger(argument))
      return error.set(diag::Kind::ConstOperand, {"math." + name, describeType(argument)});
  if (name != "gcd" && name != "lcm")
    return ofCounts(name, arguments, error);
  std::optional<Const> result = makeInt(int64_t(name == "gcd" ? 0 : 1));
  for (const Const &argument : arguments)
    if (result)
      result = name == "gcd" ? gcd(*result, argument, error) : lcm(*result, argument, error);
  return result;
}

std::optional<Const> product(Arguments arguments, ConstError &error) {
  const ConstTuple *factors = tupleOf(arguments[0]);
  if (!factors)
    return error.set(diag::Kind::ConstOperand, {"math.prod", describeType(arguments[0])});
  std::optional<Const> result = makeInt(int64_t(1));
  for (const Const &factor : *factors)
    if (result)
      result = evaluate(Op::Mul, *result, factor, error);
  return result;
}

// ---- of floats ----------------------------------------------------------------------------

std::optional<Const> foldFloats(const std::string &name, Arguments arguments, ConstError &error) {
  if (name == "log" && arguments.size() == 2) {
    auto power = foldFloats(name, arguments.first(1), error);
    auto ofBase = power ? foldFloats(name, arguments.last(1), error) : power;
    return ofBase ? evaluate(Op::Div, *power, *ofBase, error) : ofBase;
  }
  llvm::SmallVector<double, 2> numbers;
  for (const Const &argument : arguments) {
    if (!isNumber(argument))
      return error.set(diag::Kind::ConstOperand, {"math." + name, describeType(argument)});
    auto number = toDouble(argument, error);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  double x = numbers[0];
  bool isOne = numbers.size() == 1, isTwo = numbers.size() == 2;
  if (isOne && (name == "ceil" || name == "floor" || name == "trunc"))
    return toPythonInt(Const{name == "ceil"    ? std::ceil(x)
                             : name == "floor" ? std::floor(x)
                                               : std::trunc(x)},
                       error);
  if (auto *question = find(questions, name, isOne))
    return Const{question->function(x)};
  double result;
  if (name == "ldexp" && isTwo && isInteger(arguments[1]))
    result = std::ldexp(x, int(std::clamp(numbers[1], -1e5, 1e5)));
  else if (auto *one = find(unaries, name, isOne))
    result = one->function(x);
  else if (auto *two = find(binaries, name, isTwo))
    result = two->function(x, numbers[1]);
  else if (name == "hypot")
    result = std::accumulate(numbers.begin(), numbers.end(), 0.0,
                             [](double sum, double each) { return std::hypot(sum, each); });
  else
    return error.set(diag::Kind::ConstOperand,
                     {"math." + name, std::to_string(numbers.size()) + " arguments"});
  // Python raises where a number comes out of none, and where finite ones give an infinity.
  bool isScaled = name == "degrees" || name == "radians";
  bool areFinite = !isScaled && llvm::all_of(numbers, [](double each) { return std::isfinite(each); });
  bool areNumbers = llvm::none_of(numbers, [](double each) { return std::isnan(each); });
  if ((std::isnan(result) && areNumbers) || (std::isinf(result) && areFinite))
    return error.set(diag::Kind::ConstDomain, {"math." + name, repr(arguments[0])});
  return Const{result};
}

bool isFunction(std::string_view name) {
  constexpr std::string_view others[] = {"ceil", "floor", "trunc", "ldexp", "hypot", "prod"};
  return llvm::is_contained(others, name) || find(unaries, name) || find(binaries, name) ||
         find(questions, name) || find(ofIntegers, name);
}

} // namespace

std::optional<Const> mathAttribute(std::string_view name) {
  constexpr std::pair<std::string_view, double> numbers[] = {
      {"pi", M_PI}, {"e", M_E}, {"tau", 2 * M_PI}, {"inf", INFINITY}, {"nan", NAN}};
  for (auto [known, value] : numbers)
    if (known == name)
      return Const{value};
  if (!isFunction(name))
    return std::nullopt;
  return Const{BuiltinRef{"math." + std::string(name)}};
}

std::optional<Const> foldMath(const std::string &name, std::span<const Const> arguments, ConstError &error) {
  if (auto *row = find(ofIntegers, name)) {
    if (arguments.size() >= row->least && arguments.size() <= row->most)
      return foldIntegers(*row, arguments, error);
  } else if (name == "prod" ? arguments.size() == 1 : !arguments.empty()) {
    return name == "prod" ? product(arguments, error) : foldFloats(name, arguments, error);
  }
  return error.set(diag::Kind::ConstOperand,
                   {"math." + name, std::to_string(arguments.size()) + " arguments"});
}

} // namespace tegula::sema
