// tegula compile, explain, check and passes.
#include "Verbs.h"

#include <cstring>
#include <fstream>
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
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!(file << text) || !file.flush())
    return report(path, std::string("cannot be written: ") + std::strerror(errno), "check the path");
  return ExitOk;
}

std::string escaped(const std::string &text) {
  std::string out;
  for (unsigned char c : text) {
    char code[8];
    if (c == '"' || c == '\\')
      out += {'\\', char(c)};
    else if (c == '\n')
      out += "\\n";
    else if (c < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else
      out += char(c);
  }
  return '"' + out + '"';
}

void printJson(const std::vector<tg::Diagnostic> &diagnostics) {
  for (const tg::Diagnostic &d : diagnostics)
    std::cout << "{\"severity\": \""
              << (d.severity == TG_ERROR     ? "error"
                  : d.severity == TG_WARNING ? "warning"
                                             : "remark")
              << "\", \"kind\": " << escaped(d.kind) << ", \"file\": " << escaped(d.file)
              << ", \"line\": " << d.line << ", \"column\": " << d.column
              << ", \"message\": " << escaped(d.message) << ", \"hint\": " << escaped(d.hint) << "}\n";
}

} // namespace

int compile(const CompileFlags &options) {
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
  auto context = tg::Context::create();
  if (!context)
    return report(context.error());
  int code = ExitOk;
  for (const std::string &file : options.files) {
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
