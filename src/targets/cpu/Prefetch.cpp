#include "targets/cpu/Prefetch.h"

#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// Half a page: processors follow a stream within one only.
constexpr int64_t farBytes = 2048;

// The bytes by which the address of the whole tile moves from trip to trip, where that is one step of the
// index.
std::optional<Polynomial> wayOfTrip(const Polynomial &base, scf::ForOp loop) {
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return std::nullopt;
  Polynomial way;
  for (const Monomial &term : base.terms()) {
    Polynomial rest(term.coefficient);
    unsigned found = 0;
    for (const Factor &factor : term.factors) {
      if (factor.value == loop.getInductionVar()) {
        ++found;
        continue;
      }
      Operation *made = factor.value.getDefiningOp();
      if (factor.isTile() || (made && loop->isProperAncestor(made)))
        return std::nullopt;
      auto product = Polynomial::multiply(rest, Polynomial(factor));
      if (!product)
        return std::nullopt;
      rest = *product;
    }
    auto sum = found == 1 ? Polynomial::add(way, rest) : way;
    if (found > 1 || !sum)
      return std::nullopt;
    way = *sum;
  }
  return way.scaled(step.getSExtValue());
}

// The bytes from one row of the nest's inner dimension to the next, if the loop goes on with the rows behind
// it.
std::optional<Polynomial> rowOfStrip(ProgramEmitter &p, const Nest &nest, const NestAccess &memory) {
  const Address *address = p.access.address(memory.pointers);
  auto loop = memory.op->getParentOfType<scf::ForOp>();
  if (!address || !loop)
    return std::nullopt;
  std::optional<Polynomial> row;
  for (auto [d, dim] : llvm::enumerate(memory.map)) {
    const Polynomial &stride = address->offset.strides[d];
    if (dim == int8_t(nest.lane) && stride.constant() != elementBytes(memory.pointers))
      return std::nullopt;
    if (dim == int8_t(*nest.inner) && !stride.hasTiles())
      row = stride;
  }
  auto way = wayOfTrip(address->offset.base, loop);
  auto tile = row ? row->scaled(nest.shape[*nest.inner]) : std::nullopt;
  return way && tile && *way == *tile && !way->isZero() ? row : std::nullopt;
}

} // namespace

Prefetch emitPrefetch(ProgramEmitter &p, const Nest &nest, const NestAccesses &accesses) {
  Prefetch result;
  if (!nest.inner)
    return result;
  auto &b = p.builder;
  Evaluator evaluator(p, 1, true);
  evaluator.pushLevel();
  for (const NestAccess &memory : accesses.loads) {
    std::optional<Polynomial> row = rowOfStrip(p, nest, memory);
    if (!row)
      continue;
    llvm::Value *bytes = evaluator.polynomial(*row, {});
    llvm::Value *isFar = b.CreateICmpSGE(bytes, b.getInt64(farBytes));
    result.condition = result.condition ? b.CreateAnd(result.condition, isFar) : isFar;
    result.ways[memory.op] = b.CreateMul(bytes, b.getInt64(nest.shape[*nest.inner]));
    p.remark(memory.op, "access",
             "rows of the next trip are prefetched where they are " + std::to_string(farBytes >> 10) +
                 " KiB or more apart");
  }
  return result;
}

} // namespace tegula::cpu
