// A name as Python compares it: its normal form NFKC (PEP 3131). In: a name of the text, in UTF-8 and of
// characters that names may hold. Names of ASCII letters are their own.
#pragma once
#include <string>
#include <string_view>

namespace tegula::syntax {

std::string normalName(std::string_view name);

} // namespace tegula::syntax
