// Verifiers, effects and the textual form of tt.func.
#include "ir/tile/InlineAssembly.h"
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
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
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

LogicalResult DirectedOp::verify() {
  size_t arity = getKind() == DirectedKind::Fma ? 3 : getKind() == DirectedKind::Sqrt ? 1 : 2;
  if (getOperands().size() != arity)
    return emitOpError() << stringifyDirectedKind(getKind()) << " takes " << arity << " operands";
  Type element = elementType(getType());
  return element.isF32() || element.isF64() ? success() : emitOpError("only of f32 and f64");
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

// Shape and element; a target may have put a layout beside them.
static bool isTileOf(Type type, ArrayRef<int64_t> shape, Type element) {
  return shapeOf(type) == shape && elementType(type) == element;
}

LogicalResult JoinOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getLhs().getType()));
  expected.push_back(2);
  return isTileOf(getType(), expected, elementType(getLhs().getType()))
             ? success()
             : emitOpError("the result must add a last dimension of 2 and keep the element");
}

LogicalResult CatOp::verify() {
  auto left = shapeOf(getLhs().getType()), right = shapeOf(getRhs().getType());
  size_t axis = getAxis();
  if (left.size() != right.size() || axis >= left.size())
    return emitOpError("the operands must have one rank, and `axis` must be within");
  SmallVector<int64_t> expected(left);
  expected[axis] += right[axis];
  for (auto [d, extent] : llvm::enumerate(right))
    if (d != axis && extent != left[d])
      return emitOpError("the operands must agree but along `axis`");
  Type element = elementType(getLhs().getType());
  return elementType(getRhs().getType()) == element && isTileOf(getType(), expected, element)
             ? success()
             : emitOpError("the result must have the operands' element and both extents along `axis`");
}

LogicalResult GatherOp::verify() {
  auto source = shapeOf(getSource().getType()), indices = shapeOf(getIndices().getType());
  if (source.size() != indices.size() || getAxis() >= source.size())
    return emitOpError("source and indices must have one rank, and `axis` must be within");
  for (auto [d, extent] : llvm::enumerate(source))
    if (d != getAxis() && extent != indices[d])
      return emitOpError("source and indices must agree but along `axis`");
  return isTileOf(getType(), indices, elementType(getSource().getType()))
             ? success()
             : emitOpError("the result must have the indices' shape and the source's element");
}

LogicalResult SplitOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getLhs().getType()));
  expected.push_back(2);
  return isTileOf(getValue().getType(), expected, elementType(getLhs().getType()))
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

// ---- Atomic -----------------------------------------------------------------------------

static bool fitsAtomic(AtomicKind kind, Type element) {
  if (kind == AtomicKind::FAdd)
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 16;
  unsigned bits = isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  return (kind == AtomicKind::Exch || isa<IntegerType>(element)) && bits >= 32;
}

LogicalResult AtomicRMWOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError("value and result must have one type");
  if (!fitsAtomic(getKind(), elementType(getType())))
    return emitOpError("no ") << stringifyEnum(getKind()) << " of " << elementType(getType());
  return verifyAccess(*this, getPtr().getType(), getType(), getMask());
}

LogicalResult AtomicCASOp::verify() {
  Type element = elementType(getType());
  if ((isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth()) < 16)
    return emitOpError("elements must have 16, 32 or 64 bits");
  return verifyAccess(*this, getPtr().getType(), getType(), Value());
}

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

// The order that `sem` asks for concerns all memory, so the effects name no value.
static void readAndWrite(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void AtomicRMWOp::getEffects(Effects &effects) { readAndWrite(effects); }
void AtomicCASOp::getEffects(Effects &effects) { readAndWrite(effects); }

// ---- Elementwise ------------------------------------------------------------------------

// The register of each run of elements, in turn: false where `registers` do not fit, or are too few.
static bool fitRuns(ArrayRef<AsmRegister> &registers, TypeRange types, unsigned pack) {
  for (Type type : types) {
    Type element = elementType(type);
    unsigned bits = isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
    for (size_t i = 0; i != registersOfRun(bits, pack); ++i, registers = registers.drop_front())
      if (registers.empty() || !fits(registers.front(), bits, pack))
        return false;
  }
  return true;
}

LogicalResult ElementwiseInlineAsmOp::verify() {
  if (getNumResults() == 0)
    return emitOpError("needs a result");
  Result<AsmConstraints> constraints = parseAsmConstraints(getConstraints());
  if (!constraints)
    return emitOpError(constraints.status().message);
  ArrayRef<AsmRegister> outputs = constraints->outputs, inputs = constraints->inputs;
  if (Status text = checkAsmText(getAsmString(), outputs.size() + inputs.size()); !text.ok())
    return emitOpError(text.message);
  bool fit = fitRuns(outputs, getResultTypes(), getPackedElement()) &&
             fitRuns(inputs, getOperandTypes(), getPackedElement());
  return fit && outputs.empty() && inputs.empty() ? LogicalResult(success())
                                                  : emitOpError("its constraints do not fit its types");
}

void ElementwiseInlineAsmOp::getEffects(Effects &effects) {
  if (!getPure())
    readAndWrite(effects);
}

LogicalResult ExternElementwiseOp::verify() {
  if (getOperands().empty())
    return emitOpError("needs an operand");
  return getSymbol().empty() || getLibrary().empty() ? emitOpError("needs a symbol and a library")
                                                     : LogicalResult(success());
}

void ExternElementwiseOp::getEffects(Effects &effects) {
  if (!getPure())
    readAndWrite(effects);
}

LogicalResult BitcastOp::verify() {
  auto bits = [](Type type) -> unsigned {
    Type element = elementType(type);
    return isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  };
  return bits(getValue().getType()) == bits(getType()) ? success() : emitOpError("the widths differ");
}

// ---- Reduce, Scan -----------------------------------------------------------------------

// N operands of one shape, results of `resultShape` of it, a region of 2N scalars.
template <class Op>
static LogicalResult verifyCombining(Op op, llvm::function_ref<void(SmallVector<int64_t> &)> resultShape) {
  if (op.getOperands().empty())
    return op.emitOpError("needs an operand");
  auto shape = shapeOf(op.getOperands()[0].getType());
  if (op.getAxis() >= shape.size())
    return op.emitOpError("`axis` is outside the operands' rank");
  if (shape[op.getAxis()] == 0)
    return op.emitOpError("nothing to combine: the extent along `axis` is 0");
  SmallVector<int64_t> expected(shape);
  resultShape(expected);
  size_t n = op.getOperands().size();
  Block &block = op.getCombine().front();
  if (block.getNumArguments() != 2 * n || op.getResults().size() != n)
    return op.emitOpError("N operands need 2N region arguments and N results");
  for (size_t i = 0; i < n; ++i) {
    Type operand = op.getOperands()[i].getType(), result = op.getResults()[i].getType(),
         element = elementType(operand);
    if (shapeOf(operand) != shape || shapeOf(result) != ArrayRef<int64_t>(expected) ||
        elementType(result) != element || block.getArgument(i).getType() != element ||
        block.getArgument(n + i).getType() != element)
      return op.emitOpError("operand, result and region argument ") << i << " do not fit";
  }
  return success();
}

static LogicalResult verifyCombined(Operation *op) {
  auto expected = llvm::map_range(op->getParentOp()->getOperands(),
                                  [](Value operand) { return elementType(operand.getType()); });
  return llvm::equal(expected, op->getOperandTypes())
             ? success()
             : op->emitOpError("must give one scalar of each operand's element type");
}

LogicalResult ReduceOp::verify() {
  return verifyCombining(*this, [&](SmallVector<int64_t> &shape) { shape.erase(shape.begin() + getAxis()); });
}

LogicalResult ReduceReturnOp::verify() { return verifyCombined(*this); }

LogicalResult ScanOp::verify() {
  return verifyCombining(*this, [](SmallVector<int64_t> &) {});
}

LogicalResult ScanReturnOp::verify() { return verifyCombined(*this); }

LogicalResult HistogramOp::verify() {
  if (shapeOf(getSource().getType()).size() != 1 || shapeOf(getType()).size() != 1)
    return emitOpError("source and result must be 1-D");
  if (getMask() && shapeOf(getMask().getType()) != shapeOf(getSource().getType()))
    return emitOpError("source and mask differ in shape");
  return elementType(getType()).isInteger(32) ? success() : emitOpError("a bin is an i32");
}

// ---- Debug ------------------------------------------------------------------------------

LogicalResult PrintOp::verify() {
  return getIsSigned().size() == getOperands().size()
             ? success()
             : emitOpError("`isSigned` must have one entry for each operand");
}

// ---- Dot --------------------------------------------------------------------------------

LogicalResult DotOp::verify() {
  auto a = shapeOf(getA().getType()), b = shapeOf(getB().getType()), c = shapeOf(getAcc().getType());
  size_t r = a.size();
  if (r < 2 || r > 3 || b.size() != r || c.size() != r)
    return emitOpError("operands must be 2-D, or 3-D with a batch");
  if (a[r - 1] != b[r - 2] || a[r - 2] != c[r - 2] || b[r - 1] != c[r - 1] ||
      (r == 3 && (a[0] != b[0] || a[0] != c[0])))
    return emitOpError("shapes must be [M,K] x [K,N] + [M,N]");
  auto isFloat = [](Value value) { return isa<FloatType>(elementType(value.getType())); };
  if (isFloat(getA()) != isFloat(getAcc()) || isFloat(getB()) != isFloat(getAcc()))
    return emitOpError("operands must be all floats or all integers");
  return success();
}
