// Numbers, shapes and comparisons: the steps under all builtins.
#include "sema/builtins/Emit.h"
#include "base/ByteFloat.h"

namespace tegula::sema {

using namespace builtins;

namespace {

// An integer or a float; far beyond what an 8-bit float holds, no digit counts.
double asDouble(const Const &number) {
  if (auto *real = std::get_if<double>(&number.value))
    return *real;
  return std::get<llvm::APInt>(number.value).signedRoundToDouble();
}

mlir::TypedAttr numberAttribute(const Const &number, DType type, mlir::MLIRContext *context) {
  mlir::Type lowered = lower(Type{type}, context);
  if (auto *flag = std::get_if<bool>(&number.value))
    return numberAttribute({llvm::APInt(2, *flag)}, type, context);
  if (!isFloat(type)) {
    if (auto *integer = std::get_if<llvm::APInt>(&number.value))
      return mlir::IntegerAttr::get(lowered, integer->sextOrTrunc(bitWidth(type)));
    llvm::APSInt truncated(bitWidth(type), !isSigned(type));
    bool exact;
    llvm::APFloat(std::get<double>(number.value))
        .convertToInteger(truncated, llvm::APFloat::rmTowardZero, &exact);
    return mlir::IntegerAttr::get(lowered, truncated);
  }
  if (isByteFloat(type)) {
    const llvm::APInt bits(8, byteFloatBits(asDouble(number), type));
    if (isFloatInByte(type))
      return mlir::IntegerAttr::get(lowered, bits);
    const auto &semantics = llvm::cast<mlir::FloatType>(lowered).getFloatSemantics();
    return mlir::FloatAttr::get(lowered, llvm::APFloat(semantics, bits));
  }
  const auto &semantics = llvm::cast<mlir::FloatType>(lowered).getFloatSemantics();
  llvm::APFloat value(semantics);
  bool losesInfo;
  if (auto *integer = std::get_if<llvm::APInt>(&number.value)) {
    value.convertFromAPInt(*integer, /*IsSigned=*/true, llvm::APFloat::rmNearestTiesToEven);
  } else {
    value = llvm::APFloat(std::get<double>(number.value));
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  }
  return mlir::FloatAttr::get(lowered, value);
}

} // namespace

Tensor literal(Session &session, const Const &number, DType type) {
  return literalTile(session, number, type, {});
}

std::optional<Tensor> toTensor(Session &session, const Value &value) {
  if (auto *tensor = value.tensor())
    return *tensor;
  const Const *constant = value.constant();
  if (!constant || !isNumber(*constant))
    return session.fail(diag::Kind::NotATensor, {describe(value)});
  if (std::holds_alternative<bool>(constant->value))
    return literal(session, *constant, DType::I1);
  if (auto *number = std::get_if<double>(&constant->value))
    return literal(session, *constant, typeOfFloat(*number));
  if (auto type = typeOfInteger(std::get<llvm::APInt>(constant->value)))
    return literal(session, *constant, *type);
  return session.fail(diag::Kind::NonrepresentableInteger, {repr(*constant)});
}

namespace builtins {

bool isNumber(const Const &value) {
  return std::holds_alternative<bool>(value.value) || std::holds_alternative<llvm::APInt>(value.value) ||
         std::holds_alternative<double>(value.value);
}
bool isNumber(const Value &value) { return value.constant() && isNumber(*value.constant()); }

Const makeTuple(llvm::ArrayRef<int64_t> extents) {
  auto tuple = std::make_shared<ConstTuple>();
  for (int64_t extent : extents)
    tuple->push_back(makeInt(extent));
  return {std::move(tuple)};
}

Const makeType(const Type &type) {
  return {TypeRef{type.element, type.pointer, type.isConst, {type.shape.begin(), type.shape.end()}}};
}

Type typeOf(const TypeRef &type) {
  return {type.element, type.pointer, type.isConst, Shape(type.shape.begin(), type.shape.end())};
}

std::optional<std::vector<Value>> elementsOf(const Value &value) {
  if (isAggregate(value))
    return std::nullopt;
  if (auto *tuple = value.tuple())
    return *tuple;
  auto *constant = value.constant();
  auto *tuple = constant ? std::get_if<std::shared_ptr<ConstTuple>>(&constant->value) : nullptr;
  if (!tuple)
    return std::nullopt;
  std::vector<Value> elements((*tuple)->begin(), (*tuple)->end());
  for (Value &element : elements)
    element.isScalar = value.isScalar;
  return elements;
}

Value makeValueTuple(std::vector<Value> elements) {
  return std::make_shared<ValueTuple>(std::move(elements));
}

std::string describe(const Value &value) {
  if (auto *tensor = value.tensor())
    return spelling(tensor->type);
  if (auto *record = value.record())
    return spelling(record->type);
  if (const ValueTuple *tuple = value.tuple()) {
    const TupleClass *type = tuple->type.get();
    std::string text = (type ? type->name : "") + "(";
    for (size_t i = 0; i < tuple->size(); ++i)
      text += (i ? ", " : "") + (type ? type->fields[i] + "=" : "") + describe((*tuple)[i]);
    return text + (tuple->size() == 1 && !type ? ",)" : ")");
  }
  return repr(*value.constant());
}

std::string spell(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

Tensor literalTile(Session &session, const Const &number, DType type, llvm::ArrayRef<int64_t> shape) {
  mlir::MLIRContext *context = session.builder.getContext();
  mlir::TypedAttr attribute = numberAttribute(number, type, context);
  Type full = Type{type}.withShape(shape);
  if (!shape.empty())
    attribute = mlir::DenseElementsAttr::get(llvm::cast<mlir::ShapedType>(lower(full, context)),
                                             mlir::Attribute(attribute));
  return emit<mlir::arith::ConstantOp>(session, full, attribute);
}

// Shape ops fold at once where their operand is constant: constants are many.
template <class Op, class... Rest>
static Tensor emitShape(Session &session, const Type &type, mlir::Value value, Rest... rest) {
  mlir::Type lowered = lower(type, session.builder.getContext());
  return {session.builder.createOrFold<Op>(session.loc(), lowered, value, rest...), type};
}

Tensor splat(Session &session, const Tensor &scalar, llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return scalar;
  return emitShape<tile::SplatOp>(session, scalar.type.withShape(shape), scalar.value);
}

Tensor expandDims(Session &session, const Tensor &value, int64_t axis) {
  Shape shape = value.type.shape;
  shape.insert(shape.begin() + axis, 1);
  if (value.type.isScalar())
    return splat(session, value, shape);
  return emitShape<tile::ExpandDimsOp>(session, value.type.withShape(shape), value.value, uint32_t(axis));
}

Tensor reshape(Session &session, const Tensor &value, llvm::ArrayRef<int64_t> shape, bool allowReorder) {
  if (value.type.isScalar())
    return splat(session, value, shape);
  if (shape.empty()) {
    Type scalar = value.type.scalar();
    return emit<tile::UnsplatOp>(session, scalar, lower(scalar, session.builder.getContext()), value.value);
  }
  if (value.type.shape == shape)
    return value;
  return emitShape<tile::ReshapeOp>(session, value.type.withShape(shape), value.value, allowReorder);
}

Tensor transpose(Session &session, const Tensor &value, llvm::ArrayRef<int32_t> order) {
  Shape shape;
  for (int32_t source : order)
    shape.push_back(value.type.shape[source]);
  return emitShape<tile::TransOp>(session, value.type.withShape(shape), value.value, order);
}

Tensor indicesAlong(Session &session, llvm::ArrayRef<int64_t> shape, int64_t axis) {
  Type type = Type{DType::I32}.withShape(shape[axis]);
  Tensor result = emit<tile::MakeRangeOp>(session, type, lower(type, session.builder.getContext()), 0u,
                                          uint32_t(shape[axis]));
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis)
      result = expandDims(session, result, d);
  return *broadcastTo(session, result, shape);
}

bool checkRank(Session &session, size_t rank) {
  if (rank <= maxRank)
    return true;
  session.fail(diag::Kind::TileRankTooLarge, {std::to_string(rank), std::to_string(maxRank)});
  return false;
}

bool checkShape(Session &session, llvm::ArrayRef<int64_t> shape) {
  if (!checkRank(session, shape.size()))
    return false;
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent <= 0) {
      session.fail(diag::Kind::BadExtent, {spell(shape), std::to_string(extent)});
      return false;
    }
    // Each factor is at most 2^20 while the product is, so nothing overflows.
    elements *= std::min(extent, maxElements + 1);
    if (elements > maxElements) {
      session.fail(diag::Kind::TileTooLarge, {spell(shape), std::to_string(maxElements)});
      return false;
    }
  }
  return true;
}

Tensor emitCompare(Session &session, syntax::CompareOperator op, const Tensor &left, const Tensor &right) {
  using Op = syntax::CompareOperator;
  using Float = mlir::arith::CmpFPredicate;
  using Int = mlir::arith::CmpIPredicate;
  struct Row {
    Float onFloats;
    Int onSigned, onUnsigned;
  };
  // Ordered, but for !=: NaN differs from all, itself included.
  auto row = [&]() -> Row {
    switch (op) {
    case Op::Eq: return {Float::OEQ, Int::eq, Int::eq};
    case Op::Lt: return {Float::OLT, Int::slt, Int::ult};
    case Op::Le: return {Float::OLE, Int::sle, Int::ule};
    case Op::Gt: return {Float::OGT, Int::sgt, Int::ugt};
    case Op::Ge: return {Float::OGE, Int::sge, Int::uge};
    default: return {Float::UNE, Int::ne, Int::ne};
    }
  }();
  Type result = left.type.withElement(DType::I1);
  if (!isFloat(left.type.element))
    return emit<mlir::arith::CmpIOp>(session, result,
                                     isSigned(left.type.element) ? row.onSigned : row.onUnsigned, left.value,
                                     right.value);
  if (bitWidth(left.type.element) == 8)
    return emitCompare(session, op, *cast(session, left, DType::F32), *cast(session, right, DType::F32));
  return emit<mlir::arith::CmpFOp>(session, result, row.onFloats, left.value, right.value);
}

} // namespace builtins
} // namespace tegula::sema
