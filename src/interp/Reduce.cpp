// Reductions: neighbours are combined, then neighbours of the results, until one is left.
// The contract leaves the order open; this one keeps the elements' order and rounds little.
#include "interp/Lines.h"

namespace tegula::interp {

namespace {

bool reduceLine(Interpreter &machine, tile::ReduceOp op, Line &line) {
  for (size_t count = line[0].size(); count > 1; count = (count + 1) / 2) {
    for (size_t i = 0; i + 1 < count; i += 2)
      if (!combine(machine, op.getCombine().front(), line, i, i + 1, i / 2))
        return false;
    if (count % 2)
      for (auto &row : line)
        row[count / 2] = row[count - 1];
  }
  return true;
}

} // namespace

template <> bool execute(Interpreter &machine, tile::ReduceOp op) {
  return forEachLine(machine, op, op.getAxis(), [&](Line &line) { return reduceLine(machine, op, line); });
}

// Read by the reduction itself.
template <> bool execute(Interpreter &, tile::ReduceReturnOp) { return true; }

template <> bool execute(Interpreter &machine, tile::HistogramOp op) {
  const Tile &source = machine.value(op.getSource());
  const Tile *mask = op.getMask() ? &machine.value(op.getMask()) : nullptr;
  Tile bins = Interpreter::make(op.getType());
  for (size_t i = 0; i < source.size(); ++i)
    if ((!mask || mask->bits[i]) && source.bits[i] < bins.size())
      ++bins.bits[source.bits[i]];
  machine.define(op.getResult(), std::move(bins));
  return true;
}

} // namespace tegula::interp
