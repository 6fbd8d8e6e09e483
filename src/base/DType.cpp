#include "base/DType.h"

namespace tegula {
namespace {

struct Row {
  DType type;
  std::string_view name, signature;
  unsigned bits;
  DTypeKind kind;
};

constexpr Row rows[] = {
#define DTYPE(Enum, name, signature, bits, kind) {DType::Enum, name, signature, bits, DTypeKind::kind},
#include "base/DType.def"
#undef DTYPE
};

const Row &row(DType type) { return rows[static_cast<uint8_t>(type)]; }

} // namespace

std::string_view name(DType type) { return row(type).name; }
std::string_view signatureName(DType type) { return row(type).signature; }
unsigned bitWidth(DType type) { return row(type).bits; }
DTypeKind kind(DType type) { return row(type).kind; }

std::optional<DType> dtypeFromName(std::string_view text) {
  for (const Row &r : rows)
    if (text == r.name || text == r.signature)
      return r.type;
  // Spellings of the language (tl.float32), NumPy and PyTorch.
  constexpr std::pair<std::string_view, DType> others[] = {
      {"bool", DType::I1},
      {"float16", DType::F16},
      {"half", DType::F16},
      {"bfloat16", DType::BF16},
      {"float32", DType::F32},
      {"float", DType::F32},
      {"float64", DType::F64},
      {"double", DType::F64},
      {"u1", DType::I1},
      {"fp8e5m2", DType::F8E5},
      {"float8e5", DType::F8E5},
      {"float8_e5m2", DType::F8E5},
      {"float8_e4m3fn", DType::F8E4NV},
      {"fp8e4m3fn", DType::F8E4NV},
      {"float8e4nv", DType::F8E4NV},
      {"float8e4b8", DType::F8E4B8},
      {"float8_e4m3fnuz", DType::F8E4B8},
      {"float8e5b16", DType::F8E5B16},
      {"float8_e5m2fnuz", DType::F8E5B16},
      {"float8e4b15", DType::F8E4B15},
      {"float4e2m1", DType::F4E2M1},
  };
  for (auto [spelling, type] : others)
    if (text == spelling)
      return type;
  return std::nullopt;
}

} // namespace tegula
