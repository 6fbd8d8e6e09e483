#include "targets/nvidia/OffsetProducts.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/DenseSet.h"
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

// The end of the loops around a place: the last branch behind it to a label ahead of it. LLVM puts blocks of
// a loop behind others of it.
size_t endOfLoopsAround(llvm::StringRef text, size_t place) {
  llvm::DenseSet<llvm::StringRef> ahead;
  size_t end = place, at = 0;
  while (at < text.size()) {
    size_t next = std::min(text.find('\n', at), text.size());
    llvm::StringRef line = text.slice(at, next).trim();
    if (at < place && line.consume_back(":"))
      ahead.insert(line);
    else if (at > place && line.consume_back(";") && line.contains("bra") &&
             ahead.contains(line.substr(line.find_last_of(" \t") + 1)))
      end = next;
    at = next + 1;
  }
  return end;
}

} // namespace

std::string splitOffsetProducts(std::string_view ptx) {
  llvm::StringRef text(ptx);
  size_t last = text.rfind("wgmma.mma_async");
  if (last == llvm::StringRef::npos)
    return std::string(ptx);
  last = endOfLoopsAround(text, last);
  return replaceLines(text.take_front(last), shifted) + text.drop_front(last).str();
}

} // namespace tegula::nvidia
