#include "ptxvm/checks/Clocks.h"

#include <algorithm>
#include <utility>

namespace tegula::ptxvm {
namespace {

bool covers(const Epochs &a, const Epochs &b) {
  for (size_t i = 0; i < b.size(); ++i)
    if (a[i] < b[i])
      return false;
  return true;
}

void raise(Epochs &a, const Epochs &b) {
  for (size_t i = 0; i < b.size(); ++i)
    a[i] = std::max(a[i], b[i]);
}

} // namespace

Published joined(const Published &a, const Published &b) {
  if (!a || !b || a == b)
    return a ? a : b;
  auto result = std::make_shared<std::map<uint32_t, std::shared_ptr<const Epochs>>>(*a);
  for (const auto &[block, epochs] : *b) {
    std::shared_ptr<const Epochs> &mine = (*result)[block];
    if (!mine) {
      mine = epochs;
    } else if (mine != epochs && !covers(*mine, *epochs)) {
      Epochs both = *mine;
      raise(both, *epochs);
      mine = std::make_shared<const Epochs>(std::move(both));
    }
  }
  return result;
}

Published WarpClock::publish() {
  auto result = others_ ? std::make_shared<std::map<uint32_t, std::shared_ptr<const Epochs>>>(*others_)
                        : std::make_shared<std::map<uint32_t, std::shared_ptr<const Epochs>>>();
  (*result)[block_] = std::make_shared<const Epochs>(own_);
  tick();
  return result;
}

void WarpClock::acquire(const Published &published) {
  if (!published || published == others_)
    return;
  if (auto mine = published->find(block_); mine != published->end()) {
    uint32_t now = own_[warp_];
    raise(own_, *mine->second);
    own_[warp_] = now;
  }
  bool hasOthers = published->size() > published->count(block_);
  if (hasOthers)
    others_ = joined(others_, published);
}

void PhaseClocks::arrive(uint64_t barrier, const Published &past) {
  Published &arrived = barriers_[barrier].arrived;
  arrived = joined(arrived, past);
}

void PhaseClocks::complete(uint64_t barrier) {
  Barrier &one = barriers_[barrier];
  one.completed = joined(one.completed, std::exchange(one.arrived, nullptr));
}

bool WarpClock::isAfter(const Epoch &epoch) const {
  if (epoch.block == block_)
    return epoch.clock <= own_[epoch.warp];
  if (!others_)
    return false;
  auto there = others_->find(epoch.block);
  return there != others_->end() && epoch.clock <= (*there->second)[epoch.warp];
}

} // namespace tegula::ptxvm
