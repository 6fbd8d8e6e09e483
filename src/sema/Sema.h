// tree + argument types -> tile IR. The entry of the front end: specializes one kernel for
// the types and constants of its arguments.
#pragma once
#include "sema/HostRecord.h"
#include "sema/Session.h"
#include "sema/Value.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace tegula::sema {

// What is known of one argument: its run-time type, or its value when it is a constant
// (constexpr parameters, None, and integers specialized because they are 1).
struct ArgumentSpec {
  std::string name;
  std::variant<Type, Const> value;
  unsigned divisibility = 1; // 16 or 8: pointers by bytes, integers by value
  // Of a tuple with run-time elements, then `value` says nothing: the elements in order, and their class.
  std::optional<std::vector<ArgumentSpec>> elements = std::nullopt;
  TupleClassPtr tupleClass = nullptr; // null: a plain tuple
};

struct Request {
  std::shared_ptr<const Function> kernel;
  std::vector<ArgumentSpec> arguments; // any order; parameters with defaults may be left out
  LanguageOptions options;
  HostRecord *record = nullptr; // gets what the host was asked; null: nobody wants to know
  std::string name = {};        // of the kernel in code; empty: the function's
  // Sees the module as the text has it, ahead of any clean-up; empty: nobody wants to.
  std::function<void(mlir::ModuleOp)> asWritten = {};
};

// The name that the kernel has in code: characters that an assembler takes in no name are "_$_".
std::string nameInCode(const Request &request);

// A module with one tt.func of that name, whose arguments are the run-time
// parameters in order of declaration; null after diagnostics. The module verifies.
mlir::OwningOpRef<mlir::ModuleOp> specialize(mlir::MLIRContext &context, const Request &request,
                                             diag::Sink &sink);

// The functions decorated with `jit` in a tree, in order.
std::vector<std::shared_ptr<const Function>> kernelsOf(const std::shared_ptr<const syntax::Tree> &tree,
                                                       const std::shared_ptr<HostEnv> &env);

} // namespace tegula::sema
