#include "transforms/HoistLoads.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Does nothing in the loop do more than read memory?
bool onlyReads(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](Operation *op) {
                bool isRead =
                    op->getNumRegions() || hasSingleEffect<MemoryEffects::Read>(op) || isMemoryEffectFree(op);
                return isRead ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

// Is there a trip? Null: always.
Value hasTrip(OpBuilder &builder, scf::ForOp loop) {
  if (std::optional<APInt> trips = loop.getStaticTripCount(); trips && !trips->isZero())
    return {};
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(builder, loop.getLoc(), less, loop.getLowerBound(), loop.getUpperBound());
}

class HoistLoads {
public:
  HoistLoads(unsigned warps, const simt::Machine &machine)
      : threads_(32 * int64_t(warps)),
        most_(int64_t(machine.registersOfThread(warps) * machine.costs.heldFromAhead)) {}

  void run(scf::ForOp loop) {
    bool mayLoad = !loop->hasAttr("tt.disable_licm") && onlyReads(loop);
    int64_t held = 0; // registers of a thread
    auto isWanted = [&](Operation *op, Region *) {
      if (isMemoryEffectFree(op) && isSpeculatable(op))
        return true;
      auto load = dyn_cast<LoadOp>(op);
      return load && mayLoad && load.getCache() != CacheModifier::CV && held + registersOf(load) <= most_;
    };
    auto move = [&](Operation *op, Region *) {
      loop.moveOutOfLoop(op);
      if (auto load = dyn_cast<LoadOp>(op)) {
        held += registersOf(load);
        askForTrip(load, loop);
      }
    };
    auto isAhead = [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); };
    moveLoopInvariantCode(loop.getLoopRegions(), isAhead, isWanted, move);
  }

private:
  int64_t registersOf(LoadOp load) const {
    Type element = elementType(load.getType());
    int64_t bits = isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
    for (int64_t extent : shapeOf(load.getType()))
      bits *= extent;
    return llvm::divideCeil(bits, 32 * threads_);
  }

  static void askForTrip(LoadOp load, scf::ForOp loop) {
    OpBuilder builder(load);
    Value asked = hasTrip(builder, loop);
    if (!asked)
      return;
    auto shape = shapeOf(load.getType());
    if (isTile(load.getPtr()))
      asked =
          SplatOp::create(builder, load.getLoc(), RankedTensorType::get(shape, builder.getI1Type()), asked);
    if (Value mask = load.getMask())
      asked = arith::AndIOp::create(builder, load.getLoc(), mask, asked);
    load.getMaskMutable().assign(asked);
  }

  int64_t threads_;
  int64_t most_; // registers of a thread, that such tiles of a loop take
};

} // namespace

void hoistLoads(Operation *function, unsigned warps, const simt::Machine &machine) {
  HoistLoads hoist(warps, machine);
  function->walk([&](scf::ForOp loop) { hoist.run(loop); }); // inner ones first
}

} // namespace tegula::transforms
