// Hints that a report gets behind its kind's own: what stands in the place of the mistake, and the name that
// the author of a wrong one may have meant.
#pragma once
#include "sema/Session.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <string>

namespace tegula::sema {

// Of the report of this kind that was made just now. A mistake that was told before is not told again: then
// the last report is another one, and keeps its hint.
inline void setHint(Session &session, diag::Kind kind, std::string_view text) {
  diag::Diagnostic *last = session.sink.last();
  if (last && last->kind == kind && last->location.source == session.place.source &&
      last->location.range.begin == session.place.range.begin)
    last->hint = text;
}

// The number of letters to put in, leave out, replace or swap with the next one; case does not count.
unsigned lettersApart(llvm::StringRef one, llvm::StringRef other);

// The nearest of the candidates, at most a third of the letters away; empty: there is none.
template <class Candidates> std::string similarName(llvm::StringRef name, const Candidates &candidates) {
  unsigned most = std::max(1u, unsigned(name.size()) / 3);
  std::string found;
  for (llvm::StringRef candidate : candidates)
    if (unsigned distance = lettersApart(name, candidate); distance <= most) {
      found = candidate.str();
      if (!distance)
        break;
      most = distance - 1;
    }
  return found;
}

// Of the supported builtins that begin with `prefix`, "triton.language.": the rest of the name; or one of
// another module that has just this name, "tl.extra.libdevice.tanh".
std::string similarBuiltin(llvm::StringRef prefix, llvm::StringRef name);

} // namespace tegula::sema
