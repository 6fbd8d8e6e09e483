// The value of a constant expression: module-level assignments, default values of
// parameters, and conditions that must be known before a loop is built. Emits nothing.
// Names are answered by the caller.
#pragma once
#include "sema/Const.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tegula::sema {

// What a name is worth; nullopt: not known here.
using ResolveName = llvm::function_ref<std::optional<Const>(const syntax::Name &)>;

struct ConstFailure {
  ConstError error;
  const syntax::Node *where = nullptr;
};

std::optional<Const> evaluateExpression(const syntax::Expr *node, ResolveName resolve, ConstFailure &failure);

// A literal node (None, True, 3, 1.5, "a"); nullopt without an error for other nodes.
std::optional<Const> literalOf(const syntax::Expr *node, ConstError &error);
// `module.name` for the modules that the compiler knows (triton and below, math).
std::optional<Const> moduleAttribute(const ModuleRef &module, std::string_view name);
// Calls that have a value before a kernel runs: float("inf"), math.log2(8), triton.cdiv(9, 4),
// tl.constexpr(x). nullopt with error.kind NotConstant where `callee` is none of them.
std::optional<Const> foldCall(const Const &callee, std::span<const Const> arguments, ConstError &error);

// Is `annotation` tl.constexpr (under any name of the module)?
bool namesConstexpr(const syntax::Expr *annotation);

} // namespace tegula::sema
