// Elements of tiles of pointers that have addresses of their own (Access.h): strides say so as constants, or
// masks do, which keep the index within a row below what a row is long.
#include "analysis/Access.h"
#include "analysis/Forms.h"
#include "analysis/Indices.h"
#include "analysis/Reach.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

// Two tiles of pointers whose addresses differ by a constant and by steps of constant strides.
struct Difference {
  int64_t constant = 0;                           // bytes, of the second from the first
  SmallVector<std::pair<int64_t, int64_t>> steps; // a stride in bytes, and how far indices may be apart
  int64_t reach = 0;                              // of all steps together
  int64_t elementBytes = 1;
};

bool isInLoop(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  return isa<LoopLikeOpInterface>(parent) || parent->getParentOfType<LoopLikeOpInterface>();
}

std::optional<Difference> differenceOf(AccessAnalysis &access, Value a, Value b) {
  std::optional<Address> first = addressBehind(access, a, isInLoop),
                         second = addressBehind(access, b, isInLoop);
  if (!first || !second || first->pointer != second->pointer || a.getType() != b.getType() ||
      first->offset.base.hasTiles())
    return std::nullopt;
  auto negative = first->offset.base.scaled(-1);
  auto base = negative ? Polynomial::add(second->offset.base, *negative) : std::nullopt;
  if (!base || !base->constant())
    return std::nullopt;
  Difference result;
  result.constant = *base->constant();
  result.elementBytes = bytesOf(cast<PointerType>(elementType(a.getType())));
  auto shape = shapeOf(a.getType());
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (extent == 1)
      continue;
    std::optional<int64_t> stride = first->offset.strides[d].constant();
    if (!stride || stride != second->offset.strides[d].constant() || std::abs(*stride) > INT32_MAX)
      return std::nullopt;
    result.steps.push_back({std::abs(*stride), extent - 1});
    result.reach += std::abs(*stride) * (extent - 1);
  }
  llvm::sort(result.steps, std::greater<>());
  // Within 31 bits, so that offsets which wrap stay apart, too.
  if (std::abs(result.constant) > INT32_MAX || result.reach + std::abs(result.constant) > INT32_MAX)
    return std::nullopt;
  return result;
}

// Is the product of a loop's index and a number of 32 bits never past its bits? An index below n // number is
// none that makes it so.
bool staysInBits(Value index, int64_t number) {
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || argument != loop.getInductionVar())
    return false;
  auto end = loop.getUpperBound().getDefiningOp<arith::DivSIOp>();
  std::optional<int64_t> divisor = end ? constantOf(end.getRhs()) : std::nullopt;
  return divisor && *divisor >= number;
}

// A number that divides a step, also one that is past its bits: a constant, or a constant power of two that
// something is multiplied by.
std::optional<int64_t> latticeOf(Value step) {
  if (auto constant = constantOf(step))
    return constant;
  auto product = step.getDefiningOp<arith::MulIOp>();
  auto factor = product ? constantOf(product.getRhs()) : std::nullopt;
  if (product && (!factor || *factor <= 0 || !llvm::isPowerOf2_64(uint64_t(*factor))))
    return std::nullopt;
  return product ? *factor : 1;
}

// By how much, at least 1, the values of a loop's index, of blocks of it, or of a number that it carries
// differ from trip to trip; all of them lie on one lattice of such steps, however often the loop runs.
// nullopt: it is no such value.
std::optional<int64_t> stepOf(Value value) {
  if (auto extended = value.getDefiningOp<arith::ExtSIOp>())
    value = extended.getIn();
  if (auto blocks = value.getDefiningOp<arith::MulIOp>()) {
    std::optional<int64_t> number = constantOf(blocks.getRhs());
    if (!number || *number <= 0 || *number > INT32_MAX || blocks.getLhs().getDefiningOp<arith::MulIOp>() ||
        !(value.getType().isInteger(64) || staysInBits(blocks.getLhs(), *number)))
      return std::nullopt;
    std::optional<int64_t> step = stepOf(blocks.getLhs());
    return step && *step <= INT32_MAX / *number ? std::optional(*step * *number) : std::nullopt;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop)
    return std::nullopt;
  std::optional<int64_t> step;
  if (argument == loop.getInductionVar()) {
    if (!Indices().contains(loop.getLowerBound()) || loop.getUnsignedCmp())
      return std::nullopt;
    step = latticeOf(loop.getStep());
  } else {
    unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
    auto next = loop.getYieldedValues()[index].getDefiningOp<arith::AddIOp>();
    if (!next || !argument.getType().isInteger(64) || isInLoop(loop.getInitArgs()[index]) ||
        (next.getLhs() != argument && next.getRhs() != argument))
      return std::nullopt;
    step = constantOf(next.getLhs() == argument ? next.getRhs() : next.getLhs());
  }
  if (!step || *step == 0 || std::abs(*step) > INT32_MAX)
    return std::nullopt;
  return std::abs(*step);
}

} // namespace

std::optional<Address> addressBehind(AccessAnalysis &access, Value pointers,
                                     llvm::function_ref<bool(Value)> isPassed) {
  const Address *found = access.address(pointers);
  if (!found)
    return std::nullopt;
  Address address = *found;
  while (auto add = isPassed(address.pointer) ? address.pointer.getDefiningOp<AddPtrOp>() : AddPtrOp()) {
    auto bytes = access.form(add.getOffset()).base.scaled(bytesOf(cast<PointerType>(add.getPtr().getType())));
    auto base = bytes ? Polynomial::add(address.offset.base, *bytes) : std::nullopt;
    if (!base)
      return std::nullopt;
    address.offset.base = *base;
    address.pointer = add.getPtr();
  }
  return address;
}

namespace {

// A tile of addresses `p + r·S + u` with `0 <= u < S` wherever it is accessed: the dimension of r, and u in
// bytes, which does not depend on that. Rows r then share no address.
struct WithinRows {
  unsigned rowDim;
  Form index;
};

// The dimension along which the address moves by a number that is known at run time alone, if there is one
// such.
std::optional<unsigned> rowDimOf(const Form &offset, ArrayRef<int64_t> shape) {
  std::optional<unsigned> found;
  for (auto [d, extent] : llvm::enumerate(shape))
    if (extent != 1 && !offset.strides[d].constant()) {
      if (found)
        return std::nullopt;
      found = unsigned(d);
    }
  return found;
}

// Is a factor an index of the program, or one that counts the trips of a loop up from such a one?
bool isIndex(Value value) {
  if (auto extended = value.getDefiningOp<arith::ExtSIOp>())
    value = extended.getIn();
  if (auto blocks = value.getDefiningOp<arith::MulIOp>())
    if (std::optional<int64_t> number = constantOf(blocks.getRhs()); number && *number > 0)
      value = blocks.getLhs();
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (loop && argument == loop.getInductionVar())
    return !loop.getUnsignedCmp() && Indices().contains(loop.getLowerBound());
  return Indices().contains(value);
}

// Is it a sum of indices and numbers, none of which is negative?
bool isNotNegative(const Form &form) {
  return llvm::all_of(form.base.terms(),
                      [](const Monomial &term) {
                        return term.coefficient > 0 && term.factors.size() <= 1 &&
                               llvm::all_of(term.factors, [](const Factor &factor) {
                                 return !factor.isTile() && isIndex(factor.value);
                               });
                      }) &&
         llvm::all_of(form.strides,
                      [](const Polynomial &stride) { return stride.constant().value_or(-1) >= 0; });
}

// `form < 0` is a conjunct of the mask. With S for the row's stride, that is u < S for u = S + form; is it
// the index within rows of the address?
std::optional<Form> indexBelow(const Form &form, const Address &address, unsigned rowDim,
                               int64_t elementBytes) {
  const Form &offset = address.offset;
  if (form.strides.size() != offset.strides.size())
    return std::nullopt;
  Form index;
  auto scaled = form.base.scaled(elementBytes);
  auto base = scaled ? Polynomial::add(*scaled, offset.strides[rowDim]) : std::nullopt;
  if (!base)
    return std::nullopt;
  index.base = *base;
  for (const Polynomial &stride : form.strides) {
    auto bytes = stride.scaled(elementBytes);
    if (!bytes)
      return std::nullopt;
    index.strides.push_back(*bytes);
  }
  for (unsigned d = 0; d != index.strides.size(); ++d)
    if (d == rowDim ? !index.strides[d].isZero() : !(index.strides[d] == offset.strides[d]))
      return std::nullopt;
  return isNotNegative(index) ? std::optional(index) : std::nullopt;
}

bool isKnownAheadOfLoops(const Polynomial &polynomial) {
  return llvm::all_of(polynomial.terms(), [](const Monomial &term) {
    return llvm::none_of(term.factors, [](const Factor &factor) { return isInLoop(factor.value); });
  });
}

std::optional<WithinRows> withinRows(AccessAnalysis &access, Value pointers, const Address &address) {
  auto type = dyn_cast<RankedTensorType>(pointers.getType());
  std::optional<unsigned> rowDim = type ? rowDimOf(address.offset, type.getShape()) : std::nullopt;
  std::optional<SmallVector<Value>> masks = rowDim ? masksOf(pointers) : std::nullopt;
  if (!masks || masks->empty() || !isKnownAheadOfLoops(address.offset.strides[*rowDim]))
    return std::nullopt;
  int64_t elementBytes = bytesOf(cast<PointerType>(type.getElementType()));
  std::optional<Form> found;
  for (Value mask : *masks) {
    std::optional<Form> index;
    for (const Conjunct &conjunct : access.conjuncts(mask))
      if (conjunct.form && !index)
        index = indexBelow(*conjunct.form, address, *rowDim, elementBytes);
    if (!index || (found && !(*found == *index)))
      return std::nullopt;
    found = index;
  }
  return WithinRows{*rowDim, *found};
}

// By how many bytes an offset moves from trip to trip of the one loop that it depends on; 0: of none,
// nullopt: that is not known.
std::optional<int64_t> bytesOfTrip(const Polynomial &base, int64_t elementBytes) {
  int64_t stepBytes = 0;
  for (const Monomial &term : base.terms())
    for (const Factor &factor : term.factors) {
      if (!isInLoop(factor.value))
        continue;
      std::optional<int64_t> step = stepOf(factor.value);
      bool isCounted = factor.value.getType().isInteger(64) || term.coefficient == elementBytes;
      if (!step || !isCounted || term.factors.size() != 1 || stepBytes != 0 ||
          std::abs(term.coefficient) > INT32_MAX / *step)
        return std::nullopt;
      stepBytes = *step * std::abs(term.coefficient);
    }
  return stepBytes;
}

// Both tiles lie within rows, at the same addresses in the same trip: do trips move on along the rows?
bool moveAlongRows(AccessAnalysis &access, Value a, Value b) {
  std::optional<Address> first = addressBehind(access, a, isInLoop),
                         second = addressBehind(access, b, isInLoop);
  if (!first || !second || !(*first == *second) || a.getType() != b.getType() || isInLoop(first->pointer) ||
      first->offset.base.hasTiles())
    return false;
  std::optional<WithinRows> rows = withinRows(access, a, *first), others = withinRows(access, b, *second);
  if (!rows || !others || !(rows->index == others->index))
    return false;
  auto negative = rows->index.base.scaled(-1);
  auto rest = negative ? Polynomial::add(first->offset.base, *negative) : std::nullopt;
  auto type = cast<RankedTensorType>(a.getType());
  int64_t elementBytes = bytesOf(cast<PointerType>(type.getElementType()));
  std::optional<int64_t> stepBytes = bytesOfTrip(rows->index.base, elementBytes);
  if (!rest || !isKnownAheadOfLoops(*rest) || !stepBytes)
    return false;
  int64_t reach = elementBytes;
  for (auto [stride, extent] : llvm::zip_equal(rows->index.strides, type.getShape())) {
    if (*stride.constant() > INT32_MAX)
      return false;
    reach += *stride.constant() * (extent - 1);
  }
  return *stepBytes >= reach && reach <= INT32_MAX;
}

} // namespace

bool isOneToOne(AccessAnalysis &access, Value pointers) {
  const Address *address = access.address(pointers);
  if (!address || address->offset.base.hasTiles())
    return false;
  auto shape = shapeOf(pointers.getType());
  std::optional<WithinRows> rows = withinRows(access, pointers, *address);
  SmallVector<std::pair<uint64_t, uint64_t>> steps; // bytes, and how often
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (extent == 1 || (rows && d == rows->rowDim))
      continue;
    std::optional<int64_t> bytes = address->offset.strides[d].constant();
    if (!bytes)
      return false;
    steps.push_back({uint64_t(std::abs(*bytes)), uint64_t(extent - 1)});
  }
  return areOneToOne(steps);
}

bool areApart(AccessAnalysis &access, Value a, Value b) {
  std::optional<Difference> difference = differenceOf(access, a, b);
  return difference && !isReachable(difference->steps, difference->constant, difference->elementBytes);
}

bool areApartInOtherTrips(AccessAnalysis &access, Value a, Value b) {
  std::optional<Difference> difference = differenceOf(access, a, b);
  std::optional<Address> address = difference ? addressBehind(access, a, isInLoop) : std::nullopt;
  if (!address)
    return moveAlongRows(access, a, b);
  if (isInLoop(address->pointer))
    return false;
  std::optional<int64_t> stepBytes = bytesOfTrip(address->offset.base, difference->elementBytes);
  return stepBytes &&
         *stepBytes >= difference->reach + std::abs(difference->constant) + difference->elementBytes;
}

} // namespace tegula::analysis
