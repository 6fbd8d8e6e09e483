#include "targets/cpu/Prefetch.h"

#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// Half a page: processors follow a stream within one only.
constexpr int64_t farBytes = 2048;

// A scalar as a polynomial of what it is computed from. Its steps may wrap around: right for a hint only.
Polynomial unwrapped(ProgramEmitter &p, Value scalar, unsigned depth = 0) {
  Operation *op = scalar.getDefiningOp();
  if (depth < 8 && isa_and_nonnull<arith::ExtSIOp>(op))
    return unwrapped(p, op->getOperand(0), depth + 1);
  if (depth < 8 && isa_and_nonnull<arith::MulIOp>(op))
    if (auto product = Polynomial::multiply(unwrapped(p, op->getOperand(0), depth + 1),
                                            unwrapped(p, op->getOperand(1), depth + 1)))
      return *product;
  return p.access.form(scalar).base;
}

// The growth of a scalar from trip to trip, where that is the same in all of them: the index, what each trip
// adds something to that the loop does not change, and sums and products of them with what it does not
// change.
std::optional<Polynomial> growth(ProgramEmitter &p, Value scalar, scf::ForOp loop, unsigned depth = 0) {
  if (scalar == loop.getInductionVar())
    return p.access.form(loop.getStep()).base;
  if (loop.isDefinedOutsideOfLoop(scalar))
    return Polynomial();
  if (auto carried = dyn_cast<BlockArgument>(scalar); carried && carried.getOwner() == loop.getBody()) {
    auto next = loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp<arith::AddIOp>();
    if (!next)
      return std::nullopt;
    for (unsigned i : {0u, 1u}) {
      Value step = next->getOperand(1 - i);
      if (next->getOperand(i) == scalar && loop.isDefinedOutsideOfLoop(step))
        return unwrapped(p, step);
    }
    return std::nullopt;
  }
  Operation *op = scalar.getDefiningOp();
  if (depth == 8 || !isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp>(op))
    return std::nullopt;
  auto left = growth(p, op->getOperand(0), loop, depth + 1);
  if (!left || isa<arith::ExtSIOp>(op))
    return left;
  auto right = growth(p, op->getOperand(1), loop, depth + 1);
  if (!right)
    return std::nullopt;
  if (isa<arith::MulIOp>(op)) {
    if (!left->isZero() && !right->isZero())
      return std::nullopt;
    const Form &other = p.access.form(op->getOperand(right->isZero() ? 1 : 0));
    return Polynomial::multiply(right->isZero() ? *left : *right, other.base);
  }
  auto added = right->scaled(isa<arith::SubIOp>(op) ? -1 : 1);
  return added ? Polynomial::add(*left, *added) : std::nullopt;
}

// The bytes by which the address of the whole tile moves from trip to trip.
std::optional<Polynomial> wayOfTrip(ProgramEmitter &p, const Polynomial &base, scf::ForOp loop) {
  Polynomial way;
  for (const Monomial &term : base.terms()) {
    Polynomial product(term.coefficient);
    bool moves = false;
    for (const Factor &factor : term.factors) {
      auto grown = factor.isTile() ? std::nullopt : growth(p, factor.value, loop);
      if (!grown || (moves && !grown->isZero()))
        return std::nullopt;
      moves |= !grown->isZero();
      auto next = Polynomial::multiply(product, grown->isZero() ? Polynomial(factor) : *grown);
      if (!next)
        return std::nullopt;
      product = *next;
    }
    auto sum = moves ? Polynomial::add(way, product) : way;
    if (!sum)
      return std::nullopt;
    way = *sum;
  }
  return way;
}

// Each trip of the loop reads rows that are `bytes` apart, and the next one all of it `way` bytes further on.
struct Rows {
  Polynomial bytes, way;
  scf::ForOp loop;
};

// The next trip goes on with the rows behind these, or with `alongRows` with what follows in each.
std::optional<Rows> rowsOfStrip(ProgramEmitter &p, const Nest &nest, const NestAccess &memory,
                                unsigned contiguous, bool alongRows) {
  const Address *address = p.access.address(memory.pointers);
  auto loop = memory.op->getParentOfType<scf::ForOp>();
  if (!address || !loop)
    return std::nullopt;
  auto way = wayOfTrip(p, address->offset.base, loop);
  if (!way || way->isZero())
    return std::nullopt;
  std::optional<Rows> rows;
  SmallVector<Rows, 2> others;
  bool goesAlong = false;
  int64_t bytes = elementBytes(memory.pointers);
  for (auto [d, dim] : llvm::enumerate(memory.map)) {
    const Polynomial &stride = address->offset.strides[d];
    if (dim == int8_t(contiguous)) {
      if (stride.constant() != bytes)
        return std::nullopt;
      goesAlong = alongRows && way->constant() == bytes * nest.shape[contiguous];
      continue;
    }
    if (dim < 0 || (nest.inner && dim != int8_t(*nest.inner)) || stride.hasTiles())
      continue;
    if (stride.scaled(nest.shape[size_t(dim)]) == way)
      rows = {stride, *way, loop};
    others.push_back({stride, *way, loop});
  }
  return !rows && goesAlong && others.size() == 1 ? others.front() : rows;
}

// Behind the last trip's rows may lie others that nobody reads.
llvm::Value *hasNextTrip(ProgramEmitter &p, scf::ForOp loop) {
  auto &b = p.builder;
  llvm::Value *next = b.CreateAdd(p.scalar(loop.getInductionVar()), p.scalar(loop.getStep()));
  return b.CreateICmpSLT(next, p.scalar(loop.getUpperBound()));
}

bool isFactor(const Root &root) {
  return root.kind == RootKind::Buffer && llvm::any_of(root.value.getUsers(), llvm::IsaPred<DotOp>);
}

// Reductions over rows, tiles that a loop carries on: sums of rows that are reduced behind it, and factors of
// products.
bool sumsRows(const Nest &nest) {
  auto isSummed = [](const Root &root) {
    return root.kind == RootKind::Buffer && llvm::any_of(root.value.getUsers(), [](Operation *user) {
             return isa<scf::YieldOp, DotOp>(user);
           });
  };
  return nest.inner ? llvm::all_of(nest.roots, [](const Root &root) { return root.kind == RootKind::Reduce; })
                    : llvm::all_of(nest.roots, isSummed);
}

} // namespace

Prefetch emitPrefetch(ProgramEmitter &p, const Nest &nest, const NestAccesses &accesses,
                      unsigned contiguous) {
  Prefetch result;
  if (!sumsRows(nest))
    return result;
  bool alongRows = llvm::all_of(nest.roots, isFactor);
  auto &b = p.builder;
  Evaluator evaluator(p, 1, true);
  evaluator.pushLevel();
  for (const NestAccess &memory : accesses.loads) {
    std::optional<Rows> rows = rowsOfStrip(p, nest, memory, contiguous, alongRows);
    if (!rows)
      continue;
    llvm::Value *bytes = evaluator.polynomial(rows->bytes, {});
    llvm::Value *isFar = b.CreateICmpSGE(bytes, b.getInt64(farBytes));
    llvm::Value *isWanted = b.CreateAnd(isFar, hasNextTrip(p, rows->loop));
    result.condition = result.condition ? b.CreateAnd(result.condition, isWanted) : isWanted;
    result.ways[memory.op] = evaluator.polynomial(rows->way, {});
    p.remark(memory.op, "access",
             "rows of the next trip are prefetched where they are " + std::to_string(farBytes >> 10) +
                 " KiB or more apart");
  }
  return result;
}

} // namespace tegula::cpu
