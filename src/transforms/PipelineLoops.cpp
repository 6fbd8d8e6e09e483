#include "transforms/PipelineLoops.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "ir/simt/Turns.h"
#include "layout/MatrixAccess.h"
#include "layout/OperandTile.h"
#include "transforms/BulkCopies.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

constexpr llvm::StringLiteral stagesName = "tt.num_stages";

// Registers of a thread that a loop of products takes besides its sums.
constexpr uint64_t besideSums = 60;

// Columns of an instruction of a trip's last product, from which boxes pay where signals hand slots on (H200,
// docs/decisions/0023-copies-of-boxes.md).
constexpr unsigned handedOnColumns = 64;

// A load that becomes a copy.
struct Copied {
  LoadOp load;
  layout::SharedMap map;
  unsigned width; // elements of one copy
};

// Nothing, or 0 in some type.
bool isZero(Value value) {
  while (value && value.getDefiningOp() &&
         isa<FpToFpOp, arith::TruncFOp, arith::ExtFOp, SplatOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return !value || matchPattern(value, m_Zero()) || matchPattern(value, m_AnyZeroFloat());
}

class Pipeline {
public:
  Pipeline(scf::ForOp loop, unsigned stages, const simt::Machine &machine, std::vector<diag::Remark> &remarks)
      : loop_(loop), machine_(machine), remarks_(remarks) {
    if (auto own = loop->getAttrOfType<IntegerAttr>(stagesName))
      stages = unsigned(std::max<int64_t>(own.getInt(), 1));
    slots_ = stages;
    aheadTrips_ = stages - 1;
  }

  void run() {
    if (slots_ < 2 || !isCandidate())
      return;
    defineYieldedInside();
    for (Operation &op : *loop_.getBody())
      if (auto load = dyn_cast<LoadOp>(op))
        consider(load);
    considerFactorsOfFactors();
    if (copied_.empty())
      return;
    llvm::sort(copied_, [](Copied &a, Copied &b) { return a.load->isBeforeInBlock(b.load); });
    letDotsRun();
    letLastDotsRun();
    holdSmallLoads();
    widenBounds();
    separate();
    insertCopies();
    expand();
  }

private:
  bool isCandidate() {
    bool hasDots = false, isInnermost = true, meets = false;
    loop_.getBody()->walk([&](Operation *op) {
      hasDots |= op->hasAttr(simt::matrixName);
      isInnermost &= !isa<LoopLikeOpInterface>(op);
      meets |= isa<BarrierOp>(op);
      if (isa<StoreOp, AtomicRMWOp, AtomicCASOp>(op))
        written_.push_back(op->getOperand(0));
    });
    if (!hasDots || !isInnermost)
      return false;
    if (meets)
      return refuse(loop_.getLoc(), "loads stay where they are: the loop has a barrier");
    // The expansion follows values over one trip: `a, b = b, load(...)` goes over two.
    if (llvm::any_of(loop_.getYieldedValues(), [&](Value value) {
          auto argument = dyn_cast<BlockArgument>(value);
          return argument && argument.getOwner() == loop_.getBody();
        }))
      return refuse(loop_.getLoc(), "loads stay where they are: a value is carried over several trips");
    APInt step;
    if (!matchPattern(loop_.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive() ||
        loop_.getUnsignedCmp())
      return refuse(loop_.getLoc(),
                    "loads stay where they are: the step of the loop is no positive constant");
    return true;
  }

  // The expansion wants an op of the loop behind each carried value that runs ahead.
  void defineYieldedInside() {
    Operation *yield = loop_.getBody()->getTerminator();
    OpBuilder builder(yield);
    for (OpOperand &operand : yield->getOpOperands()) {
      Value value = operand.get();
      if (!value.getDefiningOp() || !loop_.isDefinedOutsideOfLoop(value))
        continue;
      Type type = builder.getI1Type();
      TypedAttr always = builder.getBoolAttr(true);
      if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
        always = DenseElementsAttr::get(tile.clone(type), true);
      Value condition = arith::ConstantOp::create(builder, loop_.getLoc(), always);
      operand.set(arith::SelectOp::create(builder, loop_.getLoc(), condition, value, value));
    }
  }

  bool refuse(Location location, StringRef why) {
    remarks_.push_back({locationText(location), "pipeline", why.str()});
    return false;
  }

  // The conversions of a load to operands of matrix instructions, through shared memory.
  static SmallVector<simt::ConvertOp> convertsOf(LoadOp load) {
    SmallVector<simt::ConvertOp> result;
    for (Operation *user : load->getUsers())
      if (auto convert = dyn_cast<simt::ConvertOp>(user))
        if (convert.isThroughShared())
          result.push_back(convert);
    return result;
  }

  bool consider(LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    SmallVector<simt::ConvertOp> converts = type ? convertsOf(load) : SmallVector<simt::ConvertOp>();
    return !converts.empty() && copyAhead(load, converts);
  }

  bool copyAhead(LoadOp load, ArrayRef<simt::ConvertOp> converts) {
    auto type = cast<RankedTensorType>(load.getType());
    if (load.getIsVolatile())
      return refuse(load.getLoc(), "stays where it is: volatile");
    if (!isZero(load.getOther()))
      return refuse(load.getLoc(), "stays where it is: masked elements are not zero");
    if (type.getElementType().isInteger(1) || isa<PointerType>(type.getElementType()))
      return refuse(load.getLoc(), "stays where it is: its elements are stored in another form");
    // Of two arguments that overlap the memory model asks nothing without a barrier (M12).
    for (Value written : written_)
      if (origins_.of(load.getPtr()).mayShare(origins_.of(written)))
        return refuse(load.getLoc(), "stays where it is: the loop may store to what it reads");
    if (const char *why = reasonAgainst(load))
      return refuse(load.getLoc(), why);
    Layout layout = simt::layoutOf(type);
    unsigned bits = simt::storedBits(type.getElementType());
    unsigned width = unsigned(load->getAttrOfType<IntegerAttr>(simt::widthName).getInt());
    layout::SharedMap map = mapFor(layout, converts, bits, width);
    width = layout::copyWidth(layout, map, width);
    if (width * bits < 32)
      return refuse(load.getLoc(), "stays where it is: an access moves less than four bytes");
    copied_.push_back({load, std::move(map), width});
    return true;
  }

  // Loads that factors of products are computed from, quantized weights say, are copied ahead as well, if two
  // programs still fit into shared memory; where they do not, all copies start fewer trips ahead. Each thread
  // reads back what it would have loaded, so that all of a tile's layout must lie in the buffer.
  void considerFactorsOfFactors() {
    uint64_t others = 0; // bytes of factors that the loop computes and puts into shared memory
    loop_.getBody()->walk([&](DotOp dot) {
      for (Value factor : {dot.getA(), dot.getB()})
        if (!isCopied(factor) && !loop_.isDefinedOutsideOfLoop(factor))
          others += bytesOf(factor);
    });
    for (LoadOp load : loop_.getBody()->getOps<LoadOp>()) {
      auto type = dyn_cast<RankedTensorType>(load.getType());
      if (!type || !llvm::all_of(type.getShape(), llvm::isPowerOf2_64) || isCopied(load) ||
          !isFactorOfFactor(load) || isSmall(load))
        continue;
      uint64_t bytes = bytesOf(load);
      for (Copied &copied : copied_)
        bytes += bytesOf(copied.load);
      unsigned slots = slots_;
      while (slots >= 2 && slots * bytes + others > machine_.sharedBytes / 2)
        --slots;
      if (slots < 2 || !copyAhead(load, {}))
        continue;
      slots_ = slots;
      aheadTrips_ = slots - 1;
    }
  }

  static uint64_t bytesOf(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return uint64_t(type.getNumElements()) * simt::storedBits(type.getElementType()) / 8;
  }

  // Is a factor of a product of the loop computed from the value, element by element?
  bool isFactorOfFactor(Value value) {
    llvm::SetVector<Value> reached;
    reached.insert(value);
    for (unsigned i = 0; i != reached.size(); ++i)
      for (OpOperand &use : reached[i].getUses()) {
        Operation *user = use.getOwner();
        if (isa<DotOp>(user) && use.getOperandNumber() < 2)
          return true;
        if (user->getBlock() == loop_.getBody() && user->getNumRegions() == 0 && user->getNumResults() == 1 &&
            isMemoryEffectFree(user) && !isa<DotOp>(user))
          reached.insert(user->getResult(0));
      }
    return false;
  }

  // May the value wait in registers for all of the trips that a load runs ahead?
  bool isSmall(LoadOp load) const {
    unsigned registers = isa<RankedTensorType>(load.getType()) ? simt::registersOf(load.getType()) : 1;
    return registers * aheadTrips_ <= machine_.costs.heldAhead;
  }

  // Small tiles and scalars that the trip computes with run ahead into registers. Not those whose masked
  // elements are replaced by what the trip computes: the loop could not be expanded, and nothing would run
  // ahead.
  void holdSmallLoads() {
    for (LoadOp load : loop_.getBody()->getOps<LoadOp>()) {
      bool takesOfTrip = load.getOther() && !loop_.isDefinedOutsideOfLoop(load.getOther());
      if (isCopied(load) || ahead_.contains(load) || load.getIsVolatile() || takesOfTrip || !isSmall(load) ||
          llvm::any_of(written_, [&](Value written) {
            return origins_.of(load.getPtr()).mayShare(origins_.of(written));
          }))
        continue;
      if (!reasonAgainst(load))
        ahead_.insert(load);
    }
  }

  // Is a tile in a buffer read by an instruction of several warps itself, if it lies there by `map`?
  static bool isReadTogether(Value tile, const layout::SharedMap &map, bool isTransposed = false) {
    return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
      if (auto trans = dyn_cast<TransOp>(use.getOwner()))
        return isReadTogether(trans.getResult(), map, !isTransposed);
      auto matrix = use.getOwner()->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
      auto dot = dyn_cast<DotOp>(use.getOwner());
      if (!matrix || matrix.getWarps() == 1 || !dot)
        return false;
      Layout lies = simt::layoutOf(tile);
      if (isTransposed)
        lies = lies.transposed(std::vector<int32_t>{1, 0});
      return layout::planOperandTile(lies, map, isTransposed, use.getOperandNumber(),
                                     simt::layoutOf(dot.getResult()), matrix.shape())
          .has_value();
    });
  }

  // Each product may run until the next trip has started its own, if all of the loop are of several warps,
  // add up what nobody else reads, and take both operands from copies.
  void letDotsRun() {
    SmallVector<DotOp> dots;
    bool areFree = true;
    loop_.getBody()->walk([&](Operation *op) {
      auto dot = dyn_cast<DotOp>(op);
      areFree &= dot ? addsUp(dot) : !isa<simt::LocalStoreOp>(op);
      if (dot)
        dots.push_back(dot);
    });
    if (!areFree || dots.empty() || costsSecondProgram(dots) || !keepSlotsLonger(0))
      return;
    for (DotOp dot : dots)
      dot->setAttr(simt::inFlightName, UnitAttr::get(dot.getContext()));
    areWide_ = llvm::all_of(dots, [&](DotOp dot) { return isWide(dot); });
    if (!areWide_)
      startsDotsFirst_ = areWide_ = llvm::all_of(dots, [&](DotOp dot) { return isWideAlone(dot); });
  }

  // Would another slot leave no room for a second program on the multiprocessor, where registers have room
  // for it? While one waits for its products the other one's run.
  bool costsSecondProgram(ArrayRef<DotOp> dots) {
    uint64_t bytes = slotBytes(), registers = besideSums;
    for (DotOp dot : dots)
      registers += simt::registersOf(dot.getType());
    return 2 * simt::warpsOf(loop_) * registers <= machine_.costs.productWarps * (machine_.registers + 1) &&
           2 * slots_ * bytes <= machine_.sharedBytes && 2 * (slots_ + 1) * bytes > machine_.sharedBytes;
  }

  // Of all buffers, one slot of each.
  uint64_t slotBytes() {
    uint64_t bytes = 0;
    for (Copied &copied : copied_)
      bytes += (uint64_t(1) << copied.map.images.size()) *
               simt::storedBits(elementType(copied.load.getType())) / 8;
    return bytes;
  }

  // Is a product so wide that copies of boxes pay: its instructions have many columns, and it takes long
  // enough to hide the one thread's work, or other programs run beside this one.
  bool isWide(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    const simt::Costs &costs = machine_.costs;
    return matrix.getElementBits() == costs.boxedBits &&
           layout::columnsTogether(simt::layoutOf(dot.getResult()), matrix.shape()) >= costs.boxedColumns &&
           (simt::warpsOf(loop_) < costs.productWarps || productsOf(dot) >= costs.boxedProducts);
  }

  // Do they pay for a product of fewer columns: its slots leave no room for a second program, and its trip
  // takes long enough to hide the one thread's work behind it.
  bool isWideAlone(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    const simt::Costs &costs = machine_.costs;
    int64_t products = productsOf(dot);
    return matrix.getElementBits() == costs.boxedBits &&
           layout::columnsTogether(simt::layoutOf(dot.getResult()), matrix.shape()) >=
               costs.boxedAloneColumns &&
           products >= costs.boxedAloneProducts && products < costs.boxedProducts &&
           2 * slots_ * slotBytes() > machine_.sharedBytes;
  }

  static int64_t productsOf(DotOp dot) {
    return cast<RankedTensorType>(dot.getA().getType()).getNumElements() *
           cast<RankedTensorType>(dot.getType()).getShape().back();
  }

  // Lets a slot be read for a trip more: with another slot, unless a program less would then run beside this
  // one, or with copies that start a trip later. `others`: bytes of shared memory that lie beside the slots.
  // Returns false where neither can be.
  bool keepSlotsLonger(uint64_t others) {
    uint64_t bytes = slotBytes();
    uint64_t most = std::max<uint64_t>(machine_.costs.productWarps / simt::warpsOf(loop_), 1);
    uint64_t now = std::min(most, machine_.sharedBytes / (slots_ * bytes + others)),
             then = std::min(most, machine_.sharedBytes / ((slots_ + 1) * bytes + others));
    if (then != 0 && (then == now || aheadTrips_ == 1))
      ++slots_;
    else if (aheadTrips_ > 1)
      --aheadTrips_;
    else
      return false;
    return true;
  }

  // The last product of a trip, whose first factor the trip computes, may run until the next trip waits for
  // its first product: where that is before the sums are scaled, and where the program fills its
  // multiprocessor alone, so that no other one's work runs beside.
  void letLastDotsRun() {
    DotOp last, first;
    unsigned dots = 0, held = 0;
    bool areAsync = true;
    loop_.getBody()->walk([&](DotOp dot) {
      auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
      areAsync &= matrix && matrix.getWarps() > 1 && !matrix.getIsSwapped() &&
                  dot->getBlock() == loop_.getBody() && !dot->hasAttr(simt::inFlightName);
      if (dots++ == 0)
        first = dot;
      held += simt::registersOf(dot.getType());
      last = dot;
    });
    if (dots != 2 || !areAsync || !isReadThere(first.getB()) || !isReadThere(last.getB()) ||
        isCopied(last.getA()) || loop_.isDefinedOutsideOfLoop(last.getA()) || !last->hasOneUse() ||
        !elementType(last.getType()).isF32() || held < machine_.registers * machine_.costs.heldAlone)
      return;
    OpOperand *use = &*last->getUses().begin();
    if (!isa<scf::YieldOp>(use->getOwner()))
      return;
    for (Operation *user : loop_.getRegionIterArg(use->getOperandNumber()).getUsers())
      if (!first->isBeforeInBlock(loop_.getBody()->findAncestorOpInBlock(*user)))
        return;
    uint64_t bytes = 0;
    if (!isCopied(first.getA()))
      bytes = uint64_t(cast<RankedTensorType>(first.getA().getType()).getNumElements()) *
              simt::storedBits(elementType(first.getA().getType())) / 8;
    if (!keepSlotsLonger(bytes))
      return;
    last->setAttr(simt::inFlightName, UnitAttr::get(last.getContext()));
    first_ = first;
    last_ = last;
    auto matrix = last->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    areWide_ = matrix.getElementBits() == machine_.costs.boxedBits; // how wide it has to be, planBoxes knows
    asksAhead_ = true;
  }

  bool addsUp(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    auto sum = dyn_cast<BlockArgument>(dot.getAcc());
    if (!matrix || matrix.getWarps() == 1 || dot->getBlock() != loop_.getBody() || !sum ||
        sum.getOwner() != loop_.getBody() || !sum.hasOneUse() || !dot.getResult().hasOneUse() ||
        elementType(dot.getType()).getIntOrFloatBitWidth() != 32)
      return false;
    return loop_.getYieldedValues()[sum.getArgNumber() - 1] == dot.getResult() && isReadThere(dot.getA()) &&
           isReadThere(dot.getB());
  }

  // Is an operand copied, in whatever form it is read?
  bool isCopied(Value operand) {
    while (isa_and_nonnull<TransOp, simt::ConvertOp>(operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    return llvm::any_of(copied_, [&](Copied &copied) { return copied.load.getResult() == operand; });
  }

  // Is an operand copied, and read where the copy lies?
  bool isReadThere(Value operand) {
    while (auto trans = operand.getDefiningOp<TransOp>())
      operand = trans.getValue();
    auto convert = operand.getDefiningOp<simt::ConvertOp>();
    return convert && llvm::any_of(copied_, [&](Copied &copied) {
             return copied.load.getResult() == convert.getValue() && isReadTogether(operand, copied.map);
           });
  }

  static layout::SharedMap mapFor(const Layout &load, ArrayRef<simt::ConvertOp> converts, unsigned bits,
                                  unsigned width) {
    unsigned fastest = load.rank() - 1;
    for (unsigned d = load.rank(); d-- != 0;)
      if (load.contiguous(d) > load.contiguous(fastest))
        fastest = d;
    layout::SharedMap best = layout::matrixMap(load.extents(), fastest, bits);
    if (llvm::any_of(converts, [&](simt::ConvertOp each) { return isReadTogether(each.getResult(), best); }))
      return best;
    if (converts.empty())
      return layout::swizzled(load, load, bits);
    Layout use = simt::layoutOf(converts[0]->getResult(0));
    if (std::optional<layout::SharedMap> map = layout::matrixMapFor(use, fastest, bits))
      return *map;
    auto conflicts = [&](const layout::SharedMap &map) {
      unsigned vector = layout::accessWidth(use, map, bits);
      return layout::wavefronts(use, map, vector, bits) * (8 / std::min(vector, 8u));
    };
    unsigned most = layout::copyWidth(load, best, width);
    for (const layout::SharedMap &map :
         {layout::matrixMap(load.extents(), fastest, bits, 2),
          layout::matrixMap(load.extents(), fastest, bits, 4), layout::swizzled(load, use, bits)})
      if (layout::copyWidth(load, map, width) == most && conflicts(map) < conflicts(best))
        best = map;
    return best;
  }

  // Collects what the addresses and the mask of the load need of the loop; null: all of it can run ahead.
  const char *reasonAgainst(LoadOp load) {
    llvm::SetVector<Operation *> needed;
    llvm::DenseSet<Value> seen;
    SmallVector<Value> work{load.getPtr()};
    if (load.getMask())
      work.push_back(load.getMask());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == loop_.getBody() && argument != loop_.getInductionVar())
          work.push_back(loop_.getYieldedValues()[argument.getArgNumber() - 1]);
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (!loop_->isAncestor(op) || op == loop_)
        continue;
      if (auto inner = dyn_cast<LoadOp>(op)) {
        if (inner.getIsVolatile())
          return "stays where it is: its addresses come from a volatile load";
      } else if (op->getNumRegions() || !isMemoryEffectFree(op) || isa<DotOp>(op)) {
        return "stays where it is: its addresses come from what the loop computes";
      }
      needed.insert(op);
      llvm::append_range(work, op->getOperands());
    }
    ahead_.insert(needed.begin(), needed.end());
    return nullptr;
  }

  // The loop counts in 64 bits: it asks trips ahead whether a trip exists, and that must not overflow.
  void widenBounds() {
    if (!loop_.getInductionVar().getType().isInteger(32))
      return;
    OpBuilder builder(loop_);
    Location loc = loop_.getLoc();
    for (OpOperand *bound :
         {&loop_.getLowerBoundMutable(), &loop_.getUpperBoundMutable(), &loop_.getStepMutable()})
      bound->set(builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), bound->get()));
    Value index = loop_.getInductionVar();
    index.setType(builder.getI64Type());
    builder.setInsertionPointToStart(loop_.getBody());
    auto narrow = arith::TruncIOp::create(builder, loc, builder.getI32Type(), index);
    index.replaceAllUsesExcept(narrow, narrow);
    // Ops that run ahead, and are not in the list yet: their index is narrowed there, too.
    ahead_.insert(narrow);
  }

  // Ops that run ahead have users there alone: others get a copy of their own.
  void separate() {
    SmallVector<Operation *> ops;
    for (Operation &op : *loop_.getBody())
      if (ahead_.contains(&op))
        ops.push_back(&op);
    llvm::DenseSet<Operation *> loads;
    for (Copied &copied : copied_)
      loads.insert(copied.load);
    auto isAhead = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (ahead_.contains(user) || isa<scf::YieldOp>(user))
        return true;
      return loads.contains(user) && use.getOperandNumber() < 2; // the address and the mask
    };
    for (Operation *op : llvm::reverse(ops)) {
      bool isShared = llvm::any_of(op->getUses(), [&](OpOperand &use) { return !isAhead(use); });
      // A value that a load reads is not read twice: it waits in registers.
      if (!isShared || isa<LoadOp>(op) || isYieldedAhead(op))
        continue;
      OpBuilder builder(op);
      Operation *copy = builder.clone(*op);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        from.replaceUsesWithIf(to, [&](OpOperand &use) { return !isAhead(use); });
    }
  }

  bool isYieldedAhead(Operation *op) const {
    return llvm::any_of(op->getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); });
  }

  void insertCopies() {
    IRRewriter rewriter(loop_.getContext());
    Location loc = loop_.getLoc();
    rewriter.setInsertionPoint(loop_);
    SmallVector<Value> buffers;
    for (Copied &copied : copied_) {
      auto type = cast<RankedTensorType>(copied.load.getType());
      auto map = simt::SharedAttr::get(loop_.getContext(), copied.map);
      auto buffer = simt::BufferType::get(loop_.getContext(), type.getShape(), type.getElementType(), map,
                                          int64_t(slots_));
      buffers.push_back(simt::AllocOp::create(rewriter, copied.load.getLoc(), buffer, IntegerAttr()));
    }
    if (machine_.hasBulkCopy && areWide_)
      planBoxes(rewriter);
    // The slots that a trip fills and reads, one after the other, and the parity of signals in the latter,
    // then that in the former.
    Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
    Value one = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(1));
    Value count = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(slots_)));
    SmallVector<Operation *> next[2];
    SmallVector<Value> begins{zero, zero};
    if (signals_)
      begins.push_back(zero);
    if (emptied_)
      begins.push_back(zero);
    auto replaced = loop_.replaceWithAdditionalYields(
        rewriter, begins, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location at, ArrayRef<BlockArgument> slots) {
          SmallVector<Value> yields;
          Value wraps[2];
          for (unsigned i : {0u, 1u}) {
            Value more = arith::AddIOp::create(builder, at, slots[i], one);
            wraps[i] = arith::CmpIOp::create(builder, at, arith::CmpIPredicate::eq, more, count);
            Value slot = arith::SelectOp::create(builder, at, wraps[i], zero, more);
            next[i] = {more.getDefiningOp(), wraps[i].getDefiningOp(), slot.getDefiningOp()};
            yields.push_back(slot);
          }
          auto flip = [&](Value parity, unsigned i) {
            Value flips = arith::ExtUIOp::create(builder, at, builder.getI32Type(), wraps[i]);
            yields.push_back(arith::XOrIOp::create(builder, at, parity, flips));
            next[i].append({flips.getDefiningOp(), yields.back().getDefiningOp()});
          };
          if (signals_)
            flip(slots[2], 1);
          if (emptied_)
            flip(slots[3], 0);
          return yields;
        });
    loop_ = cast<scf::ForOp>(replaced->getOperation());
    ahead_.insert(next[0].begin(), next[0].end());
    ArrayRef<BlockArgument> own = loop_.getRegionIterArgs().take_back(begins.size());
    Value fill = own[0], read = own[1];

    SmallVector<Value> tokens;
    Operation *last = copied_.back().load; // in the order of the block
    rewriter.setInsertionPoint(last);
    Operation *before = last->getPrevNode();
    SmallVector<Value> views;
    for (auto [copied, buffer] : llvm::zip(copied_, buffers))
      views.push_back(simt::ViewOp::create(rewriter, copied.load.getLoc(), oneSlot(buffer), buffer, fill));
    Value others =
        signals_ ? insertBoxes(rewriter, fill, emptied_ ? Value(own[3]) : Value(), views) : Value();
    for (auto [copied, view] : llvm::zip(copied_, views)) {
      bool isBox = llvm::any_of(boxes_, [&](auto &plan) { return plan.load == copied.load; });
      auto copy =
          simt::AsyncCopyOp::create(rewriter, copied.load.getLoc(), simt::TokenType::get(loop_.getContext()),
                                    copied.load.getPtr(), copied.load.getMask(), isBox ? others : Value(),
                                    view, copied.load.getCache(), copied.load.getEvict());
      copy->setAttr(simt::widthName, rewriter.getI32IntegerAttr(int32_t(copied.width)));
      markSignalled(copy);
      tokens.push_back(copy.getToken());
    }
    Value filled = emptied_ ? arith::AddIOp::create(rewriter, loc, fill, zero) : Value();
    for (Operation *op = before ? before->getNextNode() : &loop_.getBody()->front(); op != last;
         op = op->getNextNode())
      ahead_.insert(op);
    rewriter.setInsertionPoint(last);
    auto commit =
        simt::AsyncCommitOp::create(rewriter, loc, simt::TokenType::get(loop_.getContext()), tokens);
    ahead_.insert(commit);
    // Of the groups that were started behind this trip's none need be there.
    wait_ = simt::AsyncWaitOp::create(rewriter, loc, commit.getGroup(), int32_t(aheadTrips_ - 1));
    markSignalled(wait_);
    if (emptied_)
      tellOfCopies(rewriter, filled, others);
    if (signals_)
      waitForBoxes(rewriter, read, own[2], buffers);
    for (auto [copied, buffer] : llvm::zip(copied_, buffers))
      readFrom(rewriter, copied.load, buffer, read);
    remarks_.push_back(
        {locationText(loop_.getLoc()), "pipeline",
         std::to_string(copied_.size()) + (copied_.size() == 1 ? " load runs " : " loads run ") +
             std::to_string(aheadTrips_) + (aheadTrips_ == 1 ? " trip ahead" : " trips ahead")});
  }

  // Finds the loads that one thread can start as copies of boxes; then there is a signal for each slot.
  void planBoxes(IRRewriter &rewriter) {
    std::string why;
    BulkCopies bulk(loop_->getParentOfType<FuncOp>());
    TripValues trips(rewriter, loop_);
    fits_ = simt::CopyMapsOp::create(rewriter, loop_.getLoc(), rewriter.getI1Type());
    for (Copied &copied : copied_) {
      std::optional<BulkCopies::Plan> plan = bulk.plan(copied.load, copied.map, why);
      auto ahead = plan ? bulk.fitsInAllTrips(rewriter, *plan, trips) : std::nullopt;
      // Asked by all warps in each trip, it takes as long as boxes save in attention.
      if (plan && !ahead && asksAhead_) {
        plan.reset();
        why = "what its bounds ask would be asked in each trip";
      }
      if (!plan) {
        remarks_.push_back(
            {locationText(copied.load.getLoc()), "pipeline", "is copied by all threads: " + why});
        continue;
      }
      boxes_.push_back(*plan);
      asked_.push_back(ahead);
      if (ahead)
        fits_ = rewriter.createOrFold<arith::AndIOp>(copied.load.getLoc(), fits_, ahead->fits);
    }
    if (boxes_.empty())
      return;
    bool areSignalled = handsSlotsOn();
    if (last_ && !hasLongRows(areSignalled ? handedOnColumns : machine_.costs.boxedLastColumns)) {
      boxes_.clear();
      return;
    }
    if (trips.condition())
      fits_ = rewriter.createOrFold<arith::AndIOp>(loop_.getLoc(), fits_, trips.condition());
    signals_ = makeSignals(rewriter, areSignalled ? simt::warpsOf(loop_) : 1);
    if (areSignalled)
      emptied_ = makeSignals(rewriter, simt::warpsOf(loop_));
    bool isAskedAhead = llvm::all_of(asked_, [](auto &ahead) { return ahead.has_value(); });
    remarks_.push_back({locationText(loop_.getLoc()), "pipeline",
                        std::to_string(boxes_.size()) + (boxes_.size() == 1 ? " load is" : " loads are") +
                            " copied by one thread in boxes, wherever the tile is a window of memory" +
                            (isAskedAhead ? "" : ", which each trip asks")});
  }

  // Do signals hand slots from those who read to those who copy, instead of the barrier of a trip? It pays
  // where groups of warps take turns, which can then lie around both products. All that the loop copies has
  // to come in boxes, where they fit.
  bool handsSlotsOn() {
    if (!last_ || boxes_.size() != copied_.size() || slots_ < aheadTrips_ + 2)
      return false;
    auto matrix = last_->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return simt::warpsOf(loop_) >= 2 * matrix.getWarps();
  }

  // Has an instruction of the last product so many columns?
  bool hasLongRows(unsigned columns) {
    auto matrix = last_->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return layout::columnsTogether(simt::layoutOf(last_.getResult()), matrix.shape()) >= columns;
  }

  Value makeSignals(IRRewriter &rewriter, unsigned arrivals) {
    // An element more than the signal: slots begin at multiples of 16 bytes.
    auto map = simt::SharedAttr::get(loop_.getContext(), layout::linearMap(1));
    auto type = simt::BufferType::get(loop_.getContext(), {2}, rewriter.getI64Type(), map, int64_t(slots_));
    Value signals = simt::AllocOp::create(rewriter, loop_.getLoc(), type, IntegerAttr());
    simt::SignalInitOp::create(rewriter, loop_.getLoc(), signals, arrivals);
    return signals;
  }

  // Of an op in the loop, where signals order it.
  void markSignalled(Operation *op) {
    if (emptied_)
      op->setAttr(simt::signalledName, UnitAttr::get(op->getContext()));
  }

  // The copies of a trip that all threads have made are there: a trip earlier than they are read, and ahead
  // of its last product, for which a group waits while others wait for its copies.
  void tellOfCopies(IRRewriter &rewriter, Value slot, Value byAll) {
    auto signal = simt::ViewOp::create(rewriter, loop_.getLoc(), oneSlot(signals_), signals_, slot);
    auto tell = simt::SignalArriveWarpsOp::create(rewriter, loop_.getLoc(), signal, byAll, true);
    tells_ = {signal, tell};
  }

  // Behind its first product a trip has waited for the last one of the trip before, whose slot is empty then.
  void tellOfReads() {
    OpBuilder rewriter(first_->getContext());
    rewriter.setInsertionPointAfter(first_);
    Location loc = loop_.getLoc();
    Value read = loop_.getRegionIterArgs().take_back(3)[0];
    auto constant = [&](unsigned number) {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(number)));
    };
    Value wraps = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, read, constant(0));
    Value behind = arith::SelectOp::create(rewriter, loc, wraps, constant(slots_), read);
    Value before = arith::SubIOp::create(rewriter, loc, behind, constant(1));
    Value isThere = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, loop_.getInductionVar(),
                                          loop_.getLowerBound());
    auto signal = simt::ViewOp::create(rewriter, loc, oneSlot(emptied_), emptied_, before);
    simt::SignalArriveWarpsOp::create(rewriter, loc, signal, isThere, false);
  }

  // Starts the copies of boxes of a trip; its result: they are to be made by all threads instead. `parity`:
  // of the slots' phases, where signals say that they are empty: who copies waits for the end of the phase
  // before.
  Value insertBoxes(IRRewriter &rewriter, Value fill, Value parity, ArrayRef<Value> views) {
    Location loc = loop_.getLoc();
    Value fits = fits_;
    SmallVector<BulkCopies::Place> places;
    uint64_t bytes = 0;
    BulkCopies bulk(loop_->getParentOfType<FuncOp>()); // the loop has other arguments since they were planned
    for (auto [plan, ahead] : llvm::zip(boxes_, asked_)) {
      places.push_back(bulk.locate(rewriter, plan, ahead, fits));
      bytes += uint64_t(plan.map.columns) * plan.map.rows * plan.map.elementBytes;
    }
    Value all = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(bytes)));
    Value yes = arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    Value byAll = arith::XOrIOp::create(rewriter, loc, fits, yes);
    Value signal = simt::ViewOp::create(rewriter, loc, oneSlot(signals_), signals_, fill);
    unsigned warp = 0;
    if (emptied_) {
      warp = simt::warpsOf(loop_) - last_->getAttrOfType<simt::MatrixAttr>(simt::matrixName).getWarps();
      Value one = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(1));
      Value before = arith::XOrIOp::create(rewriter, loc, parity, one);
      Value slot = simt::ViewOp::create(rewriter, loc, oneSlot(emptied_), emptied_, fill);
      auto wait = [&](Value predicate, IntegerAttr which) {
        markSignalled(
            simt::SignalWaitOp::create(rewriter, loc, slot, before, predicate, ValueRange(), which));
      };
      wait(byAll, IntegerAttr());
      wait(fits, rewriter.getI32IntegerAttr(int32_t(warp)));
      simt::SignalArriveOp::create(rewriter, loc, signal, all, fits, simt::warpsOf(loop_), warp);
    } else {
      Value none = arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
      Value announced = arith::SelectOp::create(rewriter, loc, fits, all, none);
      simt::SignalArriveOp::create(rewriter, loc, signal, announced, Value());
    }
    auto module = loop_->getParentOfType<ModuleOp>();
    for (auto [plan, place] : llvm::zip(boxes_, places))
      for (auto [copied, view] : llvm::zip(copied_, views))
        if (copied.load == plan.load)
          markSignalled(simt::BulkCopyOp::create(rewriter, copied.load.getLoc(), copied.load.getPtr(),
                                                 place.column, place.row, place.origin, fits, view, signal,
                                                 int32_t(simt::addCopyMap(module, plan.map)), warp));
    return byAll;
  }

  // Ahead of the wait for the other copies.
  void waitForBoxes(IRRewriter &rewriter, Value read, Value parity, ArrayRef<Value> buffers) {
    rewriter.setInsertionPoint(wait_);
    auto signal = simt::ViewOp::create(rewriter, loop_.getLoc(), oneSlot(signals_), signals_, read);
    auto wait =
        simt::SignalWaitOp::create(rewriter, loop_.getLoc(), signal, parity, Value(), buffers, IntegerAttr());
    waits_ = {signal, wait};
  }

  static simt::BufferType oneSlot(Value buffer) {
    auto type = cast<simt::BufferType>(buffer.getType());
    return simt::BufferType::get(type.getContext(), type.getShape(), type.getElementType(), type.getMap(), 1);
  }

  // The load's users read the slot, each in its own layout. Loads before the wait move behind it.
  void readFrom(IRRewriter &rewriter, LoadOp load, Value buffer, Value slot) {
    Location at = load.getLoc();
    rewriter.setInsertionPointAfter(load->isBeforeInBlock(wait_) ? wait_.getOperation()
                                                                 : load.getOperation());
    auto view = simt::ViewOp::create(rewriter, at, oneSlot(buffer), buffer, slot);
    for (simt::ConvertOp convert : convertsOf(load)) {
      // Read as late as can be: until then nothing takes registers. The slot stays until the next trip's
      // barrier.
      Operation *user = firstUser(convert);
      rewriter.setInsertionPoint(user->isBeforeInBlock(wait_) ? view->getNextNode() : user);
      rewriter.replaceOpWithNewOp<simt::LocalLoadOp>(convert, convert.getResult().getType(), view);
    }
    if (!load->use_empty()) {
      rewriter.setInsertionPointAfter(view);
      auto whole = simt::LocalLoadOp::create(rewriter, at, load.getType(), view);
      rewriter.replaceAllUsesWith(load.getResult(), whole);
    }
    rewriter.eraseOp(load);
  }

  Operation *firstUser(Operation *op) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *here = loop_.getBody()->findAncestorOpInBlock(*user);
      if (!first || here->isBeforeInBlock(first))
        first = here;
    }
    return first ? first : op;
  }

  void expand() {
    // Users of a load that stood between the copies and the wait come behind it, in their order.
    restoreOrder();
    if (emptied_)
      tellOfReads();
    scf::PipeliningOption options;
    options.supportDynamicLoops = true;
    options.peelEpilogue = false;
    options.predicateFn = [](RewriterBase &rewriter, Operation *op, Value predicate) {
      return under(rewriter, op, predicate);
    };
    options.getScheduleFn = [&](scf::ForOp loop, std::vector<std::pair<Operation *, unsigned>> &schedule) {
      for (Operation *wait : waits_)
        schedule.push_back({wait, aheadTrips_});
      if (!emptied_)
        schedule.push_back({wait_, aheadTrips_});
      bool isProductFirst = startsDotsFirst_ && signals_ && !emptied_;
      auto scheduleAhead = [&] {
        for (Operation &op : loop.getBody()->without_terminator())
          if (ahead_.contains(&op))
            schedule.push_back({&op, 0});
      };
      if (!emptied_ && !isProductFirst)
        scheduleAhead();
      for (Operation &op : loop.getBody()->without_terminator()) {
        if (emptied_ && &op == last_) {
          schedule.push_back({wait_, aheadTrips_ - 1});
          for (Operation *tell : tells_)
            schedule.push_back({tell, aheadTrips_ - 1});
        }
        if (!ahead_.contains(&op) && &op != wait_ && !llvm::is_contained(waits_, &op) &&
            !llvm::is_contained(tells_, &op))
          schedule.push_back({&op, aheadTrips_});
        // The turn has been handed on, and the product runs.
        if (emptied_ && &op == first_)
          scheduleAhead();
      }
      if (isProductFirst)
        scheduleAhead();
    };
    IRRewriter rewriter(loop_.getContext());
    rewriter.setInsertionPoint(loop_);
    loop_->removeAttr(stagesName);
    FailureOr<scf::ForOp> made = scf::pipelineForLoop(rewriter, loop_, options);
    rewriter.setInsertionPointAfter(failed(made) ? loop_ : *made);
    for (Value signals : {emptied_, signals_})
      if (signals)
        rewriter.setInsertionPoint(simt::SignalEndOp::create(rewriter, signals.getLoc(), signals));
    if (emptied_ && succeeded(made))
      finishSignalled(*made);
    if (failed(made)) { // the copies then happen in their own trip
      wait_.setPending(0);
      return;
    }
    // Nothing is under way when the memory serves others.
    simt::AsyncCommitOp rest = simt::AsyncCommitOp::create(
        rewriter, made->getLoc(), simt::TokenType::get(made->getContext()), ValueRange());
    simt::AsyncWaitOp::create(rewriter, made->getLoc(), rest.getGroup(), 0);
  }

  // Copies ahead of the loop fill slots for the first time, and barriers order them.
  void finishSignalled(scf::ForOp made) {
    made->setAttr(simt::signalledName, UnitAttr::get(made.getContext()));
    for (Operation &op : llvm::make_early_inc_range(*made->getBlock())) {
      if (&op == made)
        break;
      if (op.hasAttr(simt::signalledName) && isa<simt::SignalWaitOp>(op))
        op.erase();
      else if (!isa<scf::ForOp>(op))
        op.removeAttr(simt::signalledName);
    }
  }

  // Moves what depends on the wait behind it.
  void restoreOrder() {
    llvm::DenseSet<Operation *> behind;
    SmallVector<Operation *> moved;
    for (Operation &op : llvm::make_early_inc_range(*loop_.getBody())) {
      if (&op == wait_)
        break;
      bool depends = false;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp())
            depends |= behind.contains(def) ||
                       (def->getBlock() == loop_.getBody() && !def->isBeforeInBlock(wait_) && def != wait_);
      });
      if (depends) {
        behind.insert(&op);
        moved.push_back(&op);
      }
    }
    // Behind the reads that they depend on, which stand directly behind the wait.
    Operation *after = wait_;
    while (isa<simt::ViewOp, simt::LocalLoadOp>(after->getNextNode()))
      after = after->getNextNode();
    for (Operation *op : moved) {
      op->moveAfter(after);
      after = op;
    }
  }

  static Operation *under(RewriterBase &rewriter, Operation *op, Value predicate) {
    if (auto copy = dyn_cast<simt::AsyncCopyOp>(op)) {
      rewriter.setInsertionPoint(op);
      Value both = copy.getPredicate()
                       ? Value(arith::AndIOp::create(rewriter, op->getLoc(), copy.getPredicate(), predicate))
                       : predicate;
      copy.getPredicateMutable().assign(both);
      return op;
    }
    rewriter.setInsertionPoint(op);
    auto both = [&](Value own) {
      return own ? Value(arith::AndIOp::create(rewriter, op->getLoc(), own, predicate)) : predicate;
    };
    if (auto copy = dyn_cast<simt::BulkCopyOp>(op))
      copy.getPredicateMutable().set(both(copy.getPredicate()));
    if (auto arrive = dyn_cast<simt::SignalArriveOp>(op))
      arrive.getPredicateMutable().assign(both(arrive.getPredicate()));
    if (auto arrive = dyn_cast<simt::SignalArriveWarpsOp>(op))
      arrive.getPredicateMutable().assign(both(arrive.getPredicate()));
    if (auto wait = dyn_cast<simt::SignalWaitOp>(op))
      wait.getPredicateMutable().assign(both(wait.getPredicate()));
    if (auto load = dyn_cast<LoadOp>(op)) {
      rewriter.setInsertionPoint(op);
      Value mask = predicate;
      if (auto type = dyn_cast<RankedTensorType>(load.getType()))
        mask = SplatOp::create(
            rewriter, op->getLoc(),
            RankedTensorType::get(type.getShape(), predicate.getType(), type.getEncoding()), predicate);
      if (load.getMask())
        mask = arith::AndIOp::create(rewriter, op->getLoc(), load.getMask(), mask);
      load.getMaskMutable().assign(mask);
      return op;
    }
    return op; // computes what nobody reads, or counts groups
  }

  scf::ForOp loop_;
  const simt::Machine &machine_;
  unsigned slots_, aheadTrips_; // of each buffer; that a copy starts before its use
  std::vector<diag::Remark> &remarks_;
  std::vector<Copied> copied_;
  SmallVector<Value> written_; // addresses of stores and atomics
  analysis::PointerOrigins origins_;
  llvm::SetVector<Operation *> ahead_; // ops of stage 0
  simt::AsyncWaitOp wait_;
  bool areWide_ = false;                // the products that run into the next trip: copies of boxes pay
  bool asksAhead_ = false;              // copies of boxes pay only where no trip asks whether they fit
  bool startsDotsFirst_ = false;        // a trip's products start ahead of its boxes
  SmallVector<BulkCopies::Plan> boxes_; // loads that may be copies of boxes
  SmallVector<std::optional<BulkCopies::Ahead>> asked_; // of each of them
  Value fits_;                                          // what was asked ahead of the loop
  DotOp first_, last_;                                  // of a trip, if the last one runs into the next trip
  Value signals_;                  // of the slots, that they are filled; null: there are none
  Value emptied_;                  // that they are empty; null: a barrier says so in each trip
  SmallVector<Operation *> waits_; // for a signal, and its slot
  SmallVector<Operation *> tells_; // that copies of all threads are there, and its slot
};

} // namespace

void pipelineLoops(Operation *function, unsigned stages, const simt::Machine &machine,
                   std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    Pipeline(loop, stages, machine, remarks).run();
}

} // namespace tegula::transforms
