#include "codegen/simt/WarpSlots.h"

using namespace mlir;

namespace tegula::simt {

namespace {

constexpr unsigned widestAccess = 16; // bytes

unsigned bytesOf(llvm::Type *stored) { return stored->getScalarSizeInBits() / 8; }

} // namespace

WarpSlots::WarpSlots(Emitter &e, Operation *op, unsigned slots, unsigned warps,
                     ArrayRef<std::pair<uint32_t, uint32_t>> threads, ArrayRef<uint32_t> of, bool byWarp)
    : e_(e), op_(op), slots_(slots), warps_(warps), threads_(threads.begin(), threads.end()),
      of_(of.begin(), of.end()) {
  for (unsigned part = 0; part != of_.size(); ++part)
    order_.push_back(part);
  llvm::sort(order_, [&](unsigned a, unsigned b) { return of_[a] < of_[b]; });
  while (run_ < widestAccess && isInRuns(run_ * 2))
    run_ *= 2;
  byWarp_ = byWarp || run_ > 1 || lanesMeetInBanks();
}

// Would lanes with different slots meet in banks, where a slot's warps lie side by side?
bool WarpSlots::lanesMeetInBanks() const {
  constexpr unsigned mostApart = 4; // words from slot to slot: as many as one access reads
  unsigned apart = unsigned(llvm::count_if(ArrayRef(threads_).take_front(layout::laneBits),
                                           [](std::pair<uint32_t, uint32_t> bit) { return bit.first != 0; }));
  return warps_ > mostApart && apart >= 3;
}

// Do the parts come in groups of `size` neighbouring slots, from a multiple of it on in each thread?
bool WarpSlots::isInRuns(unsigned size) const {
  for (auto [slot, warp] : threads_)
    if (slot % size)
      return false;
  for (unsigned i = 0; i != order_.size(); ++i)
    if (of_[order_[i]] % size != i % size || of_[order_[i]] != of_[order_[i - i % size]] + i % size)
      return false;
  return order_.size() % size == 0;
}

uint32_t WarpSlots::index(uint32_t slot, uint32_t warp) const {
  return byWarp_ ? warp * slots_ + slot : slot * warps_ + warp;
}

llvm::Value *WarpSlots::address(uint64_t offset, unsigned bytes, uint32_t slot,
                                std::optional<uint32_t> warp) {
  std::vector<uint32_t> bases;
  uint32_t moved = 0;
  for (auto [itsSlot, itsWarp] : threads_) {
    bases.push_back(index(itsSlot, warp ? 0 : itsWarp) * bytes);
    moved |= bases.back();
  }
  uint32_t constant = index(slot, warp.value_or(0)) * bytes;
  llvm::Value *place = e_.linear(bases);
  if (constant & moved)
    place = e_.builder.CreateXor(place, e_.builder.getInt32(std::exchange(constant, 0)));
  return e_.builder.CreateConstInBoundsGEP1_64(e_.builder.getInt8Ty(), e_.scratch(op_, place),
                                               offset + constant);
}

void WarpSlots::write(uint64_t offset, ArrayRef<llvm::Value *> values, llvm::Value *predicate) {
  Access access;
  access.element = storedType(e_, values[0]->getType());
  access.predicate = predicate;
  unsigned bytes = bytesOf(access.element);
  access.count = std::min(run_, widestAccess / bytes);
  for (unsigned i = 0; i != order_.size(); i += access.count) {
    SmallVector<llvm::Value *> stored;
    for (unsigned k = 0; k != access.count; ++k)
      stored.push_back(toStored(e_, values[order_[i + k]]));
    access.pointer = address(offset, bytes, of_[order_[i]], std::nullopt);
    e_.hardware.store(e_.builder, access, stored);
  }
}

Registers WarpSlots::readRun(uint64_t offset, llvm::Type *type, unsigned part, unsigned warp,
                             unsigned count) {
  auto &b = e_.builder;
  llvm::Type *stored = storedType(e_, type);
  unsigned bytes = bytesOf(stored);
  llvm::Value *vector =
      b.CreateAlignedLoad(llvm::FixedVectorType::get(stored, count), address(offset, bytes, of_[part], warp),
                          llvm::Align(count * bytes));
  Registers result;
  for (unsigned k = 0; k != count; ++k)
    result.push_back(fromStored(e_, b.CreateExtractElement(vector, uint64_t(k)), type));
  return result;
}

std::vector<Registers> WarpSlots::read(uint64_t offset, llvm::Type *type) {
  unsigned most = widestAccess / bytesOf(storedType(e_, type));
  unsigned parts = std::min(run_, most), warps = byWarp_ ? 1 : std::min(warps_, most); // of one access
  std::vector<Registers> result(of_.size(), Registers(warps_));
  for (unsigned i = 0; i != order_.size(); i += parts)
    for (unsigned warp = 0; warp != warps_; warp += warps)
      for (auto [k, value] : llvm::enumerate(readRun(offset, type, order_[i], warp, parts * warps)))
        result[order_[i + unsigned(k) / warps]][warp + unsigned(k) % warps] = value;
  return result;
}

Registers WarpSlots::readWarp(uint64_t offset, llvm::Type *type, unsigned warp) {
  unsigned parts = std::min(run_, widestAccess / bytesOf(storedType(e_, type))); // of one access
  Registers result(of_.size());
  for (unsigned i = 0; i != order_.size(); i += parts)
    for (auto [k, value] : llvm::enumerate(readRun(offset, type, order_[i], warp, parts)))
      result[order_[i + unsigned(k)]] = value;
  return result;
}

llvm::Value *WarpSlots::readOne(uint64_t offset, llvm::Type *type, llvm::Value *warp) {
  auto &b = e_.builder;
  llvm::Type *stored = storedType(e_, type);
  llvm::Value *step = b.CreateMul(warp, b.getInt32(index(0, 1) * bytesOf(stored)));
  llvm::Value *at = b.CreateInBoundsPtrAdd(address(offset, bytesOf(stored), of_[0], 0), step);
  return fromStored(e_, b.CreateAlignedLoad(stored, at, llvm::Align(bytesOf(stored))), type);
}

} // namespace tegula::simt
