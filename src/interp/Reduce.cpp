// Reductions: neighbours are combined, then neighbours of the results, until one is left.
// The contract leaves the order open; this one keeps the elements' order and rounds little.
#include "interp/Maps.h"

namespace tegula::interp {

namespace {

// One line along the axis: a row of scalars for each operand.
using Line = llvm::SmallVector<llvm::SmallVector<uint64_t>, 2>;

bool combine(Machine &machine, tile::ReduceOp op, Line &line, size_t left, size_t right, size_t to) {
  mlir::Block &block = op.getCombine().front();
  const size_t n = line.size();
  for (size_t i = 0; i < 2 * n; ++i) {
    mlir::BlockArgument argument = block.getArgument(i);
    uint64_t bits = line[i % n][i < n ? left : right];
    machine.define(argument, Machine::scalar(*elementOf(argument.getType()), bits));
  }
  if (!machine.runBlock(block))
    return false;
  for (size_t i = 0; i < n; ++i)
    line[i][to] = machine.operand(block.getTerminator(), i).bits[0];
  return true;
}

bool reduceLine(Machine &machine, tile::ReduceOp op, Line &line) {
  for (size_t count = line[0].size(); count > 1; count = (count + 1) / 2) {
    for (size_t i = 0; i + 1 < count; i += 2)
      if (!combine(machine, op, line, i, i + 1, i / 2))
        return false;
    if (count % 2)
      for (auto &row : line)
        row[count / 2] = row[count - 1];
  }
  return true;
}

} // namespace

template <> bool execute(Machine &machine, tile::ReduceOp op) {
  llvm::ArrayRef<int64_t> shape = tile::shapeOf(op.getOperands()[0].getType());
  const size_t extent = shape[op.getAxis()];
  size_t inner = 1;
  for (int64_t d : shape.drop_front(op.getAxis() + 1))
    inner *= d;
  llvm::SmallVector<Tile, 2> results;
  for (mlir::Value result : op.getResults())
    results.push_back(Machine::make(result.getType()));
  Line line(results.size(), llvm::SmallVector<uint64_t>(extent));
  for (size_t at = 0; at < results[0].size(); ++at) {
    for (size_t operand = 0; operand < results.size(); ++operand) {
      const Tile &from = machine.operand(op, operand);
      for (size_t i = 0; i < extent; ++i)
        line[operand][i] = from.bits[(at / inner * extent + i) * inner + at % inner];
    }
    if (!reduceLine(machine, op, line))
      return false;
    for (size_t operand = 0; operand < results.size(); ++operand)
      results[operand].bits[at] = line[operand][0];
  }
  for (auto [value, tile] : llvm::zip_equal(op.getResults(), results))
    machine.define(value, std::move(tile));
  return true;
}

// Read by the reduction itself.
template <> bool execute(Machine &, tile::ReduceReturnOp) { return true; }

} // namespace tegula::interp
