#include "compiler/Mistakes.h"

#include "analysis/Access.h"
#include "analysis/Ranges.h"
#include "ir/tile/Tile.h"
#include "syntax/Lexer.h"

#include <charconv>
#include <set>

namespace tegula::compiler {

using namespace mlir;
using namespace tile;
using diag::Kind;

namespace {

// ---- places -----------------------------------------------------------------------------

// Findings of one kernel: each place and kind once, and none where the line allows it.
class Findings {
public:
  Findings(const sema::Function &kernel, diag::Sink &sink) : source_(kernel.tree->source), sink_(sink) {}

  void report(Kind kind, Location location, std::initializer_list<std::string_view> arguments) {
    std::optional<diag::Location> place = placeOf(location);
    if (!place || !seen_.emplace(kind, place->range.begin).second || isAllowed(kind, *place))
      return;
    sink_.report(kind, *place, arguments);
  }

  // The line of a place, "12"; "" of one in another file.
  std::string lineOf(Location location) const {
    std::optional<diag::Location> place = placeOf(location);
    return place ? std::to_string(source_->position(place->range.begin).line) : "";
  }

  // nullopt: in the language's library, or in a file that is not the kernel's.
  std::optional<diag::Location> placeOf(Location location) const {
    std::string text = locationText(location);
    size_t column = text.rfind(':'), line = column == text.npos ? text.npos : text.rfind(':', column - 1);
    if (line == text.npos || text.substr(0, line) != source_->path() || isOfLibrary(location))
      return std::nullopt;
    uint32_t begin = offsetOf({numberAt(text, line + 1), numberAt(text, column + 1)});
    return diag::Location{source_, {begin, begin + 1}};
  }

private:
  static bool isOfLibrary(Location location) {
    bool isOurs = false;
    location->walk([&](Location part) {
      auto line = dyn_cast<FileLineColLoc>(LocationAttr(part));
      isOurs |= line && line.getFilename().getValue().starts_with("<tegula>/");
      return WalkResult::advance();
    });
    return isOurs;
  }

  static uint32_t numberAt(const std::string &text, size_t at) {
    uint32_t number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    return number;
  }

  // Positions rise with offsets.
  uint32_t offsetOf(diag::Position at) const {
    uint32_t begin = 0, end = uint32_t(source_->text().size());
    while (begin < end) {
      uint32_t middle = begin + (end - begin) / 2;
      diag::Position here = source_->position(middle);
      bool isBefore = here.line < at.line || (here.line == at.line && here.column < at.column);
      isBefore ? begin = middle + 1 : end = middle;
    }
    return begin;
  }

  // `# tegula: allow(TailWithoutMask, OffsetOverflow)`
  bool isAllowed(Kind kind, const diag::Location &place) const {
    StringRef line(source_->lineAt(place.range.begin));
    StringRef comment = line.substr(std::min(line.find("# tegula: allow("), line.size()));
    SmallVector<StringRef> names;
    comment.drop_front(std::min(comment.find('('), comment.size()))
        .ltrim('(')
        .split(')')
        .first.split(names, ',');
    return llvm::any_of(names, [&](StringRef name) { return name.trim() == StringRef(diag::name(kind)); });
  }

  diag::SourcePtr source_;
  diag::Sink &sink_;
  std::set<std::pair<Kind, uint32_t>> seen_;
};

// ---- what IR says -------------------------------------------------------------------------

struct Memory {
  Operation *op;
  Value pointers, mask;
  const char *what;
};

std::vector<Memory> accessesOf(FuncOp function) {
  std::vector<Memory> all;
  function.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      all.push_back({op, load.getPtr(), load.getMask(), "load"});
    else if (auto store = dyn_cast<StoreOp>(op))
      all.push_back({op, store.getPtr(), store.getMask(), "store"});
    else if (auto atomic = dyn_cast<AtomicRMWOp>(op))
      all.push_back({op, atomic.getPtr(), atomic.getMask(), "atomic operation"});
  });
  return all;
}

// The tile that moves of elements lead back to.
Value unmoved(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!analysis::coordinateMap(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

// Calls `visit` with each value that an address is a sum of products of; where that says false, not with what
// the value is made of.
void walkAddress(Value address, llvm::function_ref<bool(Value)> visit) {
  SmallVector<Value> stack{address};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!seen.insert(value).second || !visit(value))
      continue;
    Operation *op = value.getDefiningOp();
    bool isPassed =
        op && (isa<AddPtrOp, SplatOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp>(op) ||
               analysis::coordinateMap(op));
    if (isPassed)
      stack.append(op->operand_begin(), op->operand_end());
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    if (loop && argument != loop.getInductionVar())
      stack.push_back(loop.getInitArgs()[argument.getArgNumber() - 1]);
  }
}

bool isInBranch(Operation *op) {
  return op->getParentOfType<scf::IfOp>() || op->getParentOfType<scf::WhileOp>();
}

std::string nameOf(FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, "tt.name");
  return name ? name.str() : std::to_string(argument);
}

// ---- the mistakes -------------------------------------------------------------------------

class Look {
public:
  Look(FuncOp function, const KnownLaunch &launch, Findings &findings)
      : function_(function), launch_(launch), findings_(findings), ranges_(given(function, launch)),
        accesses_(accessesOf(function)) {}

  // Of the kernel as it was written: values that are equal are not one yet, so that an offset is one that has
  // a name.
  void runOnText() { tails(); }

  // Of the kernel behind its first clean-up.
  void run() {
    function_.walk([&](Operation *op) {
      if (auto reduce = dyn_cast<ReduceOp>(op))
        for (Value operand : reduce.getOperands())
          maskedLanes(reduce, operand, int(reduce.getAxis()));
      if (isa<arith::DivSIOp, arith::RemSIOp>(op))
        division(op);
    });
    for (const Memory &access : accesses_)
      overflows(access);
  }

private:
  static analysis::Given given(FuncOp function, const KnownLaunch &launch) {
    analysis::Given given;
    for (unsigned i = 0; i != function.getNumArguments(); ++i) {
      auto known = launch.integers.find(nameOf(function, i));
      given.arguments.push_back(known == launch.integers.end() ? std::nullopt : std::optional(known->second));
    }
    if (launch.grid)
      given.grid =
          std::array<int64_t, 3>{launch.grid->extent[0], launch.grid->extent[1], launch.grid->extent[2]};
    return given;
  }

  // ---- TailWithoutMask ----

  void tails() {
    // Offsets that some access compares with a bound, and the line of that access.
    llvm::DenseMap<Value, std::string> bounded;
    for (const Memory &access : accesses_)
      if (access.mask)
        collectBounded(access, bounded);
    std::string unused = unusedInteger();
    for (const Memory &access : accesses_) {
      if (access.mask || isInBranch(access.op))
        continue;
      const std::optional<InArray> found = inArray(access);
      const bool isInside = found && found->isInside(); // of this launch
      if (std::string reason = found ? describe(*found) : ""; !reason.empty())
        findings_.report(Kind::TailWithoutMask, access.op->getLoc(), {access.what, reason});
      else if (std::string line = boundElsewhere(access, bounded); !line.empty())
        findings_.report(
            Kind::TailWithoutMask, access.op->getLoc(),
            {access.what, "the access on line " + line + " compares the same offsets with a bound"});
      else if (!unused.empty() && !isInside && dependsOnProgram(access) && isTile(access.pointers))
        findings_.report(
            Kind::TailWithoutMask, access.op->getLoc(),
            {access.what, "the kernel takes `" + unused + "` and never compares offsets with it"});
    }
  }

  void collectBounded(const Memory &access, llvm::DenseMap<Value, std::string> &bounded) {
    SmallVector<Value> stack{access.mask};
    llvm::DenseSet<Value> seen;
    while (!stack.empty()) {
      Value mask = stack.pop_back_val();
      Operation *op = seen.insert(mask).second ? mask.getDefiningOp() : nullptr;
      if (!op)
        continue;
      if (isa<arith::AndIOp>(op) || analysis::coordinateMap(op))
        stack.append(op->operand_begin(), op->operand_end());
      auto compare = dyn_cast<arith::CmpIOp>(op);
      if (!compare || !isTile(compare.getLhs()))
        continue;
      using P = arith::CmpIPredicate;
      bool isBelow = llvm::is_contained({P::slt, P::sle, P::ult, P::ule}, compare.getPredicate());
      bool isAbove = llvm::is_contained({P::sgt, P::sge, P::ugt, P::uge}, compare.getPredicate());
      if (isBelow || isAbove)
        bounded.try_emplace(unmoved(isBelow ? compare.getLhs() : compare.getRhs()),
                            findings_.lineOf(access.op->getLoc()));
    }
  }

  std::string boundElsewhere(const Memory &access, const llvm::DenseMap<Value, std::string> &bounded) {
    std::string line;
    walkAddress(access.pointers, [&](Value value) {
      auto found = bounded.find(value);
      bool isSpread =
          isTile(value) && !value.getDefiningOp<SplatOp>() && !value.getDefiningOp<arith::ConstantOp>();
      if (line.empty() && isSpread && found != bounded.end())
        line = found->second;
      return line.empty();
    });
    return line;
  }

  // An integer argument that nothing in the kernel uses; "": there is none.
  std::string unusedInteger() {
    for (BlockArgument argument : function_.getArguments())
      if (argument.use_empty() && isa<IntegerType>(argument.getType()) && !argument.getType().isInteger(1))
        return nameOf(function_, argument.getArgNumber());
    return "";
  }

  bool dependsOnProgram(const Memory &access) {
    bool depends = false;
    walkAddress(access.pointers, [&](Value value) {
      depends |= value.getDefiningOp<GetProgramIdOp>() != nullptr;
      return true;
    });
    return depends;
  }

  // Elements that an address may be of, counted from the start of an argument.
  struct Reach {
    BlockArgument argument;
    analysis::Range elements;
  };

  std::optional<Reach> reachOf(Value pointers, unsigned depth = 0) {
    if (depth > 200)
      return std::nullopt;
    if (Operation *op = pointers.getDefiningOp()) {
      auto add = dyn_cast<AddPtrOp>(op);
      if (!add && !isa<SplatOp>(op) && !analysis::coordinateMap(op))
        return std::nullopt;
      std::optional<Reach> reach = reachOf(op->getOperand(0), depth + 1);
      if (reach && add)
        move(*reach, ranges_.at(add.getOffset()));
      return reach;
    }
    auto argument = cast<BlockArgument>(pointers);
    if (isa<FuncOp>(argument.getOwner()->getParentOp()))
      return Reach{argument, {0, 0, true}};
    return carriedReach(argument, depth);
  }

  static void move(Reach &reach, const analysis::Range &by) {
    reach.elements.isKnown &=
        by.isKnown && std::abs(by.low) < (int64_t(1) << 61) && by.high < (int64_t(1) << 61);
    if (!reach.elements.isKnown)
      return;
    reach.elements.low += by.low;
    reach.elements.high += by.high;
    reach.elements.isKnown =
        std::abs(reach.elements.low) < (int64_t(1) << 61) && reach.elements.high < (int64_t(1) << 61);
  }

  // A pointer that a loop moves by the same each trip.
  std::optional<Reach> carriedReach(BlockArgument argument, unsigned depth) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return std::nullopt;
    unsigned number = argument.getArgNumber() - 1;
    auto add = loop.getBody()->getTerminator()->getOperand(number).getDefiningOp<AddPtrOp>();
    std::optional<int64_t> trips = ranges_.trips(loop);
    std::optional<Reach> reach = reachOf(loop.getInitArgs()[number], depth + 1);
    if (!reach || !add || add.getPtr() != argument || !trips)
      return std::nullopt;
    analysis::Range step = ranges_.at(add.getOffset());
    int64_t times = std::max<int64_t>(0, *trips - 1);
    __int128 low = __int128(std::min<int64_t>(step.low, 0)) * times,
             high = __int128(std::max<int64_t>(step.high, 0)) * times;
    if (!step.isKnown || low < -(__int128(1) << 60) || high > (__int128(1) << 60))
      return std::nullopt;
    move(*reach, {int64_t(low), int64_t(high), true});
    return reach;
  }

  // The elements of an array of that size which an access reaches.
  struct InArray {
    Reach reach;
    std::string name;
    int64_t size;
    bool isInside() const { return reach.elements.low >= 0 && reach.elements.high < size; }
  };
  // nullopt: either is not known.
  std::optional<InArray> inArray(const Memory &access) {
    std::optional<Reach> reach = launch_.elements.empty() ? std::nullopt : reachOf(access.pointers);
    if (!reach || !reach->elements.isKnown)
      return std::nullopt;
    std::string name = nameOf(function_, reach->argument.getArgNumber());
    auto known = launch_.elements.find(name);
    return known == launch_.elements.end() ? std::nullopt
                                           : std::optional(InArray{*reach, name, known->second});
  }

  // Says how an access leaves its array; "" where it does not, or nothing is known of that.
  static std::string describe(const InArray &found) {
    if (found.isInside())
      return "";
    const analysis::Range &elements = found.reach.elements;
    int64_t far = elements.low < 0 ? elements.low : elements.high;
    return "it reaches element " + std::to_string(far) + " of `" + found.name + "`, which has " +
           std::to_string(found.size);
  }

  // ---- ReductionOfMaskedLanes ----

  // Elements of `value` along `dim` meet in `op`: do some come from a load that was masked off there?
  void maskedLanes(Operation *op, Value value, int dim) {
    SmallVector<std::pair<Value, int>> stack{{value, dim}};
    std::set<std::pair<const void *, int>> seen; // membership only
    while (!stack.empty()) {
      auto [next, along] = stack.pop_back_val();
      if (!seen.emplace(next.getAsOpaquePointer(), along).second)
        continue;
      if (auto load = next.getDefiningOp<LoadOp>()) {
        if (load.getMask() && !load.getOther() && varies(load.getMask(), along))
          findings_.report(Kind::ReductionOfMaskedLanes, op->getLoc(), {findings_.lineOf(load.getLoc())});
        continue;
      }
      pushSources(next, along, stack);
    }
  }

  bool varies(Value mask, int dim) {
    return llvm::any_of(forms_.conjuncts(mask), [&](const analysis::Conjunct &conjunct) {
      return conjunct.dependsOn(unsigned(dim));
    });
  }

  // The values that elements of a value come from one by one; none behind tl.where, which chooses.
  static void pushSources(Value value, int dim, SmallVectorImpl<std::pair<Value, int>> &stack) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<arith::SelectOp>(op))
      return;
    if (auto map = analysis::coordinateMap(op)) {
      for (auto [from, to] : llvm::enumerate(*map))
        if (to == dim)
          stack.emplace_back(op->getOperand(0), int(from));
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      stack.emplace_back(loop.getInitArgs()[number], dim);
      stack.emplace_back(loop.getBody()->getTerminator()->getOperand(number), dim);
      return;
    }
    bool isElementwise = op->getNumRegions() == 0 &&
                         (isa<BitcastOp, FpToFpOp, ClampFOp, PreciseSqrtOp, PreciseDivFOp, DirectedOp>(op) ||
                          isa<arith::ArithDialect, math::MathDialect>(op->getDialect()));
    if (isElementwise)
      for (Value operand : op->getOperands())
        if (shapeOf(operand.getType()) == shapeOf(value.getType()))
          stack.emplace_back(operand, dim);
  }

  // ---- OffsetOverflow, NegativeDivision ----

  void overflows(const Memory &access) {
    walkAddress(access.pointers, [&](Value value) {
      Operation *op = value.getDefiningOp();
      bool isNarrow = op && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
                      elementType(value.getType()).getIntOrFloatBitWidth() == 32;
      if (!isNarrow)
        return true;
      analysis::Range range = ranges_.unwrapped(op);
      if (range.isKnown && (range.high > INT32_MAX || range.low < INT32_MIN))
        findings_.report(Kind::OffsetOverflow, op->getLoc(),
                         {std::to_string(range.high > INT32_MAX ? range.high : range.low), access.what,
                          findings_.lineOf(access.op->getLoc())});
      return true;
    });
  }

  void division(Operation *op) {
    if (ranges_.at(op->getOperand(0)).low < 0)
      findings_.report(Kind::NegativeDivision, op->getLoc(), {isa<arith::DivSIOp>(op) ? "//" : "%"});
  }

  FuncOp function_;
  const KnownLaunch &launch_;
  Findings &findings_;
  analysis::Ranges ranges_;
  analysis::AccessAnalysis forms_;
  std::vector<Memory> accesses_;
};

// ---- UnusedMask ---------------------------------------------------------------------------

// The name that a statement in these tokens gives to what stands at `offset`, where no other token says the
// name: another specialization may use it else.
std::optional<std::string> nameUsedNowhere(const sema::Function &kernel, uint32_t offset) {
  using syntax::TokenKind;
  std::vector<syntax::Token> tokens;
  syntax::Lexer(kernel.tree->source).run(tokens);
  std::string_view text = kernel.tree->source->text();
  auto at = std::find_if(tokens.begin(), tokens.end(),
                         [&](const syntax::Token &token) { return token.end > offset; });
  while (at != tokens.begin() && !at->startsLine)
    --at;
  if (tokens.end() - at < 2 || at->kind != TokenKind::Identifier || at[1].kind != TokenKind::Equal)
    return std::nullopt;
  auto textOf = [&](const syntax::Token &token) { return text.substr(token.begin, token.end - token.begin); };
  std::string_view name = textOf(*at);
  auto range = kernel.definition->range;
  for (const syntax::Token &token : tokens)
    if (&token != &*at && token.kind == TokenKind::Identifier && token.begin >= range.begin &&
        token.end <= range.end && textOf(token) == name)
      return std::nullopt;
  return std::string(name);
}

bool isDead(Operation *op) {
  return llvm::all_of(op->getResults(), [](Value value) { return value.use_empty(); });
}

// In the kernel as it was written: what is not used goes with the first clean-up.
void unusedMasks(ModuleOp module, const sema::Function &kernel, Findings &findings) {
  FuncOp function = *module.getOps<FuncOp>().begin();
  std::vector<Memory> accesses = accessesOf(function);
  function.walk([&](Operation *op) {
    bool isMask = isa<arith::CmpIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) &&
                  elementType(op->getResult(0).getType()).isInteger(1) && isTile(op->getResult(0));
    if (!isMask || !isDead(op))
      return;
    std::optional<diag::Location> place = findings.placeOf(op->getLoc());
    std::optional<std::string> name = place ? nameUsedNowhere(kernel, place->range.begin) : std::nullopt;
    if (!name)
      return;
    for (const Memory &access : accesses)
      if (!access.mask && shapeOf(access.pointers.getType()) == shapeOf(op->getResult(0).getType()))
        return findings.report(Kind::UnusedMask, op->getLoc(),
                               {*name, access.what, findings.lineOf(access.op->getLoc())});
  });
}

} // namespace

void findMistakes(const sema::Request &request, const KnownLaunch &launch, diag::Sink &sink) {
  std::unique_ptr<MLIRContext> context = makeContext();
  Findings findings(*request.kernel, sink);
  sema::Request looking = request;
  looking.asWritten = [&](ModuleOp written) {
    unusedMasks(written, *request.kernel, findings);
    Look(*written.getOps<FuncOp>().begin(), launch, findings).runOnText();
  };
  OwningOpRef<ModuleOp> module = sema::specialize(*context, looking, sink);
  if (module)
    Look(*module->getOps<FuncOp>().begin(), launch, findings).run();
}

} // namespace tegula::compiler
