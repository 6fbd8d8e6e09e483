#include "transforms/PredicateLoads.h"
#include "ir/tile/Unread.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned mostOps = 24;           // of both branches: a branch past more is worth the wait
constexpr unsigned mostBesideProducts = 4; // that compute tiles, where nothing is loaded

class Conditional {
public:
  explicit Conditional(scf::IfOp branch) : if_(branch) {}

  bool isFit(int64_t mostElements) {
    if (!if_->getParentOfType<LoopLikeOpInterface>() || if_.getNumResults() == 0)
      return false;
    unsigned loads = 0, ops = 0, computed = 0;
    for (Region &region : if_->getRegions())
      for (Operation &op : region.front().without_terminator()) {
        auto load = dyn_cast<LoadOp>(op);
        if (++ops > mostOps || (load ? load.getIsVolatile() : !isSmall(&op)))
          return false;
        for (Type type : op.getResultTypes())
          if (auto tile = dyn_cast<RankedTensorType>(type); tile && tile.getNumElements() > mostElements)
            return false;
        loads += bool(load);
        computed += hasTile(op.getResults()) && !op.hasTrait<OpTrait::ConstantLike>() && !isa<SplatOp>(op);
      }
    // A load is copied ahead for a product's factor if it can be followed to the product.
    bool isBesideProduct = !if_->getBlock()->getOps<DotOp>().empty();
    return loads != 0 || (isBesideProduct && hasTile(if_.getResults()) && computed <= mostBesideProducts);
  }

  void run() {
    OpBuilder builder(if_);
    Location loc = if_.getLoc();
    Value always = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value taken = if_.getCondition(), other = arith::XOrIOp::create(builder, loc, taken, always);
    moveOut(if_.getThenRegion(), taken);
    moveOut(if_.getElseRegion(), other);
    builder.setInsertionPoint(if_);
    for (auto [result, first, second] :
         llvm::zip(if_.getResults(), if_.thenYield().getOperands(), if_.elseYield().getOperands()))
      result.replaceAllUsesWith(arith::SelectOp::create(builder, loc, taken, first, second));
    if_.erase();
  }

private:
  // May the op be computed in vain?
  static bool isSmall(Operation *op) {
    return isPure(op) && (op->hasTrait<OpTrait::Elementwise>() || op->hasTrait<OpTrait::ConstantLike>() ||
                          isa<AddPtrOp, SplatOp, ExpandDimsOp, BroadcastOp>(op));
  }

  void moveOut(Region &region, Value condition) {
    for (Operation &op : llvm::make_early_inc_range(region.front().without_terminator())) {
      op.moveBefore(if_);
      OpBuilder builder(&op);
      if (auto load = dyn_cast<LoadOp>(op)) {
        if (!load.getMask()) // what is made of it is selected where the branch is taken
          load->setAttr(unreadName, builder.getUnitAttr());
        maskLoad(builder, load, condition);
      }
    }
  }

  scf::IfOp if_;
};

} // namespace

void maskLoad(OpBuilder &builder, LoadOp load, Value condition) {
  Value mask = condition;
  if (auto type = dyn_cast<RankedTensorType>(load.getType()))
    mask = SplatOp::create(builder, load.getLoc(),
                           RankedTensorType::get(type.getShape(), condition.getType(), type.getEncoding()),
                           condition);
  if (load.getMask())
    mask = arith::AndIOp::create(builder, load.getLoc(), load.getMask(), mask);
  load.getMaskMutable().assign(mask);
}

void predicateLoads(Operation *function, int64_t mostElements) {
  SmallVector<scf::IfOp> ifs;
  function->walk([&](scf::IfOp branch) { ifs.push_back(branch); }); // inner ones first
  for (scf::IfOp branch : ifs)
    if (Conditional(branch).isFit(mostElements))
      Conditional(branch).run();
}

} // namespace tegula::transforms
