// A constant written as text ("-3", "0x10", "1e-5", "None", "'relu'", "tl.float16", "(1, 2)")
// -> a compile-time value. Used wherever a user writes a constant outside of a kernel.
#pragma once
#include "sema/HostEnv.h"

#include <optional>
#include <string_view>

namespace tegula::compiler {

// nullopt: the text is not one constant.
std::optional<sema::Const> parseLiteral(std::string_view text);

} // namespace tegula::compiler
