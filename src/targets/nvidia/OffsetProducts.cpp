#include "targets/nvidia/OffsetProducts.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace tegula::nvidia {

namespace {

// Of loads into registers, whose offsets take two registers each. Beside the sums more have no room.
constexpr size_t mostWideOffsets = 48;

// Of loads into registers, from which a loop that computes them saves two of three instructions for each.
constexpr size_t manyOffsetsOfTrips = 8;

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

// The innermost loops around products of several warps, as texts from a label to the jump back to it, in
// their order.
llvm::SmallVector<llvm::StringRef, 2> loopsOfProducts(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 2> loops;
  llvm::DenseMap<llvm::StringRef, size_t> labels;
  std::optional<size_t> product; // the last one that stands in none of the loops
  for (size_t at = 0; at < text.size();) {
    size_t next = std::min(text.find('\n', at), text.size());
    llvm::StringRef line = text.slice(at, next).trim();
    if (line.contains("wgmma.mma_async"))
      product = at;
    else if (line.consume_back(":"))
      labels[line] = at;
    else if (line.contains("bra") && line.consume_back(";"))
      if (auto label = labels.find(line.substr(line.find_last_of(" \t") + 1));
          label != labels.end() && product && label->second < *product) {
        loops.push_back(text.slice(label->second, next));
        product.reset();
      }
    at = next + 1;
  }
  return loops;
}

// Lists the offsets to which a base is added for a load into registers.
llvm::DenseSet<llvm::StringRef> loadedOffsets(llvm::StringRef text) {
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
  return offsets;
}

// Lists the offsets that stay products: all of loads into registers, if those are more than registers have
// room for in their wide form, or those of a loop that computes many, each for a load of its own.
llvm::DenseSet<llvm::StringRef> keptOffsets(llvm::StringRef text) {
  llvm::DenseSet<llvm::StringRef> kept = loadedOffsets(text);
  if (kept.size() > mostWideOffsets)
    return kept;
  kept.clear();
  for (llvm::StringRef loop : loopsOfProducts(text)) {
    const llvm::DenseSet<llvm::StringRef> loaded = loadedOffsets(loop);
    Writes mentions;
    countRegisters(loop, mentions);
    llvm::SmallVector<llvm::StringRef> own;
    eachLine(loop, [&](llvm::StringRef line) {
      if (std::optional<Instruction> product = instructionOf(line);
          product && loaded.contains(product->result) && mentions.lookup(product->result) == 2)
        own.push_back(product->result);
    });
    if (own.size() >= manyOffsetsOfTrips)
      kept.insert(own.begin(), own.end());
  }
  return kept;
}

} // namespace

std::string splitOffsetProducts(std::string_view ptx) {
  llvm::StringRef text(ptx);
  size_t end = endOfProducts(text);
  llvm::StringRef ahead = text.take_front(end);
  const llvm::DenseSet<llvm::StringRef> kept = keptOffsets(ahead);
  auto other = [&](llvm::StringRef line) -> std::string {
    std::optional<Instruction> product = instructionOf(line);
    return product && kept.contains(product->result) ? std::string() : shifted(line);
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

namespace {

// Calls `body` with each register that a line names.
void eachRegister(llvm::StringRef line, llvm::function_ref<void(llvm::StringRef)> body) {
  for (line = line.drop_until([](char c) { return c == '%'; }); !line.empty();
       line = line.drop_front().drop_until([](char c) { return c == '%'; }))
    body(line.take_front(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", 1)));
}

// Returns the part of a line that names the registers it writes: its first operand.
llvm::StringRef writtenBy(llvm::StringRef line) {
  if (line.starts_with("@"))
    line = line.split(' ').second.ltrim();
  llvm::StringRef operands = line.drop_until([](char c) { return c == ' ' || c == '\t'; }).ltrim();
  if (operands.empty() || operands.starts_with("["))
    return {};
  return operands.take_until([&](char c) { return c == (operands[0] == '{' ? '}' : ','); });
}

// Registers whose value may depend on the thread: made of its number, or of what other threads hand over. A
// guess that changes no result: branches are not followed.
llvm::DenseSet<llvm::StringRef> registersOfThreads(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  llvm::DenseSet<llvm::StringRef> found;
  for (size_t before = ~size_t(0); before != found.size();) {
    before = found.size();
    for (llvm::StringRef line : lines) {
      line = line.trim();
      bool isOfThread = line.contains("%tid") || line.contains("%laneid") || line.contains("shfl.") ||
                        line.contains(".shared");
      if (!isOfThread)
        eachRegister(line, [&](llvm::StringRef name) { isOfThread |= found.contains(name); });
      if (isOfThread)
        eachRegister(writtenBy(line), [&](llvm::StringRef name) { found.insert(name); });
    }
  }
  return found;
}

// The sums of a text that products of their block become a part of.
class SumsOfProducts {
public:
  // `lines`: of the module's text, those that may change.
  SumsOfProducts(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> lines)
      : writes_(countWrites(text)), ofThreads_(registersOfThreads(text)) {
    eachRegister(text, [&](llvm::StringRef name) { ++mentions_[name]; });
    for (auto [index, line] : llvm::enumerate(lines))
      visit(index, line.trim());
  }

  // Returns the line that stands in place of another one; none: that stays, "": it goes.
  std::optional<std::string> inPlaceOf(size_t line) const {
    auto found = changed_.find(line);
    return found == changed_.end() ? std::nullopt : std::optional(found->second);
  }

private:
  struct Product {
    size_t line;
    Instruction instruction;
  };

  void visit(size_t index, llvm::StringRef line) {
    if (line.ends_with(":") || line.contains("bra"))
      products_.clear(); // another block
    std::optional<Instruction> found = instructionOf(line);
    if (found && (found->name == "mul.wide.s32" || found->name == "mul.wide.u32") && found->number != 0 &&
        mentions_.lookup(found->result) == 2 && !ofThreads_.contains(found->source))
      products_[found->result] = {index, *found};
    else if (!joins(index, line))
      forget(line);
  }

  // Is the line a sum of such a product? They become one instruction.
  bool joins(size_t index, llvm::StringRef line) {
    llvm::SmallVector<llvm::StringRef, 3> operands;
    if (!line.consume_front("add.s64") || !line.consume_back(";"))
      return false;
    line.split(operands, ',');
    for (unsigned which : {2u, 1u}) {
      auto product = operands.size() == 3 ? products_.find(operands[which].trim()) : products_.end();
      if (product == products_.end())
        continue;
      const Instruction &instruction = product->second.instruction;
      changed_[product->second.line] = "";
      changed_[index] = "\tmad" + instruction.name.drop_front(3).str() + " \t" + operands[0].trim().str() +
                        ", " + instruction.source.str() + ", " + std::to_string(instruction.number) + ", " +
                        operands[3 - which].trim().str() + ";";
      products_.erase(product);
      return true;
    }
    return false;
  }

  // Products of what the line may write have their old value.
  void forget(llvm::StringRef line) {
    eachRegister(line, [&](llvm::StringRef name) {
      if (writes_.lookup(name) != 1)
        products_.remove_if([&](auto &product) { return product.second.instruction.source == name; });
    });
  }

  const Writes writes_;
  const llvm::DenseSet<llvm::StringRef> ofThreads_;
  llvm::DenseMap<llvm::StringRef, unsigned> mentions_;
  llvm::MapVector<llvm::StringRef, Product> products_; // of the block, by their results
  llvm::DenseMap<size_t, std::string> changed_;
};

} // namespace

std::string addOffsetProducts(std::string_view ptx) {
  llvm::StringRef text(ptx);
  const size_t end = endOfProducts(text);
  llvm::SmallVector<llvm::StringRef> lines;
  text.drop_front(end).split(lines, '\n');
  const SumsOfProducts sums(text, lines);
  std::string result = text.take_front(end).str();
  for (auto [index, line] : llvm::enumerate(lines)) {
    std::optional<std::string> other = sums.inPlaceOf(index);
    if (other && other->empty())
      continue;
    result += other ? *other : line.str();
    result += index + 1 == lines.size() ? "" : "\n";
  }
  return result;
}

} // namespace tegula::nvidia
