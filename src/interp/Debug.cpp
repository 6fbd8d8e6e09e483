// Prints, to the process's standard output, and checks.
#include "interp/Interpreter.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace tegula::interp {

namespace {

void printProgram(llvm::raw_ostream &os, const Interpreter &machine) {
  os << "pid (" << machine.program[0] << ", " << machine.program[1] << ", " << machine.program[2] << ")";
}

// The coordinates of element `i`, each as wide as the largest of its axis.
void printIndex(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> shape, size_t i) {
  llvm::SmallVector<size_t, 4> coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d])
    coordinates[d] = i % shape[d];
  os << " idx (";
  for (size_t d = 0; d < shape.size(); ++d)
    os << (d ? ", " : "") << llvm::format_decimal(coordinates[d], std::to_string(shape[d] - 1).size());
  os << ")";
}

void printElement(llvm::raw_ostream &os, const Tile &tile, size_t i, bool hex, bool isSigned) {
  if (hex || tile.element == Element::Pointer)
    os << llvm::format_hex(tile.bits[i], 2 + (tile.width() + 3) / 4);
  else if (isFloat(tile.element))
    os << llvm::format("%f", tile.asDouble(i));
  else if (isSigned && tile.width() > 1)
    os << tile.asSigned(i);
  else
    os << tile.bits[i];
}

} // namespace

// One text a print: lines of one program stay together.
template <> bool execute(Interpreter &machine, tile::PrintOp op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (op.getOperands().empty()) {
    printProgram(os, machine);
    os << op.getPrefix() << "\n";
  }
  for (unsigned n = 0; n < op.getNumOperands(); ++n) {
    const Tile &tile = machine.operand(op, n);
    for (size_t i = 0; i < tile.size(); ++i) {
      printProgram(os, machine);
      printIndex(os, tile.shape, i);
      os << op.getPrefix();
      if (op.getNumOperands() > 1)
        os << "(operand " << n << ") ";
      printElement(os, tile, i, op.getHex(), op.getIsSigned()[n] != 0);
      os << "\n";
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return true;
}

template <> bool execute(Interpreter &machine, tile::AssertOp op) {
  if (llvm::is_contained(machine.value(op.getCondition()).bits, uint64_t(0)))
    return machine.fail(op, StatusCode::Assertion, "assertion failed: " + op.getMessage());
  return true;
}

} // namespace tegula::interp
