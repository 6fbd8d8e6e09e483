#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

#include "ir/simt/Dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/Attributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/simt/Types.cpp.inc"
#define GET_OP_CLASSES
#include "ir/simt/Ops.cpp.inc"

namespace tegula::simt {

namespace {

// `#layout`, `#layout1` in front of the module, instead of the bases at each type.
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &out) const override {
    if (!isa<LayoutAttr, SharedAttr>(attribute))
      return AliasResult::NoAlias;
    out << (isa<LayoutAttr>(attribute) ? "layout" : "shared");
    return AliasResult::FinalAlias;
  }
};

} // namespace

void SimtDialect::initialize() {
  addInterfaces<Aliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/simt/Attributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/simt/Types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/simt/Ops.cpp.inc"
      >();
}

MatrixAttr MatrixAttr::get(MLIRContext *context, llvm::StringRef name, const layout::MatrixShape &shape) {
  return get(context, name, shape.m, shape.n, shape.k, shape.elementBits, shape.isSwapped, shape.warps,
             shape.pairsRows, shape.pairsColumns, shape.pairsDepth);
}

layout::MatrixShape MatrixAttr::shape() const {
  return {.m = getM(),
          .n = getN(),
          .k = getK(),
          .elementBits = getElementBits(),
          .isSwapped = getIsSwapped(),
          .warps = getWarps(),
          .pairsRows = getPairsRows(),
          .pairsColumns = getPairsColumns(),
          .pairsDepth = getPairsDepth()};
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const layout::Layout &layout) {
  return get(context, layout.extents(), layout.bases(layout::Axis::Register),
             layout.bases(layout::Axis::Lane), layout.bases(layout::Axis::Warp));
}

layout::Layout LayoutAttr::layout() const {
  return {getExtents().vec(),
          {getRegisters().vec(), getLanes().vec(), getWarps().vec(), std::vector<uint32_t>()}};
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(layout().text());
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  std::string text, error;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  std::optional<layout::Layout> layout = layout::Layout::parse(text, &error);
  if (!layout) {
    parser.emitError(place, error);
    return {};
  }
  return get(parser.getContext(), *layout);
}

SharedAttr SharedAttr::get(MLIRContext *context, const layout::SharedMap &map) {
  return get(context, map.images);
}

layout::SharedMap SharedAttr::map() const { return {getImages().vec()}; }

ConversionAttr ConversionAttr::get(MLIRContext *context, const layout::ConversionChoice &choice) {
  return get(context, choice.kind, choice.cost, choice.packed, choice.staysInLane, choice.map.images,
             choice.roundBits, choice.scratchBytes, choice.withinWarp);
}

layout::ConversionChoice ConversionAttr::choice() const {
  return {getKind(),           getCost(),      getPacked(),       getStaysInLane(),
          {getImages().vec()}, getRoundBits(), getScratchBytes(), getWithinWarp()};
}

void ConversionAttr::print(AsmPrinter &printer) const {
  auto end = [&] { printer << " cost " << getCost() << ">"; };
  switch (getKind()) {
  case Kind::None: printer << "<none"; return end();
  case Kind::Registers:
  case Kind::Shuffle:
    printer << (getKind() == Kind::Registers ? "<registers" : "<shuffle") << " packed " << getPacked()
            << (getStaysInLane() ? " lanes" : "");
    return end();
  case Kind::Shared:
    printer << "<shared [";
    llvm::interleaveComma(getImages(), printer.getStream());
    printer << "] rounds " << getRoundBits() << " bytes " << getScratchBytes()
            << (getWithinWarp() ? " warps" : "");
    return end();
  }
}

Attribute ConversionAttr::parse(AsmParser &parser, Type) {
  layout::ConversionChoice choice;
  StringRef way;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&way))
    return {};
  if (way == "registers" || way == "shuffle") {
    choice.kind = way == "shuffle" ? Kind::Shuffle : Kind::Registers;
    if (parser.parseKeyword("packed") || parser.parseInteger(choice.packed))
      return {};
    choice.staysInLane = succeeded(parser.parseOptionalKeyword("lanes"));
  } else if (way == "shared") {
    choice.kind = Kind::Shared;
    auto image = [&] { return parser.parseInteger(choice.map.images.emplace_back()); };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, image) ||
        parser.parseKeyword("rounds") || parser.parseInteger(choice.roundBits) ||
        parser.parseKeyword("bytes") || parser.parseInteger(choice.scratchBytes))
      return {};
    choice.withinWarp = succeeded(parser.parseOptionalKeyword("warps"));
  } else if (way != "none") {
    parser.emitError(place, "the ways of a conversion are none, registers, shuffle and shared");
    return {};
  }
  if (parser.parseKeyword("cost") || parser.parseInteger(choice.cost) || parser.parseGreater())
    return {};
  return get(parser.getContext(), choice);
}

// `!simt.buffer<64x32xf16, #shared, 3>`
void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t extent : getShape())
    printer << extent << "x";
  printer << getElementType() << ", " << getMap() << ", " << getSlots() << ">";
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SharedAttr map;
  int64_t slots;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma() || parser.parseAttribute(map) || parser.parseComma() ||
      parser.parseInteger(slots) || parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, element, map, slots);
}

uint64_t BufferType::slotBytes() const {
  return (uint64_t(1) << getMap().getImages().size()) * storedBits(getElementType()) / 8;
}

AllocOp allocOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getBuffer();
  return buffer.getDefiningOp<AllocOp>();
}

// The tile of an access and the slot that it touches.
static LogicalResult verifySlot(Operation *op, RankedTensorType tile, Type element, BufferType buffer) {
  if (tile.getShape() != buffer.getShape() || element != buffer.getElementType())
    return op->emitOpError() << "has a tile of " << tile << " and a buffer of " << buffer;
  if (buffer.getSlots() != 1)
    return op->emitOpError("needs a view of one slot");
  if (!isa_and_nonnull<LayoutAttr>(tile.getEncoding()))
    return op->emitOpError("needs a tile with a layout");
  unsigned bits = layoutOf(tile).totalBits();
  if (buffer.getMap().getImages().size() != bits)
    return op->emitOpError() << "has a map of " << buffer.getMap().getImages().size()
                             << " bits for coordinates of " << bits;
  return success();
}

LogicalResult ConvertOp::verify() {
  auto isLaidOut = [](Type type) {
    return isa_and_nonnull<LayoutAttr>(cast<RankedTensorType>(type).getEncoding());
  };
  if (!isLaidOut(getValue().getType()) || !isLaidOut(getResult().getType()))
    return emitOpError("converts between tiles with layouts");
  if (getPlan() && !layout::planAsChosen(getPlan()->choice(), layoutOf(getValue()), layoutOf(getResult()),
                                         storedBits(tile::elementType(getType()))))
    return emitOpError() << "cannot go by " << *getPlan() << " from one layout into the other";
  return success();
}

LogicalResult PieceOp::verify() {
  auto whole = cast<RankedTensorType>(getValue().getType()), piece = cast<RankedTensorType>(getType());
  if (!isa_and_nonnull<LayoutAttr>(whole.getEncoding()) || !isa_and_nonnull<LayoutAttr>(piece.getEncoding()))
    return emitOpError("takes a piece of a tile with a layout");
  if (getDim() < 0 || getDim() >= whole.getRank() || whole.getRank() != piece.getRank())
    return emitOpError() << "has no dimension " << getDim();
  int64_t count = whole.getDimSize(getDim()) / piece.getDimSize(getDim());
  auto expected = llvm::isPowerOf2_64(uint64_t(count))
                      ? layoutOf(whole).piece(unsigned(getDim()), llvm::Log2_64(uint64_t(count)))
                      : std::nullopt;
  if (!expected || *expected != layoutOf(piece) || getIndex() < 0 || getIndex() >= count)
    return emitOpError() << "does not give a piece of " << whole;
  return success();
}

LogicalResult ViewOp::verify() {
  auto from = getBuffer().getType(), to = getResult().getType();
  if (to.getSlots() != 1 || from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType() || from.getMap() != to.getMap())
    return emitOpError() << "does not give one slot of " << from;
  return success();
}

LogicalResult LocalStoreOp::verify() {
  auto tile = cast<RankedTensorType>(getValue().getType());
  return verifySlot(*this, tile, tile.getElementType(), getBuffer().getType());
}

LogicalResult LocalLoadOp::verify() {
  auto tile = cast<RankedTensorType>(getResult().getType());
  return verifySlot(*this, tile, tile.getElementType(), getBuffer().getType());
}

LogicalResult AsyncCopyOp::verify() {
  auto tile = cast<RankedTensorType>(getPointers().getType());
  auto pointer = dyn_cast<tile::PointerType>(tile.getElementType());
  if (!pointer)
    return emitOpError("copies from a tile of pointers");
  if (getMask() && cast<RankedTensorType>(getMask().getType()).getEncoding() != tile.getEncoding())
    return emitOpError("has a mask in another layout");
  if (!getElement().empty()) {
    Block &block = getElement().front();
    auto element = dyn_cast<ElementOp>(block.empty() ? nullptr : &block.back());
    if (!element || int64_t(block.getNumArguments()) != tile.getRank() ||
        !llvm::all_of(block.getArgumentTypes(), [](Type type) { return type.isInteger(32); }))
      return emitOpError("computes an element of its coordinates, and ends with simt.element");
    if (element.getPointer().getType() != pointer || bool(element.getMask()) != bool(getMask()))
      return emitOpError("computes another element than its tiles have");
  }
  return verifySlot(*this, tile, pointer.getPointee(), getBuffer().getType());
}

LogicalResult DotAsyncOp::verify() {
  if (bool(getA()) == bool(getABuffer()))
    return emitOpError("has its first operand in registers or in a buffer");
  for (Value buffer : {getABuffer(), getB()})
    if (buffer && cast<BufferType>(buffer.getType()).getSlots() != 1)
      return emitOpError("needs a view of one slot");
  if (getAcc() && getAcc().getType() != getResult().getType())
    return emitOpError("adds to a tile in another layout");
  return success();
}

void loadDialects(MLIRContext &context) {
  tile::loadDialects(context);
  context.loadDialect<SimtDialect>();
}

layout::Layout layoutOf(Type tile) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding()).layout();
}

bool isFactorOfMultiplyAdds(OpOperand &use) {
  return isa<tile::DotOp>(use.getOwner()) && !use.getOwner()->hasAttr(matrixName) &&
         use.getOperandNumber() < 2;
}

bool feedsMultiplyAdds(Value tile) {
  return llvm::any_of(tile.getUses(), [](OpOperand &use) {
    auto turn = dyn_cast<tile::TransOp>(use.getOwner());
    return turn ? feedsMultiplyAdds(turn.getResult()) : isFactorOfMultiplyAdds(use);
  });
}

RankedTensorType withLayout(Type tile, const layout::Layout &layout) {
  auto tensor = cast<RankedTensorType>(tile);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(tile.getContext(), layout));
}

std::optional<layout::Layout> operandLayout(Operation *view, const layout::Layout &result) {
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(view))
    return result.sliced(expand.getAxis());
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(view)) {
    layout::Layout read = result;
    auto from = tile::shapeOf(broadcast.getValue().getType()), to = tile::shapeOf(broadcast.getType());
    for (unsigned d = 0; d != from.size(); ++d)
      if (from[d] != to[d])
        read = read.narrowed(d);
    return read;
  }
  if (auto trans = dyn_cast<tile::TransOp>(view)) {
    std::vector<int32_t> inverse(trans.getOrder().size());
    for (auto [to, from] : llvm::enumerate(trans.getOrder()))
      inverse[from] = int32_t(to);
    return result.transposed(inverse);
  }
  if (isa<tile::ReshapeOp>(view))
    return result.reshaped(tile::shapeOf(view->getOperand(0).getType()).vec());
  return std::nullopt;
}

std::vector<CopyMap> copyMapsOf(ModuleOp module) {
  std::vector<CopyMap> maps;
  auto all = module->getAttrOfType<ArrayAttr>(copyMapsName);
  for (Attribute each : all ? all.getValue() : ArrayRef<Attribute>()) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(each).asArrayRef();
    maps.push_back({uint32_t(numbers[0]), int32_t(numbers[1]), numbers[2] != 0, numbers[3],
                    uint32_t(numbers[4]), uint32_t(numbers[5]), uint32_t(numbers[6]), uint32_t(numbers[7]),
                    uint32_t(numbers[8])});
  }
  return maps;
}

uint32_t addCopyMap(ModuleOp module, const CopyMap &map) {
  std::vector<CopyMap> maps = copyMapsOf(module);
  auto known = llvm::find(maps, map);
  if (known != maps.end())
    return uint32_t(known - maps.begin());
  SmallVector<Attribute> all;
  if (auto before = module->getAttrOfType<ArrayAttr>(copyMapsName))
    all.append(before.begin(), before.end());
  all.push_back(DenseI64ArrayAttr::get(module.getContext(), {map.pointer, map.strideOf, map.isNarrow,
                                                             map.strideScale, map.elementBytes, map.columns,
                                                             map.rows, map.boxColumns, map.boxRows}));
  module->setAttr(copyMapsName, ArrayAttr::get(module.getContext(), all));
  return uint32_t(maps.size());
}

bool hasProductLoop(Operation *op) {
  return op
      ->walk([op](DotAsyncOp dot) {
        auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
        return loop && op->isAncestor(loop) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isAroundProducts(Operation *op) {
  auto around = dyn_cast<scf::ForOp>(op);
  return around && llvm::any_of(*around.getBody(), [](Operation &inner) { return hasProductLoop(&inner); });
}

unsigned warpsOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return unsigned(module->getAttrOfType<IntegerAttr>(warpsName).getInt());
}

} // namespace tegula::simt
