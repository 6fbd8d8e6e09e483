// sema::Type in IR. Signedness ends here: the IR is signless, and a pointer to bools is a pointer to bytes.
#include "ir/tile/Tile.h"
#include "sema/Value.h"

namespace tegula::sema {
namespace {

mlir::Type lowerElement(DType element, mlir::MLIRContext *context) {
  switch (element) {
  case DType::F16: return mlir::Float16Type::get(context);
  case DType::BF16: return mlir::BFloat16Type::get(context);
  case DType::F32: return mlir::Float32Type::get(context);
  case DType::F64: return mlir::Float64Type::get(context);
  case DType::F8E5: return mlir::Float8E5M2Type::get(context);
  case DType::F8E4NV: return mlir::Float8E4M3FNType::get(context);
  // Floats that are bytes below sema are among these.
  default: return mlir::IntegerType::get(context, bitWidth(element));
  }
}

} // namespace

mlir::Type lower(const Type &type, mlir::MLIRContext *context) {
  bool storedAsByte = type.pointer && isBool(type.element);
  mlir::Type element = lowerElement(storedAsByte ? DType::U8 : type.element, context);
  if (type.pointer)
    element = tile::PointerType::get(element);
  return type.shape.empty() ? element : mlir::RankedTensorType::get(type.shape, element);
}

} // namespace tegula::sema
