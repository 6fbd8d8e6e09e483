#include "transforms/PlanCopies.h"
#include "analysis/Access.h"
#include "analysis/AxisInfo.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Stages.h"
#include "ir/tile/Elementwise.h"
#include "layout/OperandTile.h"
#include "transforms/HeldLoads.h"
#include "transforms/LoopVersions.h"
#include "transforms/ProductLoops.h"
#include "transforms/ThreadCosts.h"
#include "transforms/VersionWritingLoops.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

// Does an atomic see what others wrote before they released? Where nobody reads what it gives, the program
// cannot know whose value it met.
bool acquires(Operation *op) {
  auto of = [](auto atomic) {
    MemSemantic sem = atomic.getSem();
    return !atomic->use_empty() && (sem == MemSemantic::Acquire || sem == MemSemantic::AcquireRelease);
  };
  if (auto update = dyn_cast<AtomicRMWOp>(op))
    return of(update);
  auto exchange = dyn_cast<AtomicCASOp>(op);
  return exchange && of(exchange);
}

bool isEffectiveAssembly(Operation *op) {
  auto assembly = dyn_cast<ElementwiseInlineAsmOp>(op);
  return assembly && !assembly.getPure();
}

class CopyPlanner {
public:
  CopyPlanner(scf::ForOp loop, unsigned stages, const simt::Machine &machine,
              std::vector<diag::Remark> &remarks)
      : machine_(machine), remarks_(remarks) {
    plan_.loop = loop;
    plan_.slots = stages;
    plan_.aheadTrips = stages - 1;
  }

  std::optional<CopyPlan> plan() {
    if (plan_.slots < 2 || !isCandidate())
      return std::nullopt;
    defineYieldedInside();
    findAddresses();
    if (streams_)
      considerStreams();
    else
      considerFactors();
    if (plan_.copied.empty() || !fitsAsVersion())
      return std::nullopt;
    llvm::sort(plan_.copied, [](CopiedLoad &a, CopiedLoad &b) { return a.load->isBeforeInBlock(b.load); });
    if (!streams_)
      planProducts();
    holdSmallLoads();
    return std::move(plan_);
  }

private:
  bool isCandidate() {
    bool hasDots = false, isInnermost = true, meets = false, isOrdered = false;
    plan_.loop.getBody()->walk([&](Operation *op) {
      hasDots |= isa<DotOp>(op);
      isInnermost &= !isa<LoopLikeOpInterface>(op);
      meets |= isa<BarrierOp>(op);
      isOrdered |= acquires(op) || isEffectiveAssembly(op);
      if (isa<StoreOp, AtomicRMWOp, AtomicCASOp>(op))
        written_.push_back(op->getOperand(0));
    });
    isApart_ = readsApart(plan_.loop);
    streams_ =
        isApart_ || (isStagedStream(plan_.loop) &&
                     (written_.empty() ? waitsWithFewTrips() || lacksRegistersForTrips() : waitsBesideFew()));
    if ((!hasDots && !streams_) || !isInnermost)
      return false;
    if (meets)
      return refuse(plan_.loop.getLoc(), "loads stay where they are: the loop has a barrier");
    if (isOrdered)
      return refuse(
          plan_.loop.getLoc(),
          "loads stay where they are: the loop acquires what others wrote, or has assembly with effects");
    // The expansion follows values over one trip: `a, b = b, load(...)` goes over two.
    if (llvm::any_of(plan_.loop.getYieldedValues(), [&](Value value) {
          auto argument = dyn_cast<BlockArgument>(value);
          return argument && argument.getOwner() == plan_.loop.getBody();
        }))
      return refuse(plan_.loop.getLoc(), "loads stay where they are: a value is carried over several trips");
    APInt step;
    bool countsDown = matchPattern(plan_.loop.getStep(), m_ConstantInt(&step)) && !step.isStrictlyPositive();
    if (countsDown || plan_.loop.getUnsignedCmp())
      return refuse(plan_.loop.getLoc(),
                    "loads stay where they are: the loop does not count up in signed numbers");
    return true;
  }

  void considerFactors() {
    for (Operation &op : *plan_.loop.getBody())
      if (auto load = dyn_cast<LoadOp>(op))
        consider(load);
    considerFactorsOfFactors();
    if (!plan_.copied.empty())
      considerLines();
  }

  // A version has as many slots as there is room for; false: not even two.
  bool fitsAsVersion() {
    if (!plan_.loop->hasAttr(isVersionName))
      return true;
    while (plan_.slots >= 2 && plan_.slots * slotBytes() > machine_.sharedBytes)
      --plan_.slots;
    plan_.aheadTrips = std::min(plan_.aheadTrips, plan_.slots - 1);
    return plan_.slots >= 2;
  }

  // Lets products run on, and chooses how copies start beside them.
  void planProducts() {
    letDotsRun();
    letLastDotsRun();
    copyBoxesBesideSums();
    if (machine_.isAlone)
      hideCopiesOfOneTrip();
    else
      startCopiesBehindReads();
  }

  // The expansion wants an op of the loop behind each carried value that runs ahead.
  void defineYieldedInside() {
    Operation *yield = plan_.loop.getBody()->getTerminator();
    OpBuilder builder(yield);
    for (OpOperand &operand : yield->getOpOperands()) {
      Value value = operand.get();
      if (!value.getDefiningOp() || !plan_.loop.isDefinedOutsideOfLoop(value))
        continue;
      Type type = builder.getI1Type();
      TypedAttr always = builder.getBoolAttr(true);
      if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
        always = DenseElementsAttr::get(tile.clone(type), true);
      Value condition = arith::ConstantOp::create(builder, plan_.loop.getLoc(), always);
      operand.set(arith::SelectOp::create(builder, plan_.loop.getLoc(), condition, value, value));
    }
  }

  // Finds the loads whose values others need for addresses or masks: they run ahead as loads.
  void findAddresses() {
    plan_.loop.getBody()->walk([&](LoadOp load) {
      for (Operation *op : addressOps(load))
        if (isa<LoadOp>(op))
          addressed_.insert(op);
    });
  }

  bool refuse(Location location, StringRef why) {
    remarks_.push_back({locationText(location), "pipeline", why.str()});
    return false;
  }

  bool consider(LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    SmallVector<simt::ConvertOp> converts = type ? convertsFromCopies(load) : SmallVector<simt::ConvertOp>();
    return llvm::any_of(converts, wantsCopy) && copyAhead(load, converts);
  }

  bool copyAhead(LoadOp load, ArrayRef<simt::ConvertOp> converts) {
    auto type = cast<RankedTensorType>(load.getType());
    if (load.getIsVolatile())
      return refuse(load.getLoc(), "stays where it is: volatile");
    if (addressed_.contains(load))
      return refuse(load.getLoc(), "is not copied: other loads take their addresses from it");
    if (!fillsWithZeros(load))
      return refuse(load.getLoc(), "stays where it is: masked elements are not zero");
    if (type.getElementType().isInteger(1) || isa<PointerType>(type.getElementType()))
      return refuse(load.getLoc(), "stays where it is: its elements are stored in another form");
    if (mayBeWritten(load))
      return refuse(load.getLoc(), "stays where it is: the loop may store to what it reads");
    if (const char *why = reasonAgainst(load))
      return refuse(load.getLoc(), why);
    CopiedLoad copied = layOutCopy(load, converts, machine_);
    if (copied.width * simt::storedBits(type.getElementType()) < 32)
      return refuse(load.getLoc(), "stays where it is: an access moves less than four bytes");
    plan_.copied.push_back(std::move(copied));
    return true;
  }

  // May the loop store to what the load reads? Of two arguments that overlap the memory model asks nothing
  // without a barrier (M12); where no user asks for stages, a copy wants to know that they do not.
  bool mayBeWritten(LoadOp load) {
    if (written_.empty())
      return false;
    if (isApart_)
      return !load->hasAttr(readsApartName);
    analysis::OriginSet from = origins_.of(load.getPtr()); // a copy: the next answer may move it
    return llvm::any_of(written_, [&](Value written) { return from.mayShare(origins_.of(written)); });
  }

  // Loads that factors of products are computed from, quantized weights say, are copied ahead as well. All
  // copies start so few trips ahead that two programs still fit into shared memory, if registers have room
  // for two, and two slots then fit. Threads read back tiles as they would have loaded them, so that all of a
  // layout must lie in the buffer. Small ones wait in registers instead, beside others that are copied, if
  // one trip is long enough for them, and threads do not repeat much: registers hand a load on once it is
  // there, so that it never starts earlier.
  void considerFactorsOfFactors() {
    bool areOthersCopied = !plan_.copied.empty();
    uint64_t others = 0;                // bytes of factors that the loop computes and puts into shared memory
    llvm::SmallDenseSet<Value> counted; // several products may read one
    plan_.loop.getBody()->walk([&](DotOp dot) {
      for (Value factor : {dot.getA(), dot.getB()})
        if (!isCopied(factor) && isStored(factor) && !plan_.loop.isDefinedOutsideOfLoop(factor) &&
            counted.insert(tileOf(factor)).second)
          others += bytesOf(factor);
    });
    const SmallVector<DotOp> dots(plan_.loop.getBody()->getOps<DotOp>());
    const bool isAlone = takeAllRegisters(dots);
    for (LoadOp load : plan_.loop.getBody()->getOps<LoadOp>()) {
      auto type = dyn_cast<RankedTensorType>(load.getType());
      if (!type || !llvm::all_of(type.getShape(), llvm::isPowerOf2_64) || isCopied(load) ||
          !isFactorOfFactor(load) || (areOthersCopied && isSmall(load) && mayWait(load) && !isRepeated(load)))
        continue;
      uint64_t bytes = bytesOf(load);
      for (CopiedLoad &copied : plan_.copied)
        bytes += bytesOf(copied.load);
      auto slotsIn = [&](uint64_t room) {
        return others >= room ? 0 : std::min<uint64_t>(plan_.slots, (room - others) / bytes);
      };
      uint64_t ofTwo = isAlone ? 0 : slotsIn(machine_.sharedBytes / 2);
      auto slots = unsigned(ofTwo >= 2 ? ofTwo : slotsIn(machine_.sharedBytes));
      // A copy has each element, also where several share an address, which threads load once.
      if (slots < 2 || (ofTwo < 2 && sharesAddresses(load)) || !copyAhead(load, convertsFromCopies(load)))
        continue;
      leavesRoom_ = ofTwo >= 2;
      plan_.slots = slots;
      plan_.aheadTrips = slots - 1;
    }
  }

  // Do neighbours of a tile have one address, packed weights say?
  static bool sharesAddresses(LoadOp load) {
    analysis::AxisInfoAnalysis axes(load->getParentOfType<FuncOp>());
    return llvm::any_of(axes.likelyAt(load.getPtr()).constancy, [](int64_t equal) { return equal > 1; });
  }

  // Few elements of which each thread needs too many for them to wait in registers, decays of a sum's columns
  // say, are copied as well: a trip that loaded them for itself would wait for memory.
  void considerLines() {
    uint64_t bytes = slotBytes();
    for (LoadOp load : plan_.loop.getBody()->getOps<LoadOp>()) {
      auto type = dyn_cast<RankedTensorType>(load.getType());
      if (!type || isCopied(load) || plan_.ahead.contains(load) || isSmall(load) ||
          (isSmallOver(1, load) && isFactorOfFactor(load)) ||
          !llvm::all_of(type.getShape(), llvm::isPowerOf2_64) || bytesOf(load) > machine_.costs.lineBytes * 8)
        continue;
      uint64_t held = uint64_t(simt::registersOf(type)) * 32 * simt::warpsOf(plan_.loop);
      uint64_t more = bytes + bytesOf(load);
      if (held < 4 * uint64_t(type.getNumElements()) ||
          machine_.sharedBytes / (plan_.slots * more) != machine_.sharedBytes / (plan_.slots * bytes))
        continue;
      if (copyAhead(load, convertsFromCopies(load)))
        bytes = more;
    }
  }

  // A loop that walks over rows without products, whose user asks for slots of its own: all that its trips
  // load anew is copied ahead, as many trips as half of shared memory has room for: the trip needs some of
  // it, too. A trip of a user who asks to unroll is several of these.
  void considerStreams() {
    uint64_t bytes = 0;
    SmallVector<LoadOp> loads;
    for (LoadOp load : plan_.loop.getBody()->getOps<LoadOp>()) {
      bool isAnew = !plan_.loop.isDefinedOutsideOfLoop(load.getPtr());
      if (auto type = dyn_cast<RankedTensorType>(load.getType());
          type && isAnew && !(isApart_ && mayBeWritten(load)) &&
          llvm::all_of(type.getShape(), llvm::isPowerOf2_64)) {
        loads.push_back(load);
        bytes += bytesOf(load);
      }
    }
    plan_.aheadTrips *= simt::unrollFactorOf(plan_.loop);
    // Trips that bring very little wait for memory in as many stages as their user asks for, too, if nothing
    // else runs while they wait.
    constexpr unsigned mostAhead = 8;                               // trips
    const uint64_t leastUnderWay = isApart_ ? 32 * 1024 : 4 * 1024; // bytes
    while (machine_.isAlone && plan_.aheadTrips < mostAhead && plan_.aheadTrips * bytes < leastUnderWay)
      ++plan_.aheadTrips;
    while (plan_.aheadTrips != 0 && (plan_.aheadTrips + 1) * bytes > machine_.sharedBytes / 2)
      --plan_.aheadTrips;
    plan_.slots = plan_.aheadTrips + 1;
    if (plan_.slots >= 2)
      for (LoadOp load : loads)
        copyAhead(load, {});
  }

  // Without stores a thread takes several trips at once, and their loads wait in registers: copies pay only
  // for tiles of which registers hold too few, and where nothing else fills the time.
  bool waitsWithFewTrips() {
    constexpr uint64_t wide = 64; // bytes of a thread and trip
    uint64_t bytes = 0;
    for (LoadOp load : plan_.loop.getBody()->getOps<LoadOp>())
      if (isa<RankedTensorType>(load.getType()) && !plan_.loop.isDefinedOutsideOfLoop(load.getPtr()))
        bytes += bytesOf(load);
    return machine_.isAlone && bytes >= wide * 32 * simt::warpsOf(plan_.loop);
  }

  // Would what two trips load leave a thread no registers beside what the loop hands on, sums of whole tiles
  // say, if as many threads run as hide what each waits for?
  bool lacksRegistersForTrips() {
    unsigned held = 0, loaded = 0; // registers of a thread
    for (Value carried : plan_.loop.getRegionIterArgs())
      held += simt::registersOf(carried.getType());
    for (LoadOp load : plan_.loop.getBody()->getOps<LoadOp>())
      if (!plan_.loop.isDefinedOutsideOfLoop(load.getPtr()))
        loaded += simt::registersOf(load.getType());
    return held + 2 * loaded > machine_.registerFile / unsigned(machine_.costs.streamingThreads);
  }

  // A trip that stores waits for its loads. Do few other warps run meanwhile?
  bool waitsBesideFew() { return machine_.isAlone || beginsByProgram(); }

  // Does the loop, or one around it, begin by the program's place in the grid? Then programs are mostly as
  // many as a device runs, and few warps wait for memory at the same time.
  bool beginsByProgram() const {
    llvm::SetVector<Value> from;
    for (Operation *op = plan_.loop; op; op = op->getParentOp())
      if (auto loop = dyn_cast<scf::ForOp>(op))
        from.insert(loop.getLowerBound());
    for (unsigned i = 0; i != from.size(); ++i)
      if (Operation *op = from[i].getDefiningOp()) {
        if (isa<GetProgramIdOp>(op))
          return true;
        from.insert(op->operand_begin(), op->operand_end());
      }
    return false;
  }

  static uint64_t bytesOf(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return uint64_t(type.getNumElements()) * simt::storedBits(type.getElementType()) / 8;
  }

  // Is a factor of a product of the loop computed from the value, element by element, or by a product that
  // adds to it? `besideProducts`: also where that takes results of other products of the trip.
  bool isFactorOfFactor(Value value, bool besideProducts = true) {
    llvm::SetVector<Value> reached;
    reached.insert(value);
    for (unsigned i = 0; i != reached.size(); ++i)
      for (OpOperand &use : reached[i].getUses()) {
        Operation *user = use.getOwner();
        if (isa<DotOp>(user) && use.getOperandNumber() < 2)
          return true;
        if (user->getBlock() == plan_.loop.getBody() && user->getNumRegions() == 0 &&
            isMemoryEffectFree(user) && (besideProducts || !behindProducts().contains(user)))
          reached.insert(user->result_begin(), user->result_end());
      }
    return false;
  }

  // Would threads hold so many elements that others hold, too, that a copy, of which each has one to bring,
  // is less to load, and leaves registers to what else the trip holds?
  bool isRepeated(LoadOp load) const {
    auto type = cast<RankedTensorType>(load.getType());
    auto elements = uint64_t(type.getNumElements());
    unsigned threads = 32 * simt::warpsOf(plan_.loop), registers = simt::registersOf(type);
    return elements >= threads && 2 * registers > machine_.costs.heldAhead &&
           registers * threads >= 4 * elements;
  }

  // The ops of the trip that are products, or computed from them.
  const llvm::SetVector<Operation *> &behindProducts() {
    if (behindProducts_.empty()) {
      for (DotOp dot : plan_.loop.getBody()->getOps<DotOp>())
        behindProducts_.insert(dot);
      for (unsigned i = 0; i != behindProducts_.size(); ++i)
        for (Operation *user : behindProducts_[i]->getUsers())
          if (user->getBlock() == plan_.loop.getBody())
            behindProducts_.insert(user);
    }
    return behindProducts_;
  }

  // Is it early enough that a small load starts one trip ahead? Where others do so, or where the factor is
  // computed from another product's result, as in attention, so that the trip is long. (Copies in place of
  // registers cost a linear attention with decays 13 %.)
  bool mayWait(LoadOp load) {
    return plan_.aheadTrips == 1 || !isFactorOfFactor(load, /*besideProducts=*/false);
  }

  // May the value wait in registers for all of the trips that a load runs ahead?
  bool isSmall(LoadOp load) const { return isSmallOver(plan_.aheadTrips, load); }

  bool isSmallOver(unsigned trips, LoadOp load) const {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    unsigned registers = type ? simt::registersOf(type) : 1;
    if (type && simt::storedBits(type.getElementType()) == 8)
      registers *= 4; // each byte has a register of its own from trip to trip
    return registers * trips <= machine_.costs.heldAhead;
  }

  // Small tiles and scalars that the trip computes with run ahead into registers; what a factor is computed
  // of may be larger, if it waits there for one trip only. Not those whose masked elements are replaced by
  // what the trip computes: the loop could not be expanded, and nothing would run ahead.
  void holdSmallLoads() {
    for (LoadOp load : plan_.loop.getBody()->getOps<LoadOp>()) {
      bool takesOfTrip = load.getOther() && !plan_.loop.isDefinedOutsideOfLoop(load.getOther());
      bool waitsOneTrip = !isSmall(load);
      if (isCopied(load) || plan_.ahead.contains(load) || load.getIsVolatile() || takesOfTrip ||
          (waitsOneTrip && !(isSmallOver(1, load) && isFactorOfFactor(load))) || mayBeWritten(load))
        continue;
      llvm::SetVector<Operation *> aheadBefore = plan_.ahead;
      if (reasonAgainst(load))
        continue;
      plan_.ahead.insert(load);
      if (waitsOneTrip && !startsOneTripAhead(load)) {
        plan_.ahead = std::move(aheadBefore);
        continue;
      }
      plan_.held.push_back(load);
    }
  }

  // Does a load that waits in registers start only behind the last read of the one before?
  bool startsOneTripAhead(LoadOp load) {
    return HeldLoads(plan_.loop, plan_.ahead, {load}, plan_.aheadTrips).contains(load);
  }

  // Each product may run until the next trip has started its own, if all of the loop are of several warps,
  // add up what nobody else reads, and take both operands from copies. Where no further slot fits into shared
  // memory copies would start one trip ahead only, and the program wait for them longer than for its
  // products.
  void letDotsRun() {
    SmallVector<DotOp> dots;
    bool areFree = true;
    plan_.loop.getBody()->walk([&](Operation *op) {
      auto dot = dyn_cast<DotOp>(op);
      areFree &= dot ? addsUp(dot) : !isa<simt::LocalStoreOp>(op);
      if (dot)
        dots.push_back(dot);
    });
    if (!areFree || dots.empty())
      return;
    bool isAlone = machine_.isAlone || isAloneOverTiles();
    if (!isAlone && gainsPrograms(dots) && isBusyBeside(dots))
      return;
    lacksSlot_ = plan_.aheadTrips == 2 && (plan_.slots + 1) * slotBytes() > machine_.sharedBytes;
    if ((!isAlone && costsSecondProgram(dots)) || lacksSlot_ || !keepSlotsLonger(0, isAlone))
      return;
    for (DotOp dot : dots)
      dot->setAttr(simt::inFlightName, UnitAttr::get(dot.getContext()));
    plan_.areWide = llvm::all_of(dots, [&](DotOp dot) { return isWide(dot); });
    if (!plan_.areWide)
      plan_.startsDotsFirst = plan_.areWide = llvm::all_of(dots, [&](DotOp dot) { return isWideAlone(dot); });
    if (isAlone || takeAllRegisters(dots))
      copyFurtherAhead(isAlone ? largestRoom : 0);
  }

  // Do more programs fit on the multiprocessor if each has a slot less?
  bool gainsPrograms(ArrayRef<DotOp> dots) {
    unsigned registers = machine_.costs.besideSums + carriedRegisters();
    for (DotOp dot : dots)
      registers += simt::registersOf(dot.getType());
    uint64_t most =
        std::max<uint64_t>(machine_.registerFile / (32 * simt::warpsOf(plan_.loop) * registers), 1);
    auto programs = [&](uint64_t slots) {
      return std::min(most, machine_.sharedBytes / (slots * slotBytes()));
    };
    return programs(plan_.slots) > programs(plan_.slots + 1);
  }

  // Does a trip take much longer to issue its arithmetic, of addresses and masks mostly, than to multiply?
  // Then other programs' warps hide more than products that run on. Half as much again: what is linear in
  // trips gets cheaper yet.
  bool isBusyBeside(ArrayRef<DotOp> dots) {
    int64_t instructions = 0, products = 0;
    plan_.loop.getBody()->walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isElementwise(op) && isTile(op->getResult(0)))
        instructions += analysis::costOf(op, threadCosts) * simt::registersOf(op->getResult(0).getType());
    });
    for (DotOp dot : dots)
      products += productsOf(dot);
    constexpr int64_t schedulers = 4; // of a multiprocessor
    return 2 * instructions * simt::warpsOf(plan_.loop) * productsOfCycle > 3 * products * schedulers;
  }

  // Would another slot leave no room for a second program on the multiprocessor, where registers have room
  // for it? While one waits for its products the other one's run.
  bool costsSecondProgram(ArrayRef<DotOp> dots) {
    uint64_t bytes = slotBytes();
    return !takeAllRegisters(dots) && 2 * plan_.slots * bytes <= machine_.sharedBytes &&
           2 * (plan_.slots + 1) * bytes > machine_.sharedBytes;
  }

  // Nothing else runs while a program that is alone waits for copies: so many are under way as hide what they
  // take, if there is room for them, and for `others`, bytes that lie beside the slots. A trip multiplies for
  // `cycles`, which hide copies, too.
  void copyFurtherAhead(uint64_t others, int64_t cycles = 0) {
    uint64_t bytes = slotBytes();
    constexpr unsigned most = 2; // trips more than asked for
    for (unsigned more = 0; more != most && plan_.aheadTrips * bytes < machine_.costs.bytesAhead &&
                            plan_.aheadTrips * cycles <= machine_.costs.copyCycles &&
                            (plan_.slots + 1) * bytes + others <= machine_.sharedBytes;
         ++more) {
      ++plan_.slots;
      ++plan_.aheadTrips;
    }
  }

  // A program that has its multiprocessor for itself would wait for copies that start one trip ahead, two
  // stages as users write them, whatever a trip computes meanwhile.
  void hideCopiesOfOneTrip() {
    constexpr uint64_t room = 48 * 1024; // bytes, for what the kernel keeps in shared memory besides
    int64_t products = 0;
    plan_.loop.getBody()->walk([&](DotOp dot) {
      if (dot->hasAttr(simt::matrixName))
        products += productsOf(dot);
    });
    if (plan_.aheadTrips == 1)
      copyFurtherAhead(room, products / productsOfCycle);
  }

  // Do the registers of the products leave no room for a second program?
  bool takeAllRegisters(ArrayRef<DotOp> dots) {
    uint64_t registers = machine_.costs.besideSums;
    for (DotOp dot : dots)
      registers += simt::registersOf(dot.getType());
    return 2 * simt::warpsOf(plan_.loop) * registers > machine_.registerFile / 32;
  }

  static constexpr int64_t productsOfCycle = 2048;   // of a multiprocessor, of factors of 16 bits
  static constexpr int64_t fewestRows = 32;          // of products of which many programs are likely
  static constexpr uint64_t largestRoom = 32 * 1024; // for results on their way to memory, in pieces

  // Is the loop in one over tiles, which begins its sums anew in each trip and stores them?
  bool walksOverTiles() {
    auto around = dyn_cast<LoopLikeOpInterface>(plan_.loop->getParentOp());
    if (!around)
      return false;
    auto isCarried = [&](Value begin) {
      return isa<RankedTensorType>(begin.getType()) && llvm::is_contained(around.getRegionIterArgs(), begin);
    };
    bool stores = false;
    around->walk([&](StoreOp) { stores = true; });
    return stores && llvm::none_of(plan_.loop.getInitArgs(), isCarried);
  }

  // Is there one such program for each multiprocessor? By the step from tile to tile, if it is known; else
  // programs of few warps may be more.
  bool isAloneOverTiles() {
    if (!walksOverTiles())
      return false;
    int64_t step = stepOverTiles(dyn_cast<scf::ForOp>(plan_.loop->getParentOp()));
    return step > 1 ? step <= machine_.costs.programsAlone
                    : simt::warpsOf(plan_.loop) >= machine_.costs.productWarps;
  }

  // The step of a loop over tiles, or of a number that it carries; 0: it is not known.
  static int64_t stepOverTiles(scf::ForOp loop) {
    APInt step;
    if (!loop || !matchPattern(loop.getStep(), m_ConstantInt(&step)))
      return 0;
    int64_t largest = step.getSExtValue();
    for (auto [argument, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (auto add = next.getDefiningOp<arith::AddIOp>();
          add && add.getLhs() == argument && matchPattern(add.getRhs(), m_ConstantInt(&step)))
        largest = std::max(largest, step.getSExtValue());
    return largest;
  }

  unsigned registers() const { return machine_.registersOfThread(simt::warpsOf(plan_.loop)); }

  // Of all buffers, one slot of each.
  uint64_t slotBytes() {
    uint64_t bytes = 0;
    for (CopiedLoad &copied : plan_.copied)
      bytes += (uint64_t(1) << copied.map.images.size()) *
               simt::storedBits(elementType(copied.load.getType())) / 8;
    return bytes;
  }

  // Is a product so wide that copies of boxes pay: its instructions have many columns, and it takes long
  // enough to hide the one thread's work, or other programs run beside this one.
  bool isWide(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    const simt::Costs &costs = machine_.costs;
    return matrix.getElementBits() >= costs.boxedBits &&
           layout::columnsTogether(simt::layoutOf(dot.getResult()), matrix.shape()) >= costs.boxedColumns &&
           (simt::warpsOf(plan_.loop) < costs.productWarps || productsOf(dot) >= costs.boxedProducts);
  }

  // Do they pay for a product of fewer columns: its slots leave no room for a second program, and its trip
  // takes long enough to hide the one thread's work behind it. In programs that walk over tiles they pay for
  // shorter trips, too, if all threads would ask bounds of rows and columns, as descriptors have them.
  bool isWideAlone(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    const simt::Costs &costs = machine_.costs;
    int64_t products = productsOf(dot);
    unsigned columns = layout::columnsTogether(simt::layoutOf(dot.getResult()), matrix.shape());
    bool asksAll = isAloneOverTiles() && columns < costs.boxedColumns &&
                   llvm::all_of(
                       plan_.copied,
                       [](CopiedLoad &copied) {
                         return copied.load.getMask() && asksRowsAndColumns(copied.load.getMask());
                       });
    return matrix.getElementBits() >= costs.boxedBits &&
           columns >= (asksAll ? costs.boundedColumns : costs.boxedAloneColumns) &&
           products >= (asksAll ? costs.boundedProducts : costs.boxedAloneProducts) &&
           products < costs.boxedProducts &&
           (asksAll || 2 * plan_.slots * slotBytes() > machine_.sharedBytes);
  }

  // Are there conditions on both dimensions in the mask of a tile?
  static bool asksRowsAndColumns(Value mask) {
    analysis::AccessAnalysis access;
    auto conjuncts = access.conjuncts(mask);
    auto isAsked = [&](unsigned d) {
      return llvm::any_of(conjuncts, [&](const analysis::Conjunct &each) { return each.dependsOn(d); });
    };
    return isAsked(0) && isAsked(1);
  }

  // As many products of factors of 16 bits as would take equally long.
  static int64_t productsOf(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return cast<RankedTensorType>(dot.getA().getType()).getNumElements() *
           cast<RankedTensorType>(dot.getType()).getShape().back() * matrix.getElementBits() / 16;
  }

  // Lets a slot be read for a trip more: with another slot, unless a program less would then run beside this
  // one, or with copies that start a trip later. `others`: bytes of shared memory that lie beside the slots;
  // `isAlone`: there is no other program. Returns false where neither can be.
  bool keepSlotsLonger(uint64_t others, bool isAlone = false) {
    uint64_t bytes = slotBytes();
    uint64_t most =
        isAlone ? 1 : std::max<uint64_t>(machine_.costs.productWarps / simt::warpsOf(plan_.loop), 1);
    uint64_t now = std::min(most, machine_.sharedBytes / (plan_.slots * bytes + others)),
             then = std::min(most, machine_.sharedBytes / ((plan_.slots + 1) * bytes + others));
    if (then != 0 && (then == now || (plan_.aheadTrips == 1 && !leavesRoom_)))
      ++plan_.slots;
    else if (plan_.aheadTrips > 1)
      --plan_.aheadTrips;
    else
      return false;
    return true;
  }

  // Lets copies start fewer trips ahead where a second program then fits into shared memory: without products
  // under way its work is all that runs beside waits. `others`: as above.
  void makeRoomForSecondProgram(uint64_t others) {
    uint64_t bytes = slotBytes();
    if (2 * simt::warpsOf(plan_.loop) > machine_.costs.productWarps ||
        2 * (2 * bytes + others) > machine_.sharedBytes)
      return;
    while (2 * (plan_.slots * bytes + others) > machine_.sharedBytes) {
      --plan_.slots;
      --plan_.aheadTrips;
    }
  }

  // If every product is waited for in its trip, copies may start behind the trip's last read, into the
  // slot that it has read: a slot less for another barrier. They do where a second program then fits, and
  // where the copies of all programs that are on the way are not fewer than before. A third one is no gain
  // where there are too few programs for it; but half as many again are, where the warps of all of them are
  // too few to keep the multiprocessor busy. Not of products of so few rows that there are hardly more of
  // them: one step of decoding has few programs. Nor where a program has its multiprocessor for itself,
  // whatever else would fit there.
  void startCopiesBehindReads() {
    unsigned registers = machine_.costs.besideSums + carriedRegisters() + registersOfAddresses(), kept = 0;
    bool runOn = false, areOfOneWarp = true, isSlender = false;
    uint64_t stored = 0; // bytes of the largest factor that the trip computes and stores
    llvm::MapVector<Value, uint64_t> lasting, copied; // of those that all trips read there, and of copies
    plan_.loop.getBody()->walk([&](DotOp dot) {
      auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
      areOfOneWarp &= matrix && matrix.getWarps() == 1;
      isSlender |= *llvm::min_element(shapeOf(dot.getType())) < fewestRows;
      runOn |= dot->hasAttr(simt::inFlightName);
      registers += simt::registersOf(dot.getType());
      for (Value factor : {dot.getA(), dot.getB()}) {
        if (isStored(factor) && !isCopied(factor))
          stored = std::max(stored, bytesOf(factor));
        if (isCopied(factor))
          copied[tileOf(factor)] = bytesOf(factor);
        if (!plan_.loop.isDefinedOutsideOfLoop(factor))
          continue;
        if (staysInRegisters(dot))
          kept += simt::registersOf(factor.getType());
        else
          lasting[tileOf(factor)] = bytesOf(factor);
      }
    });
    auto allOf = [](const llvm::MapVector<Value, uint64_t> &tiles) {
      uint64_t all = 0;
      for (auto [tile, bytes] : tiles)
        all += bytes;
      return all;
    };
    // If those of all trips are large, a trip multiplies long enough by itself for what it copies: a
    // second program took up to a fourth longer in attention of 128 rows.
    if (2 * allOf(lasting) <= allOf(copied))
      stored += allOf(lasting);
    // Crowded registers keep no factor of all trips (OperandsInShared).
    if (registers - machine_.costs.besideSums + kept <= this->registers() * machine_.costs.crowdedRegisters)
      registers = std::min(registers + kept, this->registers() + 1);
    if (runOn || plan_.isWaitedFor || lacksSlot_ || isAloneOverTiles())
      return;
    uint64_t most =
        std::max<uint64_t>(machine_.registerFile / (32 * simt::warpsOf(plan_.loop) * registers), 1);
    auto programs = [&](unsigned slots) {
      return std::min(most, machine_.sharedBytes / (slots * slotBytes() + stored));
    };
    uint64_t now = programs(plan_.slots);
    if (now > 1) {
      // With one slot nothing of a program's own runs beside its copies: fewer warps yet.
      unsigned few = plan_.aheadTrips == 1 ? machine_.costs.fewWarps / 4 : machine_.costs.fewWarps;
      if (areOfOneWarp && !isSlender && now * simt::warpsOf(plan_.loop) <= few &&
          2 * programs(plan_.aheadTrips) >= 3 * now) {
        plan_.slots = plan_.aheadTrips;
        plan_.startsCopiesLast = true;
      }
      return;
    }
    for (unsigned slots = plan_.aheadTrips; slots != 0; --slots) {
      uint64_t then = programs(slots);
      if (then == now || then * slots < now * plan_.aheadTrips)
        continue;
      plan_.slots = plan_.aheadTrips = slots;
      plan_.startsCopiesLast = true;
      return;
    }
  }

  // Is the value computed from what the product of the same trip gives?
  bool isComputedFrom(Value value, DotOp dot) {
    llvm::SetVector<Operation *> needed;
    auto need = [&](Operation *op) {
      if (op && plan_.loop->isProperAncestor(op))
        needed.insert(op);
    };
    need(value.getDefiningOp());
    for (unsigned i = 0; i != needed.size(); ++i)
      needed[i]->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          need(operand.getDefiningOp());
      });
    return needed.contains(dot);
  }

  // The last product of a trip, whose first factor the trip computes from the first product, may run until
  // the next trip waits for its own first one: where that is before the sums are scaled, and where the
  // program fills its multiprocessor alone, so that no other one's work runs beside. A factor of other origin
  // the next trip would compute ahead of that wait, into registers that the product still reads.
  void letLastDotsRun() {
    DotOp last, first;
    unsigned dots = 0, held = 0;
    bool areAsync = true;
    plan_.loop.getBody()->walk([&](DotOp dot) {
      auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
      areAsync &= matrix && matrix.getWarps() > 1 && !matrix.getIsSwapped() &&
                  dot->getBlock() == plan_.loop.getBody() && !dot->hasAttr(simt::inFlightName);
      if (dots++ == 0)
        first = dot;
      held += simt::registersOf(dot.getType());
      last = dot;
    });
    if (dots != 2 || !areAsync || !isReadThere(first.getB()) || !isReadThere(last.getB()) ||
        isCopied(last.getA()) || !isComputedFrom(last.getA(), first) || isStored(last.getA()) ||
        !last->hasOneUse() || !elementType(last.getType()).isF32() ||
        held < registers() * machine_.costs.heldAlone)
      return;
    OpOperand *use = &*last->getUses().begin();
    if (!isa<scf::YieldOp>(use->getOwner()))
      return;
    for (Operation *user : plan_.loop.getRegionIterArg(use->getOperandNumber()).getUsers())
      if (!first->isBeforeInBlock(plan_.loop.getBody()->findAncestorOpInBlock(*user)))
        return;
    uint64_t bytes = isCopied(first.getA()) ? 0 : bytesOf(first.getA());
    // Its first factor stays in registers while the next trip computes sums.
    unsigned factor = simt::registersOf(last.getA().getType());
    if (held + factor > registers() * machine_.costs.heldUnderWay) {
      makeRoomForSecondProgram(bytes);
      return;
    }
    if (!keepSlotsLonger(bytes))
      return;
    last->setAttr(simt::inFlightName, UnitAttr::get(last.getContext()));
    plan_.first = first;
    plan_.last = last;
    auto matrix = last->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    plan_.areWide =
        matrix.getElementBits() >= machine_.costs.boxedBits; // how wide it has to be, planBoxes knows
    plan_.asksAhead = true;
  }

  // If the trip computes with what its only product gives, it waits for that: boxes pay there, since copies
  // by all threads hold up the instructions behind them. A program of several groups of warps that fills its
  // multiprocessor alone needs no barrier either: signals hand the slots on, and one group computes while
  // another one's product runs. Nothing else of the trip may let the groups meet.
  void copyBoxesBesideSums() {
    DotOp only;
    unsigned dots = 0;
    bool meets = false;
    for (Operation &op : *plan_.loop.getBody()) {
      bool isRead = isa<simt::ConvertOp>(op) && isCopied(op.getOperand(0)); // from the copy
      meets |= op.getNumRegions() != 0 || (simt::scratchBytes(&op) != 0 && !isRead) ||
               isa<StoreOp, AtomicRMWOp, AtomicCASOp>(op);
      if (auto dot = dyn_cast<DotOp>(op)) {
        only = dot;
        ++dots;
      }
    }
    if (dots != 1 || meets || plan_.slots * slotBytes() > machine_.sharedBytes)
      return;
    auto matrix = only->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    bool isSum = llvm::any_of(only->getUsers(), llvm::IsaPred<scf::YieldOp>);
    if (!matrix || matrix.getWarps() == 1 || only->hasAttr(simt::inFlightName) || isSum ||
        only->use_empty() || !isReadThere(only.getA()) || !isReadThere(only.getB()) ||
        layout::columnsTogether(simt::layoutOf(only.getResult()), matrix.shape()) <
            machine_.costs.boxedAloneColumns)
      return;
    plan_.areWide = plan_.asksAhead = true;
    unsigned held = simt::registersOf(only.getType()) + carriedRegisters();
    plan_.lacksRegisters = held > registers() * machine_.costs.crowdedRegisters;
    if (simt::warpsOf(plan_.loop) < 2 * matrix.getWarps() || held < registers() * machine_.costs.heldAlone)
      return;
    plan_.first = plan_.last = only;
    plan_.isWaitedFor = true;
    if ((plan_.slots + 1) * slotBytes() <= machine_.sharedBytes)
      ++plan_.slots; // a group may be a trip behind
  }

  // Of the addresses of copies, beside those of as many as `besideSums` counts with.
  unsigned registersOfAddresses() {
    constexpr unsigned counted = 12, registersOfOne = 2; // 64 bits each, around the loop
    uint64_t accesses = 0;
    for (CopiedLoad &copied : plan_.copied)
      accesses += std::max<uint64_t>(
          (uint64_t(1) << copied.map.images.size()) / (copied.width * 32 * simt::warpsOf(plan_.loop)), 1);
    return accesses > counted ? unsigned(accesses - counted) * registersOfOne : 0;
  }

  // Of the floats that the loop hands from trip to trip, but for sums of products.
  unsigned carriedRegisters() {
    unsigned held = 0;
    for (Value next : plan_.loop.getYieldedValues())
      if (isa<FloatType>(elementType(next.getType())) && !next.getDefiningOp<DotOp>())
        held += simt::registersOf(next.getType());
    return held;
  }

  bool addsUp(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    auto sum = dyn_cast<BlockArgument>(dot.getAcc());
    if (!matrix || matrix.getWarps() == 1 || dot->getBlock() != plan_.loop.getBody() || !sum ||
        sum.getOwner() != plan_.loop.getBody() || !sum.hasOneUse() || !dot.getResult().hasOneUse() ||
        elementType(dot.getType()).getIntOrFloatBitWidth() != 32)
      return false;
    return plan_.loop.getYieldedValues()[sum.getArgNumber() - 1] == dot.getResult() &&
           isReadThere(dot.getA()) && isReadThere(dot.getB());
  }

  // Does a factor of the product from ahead of the loop stay in registers, where these are not crowded? Of
  // an instruction of several warps none does (StartDots), nor of multiply-adds (OperandsInShared).
  static bool staysInRegisters(DotOp dot) {
    auto matrix = dot->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return matrix && matrix.getWarps() == 1;
  }

  // Is an operand that the trip computes stored in shared memory? The next trip stores it there anew.
  static bool isStored(Value operand) {
    while (auto trans = operand.getDefiningOp<TransOp>())
      operand = trans.getValue();
    auto convert = operand.getDefiningOp<simt::ConvertOp>();
    return convert && convert.isThroughShared();
  }

  // The tile that an operand is, transposed or in another layout.
  static Value tileOf(Value operand) {
    while (isa_and_nonnull<TransOp, simt::ConvertOp>(operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    return operand;
  }

  // Is an operand copied, in whatever form it is read?
  bool isCopied(Value operand) {
    Value tile = tileOf(operand);
    return llvm::any_of(plan_.copied, [&](CopiedLoad &copied) { return copied.load.getResult() == tile; });
  }

  // Is an operand copied, and read where the copy lies?
  bool isReadThere(Value operand) {
    while (auto trans = operand.getDefiningOp<TransOp>())
      operand = trans.getValue();
    auto convert = operand.getDefiningOp<simt::ConvertOp>();
    return convert && llvm::any_of(plan_.copied, [&](CopiedLoad &copied) {
             return copied.load.getResult() == convert.getValue() && isReadTogether(operand, copied.map);
           });
  }

  // The ops of the loop that the addresses and the mask of the load come from, of trips before, too.
  llvm::SetVector<Operation *> addressOps(LoadOp load) {
    llvm::SetVector<Operation *> ops;
    llvm::DenseSet<Value> seen;
    SmallVector<Value> work{load.getPtr()};
    if (load.getMask())
      work.push_back(load.getMask());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == plan_.loop.getBody() && argument != plan_.loop.getInductionVar())
          work.push_back(plan_.loop.getYieldedValues()[argument.getArgNumber() - 1]);
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (!plan_.loop->isProperAncestor(op))
        continue;
      if (ops.insert(op) && op->getNumRegions())
        op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
      llvm::append_range(work, op->getOperands());
    }
    return ops;
  }

  // Collects what the addresses and the mask of the load need of the loop; null: all of it can run ahead.
  const char *reasonAgainst(LoadOp load) {
    llvm::SetVector<Operation *> needed = addressOps(load);
    for (Operation *op : needed)
      if (auto inner = dyn_cast<LoadOp>(op)) {
        if (inner.getIsVolatile())
          return "stays where it is: its addresses come from a volatile load";
        if (mayBeWritten(inner))
          return "stays where it is: the loop may store to what its addresses come from";
      } else if (!mayRunAhead(op)) {
        return "stays where it is: its addresses come from what the loop computes";
      }
    plan_.ahead.insert(needed.begin(), needed.end());
    return nullptr;
  }

  // May the op run trips ahead: it has no effects, and its branches are what each thread does by itself?
  static bool mayRunAhead(Operation *op) {
    auto stays = [&](Operation *inner) {
      if (isa<scf::IfOp>(inner))
        return false;
      return inner->getNumRegions() || isa<DotOp>(inner) || !isMemoryEffectFree(inner) ||
             (inner != op && simt::scratchBytes(inner) != 0);
    };
    return !op->walk([&](Operation *inner) {
                return stays(inner) ? WalkResult::interrupt() : WalkResult::advance();
              }).wasInterrupted();
  }

  CopyPlan plan_;
  const simt::Machine &machine_;
  std::vector<diag::Remark> &remarks_;
  llvm::DenseSet<Operation *> addressed_;
  llvm::SetVector<Operation *> behindProducts_; // once it is asked for
  bool streams_ = false;                        // a loop without products
  bool isApart_ = false;                        // of these one that reads apart from what it writes
  bool lacksSlot_ = false;                      // for products under way
  bool leavesRoom_ = false;    // for a second program: tiles that the trip computes with are copied, too
  SmallVector<Value> written_; // addresses of stores and atomics
  analysis::PointerOrigins origins_;
};

} // namespace

std::optional<CopyPlan> planCopies(scf::ForOp loop, unsigned stages, const simt::Machine &machine,
                                   std::vector<diag::Remark> &remarks) {
  return CopyPlanner(loop, stages, machine, remarks).plan();
}

} // namespace tegula::transforms
