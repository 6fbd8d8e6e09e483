#include "transforms/OperandsInShared.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Elementwise.h"
#include "layout/MatrixAccess.h"
#include "layout/OperandTile.h"
#include "layout/Queries.h"
#include "transforms/LayOutCopies.h"
#include "transforms/ProductLoops.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

// By the tile and the buffer's type: products that read a tile in the same order read one buffer.
using Stored = llvm::DenseMap<std::pair<Value, Type>, simt::LocalStoreOp>;

// Registers of a thread that a loop gives to factors from ahead of it.
using Kept = llvm::DenseMap<scf::ForOp, unsigned>;

class OperandInShared {
public:
  OperandInShared(simt::ConvertOp convert, Stored &stored, Kept &kept, const simt::Machine &machine,
                  std::vector<diag::Remark> &remarks)
      : convert_(convert), stored_(stored), kept_(kept), machine_(machine), remarks_(remarks) {}

  void run() {
    auto type = cast<RankedTensorType>(convert_.getValue().getType());
    if (type.getElementType().isInteger(1) || isa<PointerType>(type.getElementType()))
      return;
    SmallVector<OpOperand *> uses; // as it lies or transposed
    SmallVector<TransOp> turns;
    collectUses(convert_.getResult(), uses, turns);
    SmallVector<Operation *> users;
    for (OpOperand *use : uses)
      users.push_back(use->getOwner());
    if (Operation *product = productOfComputed())
      return storeForComputed(product);
    bool isOfMatrices = llvm::all_of(users, [](Operation *user) { return user->hasAttr(simt::matrixName); }),
         isOfMultiplyAdds =
             llvm::all_of(uses, [](OpOperand *use) { return simt::isFactorOfMultiplyAdds(*use); });
    if (isOfMatrices ? !machine_.hasMatrixLoad : !isOfMultiplyAdds)
      return;
    bool isMoved =
        llvm::any_of(users, [&](Operation *user) { return user->getBlock() != convert_->getBlock(); });
    if (!convert_.isThroughShared())
      return;
    Layout from = simt::layoutOf(convert_.getValue()), to = simt::layoutOf(convert_.getResult());
    unsigned bits = simt::storedBits(type.getElementType());
    // By an instruction of several warps, or by threads for whose registers all of K is too much.
    bool isReadThere = llvm::any_of(users, [](Operation *user) {
      auto matrix = user->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
      return !matrix || matrix.getWarps() > 1;
    });
    std::optional<layout::SharedMap> map =
        isOfMatrices ? mapFor(from, to, bits, llvm::any_of(uses, isReadByInstruction))
                     : mapOfFactor(from, convert_.getResult(), machine_.accessBits);
    if (!map)
      return;
    bool again = isMoved && (isReadThere || (isCrowded(users) && hasRoom(*map, bits)));
    if (isMoved && !again) { // fetched once, as it is
      for (scf::ForOp loop : loopsOf(users))
        kept_[loop] += simt::registersOf(convert_.getResult().getType());
      return;
    }
    OpBuilder builder(convert_);
    Location loc = convert_.getLoc();
    auto bufferType = simt::BufferType::get(builder.getContext(), type.getShape(), type.getElementType(),
                                            simt::SharedAttr::get(builder.getContext(), *map), 1);
    if (!isMoved)
      if (LoadOp load = crowdedLoad(users); load && copyTo(bufferType, load, users, uses, turns))
        return;
    simt::LocalStoreOp &stored = stored_[{convert_.getValue(), bufferType}];
    if (!stored || !isAheadOfAll(stored, users)) {
      Operation *place = isMoved ? behindCopies(users) : behindLoads(users);
      if (stored && stored->getBlock() == convert_->getBlock()) {
        stored->moveBefore(place); // an earlier product reads it, too
        simt::AllocOp alloc = simt::allocOf(stored.getBuffer());
        if (stored->isBeforeInBlock(alloc))
          alloc->moveBefore(stored);
      } else {
        Value buffer = simt::AllocOp::create(builder, loc, bufferType, IntegerAttr());
        builder.setInsertionPoint(place);
        stored = simt::LocalStoreOp::create(builder, loc, convert_.getValue(), buffer);
      }
    }
    readAll(uses, turns, stored.getBuffer());
    if (again && !isReadThere)
      remarks_.push_back(
          {locationText(loc), "buffer", "stays in shared memory: a loop that uses it needs the registers"});
    convert_.erase();
  }

  // Rows along the dimension that is cheapest to store and, where threads read the tile for the instruction,
  // to read; of equal ones the one that threads of the source hold neighbours of. Matrix loads of small
  // elements want K side by side: a source that holds neighbours along the other dimension then stores
  // element by element, its lanes in few banks, and it may be cheaper that threads read single elements
  // instead. Of instructions that read the tile themselves those of 16 bits alone take it either way.
  static std::optional<layout::SharedMap> mapFor(const Layout &from, const Layout &to, unsigned bits,
                                                 bool isReadThere) {
    std::optional<layout::SharedMap> best;
    unsigned least = 0;
    auto propose = [&](const layout::SharedMap &map) {
      unsigned cost = layout::wavefrontsOfTile(from, map, bits, false) +
                      (isReadThere ? 0 : layout::wavefrontsOfTile(to, map, bits, true));
      if (best && cost >= least)
        return;
      best = map;
      least = cost;
    };
    for (unsigned d : {layout::fastestOf(from), from.rank() - 1, from.rank() - 2})
      if (std::optional<layout::SharedMap> map = layout::matrixMapFor(to, d, bits);
          map && (!best || !isReadThere || bits == 16))
        propose(*map);
    if (best && !isReadThere)
      for (unsigned turn : {2u, 4u})
        propose(layout::matrixMap(from.extents(), layout::fastestOf(from), bits, turn));
    return best;
  }

private:
  // Does an instruction of several warps read the factor itself, not threads for it?
  static bool isReadByInstruction(OpOperand *use) {
    auto matrix = use->getOwner()->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    bool isOfRows = (use->getOperandNumber() == 0) != matrix.getIsSwapped();
    return matrix.getWarps() > 1 && !(isOfRows && matrix.shape().pairsRows);
  }

  // The product of a factor that its loop computes of the tile, element by element; null: it does not, or
  // others need what comes between.
  DotOp productOfComputed() {
    if (!convert_->getParentOfType<LoopLikeOpInterface>())
      return {};
    Operation *op = convert_;
    while (op->hasOneUse()) {
      OpOperand &use = *op->use_begin();
      bool isComputed = op != convert_;
      op = use.getOwner();
      if (op->getBlock() != convert_->getBlock())
        return {};
      auto dot = dyn_cast<DotOp>(op);
      if (dot && dot->hasAttr(simt::matrixName) && use.getOperandNumber() < 2)
        return isComputed ? dot : DotOp();
      if (!isElementwise(op) || op->getNumResults() != 1 || !isMemoryEffectFree(op))
        return {};
    }
    return {};
  }

  // Threads read the tile next to the product, as they compute the factor of it: through scratch memory all
  // of it would come into registers ahead of the barrier behind, and other loads would wait for it.
  void storeForComputed(Operation *product) {
    if (!convert_.isThroughShared())
      return;
    simt::ConversionAttr plan = convert_.getPlanAttr();
    Layout from = simt::layoutOf(convert_.getValue()), to = simt::layoutOf(convert_.getResult());
    auto type = cast<RankedTensorType>(convert_.getValue().getType());
    unsigned bits = simt::storedBits(type.getElementType());
    bool isOfWarps = plan.getWithinWarp() && simt::warpsOf(convert_) > 1; // which need not meet
    if (plan.getRoundBits() != 0 || isOfWarps)
      return;
    std::optional<layout::SharedMap> map =
        machine_.hasMatrixLoad ? mapFor(from, to, bits, false) : std::nullopt;
    if (!map)
      map = plan.choice().map;
    if (!gainsByBuffer(bytesOf(convert_)))
      return;
    SmallVector<Operation *> computed;
    for (Operation *op = *convert_->user_begin(); op != product; op = *op->user_begin())
      computed.push_back(op);
    for (Operation *op : computed)
      op->moveBefore(product);
    OpBuilder builder(convert_);
    Location loc = convert_.getLoc();
    auto bufferType = simt::BufferType::get(builder.getContext(), type.getShape(), type.getElementType(),
                                            simt::SharedAttr::get(builder.getContext(), *map), 1);
    Value buffer = simt::AllocOp::create(builder, loc, bufferType, IntegerAttr());
    builder.setInsertionPoint(behindLoads(computed));
    simt::LocalStoreOp::create(builder, loc, convert_.getValue(), buffer);
    builder.setInsertionPoint(computed.front());
    convert_.getResult().replaceAllUsesWith(
        simt::LocalLoadOp::create(builder, loc, convert_.getResult().getType(), buffer));
    convert_.erase();
  }

  static void collectUses(Value value, SmallVector<OpOperand *> &uses, SmallVector<TransOp> &turns) {
    for (OpOperand &use : value.getUses())
      if (auto turn = dyn_cast<TransOp>(use.getOwner())) {
        turns.push_back(turn);
        collectUses(turn.getResult(), uses, turns);
      } else {
        uses.push_back(&use);
      }
  }

  static bool isAheadOfAll(Operation *op, ArrayRef<Operation *> users) {
    return llvm::all_of(users, [&](Operation *user) {
      Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
      return here && op->isBeforeInBlock(here);
    });
  }

  // Each product loads the tile itself: until then nothing takes registers.
  void readAt(OpOperand &use, Value buffer) {
    OpBuilder builder(use.getOwner());
    SmallVector<TransOp> turns;
    for (Value value = use.get(); value != convert_.getResult(); value = turns.back().getValue())
      turns.push_back(value.getDefiningOp<TransOp>());
    Value loaded =
        simt::LocalLoadOp::create(builder, convert_.getLoc(), convert_.getResult().getType(), buffer);
    for (TransOp turn : llvm::reverse(turns))
      loaded = TransOp::create(builder, turn.getLoc(), turn.getType(), loaded, turn.getOrder());
    use.set(loaded);
  }

  // The store waits for what is stored: copies that a loop with a user starts ahead of its first trip start
  // before that. Else the convert's place.
  Operation *behindCopies(ArrayRef<Operation *> users) {
    bool areCopies = false;
    for (Operation *op = convert_->getNextNode(); op; op = op->getNextNode()) {
      areCopies |= isa<simt::AsyncCopyOp, simt::BulkCopyOp>(op);
      bool isUsed = llvm::any_of(users, [&](Operation *user) { return op->isAncestor(user); });
      if (areCopies && isUsed && isa<scf::ForOp>(op))
        return op;
      if (isUsed || simt::hasBlocks(op))
        break;
    }
    return convert_;
  }

  void readAll(ArrayRef<OpOperand *> uses, ArrayRef<TransOp> turns, Value buffer) {
    for (OpOperand *use : uses)
      readAt(*use, buffer);
    for (TransOp turn : llvm::reverse(turns))
      turn.erase();
  }

  // The load whose tile is stored for products of its block and nothing else, if a thread has no room for it
  // beside what is loaded between it and the first of them; null: there is room.
  LoadOp crowdedLoad(ArrayRef<Operation *> users) {
    auto load = convert_.getValue().getDefiningOp<LoadOp>();
    if (!machine_.hasAsyncCopy || !load || !load->hasOneUse() || load->getBlock() != convert_->getBlock() ||
        load.getIsVolatile() || !fillsWithZeros(load) ||
        !llvm::all_of(shapeOf(load.getType()), llvm::isPowerOf2_64) || isBesideCopies())
      return {};
    unsigned held = 0;
    for (Operation *op = load; !llvm::is_contained(users, op); op = op->getNextNode())
      if (auto other = dyn_cast<LoadOp>(op); other && isa<RankedTensorType>(other.getType()))
        held += simt::registersOf(other.getType());
    unsigned most =
        unsigned(machine_.registersOfThread(simt::warpsOf(convert_)) * machine_.costs.crowdedRegisters);
    return held > most ? load : LoadOp();
  }

  // Does a loop around hand copies on from trip to trip? These would be waited for with the tile.
  bool isBesideCopies() {
    for (auto loop = convert_->getParentOfType<LoopLikeOpInterface>(); loop;
         loop = loop->getParentOfType<LoopLikeOpInterface>())
      if (llvm::any_of(loop.getRegionIterArgs(),
                       [](Value carried) { return isa<simt::TokenType>(carried.getType()); }))
        return true;
    return false;
  }

  // Copies the tile from where it is loaded into a buffer, past the registers, and waits for it ahead of the
  // first product or write of memory. False: an access is too narrow.
  bool copyTo(simt::BufferType type, LoadOp load, ArrayRef<Operation *> users, ArrayRef<OpOperand *> uses,
              ArrayRef<TransOp> turns) {
    auto width = load->getAttrOfType<IntegerAttr>(simt::widthName);
    unsigned bits = simt::storedBits(type.getElementType());
    Layout layout = simt::layoutOf(load.getResult());
    auto bytes = width ? uint64_t(width.getInt()) * bits / 8 : 0;
    if (bytes < 4 || !llvm::isPowerOf2_64(bytes) || bytes > 16 ||
        layout::accessWidth(layout, type.getMap().map(), bits) < uint64_t(width.getInt()))
      return false;
    OpBuilder builder(load);
    Location loc = load.getLoc();
    Type token = simt::TokenType::get(builder.getContext());
    Value buffer = simt::AllocOp::create(builder, loc, type, IntegerAttr());
    auto copy = simt::AsyncCopyOp::create(builder, loc, token, load.getPtr(), load.getMask(), Value(), buffer,
                                          load.getCache(), load.getEvict());
    copy->setAttr(simt::widthName, width);
    Value group = simt::AsyncCommitOp::create(builder, loc, token, ValueRange(copy.getToken()));
    Operation *place = load;
    do
      place = place->getNextNode();
    while (!llvm::is_contained(users, place) && !simt::hasBlocks(place) &&
           (isMemoryEffectFree(place) ||
            isa<LoadOp, simt::ConvertOp, simt::AllocOp, simt::LocalLoadOp, simt::LocalStoreOp,
                simt::AsyncCopyOp, simt::AsyncCommitOp, simt::AsyncWaitOp>(place)));
    builder.setInsertionPoint(place);
    simt::AsyncWaitOp::create(builder, loc, group, 0);
    readAll(uses, turns, buffer);
    convert_.erase();
    load.erase();
    return true;
  }

  // Does the stored tile come from a load of the convert's block? One from the trip before is there already.
  bool waitsForLoad() {
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == convert_->getBlock(); };
    llvm::SetVector<Operation *> slice;
    return succeeded(getBackwardSlice(convert_.getValue(), &slice, options)) &&
           llvm::any_of(slice, llvm::IsaPred<LoadOp>);
  }

  // The store waits for what was loaded, and loads behind it would begin as late: it stands behind those that
  // come ahead of the first user, while registers have room for what they bring. Else the convert's place.
  Operation *behindLoads(ArrayRef<Operation *> users) {
    if (!waitsForLoad())
      return convert_;
    auto loop = dyn_cast<scf::ForOp>(convert_->getParentOp());
    unsigned held = simt::registersOf(convert_.getType()) + (loop ? heldByProducts(loop) : 0);
    unsigned most =
        unsigned(machine_.registersOfThread(simt::warpsOf(convert_)) * machine_.costs.crowdedRegisters);
    Operation *place = convert_;
    for (Operation *op = convert_; op; op = op->getNextNode()) {
      bool isUsed = llvm::any_of(users, [&](Operation *user) { return op->isAncestor(user); });
      if (isUsed || simt::hasBlocks(op) || (!isa<LoadOp>(op) && !isMemoryEffectFree(op)))
        break;
      auto load = dyn_cast<LoadOp>(op);
      if (!load || !isa<RankedTensorType>(load.getType()))
        continue;
      held += simt::registersOf(load.getType());
      if (held > most)
        break;
      place = op->getNextNode();
    }
    return place;
  }

  // The loops of the users that the factor comes into from ahead.
  llvm::SmallSetVector<scf::ForOp, 2> loopsOf(ArrayRef<Operation *> users) {
    llvm::SmallSetVector<scf::ForOp, 2> loops;
    for (Operation *user : users)
      if (auto loop = user->getParentOfType<scf::ForOp>(); loop && !loop->isAncestor(convert_))
        loops.insert(loop);
    return loops;
  }

  // Does shared memory have room for one more buffer, even if all of them lived at once? Spilled registers
  // are slow, and a kernel that does not fit does not run.
  bool hasRoom(const layout::SharedMap &map, unsigned bits) {
    uint64_t bytes = (uint64_t(bits) << map.images.size()) / 8;
    convert_->getParentOfType<FuncOp>().walk(
        [&](simt::AllocOp alloc) { bytes += alloc.getBuffer().getType().bytes(); });
    return bytes <= machine_.sharedBytes;
  }

  // Bytes of shared memory that the tile of a conversion takes.
  static uint64_t bytesOf(simt::ConvertOp convert) {
    RankedTensorType type = convert.getType();
    return (uint64_t(simt::storedBits(type.getElementType())) << simt::layoutOf(type).totalBits()) / 8;
  }

  // Do as many programs run if the tile has bytes of its own, beside all others that the trip may keep in
  // buffers? Scratch memory would be another tile's afterwards, but all of the tile would be in registers.
  bool gainsByBuffer(uint64_t bytes) {
    uint64_t others = 0;
    convert_->getParentOfType<FuncOp>().walk(
        [&](simt::AllocOp alloc) { others += alloc.getBuffer().getType().bytes(); });
    for (auto other : convert_->getBlock()->getOps<simt::ConvertOp>())
      if (other != convert_ && other.isThroughShared())
        others += bytesOf(other);
    unsigned warps = simt::warpsOf(convert_), whole = simt::registersOf(convert_.getType());
    auto loop = dyn_cast<scf::ForOp>(convert_->getParentOp());
    unsigned registers = machine_.costs.besideSums + (loop ? heldByProducts(loop) : 0);
    unsigned most = machine_.registersOfThread(warps);
    return machine_.programs(warps, std::min(registers, most), others + bytes) >=
           std::max<uint64_t>(
               machine_.programs(warps, std::min(registers + whole, most), std::max(others, bytes)), 1);
  }

  // By what a loop holds from trip to trip, or at its fullest, which leaves nothing to anything else.
  bool isCrowded(ArrayRef<Operation *> users) {
    unsigned most = machine_.registersOfThread(simt::warpsOf(convert_)),
             own = simt::registersOf(convert_.getResult().getType());
    return llvm::any_of(loopsOf(users), [&](scf::ForOp loop) {
      unsigned kept = kept_.lookup(loop) + own;
      return heldByProducts(loop) + kept > most * machine_.costs.crowdedRegisters ||
             mostHeldInTrip(loop) + kept > most;
    });
  }

  simt::ConvertOp convert_;
  Stored &stored_;
  Kept &kept_;
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
};

// May the op write the buffer, or let others write it?
bool mayWrite(Operation *op, simt::AllocOp alloc) {
  if (auto store = dyn_cast<simt::LocalStoreOp>(op))
    return simt::allocOf(store.getBuffer()) == alloc;
  return !isa<simt::AllocOp, simt::LocalLoadOp, LoadOp>(op) && !isMemoryEffectFree(op);
}

// The first factor of a product of several warps that all trips of a loop read: it stands in shared memory
// ahead of the loop. In registers the assembler (13.0) gives its place to the first factor of another product
// of the loop, and the next trip multiplies by that.
void storeFactorOfAllTrips(DotOp dot) {
  auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
  if (!matrix || matrix.getWarps() == 1)
    return;
  unsigned index = matrix.getIsSwapped() ? 1 : 0;
  Value factor = dot->getOperand(index);
  auto loop = dot->getParentOfType<LoopLikeOpInterface>();
  if (!loop || !loop.isDefinedOutsideOfLoop(factor) || isa_and_nonnull<TransOp>(factor.getDefiningOp()))
    return;
  while (auto outer = loop->getParentOfType<LoopLikeOpInterface>()) {
    if (!outer.isDefinedOutsideOfLoop(factor))
      break;
    loop = outer;
  }
  auto type = cast<RankedTensorType>(factor.getType());
  Layout layout = simt::layoutOf(type);
  std::optional<layout::SharedMap> map =
      OperandInShared::mapFor(layout, layout, simt::storedBits(type.getElementType()), true);
  if (!map ||
      !layout::planOperandTile(layout, *map, false, index, simt::layoutOf(dot.getResult()), matrix.shape()))
    return;
  OpBuilder builder(loop);
  auto bufferType = simt::BufferType::get(builder.getContext(), type.getShape(), type.getElementType(),
                                          simt::SharedAttr::get(builder.getContext(), *map), 1);
  Value buffer = simt::AllocOp::create(builder, dot.getLoc(), bufferType, IntegerAttr());
  simt::LocalStoreOp::create(builder, dot.getLoc(), factor, buffer);
  builder.setInsertionPoint(dot);
  dot->setOperand(index, simt::LocalLoadOp::create(builder, dot.getLoc(), type, buffer));
}

// Lets a product of multiply-adds read a factor that lies in a buffer right there, for itself: its threads
// then fetch one k after the other.
void readBesideProduct(OpOperand &factor) {
  Operation *product = factor.getOwner();
  SmallVector<Operation *> way; // the last one first
  for (Operation *op = factor.get().getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (!isa<TransOp, simt::LocalLoadOp>(op) || op->getBlock() != product->getBlock())
      return;
    way.push_back(op);
    if (isa<simt::LocalLoadOp>(op))
      break;
  }
  if (way.empty() || !isa<simt::LocalLoadOp>(way.back()))
    return;
  simt::AllocOp alloc = simt::allocOf(way.back()->getOperand(0));
  for (Operation *op = way.back()->getNextNode(); op != product; op = op->getNextNode())
    if (mayWrite(op, alloc))
      return;
  OpBuilder builder(product);
  IRMapping mapping;
  for (Operation *op : llvm::reverse(way))
    builder.clone(*op, mapping);
  factor.set(mapping.lookup(factor.get()));
  for (Operation *op : way)
    if (op->use_empty())
      op->erase();
}

} // namespace

Layout readAtOnce(Value read, unsigned accessBits) {
  unsigned ofK = 0; // the lowest bits of registers
  for (Value value = read; !value.use_empty();) {
    OpOperand &use = *value.use_begin();
    if (auto turn = dyn_cast<TransOp>(use.getOwner())) {
      value = turn.getResult();
      continue;
    }
    ArrayRef<int64_t> shape = shapeOf(value.getType());
    ofK = llvm::Log2_64_Ceil(uint64_t(use.getOperandNumber() == 0 ? shape.back() : shape[shape.size() - 2]));
    break;
  }
  Layout layout = simt::layoutOf(read);
  unsigned atOnce = llvm::Log2_32(std::max(1u, accessBits / simt::storedBits(elementType(read.getType()))));
  Layout::Bases bases = layout.allBases();
  auto &registers = bases[size_t(Axis::Register)];
  if (ofK > atOnce)
    registers.erase(registers.begin() + atOnce, registers.begin() + ofK);
  return {layout.extents(), std::move(bases)};
}

layout::SharedMap mapOfFactor(const Layout &store, Value read, unsigned accessBits) {
  Layout atOnce = readAtOnce(read, accessBits);
  Layout::Bases bases = store.allBases();
  llvm::erase_if(bases[size_t(Axis::Register)],
                 [&](uint32_t basis) { return !llvm::is_contained(atOnce.bases(Axis::Register), basis); });
  return layout::swizzled({store.extents(), std::move(bases)}, atOnce,
                          simt::storedBits(elementType(read.getType())));
}

void operandsInShared(Operation *function, const simt::Machine &machine, std::vector<diag::Remark> &remarks) {
  SmallVector<simt::ConvertOp> converts;
  function->walk([&](simt::ConvertOp convert) { converts.push_back(convert); });
  Stored stored;
  Kept kept;
  for (simt::ConvertOp convert : converts)
    OperandInShared(convert, stored, kept, machine, remarks).run();
  function->walk(storeFactorOfAllTrips);
  SmallVector<OpOperand *> factors;
  function->walk([&](DotOp dot) {
    for (OpOperand &operand : dot->getOpOperands())
      if (simt::isFactorOfMultiplyAdds(operand))
        factors.push_back(&operand);
  });
  for (OpOperand *factor : factors)
    readBesideProduct(*factor);
}

} // namespace tegula::transforms
