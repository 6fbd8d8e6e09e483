#include "base/Environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace tegula {

namespace {

constexpr uint64_t mostOfNumbers = std::numeric_limits<uint64_t>::max(), mostMegabytes = uint64_t(1) << 32;

struct Domain {
  enum class Kind : uint8_t { Text, Flag, Number, Words } kind;
  uint64_t least = 0, most = 0;
  std::string_view words = {}; // separated by commas
};
constexpr Domain text{Domain::Kind::Text}, flag{Domain::Kind::Flag};
constexpr Domain number(uint64_t least, uint64_t most) { return {Domain::Kind::Number, least, most}; }
constexpr Domain words(std::string_view words) { return {Domain::Kind::Words, 0, 0, words}; }

constexpr Domain domains[] = {
#define VARIABLE(Name, text, domain, initial, read, what) domain,
#include "base/Environment.def"
};

constexpr VariableRow table[] = {
#define VARIABLE(Name, text, domain, initial, read, what) {text, initial, read, what},
#include "base/Environment.def"
};

constexpr std::string_view offWords = "0,false,off,no,n", onWords = "1,true,on,yes,y";

bool isOneOf(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    size_t end = std::min(words.find(','), words.size());
    if (words.substr(0, end) == word)
      return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::string lowerCase(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return lower;
}

std::optional<uint64_t> numberIn(const Domain &domain, std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < domain.least || value > domain.most)
    return std::nullopt;
  return value;
}

// Returns the values of the domain in words; "" where the value is one of them.
std::string expectedInPlaceOf(std::string_view value, const Domain &domain, std::string_view name) {
  switch (domain.kind) {
  case Domain::Kind::Text: return "";
  case Domain::Kind::Flag: // other programs' variables are read as they do: all that is not off is on
    return !name.starts_with("TEGULA_") || isOneOf(offWords, lowerCase(value)) ||
                   isOneOf(onWords, lowerCase(value))
               ? ""
               : "1 or 0";
  case Domain::Kind::Number:
    if (numberIn(domain, value))
      return "";
    return "a number from " + std::to_string(domain.least) +
           (domain.most == mostOfNumbers ? " on" : " to " + std::to_string(domain.most));
  case Domain::Kind::Words:
    if (isOneOf(domain.words, value))
      return "";
    std::string all(domain.words);
    for (size_t at = 0; (at = all.find(',', at)) != std::string::npos; at += 2)
      all.replace(at, 1, ", ");
    return (all.find(',') == std::string::npos ? "" : "one of ") + all;
  }
  return "";
}

} // namespace

std::span<const VariableRow> variables() { return table; }

const char *valueOf(Variable variable) {
  const char *value = std::getenv(table[size_t(variable)].name);
  return value ? value : "";
}

bool isOn(Variable variable) {
  const char *value = valueOf(variable);
  return !isOneOf(offWords, lowerCase(*value ? value : table[size_t(variable)].initial));
}

std::optional<uint64_t> numberOf(Variable variable) {
  const Domain &domain = domains[size_t(variable)];
  std::optional<uint64_t> set = numberIn(domain, valueOf(variable));
  return set ? set : numberIn(domain, table[size_t(variable)].initial);
}

std::string problemOf(Variable variable) {
  const char *value = valueOf(variable);
  std::string_view name = table[size_t(variable)].name;
  std::string expected = *value ? expectedInPlaceOf(value, domains[size_t(variable)], name) : "";
  return expected.empty() ? "" : std::string(name) + " is '" + value + "'; it must be " + expected;
}

} // namespace tegula
