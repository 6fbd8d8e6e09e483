#include "convert/TileToSimt.h"
#include "analysis/ConstantSteps.h"
#include "analysis/UsualStride.h"
#include "convert/ChooseLayouts.h"
#include "ir/simt/Runs.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Elementwise.h"
#include "ir/tile/Volatile.h"
#include "layout/Queries.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;

namespace tegula::convert {

namespace {

constexpr unsigned copiedBits = 32; // the fewest that a copy into shared memory moves
constexpr double sectorBytes = 32;  // that memory writes at once

class Rewrite {
public:
  Rewrite(FuncOp function, const SimtOptions &options, std::vector<diag::Remark> &remarks)
      : function_(function), axes_(function), classes_(function, options.machine.costs),
        choice_(function, classes_, axes_, options), machine_(options.machine), remarks_(remarks) {}

  void run() {
    // Before any type changes: the plain ops, and what each access and reader wants.
    std::vector<Operation *> ops;
    function_.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      markNeighbours(op);
    for (Operation *op : ops)
      if (isa<LoadOp, StoreOp>(op) && isTile(op->getOperand(0)))
        decideAccess(op);
      else if (auto atomic = dyn_cast<AtomicRMWOp>(op); atomic && isTile(atomic.getResult()))
        decideAtomic(atomic);
    for (Operation *op : ops)
      layOut(op);
    for (Operation *op : ops)
      if (!isCheap(op))
        connect(op);
    // What was computed again or taken from elsewhere is dead, users before producers.
    for (Operation *op : llvm::reverse(ops))
      if (isCheap(op) && op->use_empty())
        op->erase();
    for (auto [settled, origin] : converted_)
      if (settled.use_empty())
        settled.getDefiningOp()->erase();
  }

private:
  bool isCheap(Operation *op) const {
    return op->getNumResults() == 1 && isTile(op->getResult(0)) && !classes_.isData(op->getResult(0));
  }

  // Notes which neighbours of the result follow from one another (ir/simt/Runs.h).
  void markNeighbours(Operation *op) {
    if (!isElementwise(op) || op->getNumResults() != 1 || !isTile(op->getResult(0)) ||
        !isa<IntegerType>(elementType(op->getResult(0).getType())))
      return;
    const analysis::AxisInfo &result = axes_.at(op->getResult(0));
    SmallVector<int64_t> counted(result.rank(), 1);
    bool isDivision = isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
    bool isEqual = false, isCounted = false;
    for (unsigned d = 0; d != result.rank(); ++d) {
      int64_t equal = result.constancy[d];
      for (Value operand : op->getOperands())
        if (isTile(operand))
          equal = std::min(equal, axes_.at(operand).constancy[d]);
      isEqual |= result.constancy[d] > equal;
      if (!isDivision || isCounted)
        continue;
      const analysis::AxisInfo &x = axes_.at(op->getOperand(0)), &y = axes_.at(op->getOperand(1));
      counted[d] = std::min({x.contiguity[d], x.divisibility[d], y.constancy[d], y.divisibility[d]});
      isCounted = counted[d] > std::max<int64_t>(1, result.constancy[d]);
      if (!isCounted)
        counted[d] = 1;
    }
    if (isEqual)
      op->setAttr(simt::equalName, DenseI64ArrayAttr::get(op->getContext(), result.constancy));
    if (isCounted)
      op->setAttr(simt::countedName, DenseI64ArrayAttr::get(op->getContext(), counted));
  }

  // The layout in which a memory access happens: its class's, unless that one scatters.
  void decideAccess(Operation *op) {
    Value pointers = op->getOperand(0);
    Value mask = maskOf(op);
    std::string why;
    unsigned dim = axes_.order(pointers)[0];
    unsigned width = axes_.accessWidth(pointers, mask, dim, choice_.accessBits(op), &why);
    unsigned bits = choice_.accessBits(op);
    Layout best = choice_.coalesced(pointers, mask, bits);
    std::optional<Layout> own = ownLayout(op);
    auto load = dyn_cast<LoadOp>(op);
    bool scatters = own &&
                    choice_.contiguousBytes(*own, pointers, mask, bits) * 2 <=
                        choice_.contiguousBytes(best, pointers, mask, bits) &&
                    !(load && (choice_.sharesParts(load) ||
                               choice_.loadedBytes(*own, pointers, mask) >= machine_.costs.coalescedBytes));
    bool move = !own || ((!isSmall(op) || isStoredOnce(op)) && scatters) ||
                (load && choice_.isReadFromCopy(load)) || isRepeated(op, *own, best, width, dim) ||
                isStoredInPieces(op, *own, best, width, dim) || leavesSectorsInPart(op, *own, width, dim) ||
                spreadsOverLines(op, *own, width, dim);
    Layout layout = move ? best : *own;
    unsigned used = isVolatile(op) ? 1 : std::min(width, layout.contiguous(dim));
    if (isVolatile(op))
      why = "it is volatile, each element an access of its own";
    Type i32 = IntegerType::get(op->getContext(), 32);
    op->setAttr(simt::widthName, IntegerAttr::get(i32, used));
    if (load && used < width && !isVolatile(op) && dim == layout::fastestOf(layout))
      op->setAttr(simt::widestName, IntegerAttr::get(i32, width));
    access_.try_emplace(op, layout);
    std::string text = (isa<LoadOp>(op) ? "load of " : "store of ") + std::to_string(used) +
                       (used == 1 ? " element" : " elements") + " an access";
    if (!why.empty())
      text += ": " + why;
    else if (used < width)
      text += ": a thread owns no more neighbours";
    remarks_.push_back({locationText(op->getLoc()), "access", text});
  }

  // A tile that the threads hold several times over is cheap to access in any order.
  static bool isSmall(Operation *access) {
    return cast<RankedTensorType>(access->getOperand(0).getType()).getNumElements() <=
           (int64_t(simt::warpsOf(access)) << layout::laneBits);
  }

  // Each element of the tile is stored, by one thread: memory is written by sectors, and each element of one
  // that another instruction writes is a write of its own.
  static bool isStoredOnce(Operation *access) {
    return isa<StoreOp>(access) && cast<RankedTensorType>(access->getOperand(0).getType()).getNumElements() ==
                                       (int64_t(simt::warpsOf(access)) << layout::laneBits);
  }

  // Instructions by which a thread accesses its registers of a tile.
  static unsigned accessesOf(unsigned elements, const Layout &layout, unsigned width, unsigned dim) {
    return std::max(elements / std::min(width, layout.contiguous(dim)), 1u);
  }

  // Does a thread store so many elements one by one, of a tile that threads hold several times over, that
  // they had better be spread over all threads? The sums of rows, say, of which each lane of a row has all.
  bool isStoredInPieces(Operation *op, const Layout &own, const Layout &best, unsigned width, unsigned dim) {
    return isa<StoreOp>(op) && !isVolatile(op) &&
           timesOfShare(own, best, width, dim) >= machine_.costs.repeatedStores;
  }

  // The same of atomic steps. A thread waits for memory at each that orders what is around it; and few
  // threads add to each line of memory in parts, one after the other, where programs add to the same lines.
  bool isStepped(AtomicRMWOp op, const Layout &own, const Layout &best, unsigned width, unsigned dim) {
    bool isOrdered = op.getSem() != MemSemantic::Relaxed;
    return timesOfShare(own, best, width, dim) >=
           (isOrdered || isSmall(op) ? 2 : machine_.costs.repeatedStores);
  }

  // A thread's accesses of all registers that it has over those of its share of the tile.
  static double timesOfShare(const Layout &own, const Layout &best, unsigned width, unsigned dim) {
    auto accesses = [&](const Layout &layout) {
      return double(accessesOf(layout.size(layout::Axis::Register), layout, width, dim));
    };
    return accesses(own) / accesses(best);
  }

  // Do lanes store or update elements far apart, between which neighbours in the tile lie, one by one? Each
  // sector of memory is then written in parts, by several instructions; with neighbours in neighbouring lanes
  // one writes more of it.
  bool leavesSectorsInPart(Operation *op, const Layout &own, unsigned width, unsigned dim) {
    if (!isa<StoreOp, AtomicRMWOp>(op))
      return false;
    auto [apart, whole] = bytesBetweenLanes(op, own, width, dim);
    return std::min(sectorBytes, apart) >= 2 * std::min(sectorBytes, whole);
  }

  // Do lanes load elements one by one so far apart that each instruction asks for many lines of the cache,
  // each line again and again? In a loop an exchange behind such loads would cost barriers.
  bool spreadsOverLines(Operation *op, const Layout &own, unsigned width, unsigned dim) {
    if (!isa<LoadOp>(op) || op->getParentOfType<LoopLikeOpInterface>())
      return false;
    auto [apart, whole] = bytesBetweenLanes(op, own, width, dim);
    const double lineBytes = machine_.costs.lineBytes;
    return apart >= lineBytes / 2 && std::min(lineBytes, apart) >= 4 * std::min(lineBytes, whole);
  }

  // Does an access like this one, close to it, take turns with it (transforms/PairAccesses.h)?
  bool isPaired(Operation *op) {
    constexpr unsigned mostBetween = 4; // other accesses
    auto formsPairs = [&](Operation *other) {
      return other->getName() == op->getName() && other->getNumOperands() == op->getNumOperands() &&
             other->getOperand(0).getType() == op->getOperand(0).getType() && maskOf(other) == maskOf(op) &&
             analysis::orderInPairs(op->getOperand(0), other->getOperand(0), axes_) != 0;
    };
    for (bool isAhead : {false, true}) {
      unsigned passed = 0;
      for (Operation *other = op; passed <= mostBetween;) {
        other = isAhead ? other->getPrevNode() : other->getNextNode();
        if (!other || isa<LoopLikeOpInterface, scf::IfOp>(other))
          break;
        if (!isa<LoadOp, StoreOp>(other))
          continue;
        if (formsPairs(other))
          return true;
        ++passed;
      }
    }
    return false;
  }

  static Value maskOf(Operation *op) {
    return isa<LoadOp>(op) ? cast<LoadOp>(op).getMask() : cast<StoreOp>(op).getMask();
  }

  // The bytes from one lane's element to the next one's, as the layout has them and if neighbours lay in
  // neighbouring lanes, of an access that moves elements one by one; 0: it does not, or that is not known.
  std::pair<double, double> bytesBetweenLanes(Operation *op, const Layout &own, unsigned width,
                                              unsigned dim) {
    Value pointers = op->getOperand(0);
    std::optional<double> stride =
        width == 1 && !isVolatile(op) ? analysis::usualStride(pointers, dim) : std::nullopt;
    if (!stride || *stride == 0)
      return {0, 1};
    Type pointee = cast<PointerType>(elementType(pointers.getType())).getPointee();
    double bytes = std::abs(*stride) * (simt::storedBits(pointee) / 8), apart = own.contiguous(dim) * bytes;
    if (!isa<LoadOp, StoreOp>(op) || !isPaired(op))
      return {apart, bytes};
    // The gaps are the other one's elements: whole accesses of a run of both follow each other.
    return {apart,
            isa<StoreOp>(op) ? std::max(apart, sectorBytes) : std::max(bytes, machine_.accessBits / 8.0)};
  }

  // Does each thread load so much of what others load, too, beside the products of a loop, that it had better
  // come once, as a copy, and be read from shared memory?
  bool isRepeated(Operation *op, const Layout &own, const Layout &best, unsigned width, unsigned dim) {
    auto load = dyn_cast<LoadOp>(op);
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!load || !loop || load.getIsVolatile() || simt::storedBits(elementType(load.getType())) < copiedBits)
      return false;
    auto accesses = [&](const Layout &layout) {
      unsigned equal = layout::registersInside(layout, axes_.at(load.getResult()).constancy);
      unsigned elements = layout.size(layout::Axis::Register) >> llvm::popcount(equal);
      return accessesOf(elements, layout, width, dim);
    };
    return accesses(own) >= machine_.costs.repeatedLoads * accesses(best) && hasProductsAlone(loop) &&
           !isAddress(load, loop);
  }

  // Do other loads of the loop take their addresses from what the load brings?
  static bool isAddress(LoadOp load, scf::ForOp loop) {
    ForwardSliceOptions options;
    options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
    llvm::SetVector<Operation *> behind;
    getForwardSlice(load.getOperation(), &behind, options);
    return llvm::any_of(behind, [](Operation *op) { return isa<LoadOp>(op); });
  }

  // Has the loop products on the matrix unit, no factor of which another one of the trip gives?
  bool hasProductsAlone(scf::ForOp loop) const {
    ForwardSliceOptions options;
    options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
    llvm::SetVector<Operation *> behind;
    bool hasProducts = false;
    for (DotOp dot : loop.getOps<DotOp>()) {
      hasProducts |= choice_.matrixOf(dot) != nullptr;
      getForwardSlice(dot.getOperation(), &behind, options);
    }
    return hasProducts && llvm::none_of(loop.getOps<DotOp>(), [&](DotOp dot) {
             return behind.contains(dot.getA().getDefiningOp()) ||
                    behind.contains(dot.getB().getDefiningOp());
           });
  }

  // The layout in which atomic steps happen, and how many neighbours an addition whose results nobody wants
  // may take at once. The second-level cache takes a step a sector: steps that leave sectors in part are as
  // dear as whole ones, and more. Sectors of one line that a warp's instruction asks for together take less
  // than as many of different lines.
  void decideAtomic(AtomicRMWOp op) {
    Value pointers = op.getPtr(), mask = op.getMask();
    unsigned bits = choice_.accessBits(op), dim = axes_.order(pointers)[0];
    Layout own = choice_.of(op.getResult()), best = choice_.coalesced(pointers, mask, bits);
    unsigned found = choice_.contiguousBytes(own, pointers, mask, bits);
    unsigned width = axes_.accessWidth(pointers, mask, dim, bits);
    unsigned whole = choice_.contiguousBytes(best, pointers, mask, bits);
    bool isInPieces = (found < machine_.costs.coalescedBytes && 2 * found <= whole) ||
                      (found <= sectorBytes && whole >= machine_.costs.lineBytes);
    bool moves = (!isSmall(op) && isInPieces) || leavesSectorsInPart(op, own, width, dim) ||
                 isStepped(op, own, best, width, dim);
    if (moves)
      access_.try_emplace(op, best);
    if (op.getKind() != AtomicKind::FAdd || !op->use_empty())
      return;
    width = std::min(width, (moves ? best : own).contiguous(dim));
    op->setAttr(simt::widthName, IntegerAttr::get(IntegerType::get(op->getContext(), 32), width));
    remarks_.push_back({locationText(op.getLoc()), "access",
                        "atomic steps on up to " + std::to_string(width) +
                            (width == 1 ? " element" : " elements") + " at once"});
  }

  std::optional<Layout> ownLayout(Operation *op) const {
    if (op->getNumResults())
      return choice_.of(op->getResult(0));
    for (unsigned i : {1u, 0u, 2u}) // the value, the addresses, the mask of a store
      if (i < op->getNumOperands() && isTile(op->getOperand(i)) && classes_.isData(op->getOperand(i)))
        return choice_.of(op->getOperand(i));
    return std::nullopt;
  }

  // Gives the results and block arguments of the op their layouts.
  void layOut(Operation *op) {
    auto set = [&](Value value) {
      if (isTile(value) && classes_.isData(value))
        value.setType(simt::withLayout(value.getType(), choice_.of(value)));
    };
    llvm::for_each(op->getResults(), set);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), set);
  }

  static void retype(arith::ConstantOp constant) {
    auto dense = cast<SplatElementsAttr>(constant.getValue());
    constant.setValueAttr(dense.resizeSplat(cast<ShapedType>(constant.getType())));
  }

  // The result of `op` came out in `natural`; its readers expect the class's layout.
  void settle(Value result, const Layout &natural) {
    Layout wanted = choice_.of(result);
    if (natural == wanted)
      return;
    Type type = result.getType();
    result.setType(simt::withLayout(type, natural));
    if (result.use_empty())
      return; // a conversion would be a use
    OpBuilder builder(result.getContext());
    builder.setInsertionPointAfterValue(result);
    auto convert = simt::ConvertOp::create(builder, result.getLoc(), simt::withLayout(type, wanted), result,
                                           simt::ConversionAttr());
    result.replaceAllUsesExcept(convert, convert);
    converted_[convert.getResult()] = result;
  }

  // Operands in the layouts that the op needs, results in those that readers expect.
  void connect(Operation *op) {
    if (!hasTile(op->getOperands()))
      return;
    if (auto access = access_.find(op); access != access_.end()) {
      for (OpOperand &operand : op->getOpOperands())
        demand(operand, access->second);
      if (op->getNumResults())
        settle(op->getResult(0), access->second);
      return;
    }
    if (isa<scf::ForOp>(op)) {
      auto loop = cast<scf::ForOp>(op);
      for (unsigned i = 0; i != loop.getNumResults(); ++i)
        demandAs(loop.getInitArgsMutable()[i], loop.getResult(i));
      return;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (unsigned i = 0; i != loop.getInits().size(); ++i)
        demandAs(loop.getInitsMutable()[i], loop.getBeforeArguments()[i]);
      return;
    }
    if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
      for (unsigned i = 0; i != condition.getArgs().size(); ++i)
        demandAs(condition.getArgsMutable()[i], op->getParentOp()->getResult(i));
      return;
    }
    if (isa<scf::YieldOp>(op)) {
      Operation *parent = op->getParentOp();
      for (OpOperand &operand : op->getOpOperands())
        demandAs(operand,
                 isa<scf::WhileOp>(parent)
                     ? Value(cast<scf::WhileOp>(parent).getBeforeArguments()[operand.getOperandNumber()])
                     : Value(parent->getResult(operand.getOperandNumber())));
      return;
    }
    if (isElementwise(op) || isa<arith::ConstantOp, AtomicRMWOp, AtomicCASOp, ScanOp>(op)) {
      std::optional<Layout> layout = ownLayout(op);
      bool isMoved = false;
      if (auto scan = dyn_cast<ScanOp>(op))
        if (std::optional<Layout> other = scanLayout(scan, *layout)) {
          isMoved = true;
          layout = other;
        }
      for (OpOperand &operand : op->getOpOperands())
        if (isTile(operand.get())) {
          if (!layout)
            layout = ownOf(operand.get());
          demand(operand, *layout);
        }
      if (isMoved)
        for (Value result : op->getResults())
          settle(result, *layout);
      return;
    }
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (const MatrixDot *matrix = choice_.matrixOf(dot)) {
        int64_t k = shapeOf(dot.getA().getType()).back();
        dot->setAttr(simt::matrixName, simt::MatrixAttr::get(op->getContext(), matrix->instruction.name,
                                                             matrix->instruction.shape));
        demand(dot.getAMutable(), matrix->operand(0, k));
        demand(dot.getBMutable(), matrix->operand(1, k));
        remarks_.push_back({locationText(op->getLoc()), "dot", "matrix instruction " + matrix->reason});
      } else {
        int64_t k = shapeOf(dot.getA().getType()).back();
        Layout result = choice_.of(dot.getResult());
        demandFactor(dot.getAMutable(), layout::dotOperand(result, 0, k));
        demandFactor(dot.getBMutable(), layout::dotOperand(result, 1, k));
        remarks_.push_back({locationText(op->getLoc()), "dot",
                            "multiply-adds: no matrix instruction takes these types, or one costs more"});
      }
      demandAs(dot.getAccMutable(), dot.getResult());
      return;
    }
    if (isa<GatherOp>(op)) {
      demandOwn(op->getOpOperand(0));
      demandAs(op->getOpOperand(1), op->getResult(0));
      return;
    }
    // Reduce, trans, reshape, join, split and whatever takes its operands as they are.
    std::optional<Layout> first;
    if (auto reduce = dyn_cast<ReduceOp>(op); reduce && !converted_.contains(op->getOperand(0)))
      first = choice_.operandOf(reduce);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isTile(operand.get()))
        continue;
      if (!first)
        first = ownOf(operand.get());
      bool sameShape = shapeOf(operand.get().getType()) == shapeOf(op->getOperand(0).getType());
      demand(operand, sameShape ? *first : ownOf(operand.get()));
    }
    if (isa<SplitOp>(op) && first && !first->split()) {
      // The halves must lie in one thread.
      Layout halves = choice_.of(op->getResult(0));
      demand(op->getOpOperand(0), halves.joined());
      first = halves.joined();
    }
    for (Value result : op->getResults())
      if (isTile(result) && first)
        if (std::optional<Layout> natural = naturalResult(op, *first))
          settle(result, *natural);
  }

  // Another layout for a scan: where the order of elements cannot be told from the bits, and where each line
  // of a thread is in pieces that each cross the lanes; then it is cheaper to move all to where they are one.
  std::optional<Layout> scanLayout(ScanOp op, const Layout &own) const {
    unsigned axis = op.getAxis();
    if (!layout::isOrdered(own, axis))
      return choice_.plain(op->getResult(0).getType());
    auto lanes = layout::bitsAlong(own, layout::Axis::Lane, axis);
    auto piecesOf = [&](const Layout &layout) { // as a power of two
      auto crossed = layout::bitsAlong(layout, layout::Axis::Lane, axis);
      return llvm::count_if(
          layout::bitsAlong(layout, layout::Axis::Register, axis),
          [&](const layout::Step1D &step) { return !crossed.empty() && step.stride > crossed[0].stride; });
    };
    // Two trips of all elements through shared memory cost about as much as five shuffles of 16 pieces.
    constexpr unsigned fewestLaneBits = 3, fewestPieceBits = 4; // as powers of two
    if (lanes.size() < fewestLaneBits || piecesOf(own) < fewestPieceBits)
      return std::nullopt;
    SmallVector<unsigned> order = {axis};
    for (unsigned d = own.rank(); d-- != 0;)
      if (d != axis)
        order.push_back(d);
    unsigned run = unsigned(layout::registersAlong(own, axis).size());
    Layout whole = layout::coalesced(own.extents(), std::span(order.data(), order.size()), 1u << run,
                                     simt::warpsOf(op), machine_.costs.fullThreads);
    return piecesOf(whole) < piecesOf(own) ? std::optional(whole) : std::nullopt;
  }

  Layout ownOf(Value value) const {
    Value origin = converted_.lookup(value) ? converted_.lookup(value) : value;
    return classes_.isData(origin) ? choice_.of(origin) : choice_.plain(origin.getType());
  }

  void demand(OpOperand &operand, const Layout &layout) {
    if (isTile(operand.get()))
      operand.set(inLayout(operand.get(), layout));
  }
  void demandAs(OpOperand &operand, Value like) {
    if (isTile(operand.get()))
      demand(operand, choice_.of(like));
  }
  void demandOwn(OpOperand &operand) { demand(operand, ownOf(operand.get())); }

  // A factor of multiply-adds, of which many threads want each element: it is computed once and then moved,
  // unless all of its elements are one scalar.
  void demandFactor(OpOperand &operand, const Layout &layout) {
    Operation *op = operand.get().getDefiningOp();
    if (isa_and_nonnull<arith::ConstantOp, SplatOp>(op))
      return demand(operand, layout);
    demandOwn(operand);
    if (simt::layoutOf(operand.get()) != layout)
      operand.set(move(operand.get(), layout));
  }

  // A value whose registers were renamed is taken from before that: the way to a third layout is then one
  // conversion, which sees what threads hold as they computed it.
  Value inLayout(Value value, const Layout &layout) {
    auto isInIt = [&] {
      return cast<RankedTensorType>(value.getType()).getEncoding() && simt::layoutOf(value) == layout;
    };
    if (isInIt())
      return value;
    for (auto convert = value.getDefiningOp<simt::ConvertOp>(); convert && renamesRegisters(convert);
         convert = value.getDefiningOp<simt::ConvertOp>())
      value = convert.getValue();
    if (isInIt())
      return value;
    auto attribute = simt::LayoutAttr::get(value.getContext(), layout);
    if (Value known = made_.lookup({value, attribute}))
      return known;
    Operation *op = value.getDefiningOp();
    bool again = op && op->getNumResults() == 1 && !isa<simt::ConvertOp>(op) && !classes_.isData(value);
    Value made = again ? computeAgain(op, layout) : move(value, layout);
    made_[{value, attribute}] = made;
    return made;
  }

  static bool renamesRegisters(simt::ConvertOp convert) {
    auto inOrder = [](const Layout &layout) {
      Layout::Bases bases = layout.allBases();
      llvm::sort(bases[size_t(layout::Axis::Register)]);
      return bases;
    };
    return inOrder(simt::layoutOf(convert.getValue())) == inOrder(simt::layoutOf(convert.getResult()));
  }

  Value move(Value value, const Layout &layout) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    return simt::ConvertOp::create(builder, value.getLoc(), simt::withLayout(value.getType(), layout), value,
                                   simt::ConversionAttr());
  }

  Value computeAgain(Operation *op, const Layout &layout) {
    bool isView = isa<ExpandDimsOp, BroadcastOp, TransOp, ReshapeOp>(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand)) {
        operands.push_back(operand);
        continue;
      }
      Layout wanted = isView ? *simt::operandLayout(op, layout) : layout;
      operands.push_back(inLayout(operand, wanted));
    }
    OpBuilder builder(op);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(simt::withLayout(op->getResult(0).getType(), layout));
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      retype(constant);
    return copy->getResult(0);
  }

  FuncOp function_;
  analysis::AxisInfoAnalysis axes_;
  Classes classes_;
  LayoutChoice choice_;
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
  llvm::DenseMap<Operation *, Layout> access_;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> made_;
  llvm::DenseMap<Value, Value> converted_; // the result of settle's conversion -> what it converts
};

} // namespace

void tileToSimt(ModuleOp module, const SimtOptions &options, std::vector<diag::Remark> &remarks) {
  OpBuilder builder(module.getContext());
  module->setAttr(simt::warpsName, builder.getI32IntegerAttr(int32_t(options.warps)));
  for (FuncOp function : module.getOps<FuncOp>())
    Rewrite(function, options, remarks).run();
}

} // namespace tegula::convert
