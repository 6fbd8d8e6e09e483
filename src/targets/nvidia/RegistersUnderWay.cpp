#include "targets/nvidia/RegistersUnderWay.h"
#include "targets/nvidia/ProductLines.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tegula::nvidia {

namespace {

struct Line {
  std::string text; // with its end
  llvm::StringRef code() const { return llvm::StringRef(text).trim(); }
};

bool isWaitForAll(llvm::StringRef code) {
  return code.starts_with("wgmma.wait_group") && code.ends_with(" 0;");
}

// The end of a stretch: inside of braces registers have names of their own.
bool isBoundary(llvm::StringRef code) {
  return isBranchOrLabel(code) || code.starts_with("{") || code.starts_with("}");
}

// `mov RESULTS, SOURCES;` of registers, without a predicate.
struct Copy {
  Names results, sources;
  bool isOfOne() const { return results.size() == 1 && sources.size() == 1; }
};
std::optional<Copy> copyOf(llvm::StringRef code) {
  if (!code.starts_with("mov."))
    return std::nullopt;
  llvm::StringRef operands = code.drop_until([](char c) { return c == ' ' || c == '\t'; }).trim();
  size_t comma = operands.find(operands.starts_with("{") ? "}," : ",");
  if (comma == llvm::StringRef::npos)
    return std::nullopt;
  Copy copy{registersOf(operands.take_front(comma)), registersOf(operands.drop_front(comma))};
  bool isSpecial = llvm::any_of(copy.sources, [](llvm::StringRef name) { return name.contains('.'); });
  return copy.results.empty() || copy.sources.empty() || isSpecial ? std::nullopt : std::optional(copy);
}

// All registers that a product has until it is done.
Names registersUnderWay(llvm::StringRef code) {
  Names names = sumsOf(code);
  names.append(factorsOf(code));
  return names;
}

struct Text {
  llvm::StringRef whole; // as it was
  std::vector<Line> lines = {};
  llvm::StringSet<> ofProducts = {};     // all registers that some product has
  llvm::StringMap<size_t> mentions = {}; // lines with each register, once somebody asks

  size_t linesWith(llvm::StringRef name) {
    if (mentions.empty())
      eachLine(whole, [&](llvm::StringRef line) {
        Names names = registersOf(line);
        llvm::sort(names);
        for (llvm::StringRef each : llvm::make_range(names.begin(), llvm::unique(names)))
          ++mentions[each];
      });
    return mentions.lookup(name);
  }
};

// Code without a branch, lines `begin` to `end`.
class Stretch {
public:
  Stretch(Text &text, size_t begin, size_t end) : text_(text), lines_(text.lines), begin_(begin), end_(end) {}

  void change() {
    Numbers copies;
    eachCopyUnderWay([&](size_t i, const Copy &, UnderWay &) { copies.push_back(i); });
    if (copies.empty())
      return; // as of most stretches
    collectMentions();
    // The last first: one that overwrites what another one reads is out of its way then.
    for (size_t i : llvm::reverse(copies))
      putBehindWait(i, *copyOf(lines_[i].code()));
    eachCopyUnderWay([&](size_t i, const Copy &copy, UnderWay &underWay) {
      if (copy.isOfOne() && underWay.contains(copy.sources[0]))
        putAhead(i, copy.results[0].str(), copy.sources[0].str(), underWay);
    });
  }

  // The copies that stand ahead of a line now, and behind it.
  std::string ahead(size_t line) const { return ahead_.lookup(line); }
  std::string behind(size_t line) const { return behind_.lookup(line); }

private:
  using Numbers = std::vector<size_t>;      // of lines, in order
  using UnderWay = llvm::StringMap<size_t>; // registers, and the first product that has each

  // Calls `body` with each copy from or to a register that a product under way has, or may have.
  template <typename Body> void eachCopyUnderWay(Body body) {
    UnderWay underWay;
    bool isAheadOfWaits = true;
    auto has = [&](llvm::StringRef name) {
      return underWay.contains(name) || (isAheadOfWaits && text_.ofProducts.contains(name));
    };
    for (size_t i = begin_; i != end_; ++i) {
      llvm::StringRef code = lines_[i].code();
      if (isWaitForAll(code)) {
        underWay.clear();
        isAheadOfWaits = false;
      } else if (isProduct(code)) {
        for (llvm::StringRef name : registersUnderWay(code))
          underWay.try_emplace(name, i);
      } else if (std::optional<Copy> copy = copyOf(code);
                 copy && (llvm::any_of(copy->sources, has) || llvm::any_of(copy->results, has))) {
        body(i, *copy, underWay);
      }
    }
  }

  void collectMentions() {
    for (size_t i = begin_; i != end_; ++i) {
      if (isWaitForAll(lines_[i].code()))
        waits_.push_back(i);
      eachRegister(lines_[i].text, [&](llvm::StringRef name, size_t) {
        Numbers &known = mentions_[name];
        if (known.empty() || known.back() != i)
          known.push_back(i);
      });
    }
    for (auto &[name, lines] : mentions_)
      here_[name] = lines.size();
  }

  // The lines that mention the register, from `from` on and ahead of `to`.
  llvm::ArrayRef<size_t> mentionsIn(llvm::StringRef name, size_t from, size_t to) {
    const Numbers &known = mentions_[name];
    auto first = llvm::lower_bound(known, from), last = std::lower_bound(first, known.end(), to);
    return llvm::ArrayRef<size_t>(known).slice(size_t(first - known.begin()), size_t(last - first));
  }

  void putBehindWait(size_t i, const Copy &copy) {
    auto next = llvm::lower_bound(waits_, i);
    if (next == waits_.end())
      return;
    size_t wait = *next;
    auto isRead = [&](llvm::StringRef name) { return !mentionsIn(name, i + 1, wait).empty(); };
    auto isChanged = [&](llvm::StringRef name) {
      return llvm::any_of(mentionsIn(name, i + 1, wait), [&](size_t line) {
        llvm::StringRef code = lines_[line].code();
        std::optional<Copy> other = copyOf(code);
        bool onlyReads = other ? !llvm::is_contained(other->results, name)
                               : isProduct(code) && !llvm::is_contained(sumsOf(code), name);
        return !onlyReads;
      });
    };
    if (llvm::any_of(copy.results, isRead) || llvm::any_of(copy.sources, isChanged))
      return;
    behind_[wait] = lines_[i].text + behind_[wait];
    for (const Names *names : {&copy.results, &copy.sources})
      for (llvm::StringRef name : *names) {
        Numbers &known = mentions_[name];
        llvm::erase(known, i);
        known.insert(llvm::lower_bound(known, wait), wait);
      }
    lines_[i].text.clear();
  }

  // Does the line write the register, and not read it? Results come first; barriers and sleeps have none.
  bool isWrittenAt(llvm::StringRef name, size_t line) {
    llvm::StringRef code = lines_[line].code();
    auto [instruction, operands] = code.split(' ');
    Names names = registersOf(code);
    return !names.empty() && names.front() == name && llvm::count(names, name) == 1 &&
           operands.ltrim().ltrim('{').starts_with(name) && !instruction.starts_with("@") &&
           !instruction.starts_with("bar") && !instruction.starts_with("nanosleep") &&
           !instruction.starts_with("wgmma");
  }

  // Is the register written before it is read behind the line? One that no other code mentions, and this
  // code writes first, is.
  bool isDeadBehind(llvm::StringRef name, size_t line) {
    llvm::ArrayRef<size_t> later = mentionsIn(name, line + 1, end_);
    if (!later.empty())
      return isWrittenAt(name, later.front());
    return text_.linesWith(name) == here_.lookup(name) && isWrittenAt(name, mentions_[name].front());
  }

  // The product's steps from `underWay` on add up in `result` from the beginning.
  void putAhead(size_t i, const std::string &result, const std::string &source, UnderWay &underWay) {
    size_t first = underWay.lookup(source), place = first;
    while (place != begin_ && !isFence(lines_[place].code()))
      --place;
    auto steps = mentionsIn(source, first, i);
    bool areSums = llvm::all_of(steps, [&](size_t line) {
      llvm::StringRef code = lines_[line].code();
      return isProduct(code) && llvm::is_contained(sumsOf(code), source);
    });
    if (place == begin_ || !areSums || !mentionsIn(result, place, i).empty() ||
        !mentionsIn(source, place, first).empty() || !isDeadBehind(source, i))
      return;
    ahead_[place] += lines_[i].text;
    lines_[i].text.clear();
    Numbers moved(steps.begin(), steps.end());
    for (size_t line : moved)
      renameRegister(lines_[line].text, source, result);
    Numbers &ofSource = mentions_[source], &ofResult = mentions_[result];
    llvm::erase_if(ofSource, [&](size_t line) { return line == i || llvm::is_contained(moved, line); });
    llvm::erase(ofResult, i);
    ofResult.insert(ofResult.end(), moved.begin(), moved.end());
    llvm::sort(ofResult);
    underWay.erase(source);
    underWay[result] = first;
  }

  llvm::DenseMap<size_t, std::string> ahead_, behind_; // of lines
  Text &text_;
  std::vector<Line> &lines_;
  size_t begin_, end_;
  Numbers waits_;
  llvm::StringMap<Numbers> mentions_; // lines with each register, as they are now
  llvm::StringMap<size_t> here_;      // how many they were
};

} // namespace

std::string keepFromRegistersUnderWay(std::string_view ptx) {
  llvm::StringRef rest(ptx);
  if (!rest.contains("wgmma.mma_async"))
    return rest.str();
  Text text{rest};
  eachWholeLine(rest, [&](llvm::StringRef line) {
    text.lines.push_back({line.str()});
    if (llvm::StringRef code = text.lines.back().code(); isProduct(code))
      for (llvm::StringRef name : registersUnderWay(code))
        text.ofProducts.insert(name);
  });
  std::string result;
  result.reserve(ptx.size());
  for (size_t begin = 0; begin != text.lines.size();) {
    size_t end = begin;
    bool hasProducts = false;
    do
      hasProducts |= text.lines[end].code().starts_with("wgmma.");
    while (++end != text.lines.size() && !isBoundary(text.lines[end].code()));
    Stretch stretch(text, begin, end);
    if (hasProducts)
      stretch.change();
    for (size_t i = begin; i != end; ++i)
      result += stretch.ahead(i) + text.lines[i].text + stretch.behind(i);
    begin = end;
  }
  return result;
}

} // namespace tegula::nvidia
