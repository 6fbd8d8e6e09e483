#include "transforms/PlanConverts.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using tegula::layout::Axis;

namespace tegula::transforms {

void planConverts(ModuleOp module, const simt::Costs &costs) {
  module.walk([&](simt::ConvertOp convert) {
    // A thread's part of a factor of multiply-adds has all of K: it is read from shared memory as it is
    // needed.
    auto planned = simt::feedsMultiplyAdds(convert.getResult()) ? layout::planShared : layout::planConversion;
    layout::ConversionPlan plan =
        planned(simt::layoutOf(convert.getValue()), simt::layoutOf(convert.getResult()),
                simt::storedBits(tile::elementType(convert.getType())), layout::defaultScratchBudget,
                costs.conversion);
    convert.setPlanAttr(simt::ConversionAttr::get(module.getContext(), plan));
  });
  module.walk([&](tile::GatherOp gather) {
    // A warp that holds several registers of a line would exchange all of them.
    if (simt::layoutOf(gather.getSource()).size(Axis::Register) <= costs.gatheredRegisters &&
        simt::canGatherInWarp(gather))
      gather->setAttr(simt::inWarpName, UnitAttr::get(module.getContext()));
  });
}

} // namespace tegula::transforms
