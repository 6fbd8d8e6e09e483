#include "targets/nvidia/NvidiaMachine.h"

using namespace mlir;

namespace tegula::nvidia {

namespace {

enum class Element { F16, BF16, F32, F64, E4M3, E5M2, I8, I32 };

bool is(Element element, Type type) {
  switch (element) {
  case Element::F16: return type.isF16();
  case Element::BF16: return type.isBF16();
  case Element::F32: return type.isF32();
  case Element::F64: return type.isF64();
  case Element::E4M3: return isa<Float8E4M3FNType>(type);
  case Element::E5M2: return isa<Float8E5M2Type>(type);
  case Element::I8: return type.isInteger(8);
  case Element::I32: return type.isInteger(32);
  }
  return false;
}

struct Row {
  const char *name;
  Element a, b, result;
  unsigned m, n, k, bits, capability;
};

constexpr Row rows[] = {
#define MMA(name, a, b, result, m, n, k, bits, capability, intrinsic)                                        \
  {name, Element::a, Element::b, Element::result, m, n, k, bits, capability},
#include "targets/nvidia/Mma.def"
#undef MMA
};

// Of four warps.
constexpr Row rowsOfFour[] = {
#define WGMMA(name, a, b, result, k, bits, types)                                                            \
  {name, Element::a, Element::b, Element::result, 16, 8, k, bits, 90},
#include "targets/nvidia/Wgmma.def"
#undef WGMMA
};

constexpr unsigned oddColumns = 24; // of products of integers

} // namespace

NvidiaMachine::NvidiaMachine(const Architecture &architecture) : capability_(architecture.capability) {
  sharedBytes = architecture.sharedBytes;
  hasMatrixLoad = capability_ >= 75;
  hasAsyncCopy = capability_ >= 80;
  // Of the form with a suffix alone.
  hasGroupDots = capability_ == 90 && architecture.name.ends_with("a");
  hasBulkCopy = hasGroupDots;
}

unsigned NvidiaMachine::addedAtOnce(Type element) const {
  return atomicAddWidth(capability_, element.isF16()    ? Added::F16
                                     : element.isBF16() ? Added::BF16
                                     : element.isF32()  ? Added::F32
                                                        : Added::Other);
}

bool NvidiaMachine::computesTwo(Type element) const {
  return element.isF16() || (element.isBF16() && capability_ >= 80); // up to 89 sums are fma
}

std::vector<simt::MatrixInstruction> NvidiaMachine::matrixInstructions(const simt::DotTypes &types) const {
  std::vector<simt::MatrixInstruction> result;
  // Only 32-bit floats may be rounded before they are multiplied.
  bool isExact = types.precision != tile::Precision::TF32 && types.precision != tile::Precision::TF32x3;
  if (types.a.isF32() && isExact)
    return result;
  auto fits = [&](const Row &row) {
    // Results of 16 bits are kept as 32 within a dot and rounded once.
    bool isSum = is(row.result, types.result) || (row.result == Element::F32 && types.result.isF16());
    return isSum && is(row.a, types.a) && is(row.b, types.b);
  };
  for (const Row &row : rowsOfFour)
    if (hasGroupDots && fits(row) && types.precision != tile::Precision::TF32x3)
      result.push_back(
          {row.name, {row.m, row.n, row.k, row.bits, false, 4}, row.result == Element::I32 ? oddColumns : 0});
  for (const Row &row : rows)
    if (capability_ >= row.capability && fits(row))
      result.push_back({row.name, {row.m, row.n, row.k, row.bits, false}});
  return result;
}

} // namespace tegula::nvidia
