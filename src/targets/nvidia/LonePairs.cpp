#include "targets/nvidia/LonePairs.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <array>
#include <optional>
#include <utility>

namespace tegula::nvidia {

namespace {

constexpr llvm::StringLiteral half = "%rs"; // a register of 16 bits, and its number

// `cvt.rn.satfinite.e5m2x2.f32 %rs1, %r1, %r2;` and its kind.
struct Conversion {
  llvm::StringRef name, result, operands;
  unsigned number; // of the result
};

std::optional<Conversion> conversionOf(llvm::StringRef line) {
  auto [name, rest] = line.split(' ');
  if (!name.starts_with("cvt.") || (!name.contains(".e5m2x2.") && !name.contains(".e4m3x2.")))
    return std::nullopt;
  auto [result, operands] = rest.split(',');
  Conversion conversion{name, result.trim(), operands.trim(), 0};
  llvm::StringRef digits = conversion.result;
  if (!digits.consume_front(half) || digits.getAsInteger(10, conversion.number))
    return std::nullopt;
  return conversion;
}

// The halves of a word: `mov.b32 %r1, {%rs1, %rs2};`.
std::optional<std::pair<unsigned, unsigned>> halvesOf(llvm::StringRef line) {
  if (!line.starts_with("mov.b32"))
    return std::nullopt;
  auto [low, high] = line.split(", {").second.rtrim("; \t\r").rtrim('}').split(", ");
  std::pair<unsigned, unsigned> halves;
  if (!low.consume_front(half) || !high.consume_front(half) || low.getAsInteger(10, halves.first) ||
      high.getAsInteger(10, halves.second))
    return std::nullopt;
  return halves;
}

// Counts how often the text names each register of 16 bits.
llvm::DenseMap<unsigned, unsigned> countNames(llvm::StringRef text) {
  llvm::DenseMap<unsigned, unsigned> named;
  for (size_t at = text.find(half); at != llvm::StringRef::npos; at = text.find(half, at + half.size())) {
    unsigned number;
    if (llvm::StringRef rest = text.substr(at + half.size()); !rest.consumeInteger(10, number))
      ++named[number];
  }
  return named;
}

} // namespace

std::string separateLonePairs(std::string_view ptx) {
  llvm::StringRef text = ptx;
  if (!text.contains("m2x2.") && !text.contains("m3x2."))
    return std::string(ptx);
  llvm::DenseMap<unsigned, unsigned> named = countNames(text);
  llvm::DenseSet<unsigned> once, joined; // pairs that are used once, and those of them that make a word
  eachLine(text, [&](llvm::StringRef line) {
    if (auto conversion = conversionOf(line); conversion && named.lookup(conversion->number) == 2)
      once.insert(conversion->number);
  });
  eachLine(text, [&](llvm::StringRef line) {
    if (auto halves = halvesOf(line); halves && once.contains(halves->first) && once.contains(halves->second))
      joined.insert_range(std::array{halves->first, halves->second});
  });
  return replaceLines(text, [&](llvm::StringRef line) -> std::string {
    std::optional<Conversion> conversion = conversionOf(line);
    if (!conversion || joined.contains(conversion->number))
      return {};
    return ("{ .reg .b16 pair; .reg .b32 word; " + conversion->name + " pair, " + conversion->operands +
            " cvt.u32.u16 word, pair; cvt.u16.u32 " + conversion->result + ", word; }")
        .str();
  });
}

} // namespace tegula::nvidia
