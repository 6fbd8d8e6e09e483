#include "targets/nvidia/OffsetProducts.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace tegula::nvidia {

namespace {

// Of loads into registers, whose offsets take two registers each. Beside the sums more have no room.
constexpr size_t mostWideOffsets = 48;

// Two registers, or a register and a number: `NAME \tRESULT, SOURCE, NUMBER;`.
struct Instruction {
  llvm::StringRef name, result, source;
  int64_t number = 0; // 0: it has none
};

// The instruction of a line, if it is one of that form without a predicate.
std::optional<Instruction> instructionOf(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef, 3> operands;
  if (!line.consume_back(";"))
    return std::nullopt;
  auto [name, rest] = line.split(' ');
  rest.split(operands, ',');
  if (operands.size() < 2 || operands.size() > 3)
    return std::nullopt;
  Instruction instruction{name, operands[0].trim(), operands[1].trim()};
  bool isRegister = instruction.result.starts_with("%") && instruction.source.starts_with("%");
  if (!isRegister || (operands.size() == 3 && operands[2].trim().getAsInteger(10, instruction.number)))
    return std::nullopt;
  return instruction;
}

// The line for `mul.wide` of 32 bits by a power of two; "" for any other.
std::string shifted(llvm::StringRef line) {
  std::optional<Instruction> product = instructionOf(line);
  if (!product || (product->name != "mul.wide.s32" && product->name != "mul.wide.u32") ||
      product->number <= 0 || product->number > INT32_MAX || !llvm::isPowerOf2_64(uint64_t(product->number)))
    return {};
  std::string result = product->result.str();
  return (product->name.ends_with("s32") ? "cvt.s64.s32 \t" : "cvt.u64.u32 \t") + result + ", " +
         product->source.str() + "; shl.b64 \t" + result + ", " + result + ", " +
         std::to_string(llvm::Log2_64(uint64_t(product->number))) + ";";
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

// The end of the loops of products of several warps; 0 without such a product.
size_t endOfProducts(llvm::StringRef text) {
  size_t last = text.rfind("wgmma.mma_async");
  return last == llvm::StringRef::npos ? 0 : endOfLoopsAround(text, last);
}

using Writes = llvm::DenseMap<llvm::StringRef, unsigned>;

void countRegisters(llvm::StringRef operands, Writes &writes) {
  for (operands = operands.drop_until([](char c) { return c == '%'; }); !operands.empty();
       operands = operands.drop_front().drop_until([](char c) { return c == '%'; }))
    ++writes[operands.take_front(operands.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", 1))];
}

// Does it widen 32 bits? From a register of 64 it would take the low half.
bool isOfWord(const Instruction &instruction) {
  bool widens = instruction.name == "cvt.s64.s32" || instruction.name == "cvt.u64.u32";
  return widens && instruction.source.starts_with("%r") && llvm::isDigit(instruction.source[2]);
}

// Counts the instructions that write each register: those whose first operand has it. One that does not end
// on its line counts for all registers that it names.
Writes countWrites(llvm::StringRef text) {
  Writes writes;
  bool isOpen = false;
  eachLine(text, [&](llvm::StringRef line) {
    line = line.split("//").first.trim();
    if (line.starts_with(".") || line.ends_with(":"))
      return;
    while (!line.empty()) {
      auto [instruction, rest] = line.split(';');
      bool ends = instruction.size() < line.size() || instruction.trim("{} \t").empty();
      instruction = instruction.ltrim("{} \t");
      if (instruction.starts_with("@"))
        instruction = instruction.split(' ').second.ltrim();
      llvm::StringRef operands = instruction.drop_until([](char c) { return c == ' ' || c == '\t'; }).ltrim();
      llvm::StringRef written =
          operands.take_until([&](char c) { return c == (operands[0] == '{' ? '}' : ','); });
      if (isOpen || !ends)
        countRegisters(instruction, writes);
      else if (!operands.starts_with("["))
        countRegisters(written, writes);
      isOpen = !ends;
      line = rest.trim();
    }
  });
  return writes;
}

// Lists the offsets to which a base is added for a load into registers, if they are more than registers have
// room for in their wide form; else none.
llvm::DenseSet<llvm::StringRef> crowdedOffsets(llvm::StringRef text) {
  llvm::DenseSet<llvm::StringRef> loaded, offsets;
  eachLine(text, [&](llvm::StringRef line) {
    auto [before, address] = line.split('[');
    if (before.contains("ld.global") && address.starts_with("%rd"))
      loaded.insert(address.take_until([](char c) { return c == ']' || c == '+'; }).trim());
  });
  eachLine(text, [&](llvm::StringRef line) {
    llvm::SmallVector<llvm::StringRef, 3> operands;
    if (!line.consume_front("add.s64") || !line.consume_back(";"))
      return;
    line.split(operands, ',');
    if (operands.size() == 3 && loaded.contains(operands[0].trim()))
      for (llvm::StringRef operand : {operands[1], operands[2]})
        offsets.insert(operand.trim());
  });
  if (offsets.size() <= mostWideOffsets)
    offsets.clear();
  return offsets;
}

} // namespace

std::string splitOffsetProducts(std::string_view ptx) {
  llvm::StringRef text(ptx);
  size_t end = endOfProducts(text);
  llvm::StringRef ahead = text.take_front(end);
  const llvm::DenseSet<llvm::StringRef> crowded = crowdedOffsets(ahead);
  auto other = [&](llvm::StringRef line) -> std::string {
    std::optional<Instruction> product = instructionOf(line);
    return product && crowded.contains(product->result) ? std::string() : shifted(line);
  };
  return replaceLines(ahead, other) + text.drop_front(end).str();
}

std::string joinOffsetProducts(std::string_view ptx) {
  llvm::StringRef text(ptx);
  const Writes writes = countWrites(text);
  auto isWrittenOnce = [&](llvm::StringRef name) { return writes.lookup(name) == 1; };
  llvm::DenseMap<llvm::StringRef, Instruction> widened;
  eachLine(text, [&](llvm::StringRef line) {
    if (std::optional<Instruction> found = instructionOf(line);
        found && isOfWord(*found) && isWrittenOnce(found->result) && isWrittenOnce(found->source))
      widened.try_emplace(found->result, *found);
  });
  if (widened.empty())
    return std::string(ptx);
  auto joined = [&](llvm::StringRef line) -> std::string {
    std::optional<Instruction> shift = instructionOf(line);
    if (!shift || shift->name != "shl.b64" || shift->number <= 0 || shift->number > 30)
      return {};
    auto found = widened.find(shift->source);
    if (found == widened.end())
      return {};
    return (found->second.name == "cvt.s64.s32" ? "mul.wide.s32 \t" : "mul.wide.u32 \t") +
           shift->result.str() + ", " + found->second.source.str() + ", " +
           std::to_string(int64_t(1) << shift->number) + ";";
  };
  size_t end = endOfProducts(text);
  return text.take_front(end).str() + replaceLines(text.drop_front(end), joined);
}

} // namespace tegula::nvidia
