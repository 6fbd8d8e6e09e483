// Python's module `math` for constants.
#pragma once
#include "sema/Const.h"

namespace tegula::sema {

// `math.name`: a number, or a function for foldMath; nullopt where the module has none of that name, or one
// that gives more than a number (frexp, modf) or sums of many (fsum, dist).
std::optional<Const> mathAttribute(std::string_view name);

// Calls such a function, whose name comes without its module. Errors: ConstOperand and ConstDomain, where
// Python raises TypeError and ValueError or OverflowError.
std::optional<Const> foldMath(const std::string &name, std::span<const Const> arguments, ConstError &error);

} // namespace tegula::sema
