#include "targets/nvidia/NarrowDifferences.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/SmallVector.h"

namespace tegula::nvidia {

namespace {

// `%rs1` or a number as 32 bits in `name`; the upper half does not matter but to a magnitude.
std::string widened(llvm::StringRef name, llvm::StringRef operand, bool isSigned) {
  if (!operand.starts_with("%"))
    return ("mov.b32 " + name + ", " + operand + "; ").str();
  return ("cvt." + llvm::StringRef(isSigned ? "s32.s16 " : "u32.u16 ") + name + ", " + operand + "; ").str();
}

// The line for an instruction of 16 bits `name.s16` with its operands, the result first; "" for any other.
std::string inWords(llvm::StringRef instruction) {
  auto [name, rest] = instruction.split(' ');
  llvm::SmallVector<llvm::StringRef, 4> operands;
  rest.rtrim("; \t\r").split(operands, ',');
  for (llvm::StringRef &operand : operands)
    operand = operand.trim();
  std::string start = "{ .reg .b32 wide, other; ", end;
  if (name == "neg.s16" && operands.size() == 2)
    end = widened("wide", operands[1], false) + "sub.s32 wide, 0, wide; ";
  else if (name == "abs.s16" && operands.size() == 2)
    end = widened("wide", operands[1], true) + "abs.s32 wide, wide; ";
  else if (name == "sub.s16" && operands.size() == 3)
    end = widened("wide", operands[1], false) + widened("other", operands[2], false) +
          "sub.s32 wide, wide, other; ";
  else
    return {};
  return start + end + "cvt.u16.u32 " + operands[0].str() + ", wide; }";
}

} // namespace

std::string widenNarrowDifferences(std::string_view ptx) { return replaceLines(ptx, inWords); }

} // namespace tegula::nvidia
