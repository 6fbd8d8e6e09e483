#include "base/OverLimit.h"
#include "ir/simt/Scratch.h"
#include "transforms/PlanConverts.h"
#include "transforms/SharedMemory.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tegula::transforms {

namespace {

constexpr uint64_t leastAlignment = 128,
                   ofPatterns = 1024; // of buffers that products read themselves, and stores of boxes

// A user needs bytes from one op to another: ops are numbered in the order of the text.
struct User {
  Operation *op;
  uint64_t bytes;
  uint64_t begin, end; // first and last op
  uint64_t alignment = leastAlignment;
  uint64_t offset = 0;
};

class LiveRanges {
public:
  explicit LiveRanges(ModuleOp module) { number(module); }

  User of(simt::AllocOp alloc) {
    uint64_t begin = numbers_.lookup(alloc).first, end = begin, alignment = leastAlignment;
    SmallVector<Value> work{alloc.getBuffer()};
    while (!work.empty())
      for (Operation *user : work.pop_back_val().getUsers()) {
        // A use in a loop lasts as long as the loop.
        end = std::max(end, numbers_.lookup(alloc->getBlock()->findAncestorOpInBlock(*user)).second);
        if (auto view = dyn_cast<simt::ViewOp>(user))
          work.push_back(view.getResult());
        if (isa<simt::DotAsyncOp, simt::BulkStoreOp>(user))
          alignment = ofPatterns;
      }
    return {alloc, alloc.getBuffer().getType().bytes(), begin, end, alignment};
  }
  User of(Operation *op, uint64_t bytes) {
    return {op, bytes, numbers_.lookup(op).first, numbers_.lookup(op).second};
  }

private:
  void number(Operation *op) {
    uint64_t first = next_++;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner);
    numbers_[op] = {first, next_ - 1};
  }
  uint64_t next_ = 0;
  llvm::DenseMap<Operation *, std::pair<uint64_t, uint64_t>>
      numbers_; // of the op and of the last in its regions
};

// The lowest place that no one has at the same time, for one after the other; returns the bytes of all.
uint64_t place(std::vector<User> &users) {
  uint64_t total = 0;
  for (size_t i = 0; i != users.size(); ++i) {
    User &user = users[i];
    SmallVector<const User *> others;
    for (size_t k = 0; k != i; ++k)
      if (users[k].begin <= user.end && user.begin <= users[k].end)
        others.push_back(&users[k]);
    llvm::sort(others, [](const User *a, const User *b) { return a->offset < b->offset; });
    user.offset = 0;
    for (const User *other : others)
      if (user.offset + user.bytes > other->offset)
        user.offset = std::max(user.offset, llvm::alignTo(other->offset + other->bytes, user.alignment));
    total = std::max(total, user.offset + user.bytes);
  }
  return total;
}

// The largest number of slots that would fit, if each buffer had no more; 0: none.
int64_t fittingSlots(std::vector<User> users, uint64_t limit) {
  int64_t most = 1;
  for (const User &user : users)
    if (auto alloc = dyn_cast<simt::AllocOp>(user.op))
      most = std::max(most, alloc.getBuffer().getType().getSlots());
  for (int64_t slots = most - 1; slots > 1; --slots) {
    for (User &user : users)
      if (auto alloc = dyn_cast<simt::AllocOp>(user.op)) {
        auto type = alloc.getBuffer().getType();
        user.bytes =
            llvm::alignTo(type.slotBytes() * uint64_t(std::min(slots, type.getSlots())), leastAlignment);
      }
    if (place(users) <= limit)
      return slots;
  }
  return 0;
}

bool isSignal(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) { return isa<simt::SignalInitOp>(user); });
}

bool hasStages(const User &user) {
  auto alloc = dyn_cast<simt::AllocOp>(user.op);
  return alloc && alloc.getBuffer().getType().getSlots() > 1;
}

Status tooLarge(const std::vector<User> &users, uint64_t total, uint64_t limit) {
  std::string text = overLimit("shared memory", total, limit) + " bytes:";
  for (const User &user : users) {
    auto alloc = dyn_cast<simt::AllocOp>(user.op);
    text += "\n  " + std::to_string(user.bytes) + " bytes at " + std::to_string(user.offset) + ", " +
            (hasStages(user) ? std::to_string(alloc.getBuffer().getType().getSlots()) + " stages of a load"
             : alloc         ? "a tile"
                             : user.op->getName().getStringRef().str()) +
            " at " + tile::locationText(user.op->getLoc());
  }
  if (int64_t slots = fittingSlots(users, limit))
    text += "; hint: num_stages=" + std::to_string(slots) + " fits";
  else if (llvm::any_of(users, hasStages))
    text += "; hint: take smaller blocks, or num_stages=1";
  else
    text += "; hint: take smaller blocks";
  return Status::error(StatusCode::Resource, text);
}

struct Placement {
  std::vector<User> users;
  uint64_t bytes = 0;
};

Placement placeAll(ModuleOp module, uint64_t limit, const simt::Costs &costs,
                   const llvm::DenseSet<Operation *> &without) {
  LiveRanges ranges(module);
  std::vector<User> users, signals;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto alloc = dyn_cast<simt::AllocOp>(op);
    uint64_t bytes = alloc ? alloc.getBuffer().getType().bytes() : simt::scratchBytes(op);
    if (bytes == 0 || without.contains(op))
      return;
    std::vector<User> &kind = isSignal(op) ? signals : users;
    kind.push_back(alloc ? ranges.of(alloc) : ranges.of(op, bytes));
    kind.back().bytes = llvm::alignTo(bytes, leastAlignment);
  });
  // Signals begin early and are small: ahead of buffers they would cost those an alignment's bytes.
  users.insert(users.end(), signals.begin(), signals.end());
  // Scratch that lives until the next one's op lies elsewhere than that one's: one barrier less.
  std::vector<User> apart = users;
  User *previous = nullptr;
  for (User &user : apart)
    if (!isa<simt::AllocOp>(user.op)) {
      if (previous)
        previous->end = std::max(previous->end, user.begin);
      previous = &user;
    }
  uint64_t total = place(users), cheap = place(apart);
  if (cheap <= std::max(total, costs.freeSharedBytes)) {
    users = std::move(apart);
    total = cheap;
  }
  // Holes between buffers that live in turn are filled best with the largest ones placed first.
  if (total > limit) {
    std::vector<User> largest = users;
    llvm::sort(largest, [](const User &a, const User &b) {
      return std::tuple(b.bytes, a.begin) < std::tuple(a.bytes, b.begin);
    });
    if (uint64_t least = place(largest); least < total) {
      users = std::move(largest);
      total = least;
    }
  }
  return {std::move(users), total};
}

// Conversions that do not fit beside the buffers happen in rounds of fewer bytes, as few as it takes. Where
// that is not enough they stay as they are, for the table of what does not fit.
Placement placeInRounds(ModuleOp module, uint64_t limit, const simt::Costs &costs) {
  Placement whole = placeAll(module, limit, costs, {});
  if (whole.bytes <= limit)
    return whole;
  SmallVector<std::pair<simt::ConvertOp, simt::ConversionAttr>> before;
  uint64_t largest = leastScratch;
  module.walk([&](simt::ConvertOp convert) {
    before.push_back({convert, convert.getPlanAttr()});
    largest = std::max(largest, simt::scratchBytes(convert));
  });
  for (uint64_t bytes = llvm::PowerOf2Ceil(largest) / 2; bytes >= leastScratch; bytes /= 2) {
    for (auto [convert, plan] : before)
      convert.setPlanAttr(simt::ConversionAttr::get(convert.getContext(), planUnder(convert, bytes, costs)));
    if (Placement fitting = placeAll(module, limit, costs, {}); fitting.bytes <= limit)
      return fitting;
  }
  for (auto [convert, plan] : before)
    convert.setPlanAttr(plan);
  return whole;
}

} // namespace

uint64_t sharedBytesNeeded(ModuleOp module, uint64_t limit, const simt::Costs &costs,
                           const llvm::DenseSet<Operation *> &without) {
  return placeAll(module, limit, costs, without).bytes;
}

Status allocateShared(ModuleOp module, uint64_t limit, const simt::Costs &costs) {
  simt::ConvertOp unplanned;
  module.walk([&](simt::ConvertOp convert) {
    if (!convert.getPlan())
      unplanned = convert;
  });
  if (unplanned)
    return Status::error(StatusCode::Internal, "nobody decided how the conversion at " +
                                                   tile::locationText(unplanned.getLoc()) +
                                                   " happens: plan-converts comes first");
  auto [users, total] = placeInRounds(module, limit, costs);
  OpBuilder builder(module.getContext());
  for (User &user : users) {
    auto offset = builder.getI64IntegerAttr(int64_t(user.offset));
    if (auto alloc = dyn_cast<simt::AllocOp>(user.op))
      alloc.setOffsetAttr(offset);
    else
      user.op->setAttr(simt::scratchName, offset);
  }
  module->setAttr(simt::sharedBytesName, builder.getI64IntegerAttr(int64_t(total)));
  return total <= limit ? Status::success() : tooLarge(users, total, limit);
}

} // namespace tegula::transforms
