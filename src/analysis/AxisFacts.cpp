#include "analysis/AxisFacts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

int64_t powerOfTwoIn(int64_t value) {
  return value == 0 ? int64_t(1) << 62 : int64_t(1) << std::min(62, llvm::countr_zero(uint64_t(value)));
}

unsigned bitsInMemory(Type element) {
  if (isa<PointerType>(element) || element.isIndex())
    return 64;
  return std::max(8u, element.getIntOrFloatBitWidth());
}

int64_t AxisFact::divisibilityAt(unsigned d, int64_t group) const {
  const Dimension &dim = dims[d];
  return group >= dim.contiguity ? dim.divisibility : std::min(dim.divisibility, group * powerOfTwoIn(step));
}

int64_t AxisFact::divisibilityOfAll() const {
  int64_t most = 1;
  for (unsigned d = 0; d < dims.size(); ++d)
    most = std::max(most, divisibilityAt(d, 1));
  return most;
}

AxisInfo AxisFact::info() const {
  AxisInfo info;
  for (const Dimension &dim : dims) {
    info.contiguity.push_back(dim.contiguity);
    info.divisibility.push_back(dim.divisibility);
    info.constancy.push_back(dim.constancy);
  }
  info.constant = constant;
  return info;
}

AxisFact unknownFact(Value value) {
  AxisFact fact;
  fact.dims.resize(std::max<size_t>(1, shapeOf(value.getType()).size()));
  if (auto pointer = dyn_cast<PointerType>(elementType(value.getType())))
    fact.step = bitsInMemory(pointer.getPointee()) / 8;
  return fact;
}

AxisFact constantFact(Value value, int64_t constant, unsigned bits) {
  AxisFact fact = unknownFact(value);
  fact.constant = bits == 1 ? constant & 1 : llvm::SignExtend64(uint64_t(constant), bits);
  fact.nonNegative = bits != 1 && *fact.constant >= 0;
  auto shape = shapeOf(value.getType());
  for (auto [d, dim] : llvm::enumerate(fact.dims)) {
    dim.divisibility = powerOfTwoIn(*fact.constant);
    dim.constancy = shape.empty() ? 1 : int64_t(llvm::PowerOf2Ceil(shape[d]));
  }
  return fact;
}

AxisFact joinFacts(const AxisFact &a, const AxisFact &b) {
  assert(a.dims.size() == b.dims.size());
  AxisFact result = a;
  for (unsigned d = 0; d < a.dims.size(); ++d) {
    auto &dim = result.dims[d];
    dim.contiguity = std::min(a.dims[d].contiguity, b.dims[d].contiguity);
    dim.constancy = std::min(a.dims[d].constancy, b.dims[d].constancy);
    dim.divisibility = std::min(a.divisibilityAt(d, dim.contiguity), b.divisibilityAt(d, dim.contiguity));
  }
  if (a.constant != b.constant)
    result.constant.reset();
  result.nonNegative = a.nonNegative && b.nonNegative;
  return result;
}

void normalizeFact(AxisFact &fact, ArrayRef<int64_t> shape) {
  for (auto [d, dim] : llvm::enumerate(fact.dims)) {
    // A group that holds the whole extent starts at index 0, however large it is.
    int64_t whole = shape.empty() ? 1 : int64_t(llvm::PowerOf2Ceil(shape[d]));
    dim.contiguity = std::min(dim.contiguity, whole);
    dim.constancy = std::min(dim.constancy, whole);
  }
  int64_t all = fact.divisibilityOfAll();
  for (auto &dim : fact.dims)
    dim.divisibility = std::max(dim.divisibility, all);
}

} // namespace tegula::analysis
