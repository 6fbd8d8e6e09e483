#include "analysis/Forms.h"
#include "ir/tile/Tile.h"

#include <cmath>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

// Can arithmetic behind this integer have wrapped? What only repeats scalars or counts cannot.
bool mayWrap(Value integer) {
  Operation *op = integer.getDefiningOp();
  while (op && coordinateMap(op))
    op = op->getOperand(0).getDefiningOp();
  return op && !isa<SplatOp, MakeRangeOp, arith::ConstantOp, LoadOp>(op);
}

} // namespace

bool isSmall(const Form &form, const Limits &limits) {
  size_t terms = form.base.terms().size();
  for (const Polynomial &stride : form.strides)
    terms += stride.terms().size();
  return terms <= limits.terms && form.conditions.size() <= limits.conditions;
}

Form constantForm(int64_t number, size_t rank) {
  Form form;
  form.base = Polynomial(number);
  form.strides.resize(rank);
  return form;
}

Form remap(const Form &form, ArrayRef<int8_t> map, size_t resultRank) {
  Form result;
  result.conditions = form.conditions;
  // A dimension of extent 1 has index 0: its stride does not matter.
  result.base = form.base.remapped(map);
  result.strides.resize(resultRank);
  for (auto [d, stride] : llvm::enumerate(form.strides))
    if (map[d] >= 0)
      result.strides[map[d]] = stride.remapped(map);
  return result;
}

std::optional<Form> combine(const Form &a, const Form &b, int64_t scaleB) {
  Form result;
  auto addScaled = [&](const Polynomial &x, const Polynomial &y) -> std::optional<Polynomial> {
    auto scaled = y.scaled(scaleB);
    return scaled ? Polynomial::add(x, *scaled) : std::nullopt;
  };
  auto base = addScaled(a.base, b.base);
  if (!base)
    return std::nullopt;
  result.base = *base;
  for (auto [x, y] : llvm::zip(a.strides, b.strides)) {
    auto stride = addScaled(x, y);
    if (!stride)
      return std::nullopt;
    result.strides.push_back(*stride);
  }
  result.conditions = a.conditions;
  addConditions(result, b.conditions);
  return result;
}

std::optional<Form> difference(const Form &a, const Form &b, int64_t slack) {
  auto result = combine(a, b, -1);
  auto base = result ? Polynomial::add(result->base, Polynomial(slack)) : std::nullopt;
  if (!base || !isSmall(*result))
    return std::nullopt;
  result->base = *base;
  return result;
}

std::optional<Form> multiply(const Form &a, const Form &b) {
  const Form &uniform = isUniform(b) ? b : a, &other = isUniform(b) ? a : b;
  if (!isUniform(uniform))
    return std::nullopt;
  // (base + Σ s·i)·u with u varying over the tile is not affine in i unless s is zero
  // wherever u varies; a factor that varies is allowed, since strides may hold factors.
  Form result;
  auto base = Polynomial::multiply(other.base, uniform.base);
  if (!base)
    return std::nullopt;
  result.base = *base;
  for (auto [d, stride] : llvm::enumerate(other.strides)) {
    auto product = Polynomial::multiply(stride, uniform.base);
    if (!product || (!product->isZero() && product->dependsOn(d)))
      return std::nullopt;
    result.strides.push_back(*product);
  }
  result.conditions = a.conditions;
  addConditions(result, b.conditions);
  return result;
}

bool isUniform(const Form &form) {
  return llvm::all_of(form.strides, [](const Polynomial &stride) { return stride.isZero(); });
}

bool isSomewhereNotBelowZero(const Form &form, ArrayRef<int64_t> shape) {
  std::optional<int64_t> base = form.base.constant();
  double greatest = base ? double(*base) : -HUGE_VAL;
  for (auto [stride, extent] : llvm::zip(form.strides, shape)) {
    std::optional<int64_t> step = stride.constant();
    greatest += step ? std::max(double(*step) * double(extent - 1), 0.0) : -HUGE_VAL;
  }
  return greatest >= 0;
}

void addCondition(Form &form, Value integer) {
  if (mayWrap(integer) && !llvm::is_contained(form.conditions, integer))
    form.conditions.push_back(integer);
}

void addConditions(Form &form, ArrayRef<Value> conditions) {
  for (Value condition : conditions)
    if (!llvm::is_contained(form.conditions, condition))
      form.conditions.push_back(condition);
}

} // namespace tegula::analysis
