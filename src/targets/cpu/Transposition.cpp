#include "targets/cpu/Transposition.h"

#include "ir/tile/Tile.h"
#include "ir/tile/Volatile.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// The dimension of the nest along which the tile is contiguous, unless that is the lanes'.
std::optional<unsigned> contiguousAcross(ProgramEmitter &p, const Nest &nest, const NestRead &read) {
  Type element = elementType(read.tile.getType());
  if (element.isInteger(1) || isa<PointerType>(element) || !llvm::is_contained(read.map, int8_t(nest.lane)))
    return std::nullopt;
  auto shape = shapeOf(read.tile.getType());
  if (p.plan.buffer(read.tile)) {
    for (size_t d = shape.size(); d-- > 0;)
      if (shape[d] != 1)
        return read.map[d] >= 0 && read.map[d] != int8_t(nest.lane) ? std::optional<unsigned>(read.map[d])
                                                                    : std::nullopt;
    return std::nullopt;
  }
  auto load = cast<LoadOp>(read.tile.getDefiningOp());
  const Address *address = p.access.address(load.getPtr());
  if (load.getIsVolatile() || !address)
    return std::nullopt;
  std::optional<unsigned> found;
  for (auto [d, stride] : llvm::enumerate(address->offset.strides)) {
    bool isLane = read.map[d] == int8_t(nest.lane);
    if (isLane && (!Evaluator::usesForm(address, d) || stride.isZero()))
      return std::nullopt;
    if (stride.constant() != elementBytes(load.getPtr()) || read.map[d] < 0)
      continue;
    if (isLane)
      return std::nullopt;
    if (Evaluator::usesForm(address, d))
      found = read.map[d];
  }
  return found;
}

llvm::Value *shuffle(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y, unsigned lanes,
                     llvm::function_ref<unsigned(unsigned)> from) {
  SmallVector<int, 32> mask;
  for (unsigned i = 0; i < lanes; ++i)
    mask.push_back(int(from(i)));
  return b.CreateShuffleVector(x, y, mask);
}

} // namespace

std::optional<Transposition> pickTransposition(ProgramEmitter &program, const Nest &nest,
                                               const NestAccesses &accesses,
                                               const llvm::DenseSet<Value> &saved) {
  int64_t lanes = program.machine.lanes();
  bool isElementwise =
      llvm::none_of(nest.roots, [](const Root &root) { return root.kind == RootKind::Reduce; });
  if (!isElementwise || nest.inner || nest.shape[nest.lane] % lanes != 0)
    return std::nullopt;
  SmallVector<NestRead, 8> reads(accesses.reads.begin(), accesses.reads.end());
  for (const NestAccess &load : accesses.loads)
    if (Value tile = load.op->getResult(0); !saved.contains(tile))
      reads.push_back({tile, load.map});
  std::optional<Transposition> result;
  for (const NestRead &read : reads) {
    auto dim = contiguousAcross(program, nest, read);
    if (!dim || nest.shape[*dim] % lanes != 0 || (result && result->dim != *dim))
      continue;
    if (!result)
      result = Transposition{*dim, {}};
    result->tiles.push_back(read);
  }
  return result;
}

// Within 128 bits x86 interleaves two vectors in one instruction, whatever the elements; from then on whole
// 128 bits move. Interleaving rows that are half of the rows apart, again and again, transposes; so does
// taking the even and the odd ones of neighbours.
llvm::SmallVector<llvm::Value *, 16> transpose(llvm::IRBuilder<> &b, ArrayRef<llvm::Value *> rows) {
  unsigned lanes = rows.size();
  unsigned bits = rows[0]->getType()->getScalarSizeInBits();
  unsigned part = std::min(lanes, std::max(1u, 128 / bits)), parts = lanes / part;
  SmallVector<llvm::Value *, 16> now(rows), next(lanes);
  for (unsigned stage = 1; stage < part; stage *= 2) {
    for (unsigned block = 0; block < lanes; block += part)
      for (unsigned i = 0; i < part / 2; ++i)
        for (unsigned high : {0u, 1u})
          next[block + 2 * i + high] =
              shuffle(b, now[block + i], now[block + i + part / 2], lanes, [&](unsigned lane) {
                unsigned start = lane / part * part, in = lane % part;
                return (in % 2) * lanes + start + high * part / 2 + in / 2;
              });
    std::swap(now, next);
  }
  // Row block·part + c now has elements of column (its part)·part + c.
  for (unsigned stage = 1; stage < parts; stage *= 2) {
    for (unsigned c = 0; c < part; ++c)
      for (unsigned i = 0; i < parts / 2; ++i)
        for (unsigned odd : {0u, 1u})
          next[(i + odd * parts / 2) * part + c] =
              shuffle(b, now[2 * i * part + c], now[(2 * i + 1) * part + c], lanes, [&](unsigned lane) {
                unsigned which = lane / part, in = lane % part;
                return (which / (parts / 2)) * lanes + (which % (parts / 2) * 2 + odd) * part + in;
              });
    std::swap(now, next);
  }
  return now;
}

// The first half of a vector with that of the one half of the vectors behind it, then the second halves;
// again and again.
llvm::SmallVector<llvm::Value *, 8> interleave(llvm::IRBuilder<> &b, ArrayRef<llvm::Value *> vectors) {
  unsigned lanes = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements();
  SmallVector<llvm::Value *, 8> now(vectors), next(vectors.size());
  size_t apart = vectors.size() / 2;
  for (size_t stage = 1; stage < vectors.size(); stage *= 2) {
    for (size_t i = 0; i < apart; ++i)
      for (unsigned half : {0u, 1u})
        next[2 * i + half] = shuffle(b, now[i], now[i + apart], lanes, [&](unsigned lane) {
          return half * lanes / 2 + lane / 2 + lane % 2 * lanes;
        });
    std::swap(now, next);
  }
  return now;
}

} // namespace tegula::cpu
