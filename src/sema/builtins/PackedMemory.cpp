// tl.load through pointers to elements of less than a byte, which lie packed in memory: element i is bits
// i*width to (i+1)*width-1 from the pointer on. A pointer to them has no byte address of its own, so
// arithmetic on it only notes offsets (`tt.addptr` on `!tt.ptr<i3>`), and the load reads them off the ops
// that made the pointer. Those ops then have no use and go. sema/library/packed.py loads the bytes and takes
// the elements out of them.
#include "sema/builtins/PackedMemory.h"
#include "sema/PackedPlace.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

namespace tegula::sema::builtins {
namespace {

namespace arith = mlir::arith;
using IrValue = mlir::Value;

struct Address {
  IrValue base;                       // a scalar pointer to the first element
  llvm::SmallVector<IrValue> offsets; // in elements, each in the shape of the pointers
};

IrValue withShapeOf(mlir::OpBuilder &builder, mlir::Operation *shapeOp, IrValue operand) {
  mlir::IRMapping mapping;
  mapping.map(shapeOp->getOperand(0), operand);
  mlir::Operation *copy = builder.clone(*shapeOp, mapping);
  copy->getResult(0).setType(
      tile::withElement(shapeOp->getResult(0).getType(), tile::elementType(operand.getType())));
  return copy->getResult(0);
}

bool isFirstElement(IrValue pointer) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(pointer))
    return argument.getOwner()->isEntryBlock() && mlir::isa<tile::FuncOp>(argument.getOwner()->getParentOp());
  // A cast without operands stands for a value that somebody else holds (eager/).
  return mlir::isa_and_present<tile::BitcastOp, tile::IntToPtrOp, mlir::UnrealizedConversionCastOp>(
      pointer.getDefiningOp());
}

// The base and the offsets of a pointer, or nothing where one of its makers does not say.
std::optional<Address> addressOf(mlir::OpBuilder &builder, IrValue pointer) {
  if (!mlir::isa<mlir::ShapedType>(pointer.getType()) && isFirstElement(pointer))
    return Address{pointer, {}};
  mlir::Operation *op = pointer.getDefiningOp();
  if (auto sum = mlir::dyn_cast_if_present<tile::AddPtrOp>(op)) {
    auto address = addressOf(builder, sum.getPtr());
    if (address)
      address->offsets.push_back(sum.getOffset());
    return address;
  }
  if (!mlir::isa_and_present<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp,
                             tile::TransOp>(op))
    return std::nullopt;
  auto address = addressOf(builder, op->getOperand(0));
  if (address)
    for (IrValue &offset : address->offsets)
      offset = withShapeOf(builder, op, offset);
  return address;
}

// A term without its last dimension: where it does not change along it, or only by 1 from element to element.
struct Collapsed {
  IrValue value; // extent 1 there
  int ramps = 0;
};

class Collapse {
public:
  Collapse(Session &session) : session_(session), builder_(session.builder) {}

  std::optional<Collapsed> operator()(IrValue term) {
    mlir::Operation *op = term.getDefiningOp();
    if (!op)
      return std::nullopt;
    auto shape = tile::shapeOf(term.getType());
    llvm::SmallVector<int64_t> narrow(shape.begin(), shape.end());
    narrow.back() = 1;
    auto type = mlir::RankedTensorType::get(narrow, tile::elementType(term.getType()));
    if (auto splat = mlir::dyn_cast<tile::SplatOp>(op))
      return Collapsed{tile::SplatOp::create(builder_, session_.loc(), type, splat.getValue())};
    if (auto range = mlir::dyn_cast<tile::MakeRangeOp>(op))
      return Collapsed{constant(type, range.getStart()), 1};
    if (auto literal = mlir::dyn_cast<arith::ConstantOp>(op))
      if (auto elements = mlir::dyn_cast<mlir::SplatElementsAttr>(literal.getValue()))
        return Collapsed{constant(type, elements.getSplatValue<llvm::APInt>().getSExtValue())};
    if (auto broadcast = mlir::dyn_cast<tile::BroadcastOp>(op))
      return ofBroadcast(broadcast, type);
    if (auto expand = mlir::dyn_cast<tile::ExpandDimsOp>(op)) {
      if (int64_t(expand.getAxis()) + 1 == int64_t(shape.size()))
        return std::nullopt;
      return with(expand.getValue(), [&](IrValue inner) {
        return tile::ExpandDimsOp::create(builder_, session_.loc(), type, inner, expand.getAxis())
            .getResult();
      });
    }
    if (mlir::isa<arith::ExtSIOp, arith::ExtUIOp>(op))
      return with(op->getOperand(0), [&](IrValue inner) { return again(op, {inner}, type); });
    if (mlir::isa<arith::AddIOp, arith::MulIOp, arith::AndIOp>(op))
      return ofTwo(op, type);
    return std::nullopt;
  }

private:
  IrValue constant(mlir::RankedTensorType type, int64_t value) {
    auto attribute =
        mlir::DenseElementsAttr::get(type, builder_.getIntegerAttr(type.getElementType(), value).getValue());
    return arith::ConstantOp::create(builder_, session_.loc(), attribute);
  }

  IrValue again(mlir::Operation *op, mlir::ValueRange operands, mlir::Type type) {
    mlir::IRMapping mapping;
    for (auto [old, fresh] : llvm::zip(op->getOperands(), operands))
      mapping.map(old, fresh);
    mlir::Operation *copy = builder_.clone(*op, mapping);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }

  template <class F> std::optional<Collapsed> with(IrValue term, F f) {
    auto inner = (*this)(term);
    return inner ? std::optional(Collapsed{f(inner->value), inner->ramps}) : std::nullopt;
  }

  std::optional<Collapsed> ofBroadcast(tile::BroadcastOp broadcast, mlir::RankedTensorType type) {
    auto widen = [&](IrValue inner) -> IrValue {
      return inner.getType() == type
                 ? inner
                 : tile::BroadcastOp::create(builder_, session_.loc(), type, inner).getResult();
    };
    if (tile::shapeOf(broadcast.getValue().getType()).back() == 1)
      return Collapsed{widen(broadcast.getValue())};
    return with(broadcast.getValue(), widen);
  }

  // A product or conjunction of terms that stay, a sum of any.
  std::optional<Collapsed> ofTwo(mlir::Operation *op, mlir::Type type) {
    auto left = (*this)(op->getOperand(0)), right = left ? (*this)(op->getOperand(1)) : std::nullopt;
    if (!right || (!mlir::isa<arith::AddIOp>(op) && left->ramps + right->ramps > 0))
      return std::nullopt;
    return Collapsed{again(op, {left->value, right->value}, type), left->ramps + right->ramps};
  }

  Session &session_;
  mlir::OpBuilder &builder_;
};

// The sum of terms in one shape, of 64 bits where there are several: each was added to an address on its own.
Tensor sumOf(Session &session, llvm::ArrayRef<IrValue> terms, llvm::ArrayRef<int64_t> shape) {
  auto tensorOf = [&](IrValue term) {
    unsigned bits = tile::elementType(term.getType()).getIntOrFloatBitWidth();
    DType type = bits == 8 ? DType::I8 : bits == 16 ? DType::I16 : bits == 32 ? DType::I32 : DType::I64;
    return Tensor{term, Type{type}.withShape(shape)};
  };
  if (terms.empty())
    return literalTile(session, makeInt(0), DType::I32, shape);
  Tensor sum = tensorOf(terms[0]);
  if (terms.size() == 1)
    return bitWidth(sum.type.element) < 32 ? *cast(session, sum, DType::I32) : sum;
  sum = *cast(session, sum, DType::I64);
  for (IrValue term : terms.drop_front())
    sum = emit<arith::AddIOp>(session, sum.type, sum.value, cast(session, tensorOf(term), DType::I64)->value);
  return sum;
}

// The elements before a run of consecutive ones along the last dimension, where the offsets are such a run.
std::optional<Tensor> startOfRun(Session &session, const Address &address, llvm::ArrayRef<int64_t> shape) {
  if (shape.empty() || shape.back() % 8 != 0)
    return std::nullopt;
  Collapse collapse(session);
  llvm::SmallVector<IrValue> starts;
  int ramps = 0;
  for (IrValue offset : address.offsets) {
    auto collapsed = collapse(offset);
    if (!collapsed)
      return std::nullopt;
    starts.push_back(collapsed->value);
    ramps += collapsed->ramps;
  }
  if (ramps != 1)
    return std::nullopt;
  Shape narrow(shape);
  narrow.back() = 1;
  return sumOf(session, starts, narrow);
}

// The mask of rows, where it is the same all along each.
std::optional<Tensor> maskOfRows(Session &session, const Tensor &mask) {
  auto collapsed = Collapse(session)(mask.value);
  if (!collapsed || collapsed->ramps != 0)
    return std::nullopt;
  Shape narrow(mask.type.shape);
  narrow.back() = 1;
  return Tensor{collapsed->value, mask.type.withShape(narrow)};
}

// A power of two, at most 8, that divides every element: from constants, and from what is known or promised
// of arguments.
int64_t divisorOf(IrValue value) {
  constexpr int64_t most = 8;
  auto atMost = [&](int64_t known) { return known == 0 ? most : std::min(most, known & -known); };
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    mlir::Operation *owner = argument.getOwner()->getParentOp();
    if (auto function = mlir::dyn_cast<tile::FuncOp>(owner)) {
      auto known = function.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), "tt.divisibility");
      return known ? atMost(known.getInt()) : 1;
    }
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(owner);
    return loop && argument == loop.getInductionVar()
               ? std::min(divisorOf(loop.getLowerBound()), divisorOf(loop.getStep()))
               : 1;
  }
  mlir::Operation *op = value.getDefiningOp();
  auto promise = op->getAttrOfType<mlir::DenseI64ArrayAttr>("tt.divisibility");
  if (promise &&
      !mlir::isa<mlir::ShapedType>(value.getType())) // of a tile it is that of the first of each run
    return atMost(promise[0]);
  llvm::APInt constant;
  if (mlir::matchPattern(value, mlir::m_ConstantInt(&constant)))
    return atMost(constant.getSExtValue());
  if (mlir::isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp, arith::ExtSIOp,
                arith::ExtUIOp>(op))
    return divisorOf(op->getOperand(0));
  if (mlir::isa<arith::AddIOp, arith::SubIOp>(op))
    return std::min(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  if (mlir::isa<arith::MulIOp>(op))
    return std::min(most, divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1)));
  return 1;
}

} // namespace

std::optional<Tensor> loadPacked(Call &call, const Tensor &pointer, const std::optional<Tensor> &mask,
                                 const std::optional<Tensor> &other, std::string_view cache,
                                 std::string_view eviction) {
  Session &session = call.session;
  const DType element = pointer.type.element;
  const auto address = addressOf(session.builder, pointer.value);
  if (!address)
    return call.fail(diag::Kind::PackedPointer, {std::string(name(element))});
  const Type bytes{DType::U8, true, pointer.type.isConst};
  auto *context = session.builder.getContext();
  const Tensor base = emit<tile::BitcastOp>(session, bytes, lower(bytes, context), address->base);
  const Shape &shape = pointer.type.shape;
  auto place = startOfRun(session, *address, shape);
  const bool isRun = place.has_value();
  auto maskOf = mask;
  bool leavesZeros = false; // where the mask is false
  if (isRun) {              // as rows
    const int64_t rows = std::accumulate(shape.begin(), shape.end() - 1, int64_t(1), std::multiplies<>());
    place = reshape(session, *place, {rows, 1});
    auto ofRows = mask ? maskOfRows(session, *mask) : std::nullopt;
    leavesZeros = ofRows.has_value();
    if (ofRows)
      maskOf = reshape(session, *ofRows, {rows, 1});
    else if (mask)
      maskOf = reshape(session, *mask, {rows, shape.back()});
  } else {
    place = sumOf(session, address->offsets, shape);
  }
  llvm::SmallVector<Value> arguments{base, *place, maskOf ? Value(*maskOf) : Value()};
  if (isRun) {
    arguments.push_back(makeInt(shape.back()));
    arguments.push_back(Const{divisorOf(place->value) == 8});
  }
  arguments.push_back(makeInt(bitWidth(element)));
  arguments.push_back(Const{std::string(cache)});
  arguments.push_back(Const{std::string(eviction)});
  auto codes = session.functions.callFunction(*findLibraryFunction(isRun ? "load_packed_run" : "load_packed"),
                                              arguments, {});
  auto *tile = codes ? codes->tensor() : nullptr;
  if (!tile)
    return std::nullopt;
  const Tensor code = reshape(session, *tile, shape);
  const Value decode[] = {code, makeInt(bitWidth(element)), Const{isSigned(element)}};
  auto values = isFloat(element)
                    ? session.functions.callFunction(*findLibraryFunction("scaled_fp4_as_bf16"),
                                                     std::span(decode).first(1), {})
                    : session.functions.callFunction(*findLibraryFunction("decode_packed"), decode, {});
  auto value = values ? toTensor(session, *values) : std::nullopt;
  value = value ? cast(session, *value, unpackedType(element)) : std::nullopt;
  bool wantsZeros = !other || mlir::matchPattern(other->value, mlir::m_Zero()) ||
                    mlir::matchPattern(other->value, mlir::m_PosZeroFloat());
  if (!value || !mask || (leavesZeros && wantsZeros))
    return value;
  const Tensor rest = other ? *other : literalTile(session, makeInt(0), value->type.element, shape);
  return emit<arith::SelectOp>(session, value->type, mask->value, value->value, rest.value);
}

} // namespace tegula::sema::builtins

namespace tegula::sema {

std::optional<PackedPlace> packedPlaceOf(Session &session, const Tensor &pointer) {
  auto address = builtins::addressOf(session.builder, pointer.value);
  if (!address)
    return std::nullopt;
  return PackedPlace{address->base, builtins::sumOf(session, address->offsets, pointer.type.shape)};
}

} // namespace tegula::sema
