// The text of a signature -> what is known of each argument.
//   signature = NAME=VALUE, ...
//   VALUE     = *TYPE[:N] | TYPE[:N] | constant      (:16 or :8: divisible by that)
// A bare type name is the value of a constexpr parameter and the type of any other.
#pragma once
#include "compiler/Parameters.h"
#include "sema/Sema.h"

#include <optional>
#include <string_view>

namespace tegula::compiler {

// nullopt after diagnostics, whose place is in the signature.
std::optional<std::vector<sema::ArgumentSpec>> parseSignature(std::string_view text,
                                                              const sema::Function &function,
                                                              std::span<const Parameter> parameters,
                                                              diag::Sink &sink);

} // namespace tegula::compiler
