#include "transforms/VersionWritingLoops.h"
#include "analysis/Access.h"
#include "analysis/AxisInfo.h"
#include "analysis/Forms.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Stages.h"
#include "ir/tile/Tile.h"
#include "transforms/FillMaskedLoads.h"
#include "transforms/LoopVersions.h"
#include "transforms/ProductLoops.h"
#include "transforms/TripValues.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace tegula::tile;
using tegula::analysis::Address;
using tegula::analysis::Conjunct;
using tegula::analysis::Form;
using tegula::analysis::Polynomial;

namespace tegula::transforms {

namespace {

// Each pair of a load and a store is compared; each loop has its code twice.
constexpr size_t mostAccesses = 12, mostLoops = 4;
constexpr unsigned leastCopyBits = 32;
constexpr int64_t fewestTrips = 4; // of shorter loops the copies ahead of the first one cost what they bring
constexpr double largestOffset = double(int64_t(1) << 61), largestFactor = double(int64_t(1) << 62) * 1.5;

// A load or a store of a tile of the loop.
struct Access {
  Operation *op;
  Value pointers, mask;
};

// Bytes from `first` to `last`, without it, numbers of 64 bits ahead of the loop: all that an access touches
// lies there.
struct Bytes {
  Value first, last;
};

class Versioner {
public:
  Versioner(scf::ForOp loop, uint64_t cacheBytes, analysis::AxisInfoAnalysis &axes,
            std::vector<diag::Remark> &remarks)
      : loop_(loop), cacheBytes_(cacheBytes), axes_(axes), remarks_(remarks), builder_(loop),
        trips_(builder_, loop) {}

  // Returns true if the loop became two.
  bool run() {
    if (!collect() || !trips_.ofBounds())
      return false;
    Value isLong = compare(arith::CmpIPredicate::sge, trips_.lastTrip(), trips_.constant(fewestTrips - 1));
    if (matchPattern(isLong, m_Zero()))
      return false;
    // Short loops ask nothing more.
    auto asks = scf::IfOp::create(builder_, loop_.getLoc(), TypeRange(builder_.getI1Type()), isLong,
                                  /*withElseRegion=*/true);
    builder_.setInsertionPointToStart(asks.elseBlock());
    Value never = arith::ConstantOp::create(builder_, loop_.getLoc(), builder_.getBoolAttr(false));
    scf::YieldOp::create(builder_, loop_.getLoc(), never);
    builder_.setInsertionPointToStart(asks.thenBlock());
    Value apart = chooseLoads();
    if (!apart) {
      asks.erase();
      return false;
    }
    scf::YieldOp::create(builder_, loop_.getLoc(), apart);
    split(asks.getResult(0));
    return true;
  }

private:
  // Chooses the loads that run ahead in the version. Returns the condition of it, null: there is no such
  // load.
  Value chooseLoads() {
    Value all = arith::ConstantOp::create(builder_, loop_.getLoc(), builder_.getBoolAttr(true));
    bool hasCold = false, hasWarm = false;
    SmallVector<std::pair<Access *, Value>> cold, warm;
    for (Access &load : loads_)
      if (std::optional<Value> apart = isApart(load)) {
        bool isCopied = isCopyable(cast<LoadOp>(load.op)), isWarm = isCopied && isReadBefore(load);
        (isWarm ? warm : cold).push_back({&load, *apart});
        (isWarm ? hasWarm : hasCold) |= isCopied;
      }
    if (!hasCold && !hasWarm)
      return {};
    if (!hasCold) { // unless they are too many for the cache
      Value bytes = trips_.constant(0);
      for (auto [load, apart] : warm)
        if (std::optional<Bytes> range = bytesOf(*load))
          bytes = add(bytes, builder_.createOrFold<arith::SubIOp>(loop_.getLoc(), range->last, range->first));
      all = compare(arith::CmpIPredicate::sge, bytes, trips_.constant(int64_t(cacheBytes_)));
      llvm::append_range(cold, warm);
    }
    for (auto [load, apart] : cold) {
      chosen_.push_back(cast<LoadOp>(load->op));
      if (apart)
        all = both(all, apart);
    }
    return trips_.condition() ? both(all, trips_.condition()) : all;
  }

  void split(Value apart) {
    remarks_.push_back({locationText(loop_.getLoc()), "pipeline",
                        "the loop has a version whose loads run ahead of its stores, for many trips and "
                        "ranges that are apart"});
    for (LoadOp load : chosen_)
      load->setAttr(readsApartName, builder_.getUnitAttr());
    versionLoop(loop_, apart, {}, [](OpBuilder &, Value value, const IRMapping &) { return value; });
    for (LoadOp load : chosen_)
      load->removeAttr(readsApartName);
    auto branch = cast<scf::IfOp>(loop_->getParentOp());
    fillMaskedLoadsOf(*branch.thenBlock()->getOps<scf::ForOp>().begin());
  }

  // Has the program read there before, so that the first-level cache may have it? An earlier load does, by an
  // address that comes from the same argument, or an earlier trip of a loop around this one.
  bool isReadBefore(const Access &load) {
    analysis::OriginSet from = origins_.of(load.pointers); // a copy: the next answer may move it
    auto walked = loop_->getParentOfType<FuncOp>()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == loop_)
        return WalkResult::skip();
      auto other = dyn_cast<LoadOp>(op);
      bool isBefore = other && isAhead(op) && isa<RankedTensorType>(other.getType());
      return isBefore && origins_.of(other.getPtr()).mayShare(from) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return true;
    auto around = loop_->getParentOfType<LoopLikeOpInterface>();
    std::optional<Address> address = around ? addressOf(load) : std::nullopt;
    return address &&
           !llvm::any_of(address->offset.base.terms(),
                         [&](const analysis::Monomial &term) {
                           return llvm::any_of(term.factors, [&](const analysis::Factor &factor) {
                             return variesAround(factor.value, around);
                           });
                         }) &&
           !variesAround(address->pointer, around);
  }

  // Does the op lie ahead of the loop in the program?
  bool isAhead(Operation *op) {
    for (Operation *at = loop_; at; at = at->getParentOp())
      if (Operation *beside = at->getBlock() ? at->getBlock()->findAncestorOpInBlock(*op) : nullptr;
          beside && beside != at)
        return beside->isBeforeInBlock(at);
    return false;
  }

  // Does a factor differ from trip to trip of a loop around this one? Of what this loop carries that is asked
  // of the value that it begins with.
  bool variesAround(Value value, LoopLikeOpInterface around) {
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop_.getBody())
      value = argument == loop_.getInductionVar() ? loop_.getLowerBound()
                                                  : loop_.getInitArgs()[argument.getArgNumber() - 1];
    return !around.isDefinedOutsideOfLoop(value);
  }

  // The loads that each trip makes anew, and all that the loop writes. False: something else writes or
  // orders, or they are too many.
  bool collect() {
    auto walked = loop_.getBody()->walk([&](Operation *op) {
      if (auto store = dyn_cast<StoreOp>(op)) {
        stores_.push_back({op, store.getPtr(), store.getMask()});
        return WalkResult::advance();
      }
      auto load = dyn_cast<LoadOp>(op);
      bool reads = load && !load.getIsVolatile(), isPart = isa<scf::IfOp, scf::YieldOp, ReduceOp, ScanOp>(op);
      return reads || isPart || isMemoryEffectFree(op) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walked.wasInterrupted() || stores_.empty())
      return false;
    for (LoadOp load : loop_.getOps<LoadOp>())
      if (!loop_.isDefinedOutsideOfLoop(load.getPtr()))
        loads_.push_back({load, load.getPtr(), load.getMask()});
    return loads_.size() + stores_.size() <= mostAccesses;
  }

  bool isCopyable(LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    if (!type || !type.getElementType().isIntOrFloat() || !llvm::all_of(type.getShape(), llvm::isPowerOf2_64))
      return false;
    unsigned bits = type.getElementType().getIntOrFloatBitWidth();
    return bits * axes_.accessWidth(load.getPtr(), load.getMask(), axes_.order(load.getPtr())[0], 128) >=
           leastCopyBits;
  }

  // Asks that no trip stores to what a later one loads there. Null: none ever does. nullopt: the program
  // cannot ask.
  std::optional<Value> isApart(const Access &load) {
    Value all;
    for (const Access &store : stores_) {
      bool isBehind = load.op->isBeforeInBlock(loop_.getBody()->findAncestorOpInBlock(*store.op)) ||
                      analysis::areApart(access_, load.pointers, store.pointers);
      if (isBehind && analysis::areApartInOtherTrips(access_, load.pointers, store.pointers))
        continue;
      std::optional<Bytes> read = bytesOf(load), written = bytesOf(store);
      if (!read || !written)
        return std::nullopt;
      using enum arith::CmpIPredicate;
      Value apart = builder_.createOrFold<arith::OrIOp>(
          loop_.getLoc(), compare(sle, read->last, written->first), compare(sle, written->last, read->first));
      all = all ? both(all, apart) : apart;
    }
    return all;
  }

  std::optional<Bytes> bytesOf(const Access &access) {
    auto [known, isNew] = bytes_.try_emplace(access.op);
    if (!isNew)
      return known->second;
    std::optional<Bytes> bytes = computeBytes(access);
    bytes_[access.op] = bytes;
    return bytes;
  }

  std::optional<Bytes> computeBytes(const Access &access) {
    std::optional<Address> address = addressOf(access);
    if (!address || !areExact(address->offset))
      return std::nullopt;
    int64_t elementBytes = analysis::bytesOf(cast<PointerType>(elementType(access.pointers.getType())));
    auto shape = shapeOf(access.pointers.getType());
    std::optional<Bytes> offsets = endsOf(address->offset, shape);
    if (!offsets)
      return std::nullopt;
    // Masks of an index below a bound leave less of the last tiles.
    if (access.mask)
      for (const Conjunct &conjunct : access_.conjuncts(access.mask))
        if (std::optional<Polynomial> rest = restBeside(address->offset, conjunct, elementBytes))
          if (std::optional<Bytes> ends = endsOf({*rest, {}, {}}, {})) {
            Value most = add(ends->last, trips_.constant(-elementBytes));
            offsets->last = builder_.createOrFold<arith::MinSIOp>(loop_.getLoc(), offsets->last, most);
          }
    Value base = PtrToIntOp::create(builder_, loop_.getLoc(), builder_.getI64Type(), address->pointer);
    return Bytes{add(base, offsets->first), add(base, add(offsets->last, trips_.constant(elementBytes)))};
  }

  // The address behind a tile of pointers from a pointer ahead of the loop.
  std::optional<Address> addressOf(const Access &access) {
    auto isInside = [&](Value value) { return !loop_.isDefinedOutsideOfLoop(value); };
    std::optional<Address> address = analysis::addressBehind(access_, access.pointers, isInside);
    bool isKnown = address && !isInside(address->pointer) && isa<PointerType>(address->pointer.getType());
    return isKnown ? address : std::nullopt;
  }

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return builder_.createOrFold<arith::CmpIOp>(loop_.getLoc(), predicate, x, y);
  }
  Value both(Value x, Value y) { return builder_.createOrFold<arith::AndIOp>(loop_.getLoc(), x, y); }
  Value add(Value x, Value y) { return builder_.createOrFold<arith::AddIOp>(loop_.getLoc(), x, y); }

  // Does the form hold in all trips, as far as the program can ask?
  bool areExact(const Form &form) {
    return llvm::all_of(form.conditions, [&](Value value) {
      unsigned bits = elementType(value.getType()).getIntOrFloatBitWidth();
      if (bits == 64)
        return true;
      std::optional<Bytes> ends = endsOf(access_.form(value), shapeOf(value.getType()));
      if (!ends)
        return false;
      using enum arith::CmpIPredicate;
      int64_t half = int64_t(1) << (bits - 1);
      trips_.also(compare(sge, ends->first, trips_.constant(-half)));
      trips_.also(compare(slt, ends->last, trips_.constant(half)));
      return true;
    });
  }

  // The least and the greatest value of a form over the tile and all trips.
  std::optional<Bytes> endsOf(const Form &form, ArrayRef<int64_t> shape) {
    std::optional<InTrips> base = inTrips(form.base);
    if (!base)
      return std::nullopt;
    Location loc = loop_.getLoc();
    double size = base->size;
    Value least = base->first, greatest = base->first;
    if (base->varies) {
      least = builder_.createOrFold<arith::MinSIOp>(loc, base->first, base->last);
      greatest = builder_.createOrFold<arith::MaxSIOp>(loc, base->first, base->last);
    }
    for (auto [stride, extent] : llvm::zip(form.strides, shape)) {
      if (stride.isZero() || extent == 1)
        continue;
      std::optional<InTrips> step = inTrips(stride);
      if (!step || step->varies)
        return std::nullopt;
      size += step->size * double(extent - 1);
      Value end = builder_.createOrFold<arith::MulIOp>(loc, step->first, trips_.constant(extent - 1));
      Value zero = trips_.constant(0);
      least = add(least, builder_.createOrFold<arith::MinSIOp>(loc, end, zero));
      greatest = add(greatest, builder_.createOrFold<arith::MaxSIOp>(loc, end, zero));
    }
    if (!(size < largestOffset)) // 64 bits hold it for the numbers of most launches
      demandSize(form, shape);
    return Bytes{least, greatest};
  }

  // nullopt: it is not known to be linear, or some factor of it may leave 64 bits.
  std::optional<InTrips> inTrips(const Polynomial &polynomial) {
    for (const analysis::Monomial &term : polynomial.terms())
      for (const analysis::Factor &factor : term.factors) {
        std::optional<InTrips> value = factor.isTile() ? std::nullopt : trips_.of(factor.value);
        if (!value || (value->varies && !(value->size < largestFactor)))
          return std::nullopt;
      }
    return trips_.of(polynomial);
  }

  // Demands that the magnitude of the form stays below `largestOffset` over the tile and all trips.
  void demandSize(const Form &form, ArrayRef<int64_t> shape) {
    Location loc = loop_.getLoc();
    Value sum = magnitudeOf(form.base);
    for (auto [stride, extent] : llvm::zip(form.strides, shape)) {
      if (extent == 1)
        continue;
      Value most = builder_.createOrFold<arith::MulFOp>(loc, magnitudeOf(stride), number(double(extent - 1)));
      sum = builder_.createOrFold<arith::AddFOp>(loc, sum, most);
    }
    trips_.also(
        builder_.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, sum, number(largestOffset)));
  }

  // About the most that the polynomial's terms amount to in any trip, as f32; inTrips() knows it.
  Value magnitudeOf(const Polynomial &polynomial) {
    Location loc = loop_.getLoc();
    auto magnitude = [&](Value value) {
      Value real = builder_.createOrFold<arith::SIToFPOp>(loc, builder_.getF32Type(), value);
      return builder_.createOrFold<arith::MaxNumFOp>(loc, real,
                                                     builder_.createOrFold<arith::NegFOp>(loc, real));
    };
    Value sum = number(0);
    for (const analysis::Monomial &term : polynomial.terms()) {
      Value product = number(std::abs(double(term.coefficient)));
      for (const analysis::Factor &factor : term.factors) {
        InTrips value = *trips_.of(factor.value);
        Value most = magnitude(value.first);
        if (value.varies)
          most = builder_.createOrFold<arith::MaxNumFOp>(loc, most, magnitude(value.last));
        product = builder_.createOrFold<arith::MulFOp>(loc, product, most);
      }
      sum = builder_.createOrFold<arith::AddFOp>(loc, sum, product);
    }
    return sum;
  }

  Value number(double value) {
    return arith::ConstantOp::create(builder_, loop_.getLoc(), builder_.getF32FloatAttr(float(value)));
  }

  // An offset is `elementBytes` times the form that a mask keeps below zero, and this.
  std::optional<Polynomial> restBeside(const Form &offset, const Conjunct &conjunct, int64_t elementBytes) {
    if (!conjunct.form || conjunct.form->strides.size() != offset.strides.size() || !areExact(*conjunct.form))
      return std::nullopt;
    for (auto [stride, step] : llvm::zip_equal(conjunct.form->strides, offset.strides)) {
      auto bytes = stride.scaled(elementBytes);
      if (!bytes || !(*bytes == step))
        return std::nullopt;
    }
    auto negative = conjunct.form->base.scaled(-elementBytes);
    return negative ? Polynomial::add(offset.base, *negative) : std::nullopt;
  }

  scf::ForOp loop_;
  uint64_t cacheBytes_;
  analysis::AxisInfoAnalysis &axes_;
  std::vector<diag::Remark> &remarks_;
  OpBuilder builder_;
  TripValues trips_;
  analysis::AccessAnalysis access_;
  analysis::PointerOrigins origins_;
  SmallVector<Access> loads_, stores_;
  SmallVector<LoadOp> chosen_;
  llvm::DenseMap<Operation *, std::optional<Bytes>> bytes_;
};

} // namespace

bool readsApart(scf::ForOp loop) {
  return llvm::any_of(loop.getOps<LoadOp>(), [](LoadOp load) { return load->hasAttr(readsApartName); });
}

void versionWritingLoops(Operation *function, const simt::Machine &machine,
                         std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) {
    if (!loop->hasAttr(simt::stagesName) && !loop.getUnsignedCmp() && isStream(loop))
      loops.push_back(loop);
  });
  if (loops.empty())
    return;
  analysis::AxisInfoAnalysis axes(cast<FuncOp>(function));
  size_t versions = 0;
  for (scf::ForOp loop : loops)
    if (versions != mostLoops)
      versions += Versioner(loop, machine.sharedBytes * 3 / 4, axes, remarks).run();
}

} // namespace tegula::transforms
