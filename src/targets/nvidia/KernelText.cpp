#include "targets/nvidia/KernelText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tegula::nvidia {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

void forLines(std::string_view text, llvm::function_ref<void(std::string_view)> body) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    body(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Lines that run one behind the other, and what a loop is asked for of them.
struct Block {
  unsigned products = 0, floats = 0;
  llvm::SmallVector<unsigned, 2> next, previous;
};

// The name of a label in a line, from its place.
std::string_view labelAt(std::string_view line, size_t place) {
  return line.substr(place, line.find_first_of(":;,", place) - place);
}

// The blocks of a text in their order. A switch jumps to all labels that its list names.
std::vector<Block> blocksOf(std::string_view ptx) {
  std::vector<Block> blocks(1);
  std::map<std::string_view, unsigned> labels;
  std::vector<std::pair<unsigned, std::string_view>> jumps;
  bool runsOn = true; // into the next block
  auto begin = [&] {
    blocks.emplace_back();
    if (runsOn)
      blocks[blocks.size() - 2].next.push_back(unsigned(blocks.size() - 1));
    runsOn = true;
  };
  forLines(ptx, [&](std::string_view line) {
    size_t label = line.find('$');
    bool isBranch = label != line.npos && has(line, "bra"), isSwitch = has(line, "brx.idx"),
         ends = isSwitch || has(line, "ret;") || has(line, "exit;") || has(line, "trap;");
    if (label == 0) {
      begin();
      labels[labelAt(line, 0)] = unsigned(blocks.size() - 1);
    } else if (label != line.npos && !isSwitch) {
      jumps.emplace_back(unsigned(blocks.size() - 1), labelAt(line, label));
    } else if (has(line, "mma.sync.")) {
      ++blocks.back().products;
    } else if (has(line, ".f32 ")) {
      ++blocks.back().floats;
    }
    if (label != 0 && (isBranch || ends)) {
      runsOn = has(line, "@");
      begin();
    }
  });
  for (const auto &[from, name] : jumps)
    if (auto to = labels.find(name); to != labels.end())
      blocks[from].next.push_back(to->second);
  for (unsigned from = 0; from != blocks.size(); ++from)
    for (unsigned to : blocks[from].next)
      blocks[to].previous.push_back(from);
  return blocks;
}

// A jump back to a block on whose way it lies. One to a block that merely stands ahead of it in the text, as
// those that run rarely come last, makes no loop.
struct Loop {
  unsigned header, end; // blocks
};

std::vector<Loop> loopsOf(const std::vector<Block> &blocks) {
  enum class State : uint8_t { New, OnTheWay, Done };
  std::vector<State> states(blocks.size(), State::New);
  std::vector<Loop> loops;
  std::vector<std::pair<unsigned, unsigned>> way; // a block, and how many of those behind it were visited
  for (unsigned root = 0; root != blocks.size(); ++root) {
    if (states[root] != State::New || !blocks[root].previous.empty())
      continue;
    way.emplace_back(root, 0);
    while (!way.empty()) {
      auto &[block, visited] = way.back();
      states[block] = State::OnTheWay;
      if (visited == blocks[block].next.size()) {
        states[block] = State::Done;
        way.pop_back();
        continue;
      }
      unsigned next = blocks[block].next[visited++];
      if (states[next] == State::OnTheWay)
        loops.push_back({next, block});
      else if (states[next] == State::New)
        way.emplace_back(next, 0);
    }
  }
  return loops;
}

// The blocks from which the end of a loop is reached without its header, and that one.
llvm::SmallVector<unsigned> bodyOf(const Loop &loop, const std::vector<Block> &blocks,
                                   std::vector<bool> &isInside) {
  llvm::SmallVector<unsigned> body{loop.header};
  isInside[loop.header] = true;
  auto add = [&](unsigned block) {
    if (!isInside[block])
      body.push_back(block);
    isInside[block] = true;
  };
  add(loop.end);
  for (size_t at = 1; at < body.size(); ++at)
    for (unsigned block : blocks[body[at]].previous)
      add(block);
  for (unsigned block : body)
    isInside[block] = false;
  return body;
}

} // namespace

size_t statements(std::string_view ptx) { return size_t(std::ranges::count(ptx, ';')); }

bool hasProducts(std::string_view ptx) { return has(ptx, "wgmma.mma_async.") || has(ptx, "mma.sync."); }

bool meets(std::string_view ptx) { return has(ptx, "bar.sync"); }

bool reducesInWarps(std::string_view ptx) { return has(ptx, "shfl.sync.bfly"); }

bool readsFragments(std::string_view ptx) { return has(ptx, "ldmatrix.") || has(ptx, "mma.sync."); }

bool loadsProducts(std::string_view ptx) {
  return hasProducts(ptx) && has(ptx, "ld.global.v") && !has(ptx, "cp.async.");
}

bool isBound(std::string_view ptx) { return has(ptx, ".maxnreg"); }

bool keepsRoom(std::string_view ptx) { return has(ptx, ".minnctapersm"); }

bool hasLoops(std::string_view ptx) { return !loopsOf(blocksOf(ptx)).empty(); }

// An innermost loop is one in which no other one begins.
bool computesBesideProducts(std::string_view ptx) {
  if (!has(ptx, "mma.sync."))
    return false;
  const std::vector<Block> blocks = blocksOf(ptx);
  const std::vector<Loop> loops = loopsOf(blocks);
  std::vector<bool> isHeader(blocks.size()), isInside(blocks.size());
  for (const Loop &loop : loops)
    isHeader[loop.header] = true;
  return llvm::any_of(loops, [&](const Loop &loop) {
    unsigned products = 0, floats = 0;
    bool isInnermost = true;
    for (unsigned block : bodyOf(loop, blocks, isInside)) {
      products += blocks[block].products;
      floats += blocks[block].floats;
      isInnermost &= !isHeader[block] || block == loop.header;
    }
    return isInnermost && products != 0 && floats > products;
  });
}

unsigned loadedInTurn(std::string_view ptx) {
  unsigned most = 0, now = 0;
  forLines(ptx, [&](std::string_view line) {
    if (line.starts_with('$') || has(line, "bra")) {
      now = 0;
    } else if (has(line, "ld.global")) {
      unsigned count = has(line, ".v8") ? 8 : has(line, ".v4") ? 4 : has(line, ".v2") ? 2 : 1;
      now += count * (has(line, "64 ") ? 2 : 1);
      most = std::max(most, now);
    }
  });
  return most;
}

unsigned wordsHeld(std::string_view ptx) {
  struct Kind {
    std::string_view name; // of registers, as LLVM numbers them
    int words;
    std::vector<std::pair<unsigned, unsigned>> mentions; // of each the first line and the last
  };
  std::array<Kind, 3> kinds{{{"%r", 1, {}}, {"%rd", 2, {}}, {"%rs", 1, {}}}};
  unsigned count = 0;
  forLines(ptx, [&](std::string_view line) {
    ++count;
    for (size_t at = line.find('%'); at != line.npos; at = line.find('%', at + 1)) {
      size_t digits = std::min(line.find_first_not_of("rds", at + 1), line.size()), number = 0;
      auto [end, error] = std::from_chars(line.data() + digits, line.data() + line.size(), number);
      auto *kind =
          llvm::find_if(kinds, [&](const Kind &each) { return each.name == line.substr(at, digits - at); });
      if (error != std::errc() || kind == kinds.end() || number > ptx.size())
        continue;
      if (number >= kind->mentions.size())
        kind->mentions.resize(number + 1);
      auto &[first, last] = kind->mentions[number];
      first = first ? first : count;
      last = count;
    }
  });
  std::vector<int> changes(count + 1);
  for (const Kind &kind : kinds)
    for (const auto &[first, last] : kind.mentions) {
      changes[first] += kind.words;
      changes[last] -= kind.words;
    }
  int held = 0, most = 0;
  for (int change : changes)
    most = std::max(most, held += change);
  return unsigned(most);
}

} // namespace tegula::nvidia
