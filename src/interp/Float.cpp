// f32 and f64 round in the host's hardware, the 8- and 16-bit floats in APFloat.
#include "interp/Float.h"

#include "ir/tile/Tile.h"
#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tegula::interp {

using llvm::APFloat;
using llvm::RoundingMode;

std::optional<Element> elementOf(mlir::Type type) {
  type = tile::elementType(type);
  if (mlir::isa<tile::PointerType>(type))
    return Element::Pointer;
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1: return Element::I1;
    case 8: return Element::I8;
    case 16: return Element::I16;
    case 32: return Element::I32;
    case 64: return Element::I64;
    default: return std::nullopt;
    }
  }
  return llvm::TypeSwitch<mlir::Type, std::optional<Element>>(type)
      .Case<mlir::IndexType>([](auto) { return Element::I64; })
      .Case<mlir::Float8E4M3FNType>([](auto) { return Element::F8E4M3; })
      .Case<mlir::Float8E5M2Type>([](auto) { return Element::F8E5M2; })
      .Case<mlir::Float16Type>([](auto) { return Element::F16; })
      .Case<mlir::BFloat16Type>([](auto) { return Element::BF16; })
      .Case<mlir::Float32Type>([](auto) { return Element::F32; })
      .Case<mlir::Float64Type>([](auto) { return Element::F64; })
      .Default([](mlir::Type) { return std::nullopt; });
}

unsigned widthOf(Element element) {
  switch (element) {
  case Element::I1: return 1;
  case Element::I8:
  case Element::F8E4M3:
  case Element::F8E5M2: return 8;
  case Element::I16:
  case Element::F16:
  case Element::BF16: return 16;
  case Element::I32:
  case Element::F32: return 32;
  case Element::I64:
  case Element::Pointer:
  case Element::F64: return 64;
  }
  return 64;
}

namespace {

const llvm::fltSemantics &semantics(Element element) {
  switch (element) {
  case Element::F8E4M3: return APFloat::Float8E4M3FN();
  case Element::F8E5M2: return APFloat::Float8E5M2();
  case Element::F16: return APFloat::IEEEhalf();
  case Element::BF16: return APFloat::BFloat();
  case Element::F32: return APFloat::IEEEsingle();
  default: return APFloat::IEEEdouble();
  }
}

uint64_t bitsOf(const APFloat &value) { return value.bitcastToAPInt().getZExtValue(); }

APFloat softFloat(Element element, uint64_t bits) {
  return APFloat(semantics(element), llvm::APInt(widthOf(element), bits));
}

// An IEEE-like format of `exponentBits` and `mantissaBits`; E4M3 has one NaN and no infinity.
double decodeSmall(uint64_t bits, int exponentBits, int mantissaBits, bool hasInfinity) {
  int bias = (1 << (exponentBits - 1)) - 1, top = (1 << exponentBits) - 1;
  uint64_t mantissa = bits & ((1u << mantissaBits) - 1);
  int exponent = int(bits >> mantissaBits) & top;
  bool negative = bits >> (mantissaBits + exponentBits) & 1;
  double magnitude;
  if (hasInfinity && exponent == top)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (!hasInfinity && exponent == top && mantissa == (1u << mantissaBits) - 1)
    magnitude = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(double(mantissa), 1 - bias - mantissaBits);
  else
    magnitude = std::ldexp(double(mantissa | (uint64_t(1) << mantissaBits)), exponent - bias - mantissaBits);
  return negative ? -magnitude : magnitude;
}

bool isByte(Element element) { return element == Element::F8E4M3 || element == Element::F8E5M2; }

} // namespace

double decode(Element element, uint64_t bits) {
  switch (element) {
  case Element::F32: return std::bit_cast<float>(uint32_t(bits));
  case Element::F64: return std::bit_cast<double>(bits);
  case Element::BF16: return std::bit_cast<float>(uint32_t(bits) << 16);
  case Element::F16: return decodeSmall(bits, 5, 10, true);
  case Element::F8E5M2: return decodeSmall(bits, 5, 2, true);
  case Element::F8E4M3: return decodeSmall(bits, 4, 3, false);
  default: return double(bits);
  }
}

uint64_t encode(Element element, double value, RoundingMode rounding) {
  APFloat result(value);
  bool inexact;
  result.convert(semantics(element), rounding, &inexact);
  if (isByte(element) && !std::isnan(value) && (!result.isFinite()))
    result = APFloat::getLargest(semantics(element), std::signbit(value));
  return bitsOf(result);
}

uint64_t encode(Element element, double value) {
  if (element == Element::F32)
    return std::bit_cast<uint32_t>(float(value));
  if (element == Element::F64)
    return std::bit_cast<uint64_t>(value);
  return encode(element, value, RoundingMode::NearestTiesToEven);
}

uint64_t encodeInteger(Element element, uint64_t value, bool isSigned) {
  if (isByte(element)) // saturates long before a double is inexact
    return encode(element, isSigned ? double(int64_t(value)) : double(value));
  APFloat result(semantics(element));
  result.convertFromAPInt(llvm::APInt(64, value), isSigned, RoundingMode::NearestTiesToEven);
  return bitsOf(result);
}

uint64_t toInteger(double value, unsigned width, bool isSigned) {
  if (std::isnan(value))
    return 0;
  double limit = std::ldexp(1.0, int(isSigned ? width - 1 : width));
  uint64_t largest = truncate(~uint64_t(0), isSigned ? width - 1 : width);
  if (isSigned && width == 1)
    largest = 0;
  if (value >= limit)
    return largest;
  if (!isSigned)
    return value <= 0 ? 0 : uint64_t(value);
  if (value <= -limit)
    return uint64_t(1) << (width - 1);
  return truncate(uint64_t(int64_t(value)), width);
}

uint64_t fusedMultiplyAdd(Element element, uint64_t a, uint64_t b, uint64_t c) {
  APFloat result = softFloat(element, a);
  result.fusedMultiplyAdd(softFloat(element, b), softFloat(element, c), RoundingMode::NearestTiesToEven);
  return bitsOf(result);
}

namespace {

// The root that was rounded to nearest, moved where its square, which is exact in 113 bits, lies on the other
// side of x.
APFloat squareRoot(const APFloat &x, RoundingMode rounding) {
  APFloat root = x;
  bool lost;
  if (&x.getSemantics() == &APFloat::IEEEsingle())
    root = APFloat(std::sqrt(x.convertToFloat()));
  else
    root = APFloat(std::sqrt(x.convertToDouble()));
  if (!root.isFiniteNonZero())
    return root;
  APFloat square = root, exact = x;
  square.convert(APFloat::IEEEquad(), RoundingMode::NearestTiesToEven, &lost);
  exact.convert(APFloat::IEEEquad(), RoundingMode::NearestTiesToEven, &lost);
  square.multiply(square, RoundingMode::NearestTiesToEven);
  bool isUp = rounding == RoundingMode::TowardPositive;
  if (square.compare(exact) == (isUp ? APFloat::cmpLessThan : APFloat::cmpGreaterThan))
    root.next(!isUp);
  return root;
}

} // namespace

uint64_t arithmetic(Element element, tile::DirectedKind kind, llvm::ArrayRef<uint64_t> operands,
                    llvm::RoundingMode rounding) {
  APFloat result = softFloat(element, operands[0]);
  auto operand = [&](size_t i) { return softFloat(element, operands[i]); };
  switch (kind) {
  case tile::DirectedKind::Add: result.add(operand(1), rounding); break;
  case tile::DirectedKind::Mul: result.multiply(operand(1), rounding); break;
  case tile::DirectedKind::Fma: result.fusedMultiplyAdd(operand(1), operand(2), rounding); break;
  case tile::DirectedKind::Div: result.divide(operand(1), rounding); break;
  case tile::DirectedKind::Sqrt: result = squareRoot(result, rounding); break;
  }
  return bitsOf(result);
}

} // namespace tegula::interp
