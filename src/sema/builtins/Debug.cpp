// Checks and prints, most of them while compiling.
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace {

std::string printed(const Value &value) {
  return value.constant() ? str(*value.constant()) : describe(value);
}

} // namespace

std::optional<Value> call_static_print(Call &call) {
  auto separator = call.text(1);
  if (!separator)
    return std::nullopt;
  std::string line;
  const auto values = *elementsOf(call[0]);
  for (size_t i = 0; i < values.size(); ++i)
    line += (i ? *separator : "") + printed(values[i]);
  call.session.warn(diag::Kind::StaticPrint, {line});
  return Value();
}

std::optional<Value> call_static_assert(Call &call) {
  auto holds = call.flag(0);
  if (!holds)
    return std::nullopt;
  std::string message = printed(call[1]);
  if (!*holds)
    return call.session.fail(diag::Kind::StaticAssertFailed, {message.empty() ? "" : ": " + message});
  return Value();
}

std::optional<Value> call_device_assert(Call &call) {
  if (call.session.options.debug)
    return call.session.fail(diag::Kind::UnsupportedBuiltin, {call.row.display(), "compile without `debug`"});
  return Value();
}

} // namespace tegula::sema::builtins
