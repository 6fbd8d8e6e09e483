// A choice of the compiler that costs or saves something, with its place in the user's source. Passes and
// targets append remarks to a vector; hosts read that vector. A remark is a value of texts, so it outlives
// the IR that it speaks of, and the C ABI hands its texts out as they are. MLIR's remark engine was not
// taken: it streams what one context says to one consumer, while a host asks for the list of one compilation.
#pragma once
#include <string>

namespace tegula::diag {

struct Remark {
  std::string location; // "file:line:column"; empty: no place is known
  std::string kind;     // "access", "buffer", "convert", "dot", "guard", "nest", "reduce", "scan", "usage"
  std::string text;
};

} // namespace tegula::diag
