// The dialect's registration and the questions every reader of tiles asks.
#include "ir/tile/Tile.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/tile/Dialect.cpp.inc"
#include "ir/tile/Enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/Attributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/Types.cpp.inc"

namespace tegula::tile {

namespace {

struct Version : DialectVersion {
  explicit Version(uint64_t number) : number(number) {}
  uint64_t number;
};

// Stored modules carry the version of the dialect's meaning; a newer one is refused.
struct BytecodeVersion : BytecodeDialectInterface {
  explicit BytecodeVersion(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override { writer.writeVarInt(dialectVersion); }

  std::unique_ptr<DialectVersion> readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number > dialectVersion) {
      reader.emitError() << "the module has version " << number
                         << " of the tile dialect; this Tegula reads up to " << dialectVersion;
      return nullptr;
    }
    return std::make_unique<Version>(number);
  }
};

} // namespace

void TileDialect::initialize() {
  addInterfaces<BytecodeVersion>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tile/Types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/tile/Ops.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

void loadDialects(MLIRContext &context) {
  context.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
}

std::unique_ptr<MLIRContext> makeContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->disableMultithreading();
  loadDialects(*context);
  return context;
}

bool isTile(Type type) { return isa<RankedTensorType>(type); }
bool isTile(Value value) { return value && isTile(value.getType()); }
bool hasTile(ValueRange values) {
  return llvm::any_of(values, [](Value value) { return isTile(value); });
}

Type elementType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

llvm::ArrayRef<int64_t> shapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}

Type withElement(Type like, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(like);
  return tensor ? Type(tensor.clone(element)) : element;
}

std::string locationText(Location location) {
  FileLineColLoc at;
  auto isOfLibrary = [](FileLineColLoc line) {
    return line.getFilename().getValue().starts_with("<tegula>/");
  };
  location->walk([&](Location part) { // a callee before its caller
    auto line = dyn_cast<FileLineColLoc>(LocationAttr(part));
    if (!line)
      return WalkResult::advance();
    if (!at || isOfLibrary(at))
      at = line;
    return isOfLibrary(at) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!at)
    return {};
  return (at.getFilename().getValue() + ":" + Twine(at.getLine()) + ":" + Twine(at.getColumn())).str();
}

} // namespace tegula::tile
