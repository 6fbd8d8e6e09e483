#include "targets/nvidia/OffsetProducts.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

namespace tegula::nvidia {

namespace {

// The line for `mul.wide` of 32 bits by a power of two; "" for any other.
std::string shifted(llvm::StringRef instruction) {
  llvm::StringRef rest = instruction;
  if (!rest.consume_front("mul.wide.") || !rest.consume_back(";"))
    return {};
  bool isSigned = rest.consume_front("s32");
  if (!isSigned && !rest.consume_front("u32"))
    return {};
  llvm::SmallVector<llvm::StringRef, 3> operands;
  rest.split(operands, ',');
  for (llvm::StringRef &operand : operands)
    operand = operand.trim();
  int32_t factor = 0;
  if (operands.size() != 3 || operands[2].getAsInteger(10, factor) || factor <= 0 ||
      !llvm::isPowerOf2_32(uint32_t(factor)))
    return {};
  std::string result = operands[0].str();
  return (isSigned ? "cvt.s64.s32 \t" : "cvt.u64.u32 \t") + result + ", " + operands[1].str() +
         "; shl.b64 \t" + result + ", " + result + ", " + std::to_string(llvm::Log2_32(uint32_t(factor))) +
         ";";
}

} // namespace

std::string splitOffsetProducts(std::string_view ptx) {
  llvm::StringRef text(ptx);
  size_t last = text.rfind("wgmma.mma_async");
  if (last == llvm::StringRef::npos)
    return std::string(ptx);
  return replaceLines(text.take_front(last), shifted) + text.drop_front(last).str();
}

} // namespace tegula::nvidia
