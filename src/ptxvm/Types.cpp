// The table of types as arrays.
#include "ptxvm/Types.h"

namespace tegula::ptxvm {
namespace {

struct Row {
  std::string_view name;
  unsigned bits;
  TypeKind kind;
};
constexpr Row rows[] = {
    {"", 0, TypeKind::None},
#define PTX_TYPE(Enum, text, bits, kind) {text, bits, TypeKind::kind},
#include "ptxvm/Types.def"
#undef PTX_TYPE
};

} // namespace

std::string_view name(Type type) { return rows[size_t(type)].name; }
unsigned bitWidth(Type type) { return rows[size_t(type)].bits; }
TypeKind kind(Type type) { return rows[size_t(type)].kind; }

std::optional<Type> typeFromName(std::string_view name) {
  for (size_t i = 1; i < std::size(rows); ++i)
    if (rows[i].name == name)
      return Type(i);
  return std::nullopt;
}

} // namespace tegula::ptxvm
