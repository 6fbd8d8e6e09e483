// Matrix products. Products of f32 and smaller are exact in a double; the sum with the
// accumulator is taken in doubles, in order of k, and rounded once. f64 does the same in
// long doubles. Integers wrap. `precision` permits less, and is not used here.
#include "interp/Maps.h"

namespace tegula::interp {

namespace {

struct Extents {
  int64_t batches, m, n, k;
};

Extents extentsOf(tile::DotOp op) {
  llvm::ArrayRef<int64_t> a = tile::shapeOf(op.getA().getType()), c = tile::shapeOf(op.getType());
  size_t rank = a.size();
  return {rank == 3 ? a[0] : 1, c[rank - 2], c[rank - 1], a[rank - 1]};
}

// Sum is a type in which + and * are what the accumulator wants; `get` and `put` convert.
template <class Sum, class Get, class Put>
bool multiply(Interpreter &machine, tile::DotOp op, Get get, Put put) {
  auto [batches, m, n, k] = extentsOf(op);
  auto convert = [&](const Tile &tile) {
    std::vector<Sum> values(tile.size());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = get(tile, i);
    return values;
  };
  const Tile &accumulator = machine.value(op.getAcc());
  const std::vector<Sum> a = convert(machine.value(op.getA())), b = convert(machine.value(op.getB()));
  Tile result = Interpreter::make(op.getType());
  std::vector<Sum> row(n);
  for (int64_t i = 0; i < batches * m; ++i) {
    for (int64_t j = 0; j < n; ++j)
      row[j] = get(accumulator, i * n + j);
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0, start = (i / m * k + l) * n; j < n; ++j)
        row[j] += a[i * k + l] * b[start + j];
    for (int64_t j = 0; j < n; ++j)
      result.bits[i * n + j] = put(result, row[j]);
  }
  machine.define(op.getResult(), std::move(result));
  return true;
}

} // namespace

template <> bool execute(Interpreter &machine, tile::DotOp op) {
  auto real = [](const Tile &tile, size_t i) { return tile.asDouble(i); };
  auto rounded = [](const Tile &result, auto sum) { return encode(result.element, double(sum)); };
  switch (*elementOf(op.getType())) {
  case Element::F64: return multiply<long double>(machine, op, real, rounded);
  case Element::F32:
  case Element::F16:
  case Element::BF16: return multiply<double>(machine, op, real, rounded);
  case Element::I32:
  case Element::I64:
    return multiply<uint64_t>(
        machine, op, [](const Tile &tile, size_t i) { return uint64_t(tile.asSigned(i)); },
        [](const Tile &result, uint64_t sum) { return truncate(sum, result.width()); });
  default:
    return machine.fail(op, StatusCode::Unsupported,
                        "the interpreter has no dot that accumulates in this type");
  }
}

} // namespace tegula::interp
