#include "ir/simt/Scratch.h"
#include "transforms/PlanConverts.h"
#include "transforms/StartNextTrip.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

class Room {
public:
  Room(const Ring &ring, const simt::Machine &machine) : ring_(ring), machine_(machine) {}

  bool make() {
    measure();
    uint64_t whole = behind_;
    for (simt::ConvertOp convert : converts_)
      whole = std::max(whole, simt::scratchBytes(convert));
    uint64_t before = programs(std::max(buffers_ + ahead_, whole));
    for (uint64_t budget = llvm::PowerOf2Ceil(std::max(whole, leastScratch)); budget >= leastScratch;
         budget /= 2) {
      std::vector<layout::ConversionPlan> plans = plansUnder(budget);
      uint64_t most = behind_;
      for (const layout::ConversionPlan &plan : plans)
        most = std::max(most, plan.scratchBytes);
      uint64_t all = buffers_ + llvm::alignTo(std::max(ahead_, most), 1024);
      if (all > machine_.sharedBytes || programs(all) < before)
        continue;
      for (auto [convert, plan] : llvm::zip(converts_, plans))
        convert.setPlanAttr(simt::ConversionAttr::get(convert.getContext(), plan));
      return true;
    }
    return false;
  }

private:
  void measure() {
    for (Value buffer : ring_.buffers)
      buffers_ += cast<simt::BufferType>(buffer.getType()).bytes();
    if (ring_.signals)
      buffers_ += 1024; // at most
    Block *body = ring_.around.getBody();
    uint64_t factors = 0;
    body->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<LoopLikeOpInterface>(op))
        return WalkResult::skip(); // its scratch memory lies beside its buffers as before
      auto convert = dyn_cast<simt::ConvertOp>(op);
      uint64_t bytes = simt::scratchBytes(op);
      bool isAhead = body->findAncestorOpInBlock(*op)->isBeforeInBlock(ring_.first);
      if (convert && bytes && isFactor(convert))
        factors += bytes;
      else if (convert && bytes && !isAhead)
        converts_.push_back(convert);
      else
        (isAhead ? ahead_ : behind_) = std::max(isAhead ? ahead_ : behind_, bytes);
      return WalkResult::advance();
    });
    ahead_ += factors;
  }

  std::vector<layout::ConversionPlan> plansUnder(uint64_t bytes) {
    std::vector<layout::ConversionPlan> plans;
    for (simt::ConvertOp convert : converts_)
      plans.push_back(planUnder(convert, bytes, machine_.costs));
    return plans;
  }

  // Is the tile a factor of products?
  static bool isFactor(simt::ConvertOp convert) {
    return llvm::any_of(convert->getUsers(), [](Operation *user) { return isa<TransOp, DotOp>(user); });
  }

  // That fit on a multiprocessor, by shared memory and by the registers of their sums; of a launch whose
  // programs are alone one, whatever fits besides.
  uint64_t programs(uint64_t bytes) {
    unsigned registers = machine_.costs.besideSums;
    ring_.first.getBody()->walk([&](DotOp dot) { registers += simt::registersOf(dot.getType()); });
    uint64_t fit = machine_.programs(simt::warpsOf(ring_.first), registers, bytes);
    return machine_.isAlone ? std::min<uint64_t>(fit, 1) : fit;
  }

  Ring ring_;
  const simt::Machine &machine_;
  // Bytes: of the buffers; of factors and scratch memory ahead of the products, while these run; of scratch
  // memory behind them that is no conversion's.
  uint64_t buffers_ = 0, ahead_ = 0, behind_ = 0;
  SmallVector<simt::ConvertOp> converts_; // behind the products
};

} // namespace

bool makeRoom(const Ring &ring, const simt::Machine &machine) { return Room(ring, machine).make(); }

} // namespace tegula::transforms
