// sema::Type in text.
#include "sema/Value.h"

namespace tegula::sema {

std::string spelling(const Type &type) {
  std::string element(name(type.element));
  if (type.pointer)
    element = (type.isConst ? "const_pointer<" : "pointer<") + element + ">";
  if (type.shape.empty())
    return element;
  std::string extents;
  for (int64_t extent : type.shape)
    extents += (extents.empty() ? "'" : ", '") + std::to_string(extent) + "'";
  return "<[" + extents + "], " + element + ">";
}

std::string spelling(const RecordType &type) {
  std::string tile = spelling(type.tile.withElement(type.tile.element));
  bool isPointer = type.kind == TypeRef::BlockPointer;
  return (isPointer ? type.tile.isConst ? "const_pointer<" : "pointer<" : "tensor_descriptor<") + tile + ">";
}

} // namespace tegula::sema
