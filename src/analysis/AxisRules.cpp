// One rule an op: what it makes of the facts of its operands. The reason stands beside a rule
// where it is not plain. Groups are powers of two and aligned, so that a group of m integers
// that starts at a multiple of m crosses neither zero nor the ends of the type.
#include "analysis/AxisFacts.h"
#include "analysis/Forms.h"
#include "ir/tile/Ranges.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

constexpr int64_t mostDivisibility = int64_t(1) << 62;

int64_t multiplied(int64_t a, int64_t b) { return a > mostDivisibility / b ? mostDivisibility : a * b; }

unsigned bitsOf(Value value) {
  Type element = elementType(value.getType());
  return isa<PointerType>(element) || element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

class Rule {
public:
  Rule(Operation *op, unsigned index, bool trust, FactOf operands)
      : op_(op), result_(op->getResult(index)), index_(index), trust_(trust), factOf_(operands),
        shape_(shapeOf(result_.getType())), fact_(unknownFact(result_)) {
    for (Value operand : op->getOperands())
      in_.push_back(operands(operand));
  }

  AxisFact compute() {
    if (auto taken = op_->getAttrOfType<IntegerAttr>(takenOperandName))
      return in_[size_t(taken.getInt())];
    Type element = elementType(result_.getType());
    bool isNumber = isa<PointerType>(element) || element.isIntOrIndex();
    if (!isNumber || !(indexing() || moves() || integers() || divisions() || bits() || choices() || casts()))
      commonConstancy();
    hints();
    normalizeFact(fact_, shape_);
    return fact_;
  }

private:
  using Dimension = AxisFact::Dimension;
  unsigned rank() const { return fact_.dims.size(); }
  const Dimension &in(unsigned operand, unsigned d) const { return in_[operand].dims[d]; }

  bool setConstant(int64_t value) {
    fact_ = constantFact(result_, value, bitsOf(result_));
    return true;
  }

  // The constancy of an op that gives equal results for equal operands.
  bool commonConstancy() {
    bool isElementwise =
        isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op_->getDialect()) ||
        isa<BitcastOp, FpToFpOp, MulhiUIOp, ClampFOp, PreciseSqrtOp, PreciseDivFOp, DirectedOp>(op_);
    if (isElementwise && op_->getNumOperands() > 0)
      for (unsigned d = 0; d < rank(); ++d)
        fact_.dims[d].constancy = minConstancy(d);
    return true;
  }

  int64_t minConstancy(unsigned d) const {
    int64_t least = mostDivisibility;
    for (const AxisFact &operand : in_)
      if (operand.dims.size() == rank())
        least = std::min(least, operand.dims[d].constancy);
    return least;
  }

  // The greatest group of at most `m` that starts at multiples of itself in each operand.
  int64_t alignedGroup(unsigned d, int64_t m) const {
    while (m > 1 && (in_[0].divisibilityAt(d, m) < m || in_[1].divisibilityAt(d, m) < m))
      m /= 2;
    return m;
  }

  // The greatest contiguous group that cannot wrap where it is extended from `bits` bits.
  int64_t withoutWrap(const AxisFact &fact, unsigned d, unsigned bits) const {
    const Dimension &dim = fact.dims[d];
    if (bits >= 64 || (trust_ && bits >= 32))
      return dim.contiguity;
    return std::min({dim.contiguity, dim.divisibility, bits == 1 ? 1 : int64_t(1) << (bits - 1)});
  }

  bool carriesNothing() const;
  bool indexing();
  bool moves();
  bool integers();
  bool divisions();
  bool bits();
  bool choices();
  bool casts();
  void compare(arith::CmpIPredicate predicate);
  void add(bool subtract);
  void addPointer();
  void reshape();
  void hints();

  Operation *op_;
  Value result_;
  unsigned index_;
  bool trust_;
  FactOf factOf_;
  ArrayRef<int64_t> shape_;
  AxisFact fact_;
  llvm::SmallVector<AxisFact, 3> in_;
};

bool Rule::indexing() {
  if (auto range = dyn_cast<MakeRangeOp>(op_)) {
    int64_t extent = shape_[0], start = int32_t(range.getStart());
    fact_.dims[0] = {int64_t(llvm::PowerOf2Ceil(extent)), powerOfTwoIn(start), 1};
    fact_.nonNegative = start >= 0;
    return true;
  }
  if (isa<GetProgramIdOp, GetNumProgramsOp>(op_)) {
    fact_.nonNegative = true;
    return true;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op_)) {
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      return setConstant(integer.getValue().getSExtValue());
    auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    if (dense && dense.isSplat())
      return setConstant(dense.getSplatValue<APInt>().getSExtValue());
    return true;
  }
  if (isa<AddPtrOp>(op_)) {
    addPointer();
    return true;
  }
  return false;
}

// ptr + offset elements. The offset is extended to 64 bits before: a run of it may not wrap.
void Rule::addPointer() {
  unsigned bits = bitsOf(op_->getOperand(1));
  for (unsigned d = 0; d < rank(); ++d) {
    const Dimension &pointer = in(0, d), &offset = in(1, d);
    int64_t run = std::min(pointer.constancy, withoutWrap(in_[1], d, bits));
    int64_t group = std::max(run, std::min(pointer.contiguity, offset.constancy));
    int64_t bytes = multiplied(in_[1].divisibilityAt(d, group), powerOfTwoIn(fact_.step));
    fact_.dims[d] = {group, std::min(in_[0].divisibilityAt(d, group), bytes), minConstancy(d)};
  }
}

bool Rule::moves() {
  if (isa<SplatOp>(op_)) {
    if (in_[0].constant)
      return setConstant(*in_[0].constant);
    for (auto [d, dim] : llvm::enumerate(fact_.dims))
      dim = {1, in_[0].divisibilityOfAll(), int64_t(llvm::PowerOf2Ceil(shape_[d]))};
  } else if (isa<UnsplatOp>(op_)) {
    if (in_[0].constant)
      return setConstant(*in_[0].constant);
    fact_.dims[0].divisibility = 1;
    for (const Dimension &dim : in_[0].dims) // its index is 0: the first of a group
      fact_.dims[0].divisibility = std::max(fact_.dims[0].divisibility, dim.divisibility);
  } else if (auto expand = dyn_cast<ExpandDimsOp>(op_)) {
    fact_.dims = in_[0].dims;
    fact_.dims.insert(fact_.dims.begin() + expand.getAxis(), Dimension{1, in_[0].divisibilityOfAll(), 1});
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op_)) {
    auto from = shapeOf(broadcast.getValue().getType());
    for (unsigned d = 0; d < rank(); ++d) {
      fact_.dims[d] = in(0, d);
      if (from[d] != shape_[d])
        fact_.dims[d].constancy = int64_t(llvm::PowerOf2Ceil(shape_[d]));
    }
  } else if (auto trans = dyn_cast<TransOp>(op_)) {
    for (auto [d, source] : llvm::enumerate(trans.getOrder()))
      fact_.dims[d] = in(0, source);
  } else if (isa<ReshapeOp>(op_)) {
    reshape();
  } else if (isa<JoinOp>(op_)) {
    AxisFact both = joinFacts(in_[0], in_[1]);
    fact_.dims = both.dims;
    fact_.dims.push_back({1, both.divisibilityOfAll(), op_->getOperand(0) == op_->getOperand(1) ? 2 : 1});
  } else if (isa<SplitOp>(op_)) {
    fact_.dims.assign(in_[0].dims.begin(), in_[0].dims.end() - 1);
    // The first half has index 0 along the dimension that goes: the first of its groups.
    int64_t all = std::max(in_[0].divisibilityOfAll(), index_ == 0 ? in_[0].dims.back().divisibility : 1);
    fact_.dims.resize(std::max<size_t>(1, shape_.size()));
    for (Dimension &dim : fact_.dims)
      dim.divisibility = std::max(dim.divisibility, all);
  } else {
    return false;
  }
  fact_.nonNegative = llvm::all_of(in_, [](const AxisFact &fact) { return fact.nonNegative; });
  if (llvm::all_of(in_,
                   [&](const AxisFact &fact) { return fact.constant && fact.constant == in_[0].constant; }))
    return setConstant(*in_[0].constant);
  return true;
}

// Both shapes are cut into the shortest pieces of equal size. Along the last dimension of a piece
// neighbours stay neighbours, within what divides its extents; along the others nothing is kept
// but what holds of all elements, and equal ones that reach over the inner dimensions.
void Rule::reshape() {
  auto reshape = cast<ReshapeOp>(op_);
  int64_t all = in_[0].divisibilityOfAll();
  for (Dimension &dim : fact_.dims)
    dim.divisibility = all;
  if (reshape.getAllowReorder())
    return;
  auto from = shapeOf(reshape.getValue().getType());
  int i = int(from.size()) - 1, j = int(shape_.size()) - 1;
  while (i >= 0 && j >= 0) {
    if (from[i] == 1 || shape_[j] == 1) {
      from[i] == 1 ? --i : --j;
      continue;
    }
    int last = j, source = i;
    int64_t left = from[i--], right = shape_[j--];
    while (left != right)
      left < right ? left *= from[i--] : right *= shape_[j--];
    int64_t limit = mostDivisibility;
    if (i + 1 != source || j + 1 != last)
      limit = std::min(powerOfTwoIn(from[source]), powerOfTwoIn(shape_[last]));
    int64_t group = std::min(in(0, source).contiguity, limit);
    fact_.dims[last] = {group, in_[0].divisibilityAt(source, group),
                        std::min(in(0, source).constancy, limit)};
    if (i + 1 != source)
      continue;
    // One dimension became several: a run of equals covers `inner` and reaches along the next.
    int64_t inner = shape_[last];
    for (int d = last - 1; d > j; inner *= shape_[d--])
      if (llvm::isPowerOf2_64(inner) && in(0, source).constancy > inner)
        fact_.dims[d].constancy = std::min(in(0, source).constancy / inner, powerOfTwoIn(shape_[d]));
  }
}

// A power of two above every element: of a number, or of neighbours that count from 0. 0: unknown.
int64_t boundOf(const AxisFact &fact, ArrayRef<int64_t> shape, unsigned bits) {
  if (!fact.nonNegative || bits > 32)
    return 0;
  if (fact.constant)
    return int64_t(llvm::PowerOf2Ceil(uint64_t(*fact.constant) + 1));
  int64_t bound = 0;
  for (auto [dim, extent] : llvm::zip(fact.dims, shape)) {
    int64_t hull = int64_t(llvm::PowerOf2Ceil(uint64_t(extent)));
    if (dim.constancy >= hull)
      continue;
    // The first is a multiple of more than the type holds: it is 0.
    if (bound || dim.contiguity < hull || dim.divisibility >> bits == 0)
      return 0;
    bound = hull;
  }
  return bound;
}

// The sum of what is not negative does not wrap: one operand is below a power of two that divides the other.
bool Rule::carriesNothing() const {
  unsigned bits = bitsOf(result_);
  for (auto [low, high] : {std::pair(0, 1), std::pair(1, 0)})
    if (int64_t bound = boundOf(in_[low], shape_, bits); bound && in_[high].divisibilityOfAll() >= bound)
      return true;
  return false;
}

void Rule::add(bool subtract) {
  for (unsigned d = 0; d < rank(); ++d) {
    const Dimension &l = in(0, d), &r = in(1, d);
    int64_t group = std::min(l.contiguity, r.constancy);
    if (!subtract)
      group = std::max(group, std::min(l.constancy, r.contiguity));
    int64_t divisibility = std::min(in_[0].divisibilityAt(d, group), in_[1].divisibilityAt(d, group));
    int64_t constancy = minConstancy(d);
    if (subtract) // runs in step differ by one number
      constancy = std::max(constancy, std::min(l.contiguity, r.contiguity));
    fact_.dims[d] = {group, divisibility, constancy};
  }
  fact_.nonNegative = !subtract && in_[0].nonNegative && in_[1].nonNegative && (trust_ || carriesNothing());
}

bool Rule::integers() {
  bool isAdd = isa<arith::AddIOp>(op_), isSub = isa<arith::SubIOp>(op_), isMul = isa<arith::MulIOp>(op_);
  if (!isAdd && !isSub && !isMul && !isa<arith::ShLIOp>(op_))
    return false;
  auto l = in_[0].constant, r = in_[1].constant;
  if (isa<arith::ShLIOp>(op_)) {
    if (r && uint64_t(*r) >= bitsOf(result_))
      return setConstant(0);
    if (l && r)
      return setConstant(int64_t(uint64_t(*l) << *r));
    int64_t factor = r ? int64_t(1) << std::min<int64_t>(*r, 62) : 1;
    for (unsigned d = 0; d < rank(); ++d)
      fact_.dims[d] = {1, multiplied(in_[0].divisibilityAt(d, 1), factor), minConstancy(d)};
    fact_.nonNegative = trust_ && in_[0].nonNegative && r.has_value();
    if (r == 0)
      fact_ = in_[0];
    return true;
  }
  if (l && r) {
    uint64_t x = uint64_t(*l), y = uint64_t(*r);
    return setConstant(int64_t(isAdd ? x + y : isSub ? x - y : x * y));
  }
  if (!isMul && (r == 0 || (isAdd && l == 0))) {
    fact_ = in_[r == 0 ? 0 : 1];
    return true;
  }
  if (!isMul) {
    add(isSub);
    return true;
  }
  if (l == 0 || r == 0)
    return setConstant(0);
  if (l == 1 || r == 1) {
    fact_ = in_[l == 1 ? 1 : 0];
    return true;
  }
  for (unsigned d = 0; d < rank(); ++d)
    fact_.dims[d] = {1, multiplied(in_[0].divisibilityAt(d, 1), in_[1].divisibilityAt(d, 1)),
                     minConstancy(d)};
  fact_.nonNegative = trust_ && in_[0].nonNegative && in_[1].nonNegative;
  return true;
}

bool Rule::divisions() {
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op_), isDiv = isa<arith::DivSIOp, arith::DivUIOp>(op_);
  if (!isSigned && !isa<arith::DivUIOp, arith::RemUIOp>(op_))
    return false;
  auto divisor = in_[1].constant;
  // Truncation keeps no runs below zero: -4/4 and -3/4 differ.
  bool isChecked = op_->hasAttr(checkedRemainderName);
  bool keepsRuns = !isSigned || in_[0].nonNegative || isChecked;
  bool divides = divisor ? *divisor != 0 : trust_ || isChecked; // x % 0 is 0
  for (unsigned d = 0; d < rank(); ++d) {
    int64_t group = keepsRuns ? alignedGroup(d, std::min(in(0, d).contiguity, in(1, d).constancy)) : 1;
    Dimension &dim = fact_.dims[d];
    dim.constancy = minConstancy(d);
    if (isDiv) {
      dim.constancy = std::max(dim.constancy, group);
      if (divisor && *divisor > 0 && llvm::isPowerOf2_64(uint64_t(*divisor)))
        dim.divisibility = std::max<int64_t>(1, in_[0].divisibilityAt(d, 1) / *divisor);
    } else {
      dim.contiguity = divides ? group : 1;
      dim.divisibility =
          std::min(in_[0].divisibilityAt(d, dim.contiguity), in_[1].divisibilityAt(d, dim.contiguity));
    }
  }
  if (isDiv && divisor == 1)
    fact_ = in_[0];
  fact_.nonNegative = in_[0].nonNegative && (!isDiv || in_[1].nonNegative);
  return true;
}

bool Rule::bits() {
  bool isAnd = isa<arith::AndIOp>(op_);
  if (isAnd || isa<arith::OrIOp, arith::XOrIOp>(op_)) {
    for (auto [a, b] : {std::pair(0, 1), std::pair(1, 0)})
      if (auto c = in_[a].constant; c && bitsOf(result_) == 1 && *c == (isAnd ? 1 : 0)) {
        fact_ = in_[b];
        return true;
      }
    for (unsigned d = 0; d < rank(); ++d) {
      Dimension &dim = fact_.dims[d];
      dim.constancy = minConstancy(d);
      for (auto [a, b] : {std::pair(0, 1), std::pair(1, 0)}) {
        int64_t run = std::min(in(a, d).contiguity, in(b, d).constancy);
        auto mask = in_[b].constant;
        if (!isAnd) // the low bits of an aligned run meet zeros
          dim.contiguity = std::max(dim.contiguity, alignedGroup(d, run));
        else if (mask && *mask < mostDivisibility &&
                 llvm::isPowerOf2_64(uint64_t(*mask) + 1)) // the low bits alone
          dim.contiguity = std::max(dim.contiguity, std::min({run, in(a, d).divisibility, *mask + 1}));
        else // the low bits gone
          dim.constancy = std::max(dim.constancy, alignedGroup(d, run));
      }
      int64_t x = in_[0].divisibilityAt(d, dim.contiguity), y = in_[1].divisibilityAt(d, dim.contiguity);
      dim.divisibility = isAnd ? std::max(x, y) : std::min(x, y);
    }
    bool l = in_[0].nonNegative, r = in_[1].nonNegative;
    fact_.nonNegative = isAnd ? l || r : l && r;
    return true;
  }
  if (!isa<arith::ShRSIOp, arith::ShRUIOp>(op_))
    return false;
  auto amount = in_[1].constant;
  for (unsigned d = 0; d < rank(); ++d) {
    Dimension &dim = fact_.dims[d];
    dim.constancy = minConstancy(d);
    if (!amount || uint64_t(*amount) >= bitsOf(result_))
      continue;
    int64_t unit = int64_t(1) << std::min<int64_t>(*amount, 62); // both shifts round down
    dim.constancy = std::max(dim.constancy, std::min({in(0, d).contiguity, in(0, d).divisibility, unit}));
    dim.divisibility = std::max<int64_t>(1, in_[0].divisibilityAt(d, 1) / unit);
  }
  if (amount == 0)
    fact_ = in_[0];
  fact_.nonNegative = in_[0].nonNegative;
  return true;
}

void Rule::compare(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  bool isEquality = predicate == P::eq || predicate == P::ne;
  // x < c and x >= c change only at multiples of what divides c; x <= c and x > c where the run is on
  // the right.
  bool cutsLeft = llvm::is_contained({P::slt, P::sge, P::ult, P::uge}, predicate);
  Value next = nextOf(op_->getOperand(cutsLeft ? 0 : 1));
  int64_t divisorOfNext = next ? factOf_(next).divisibilityOfAll() : 1;
  for (unsigned d = 0; d < rank(); ++d) {
    const Dimension &l = in(0, d), &r = in(1, d);
    int64_t group = minConstancy(d);
    if (isEquality)
      group = std::max(group, std::min(l.contiguity, r.contiguity));
    else
      group = std::max({group,
                        alignedGroup(d, cutsLeft ? std::min(l.contiguity, r.constancy)
                                                 : std::min(l.constancy, r.contiguity)),
                        alignedGroup(d, std::min(l.contiguity, r.contiguity))});
    // x <= c is x < c + 1.
    if (!isEquality && !cutsLeft && in_[1].constant)
      group = std::max(group, std::min({l.contiguity, l.divisibility,
                                        powerOfTwoIn(int64_t(uint64_t(*in_[1].constant) + 1))}));
    // So is x <= n - 1 x < n: only remainders count, which are right where n - 1 wraps.
    if (!isEquality) {
      int64_t run = cutsLeft ? std::min(l.constancy, r.contiguity) : std::min(l.contiguity, r.constancy);
      while (run > 1 && (in_[cutsLeft ? 1 : 0].divisibilityAt(d, run) < run || divisorOfNext < run))
        run /= 2;
      group = std::max(group, run);
    }
    unsigned bits = bitsOf(op_->getOperand(0)); // an aligned run may still be the whole type
    if (!isEquality && bits < 62)
      group = std::max(minConstancy(d), std::min(group, bits == 1 ? 1 : int64_t(1) << (bits - 1)));
    fact_.dims[d].constancy = group;
  }
}

bool Rule::choices() {
  if (auto compareInts = dyn_cast<arith::CmpIOp>(op_)) {
    compare(compareInts.getPredicate());
    return true;
  }
  if (isa<arith::SelectOp>(op_)) {
    if (in_[0].constant) {
      fact_ = in_[*in_[0].constant ? 1 : 2];
      return true;
    }
    fact_ = joinFacts(in_[1], in_[2]);
    if (shapeOf(op_->getOperand(0).getType()).empty())
      return true;
    for (unsigned d = 0; d < rank(); ++d) {
      Dimension &dim = fact_.dims[d];
      dim.constancy = std::min(dim.constancy, in(0, d).constancy);
      dim.contiguity = std::min(dim.contiguity, in(0, d).constancy);
      dim.divisibility =
          std::min(in_[1].divisibilityAt(d, dim.contiguity), in_[2].divisibilityAt(d, dim.contiguity));
    }
    if (fact_.constant)
      return setConstant(*fact_.constant);
    return true;
  }
  bool isMin = isa<arith::MinSIOp, arith::MinUIOp>(op_), isSigned = isa<arith::MinSIOp, arith::MaxSIOp>(op_);
  if (!isMin && !isa<arith::MaxSIOp, arith::MaxUIOp>(op_))
    return false;
  if (in_[0].constant && in_[1].constant) {
    int64_t l = *in_[0].constant, r = *in_[1].constant;
    bool lessLeft = isSigned ? l < r : uint64_t(l) < uint64_t(r);
    return setConstant(lessLeft == isMin ? l : r);
  }
  unsigned bits = bitsOf(result_);
  for (unsigned d = 0; d < rank(); ++d) {
    // Of two runs in step one wins as a whole, if neither wraps.
    int64_t run = alignedGroup(d, std::min(in(0, d).contiguity, in(1, d).contiguity));
    int64_t group = bits < 62 ? std::min(run, bits == 1 ? 1 : int64_t(1) << (bits - 1)) : run;
    fact_.dims[d] = {group, std::min(in_[0].divisibilityAt(d, group), in_[1].divisibilityAt(d, group)),
                     minConstancy(d)};
  }
  bool l = in_[0].nonNegative, r = in_[1].nonNegative;
  fact_.nonNegative = isSigned && !isMin ? l || r : l && r;
  return true;
}

bool Rule::casts() {
  bool isSigned = isa<arith::ExtSIOp, arith::IndexCastOp>(op_);
  if (isSigned || isa<arith::ExtUIOp, arith::IndexCastUIOp, arith::TruncIOp>(op_)) {
    unsigned from = bitsOf(op_->getOperand(0)), to = bitsOf(result_);
    if (in_[0].constant && !(from == 1 && isSigned) && (to <= from || isSigned || *in_[0].constant >= 0))
      return setConstant(*in_[0].constant);
    fact_.dims = in_[0].dims;
    if (from < to)
      for (unsigned d = 0; d < rank(); ++d) {
        int64_t group = withoutWrap(in_[0], d, from);
        fact_.dims[d] = {group, in_[0].divisibilityAt(d, group), in(0, d).constancy};
      }
    fact_.nonNegative =
        from < to ? (in_[0].nonNegative && from != 1) || !isSigned : from == to && in_[0].nonNegative;
    return true;
  }
  if (!isa<BitcastOp, arith::BitcastOp, PtrToIntOp, IntToPtrOp>(op_))
    return false;
  Type from = elementType(op_->getOperand(0).getType()), to = elementType(result_.getType());
  if (!isa<PointerType>(from) && !from.isIntOrIndex())
    return commonConstancy();
  bool keepsStep = in_[0].step == fact_.step;
  for (unsigned d = 0; d < rank(); ++d)
    fact_.dims[d] = {keepsStep ? in(0, d).contiguity : 1,
                     keepsStep ? in(0, d).divisibility : in_[0].divisibilityAt(d, 1), in(0, d).constancy};
  if (from == to || (from.isIntOrIndex() && to.isIntOrIndex())) {
    fact_.nonNegative = in_[0].nonNegative;
    fact_.constant = in_[0].constant;
  }
  return true;
}

// The numbers of a hint, one a dimension; a single one stands for all.
llvm::SmallVector<int64_t, 4> numbersOf(Attribute hint, unsigned rank) {
  llvm::SmallVector<int64_t, 4> numbers;
  if (auto number = dyn_cast<IntegerAttr>(hint))
    numbers.push_back(number.getValue().getSExtValue());
  else if (auto list = dyn_cast<DenseI32ArrayAttr>(hint))
    numbers.append(list.asArrayRef().begin(), list.asArrayRef().end());
  else if (auto list = dyn_cast<DenseI64ArrayAttr>(hint))
    numbers.append(list.asArrayRef().begin(), list.asArrayRef().end());
  else if (auto dense = dyn_cast<DenseIntElementsAttr>(hint))
    for (const APInt &number : dense)
      numbers.push_back(number.getSExtValue());
  else if (auto list = dyn_cast<ArrayAttr>(hint))
    for (Attribute entry : list)
      if (auto number = dyn_cast<IntegerAttr>(entry))
        numbers.push_back(number.getValue().getSExtValue());
  if (numbers.size() == 1)
    numbers.resize(rank, numbers[0]);
  if (numbers.size() != rank || llvm::any_of(numbers, [](int64_t number) { return number <= 0; }))
    numbers.assign(rank, 1); // not a hint of this shape: promises nothing
  return numbers;
}

// Adds what attributes of `op` promise, whose names begin with `prefix`.
void addHints(AxisFact &fact, Operation *op, StringRef prefix) {
  auto promise = [&](StringRef name, int64_t AxisFact::Dimension::*part) {
    if (Attribute hint = op->getDiscardableAttr((prefix + name).str()))
      for (auto [dim, number] : llvm::zip(fact.dims, numbersOf(hint, fact.dims.size())))
        dim.*part = std::max(dim.*part, powerOfTwoIn(number));
  };
  promise("contiguity", &AxisFact::Dimension::contiguity);
  promise("divisibility", &AxisFact::Dimension::divisibility);
  promise("constancy", &AxisFact::Dimension::constancy);
}

void Rule::hints() { addHints(fact_, op_, "tt."); }

} // namespace

void addAddressHints(AxisFact &fact, Value address) {
  if (!isa<PointerType>(elementType(address.getType())))
    return;
  for (OpOperand &use : address.getUses())
    if (isa<LoadOp, StoreOp>(use.getOwner()) && use.getOperandNumber() == 0 &&
        use.getOwner()->getBlock() == address.getParentBlock())
      addHints(fact, use.getOwner(), "tt.address_");
}

AxisFact ruleOf(Operation *op, unsigned index, bool trust, FactOf operands) {
  return Rule(op, index, trust, operands).compute();
}

AxisFact argumentFact(FuncOp function, unsigned index, bool trust) {
  Value argument = function.getBody().getArgument(index);
  AxisFact fact = unknownFact(argument);
  if (auto divisibility = function.getArgAttrOfType<IntegerAttr>(index, "tt.divisibility"))
    if (divisibility.getInt() > 0)
      fact.dims[0].divisibility = powerOfTwoIn(divisibility.getInt());
  fact.nonNegative = trust && argument.getType().isIntOrIndex() && !argument.getType().isInteger(1);
  return fact;
}

} // namespace tegula::analysis
