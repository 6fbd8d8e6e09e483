// The normal form in Unicode's three steps (UAX 15): characters are taken apart, marks behind a letter are
// put in order, and letters with their marks are put together again. The tables are NameForms.def,
// NameParts.def and NameMarks.def.
#include "syntax/NameForms.h"

#include "diag/Utf8.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

namespace tegula::syntax {

namespace {

struct Run {
  char32_t first, last, value;
};
constexpr Run forms[] = {
#define FORM(first, last, code) {first, last, code},
#include "syntax/NameForms.def"
};
constexpr Run marks[] = {
#define MARKS(first, last, rank) {first, last, rank},
#include "syntax/NameMarks.def"
};

struct Several {
  char32_t code;
  std::u32string_view parts;
};
constexpr Several several[] = {
#define PARTS(code, parts) {code, parts},
#include "syntax/NameParts.def"
};

struct Pair {
  char32_t first, second, code;
};
constexpr Pair pairs[] = {
#define PAIR(first, second, code) {first, second, code},
#include "syntax/NameMarks.def"
};

template <size_t N> const Run *findRun(const Run (&runs)[N], char32_t code) {
  auto above = std::upper_bound(std::begin(runs), std::end(runs), code,
                                [](char32_t asked, const Run &run) { return asked < run.first; });
  return above != std::begin(runs) && code <= above[-1].last ? &above[-1] : nullptr;
}

// A syllable of Hangul is a lead, a vowel and perhaps a tail (Unicode, chapter 3.12).
constexpr char32_t syllables = 0xac00, leads = 0x1100, vowels = 0x1161, tails = 0x11a7;
constexpr char32_t leadCount = 19, vowelCount = 21, tailCount = 28;

void takeApart(std::u32string &out, char32_t code) {
  if (code - syllables < leadCount * vowelCount * tailCount) {
    char32_t index = code - syllables;
    out += leads + index / (vowelCount * tailCount);
    out += vowels + index / tailCount % vowelCount;
    if (index % tailCount)
      out += tails + index % tailCount;
    return;
  }
  if (const Run *run = findRun(forms, code)) {
    out += run->value + (code - run->first);
    return;
  }
  auto found = std::lower_bound(std::begin(several), std::end(several), code,
                                [](const Several &row, char32_t asked) { return row.code < asked; });
  if (found != std::end(several) && found->code == code)
    out += found->parts;
  else
    out += code;
}

char32_t rankOf(char32_t code) {
  const Run *run = findRun(marks, code);
  return run ? run->value : 0;
}

// Marks of one rank keep their order.
void orderMarks(std::u32string &text) {
  auto isMark = [](char32_t code) { return rankOf(code) != 0; };
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), isMark);
    auto end = std::find_if_not(begin, text.end(), isMark);
    std::vector<std::tuple<char32_t, size_t, char32_t>> ordered;
    for (auto mark = begin; mark != end; ++mark)
      ordered.emplace_back(rankOf(*mark), ordered.size(), *mark);
    std::sort(ordered.begin(), ordered.end());
    for (auto [rank, place, code] : ordered)
      *begin++ = code;
  }
}

std::optional<char32_t> together(char32_t first, char32_t second) {
  if (first - leads < leadCount && second - vowels < vowelCount)
    return syllables + ((first - leads) * vowelCount + (second - vowels)) * tailCount;
  bool hasTail = first - syllables < leadCount * vowelCount * tailCount && (first - syllables) % tailCount;
  if (first - syllables < leadCount * vowelCount * tailCount && !hasTail && second > tails &&
      second - tails < tailCount)
    return first + (second - tails);
  auto isLess = [](const Pair &a, const Pair &b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  };
  Pair asked{first, second, 0};
  auto found = std::lower_bound(std::begin(pairs), std::end(pairs), asked, isLess);
  if (found == std::end(pairs) || isLess(asked, *found))
    return std::nullopt;
  return found->code;
}

// A mark joins the letter ahead of it unless a mark of its rank, or above, stands between them.
void putTogether(std::u32string &text) {
  size_t letter = std::u32string::npos, size = 0;
  char32_t rankAhead = 0;
  for (char32_t code : text) {
    char32_t rank = rankOf(code);
    bool isBeside = letter != std::u32string::npos && letter + 1 == size;
    if (letter != std::u32string::npos && (isBeside || rankAhead < rank))
      if (auto joined = together(text[letter], code)) {
        text[letter] = *joined;
        continue;
      }
    if (rank == 0)
      letter = size;
    rankAhead = rank;
    text[size++] = code;
  }
  text.resize(size);
}

} // namespace

std::string normalName(std::string_view name) {
  if (std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return std::string(name);
  std::u32string text;
  for (size_t i = 0; i < name.size();) {
    diag::Utf8Character c = diag::decodeUtf8(name, i);
    takeApart(text, c.code);
    i += c.bytes;
  }
  orderMarks(text);
  putTogether(text);
  std::string result;
  for (char32_t code : text)
    diag::appendUtf8(result, code);
  return result;
}

} // namespace tegula::syntax
