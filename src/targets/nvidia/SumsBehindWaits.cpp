#include "targets/nvidia/SumsBehindWaits.h"
#include "targets/nvidia/PtxLines.h"

namespace tegula::nvidia {

namespace {

constexpr llvm::StringRef wait = "wgmma.wait_group";

bool isCopy(llvm::StringRef line) {
  auto [name, operands] = line.split(' ');
  auto [to, from] = operands.trim().split(", ");
  return name.starts_with("mov.") && to.starts_with("%") && from.starts_with("%") && from.ends_with(";") &&
         !from.contains('.'); // a special register
}

bool isSilent(llvm::StringRef line) {
  return line.empty() || line.starts_with("//") || line.starts_with(".loc");
}

} // namespace

std::string copySumsBehindWaits(std::string_view ptx) {
  llvm::StringRef text(ptx);
  if (!text.contains(wait))
    return text.str();
  std::string result, copies, between; // both of the lines that may stand ahead of a wait
  result.reserve(text.size());
  while (!text.empty()) {
    size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    llvm::StringRef whole = text.take_front(length), line = whole.trim();
    text = text.drop_front(length);
    if (isCopy(line)) {
      copies += whole;
      continue;
    }
    if (!copies.empty() && isSilent(line)) {
      between += whole;
      continue;
    }
    bool isWait = line.starts_with(wait);
    result += isWait ? between : copies + between;
    result += whole;
    if (isWait)
      result += copies;
    copies.clear();
    between.clear();
  }
  return result + copies + between;
}

} // namespace tegula::nvidia
