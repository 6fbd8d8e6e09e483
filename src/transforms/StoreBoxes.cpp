#include "transforms/StoreBoxes.h"
#include "analysis/AxisInfo.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Volatile.h"
#include "transforms/BulkCopies.h"
#include "transforms/CopiedElements.h"
#include "transforms/FormRanges.h"
#include "transforms/SharedMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// A store that may be one of boxes.
struct Candidate {
  StoreOp store;
  simt::ConvertOp convert; // of the stored tile, for this store alone
  BulkCopies::Plan plan;
  unsigned pieceBits = 0;    // the tile goes through the buffer in 2^pieceBits pieces, side by side
  Operation *loop = nullptr; // the outermost one around it
  Value buffer = {};

  ArrayRef<int64_t> shape() const { return plan.access.tile.getShape(); }
  Type element() const { return plan.access.tile.getElementType(); }
  // Bytes of a row.
  int64_t width() const { return int64_t(plan.map.columns) * plan.map.elementBytes; }
};

class StoreBoxes {
public:
  StoreBoxes(Operation *function, const simt::Machine &machine, std::vector<diag::Remark> &remarks)
      : function_(function), module_(function->getParentOfType<ModuleOp>()), machine_(machine),
        remarks_(remarks), bulk_(function) {}

  void run() {
    function_->walk(
        [&](simt::DotAsyncOp dot) { sums_ = std::max(sums_, simt::registersOf(dot.getResult().getType())); });
    if (!sums_)
      return;
    function_->walk([&](StoreOp store) { consider(store); });
    keepOrdered();
    makeBuffers();
    for (Candidate &candidate : candidates_)
      replace(candidate);
    eraseUnused();
  }

private:
  void remark(StoreOp store, const std::string &text) {
    remarks_.push_back({locationText(store.getLoc()), "pipeline", text});
  }
  void refuse(StoreOp store, const std::string &why) { remark(store, "is stored by all threads: " + why); }

  void consider(StoreOp store) {
    auto convert = store.getValue().getDefiningOp<simt::ConvertOp>();
    if (!store->getParentOfType<LoopLikeOpInterface>() || !convert || !convert->hasOneUse() ||
        !convert.isThroughShared() || isVolatile(store))
      return;
    BulkCopies::Access access(store);
    unsigned bits = simt::storedBits(access.tile.getElementType());
    if (store.getCache() != CacheModifier::None || store.getEvict() != Eviction::Normal)
      return refuse(store, "it says how it is cached");
    uint64_t bytes = uint64_t(access.tile.getNumElements()) * bits / 8;
    if (bytes < uint64_t(machine_.costs.boxedStores) * simt::warpsOf(store) * 32 * machine_.accessBits / 8)
      return refuse(store, "each thread stores it in few accesses");
    ArrayRef<int64_t> shape = access.tile.getShape();
    std::optional<unsigned> inner = bulk_.innerOf(access);
    if (!inner || !llvm::all_of(shape, [](int64_t extent) { return llvm::isPowerOf2_64(uint64_t(extent)); }))
      return refuse(store, "its tile is no window of rows of powers of two");
    if (meetsCopies(store))
      return refuse(store,
                    "to wait for the box of the trip before would be to wait for the next trip's copies");
    // A box would hardly ever fit if rows may begin anywhere.
    std::string why;
    if (!axes_)
      axes_.emplace(cast<FuncOp>(function_));
    if (axes_->accessWidth(store.getPtr(), Value(), *inner, machine_.accessBits, &why) * bits <
        machine_.accessBits)
      return refuse(store, why);
    auto plan = bulk_.plan(access, BulkCopies::mapOfBoxes(shape, *inner, bits / 8), why);
    if (!plan)
      return refuse(store, why);
    Candidate candidate{store, convert, *plan};
    for (Operation *op = store->getParentOp(); op != function_; op = op->getParentOp())
      if (isa<LoopLikeOpInterface>(op))
        candidate.loop = op;
    // As many bytes at a time as the conversion would have had.
    uint64_t most = simt::scratchBytes(convert);
    while (bytes >> candidate.pieceBits > most &&
           plan->map.columns >> candidate.pieceBits > plan->map.boxColumns)
      ++candidate.pieceBits;
    if (candidate.pieceBits && !simt::layoutOf(convert.getValue()).piece(*inner, candidate.pieceBits))
      return refuse(store, "threads have no pieces of it");
    if (!canDescribeElements(store.getPtr(), store.getMask()))
      return refuse(store, "its addresses are not computed of ranges, scalars and arithmetic");
    candidates_.push_back(candidate);
  }

  // Is the store in a loop of products whose trips have threads start copies for later ones? The assembler
  // counts groups of copies and of boxes together: to wait for the latter is to wait for both.
  static bool meetsCopies(StoreOp store) {
    auto loop = store->getParentOfType<LoopLikeOpInterface>();
    bool multiplies = false, copies = false, hasBoxes = false, isInnermost = true;
    loop->walk([&](Operation *op) {
      multiplies |= isa<DotOp, simt::DotAsyncOp>(op);
      copies |= isa<simt::AsyncCopyOp>(op);
      hasBoxes |= isa<simt::BulkCopyOp>(op);
      isInnermost &= op == loop || !isa<LoopLikeOpInterface>(op);
    });
    return isInnermost && multiplies && copies && !hasBoxes;
  }

  // Boxes are written by another proxy than the one through which threads read and write global memory, and
  // when they are there only a wait says. Stores of boxes wait for each other.
  void keepOrdered() {
    for (size_t i = 0; i < candidates_.size();)
      if (const char *why = reasonAgainst(candidates_[i])) {
        refuse(candidates_[i].store, why);
        candidates_.erase(candidates_.begin() + ptrdiff_t(i));
        i = 0;
      } else {
        ++i;
      }
  }

  const char *reasonAgainst(const Candidate &candidate) {
    const analysis::OriginSet to = origins_.of(candidate.plan.access.pointers);
    const char *why = nullptr;
    auto shares = [&](Value pointers) { return to.mayShare(origins_.of(pointers)); };
    auto isOther = [&](StoreOp store) {
      return llvm::none_of(candidates_, [&](Candidate &each) { return each.store == store; });
    };
    function_->walk([&](Operation *op) {
      auto assembly = dyn_cast<ElementwiseInlineAsmOp>(op);
      if (isa<AtomicRMWOp, AtomicCASOp, BarrierOp>(op) || (assembly && !assembly.getPure()) ||
          (isa<LoadOp>(op) && isVolatile(op)))
        why = "the kernel meets other programs";
      else if (isa<LoadOp, simt::AsyncCopyOp, simt::BulkCopyOp>(op) && shares(op->getOperand(0)))
        why = "the kernel may read what it stores";
      else if (auto store = dyn_cast<StoreOp>(op); store && isOther(store) && shares(store.getPtr()))
        why = "another store, by all threads, may meet it";
    });
    return why;
  }

  SmallVector<int64_t> shapeOfPiece(const Candidate &candidate) {
    SmallVector<int64_t> shape(candidate.shape());
    shape[candidate.plan.inner] >>= candidate.pieceBits;
    return shape;
  }

  // A buffer outlives the trips of the loop. It is there if it costs no program that runs beside this one; or
  // stores of one loop go one after the other through one buffer. Their conversions need no scratch then.
  void makeBuffers() {
    uint64_t before = programs({});
    llvm::DenseSet<Operation *> converts;
    for (Candidate &candidate : candidates_)
      converts.insert(candidate.convert);
    for (Candidate &candidate : candidates_)
      makeBuffer(candidate, before, converts);
    for (Candidate &candidate : candidates_)
      if (!candidate.buffer)
        converts.erase(candidate.convert);
    bool doFit = programs(converts) >= before;
    for (Candidate &candidate : candidates_)
      if (!candidate.buffer || !doFit)
        refuse(candidate.store, "its buffer would cost a program that runs beside this one");
    if (!doFit)
      for (Operation *op : made_)
        op->erase();
    llvm::erase_if(candidates_, [&](Candidate &candidate) { return !candidate.buffer || !doFit; });
  }

  void makeBuffer(Candidate &candidate, uint64_t before, const llvm::DenseSet<Operation *> &converts) {
    MLIRContext *context = function_->getContext();
    SmallVector<int64_t> shape = shapeOfPiece(candidate);
    auto map = simt::SharedAttr::get(
        context, BulkCopies::mapOfBoxes(shape, candidate.plan.inner, candidate.plan.map.elementBytes));
    auto type = simt::BufferType::get(context, shape, candidate.element(), map, 1);
    OpBuilder builder(candidate.loop);
    Location loc = candidate.store.getLoc();
    auto alloc = simt::AllocOp::create(builder, loc, type, IntegerAttr());
    builder.setInsertionPointAfter(candidate.loop);
    auto wait = simt::StoreWaitOp::create(builder, loc, alloc, UnitAttr());
    if (programs(converts) >= before) {
      candidate.buffer = alloc;
      made_.insert(made_.begin(), {wait, alloc});
      return;
    }
    wait.erase();
    alloc.erase();
    for (Candidate &other : candidates_)
      if (other.loop == candidate.loop && other.buffer && other.buffer.getType() == type)
        candidate.buffer = other.buffer;
  }

  uint64_t programs(const llvm::DenseSet<Operation *> &without) {
    uint64_t bytes = sharedBytesNeeded(module_, machine_.sharedBytes, machine_.costs, without);
    return machine_.programs(simt::warpsOf(module_), sums_ + machine_.costs.besideSums, bytes);
  }

  // The stores of a block behind one that has waited until all before it were done. Does this one meet none
  // of them? Then it need not wait for that, too. `fits` becomes false where rows are too short for that.
  bool isApart(OpBuilder &builder, const Candidate &candidate, Value &fits) {
    if (chain_.empty() || StoreOp(chain_.front()->store)->getBlock() != StoreOp(candidate.store)->getBlock())
      return false;
    int64_t least = 0;
    for (Candidate *other : chain_) {
      std::optional<int64_t> distance = bulk_.distance(other->plan.access, candidate.plan.access);
      int64_t width = std::max(other->width(), candidate.width());
      if (!distance || std::abs(*distance) < width)
        return false;
      least = std::max(least, std::abs(*distance) + width);
    }
    Emitted e{builder, candidate.plan.access.op->getLoc()};
    fits =
        e.both(fits, e.compare(arith::CmpIPredicate::sge, bulk_.rowDistance(builder, candidate.plan), least));
    return true;
  }

  void replace(Candidate &candidate) {
    StoreOp store = candidate.store;
    Location loc = store.getLoc();
    OpBuilder builder(store);
    Value fits = simt::CopyMapsOp::create(builder, loc, builder.getI1Type());
    bool isApart = this->isApart(builder, candidate, fits);
    BulkCopies::Place place = bulk_.locate(builder, candidate.plan, std::nullopt, fits);
    auto sharesBuffer = [&](Candidate *other) { return other->buffer == candidate.buffer; };
    if (!isApart || llvm::any_of(chain_, sharesBuffer))
      simt::StoreWaitOp::create(builder, loc, candidate.buffer, isApart ? UnitAttr() : builder.getUnitAttr());
    if (!isApart)
      chain_.clear();
    chain_.push_back(&candidate);
    auto number = int32_t(simt::addCopyMap(module_, candidate.plan.map));
    for (unsigned piece = 0; piece != 1u << candidate.pieceBits; ++piece) {
      if (piece)
        simt::StoreWaitOp::create(builder, loc, candidate.buffer, UnitAttr());
      simt::LocalStoreOp::create(builder, loc, pieceOf(builder, candidate, piece), candidate.buffer);
      simt::BarrierOp::create(builder, loc, /*fence=*/true);
      auto before = int32_t((candidate.plan.map.columns >> candidate.pieceBits) * piece);
      auto branch = scf::IfOp::create(builder, loc, fits, /*withElseRegion=*/true);
      OpBuilder boxes = branch.getThenBodyBuilder(), byAll = branch.getElseBodyBuilder();
      Value column = place.column;
      if (piece)
        column = arith::AddIOp::create(
            boxes, loc, column, arith::ConstantOp::create(boxes, loc, boxes.getI32IntegerAttr(before)));
      simt::BulkStoreOp::create(boxes, loc, candidate.buffer, column, place.row, place.origin, number);
      if (isApart && piece == 0) { // rows may be too short for that
        simt::StoreWaitOp::create(byAll, loc, candidate.buffer, builder.getUnitAttr());
        simt::BarrierOp::create(byAll, loc, /*fence=*/false);
      }
      auto each =
          simt::StoreElementsOp::create(byAll, loc, candidate.buffer, int32_t(candidate.plan.inner), before);
      each->setAttr(simt::widthName, store->getAttr(simt::widthName));
      describeElements(byAll, each.getElement(), store.getPtr(), store.getMask());
      simt::StoreFenceOp::create(byAll, loc);
    }
    remark(store, "is stored by one thread in boxes, wherever the tile is a window of memory" +
                      std::string(candidate.pieceBits
                                      ? ", in " + std::to_string(1u << candidate.pieceBits) + " pieces"
                                      : ""));
  }

  // The number-th piece of the stored tile.
  Value pieceOf(OpBuilder &builder, const Candidate &candidate, unsigned number) {
    Value tile = simt::ConvertOp(candidate.convert).getValue();
    if (candidate.pieceBits == 0)
      return tile;
    auto layout = *simt::layoutOf(tile).piece(candidate.plan.inner, candidate.pieceBits);
    auto type = RankedTensorType::get(shapeOfPiece(candidate), candidate.element(),
                                      simt::LayoutAttr::get(builder.getContext(), layout));
    return simt::PieceOp::create(builder, tile.getLoc(), type, tile, int32_t(candidate.plan.inner),
                                 int32_t(number));
  }

  // The stores that were replaced, and what was computed for them alone.
  void eraseUnused() {
    SmallVector<Value> work;
    for (Candidate &candidate : candidates_) {
      llvm::append_range(work, candidate.store->getOperands());
      candidate.store.erase();
    }
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || !op->use_empty() || op->getNumRegions() || !isMemoryEffectFree(op))
        continue;
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(work, operand))
          work.push_back(operand);
      llvm::erase_if(work, [&](Value value) { return value.getDefiningOp() == op; });
      op->erase();
    }
  }

  Operation *function_;
  ModuleOp module_;
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
  BulkCopies bulk_;
  analysis::PointerOrigins origins_;
  std::optional<analysis::AxisInfoAnalysis> axes_;
  unsigned sums_ = 0; // registers of a thread, of the largest product
  std::vector<Candidate> candidates_;
  SmallVector<Operation *> made_;  // buffers and the last waits for them, users first
  SmallVector<Candidate *> chain_; // see isApart
};

} // namespace

void storeBoxes(Operation *function, const simt::Machine &machine, std::vector<diag::Remark> &remarks) {
  StoreBoxes(function, machine, remarks).run();
}

} // namespace tegula::transforms
