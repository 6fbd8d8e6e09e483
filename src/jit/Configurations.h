// The ways to compile a kernel that a tuning compares, as a file or a command line writes them: the list of
// the decorator `@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=4), ...])`, read and not
// run; "BLOCK=64, num_warps=4"; and a grid that depends on them, "cdiv(n, BLOCK), 1".
#pragma once
#include "diag/Diagnostic.h"
#include "sema/HostEnv.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tegula::jit {

struct Configuration {
  std::string name; // "BLOCK=64, num_warps=4"
  std::vector<std::pair<std::string, sema::Const>> values;
};

std::string nameOf(const Configuration &configuration); // made of its values

// nullopt after a diagnostic: there is no such decorator, or only Python can say what its list is.
std::optional<std::vector<Configuration>> configurationsOf(const sema::Function &function, diag::Sink &sink);
// nullopt after a diagnostic.
std::optional<Configuration> parseConfiguration(std::string_view text, diag::Sink &sink);

// The value of an argument of the call; nullopt: there is none of this name.
using ValueOf = llvm::function_ref<std::optional<sema::Const>(std::string_view name)>;
// One to three extents. What they may be is the launch's business. nullopt after a diagnostic.
std::optional<std::vector<int64_t>> evaluateGrid(std::string_view text, ValueOf valueOf, diag::Sink &sink);

} // namespace tegula::jit
