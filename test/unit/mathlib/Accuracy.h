// Distance between what the vector math library gave and the host's libm in the next wider format, in units
// of the last place; and the reference functions by name.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tegula::mathlib::test {

// The reference in a format wide enough that its own error does not show: double for float, x87 for double.
template <class Wide> using Reference = Wide (*)(Wide, Wide);

template <class Wide> Reference<Wide> referenceOf(std::string_view name) {
#define REFERENCE(function, value)                                                                           \
  if (name == #function)                                                                                     \
    return [](Wide x, [[maybe_unused]] Wide y) -> Wide { return value; };
  REFERENCE(exp, std::exp(x))
  REFERENCE(exp2, std::exp2(x))
  REFERENCE(exp10, std::pow(Wide(10), x))
  REFERENCE(expm1, std::expm1(x))
  REFERENCE(log, std::log(x))
  REFERENCE(log2, std::log2(x))
  REFERENCE(log10, std::log10(x))
  REFERENCE(log1p, std::log1p(x))
  REFERENCE(sin, std::sin(x))
  REFERENCE(cos, std::cos(x))
  REFERENCE(tan, std::tan(x))
  REFERENCE(asin, std::asin(x))
  REFERENCE(acos, std::acos(x))
  REFERENCE(atan, std::atan(x))
  REFERENCE(sinh, std::sinh(x))
  REFERENCE(cosh, std::cosh(x))
  REFERENCE(tanh, std::tanh(x))
  REFERENCE(asinh, std::asinh(x))
  REFERENCE(acosh, std::acosh(x))
  REFERENCE(atanh, std::atanh(x))
  REFERENCE(cbrt, std::cbrt(x))
  REFERENCE(erf, std::erf(x))
  REFERENCE(erfc, std::erfc(x))
  REFERENCE(rsqrt, 1 / std::sqrt(x))
  REFERENCE(pow, std::pow(x, y))
  REFERENCE(atan2, std::atan2(x, y))
#undef REFERENCE
  return nullptr;
}

// One over the distance of Narrow's neighbours at a positive x of its range. The form for double works on the
// bits, because a sweep over all floats does little else.
template <class Narrow> double inverseUnit(double x) {
  constexpr int fraction = std::numeric_limits<Narrow>::digits - 1;
  int exponent =
      std::max(int(std::bit_cast<uint64_t>(x) >> 52) - 1023, std::numeric_limits<Narrow>::min_exponent - 1);
  return std::bit_cast<double>(uint64_t(1023 - exponent + fraction) << 52);
}

template <class Narrow> long double inverseUnit(long double x) {
  constexpr int fraction = std::numeric_limits<Narrow>::digits - 1;
  return std::ldexp(1.0L, fraction - std::max(std::ilogb(x), std::numeric_limits<Narrow>::min_exponent - 1));
}

// 0 for the right NaN, infinity or zero; infinity where one of the two is NaN or a zero has the wrong sign;
// otherwise the distance, with an infinite result standing for the next power of two after the largest
// number.
template <class Narrow, class Wide> double ulpError(Narrow got, Wide exact) {
  using Limits = std::numeric_limits<Narrow>;
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : wrong;
  if (exact == 0)
    return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : wrong;
  if (std::isinf(exact))
    return Wide(got) == exact ? 0 : wrong;
  if (std::signbit(got) != std::signbit(exact))
    return wrong;
  const Wide top = std::ldexp(Wide(1), Limits::max_exponent);
  Wide value = std::isinf(got) ? top : std::abs(Wide(got));
  Wide target = std::abs(exact);
  if (target >= top)
    target = top;
  return double(std::abs(value - target) * inverseUnit<Narrow>(std::min(target, Wide(Limits::max()))));
}

} // namespace tegula::mathlib::test
