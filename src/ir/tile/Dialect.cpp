// The dialect's registration and the questions every reader of tiles asks.
#include "ir/tile/Tile.h"

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

void TileDialect::initialize() {
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
  return tensor ? Type(RankedTensorType::get(tensor.getShape(), element)) : element;
}

} // namespace tegula::tile
