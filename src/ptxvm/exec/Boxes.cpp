#include "ptxvm/exec/Boxes.h"
#include "ptxvm/exec/TensorMap.h"

#include <algorithm>
#include <cstring>

namespace tegula::ptxvm {

namespace {

constexpr unsigned unit = 16;             // bytes
constexpr unsigned tensorAlignment = 128; // of a box in shared memory

class Move {
public:
  Move(Warp &w, const Op &op, const BulkOp &form, unsigned lane, AccessKind kind)
      : w_(w), op_(op), form_(form), lane_(lane), kind_(kind) {}

  std::optional<BulkMove> find() {
    const AccessForm *accesses = w_.block->program().accesses.data();
    std::byte *shared = resolveOne(w_, op_, accesses[form_.shared], lane_);
    if (!shared)
      return std::nullopt;
    first_ = uint64_t(shared - w_.block->shared.data());
    if (!(form_.isTensor ? addBox() : addBytes()) || !isInShared())
      return std::nullopt;
    return std::move(move_);
  }

private:
  bool refuse(FindingKind kind, const std::string &message) {
    addFinding(w_, op_, lane_, kind, message);
    return false;
  }
  bool writesGlobal() const { return kind_ != AccessKind::Load; }

  bool isInShared() {
    Block &block = *w_.block;
    uint64_t end = first_ + move_.bytes;
    if (end > block.shared.size())
      return refuse(FindingKind::OutOfBounds, (writesGlobal() ? "reads " : "writes ") +
                                                  std::to_string(move_.bytes) + " bytes at byte " +
                                                  std::to_string(first_) + " of shared memory, which has " +
                                                  std::to_string(block.shared.size()));
    auto next = block.phaseBarriers.lower_bound(end);
    if (next != block.phaseBarriers.begin() && std::prev(next)->first + sizeof(uint64_t) > first_)
      return refuse(FindingKind::PhaseMisuse,
                    std::string(writesGlobal() ? "reads" : "writes") + " bytes of an mbarrier that lives");
    return true;
  }

  bool isInBuffers(uint64_t address, uint64_t bytes) {
    const Range *range = findRange(w_.block->program(), address, bytes);
    if (!range)
      return refuse(FindingKind::OutOfBounds, (writesGlobal() ? "stores " : "copies ") +
                                                  std::to_string(bytes) +
                                                  " bytes of global memory that are in no buffer");
    if (writesGlobal() && !range->writable)
      return refuse(FindingKind::ReadOnly, "stores " + std::to_string(bytes) + " bytes of " + range->name);
    return true;
  }

  static uint64_t swizzled(uint64_t offset, unsigned swizzle) {
    return swizzle ? offset ^ (offset >> 3 & (swizzle / unit - 1) << 4) : offset;
  }

  // A row of a box: `row` is null where it lies outside of the tensor.
  void addRow(const TensorMap &map, uint64_t shared, std::byte *row, int64_t x) {
    int64_t size = map.elementBytes, begin = x * size, end = int64_t(map.extents[0]) * size;
    for (int64_t at = 0; at < map.rowBytes();) {
      bool isInside = row && begin + at >= 0 && begin + at < end;
      // To where inside and outside meet, at most to the next piece that is swizzled by itself.
      int64_t next = (at / unit + 1) * unit;
      for (int64_t edge : {-begin, end - begin})
        if (row && edge > at)
          next = std::min(next, edge);
      move_.pieces.push_back({swizzled(shared + uint64_t(at), map.swizzle),
                              isInside ? row + begin + at : nullptr, uint32_t(next - at)});
      at = next;
    }
  }

  // The copies read maps by a way of their own to memory, which other writes reach by a fence alone.
  // Constants and a kernel's parameters do not change while it runs.
  void askForFence(const std::byte *map) {
    const Block &block = *w_.block;
    const Range *range = findRange(block.program(), reinterpret_cast<uint64_t>(map), sizeof(TensorMap));
    if (range && !range->isConst && !block.fencedMaps.contains(map))
      addFinding(w_, op_, lane_, FindingKind::MissingFence,
                 "its tensor map lies in " + range->name +
                     ", and no fence.proxy.tensormap of the block names it; in constant memory and among the "
                     "parameters it needs none");
  }

  // Rows of the box, innermost first.
  bool addBox() {
    const std::byte *bytes = resolveOne(w_, op_, w_.block->program().accesses[form_.global], lane_);
    if (!bytes)
      return false;
    askForFence(bytes);
    TensorMap map;
    std::memcpy(&map, bytes, sizeof map);
    unsigned rank = unsigned(form_.places.size());
    if (std::string problem = problemOf(map, rank); !problem.empty())
      return refuse(FindingKind::BadOperand, "its tensor map " + problem);
    std::array<int64_t, TensorMap::most> corner{};
    for (unsigned d = 0; d < rank; ++d)
      corner[d] = int32_t(w_.lanes<uint32_t>(form_.places[d])[lane_]);
    move_.bytes = map.boxBytes();
    move_.numberType = map.numberType;
    uint64_t rows = move_.bytes / map.rowBytes();
    for (uint64_t number = 0; number < rows; ++number) {
      uint64_t rest = number, address = map.address;
      bool isInside = true;
      for (unsigned d = 1; d < rank; ++d) {
        int64_t at = corner[d] + int64_t(rest % map.box[d]);
        rest /= map.box[d];
        isInside &= at >= 0 && at < int64_t(map.extents[d]);
        address += uint64_t(at) * map.strides[d - 1];
      }
      // Of a row what lies in the box.
      int64_t first = std::clamp<int64_t>(corner[0], 0, map.extents[0]),
              behind = std::clamp<int64_t>(corner[0] + map.box[0], 0, map.extents[0]);
      isInside &= first != behind;
      if (isInside && !isInBuffers(address + uint64_t(first) * map.elementBytes,
                                   uint64_t(behind - first) * map.elementBytes))
        return false;
      addRow(map, first_ + number * map.rowBytes(),
             isInside ? reinterpret_cast<std::byte *>(address) : nullptr, corner[0]);
    }
    return true;
  }

  bool addBytes() {
    move_.bytes = w_.lanes<uint32_t>(form_.places[0])[lane_];
    if (move_.bytes % unit)
      return refuse(FindingKind::BadOperand, (writesGlobal() ? "stores " : "copies ") +
                                                 std::to_string(move_.bytes) +
                                                 " bytes, which are no multiple of 16");
    if (move_.bytes == 0) // touches nothing
      return true;
    AccessForm global = w_.block->program().accesses[form_.global];
    global.size = uint32_t(move_.bytes);
    std::byte *at = resolveOne(w_, op_, global, lane_);
    if (at)
      move_.pieces.push_back({first_, at, uint32_t(move_.bytes)});
    return at;
  }

  Warp &w_;
  const Op &op_;
  const BulkOp &form_;
  unsigned lane_;
  AccessKind kind_;
  uint64_t first_ = 0; // in shared memory
  BulkMove move_;
};

uint32_t useBulk(Lowering &l, unsigned operand, AccessKind kind, Space space, uint32_t size,
                 uint32_t alignment) {
  AccessForm access = makeAccess(l, kind, l.operand(operand), space);
  access.size = size;
  access.count = 1;
  access.alignment = alignment;
  access.isBulk = true;
  l.program.accesses.push_back(access);
  return uint32_t(l.program.accesses.size() - 1);
}

void lower(Lowering &l, Handler run, BulkOp form, const BulkOperands &operands, uint32_t alignment) {
  form.shared = useBulk(l, operands.shared, AccessKind::Prefetch, Space::Shared, 1, alignment);
  if (operands.barrier) {
    form.barrier = useBulk(l, *operands.barrier, AccessKind::Prefetch, Space::Shared, 8, 8);
    l.program.accesses[form.barrier].isBarrier = true;
  }
  l.op.detail = uint32_t(l.program.bulks.size());
  l.op.run = run;
  l.program.bulks.push_back(std::move(form));
}

} // namespace

void addFinding(Warp &w, const Op &op, unsigned lane, FindingKind kind, std::string message,
                std::optional<Site> other) {
  w.block->findings().add(kind, std::move(message), siteOf(w, op.instruction, lane), other);
}

std::byte *resolveOne(Warp &w, const Op &op, AccessForm access, unsigned lane) {
  std::byte *bytes[warpSize] = {};
  return resolve(w, op, access, 1u << lane, nullptr, bytes) ? bytes[lane] : nullptr;
}

std::optional<BulkMove> moveOf(Warp &w, const Op &op, const BulkOp &form, unsigned lane, AccessKind global) {
  return Move(w, op, form, lane, global).find();
}

void tellAccess(Warp &w, uint32_t instruction, unsigned lane, const BulkPiece &piece, Space space,
                AccessKind kind) {
  uint64_t addresses[warpSize] = {};
  std::byte *bytes[warpSize] = {};
  bool isShared = space == Space::Shared;
  bytes[lane] = isShared ? w.block->shared.data() + piece.shared : piece.global;
  addresses[lane] = isShared ? piece.shared : reinterpret_cast<uint64_t>(piece.global);
  MemoryEvent event;
  event.instruction = instruction;
  event.space = space;
  event.kind = kind;
  event.isBulk = true;
  event.isOperand = isShared && kind == AccessKind::Load;
  if (kind == AccessKind::Reduction) { // each of an element is by itself
    event.semantics = Semantics::Relaxed;
    event.scope = Scope::Gpu;
  }
  event.width = piece.bytes;
  event.mask = 1u << lane;
  event.addresses = addresses;
  event.bytes = bytes;
  for (Observer *observer : w.block->observers())
    observer->memory(idOf(w), event);
}

void lowerBulk(Lowering &l, Handler run, BulkOperands operands) {
  BulkOp form;
  // Told of as an access when it runs; of a box the pieces are (tellAccess).
  AccessKind kind = operands.barrier ? AccessKind::Load : AccessKind::Store;
  form.global = useBulk(l, operands.global, kind, Space::Global, 1, unit);
  form.places.push_back(l.place(operands.size, Type::U32));
  lower(l, run, std::move(form), operands, unit);
}

void lowerTensor(Lowering &l, Handler run, BulkOperands operands) {
  BulkOp form;
  form.isTensor = true;
  form.global =
      useBulk(l, operands.global, AccessKind::Load, Space::Generic, sizeof(TensorMap), TensorMap::alignment);
  const Operand &map = l.operand(operands.global);
  for (uint32_t i = 1; i < map.count; ++i)
    form.places.push_back(l.place(l.kernel().parts[map.first + i], Type::U32));
  lower(l, run, std::move(form), operands, tensorAlignment);
}

} // namespace tegula::ptxvm
