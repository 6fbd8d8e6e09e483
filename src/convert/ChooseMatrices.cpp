#include "convert/ChooseMatrices.h"
#include "ir/tile/Elementwise.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;
using tegula::layout::MatrixShape;

namespace tegula::convert {

namespace {

// In which operand of a later dot the result of a dot ends: there it saves a trip through memory if the warps
// lie side by side along the dimension that the operand keeps.
enum class Chain { None, Left, Right };

// The dots whose results reach `operand` through ops that keep coordinates.
void producers(Value operand, llvm::SmallPtrSetImpl<Operation *> &seen, SmallVectorImpl<DotOp> &dots) {
  SmallVector<Value> work{operand};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto dot = dyn_cast<DotOp>(op))
      dots.push_back(dot);
    else if (isElementwise(op))
      for (Value each : op->getOperands())
        if (isTile(each))
          work.push_back(each);
  }
}

class Chooser {
public:
  Chooser(const Classes &classes, const SimtOptions &options) : classes_(classes), options_(options) {}

  llvm::DenseMap<Operation *, MatrixDot> run(FuncOp function) {
    SmallVector<DotOp> dots;
    function.walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots)
      for (unsigned index : {0u, 1u}) {
        llvm::SmallPtrSet<Operation *, 16> seen;
        SmallVector<DotOp> from;
        producers(dot->getOperand(index), seen, from);
        for (DotOp producer : from)
          for (DotOp each : {producer, dot})
            chains_.try_emplace(classOf(each), index == 0 ? Chain::Left : Chain::Right);
      }
    for (DotOp dot : dots)
      choose(dot);
    return std::move(result_);
  }

private:
  Value classOf(DotOp dot) const { return classes_.leader(dot.getResult()); }

  void choose(DotOp dot) {
    simt::DotTypes types{elementType(dot.getA().getType()), elementType(dot.getB().getType()),
                         elementType(dot.getType()), dot.getPrecision()};
    auto extents = shapeOf(dot.getType());
    int64_t m = extents[extents.size() - 2], n = extents.back(), k = shapeOf(dot.getA().getType()).back();
    for (simt::MatrixInstruction instruction : options_.machine.matrixInstructions(types)) {
      MatrixShape &shape = instruction.shape;
      // Rows that the tile has not are computed in vain; as columns fewer are.
      shape.isSwapped = m < int64_t(shape.m) && n > m;
      if (k % shape.k != 0)
        continue;
      auto [warpsM, warpsN] = warpsOf(dot, m, n, shape);
      Layout layout = layout::matrixResult(extents.vec(), shape, warpsM, warpsN, options_.warps);
      auto [known, isNew] = layouts_.try_emplace(classOf(dot), layout);
      if (!isNew && known->second != layout)
        continue;
      result_.try_emplace(dot, MatrixDot{instruction, layout});
      return;
    }
  }

  // Warps along M and N: along one dimension for a chain, else such that each warp's part is about square,
  // which reads the least of both operands.
  std::pair<unsigned, unsigned> warpsOf(DotOp dot, int64_t m, int64_t n, const MatrixShape &shape) const {
    int64_t rows = shape.isSwapped ? shape.n : shape.m, columns = shape.isSwapped ? shape.m : shape.n;
    Chain chain = chains_.lookup(classOf(dot));
    unsigned warpsM = 1, warpsN = 1;
    while (warpsM * warpsN < options_.warps) {
      bool moreM = m % (2 * warpsM * rows) == 0, moreN = n % (2 * warpsN * columns) == 0;
      if (!moreM && !moreN)
        break;
      bool wantsM = chain == Chain::Left || (chain == Chain::None && m / warpsM >= n / warpsN);
      (moreM && (wantsM || !moreN) ? warpsM : warpsN) *= 2;
    }
    return {warpsM, warpsN};
  }

  const Classes &classes_;
  const SimtOptions &options_;
  llvm::DenseMap<Value, Chain> chains_;
  llvm::DenseMap<Value, Layout> layouts_;
  llvm::DenseMap<Operation *, MatrixDot> result_;
};

} // namespace

llvm::DenseMap<Operation *, MatrixDot> chooseMatrices(FuncOp function, const Classes &classes,
                                                      const SimtOptions &options) {
  return Chooser(classes, options).run(function);
}

} // namespace tegula::convert
