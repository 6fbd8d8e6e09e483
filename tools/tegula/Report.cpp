// Opening kernels, and saying what went wrong.
#include "Verbs.h"
#include "base/Files.h"

#include <iostream>

namespace tegula::cli {

int report(const tg::Error &error) {
  if (error.status() == TG_RESOURCE && error.diagnostics().empty())
    return reportNoMemory();
  std::string text = error.text();
  std::cerr << text << (text.ends_with('\n') ? "" : "\n");
  return error.status() == TG_INTERNAL ? ExitInternal : ExitDiagnostics;
}

int report(const std::string &what, const std::string &reason, const std::string &hint) {
  std::cerr << what << ": error: " << reason << "\n";
  if (!hint.empty())
    std::cerr << "  hint: " << hint << "\n";
  return ExitDiagnostics;
}

int reportNoMemory() {
  return report("tegula", "there is not enough memory",
                "take smaller arrays, or raise the limit (`ulimit -v`)");
}

int put(const std::string &path, std::initializer_list<std::string_view> pieces) {
  Status status = writeFile(path, pieces);
  return status.ok() ? -1
                     : report(path, "cannot be written: " + status.message,
                              "check the path, its permissions and the space left");
}

void reportWarnings(const tg::Kernel &kernel) {
  for (const tg::Diagnostic &d : kernel.warnings()) {
    if (d.kind == "StaticPrint") {
      std::cerr << d.message << "\n";
      continue;
    }
    if (!d.file.empty())
      std::cerr << d.file << ":" << d.line << ":" << d.column << ": ";
    std::cerr << "warning: " << d.message << " [" << d.kind << "]\n";
    if (!d.hint.empty())
      std::cerr << "  hint: " << d.hint << "\n";
  }
}

tg::Expected<Opened> open(const std::string &kernel, const std::string &target) {
  size_t separator = kernel.rfind("::");
  std::string path = kernel.substr(0, separator);
  auto context = tg::Context::create(target);
  if (!context)
    return context.error();
  auto module = context->open(path);
  if (!module)
    return module.error();
  // A file with one kernel needs no name; "" makes the error that lists them all.
  std::string name = separator == std::string::npos ? "" : kernel.substr(separator + 2);
  std::vector<tg::Function> functions = module->functions();
  if (name.empty() && functions.size() == 1)
    name = functions.front().name();
  auto function = module->function(name);
  if (!function)
    return function.error();
  return Opened{std::move(*context), std::move(*module), std::move(*function)};
}

} // namespace tegula::cli
