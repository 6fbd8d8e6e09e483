// text -> tree. Never fails: what it cannot read becomes an Invalid node and a diagnostic.
// Limits (each a diagnostic): 8 MiB of text, 200 levels of nesting.
#pragma once
#include "diag/Diagnostic.h"
#include "syntax/Ast.h"

namespace tegula::syntax {

inline constexpr size_t maxTextBytes = 8u << 20;
inline constexpr unsigned maxNesting = 200;

std::shared_ptr<const Tree> parse(diag::SourcePtr source, diag::Sink &sink);

} // namespace tegula::syntax
