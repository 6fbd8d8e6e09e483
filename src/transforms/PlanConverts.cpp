#include "transforms/PlanConverts.h"
#include "ir/simt/Scratch.h"

using namespace mlir;

namespace tegula::transforms {

void planConverts(ModuleOp module, llvm::function_ref<void(Location, std::string)> tell) {
  module.walk([&](simt::ConvertOp op) {
    layout::Plan plan = simt::planOf(op);
    std::string text = plan.describe();
    op.setPlan(text);
    if (plan.kind == layout::Plan::Kind::Shuffle || plan.kind == layout::Plan::Kind::Shared)
      tell(op.getLoc(), text);
  });
}

} // namespace tegula::transforms
