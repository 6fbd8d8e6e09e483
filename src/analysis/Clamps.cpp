// Tiles that are one of their operands wherever that is within bounds.
#include "analysis/Forms.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

std::optional<Clamp> AccessAnalysis::clamp(Value value) {
  Operation *op = throughClamps_ ? value.getDefiningOp() : nullptr;
  ArrayRef<int64_t> shape = shapeOf(value.getType());
  if (!op || shape.empty())
    return std::nullopt;
  std::optional<Clamp> clamp;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    clamp = clampOf(select);
  else if (isa<arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    clamp = clampBetween(op);
  bool mayHold = clamp && llvm::none_of(clamp->bounds, [&](const Form &bound) {
                   return isSomewhereNotBelowZero(bound, shape);
                 });
  return mayHold ? clamp : std::nullopt;
}

// Of `x % d`, `minimum(x, n)` and `maximum(x, n)`, the other operand the same in the whole tile.
std::optional<Clamp> AccessAnalysis::clampBetween(Operation *op) {
  bool isRemainder = isa<arith::RemSIOp>(op);
  unsigned inside = !isRemainder && isUniform(form(op->getOperand(0))) ? 1 : 0;
  const Form &x = form(op->getOperand(inside));
  Form limit = form(op->getOperand(1 - inside));
  addCondition(limit, op->getOperand(1 - inside));
  if (!isUniform(limit) || (isUniform(x) && !isRemainder))
    return std::nullopt;
  SmallVector<std::optional<Form>, 2> bounds;
  if (!isa<arith::MaxSIOp>(op))
    bounds.push_back(difference(x, limit, isRemainder ? 0 : -1));
  if (isRemainder)
    bounds.push_back(difference(constantForm(0, x.strides.size()), x, -1));
  if (isa<arith::MaxSIOp>(op))
    bounds.push_back(difference(limit, x, -1));
  Clamp clamp{op->getOperand(inside), {}};
  for (std::optional<Form> &bound : bounds)
    if (bound)
      clamp.bounds.push_back(std::move(*bound));
  return clamp.bounds.size() == bounds.size() ? std::optional(clamp) : std::nullopt;
}

// Of `where(x < n, x, n - 1)`, or with the one bound the other way round.
std::optional<Clamp> AccessAnalysis::clampOf(arith::SelectOp select) {
  if (!elementType(select.getType()).isInteger() || shapeOf(select.getCondition().getType()).empty())
    return std::nullopt;
  Clamp clamp{select.getTrueValue(), {}};
  for (Conjunct &conjunct : conjuncts(select.getCondition())) {
    if (!conjunct.form)
      return std::nullopt;
    clamp.bounds.push_back(std::move(*conjunct.form));
  }
  if (isUniform(form(clamp.inside)) && clamp.bounds.size() == 1) {
    clamp.inside = select.getFalseValue();
    Form &bound = clamp.bounds[0];
    auto negated = difference(constantForm(0, bound.strides.size()), bound, -1);
    if (!negated)
      return std::nullopt;
    bound = *negated;
  }
  return isUniform(form(clamp.inside)) ? std::nullopt : std::optional(clamp);
}

} // namespace tegula::analysis
