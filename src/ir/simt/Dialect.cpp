#include "ir/simt/Simt.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "ir/simt/Dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/Attributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/simt/Ops.cpp.inc"

namespace tegula::simt {

namespace {

// `#layout`, `#layout1` in front of the module, instead of the bases at each type.
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &out) const override {
    if (!isa<LayoutAttr>(attribute))
      return AliasResult::NoAlias;
    out << "layout";
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
  addOperations<
#define GET_OP_LIST
#include "ir/simt/Ops.cpp.inc"
      >();
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const layout::Layout &layout) {
  return get(context, layout.extents(), layout.bases(layout::Axis::Register), layout.bases(layout::Axis::Lane),
             layout.bases(layout::Axis::Warp));
}

layout::Layout LayoutAttr::layout() const {
  return {getExtents().vec(), {getRegisters().vec(), getLanes().vec(), getWarps().vec(), std::vector<uint32_t>()}};
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

void loadDialects(MLIRContext &context) {
  tile::loadDialects(context);
  context.loadDialect<SimtDialect>();
}

layout::Layout layoutOf(Type tile) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding()).layout();
}

RankedTensorType withLayout(Type tile, const layout::Layout &layout) {
  auto tensor = cast<RankedTensorType>(tile);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(), LayoutAttr::get(tile.getContext(), layout));
}

unsigned warpsOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return unsigned(module->getAttrOfType<IntegerAttr>(warpsName).getInt());
}

} // namespace tegula::simt
