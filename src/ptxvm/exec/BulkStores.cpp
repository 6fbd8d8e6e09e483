// cp.async.bulk and cp.async.bulk.tensor from shared to global memory, and their groups, which are each
// lane's own. When a store reads and when it writes is the choice of an adversary (Launch::copies): it reads
// between its issue and the moment when its lane has waited for that, and writes until its lane has waited
// for all of it, or its block has ended. PTX ISA manual, "cp.async.bulk", "cp.async.bulk.tensor",
// "cp.async.bulk.commit_group", "cp.async.bulk.wait_group".
//
// A reading of the manual, the stricter one: a block does not end before its stores are read.
#include "ptxvm/exec/Boxes.h"
#include "ptxvm/exec/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <ranges>

namespace tegula::ptxvm {
namespace {

void read(Block &block, BulkStore &store) {
  if (store.isRead)
    return;
  store.isRead = true;
  for (const BulkPiece &piece : store.pieces) {
    const std::byte *from = block.shared.data() + piece.shared;
    store.data.insert(store.data.end(), from, from + piece.bytes);
  }
}

void write(Block &block, BulkStore &store) {
  read(block, store);
  if (store.isWritten)
    return;
  store.isWritten = true;
  const std::byte *data = store.data.data();
  for (const BulkPiece &piece : store.pieces) {
    if (store.update)
      for (uint32_t at = 0, size = byteSize(store.update->type); at != piece.bytes; at += size)
        reduceInto(piece.global + at, store.update->type, store.update->operation, data + at);
    else
      std::memcpy(piece.global, data, piece.bytes);
    data += piece.bytes;
  }
}

void tell(Block &block, const BulkStore &store, void (Observer::*what)(const WarpId &, const StoreEvent &)) {
  if (block.observers().empty())
    return;
  std::vector<StorePart> parts;
  for (const BulkPiece &piece : store.pieces)
    parts.push_back({piece.shared, reinterpret_cast<uint64_t>(piece.global), piece.bytes});
  for (Observer *observer : block.observers())
    (observer->*what)({block.worker->index, block.linear, store.warp},
                      {store.instruction, store.lane, store.number, parts, store.update.has_value()});
}

// Pieces that follow each other in global memory as one: a sector that two of them share is written once.
std::vector<BulkPiece> globalRuns(const std::vector<BulkPiece> &pieces) {
  std::vector<BulkPiece> runs;
  for (const BulkPiece &piece : pieces)
    if (!runs.empty() && runs.back().global + runs.back().bytes == piece.global)
      runs.back().bytes += piece.bytes;
    else
      runs.push_back(piece);
  return runs;
}

// By the number of a tensor map's type what cp.reduce does with its elements; nullopt: nothing.
std::optional<Update> updateOf(uint8_t numberType, Modifier operation) {
  if (numberType == 0 || numberType > std::size(TensorMap::numberTypes))
    return std::nullopt;
  Type type = TensorMap::numberTypes[numberType - 1];
  bool isSum = operation == Modifier::add, isCount = operation == Modifier::inc || operation == Modifier::dec;
  bool isExtremum = operation == Modifier::min || operation == Modifier::max;
  bool isHalf = type == Type::F16 || type == Type::BF16;
  bool isAllowed = kind(type) == TypeKind::Float ? isSum || (isExtremum && isHalf)
                   : isCount                     ? type == Type::U32
                                                 : byteSize(type) >= 4;
  return isAllowed ? std::optional(Update{type, operation}) : std::nullopt;
}

void issueOne(Warp &w, const Op &op, unsigned lane) {
  Block &block = *w.block;
  const BulkOp &form = block.program().bulks[op.detail];
  std::optional<BulkMove> move = moveOf(w, op, form, lane, AccessKind::Store);
  if (!move)
    return;
  std::optional<Update> update = op.flag ? updateOf(move->numberType, Modifier(op.mode)) : std::nullopt;
  if (op.flag && !update)
    return addFinding(w, op, lane, FindingKind::BadOperand,
                      move->numberType ? "reduces numbers of a type for which there is no such operation"
                                       : "reduces numbers of a type that its tensor map does not say");
  std::erase_if(move->pieces, [](const BulkPiece &piece) { return !piece.global; });
  BulkStore store;
  store.instruction = op.instruction;
  store.warp = w.index;
  store.lane = lane;
  store.number = block.nextStore++;
  store.group = w.committedStores[lane];
  store.pieces = std::move(move->pieces);
  store.update = update;
  for (const BulkPiece &piece : store.pieces)
    tellAccess(w, op.instruction, lane, piece, Space::Shared, AccessKind::Load);
  if (form.isTensor) // else the access itself was told of
    for (const BulkPiece &run : globalRuns(store.pieces))
      tellAccess(w, op.instruction, lane, run, Space::Global,
                 update ? AccessKind::Reduction : AccessKind::Store);
  tell(block, store, &Observer::storeIssued);
  if (block.worker->run.launch.copies == Copies::AtOnce)
    write(block, store);
  block.bulkStores.push_back(std::move(store));
}

void issue(Warp &w, const Op &op, uint32_t mask) {
  forLanes(mask, [&](unsigned i) { issueOne(w, op, i); });
}

void commit(Warp &w, const Op &, uint32_t mask) {
  forLanes(mask, [&](unsigned i) { ++w.committedStores[i]; });
}

// op.value: how many of a lane's last groups may go on; op.flag: it is enough that the others are read.
void wait(Warp &w, const Op &op, uint32_t mask) {
  Block &block = *w.block;
  // The last ones first: nothing orders them.
  for (BulkStore &store : std::views::reverse(block.bulkStores)) {
    bool isOver = store.warp == w.index && (mask >> store.lane & 1) &&
                  w.committedStores[store.lane] - store.group > op.value;
    if (!isOver)
      continue;
    read(block, store);
    if (!store.isWaitedFor)
      tell(block, store, &Observer::storeRead);
    store.isWaitedFor = true;
    if (op.flag)
      continue;
    write(block, store);
    tell(block, store, &Observer::storeDone);
    store.isDone = true;
  }
  std::erase_if(block.bulkStores, [](const BulkStore &store) { return store.isDone; });
}

} // namespace

void landSomeStores(Block &block) {
  if (block.worker->run.launch.copies != Copies::Random)
    return;
  for (BulkStore &store : block.bulkStores)
    if (uint64_t dice = nextRandom(block.copyRandom); dice % 4 == 0)
      store.isRead ? write(block, store) : read(block, store);
}

void abandonStores(Block &block, bool isOver) {
  // The last ones first: nothing orders them.
  for (BulkStore &store : std::views::reverse(block.bulkStores)) {
    if (!store.isWaitedFor && isOver)
      block.findings().add(FindingKind::CopyUnfinished, "its block ends and has not waited until it was read",
                           {store.instruction, block.id, store.warp, store.lane});
    write(block, store);
    tell(block, store, &Observer::storeDone);
  }
  block.bulkStores.clear();
}

void lowerBulkStore(Lowering &l) { lowerBulk(l, issue, {.shared = 1, .global = 0, .size = 2}); }
void lowerTensorStore(Lowering &l) { lowerTensor(l, issue, {.shared = 1, .global = 0}); }
void lowerTensorReduction(Lowering &l) {
  lowerTensorStore(l);
  l.op.flag = true;
  for (Modifier one : {Modifier::add, Modifier::min, Modifier::max, Modifier::inc, Modifier::dec,
                       Modifier::And, Modifier::Or, Modifier::Xor})
    if (l.has(one))
      l.op.mode = uint8_t(one);
}
void lowerCommitStores(Lowering &l) { l.op.run = commit; }
void lowerWaitStores(Lowering &l) {
  l.op.value = uint32_t(l.operand(0).value);
  l.op.flag = l.has(Modifier::read);
  l.op.run = wait;
}

} // namespace tegula::ptxvm
