#include "convert/ChooseMatrices.h"
#include "ir/tile/Elementwise.h"

#include "mlir/Analysis/SliceAnalysis.h"

#include <cmath>

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
        bool isTurned = lies(dot, index) == Lies::AlongResult;
        auto [known, isNew] = turned_.try_emplace({classOf(dot), index}, isTurned);
        known->second &= isTurned; // all products of a class, or none
      }
    for (DotOp dot : dots)
      dotsOf_[classOf(dot)].push_back(dot);
    for (DotOp dot : dots)
      choose(dot);
    return std::move(result_);
  }

private:
  Value classOf(DotOp dot) const { return classes_.leader(dot.getResult()); }

  // The dimension along which neighbours of an operand lie in memory: that which it shares with the result,
  // or K.
  enum class Lies { Unknown, AlongResult, AlongK };
  // Dimensions of an operand, or of the tile that it is the transposed one of.
  struct Dims {
    unsigned along, inner;
  };
  static Dims dimsOf(DotOp dot, unsigned index) {
    auto rank = unsigned(shapeOf(dot->getOperand(index).getType()).size());
    return index == 0 ? Dims{rank - 2, rank - 1} : Dims{rank - 1, rank - 2};
  }
  // Returns the tile behind transpositions.
  static Value untransposed(Value tile, Dims &dims) {
    while (auto transposed = tile.getDefiningOp<TransOp>()) {
      dims = {unsigned(transposed.getOrder()[dims.along]), unsigned(transposed.getOrder()[dims.inner])};
      tile = transposed.getValue();
    }
    return tile;
  }
  Lies lies(DotOp dot, unsigned index) {
    Dims dims = dimsOf(dot, index);
    Value tile = untransposed(dot->getOperand(index), dims);
    return lies(tile.getDefiningOp<LoadOp>(), dims);
  }
  Lies lies(LoadOp load, Dims dims) {
    unsigned fastest = load ? axes_.order(load.getPtr())[0] : 0;
    if (!load || axes_.at(load.getPtr()).contiguity[fastest] == 1)
      return Lies::Unknown;
    return fastest == dims.along ? Lies::AlongResult : fastest == dims.inner ? Lies::AlongK : Lies::Unknown;
  }

  // Is the operand computed, element by element, of tiles that lie along K? They are stored as wide as they
  // are loaded. No product is among what it is computed of: one behind another one's result has waited long
  // enough.
  bool isComputedAlongK(DotOp dot, unsigned index) {
    bool isAlongK = false;
    SmallVector<std::pair<Value, Dims>> work{{dot->getOperand(index), dimsOf(dot, index)}};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      auto [tile, dims] = work.pop_back_val();
      Operation *op = untransposed(tile, dims).getDefiningOp();
      if (!op || !seen.insert(op).second)
        continue;
      if (isa<DotOp>(op))
        return false;
      if (auto load = dyn_cast<LoadOp>(op)) {
        Lies found = lies(load, dims);
        if (found == Lies::AlongResult)
          return false;
        isAlongK |= found == Lies::AlongK;
      } else if (isElementwise(op)) {
        for (Value operand : op->getOperands())
          if (isTile(operand))
            work.push_back({operand, dims});
      }
    }
    return isAlongK;
  }

  // May rows or columns be taken in pairs (MatrixShape)? `index`: of the operand that has them.
  bool takesPairs(DotOp dot, unsigned index, int64_t extent) const {
    return options_.machine.hasMatrixLoad && extent % 16 == 0 && turned_.lookup({classOf(dot), index});
  }

  // M, N, K of a product, and how many of them there are.
  struct Extents {
    int64_t m, n, k, batches = 1;
  };
  static Extents extentsOf(DotOp dot) {
    auto result = shapeOf(dot.getType());
    Extents extents{result[result.size() - 2], result.back(), shapeOf(dot.getA().getType()).back()};
    for (int64_t batch : result.drop_back(2))
      extents.batches *= batch;
    return extents;
  }

  // Warps along a batch: as many as it divides into, since those share no operand.
  unsigned warpsOfBatch(const Extents &e) const {
    return unsigned(std::min<int64_t>(e.batches & -e.batches, options_.warps));
  }

  // Cycles of a warp, of which `warpsM` and `warpsN` lie along the result.
  double costOf(const MatrixShape &shape, const Extents &e, unsigned warpsM, unsigned warpsN) const {
    auto parts = [](int64_t extent, int64_t part) { return double((extent + part - 1) / part); };
    double rows = shape.isSwapped ? shape.n : shape.m, columns = shape.isSwapped ? shape.m : shape.n;
    double pieces = parts(e.m, int64_t(rows) * warpsM) * parts(e.n, int64_t(columns) * warpsN) *
                    parts(e.k, shape.k) * double(e.batches) / warpsOfBatch(e);
    double products = double(shape.m) * shape.n * shape.k * shape.elementBits / 16;
    return pieces * (products / costs().matrixRate + costs().matrixIssue);
  }

  // The same by multiply-adds: a thread reads a row and a column of its part of the result for each k.
  double costOfMultiplyAdds(const Extents &e) const {
    double own = std::max(1.0, double(e.m * e.n * e.batches) / (32.0 * options_.warps));
    double factors = 2 * std::ceil(std::sqrt(own));
    return double(e.k) * (own * 32 / costs().multiplyRate + factors * costs().multiplyFactor);
  }

  const simt::Costs &costs() const { return options_.machine.costs; }

  static std::string reasonOf(const simt::MatrixInstruction &instruction, const Extents &e) {
    const MatrixShape &shape = instruction.shape;
    std::string text = instruction.name + (shape.isSwapped ? ", operands swapped" : "");
    auto fill = [&](const char *name, int64_t extent, int64_t part) {
      if (extent % part != 0)
        text += std::string(", ") + name + " filled up from " + std::to_string(extent) + " to " +
                std::to_string((extent + part - 1) / part * part);
    };
    fill("M", e.m, shape.isSwapped ? shape.n : shape.m);
    fill("N", e.n, shape.isSwapped ? shape.m : shape.n);
    fill("K", e.k, shape.k);
    return text;
  }

  static simt::DotTypes typesOf(DotOp dot) {
    return {elementType(dot.getA().getType()), elementType(dot.getB().getType()), elementType(dot.getType()),
            dot.getPrecision()};
  }

  void choose(DotOp dot) {
    simt::DotTypes types = typesOf(dot);
    Extents e = extentsOf(dot);
    std::optional<MatrixDot> best;
    double least = costOfMultiplyAdds(e);
    if (!layouts_.contains(classOf(dot)))
      tryLayoutOfSeveralWarps(classOf(dot));
    auto known = layouts_.find(classOf(dot));
    const Layout *wanted = known == layouts_.end() ? nullptr : &known->second;
    if (takeSeveralWarps_.contains(classOf(dot)) && (best = ofSeveralWarps(dot, wanted)))
      least = 0; // it reads its operands by itself, and runs while the warps go on
    for (simt::MatrixInstruction instruction : options_.machine.matrixInstructions(types))
      for (bool isSwapped : {false, true}) {
        if (isSwapped && types.a != types.b)
          break; // the instruction takes factors of two types in one order
        MatrixShape &shape = instruction.shape;
        if (shape.warps > 1)
          break;
        shape.isSwapped = isSwapped;
        unsigned rows = isSwapped ? 1 : 0;
        shape.pairsRows = shape.m == 16 && shape.k == 32 && takesPairs(dot, rows, isSwapped ? e.n : e.m);
        shape.pairsColumns = shape.k == 32 && takesPairs(dot, 1 - rows, isSwapped ? e.m : e.n);
        auto split = wanted ? splitOf(dot, *wanted, shape) : warpsOf(dot, e, shape);
        if (!split)
          continue;
        auto [warpsM, warpsN] = *split;
        double cost = costOf(shape, e, warpsM, warpsN) * (isSwapped ? costs().swapGain : 1);
        if (cost >= least)
          continue;
        Layout layout = resultOf(dot, shape, warpsM, warpsN);
        shape.pairsDepth = shape.elementBits == 32 && shape.k == 8 && e.k % 8 == 0 && !isSwapped &&
                           multipliesFurther(dot, layout, shape);
        least = cost;
        best = MatrixDot{instruction, layout, reasonOf(instruction, e)};
      }
    if (!best)
      return;
    layouts_.try_emplace(classOf(dot), best->result);
    result_.try_emplace(dot, std::move(*best));
  }

  // Are its rows computed of other products' results, of which each thread has those that it multiplies if
  // they are taken in pairs along K?
  bool multipliesFurther(DotOp dot, const Layout &result, MatrixShape shape) const {
    shape.pairsDepth = true;
    Layout rows = layout::matrixOperand(result, shape, 0, extentsOf(dot).k);
    llvm::SmallPtrSet<Operation *, 16> seen;
    SmallVector<DotOp> from;
    producers(dot.getA(), seen, from);
    return !from.empty() && llvm::all_of(from, [&](DotOp producer) {
      auto chosen = result_.find(producer);
      if (chosen == result_.end() || chosen->second.result.extents() != rows.extents())
        return false;
      return llvm::all_of(std::array{layout::Axis::Lane, layout::Axis::Warp}, [&](layout::Axis axis) {
        return chosen->second.result.bases(axis) == rows.bases(axis);
      });
    });
  }

  Layout resultOf(DotOp dot, const MatrixShape &shape, unsigned warpsM, unsigned warpsN) const {
    return layout::matrixResult(shapeOf(dot.getType()).vec(), shape, warpsM, warpsN, options_.warps);
  }

  // Along which dimensions warps lie in a result's layout, if it is one of the instruction.
  std::optional<std::pair<unsigned, unsigned>> splitOf(DotOp dot, const Layout &result,
                                                       const MatrixShape &shape) const {
    unsigned warps = options_.warps / warpsOfBatch(extentsOf(dot));
    for (unsigned warpsM = 1; warpsM <= warps; warpsM *= 2)
      for (unsigned warpsN = warps / warpsM; warpsN != 0; warpsN /= 2)
        if (resultOf(dot, shape, warpsM, warpsN) == result)
          return std::pair(warpsM, warpsN);
    return std::nullopt;
  }

  // A product costs this by the cheapest instruction of one warp: cycles, and the registers of a thread for
  // the parts of both factors that its warp multiplies. Of multiply-adds: none.
  struct OneWarp {
    double cycles = 0, factors = 0;
  };
  // `result`: with that layout.
  OneWarp leastOfOneWarp(DotOp dot, const Layout *result = nullptr) const {
    Extents e = extentsOf(dot);
    OneWarp least{costOfMultiplyAdds(e), 0};
    for (simt::MatrixInstruction instruction : options_.machine.matrixInstructions(typesOf(dot))) {
      const MatrixShape &shape = instruction.shape;
      if (shape.warps > 1)
        continue;
      auto split = result ? splitOf(dot, *result, shape) : warpsOf(dot, e, shape);
      if (!split)
        continue;
      auto [warpsM, warpsN] = *split;
      if (double cycles = costOf(shape, e, warpsM, warpsN); cycles < least.cycles)
        least = {cycles, double(e.k * (e.m / warpsM + e.n / warpsN)) * shape.elementBits / (32 * 32)};
    }
    return least;
  }

  // Products that add to one another have one layout. It is that of an instruction of several warps if one of
  // them may take it and is large enough for all warps to meet ahead of it, and if the others, which take
  // instructions of one warp with the same layout or are left to multiply-adds, do not cost more cycles
  // than without it and leave half of the registers to the sums, of which those of the product that runs
  // beside them are some.
  void tryLayoutOfSeveralWarps(Value leader) {
    for (DotOp dot : dotsOf_.lookup(leader)) {
      std::optional<MatrixDot> found = ofSeveralWarps(dot, nullptr);
      if (found && suitsItsClass(leader, found->result)) {
        layouts_.try_emplace(leader, found->result);
        takeSeveralWarps_.insert(leader);
        return;
      }
    }
  }

  bool suitsItsClass(Value leader, const Layout &layout) {
    double left = 0, ofOneWarp = 0;
    bool isWorthWaiting = false;
    for (DotOp dot : dotsOf_.lookup(leader)) {
      OneWarp alone = leastOfOneWarp(dot);
      ofOneWarp += alone.cycles;
      if (ofSeveralWarps(dot, &layout)) {
        isWorthWaiting |= alone.cycles >= costs().waitedWork;
        continue;
      }
      OneWarp beside = leastOfOneWarp(dot, &layout);
      left += beside.cycles;
      if (2 * beside.factors > options_.machine.registersOfThread(options_.warps))
        return false;
    }
    return isWorthWaiting && left <= ofOneWarp;
  }

  // The first such instruction that fits, or else of the transposed product; `wanted`: the result's layout.
  // Words that a trip would have to store for it come last.
  std::optional<MatrixDot> ofSeveralWarps(DotOp dot, const Layout *wanted) {
    for (bool storesWords : {false, true})
      for (bool isSwapped : {false, true})
        if (std::optional<MatrixDot> found = ofSeveralWarps(dot, wanted, isSwapped, storesWords))
          return found;
    return std::nullopt;
  }
  std::optional<MatrixDot> ofSeveralWarps(DotOp dot, const Layout *wanted, bool isSwapped, bool storesWords) {
    simt::DotTypes types = typesOf(dot);
    Extents e = extentsOf(dot);
    if (isSwapped)
      std::swap(types.a, types.b);
    for (simt::MatrixInstruction instruction : options_.machine.matrixInstructions(types)) {
      MatrixShape &shape = instruction.shape;
      shape.isSwapped = isSwapped;
      if (shape.warps == 1 || e.k % shape.k != 0 || !fitsSeveralWarps(dot, e, instruction) ||
          !operandsLie(dot, e, shape, storesWords))
        continue;
      auto [rows, columns] = groupsOf(isSwapped ? e.n : e.m, shape);
      Layout layout = layout::matrixResult(shapeOf(dot.getType()).vec(), shape, isSwapped ? columns : rows,
                                           isSwapped ? rows : columns, options_.warps);
      if (!wanted || *wanted == layout)
        return MatrixDot{instruction, layout, reasonOf(instruction, e)};
    }
    return std::nullopt;
  }

  // An instruction of several warps needs rows for each of them. Its sums all stay in registers.
  bool fitsSeveralWarps(DotOp dot, const Extents &e, const simt::MatrixInstruction &instruction) const {
    const MatrixShape &shape = instruction.shape;
    int64_t ofRows = shape.isSwapped ? e.n : e.m, ofColumns = shape.isSwapped ? e.m : e.n;
    if (shapeOf(dot.getType()).size() != 2 || options_.warps % shape.warps ||
        ofRows % (int64_t(shape.m) * shape.warps))
      return false;
    unsigned groups = groupsOf(ofRows, shape).second;
    int64_t columns = ofColumns / groups, sums = e.m * e.n / (32 * options_.warps);
    bool isOdd = instruction.oddColumns && columns > instruction.oddColumns;
    bool isWhole = ofColumns % groups == 0 && columns % (shape.n * (isOdd ? 2 : 1)) == 0 &&
                   columns <= mostColumns && (groups == 1 || llvm::isPowerOf2_64(uint64_t(ofColumns)));
    return isWhole && llvm::isPowerOf2_64(uint64_t(ofRows)) &&
           sums <= options_.machine.registersOfThread(options_.warps) * 3 / 4;
  }

  // It reads its columns in shared memory. Factors of 16 bits may lie there either way, and what is computed,
  // as scaled weights are, goes there first; of others K has to be innermost in what is loaded, or with
  // `storesWords` in what words are computed of. Its rows come from registers where they do not lie so, in
  // pairs where they lie along the result.
  bool operandsLie(DotOp dot, const Extents &e, MatrixShape &shape, bool storesWords) {
    unsigned rows = shape.isSwapped ? 1 : 0;
    if (shape.elementBits == 16)
      return !shape.isSwapped;
    int64_t columns = rows == 0 ? e.n : e.m;
    bool isStored = storesWords && shape.elementBits == 32 && columns >= leastStoredColumns &&
                    isComputedAlongK(dot, 1 - rows);
    if (!isStored && lies(dot, 1 - rows) != Lies::AlongK)
      return false;
    shape.pairsRows = takesPairs(dot, rows, rows == 0 ? e.m : e.n);
    return shape.pairsRows || lies(dot, rows) != Lies::AlongResult;
  }

  // Warps along rows and columns of such an instruction: along rows as far as there are some, since every
  // warp reads all of its columns' operand.
  std::pair<unsigned, unsigned> groupsOf(int64_t rows, const MatrixShape &shape) const {
    unsigned along = shape.warps;
    while (along < options_.warps && rows % (2 * int64_t(along) * shape.m) == 0)
      along *= 2;
    return {along, options_.warps / along};
  }

  static constexpr int64_t mostColumns = 256; // of one instruction
  // Of words that a trip stores: with 16 a product took 1.36 of the time of upstream's instructions of one
  // warp.
  static constexpr int64_t leastStoredColumns = 64;
  static constexpr int64_t narrowestPart = 2; // of a warp: its sides differ by no more than this factor

  // Does the trip compute the operand from what it loads?
  static bool isComputedInTrip(DotOp dot, unsigned index) {
    Operation *op = dot->getOperand(index).getDefiningOp();
    return op && isElementwise(op) && isa<LoopLikeOpInterface>(op->getParentOp()) &&
           op->getBlock() == dot->getBlock();
  }

  // Warps along M and N, of those that a batch leaves: along one dimension for a chain, else such that each
  // warp's part is about square, which reads the least of both operands. Where the trip computes one of them,
  // narrower parts are as good: warps that share none of it compute it as they multiply by it, and none
  // stores it for the others.
  std::pair<unsigned, unsigned> warpsOf(DotOp dot, const Extents &e, const MatrixShape &shape) const {
    int64_t along = shape.n * (shape.pairsColumns ? 2 : 1);
    int64_t rows = shape.isSwapped ? along : shape.m, columns = shape.isSwapped ? shape.m : along;
    Chain chain = chains_.lookup(classOf(dot));
    bool isLeft = isComputedInTrip(dot, 0), isRight = isComputedInTrip(dot, 1);
    unsigned warpsM = 1, warpsN = 1, warps = options_.warps / warpsOfBatch(e);
    // May a warp's part be cut along the computed operand, of whose dimension it has `own` and of the other
    // `other`?
    auto cuts = [](int64_t own, int64_t other) { return own / 2 * narrowestPart >= other; };
    while (warpsM * warpsN < warps) {
      bool moreM = e.m % (2 * warpsM * rows) == 0, moreN = e.n % (2 * warpsN * columns) == 0;
      if (!moreM && !moreN)
        break;
      int64_t ownM = e.m / warpsM, ownN = e.n / warpsN;
      bool wantsM = chain == Chain::Left;
      if (chain == Chain::None)
        wantsM = isLeft == isRight ? ownM >= ownN : isLeft ? cuts(ownM, ownN) : !cuts(ownN, ownM);
      (moreM && (wantsM || !moreN) ? warpsM : warpsN) *= 2;
    }
    return {warpsM, warpsN};
  }

  const Classes &classes_;
  analysis::AxisInfoAnalysis &axes_;
  const SimtOptions &options_;
  llvm::DenseMap<Value, Chain> chains_;
  llvm::DenseMap<std::pair<Value, unsigned>, bool> turned_; // by class and operand: lies AlongResult
  llvm::DenseMap<Value, Layout> layouts_;
  llvm::DenseSet<Value> takeSeveralWarps_;           // classes for which an instruction of several warps pays
  llvm::DenseMap<Value, SmallVector<DotOp>> dotsOf_; // by class
  llvm::DenseMap<Operation *, MatrixDot> result_;
};

} // namespace

llvm::DenseMap<Operation *, MatrixDot> chooseMatrices(FuncOp function, const Classes &classes,
                                                      analysis::AxisInfoAnalysis &axes,
                                                      const SimtOptions &options) {
  return Chooser(classes, axes, options).run(function);
}

} // namespace tegula::convert
