#include "sema/Hints.h"
#include "sema/builtins/Table.h"

#include "llvm/ADT/StringExtras.h"

#include <utility>
#include <vector>

namespace tegula::sema {

// Swaps of neighbours count as one, where llvm::edit_distance has two: `laod` is nearer to `load` than to
// `add`.
unsigned lettersApart(llvm::StringRef one, llvm::StringRef other) {
  // Distances of all beginnings of `other` from a beginning of `one`, of the last two such and the next.
  std::vector<unsigned> before, last(other.size() + 1), now(other.size() + 1);
  for (unsigned j = 0; j <= other.size(); ++j)
    last[j] = j;
  auto at = [](llvm::StringRef text, size_t i) { return llvm::toLower(text[i - 1]); };
  for (unsigned i = 1; i <= one.size(); ++i) {
    now[0] = i;
    for (unsigned j = 1; j <= other.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (at(one, i) != at(other, j))});
      if (i > 1 && j > 1 && at(one, i) == at(other, j - 1) && at(one, i - 1) == at(other, j))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = std::exchange(last, now);
  }
  return last[other.size()];
}

std::string similarBuiltin(llvm::StringRef prefix, llvm::StringRef name) {
  std::vector<llvm::StringRef> names;
  for (const builtins::Row &row : builtins::table()) {
    llvm::StringRef rest = row.name, module = row.name;
    if (!row.isSupported())
      continue;
    if (rest.consume_front(prefix))
      names.push_back(rest);
    bool isMethod = module.contains(".tensor_descriptor.");
    if (!isMethod && module.consume_back(name) && module.consume_back(".") &&
        module.consume_front("triton.language"))
      return ("tl" + module + "." + name).str();
  }
  return similarName(name, names);
}

} // namespace tegula::sema
