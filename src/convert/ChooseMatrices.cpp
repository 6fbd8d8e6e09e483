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

// Is an operand what a load brings, as it lies in memory? Others are in registers.
bool isLoaded(Value operand) {
  while (auto trans = operand.getDefiningOp<TransOp>())
    operand = trans.getValue();
  return operand.getDefiningOp<LoadOp>() != nullptr;
}

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
  Chooser(const Classes &classes, analysis::AxisInfoAnalysis &axes, const SimtOptions &options)
      : classes_(classes), axes_(axes), options_(options) {}

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
      for (unsigned index : {0u, 1u}) {
        bool isTurned = liesAlongResult(dot, index);
        auto [known, isNew] = turned_.try_emplace({classOf(dot), index}, isTurned);
        known->second &= isTurned; // all products of a class, or none
      }
    for (DotOp dot : dots)
      choose(dot);
    return std::move(result_);
  }

private:
  Value classOf(DotOp dot) const { return classes_.leader(dot.getResult()); }

  // Do neighbours of an operand of 8 bits lie in memory along the dimension that it shares with the result?
  bool liesAlongResult(DotOp dot, unsigned index) {
    Value operand = dot->getOperand(index);
    unsigned rank = unsigned(shapeOf(operand.getType()).size());
    if (elementType(operand.getType()).getIntOrFloatBitWidth() != 8)
      return false;
    unsigned along = index == 0 ? rank - 2 : rank - 1;
    while (Operation *op = operand.getDefiningOp()) {
      if (auto load = dyn_cast<LoadOp>(op)) {
        unsigned fastest = axes_.order(load.getPtr())[0];
        return fastest == along && axes_.at(load.getPtr()).contiguity[along] > 1;
      }
      auto transposed = dyn_cast<TransOp>(op);
      if (!transposed)
        return false;
      along = unsigned(transposed.getOrder()[along]);
      operand = transposed.getValue();
    }
    return false;
  }

  // May rows or columns be taken in pairs (MatrixShape)? `index`: of the operand that has them.
  bool takesPairs(DotOp dot, unsigned index, int64_t extent) const {
    return options_.machine.hasMatrixLoad && extent % 16 == 0 && turned_.lookup({classOf(dot), index});
  }

  void choose(DotOp dot) {
    simt::DotTypes types{elementType(dot.getA().getType()), elementType(dot.getB().getType()),
                         elementType(dot.getType()), dot.getPrecision()};
    auto extents = shapeOf(dot.getType());
    int64_t m = extents[extents.size() - 2], n = extents.back(), k = shapeOf(dot.getA().getType()).back();
    for (simt::MatrixInstruction instruction : options_.machine.matrixInstructions(types)) {
      MatrixShape &shape = instruction.shape;
      // Rows that the tile has not are computed in vain; as columns fewer are.
      shape.isSwapped = m < int64_t(shape.m) && n > m;
      unsigned rows = shape.isSwapped ? 1 : 0;
      shape.pairsRows = shape.m == 16 && shape.k == 32 && takesPairs(dot, rows, rows == 0 ? m : n);
      shape.pairsColumns = shape.k == 32 && takesPairs(dot, 1 - rows, rows == 0 ? n : m);
      if (k % shape.k != 0)
        continue;
      if (shape.warps > 1 && !fitsSeveralWarps(dot, m, n, shape))
        continue;
      auto [warpsM, warpsN] = shape.warps > 1 ? groupsOf(m, shape) : warpsOf(dot, m, n, shape);
      Layout layout = layout::matrixResult(extents.vec(), shape, warpsM, warpsN, options_.warps);
      auto [known, isNew] = layouts_.try_emplace(classOf(dot), layout);
      if (!isNew && known->second != layout)
        continue;
      result_.try_emplace(dot, MatrixDot{instruction, layout});
      return;
    }
  }

  // An instruction of several warps needs rows for each of them, and the second operand in shared memory;
  // what is computed, as scaled weights are, would have to go there first. Its sums all stay in registers.
  bool fitsSeveralWarps(DotOp dot, int64_t m, int64_t n, const MatrixShape &shape) const {
    int64_t rows = int64_t(shape.m) * shape.warps;
    if (shapeOf(dot.getType()).size() != 2 || options_.warps % shape.warps || m % rows || n % shape.n)
      return false;
    auto [warpsM, warpsN] = groupsOf(m, shape);
    int64_t columns = n / warpsN;
    bool isWhole = n % warpsN == 0 && columns % shape.n == 0 && columns <= mostColumns &&
                   (warpsN == 1 || llvm::isPowerOf2_64(uint64_t(n)));
    int64_t sums = m * n / (32 * options_.warps);
    return isWhole && llvm::isPowerOf2_64(uint64_t(m)) && sums <= options_.machine.registers * 3 / 4 &&
           isLoaded(dot.getB());
  }

  // Warps along M and N for such an instruction: along M as far as there are rows, since every warp reads all
  // of its columns' operand.
  std::pair<unsigned, unsigned> groupsOf(int64_t m, const MatrixShape &shape) const {
    unsigned warpsM = shape.warps;
    while (warpsM < options_.warps && m % (2 * int64_t(warpsM) * shape.m) == 0)
      warpsM *= 2;
    return {warpsM, options_.warps / warpsM};
  }

  static constexpr int64_t mostColumns = 256; // of one instruction

  // Warps along M and N: along one dimension for a chain, else such that each warp's part is about square,
  // which reads the least of both operands.
  std::pair<unsigned, unsigned> warpsOf(DotOp dot, int64_t m, int64_t n, const MatrixShape &shape) const {
    int64_t along = shape.n * (shape.pairsColumns ? 2 : 1);
    int64_t rows = shape.isSwapped ? along : shape.m, columns = shape.isSwapped ? shape.m : along;
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
  analysis::AxisInfoAnalysis &axes_;
  const SimtOptions &options_;
  llvm::DenseMap<Value, Chain> chains_;
  llvm::DenseMap<std::pair<Value, unsigned>, bool> turned_; // by class and operand: liesAlongResult
  llvm::DenseMap<Value, Layout> layouts_;
  llvm::DenseMap<Operation *, MatrixDot> result_;
};

} // namespace

llvm::DenseMap<Operation *, MatrixDot> chooseMatrices(FuncOp function, const Classes &classes,
                                                      analysis::AxisInfoAnalysis &axes,
                                                      const SimtOptions &options) {
  return Chooser(classes, axes, options).run(function);
}

} // namespace tegula::convert
