// The mistakes of a kernel, for the values of a launch.
#include "base/DeepStack.h"
#include "capi/Handles.h"
#include "compiler/Core.h"
#include "compiler/Signature.h"

using namespace tegula;
using capi::guarded;

namespace {

std::optional<sema::Request> requestOf(tg_function *function, const tg_check_options &options,
                                       std::span<const jit::Argument> arguments, diag::Sink &sink) {
  compiler::CompileOptions compileOptions;
  compileOptions.target = "interp"; // tile IR is the same of all
  if (!options.signature)
    return function->dispatcher.requestFor(arguments, compileOptions, sink);
  auto specs = compiler::parseSignature(options.signature, function->dispatcher.function(),
                                        function->dispatcher.parameters(), sink);
  if (!specs)
    return std::nullopt;
  return sema::Request{function->dispatcher.functionPointer(), std::move(*specs), compileOptions.language};
}

// The integers and arrays of a call, by the names of their parameters.
compiler::KnownLaunch launchOf(tg_function *function, const tg_check_options &options,
                               std::span<const jit::Argument> arguments) {
  compiler::KnownLaunch launch;
  const auto &parameters = function->dispatcher.parameters();
  for (size_t i = 0; i != arguments.size(); ++i) {
    const jit::Leaf &leaf = arguments[i].leaf;
    std::string name(arguments[i].name);
    if (name.empty() && i < parameters.size())
      name = parameters[i].name;
    if (leaf.kind == jit::LeafKind::Int)
      launch.integers[name] = int64_t(leaf.bits);
    if (leaf.kind == jit::LeafKind::Pointer && options.elements && options.elements[i] >= 0)
      launch.elements[name] = options.elements[i];
  }
  return launch;
}

} // namespace

tg_status tg_check_kernel(tg_function *function, const tg_check_options *options, tg_diagnostics **findings) {
  std::vector<diag::Diagnostic> warnings;
  tg_status status = guarded(findings, [&](diag::Sink &sink) {
    std::optional<tg_check_options> known = capi::read(options, "tg_check_options", sink);
    if (!known || !capi::checkHandle(function, "tg_function", sink) ||
        !capi::checkItems(known->arguments, known->count, capi::mostArguments, "arguments", sink) ||
        (known->grid_count && !capi::checkGiven(known->grid, "grid", sink)))
      return;
    llvm::SmallVector<jit::Argument, 16> arguments;
    if (!capi::readArguments(function, {known->arguments, known->count}, arguments, sink))
      return;
    compiler::KnownLaunch launch = launchOf(function, *known, arguments);
    if (known->grid && !(launch.grid = jit::makeGrid({known->grid, known->grid_count}, {}, sink)))
      return;
    if (std::optional<sema::Request> request = requestOf(function, *known, arguments, sink))
      if (const compiler::Core *core = compiler::requireCore("interp", sink))
        onDeepStack([&] { core->findMistakes(*request, launch, sink); });
    warnings = sink.all();
  });
  if (status == TG_OK && findings && !warnings.empty())
    *findings = new tg_diagnostics(std::move(warnings));
  return status;
}
