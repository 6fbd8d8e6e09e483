#include "transforms/FormRanges.h"
#include "ir/tile/Tile.h"
#include "transforms/TripValues.h"

#include <cmath>

using namespace mlir;
using namespace tegula::tile;
using tegula::analysis::AccessAnalysis;
using tegula::analysis::Clamp;
using tegula::analysis::Factor;
using tegula::analysis::Form;
using tegula::analysis::Monomial;
using tegula::analysis::Polynomial;

namespace tegula::transforms {

namespace {

unsigned bitsOf(const Factor &factor) { return factor.isTile() ? 64 : transforms::bitsOf(factor.value); }

bool hasRange(const Form &form, ArrayRef<int64_t> shape) {
  double size = sizeOf(form.base);
  for (auto [stride, extent] : llvm::zip(form.strides, shape))
    size += sizeOf(stride) * double(extent - 1);
  return size < largestSize;
}

} // namespace

double sizeOf(const Polynomial &polynomial) {
  double sum = 0;
  for (const Monomial &term : polynomial.terms()) {
    double size = std::abs(double(term.coefficient));
    for (const Factor &factor : term.factors)
      size *= bitsOf(factor) < 64 ? std::ldexp(1.0, int(bitsOf(factor))) : HUGE_VAL;
    sum += size;
  }
  return sum;
}

bool isScalar(const Polynomial &polynomial) {
  return llvm::all_of(polynomial.terms(), [](const Monomial &term) {
    return llvm::all_of(term.factors, [](const Factor &factor) { return bitsOf(factor) < 64; });
  });
}

bool isComputed(Value condition, AccessAnalysis &access) {
  ArrayRef<int64_t> shape = shapeOf(condition.getType());
  if (std::optional<Clamp> clamp = access.clamp(condition))
    return llvm::all_of(clamp->bounds, [&](const Form &bound) { return hasRange(bound, shape); });
  return hasRange(access.form(condition), shape);
}

Value Emitted::constant(int64_t number) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(number));
}

Value Emitted::compare(arith::CmpIPredicate predicate, Value x, int64_t y) {
  return b.createOrFold<arith::CmpIOp>(loc, predicate, x, constant(y));
}

Value Emitted::of(const Factor &factor) {
  return factor.value.getType().isInteger(64)
             ? factor.value
             : b.createOrFold<arith::ExtSIOp>(loc, b.getI64Type(), factor.value);
}

Value Emitted::of(const Polynomial &polynomial) {
  Value sum;
  for (const Monomial &term : polynomial.terms()) {
    Value product = term.factors.empty() || term.coefficient != 1 ? constant(term.coefficient) : Value();
    for (const Factor &factor : term.factors)
      product = product ? make<arith::MulIOp>(product, of(factor)) : of(factor);
    sum = sum ? make<arith::AddIOp>(sum, product) : product;
  }
  return sum ? sum : constant(0);
}

std::pair<Value, Value> Emitted::range(const Form &form, ArrayRef<int64_t> shape) {
  Value least = of(form.base), greatest = least, zero = constant(0);
  for (auto [stride, extent] : llvm::zip(form.strides, shape)) {
    if (stride.isZero() || extent == 1)
      continue;
    Value end = make<arith::MulIOp>(of(stride), constant(extent - 1));
    least = make<arith::AddIOp>(least, make<arith::MinSIOp>(end, zero));
    greatest = make<arith::AddIOp>(greatest, make<arith::MaxSIOp>(end, zero));
  }
  return {least, greatest};
}

Value Emitted::holds(Value condition, AccessAnalysis &access) {
  using enum arith::CmpIPredicate;
  ArrayRef<int64_t> shape = shapeOf(condition.getType());
  Value all = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  if (std::optional<Clamp> clamp = access.clamp(condition)) {
    for (const Form &bound : clamp->bounds)
      all = both(all, compare(slt, range(bound, shape).second, 0));
    return all;
  }
  unsigned width = elementType(condition.getType()).getIntOrFloatBitWidth();
  if (width == 64)
    return all;
  auto [least, greatest] = range(access.form(condition), shape);
  all = both(all, compare(sge, least, -(int64_t(1) << (width - 1))));
  return both(all, compare(slt, greatest, int64_t(1) << (width - 1)));
}

} // namespace tegula::transforms
