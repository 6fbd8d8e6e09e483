// Verifiers, effects and the textual form of tt.func.
#include "ir/tile/Tile.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tegula::tile;

#define GET_OP_CLASSES
#include "ir/tile/Ops.cpp.inc"

// ---- Control ----------------------------------------------------------------------------

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name),
                                                  getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult FuncOp::verify() {
  if (getFunctionType().getNumResults() != 0)
    return emitOpError("a kernel returns nothing");
  for (Type type : getArgumentTypes())
    if (isa<ShapedType>(type))
      return emitOpError("the parameters of a kernel are scalars");
  if (!isExternal() && !getBody().hasOneBlock())
    return emitOpError("the body must be one block");
  return success();
}

// ---- Indexing ---------------------------------------------------------------------------

LogicalResult MakeRangeOp::verify() {
  auto shape = shapeOf(getType());
  if (shape.size() != 1 || shape[0] != int64_t(int32_t(getEnd())) - int32_t(getStart()))
    return emitOpError("the result must be 1-D with end - start elements");
  return elementType(getType()).isInteger(32) ? success() : emitOpError("the elements must be i32");
}

LogicalResult PtrToIntOp::verify() {
  return elementType(getType()).isInteger(64) ? success() : emitOpError("an address is an i64");
}

LogicalResult IntToPtrOp::verify() {
  return elementType(getValue().getType()).isInteger(64) ? success() : emitOpError("an address is an i64");
}

// ---- Shape ------------------------------------------------------------------------------

LogicalResult SplatOp::verify() {
  return elementType(getType()) == getValue().getType() ? success()
                                                        : emitOpError("element and scalar differ in type");
}

LogicalResult UnsplatOp::verify() {
  auto type = cast<RankedTensorType>(getValue().getType());
  if (type.getNumElements() != 1)
    return emitOpError("the operand must have one element");
  return type.getElementType() == getType() ? success() : emitOpError("element and scalar differ in type");
}

LogicalResult ExpandDimsOp::verify() {
  auto from = shapeOf(getValue().getType()), to = shapeOf(getType());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= int64_t(to.size()) || to.size() != from.size() + 1 || to[axis] != 1)
    return emitOpError("the result must have one more dimension, of extent 1, at `axis`");
  SmallVector<int64_t> expected(from);
  expected.insert(expected.begin() + axis, 1);
  if (ArrayRef<int64_t>(expected) != to || elementType(getType()) != elementType(getValue().getType()))
    return emitOpError("the other dimensions and the element must stay");
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto from = shapeOf(getValue().getType()), to = shapeOf(getType());
  if (from.size() != to.size() || elementType(getType()) != elementType(getValue().getType()))
    return emitOpError("rank and element must stay");
  for (auto [f, t] : llvm::zip(from, to))
    if (f != t && f != 1)
      return emitOpError("only dimensions of extent 1 can be repeated");
  return success();
}

LogicalResult TransOp::verify() {
  auto from = shapeOf(getValue().getType()), to = shapeOf(getType());
  auto order = getOrder();
  if (order.size() != from.size() || to.size() != from.size() ||
      elementType(getType()) != elementType(getValue().getType()))
    return emitOpError("rank and element must stay");
  SmallVector<bool> seen(order.size());
  for (auto [d, source] : llvm::enumerate(order)) {
    if (source < 0 || source >= int64_t(order.size()) || seen[source] || to[d] != from[source])
      return emitOpError("`order` must be the permutation that gives the result's shape");
    seen[source] = true;
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto from = cast<RankedTensorType>(getValue().getType()), to = cast<RankedTensorType>(getType());
  if (from.getNumElements() != to.getNumElements() || from.getElementType() != to.getElementType())
    return emitOpError("the number of elements and the element must stay");
  return success();
}

LogicalResult JoinOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getLhs().getType()));
  expected.push_back(2);
  return getType() == RankedTensorType::get(expected, elementType(getLhs().getType()))
             ? success()
             : emitOpError("the result must add a last dimension of 2 and keep the element");
}

LogicalResult SplitOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getLhs().getType()));
  expected.push_back(2);
  return getValue().getType() == RankedTensorType::get(expected, elementType(getLhs().getType()))
             ? success()
             : emitOpError("the operand must have the results' type and a last dimension of 2");
}

// ---- Memory -----------------------------------------------------------------------------

static LogicalResult verifyAccess(Operation *op, Type pointer, Type value, Value mask) {
  auto pointee = cast<PointerType>(elementType(pointer)).getPointee();
  if (elementType(value) != pointee || shapeOf(value) != shapeOf(pointer))
    return op->emitOpError("pointer and value differ in element or shape");
  if (mask && shapeOf(mask.getType()) != shapeOf(pointer))
    return op->emitOpError("pointer and mask differ in shape");
  return success();
}

LogicalResult LoadOp::verify() {
  if (getOther() && getOther().getType() != getType())
    return emitOpError("`other` must have the type of the result");
  if (getOther() && !getMask())
    return emitOpError("`other` needs a mask");
  return verifyAccess(*this, getPtr().getType(), getType(), getMask());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getPtr().getType(), getValue().getType(), getMask());
}

void LoadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getPtrMutable());
  if (getIsVolatile())
    effects.emplace_back(MemoryEffects::Write::get());
}

void StoreOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getPtrMutable());
}

// ---- Elementwise ------------------------------------------------------------------------

LogicalResult BitcastOp::verify() {
  auto bits = [](Type type) -> unsigned {
    Type element = elementType(type);
    return isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  };
  return bits(getValue().getType()) == bits(getType()) ? success() : emitOpError("the widths differ");
}

// ---- Reduce -----------------------------------------------------------------------------

LogicalResult ReduceOp::verify() {
  if (getOperands().empty())
    return emitOpError("needs an operand");
  auto shape = shapeOf(getOperands()[0].getType());
  if (getAxis() >= shape.size())
    return emitOpError("`axis` is outside the operands' rank");
  if (shape[getAxis()] == 0)
    return emitOpError("nothing to combine: the extent along `axis` is 0");
  SmallVector<int64_t> reduced(shape);
  reduced.erase(reduced.begin() + getAxis());
  size_t n = getOperands().size();
  Block &block = getCombine().front();
  if (block.getNumArguments() != 2 * n || getResults().size() != n)
    return emitOpError("N operands need 2N region arguments and N results");
  for (size_t i = 0; i < n; ++i) {
    Type element = elementType(getOperands()[i].getType());
    if (shapeOf(getOperands()[i].getType()) != shape || shapeOf(getResults()[i].getType()) != ArrayRef<int64_t>(reduced) ||
        elementType(getResults()[i].getType()) != element || block.getArgument(i).getType() != element ||
        block.getArgument(n + i).getType() != element)
      return emitOpError("operand, result and region argument ") << i << " do not fit";
  }
  return success();
}

LogicalResult ReduceReturnOp::verify() {
  auto expected = llvm::map_range((*this)->getParentOp()->getOperands(),
                                  [](Value operand) { return elementType(operand.getType()); });
  return llvm::equal(expected, getOperandTypes()) ? success()
                                                  : emitOpError("must give one scalar of each operand's element type");
}

// ---- Dot --------------------------------------------------------------------------------

LogicalResult DotOp::verify() {
  auto a = shapeOf(getA().getType()), b = shapeOf(getB().getType()), c = shapeOf(getAcc().getType());
  size_t r = a.size();
  if (r < 2 || r > 3 || b.size() != r || c.size() != r)
    return emitOpError("operands must be 2-D, or 3-D with a batch");
  if (a[r - 1] != b[r - 2] || a[r - 2] != c[r - 2] || b[r - 1] != c[r - 1] || (r == 3 && (a[0] != b[0] || a[0] != c[0])))
    return emitOpError("shapes must be [M,K] x [K,N] + [M,N]");
  auto isFloat = [](Value value) { return isa<FloatType>(elementType(value.getType())); };
  if (isFloat(getA()) != isFloat(getAcc()) || isFloat(getB()) != isFloat(getAcc()))
    return emitOpError("operands must be all floats or all integers");
  return success();
}
