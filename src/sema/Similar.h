// For messages: the name that the author of a wrong one may have meant.
#pragma once
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tegula::sema {

// The nearest of the candidates, at most a third of the letters away; empty: there is none.
template <class Candidates> std::string similarName(llvm::StringRef name, const Candidates &candidates) {
  unsigned most = static_cast<unsigned>(name.size() + 2) / 3;
  std::string found;
  for (llvm::StringRef candidate : candidates)
    if (unsigned distance = name.edit_distance_insensitive(candidate, true, most); distance <= most) {
      found = candidate.str();
      if (!distance)
        break;
      most = distance - 1;
    }
  return found;
}

// Of the supported builtins that begin with `prefix`, "triton.language.": the rest of the name.
std::string similarBuiltin(llvm::StringRef prefix, llvm::StringRef name);

} // namespace tegula::sema
