// tegula compile, explain, check and passes.
#include "Arguments.h"
#include "Json.h"
#include "Verbs.h"
#include "base/Files.h"

#include <iostream>
#include <optional>

namespace tegula::cli {
namespace {

tg::Expected<tg::Kernel> compiled(const Opened &opened, const CompileFlags &options) {
  tg::CompileOptions raw;
  raw.cpu = options.cpu;
  raw.numWarps = options.numWarps;
  raw.numStages = options.numStages;
  raw.debug = options.debug;
  raw.options = options.options;
  raw.printBefore = options.printBefore;
  raw.printAfter = options.printAfter;
  raw.print = [](const char *text) { std::cerr << text << std::flush; };
  return opened.function.compile(options.signature, raw);
}

int write(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::cout << text << std::flush;
    return ExitOk;
  }
  int code = put(path, {text});
  return code == -1 ? int(ExitOk) : code;
}

void printJson(const std::vector<tg::Diagnostic> &diagnostics) {
  for (const tg::Diagnostic &d : diagnostics)
    std::cout << "{\"severity\": \""
              << (d.severity == TG_ERROR     ? "error"
                  : d.severity == TG_WARNING ? "warning"
                                             : "remark")
              << "\", \"kind\": " << json(d.kind) << ", \"file\": " << json(d.file)
              << ", \"line\": " << d.line << ", \"column\": " << d.column
              << ", \"message\": " << json(d.message) << ", \"hint\": " << json(d.hint) << "}\n";
}

// One kernel, for a signature or for the arguments of a call.
int checkKernel(const std::string &kernel, const CheckOptions &options) {
  auto grid = gridOf(options.grid);
  if (auto *error = std::get_if<UsageError>(&grid))
    return usage(*error);
  auto opened = open(kernel, "interp");
  if (!opened)
    return report(opened.error());
  Bound bound;
  for (const std::string &argument : options.arguments)
    if (int code = cli::bind(bound, argument, /*hasMemory=*/false); code != -1)
      return code;
  std::vector<int64_t> elements;
  for (const tg_argument &argument : bound.arguments) {
    auto array = bound.arrays.find(argument.name);
    elements.push_back(-1);
    if (array != bound.arrays.end())
      elements.back() = int64_t(array->second.bytes / tg_dtype_size(array->second.dtype));
  }
  const std::vector<int64_t> &extents = std::get<0>(grid);
  tg_check_options raw{};
  raw.struct_size = sizeof raw;
  raw.signature = options.arguments.empty() ? options.signature.c_str() : nullptr;
  raw.arguments = bound.arguments.data();
  raw.count = bound.arguments.size();
  raw.elements = elements.data();
  raw.grid = extents.empty() ? nullptr : extents.data();
  raw.grid_count = extents.size();
  tg::Error findings = opened->function.check(raw);
  if (findings.diagnostics().empty() && findings.status() == TG_OK)
    return ExitOk;
  if (!options.isJson)
    return report(findings);
  printJson(findings.diagnostics());
  return ExitDiagnostics;
}

bool namesKernel(const std::string &file) { return file.rfind("::") != std::string::npos; }

} // namespace

int compile(const CompileFlags &options) {
  if (isSameFile(options.output, options.kernel.substr(0, options.kernel.rfind("::"))))
    return usage({"the output would be written over the kernel's file", "name another file in -o"});
  auto opened = open(options.kernel, options.target);
  if (!opened)
    return report(opened.error());
  auto kernel = compiled(*opened, options);
  if (!kernel)
    return report(kernel.error());
  reportWarnings(*kernel);
  auto text = kernel->stage(options.emit);
  if (!text)
    return report(text.error());
  if (options.showTimes)
    for (const auto &[stage, milliseconds] : kernel->times())
      std::fprintf(stderr, "%-10s %8.2f ms\n", stage.c_str(), milliseconds);
  return write(options.output, *text);
}

int passes(const PassesFlags &options) {
  auto all = tg::passes(options.target);
  if (!all)
    return report(all.error());
  std::string form = "ttir"; // of the kernel, at the first pass
  for (const tg::Pass &pass : *all) {
    form = pass.gives.empty() ? form : pass.gives;
    std::printf("%-27s %-6s %s\n", pass.name.c_str(), form.c_str(), pass.what.c_str());
  }
  return ExitOk;
}

int explain(const CompileFlags &options) {
  auto opened = open(options.kernel, options.target);
  if (!opened)
    return report(opened.error());
  auto kernel = compiled(*opened, options);
  if (!kernel)
    return report(kernel.error());
  for (const tg::Remark &remark : kernel->remarks())
    std::cout << remark.location << ": " << remark.kind << ": " << remark.text << "\n";
  return ExitOk;
}

int check(const CheckOptions &options) {
  bool hasTypes = !options.signature.empty() || !options.arguments.empty();
  if (!options.signature.empty() && !options.arguments.empty())
    return usage(UsageError{"--signature and --arg both say types", "give one of them"});
  for (const std::string &file : options.files)
    if (namesKernel(file) != hasTypes)
      return usage(hasTypes ? UsageError{"`" + file + "` names no kernel", "write FILE.py::KERNEL"}
                            : UsageError{"a kernel is checked for types",
                                         "give --signature, or --arg of each parameter"});
  auto context = tg::Context::create();
  if (!context)
    return report(context.error());
  int code = ExitOk;
  for (const std::string &file : options.files) {
    if (namesKernel(file)) {
      code = std::max(code, checkKernel(file, options));
      continue;
    }
    auto checked = context->check(file);
    if (checked)
      continue;
    if (options.isJson)
      printJson(checked.error().diagnostics());
    code = std::max<int>(code, options.isJson ? ExitDiagnostics : report(checked.error()));
  }
  return code;
}

} // namespace tegula::cli
