// Single operations for a host that runs the statements of a function itself: the parts of a visit that a
// builtin's row does not say, through the visitor's own functions. Loop bounds are in VisitLoop.cpp.
#include "sema/Visitor.h"

namespace tegula::sema {

namespace {

// Whoever calls is no function of the language.
const Function &nobody() {
  static const Function function;
  return function;
}

} // namespace

std::optional<Value> Visitor::fromHost(llvm::function_ref<std::optional<Value>()> operation) {
  Frame outermost{nobody(), nullptr, {}, {}, 0, 0};
  frame = &outermost;
  auto result = operation();
  frame = nullptr;
  return result;
}

std::optional<Value> Visitor::callFromHost(const Value &callee, std::span<const Value> arguments,
                                           std::span<const NamedValue> keywords) {
  return callValue(callee, arguments, keywords);
}

std::optional<Value> Visitor::conditionFromHost(const Value &value) {
  auto found = condition(value);
  if (!found)
    return std::nullopt;
  return found->constant ? Value(Const{*found->constant}) : Value(Tensor{found->runTime, Type{DType::I1}});
}

} // namespace tegula::sema
