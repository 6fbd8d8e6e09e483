#include "transforms/PairAccesses.h"
#include "analysis/ConstantSteps.h"
#include "ir/tile/Elementwise.h"
#include "ir/tile/Unread.h"
#include "ir/tile/Volatile.h"
#include "layout/Queries.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned mostBetween = 64; // accesses of a block that one is compared with

// An access of a block, of a tile.
struct TileAccess {
  Operation *op;
  Value pointers, mask, other; // `other`: of a load
  CacheModifier cache;
  Eviction evict;

  RankedTensorType type() const { return cast<RankedTensorType>(pointers.getType()); }
  bool isLike(const TileAccess &b) const {
    return type() == b.type() && mask == b.mask && bool(other) == bool(b.other) && cache == b.cache &&
           evict == b.evict && op->hasAttr(simt::ownedName) == b.op->hasAttr(simt::ownedName);
  }
};

std::optional<TileAccess> accessOf(Operation *op) {
  auto width = op->getAttrOfType<IntegerAttr>(simt::widthName);
  if (!width || width.getInt() != 1 || isVolatile(op) || op->hasAttr(unreadName))
    return std::nullopt;
  std::optional<TileAccess> access;
  if (auto load = dyn_cast<LoadOp>(op))
    access = {op, load.getPtr(), load.getMask(), load.getOther(), load.getCache(), load.getEvict()};
  else if (auto store = dyn_cast<StoreOp>(op))
    access = {op, store.getPtr(), store.getMask(), {}, store.getCache(), store.getEvict()};
  if (!access || !isa<RankedTensorType>(access->pointers.getType()) ||
      (access->mask && !isa<RankedTensorType>(access->mask.getType())))
    return std::nullopt;
  Type element = cast<PointerType>(access->type().getElementType()).getPointee();
  bool isWord = element.isIntOrFloat() && llvm::is_contained({8u, 16u, 32u}, element.getIntOrFloatBitWidth());
  return isWord ? access : std::nullopt;
}

// Does each thread compute what it has, and meet no other one?
bool isOwnComputation(Operation *op) {
  return isMemoryEffectFree(op) &&
         (isElementwise(op) || op->hasTrait<OpTrait::ConstantLike>() ||
          isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, MakeRangeOp, TransOp>(op));
}

class Pairs {
public:
  Pairs(FuncOp function, const simt::Machine &machine, std::vector<diag::Remark> &remarks)
      : function_(function), machine_(machine), remarks_(remarks) {}

  void visit(Block &block) {
    llvm::SmallVector<TileAccess> loads; // past which nothing is written, and no thread meets another
    std::optional<TileAccess> stored;    // the same, and nothing is read
    for (Operation &op : llvm::make_early_inc_range(block)) {
      std::optional<TileAccess> access = accessOf(&op);
      if (isa<LoadOp>(op) && !isVolatile(&op)) {
        stored.reset();
        if (access && !joinWithOne(loads, *access))
          loads.push_back(*access);
      } else if (isa<StoreOp>(op)) {
        loads.clear();
        if (stored && access && join(*stored, *access))
          access.reset();
        stored = access;
      } else if (!isOwnComputation(&op)) {
        loads.clear();
        stored.reset();
      }
    }
  }

private:
  // Joins the load with the last one ahead of it that it fits, which is not there for others any more.
  bool joinWithOne(llvm::SmallVector<TileAccess> &ahead, const TileAccess &load) {
    size_t most = std::min<size_t>(ahead.size(), mostBetween);
    for (size_t i = ahead.size(); i != ahead.size() - most; --i)
      if (join(ahead[i - 1], load)) {
        ahead.erase(ahead.begin() + ptrdiff_t(i - 1));
        return true;
      }
    return false;
  }

  bool join(const TileAccess &earlier, const TileAccess &later) {
    if (!earlier.isLike(later) || !isThere(later.other, earlier.op))
      return false;
    if (!axes_)
      axes_.emplace(function_);
    int order = analysis::orderInPairs(earlier.pointers, later.pointers, *axes_);
    if (order == 0)
      return false;
    const TileAccess &first = order > 0 ? earlier : later;
    unsigned width = widthOf(first);
    bool isLoad = isa<LoadOp>(earlier.op);
    OpBuilder builder(isLoad ? earlier.op : later.op);
    Value pointers =
        isThere(first.pointers, &*builder.getInsertionPoint()) ? first.pointers : oneBack(builder, earlier);
    if (isLoad)
      load(builder, pointers, earlier, later, order > 0, width);
    else
      store(builder, pointers, earlier, later, order > 0, width);
    report(earlier.op, later.op, width, isLoad ? "load" : "store");
    earlier.op->erase();
    later.op->erase();
    return true;
  }

  // Is the value computed ahead of the op, or are there no such?
  static bool isThere(Value value, Operation *op) {
    Operation *source = value ? value.getDefiningOp() : nullptr;
    return !source || source->getBlock() != op->getBlock() || source->isBeforeInBlock(op);
  }

  // Addresses of the elements ahead of those of the access.
  static Value oneBack(OpBuilder &builder, const TileAccess &access) {
    Location loc = access.op->getLoc();
    auto type =
        RankedTensorType::get(access.type().getShape(), builder.getI32Type(), access.type().getEncoding());
    Value back =
        arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, builder.getI32IntegerAttr(-1)));
    return AddPtrOp::create(builder, loc, access.pointers.getType(), access.pointers, back);
  }

  static void load(OpBuilder &builder, Value pointers, const TileAccess &earlier, const TileAccess &later,
                   bool isFirstEarlier, unsigned width) {
    Location loc = builder.getFusedLoc({earlier.op->getLoc(), later.op->getLoc()});
    const TileAccess &first = isFirstEarlier ? earlier : later, &second = isFirstEarlier ? later : earlier;
    Type tile = first.op->getResult(0).getType();
    auto both = simt::LoadPairsOp::create(builder, loc, tile, tile, pointers, first.mask, first.other,
                                          second.other, width, first.cache, first.evict);
    if (earlier.op->hasAttr(simt::ownedName))
      both->setAttr(simt::ownedName, builder.getUnitAttr());
    first.op->getResult(0).replaceAllUsesWith(both.getFirst());
    second.op->getResult(0).replaceAllUsesWith(both.getSecond());
  }

  static void store(OpBuilder &builder, Value pointers, const TileAccess &earlier, const TileAccess &later,
                    bool isFirstEarlier, unsigned width) {
    Location loc = builder.getFusedLoc({earlier.op->getLoc(), later.op->getLoc()});
    const TileAccess &first = isFirstEarlier ? earlier : later, &second = isFirstEarlier ? later : earlier;
    simt::StorePairsOp::create(builder, loc, pointers, cast<StoreOp>(first.op).getValue(),
                               cast<StoreOp>(second.op).getValue(), first.mask, width, first.cache,
                               first.evict);
  }

  // The pairs of one access, of which `first` has the first elements.
  unsigned widthOf(const TileAccess &first) {
    layout::Layout layout = simt::layoutOf(first.pointers);
    int64_t bits = cast<PointerType>(first.type().getElementType()).getPointee().getIntOrFloatBitWidth(),
            bytes = bits / 8;
    unsigned dim = layout::fastestOf(layout);
    analysis::Steps steps = analysis::stepsAlong(first.pointers, dim, *axes_);
    int64_t extent = first.type().getShape()[dim],
            equal = first.mask ? axes_->at(first.mask).constancy[dim] : extent;
    unsigned width = 1;
    while (2 * width <= layout.contiguous(dim) && 4 * width * bits <= machine_.accessBits &&
           2 * width <= steps.group && steps.step == 2 * bytes && extent % (2 * width) == 0 &&
           steps.divisibilityAt(2 * width) >= 4 * width * bytes && equal >= 2 * width)
      width *= 2;
    return width;
  }

  // The remark of each of the two says that now.
  void report(Operation *earlier, Operation *later, unsigned width, const std::string &what) {
    for (auto [op, other] : {std::pair(earlier, later), std::pair(later, earlier)}) {
      std::string place = locationText(op->getLoc());
      std::string text = what + " of " + std::to_string(width) + (width == 1 ? " pair" : " pairs") +
                         " an access, together with that of " + locationText(other->getLoc());
      auto known = llvm::find_if(remarks_, [&](const diag::Remark &remark) {
        return remark.location == place && remark.kind == "access" &&
               StringRef(remark.text).starts_with(what + " of 1 element");
      });
      if (known != remarks_.end())
        known->text = text;
      else
        remarks_.push_back({place, "access", text});
    }
  }

  FuncOp function_;
  std::optional<analysis::AxisInfoAnalysis> axes_; // once two accesses are alike
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
};

} // namespace

void pairAccesses(FuncOp function, const simt::Machine &machine, std::vector<diag::Remark> &remarks) {
  Pairs pairs(function, machine, remarks);
  function.walk([&](Block *block) { pairs.visit(*block); });
}

} // namespace tegula::transforms
