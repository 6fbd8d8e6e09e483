#include "ir/simt/KnownIndices.h"
#include "ir/simt/Scratch.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;
using llvm::KnownBits;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

constexpr unsigned coordinateBits = 32, mostFollowed = 64; // ops behind an index, each as often as it is met

using Coordinates = llvm::SmallVector<KnownBits, 3>; // by dimension

// Of the elements that a register holds: bits that lanes, warps and blocks move are theirs.
Coordinates coordinatesOf(const Layout &layout, unsigned reg) {
  uint32_t moved = 0, image = layout.apply(reg, 0, 0);
  for (Axis axis : {Axis::Lane, Axis::Warp, Axis::Block})
    for (uint32_t basis : layout.bases(axis))
      moved |= basis;
  Coordinates result;
  for (unsigned d = 0; d != layout.rank(); ++d) {
    uint32_t mask = uint32_t(layout.hull(d) - 1), unknown = (moved >> layout.shift(d)) & mask;
    uint32_t ones = (image >> layout.shift(d)) & mask & ~unknown;
    KnownBits known(coordinateBits);
    known.One = APInt(coordinateBits, ones);
    known.Zero = APInt(coordinateBits, ~(ones | unknown));
    result.push_back(known);
  }
  return result;
}

std::optional<KnownBits> ofBinary(Operation *op, const KnownBits &a, const KnownBits &b) {
  if (isa<arith::AddIOp>(op))
    return KnownBits::add(a, b);
  if (isa<arith::SubIOp>(op))
    return KnownBits::sub(a, b);
  if (isa<arith::MulIOp>(op))
    return KnownBits::mul(a, b);
  if (isa<arith::RemSIOp>(op))
    return KnownBits::srem(a, b);
  if (isa<arith::RemUIOp>(op))
    return KnownBits::urem(a, b);
  if (isa<arith::DivUIOp>(op))
    return KnownBits::udiv(a, b);
  if (isa<arith::DivSIOp>(op))
    return KnownBits::sdiv(a, b);
  if (isa<arith::AndIOp>(op))
    return a & b;
  if (isa<arith::OrIOp>(op))
    return a | b;
  if (isa<arith::XOrIOp>(op))
    return a ^ b;
  if (isa<arith::ShLIOp>(op))
    return KnownBits::shl(a, b);
  if (isa<arith::ShRUIOp>(op))
    return KnownBits::lshr(a, b);
  if (isa<arith::ShRSIOp>(op))
    return KnownBits::ashr(a, b);
  return std::nullopt;
}

// Coordinates of the operand that a view takes its element from; none for other ops.
std::optional<Coordinates> behindView(Operation *op, Coordinates at) {
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    at.erase(at.begin() + expand.getAxis());
    return at;
  }
  if (isa<BroadcastOp>(op)) {
    for (auto [known, extent] : llvm::zip(at, shapeOf(op->getOperand(0).getType())))
      if (extent == 1)
        known = KnownBits::makeConstant(APInt(coordinateBits, 0));
    return at;
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    Coordinates result = at;
    for (auto [d, from] : llvm::enumerate(trans.getOrder()))
      result[size_t(from)] = at[d];
    return result;
  }
  return isa<ConvertOp>(op) ? std::optional(at) : std::nullopt;
}

// `left`: how many more ops may be looked at.
KnownBits known(Value value, const Coordinates &at, unsigned &left) {
  const unsigned bits = elementType(value.getType()).getIntOrFloatBitWidth();
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return KnownBits::makeConstant(number);
  Operation *op = value.getDefiningOp();
  if (!op || left == 0)
    return KnownBits(bits);
  --left;
  if (isa<SplatOp>(op))
    return known(op->getOperand(0), {}, left);
  if (!isTile(value))
    return KnownBits(bits);
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return KnownBits::add(at[0], KnownBits::makeConstant(APInt(coordinateBits, range.getStart())));
  if (std::optional<Coordinates> behind = behindView(op, at))
    return known(op->getOperand(0), *behind, left);
  if (isa<arith::ExtSIOp>(op))
    return known(op->getOperand(0), at, left).sext(bits);
  if (isa<arith::ExtUIOp>(op))
    return known(op->getOperand(0), at, left).zext(bits);
  if (isa<arith::TruncIOp>(op))
    return known(op->getOperand(0), at, left).trunc(bits);
  bool isInteger = llvm::all_of(op->getOperandTypes(), [&](Type type) { return type == value.getType(); });
  if (op->getNumOperands() == 2 && op->getNumResults() == 1 && isInteger) {
    KnownBits a = known(op->getOperand(0), at, left), b = known(op->getOperand(1), at, left);
    if (std::optional<KnownBits> result = ofBinary(op, a, b))
      return *result;
  }
  return KnownBits(bits);
}

} // namespace

KnownBits knownBits(Value tile, unsigned reg) {
  unsigned left = mostFollowed;
  return known(tile, coordinatesOf(layoutOf(tile), reg), left);
}

SmallVector<unsigned> gatheredFrom(GatherOp op, unsigned reg) {
  Layout source = layoutOf(op.getSource()), result = layoutOf(op.getResult());
  Coordinates at = coordinatesOf(result, reg);
  at[unsigned(op.getAxis())] = knownBits(op.getIndices(), reg).zextOrTrunc(coordinateBits);
  uint32_t ones = 0, zeros = 0; // of the flat coordinate in the source
  for (unsigned d = 0; d != source.rank(); ++d) {
    uint32_t mask = uint32_t(source.hull(d) - 1);
    ones |= (uint32_t(at[d].One.getZExtValue()) & mask) << source.shift(d);
    zeros |= (uint32_t(at[d].Zero.getZExtValue()) & mask) << source.shift(d);
  }
  uint32_t others = 0; // bits that the register's number does not decide alone
  for (Axis axis : {Axis::Lane, Axis::Warp, Axis::Block})
    for (uint32_t basis : source.bases(axis))
      others |= basis;
  SmallVector<unsigned> registers;
  for (unsigned each = 0; each != source.size(Axis::Register); ++each) {
    uint32_t image = source.apply(each, 0, 0);
    if ((image & zeros & ~others) == 0 && (~image & ones & ~others) == 0)
      registers.push_back(each);
  }
  if (registers.empty()) // what is known contradicts itself, of an index that no element has
    registers.push_back(0);
  return registers;
}

unsigned lanesOfABank(GatherOp op, unsigned reg) {
  constexpr unsigned bankBytes = 4;
  Layout result = layoutOf(op.getResult());
  unsigned bytes = storedBits(elementType(op.getType())) / 8, axis = unsigned(op.getAxis());
  if (axis + 1 != result.rank())
    return 1;
  unsigned readers = 1; // lanes that take elements of one row
  for (uint32_t basis : result.bases(Axis::Lane))
    readers *= basis & result.dimMask(axis) ? 2 : 1;
  KnownBits index = knownBits(op.getIndices(), reg);
  unsigned equal = (index.One | index.Zero).countr_one();
  return std::max(1u, std::min(readers, (bytes << std::min(equal, 5u)) / bankBytes));
}

bool mixesBanks(GatherOp op) {
  constexpr unsigned many = 4, bytesOfBanks = 128;
  Layout source = layoutOf(op.getSource()), result = layoutOf(op.getResult());
  SmallVector<unsigned> live;
  llvm::append_range(live, result.liveRegisters());
  unsigned row = unsigned(source.hull(source.rank() - 1));
  return !live.empty() && row * storedBits(elementType(op.getType())) / 8 > bytesOfBanks &&
         lanesOfABank(op, live.front()) >= many;
}

} // namespace tegula::simt
