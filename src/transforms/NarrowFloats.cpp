// An f32 value is narrow if it is one of f16 or bf16, widened: a cast, a number of 8 bits, a constant, or
// what an op without rounding gives of such. Of two narrow values the sum, difference or product in f32,
// rounded once more, is the exact one rounded once, since 24 bits are at least twice 11, or 8, and two: also
// where it is subnormal, as sums are then exact, and products of 8 bits are or lie away from the middle of
// two numbers. A fused multiply-add has no such bound, and stays. A matrix product of narrow factors is the
// same sum of the same exact products, whatever a product of f32 would have rounded of its factors first.
#include "transforms/NarrowFloats.h"

#include "ir/tile/Tile.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Gives the op one of its operands' elements, or that with another sign, in another place perhaps?
bool isExact(Operation *op) {
  return isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp, ClampFOp,
             arith::NegFOp, math::AbsFOp, arith::SelectOp, SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp,
             TransOp>(op);
}

bool isF32(Value value) { return elementType(value.getType()).isF32(); }

// The number that a constant has everywhere, as the narrow type, if that is the same.
std::optional<APFloat> numberAs(Value value, Type narrow) {
  FloatAttr attribute;
  DenseElementsAttr dense;
  if (matchPattern(value, m_Constant(&dense)) && dense.isSplat())
    attribute = dyn_cast<FloatAttr>(dense.getSplatValue<Attribute>());
  else if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (!attribute)
    return std::nullopt;
  APFloat number = attribute.getValue();
  bool changes = false;
  number.convert(cast<FloatType>(narrow).getFloatSemantics(), APFloat::rmNearestTiesToEven, &changes);
  return changes ? std::nullopt : std::optional(number);
}

class Narrowing {
public:
  explicit Narrowing(Type narrow) : narrow_(narrow) {}

  // True of a narrow value, widened. Ops on the way that others than `user` read stay as they are, and no
  // copy is made of them, unless all are matrix products, or comparisons with narrow constants; more than a
  // few are not followed.
  bool isNarrow(Value value, Operation *user) const {
    unsigned left = mostOps;
    return isNarrow(value, user, left);
  }

  // A cast to f32, not a constant, is among what a narrow value is made of.
  bool isMadeOfCast(Value value) const {
    Operation *op = value.getDefiningOp();
    return isWidened(op) || (isExact(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                               return isF32(operand) && isMadeOfCast(operand);
                             }));
  }

  // The value as the narrow type, defined where it is.
  Value narrowed(Value value) {
    Value &known = narrowed_[value];
    if (known)
      return known;
    Operation *op = value.getDefiningOp();
    if (auto cast = dyn_cast<arith::ExtFOp>(op))
      return known = cast.getIn();
    OpBuilder builder(op);
    if (auto number = numberAs(value, narrow_)) {
      TypedAttr attribute = FloatAttr::get(narrow_, *number);
      if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
        attribute = DenseElementsAttr::get(cast<ShapedType>(typeOf(tile)), attribute);
      return known = arith::ConstantOp::create(builder, op->getLoc(), attribute);
    }
    Value made = computed(op);
    return narrowed_[value] = made;
  }

  // The op on narrow operands; its result is of the narrow type if it was f32.
  Value computed(Operation *op) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isF32(operand))
        mapping.map(operand, narrowed(operand));
    OpBuilder builder(op);
    Value made = builder.clone(*op, mapping)->getResult(0);
    if (isF32(made))
      made.setType(typeOf(made.getType()));
    return made;
  }

  Type typeOf(Type wide) const { return withElement(wide, narrow_); }

private:
  static constexpr unsigned mostOps = 256; // bounds the stack, and an op that reads another one twice

  bool isNarrow(Value value, Operation *user, unsigned &left) const {
    Operation *op = value.getDefiningOp();
    if (!op || left == 0)
      return false;
    --left;
    if (isWidened(op) || numberAs(value, narrow_))
      return true;
    auto isOther = [&](Operation *each) {
      bool isAlike = (isa<DotOp>(each) && isa<DotOp>(user)) ||
                     (comparesWithNumber(each, value) && comparesWithNumber(user, value));
      return each != user && !isAlike;
    };
    if (!isExact(op) || llvm::any_of(op->getUsers(), isOther))
      return false;
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return !isF32(operand) || isNarrow(operand, op, left); });
  }

  // Compares the op nothing else with the value than a number that the narrow type has?
  bool comparesWithNumber(Operation *op, Value value) const {
    auto compare = dyn_cast<arith::CmpFOp>(op);
    return compare && llvm::all_of(compare->getOperands(),
                                   [&](Value side) { return side == value || numberAs(side, narrow_); });
  }

  bool isWidened(Operation *op) const {
    if (auto cast = dyn_cast_or_null<arith::ExtFOp>(op))
      return elementType(cast.getIn().getType()) == narrow_;
    return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp, FpToFpOp>(op) &&
           elementType(op->getOperand(0).getType()).getIntOrFloatBitWidth() <= 8;
  }

  Type narrow_;
  llvm::DenseMap<Value, Value> narrowed_;
};

void narrowCast(arith::TruncFOp cast, Narrowing &narrowing) {
  Operation *op = cast.getIn().getDefiningOp();
  bool rounds = isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op);
  Value value;
  if (rounds) {
    bool isOnlyCast = llvm::all_of(op->getUsers(), [&](Operation *each) {
      auto other = dyn_cast<arith::TruncFOp>(each);
      return other && other.getType() == cast.getType();
    });
    if (isOnlyCast &&
        llvm::all_of(op->getOperands(), [&](Value each) { return narrowing.isNarrow(each, op); }))
      value = narrowing.computed(op);
  } else if (narrowing.isNarrow(cast.getIn(), cast)) {
    value = narrowing.narrowed(cast.getIn());
  }
  if (!value)
    return;
  cast.replaceAllUsesWith(value);
  cast.erase();
}

void narrowComparison(arith::CmpFOp compare, Narrowing &narrowing) {
  Value sides[] = {compare.getLhs(), compare.getRhs()};
  if (!llvm::all_of(sides, [&](Value side) { return narrowing.isNarrow(side, compare); }) ||
      !llvm::any_of(sides, [&](Value side) { return narrowing.isMadeOfCast(side); }))
    return;
  compare.replaceAllUsesWith(narrowing.computed(compare));
  compare.erase();
}

// Is there an instruction for a product of the factors' narrow type, at the tiles' common extent?
bool multiplies(const simt::Machine &machine, DotOp dot, Type narrow) {
  int64_t k = shapeOf(dot.getA().getType()).back();
  simt::DotTypes types{narrow, narrow, elementType(dot.getType()), Precision::IEEE};
  return llvm::any_of(machine.matrixInstructions(types), [&](const simt::MatrixInstruction &instruction) {
    return k % instruction.shape.k == 0;
  });
}

// Who asks for more than tf32 asks for sums of another kind, too (N15).
void narrowProduct(DotOp dot, Narrowing &narrowing) {
  Value factors[] = {dot.getA(), dot.getB()};
  if (dot.getPrecision() != Precision::TF32 || !isF32(dot.getResult()) ||
      !llvm::all_of(factors,
                    [&](Value factor) { return isF32(factor) && narrowing.isNarrow(factor, dot); }) ||
      !llvm::any_of(factors, [&](Value factor) { return narrowing.isMadeOfCast(factor); }))
    return;
  dot.getAMutable().set(narrowing.narrowed(factors[0]));
  dot.getBMutable().set(narrowing.narrowed(factors[1]));
  dot.setPrecision(Precision::IEEE);
}

// A tile of f32 as two of bf16, the smaller one first: what is left of it, rounded, and the upper halves of
// its numbers. Infinity is both of the parts, NaN the smaller one. (SplitFactors cuts both factors of a
// product, into as many parts as are asked for, and mends its sums.)
std::array<Value, 2> partsOf(OpBuilder &builder, Value tile) {
  Location loc = tile.getLoc();
  Type bits = withElement(tile.getType(), builder.getI32Type()),
       narrow = withElement(tile.getType(), builder.getBF16Type()),
       flags = withElement(tile.getType(), builder.getI1Type());
  auto constant = [&](Type type, Attribute number) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(cast<ShapedType>(type), number));
  };
  Value mask = constant(bits, builder.getI32IntegerAttr(int32_t(0xffff0000)));
  Value asBits = BitcastOp::create(builder, loc, bits, tile);
  Value upper = BitcastOp::create(builder, loc, tile.getType(),
                                  arith::AndIOp::create(builder, loc, asBits, mask).getResult());
  Value infinity =
      constant(tile.getType(), FloatAttr::get(builder.getF32Type(), APFloat::getInf(APFloat::IEEEsingle())));
  Value isFinite = arith::CmpFOp::create(builder, loc, flags, arith::CmpFPredicate::OLT,
                                         math::AbsFOp::create(builder, loc, tile), infinity);
  Value rest =
      arith::SelectOp::create(builder, loc, isFinite, arith::SubFOp::create(builder, loc, tile, upper), tile);
  return {arith::TruncFOp::create(builder, loc, narrow, rest),
          arith::TruncFOp::create(builder, loc, narrow, upper)};
}

// Beside a factor that was widened from bf16 the other one becomes two of bf16. That is as much to multiply
// as for tf32, whose instructions of several warps want K innermost in shared memory, and fewer bits are cut
// off. Not of products of few rows or columns, which may be made without matrix instructions.
void splitBeside(DotOp dot, Narrowing &narrowing) {
  constexpr int64_t fewest = 32;
  if (dot.getPrecision() != Precision::TF32 || !isF32(dot.getResult()) ||
      *llvm::min_element(shapeOf(dot.getType())) < fewest)
    return;
  auto isNarrow = [&](Value factor) {
    return isF32(factor) && narrowing.isNarrow(factor, dot) && narrowing.isMadeOfCast(factor);
  };
  bool isFirst = isNarrow(dot.getA());
  if (isFirst == isNarrow(dot.getB()))
    return;
  OpBuilder builder(dot);
  Value narrow = narrowing.narrowed(isFirst ? dot.getA() : dot.getB()), sum = dot.getAcc();
  for (Value part : partsOf(builder, isFirst ? dot.getB() : dot.getA())) {
    auto product = cast<DotOp>(builder.clone(*dot));
    product.getAMutable().set(isFirst ? narrow : part);
    product.getBMutable().set(isFirst ? part : narrow);
    product.getAccMutable().set(sum);
    product.setPrecision(Precision::IEEE);
    sum = product.getResult();
  }
  dot.replaceAllUsesWith(sum);
  dot.erase();
}

// Extrema round nothing, in whichever order. Where an op of the same kind reads the result, that and the
// reduction are combined behind a loop (DeferReductions.h), which nothing may stand between.
bool isExtremum(ReduceOp reduce) {
  Block &body = reduce->getRegion(0).front();
  return reduce.getOperands().size() == 1 && body.getOperations().size() == 2 &&
         isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp>(body.front()) &&
         llvm::equal(body.front().getOperands(), body.getArguments()) &&
         body.back().getOperand(0) == body.front().getResult(0) &&
         llvm::none_of(reduce->getUsers(),
                       [&](Operation *each) { return each->getName() == body.front().getName(); });
}

// Another sign is free in f32: without it, widening is what a reduction saves.
bool isFreeSign(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::NegFOp, math::AbsFOp>(op) && !op->getOperand(0).hasOneUse();
}

void narrowReduction(ReduceOp reduce, Narrowing &narrowing) {
  if (isFreeSign(reduce.getOperands()[0]) || !isF32(reduce.getOperands()[0]) || !isExtremum(reduce) ||
      !narrowing.isNarrow(reduce.getOperands()[0], reduce) ||
      !narrowing.isMadeOfCast(reduce.getOperands()[0]))
    return;
  Value value = narrowing.computed(reduce);
  Operation *narrow = value.getDefiningOp();
  Block &body = narrow->getRegion(0).front();
  for (BlockArgument argument : body.getArguments())
    argument.setType(narrowing.typeOf(argument.getType()));
  body.front().getResult(0).setType(narrowing.typeOf(body.front().getResult(0).getType()));
  OpBuilder builder(reduce);
  Value wide = arith::ExtFOp::create(builder, reduce.getLoc(), reduce.getResult(0).getType(), value);
  reduce.getResult(0).replaceAllUsesWith(wide);
  reduce.erase();
}

// x where it is above the constant, else that: the maximum, by which NaN is ignored, and +0 is above -0 (N16
// leaves that open, the machine's maximum does not). So for the minimum.
void chooseExtremum(arith::SelectOp choice, Type narrow) {
  auto compare = choice.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || choice.getTrueValue() != compare.getLhs() || choice.getFalseValue() != compare.getRhs())
    return;
  std::optional<APFloat> number = numberAs(choice.getFalseValue(), narrow);
  bool isAbove = compare.getPredicate() == arith::CmpFPredicate::OGT;
  if (!number || number->isNaN() || (!isAbove && compare.getPredicate() != arith::CmpFPredicate::OLT) ||
      (number->isZero() && number->isNegative() == isAbove))
    return;
  OpBuilder builder(choice);
  Value x = choice.getTrueValue(), limit = choice.getFalseValue();
  Value value = isAbove ? arith::MaxNumFOp::create(builder, choice.getLoc(), x, limit).getResult()
                        : arith::MinNumFOp::create(builder, choice.getLoc(), x, limit).getResult();
  choice.replaceAllUsesWith(value);
  choice.erase();
}

} // namespace

void narrowFloats(Operation *function, const simt::Machine &machine) {
  MLIRContext *context = function->getContext();
  for (Type narrow : {Type(Float16Type::get(context)), Type(BFloat16Type::get(context))}) {
    bool computesTwo = machine.computesTwo(narrow);
    Narrowing narrowing(narrow);
    // In program order, so that what one makes narrow the next one finds so.
    SmallVector<Operation *> ends;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto dot = dyn_cast<DotOp>(op);
      bool isEnd = isa<ReduceOp>(op) || (isa<arith::CmpFOp>(op) && isF32(op->getOperand(0))) ||
                   (isa<arith::TruncFOp>(op) && isF32(op->getOperand(0)) &&
                    elementType(op->getResult(0).getType()) == narrow);
      if (dot ? multiplies(machine, dot, narrow) : computesTwo && isEnd)
        ends.push_back(op);
    });
    for (Operation *end : ends) {
      if (auto truncation = dyn_cast<arith::TruncFOp>(end))
        narrowCast(truncation, narrowing);
      else if (auto compare = dyn_cast<arith::CmpFOp>(end))
        narrowComparison(compare, narrowing);
      else if (auto dot = dyn_cast<DotOp>(end)) {
        narrowProduct(dot, narrowing);
        if (narrow.isBF16())
          splitBeside(dot, narrowing);
      } else
        narrowReduction(cast<ReduceOp>(end), narrowing);
    }
    function->walk([&](arith::SelectOp choice) {
      if (computesTwo && elementType(choice.getType()) == narrow)
        chooseExtremum(choice, narrow);
    });
  }
  // Wide values that nobody reads any more go at the end: before, another op in its place would be taken for
  // it.
  function->walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace tegula::transforms
