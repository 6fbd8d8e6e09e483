// Python's operators on compile-time values. Comments name CPython's rule where it is
// not the obvious one.
#include "sema/Const.h"
#include "sema/Session.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace tegula::sema {

using llvm::APFloat;
using llvm::APInt;
using syntax::BinaryOperator;
using syntax::UnaryOperator;

diag::Diagnostic &ConstError::report(diag::Sink &sink, diag::Location location) const {
  auto at = [&](size_t i) { return i < arguments.size() ? shortened(arguments[i]) : std::string(); };
  return sink.report(kind, std::move(location), {at(0), at(1), at(2), at(3)});
}

// ---- making and reading values -----------------------------------------------------------

Const makeInt(const APInt &value) {
  unsigned width = std::max(64u, value.getSignificantBits());
  return Const{value.sextOrTrunc(width)};
}

Const makeInt(int64_t value) { return Const{APInt(64, static_cast<uint64_t>(value), /*isSigned=*/true)}; }

Const makeTuple(ConstTuple elements) { return Const{std::make_shared<ConstTuple>(std::move(elements))}; }

bool isInteger(const Const &value) { return get<APInt>(value) || get<bool>(value); }
bool isNumber(const Const &value) { return isInteger(value) || get<double>(value); }

APInt integerOf(const Const &value) {
  if (auto *flag = get<bool>(value))
    return APInt(64, *flag);
  return *get<APInt>(value);
}

std::optional<int64_t> asInt64(const Const &value) {
  if (!isInteger(value))
    return std::nullopt;
  APInt integer = integerOf(value);
  if (integer.getSignificantBits() > 64)
    return std::nullopt;
  return integer.getSExtValue();
}

std::string describeType(const Const &value) {
  if (get<NoneValue>(value))
    return "None";
  if (get<bool>(value))
    return "bool";
  if (get<APInt>(value))
    return "int";
  if (get<double>(value))
    return "float";
  if (get<std::string>(value))
    return "str";
  if (tupleOf(value))
    return "tuple";
  if (get<TypeRef>(value))
    return "a type (" + str(value) + ")";
  if (auto *builtin = get<BuiltinRef>(value))
    return "the function " + builtin->name;
  if (auto *module = get<ModuleRef>(value))
    return "the module " + module->name;
  if (auto *function = get<std::shared_ptr<const Function>>(value))
    return "the function " + (*function)->definition->name;
  if (auto *type = get<TupleClassPtr>(value))
    return "the class " + (*type)->name;
  return get<OpaqueRef>(value)->repr;
}

namespace {

std::nullopt_t operandsError(ConstError &error, std::string_view op, const Const &left, const Const &right) {
  return error.set(diag::Kind::ConstOperands, {std::string(op), describeType(left), describeType(right)});
}

std::nullopt_t zeroDivision(ConstError &error, BinaryOperator op, const Const &left, const Const &right) {
  return error.set(diag::Kind::ConstDivisionByZero, {repr(left), std::string(spelling(op)), repr(right)});
}

std::nullopt_t tooLarge(ConstError &error) {
  return error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstBits) + " bits"});
}

std::optional<Const> checked(const APInt &value, ConstError &error) {
  if (value.getSignificantBits() > maxConstBits)
    return tooLarge(error);
  return makeInt(value);
}

std::optional<double> finite(double value, ConstError &error) {
  if (std::isinf(value))
    return error.set(diag::Kind::ConstTooLarge, {"a Python float can hold"});
  return value;
}

// The nearest double of integer * 2^exponent, ties to even. `sticky` in the lowest bit
// stands for what was cut off below.
double nearestDouble(const APInt &integer, int exponent) {
  APFloat wide(APFloat::IEEEquad());
  // More than 113 bits do not fit: keep 112 and a sticky bit.
  APInt magnitude = integer.abs();
  unsigned bits = magnitude.getActiveBits();
  int shift = bits > 112 ? static_cast<int>(bits) - 112 : 0;
  bool sticky = shift && magnitude.countr_zero() < static_cast<unsigned>(shift);
  magnitude.lshrInPlace(shift);
  APInt narrow = magnitude.zextOrTrunc(128) << 1;
  if (sticky)
    narrow.setBit(0);
  wide.convertFromAPInt(narrow, /*IsSigned=*/false, llvm::RoundingMode::NearestTiesToEven);
  wide = llvm::scalbn(wide, shift - 1 + exponent, llvm::RoundingMode::NearestTiesToEven);
  bool losesInfo = false;
  wide.convert(APFloat::IEEEdouble(), llvm::RoundingMode::NearestTiesToEven, &losesInfo);
  double result = wide.convertToDouble();
  return integer.isNegative() ? -result : result;
}

// a / b of integers, rounded once.
std::optional<Const> trueDivide(APInt a, APInt b, ConstError &error) {
  bool negative = a.isNegative() != b.isNegative(); // CPython: 0 / -1 is -0.0
  unsigned width = std::max(a.getBitWidth(), b.getBitWidth()) + 1;
  a = a.sext(width).abs();
  b = b.sext(width).abs();
  if (a.isZero())
    return Const{negative ? -0.0 : 0.0};
  // Scaled so that the quotient has at least 110 bits; the remainder becomes a sticky bit.
  int scale = 110 + static_cast<int>(b.getActiveBits()) - static_cast<int>(a.getActiveBits());
  scale = std::max(scale, 0);
  width += scale + 2;
  APInt quotient, remainder;
  APInt::udivrem(a.zext(width) << scale, b.zext(width), quotient, remainder);
  quotient <<= 1;
  if (!remainder.isZero())
    quotient.setBit(0);
  double value = nearestDouble(quotient.zext(quotient.getBitWidth() + 1), -scale - 1);
  auto result = finite(negative ? -value : value, error);
  if (!result)
    return std::nullopt;
  return Const{*result};
}

// Quotient rounded down, and the remainder with the divisor's sign.
void floorDivide(APInt a, APInt b, APInt &quotient, APInt &remainder) {
  unsigned width = std::max(a.getBitWidth(), b.getBitWidth()) + 1;
  a = a.sext(width);
  b = b.sext(width);
  APInt::sdivrem(a, b, quotient, remainder);
  if (!remainder.isZero() && remainder.isNegative() != b.isNegative()) {
    quotient -= 1;
    remainder += b;
  }
}

std::optional<Const> integerPower(const APInt &base, const APInt &exponent, ConstError &error) {
  if (exponent.isNegative()) {
    double value = std::pow(nearestDouble(base, 0), nearestDouble(exponent, 0));
    return Const{value};
  }
  bool unit = base.isZero() || base.isOne() || base.isAllOnes();
  if (!unit && exponent.getActiveBits() > 13)
    return tooLarge(error);
  uint64_t count = unit ? (exponent[0] ? 1 : exponent.isZero() ? 0 : 2) : exponent.getZExtValue();
  if (!unit && (base.getSignificantBits() - 2) * count > maxConstBits + 64)
    return tooLarge(error);
  APInt result(64, 1);
  APInt factor = base;
  for (; count; count >>= 1) {
    if (count & 1) {
      unsigned width = result.getSignificantBits() + factor.getSignificantBits();
      result = result.sextOrTrunc(width) * factor.sextOrTrunc(width);
    }
    unsigned width = 2 * factor.getSignificantBits();
    if (count > 1)
      factor = factor.sextOrTrunc(width) * factor.sextOrTrunc(width);
  }
  return checked(result, error);
}

std::optional<Const> shift(BinaryOperator op, const APInt &value, const APInt &count, ConstError &error) {
  if (count.isNegative())
    return error.set(diag::Kind::ConstDomain, {std::string(spelling(op)), "a negative shift count"});
  bool isLeft = op == BinaryOperator::LShift;
  if (count.getActiveBits() > 16)
    return isLeft && !value.isZero() ? tooLarge(error)
                                     : std::optional(makeInt(value.isNegative() && !isLeft ? -1 : 0));
  unsigned amount = static_cast<unsigned>(count.getZExtValue());
  if (!isLeft)
    return makeInt(value.ashr(std::min(amount, value.getBitWidth() - 1)));
  if (value.isZero())
    return makeInt(0);
  if (value.getSignificantBits() + amount > maxConstBits)
    return tooLarge(error);
  return makeInt(value.sext(value.getBitWidth() + amount) << amount);
}

std::optional<Const> integerBinary(BinaryOperator op, const Const &left, const Const &right,
                                   ConstError &error) {
  APInt a = integerOf(left), b = integerOf(right);
  unsigned width = std::max(a.getBitWidth(), b.getBitWidth()) + 1;
  bool areBools = get<bool>(left) && get<bool>(right);
  auto bitwise = [&](APInt value) { return areBools ? Const{value[0]} : makeInt(value); };
  switch (op) {
  case BinaryOperator::Add: return checked(a.sext(width) + b.sext(width), error);
  case BinaryOperator::Sub: return checked(a.sext(width) - b.sext(width), error);
  case BinaryOperator::Mul: {
    unsigned product = a.getBitWidth() + b.getBitWidth();
    return checked(a.sext(product) * b.sext(product), error);
  }
  case BinaryOperator::Div:
    return b.isZero() ? zeroDivision(error, op, left, right) : trueDivide(a, b, error);
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod: {
    if (b.isZero())
      return zeroDivision(error, op, left, right);
    APInt quotient, remainder;
    floorDivide(a, b, quotient, remainder);
    return makeInt(op == BinaryOperator::Mod ? remainder : quotient);
  }
  case BinaryOperator::Pow:
    if (a.isZero() && b.isNegative())
      return zeroDivision(error, op, left, right);
    return integerPower(a, b, error);
  case BinaryOperator::LShift:
  case BinaryOperator::RShift: return shift(op, a, b, error);
  case BinaryOperator::And: return bitwise(a.sext(width) & b.sext(width));
  case BinaryOperator::Or: return bitwise(a.sext(width) | b.sext(width));
  case BinaryOperator::Xor: return bitwise(a.sext(width) ^ b.sext(width));
  case BinaryOperator::MatMul: break;
  }
  return operandsError(error, spelling(op), left, right);
}

// CPython's float divmod: the remainder has the divisor's sign, exactly.
void floorDivide(double a, double b, double &quotient, double &remainder) {
  remainder = std::fmod(a, b);
  double division = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      division -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (division == 0) {
    quotient = std::copysign(0.0, a / b);
    return;
  }
  quotient = std::floor(division);
  if (division - quotient > 0.5)
    quotient += 1;
}

std::optional<Const> floatBinary(BinaryOperator op, const Const &left, const Const &right,
                                 ConstError &error) {
  auto leftDouble = toDouble(left, error), rightDouble = toDouble(right, error);
  if (!leftDouble || !rightDouble)
    return std::nullopt;
  double a = *leftDouble, b = *rightDouble;
  bool divides = op == BinaryOperator::Div || op == BinaryOperator::FloorDiv || op == BinaryOperator::Mod;
  if ((divides && b == 0) || (op == BinaryOperator::Pow && a == 0 && b < 0))
    return zeroDivision(error, op, left, right);
  double quotient = 0, remainder = 0;
  switch (op) {
  case BinaryOperator::Add: return Const{a + b};
  case BinaryOperator::Sub: return Const{a - b};
  case BinaryOperator::Mul: return Const{a * b};
  case BinaryOperator::Div: return Const{a / b};
  case BinaryOperator::FloorDiv: floorDivide(a, b, quotient, remainder); return Const{quotient};
  case BinaryOperator::Mod: floorDivide(a, b, quotient, remainder); return Const{remainder};
  case BinaryOperator::Pow: {
    if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
      return error.set(diag::Kind::ConstDomain,
                       {"**", "a negative base and a fractional exponent (complex result)"});
    double value = std::pow(a, b);
    if (std::isinf(value) && std::isfinite(a) && std::isfinite(b))
      return finite(value, error), std::nullopt;
    return Const{value};
  }
  default: return operandsError(error, spelling(op), left, right);
  }
}

bool countElements(const Const &value, size_t &count, unsigned depth) {
  if (++count > maxConstElements || depth > maxConstDepth)
    return false;
  auto *tuple = tupleOf(value);
  return !tuple ||
         llvm::all_of(*tuple, [&](const Const &element) { return countElements(element, count, depth + 1); });
}

std::optional<Const> checkedTuple(ConstTuple elements, ConstError &error) {
  Const tuple = makeTuple(std::move(elements));
  if (!isWithinLimits(tuple))
    return error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstElements) + " elements"});
  return tuple;
}

// str * int, tuple * int; Python takes either order, and nothing for negative counts.
std::optional<Const> repeat(const Const &sequence, const Const &count, ConstError &error) {
  auto number = asInt64(count);
  size_t length = tupleOf(sequence) ? tupleOf(sequence)->size() : get<std::string>(sequence)->size();
  if (number && *number <= 0)
    number = 0;
  if (!number || (length && static_cast<uint64_t>(*number) > maxConstElements / length))
    return error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstElements) + " elements"});
  if (!length)
    return sequence;
  if (auto *text = get<std::string>(sequence)) {
    std::string result;
    for (int64_t i = 0; i < *number; ++i)
      result += *text;
    return Const{std::move(result)};
  }
  ConstTuple result;
  for (int64_t i = 0; i < *number; ++i)
    result.insert(result.end(), tupleOf(sequence)->begin(), tupleOf(sequence)->end());
  return checkedTuple(std::move(result), error);
}

std::optional<Const> concatenate(const Const &left, const Const &right, ConstError &error) {
  if (auto *a = tupleOf(left)) {
    ConstTuple result = *a;
    result.insert(result.end(), tupleOf(right)->begin(), tupleOf(right)->end());
    return checkedTuple(std::move(result), error);
  }
  std::string result = *get<std::string>(left) + *get<std::string>(right);
  if (result.size() > maxConstElements)
    return error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstElements) + " characters"});
  return Const{std::move(result)};
}

bool isSequence(const Const &value) { return tupleOf(value) || get<std::string>(value); }

} // namespace

bool isWithinLimits(const Const &value) {
  size_t count = 0;
  return countElements(value, count, 0);
}

std::optional<double> toDouble(const Const &number, ConstError &error) {
  if (auto *value = get<double>(number))
    return *value;
  return finite(nearestDouble(integerOf(number), 0), error);
}

std::optional<Const> toPythonInt(const Const &value, ConstError &error) {
  if (isInteger(value))
    return makeInt(integerOf(value));
  if (auto *number = get<double>(value)) {
    if (!std::isfinite(*number))
      return error.set(diag::Kind::ConstDomain, {"int", repr(value)});
    llvm::APSInt whole(1100, /*isUnsigned=*/false);
    bool isExact = false;
    APFloat(*number).convertToInteger(whole, llvm::RoundingMode::TowardZero, &isExact);
    return makeInt(static_cast<const APInt &>(whole));
  }
  if (auto *text = get<std::string>(value)) {
    llvm::StringRef digits = llvm::StringRef(*text).trim();
    bool isNegative = digits.consume_front("-") || (digits.consume_front("+"), false);
    bool isDecimal = !digits.empty() && digits.find_first_not_of("0123456789") == llvm::StringRef::npos;
    if (isDecimal) {
      auto magnitude = integerFromDigits(digits, 10, error);
      return magnitude && isNegative ? evaluate(UnaryOperator::Negate, *magnitude, error) : magnitude;
    }
    return error.set(diag::Kind::ConstDomain, {"int", repr(value)});
  }
  return error.set(diag::Kind::ConstOperand, {"int", describeType(value)});
}

std::optional<Const> toPythonFloat(const Const &value, ConstError &error) {
  if (isNumber(value)) {
    auto number = toDouble(value, error);
    return number ? std::optional(Const{*number}) : std::nullopt;
  }
  auto *text = get<std::string>(value);
  if (!text)
    return error.set(diag::Kind::ConstOperand, {"float", describeType(value)});
  std::string word = llvm::StringRef(*text).trim().lower();
  llvm::StringRef body = word;
  bool isNegative = body.consume_front("-") || (body.consume_front("+"), false);
  auto signedValue = [&](double magnitude) { return Const{isNegative ? -magnitude : magnitude}; };
  if (body == "inf" || body == "infinity")
    return signedValue(INFINITY);
  if (body == "nan")
    return Const{std::nan("")};
  double parsed = 0;
  bool isPlain = !body.empty() && body.find_first_not_of("0123456789.e+-") == llvm::StringRef::npos;
  if (!isPlain || body.getAsDouble(parsed, /*AllowInexact=*/true))
    return error.set(diag::Kind::ConstDomain, {"float", repr(value)});
  return signedValue(parsed);
}

std::optional<Const> integerFromDigits(std::string_view digits, unsigned base, ConstError &error) {
  unsigned bitsPerDigit = base == 2 ? 1 : base == 8 ? 3 : 4;
  if (digits.size() * bitsPerDigit > 4 * maxConstBits)
    return tooLarge(error);
  APInt value(std::max<unsigned>(64, digits.size() * bitsPerDigit + 2),
              llvm::StringRef(digits.data(), digits.size()), base);
  return checked(value, error);
}

std::optional<Const> evaluate(BinaryOperator op, const Const &left, const Const &right, ConstError &error) {
  if (isInteger(left) && isInteger(right))
    return integerBinary(op, left, right, error);
  if (isNumber(left) && isNumber(right))
    return floatBinary(op, left, right, error);
  if (auto *text = op == BinaryOperator::Mod ? get<std::string>(left) : nullptr)
    return formatPercent(*text, right, error);
  if (op == BinaryOperator::Mul && isSequence(left) && isInteger(right))
    return repeat(left, right, error);
  if (op == BinaryOperator::Mul && isInteger(left) && isSequence(right))
    return repeat(right, left, error);
  if (op == BinaryOperator::Add && isSequence(left) && left.value.index() == right.value.index())
    return concatenate(left, right, error);
  return operandsError(error, spelling(op), left, right);
}

std::optional<Const> evaluate(UnaryOperator op, const Const &operand, ConstError &error) {
  if (op == UnaryOperator::Not)
    return Const{!isTrue(operand)};
  if (auto *number = get<double>(operand)) {
    if (op == UnaryOperator::Negate)
      return Const{-*number};
    if (op == UnaryOperator::Plus)
      return operand;
  }
  if (isInteger(operand)) {
    APInt value = integerOf(operand);
    if (op == UnaryOperator::Plus)
      return makeInt(value);
    if (op == UnaryOperator::Invert)
      return makeInt(~value);
    return checked(-value.sext(value.getBitWidth() + 1), error);
  }
  return error.set(diag::Kind::ConstOperand, {std::string(spelling(op)), describeType(operand)});
}

std::optional<SliceRange> resolveSlice(std::optional<int64_t> lower, std::optional<int64_t> upper,
                                       std::optional<int64_t> step, size_t length, ConstError &error) {
  int64_t size = static_cast<int64_t>(length), by = step.value_or(1);
  if (by == 0)
    return error.set(diag::Kind::ConstDomain, {"slice", "step 0"});
  int64_t lowest = by < 0 ? -1 : 0, highest = by < 0 ? size - 1 : size;
  auto clamp = [&](std::optional<int64_t> bound, int64_t missing) {
    if (!bound)
      return missing;
    int64_t value = *bound < 0 ? *bound + size : *bound;
    return std::clamp(value, lowest, std::max(lowest, highest));
  };
  int64_t start = clamp(lower, by < 0 ? highest : lowest), stop = clamp(upper, by < 0 ? lowest : highest);
  int64_t span = by < 0 ? start - stop : stop - start;
  uint64_t stride = by < 0 ? 0 - static_cast<uint64_t>(by) : static_cast<uint64_t>(by);
  size_t count = span <= 0 ? 0 : (static_cast<uint64_t>(span) - 1) / stride + 1;
  return SliceRange{start, by, count};
}

} // namespace tegula::sema
