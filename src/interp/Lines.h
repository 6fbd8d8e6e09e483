// Lines along an axis: what reductions and scans walk over.
#pragma once
#include "interp/Interpreter.h"

namespace tegula::interp {

// One line along the axis: a row of scalars for each operand.
using Line = llvm::SmallVector<llvm::SmallVector<uint64_t>, 2>;

// line[to] = block(line[left], line[right]), for all operands at once.
inline bool combine(Interpreter &machine, mlir::Block &block, Line &line, size_t left, size_t right,
                    size_t to) {
  const size_t n = line.size();
  for (size_t i = 0; i < 2 * n; ++i) {
    mlir::BlockArgument argument = block.getArgument(i);
    uint64_t bits = line[i % n][i < n ? left : right];
    machine.define(argument, Interpreter::scalar(*elementOf(argument.getType()), bits));
  }
  if (!machine.runBlock(block))
    return false;
  for (size_t i = 0; i < n; ++i)
    line[i][to] = machine.operand(block.getTerminator(), i).bits[0];
  return true;
}

// Calls f(line) for every line along `axis` of the operands, which have one shape. What f leaves
// in the line is the result: all of it where results have the operands' shape, else its head.
template <class F> bool forEachLine(Interpreter &machine, mlir::Operation *op, size_t axis, F f) {
  llvm::ArrayRef<int64_t> shape = tile::shapeOf(op->getOperand(0).getType());
  const size_t extent = shape[axis], operands = op->getNumOperands();
  size_t inner = 1;
  for (int64_t d : shape.drop_front(axis + 1))
    inner *= d;
  llvm::SmallVector<Tile, 2> results;
  for (mlir::Value result : op->getResults())
    results.push_back(Interpreter::make(result.getType()));
  const size_t lines = machine.operand(op, 0).size() / extent, kept = results[0].size() / lines;
  Line line(operands, llvm::SmallVector<uint64_t>(extent));
  for (size_t at = 0; at < lines; ++at) {
    const size_t outer = at / inner, lane = at % inner;
    for (size_t operand = 0; operand < operands; ++operand)
      for (size_t i = 0; i < extent; ++i)
        line[operand][i] = machine.operand(op, operand).bits[(outer * extent + i) * inner + lane];
    if (!f(line))
      return false;
    for (size_t operand = 0; operand < operands; ++operand)
      for (size_t i = 0; i < kept; ++i)
        results[operand].bits[(outer * kept + i) * inner + lane] = line[operand][i];
  }
  for (auto [value, tile] : llvm::zip_equal(op->getResults(), results))
    machine.define(value, std::move(tile));
  return true;
}

} // namespace tegula::interp
