#include "targets/nvidia/KernelText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <map>
#include <utility>

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

// A line, and how many stand ahead of it of those that a loop is asked for.
struct Place {
  unsigned line = 0, products = 0, floats = 0;
};
using Loop = std::pair<Place, Place>;

// A loop is the text between a label and a jump back to it.
llvm::SmallVector<Loop> loopsOf(std::string_view ptx) {
  Place here;
  std::map<std::string_view, Place> labels;
  llvm::SmallVector<Loop> loops;
  forLines(ptx, [&](std::string_view line) {
    size_t label = line.find('$');
    if (label == 0) {
      labels[line.substr(0, line.find(':'))] = here;
    } else if (label != line.npos && has(line, "bra")) {
      auto begin = labels.find(line.substr(label, line.find(';') - label));
      if (begin != labels.end())
        loops.push_back({begin->second, here});
    } else if (has(line, "mma.sync.")) {
      ++here.products;
    } else if (has(line, ".f32 ")) {
      ++here.floats;
    }
    ++here.line;
  });
  return loops;
}

} // namespace

bool hasProducts(std::string_view ptx) { return has(ptx, "wgmma.mma_async.") || has(ptx, "mma.sync."); }

bool meets(std::string_view ptx) { return has(ptx, "bar.sync"); }

bool reducesInWarps(std::string_view ptx) { return has(ptx, "shfl.sync.bfly"); }

bool readsFragments(std::string_view ptx) { return has(ptx, "ldmatrix.") || has(ptx, "mma.sync."); }

bool loadsProducts(std::string_view ptx) {
  return hasProducts(ptx) && has(ptx, "ld.global.v") && !has(ptx, "cp.async.");
}

bool isBound(std::string_view ptx) { return has(ptx, ".maxnreg"); }

bool keepsRoom(std::string_view ptx) { return has(ptx, ".minnctapersm"); }

bool hasLoops(std::string_view ptx) { return !loopsOf(ptx).empty(); }

// A jump out of a loop may go back in the text, too: a loop is an innermost one if none begins within it.
bool computesBesideProducts(std::string_view ptx) {
  const llvm::SmallVector<Loop> loops = loopsOf(ptx);
  return llvm::any_of(loops, [&](const Loop &loop) {
    const auto &[begin, end] = loop;
    unsigned products = end.products - begin.products;
    return products != 0 && end.floats - begin.floats > products &&
           llvm::none_of(loops, [&](const Loop &other) {
             return other.first.line > begin.line && other.first.line < end.line;
           });
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

} // namespace tegula::nvidia
