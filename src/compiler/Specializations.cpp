#include "compiler/Specializations.h"
#include "base/Environment.h"
#include "compiler/Literal.h"
#include "sema/Const.h"
#include "sema/Session.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tegula::compiler {
namespace {

std::optional<std::string> valueText(const sema::ArgumentSpec &argument) {
  if (argument.elements)
    return std::nullopt;
  if (auto *constant = std::get_if<sema::Const>(&argument.value)) {
    std::string text = sema::repr(*constant);
    std::optional<sema::Const> read = parseLiteral(text);
    return read && sema::repr(*read) == text ? std::optional(text) : std::nullopt;
  }
  const auto &type = std::get<sema::Type>(argument.value);
  if (!type.shape.empty())
    return std::nullopt;
  std::string text = (type.pointer ? type.isConst ? "*k" : "*" : "") + std::string(name(type.element));
  return argument.divisibility > 1 ? text + ":" + std::to_string(argument.divisibility) : text;
}

constexpr std::string_view precisionNames[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};
static_assert(int(sema::DotPrecision::TF32) == 0 && int(sema::DotPrecision::BF16x6) == 4);

// The options that differ from a launch without any.
std::string optionsText(const sema::LanguageOptions &language, const TargetOptions &target) {
  const sema::LanguageOptions plain;
  const TargetOptions plainTarget;
  std::string text;
  auto add = [&](bool differs, std::string_view name, const std::string &value) {
    if (differs)
      text += (text.empty() ? "" : ",") + std::string(name) + "=" + value;
  };
  auto word = [](bool flag) { return std::string(flag ? "True" : "False"); };
  add(language.numWarps != plain.numWarps, "num_warps", std::to_string(language.numWarps));
  add(language.numStages != plain.numStages, "num_stages", std::to_string(language.numStages));
  add(language.debug != plain.debug, "debug", word(language.debug));
  add(language.sanitizesOverflow != plain.sanitizesOverflow, "sanitize_overflow",
      word(language.sanitizesOverflow));
  add(language.dotPrecision != plain.dotPrecision, "default_dot_input_precision",
      "'" + std::string(precisionNames[size_t(language.dotPrecision)]) + "'");
  add(target.maxRegisters != 0, "maxnreg", std::to_string(target.maxRegisters));
  add(target.fusesMultiplyAdd != plainTarget.fusesMultiplyAdd, "enable_fp_fusion",
      word(target.fusesMultiplyAdd));
  add(target.isCooperative, "launch_cooperative_grid", word(target.isCooperative));
  return text;
}

std::string placeOf(const sema::Request &request) {
  return request.kernel->tree->at(request.kernel->definition->nameRange).source->path() +
         "::" + request.kernel->definition->name;
}

std::string shellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// One write, so that lines of processes do not mix.
Status append(const char *path, const std::string &line) {
  int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  ssize_t written = file < 0 ? -1 : ::write(file, line.data(), line.size());
  int error = errno;
  if (file >= 0)
    ::close(file);
  if (written == ssize_t(line.size()))
    return Status::success();
  return Status::error(StatusCode::Data, "TEGULA_RECORD names `" + std::string(path) +
                                             "`, which cannot be written: " + std::strerror(error) +
                                             "; hint: name a file in a folder of your own");
}

} // namespace

std::optional<std::string> signatureOf(std::span<const sema::ArgumentSpec> arguments) {
  std::string text;
  for (const sema::ArgumentSpec &argument : arguments) {
    std::optional<std::string> value = valueText(argument);
    if (!value)
      return std::nullopt;
    text += (text.empty() ? "" : ",") + argument.name + "=" + *value;
  }
  return text;
}

bool isClosed(const CompileOptions &options) { return options.isClosed || isOn(Variable::Closed); }

std::unique_ptr<Compilation> refuseToCompile(const sema::Request &request, const CompileOptions &options,
                                             diag::Sink &sink) {
  std::optional<std::string> signature = signatureOf(request.arguments);
  std::string what = signature ? "signature " + shellQuoted(*signature)
                               : "arguments that a signature cannot say (functions, classes, tuples)";
  std::string how = signature
                        ? "tegula build " + placeOf(request) + " --targets " + options.target +
                              " --signature " + shellQuoted(*signature) +
                              " for C and C++; for Python run it once with TEGULA_CLOSED=0, and ship `tegula "
                              "cache export`"
                        : "run it once with TEGULA_CLOSED=0, and ship `tegula cache export`";
  sink.report(diag::Kind::ClosedProcess, request.kernel->tree->at(request.kernel->definition->nameRange),
              {request.kernel->definition->name, options.target, what, how});
  return nullptr;
}

Status record(const sema::Request &request, const CompileOptions &options,
              const TargetOptions &targetOptions) {
  const char *path = valueOf(Variable::Record);
  if (!*path)
    return Status::success();
  std::optional<std::string> signature = signatureOf(request.arguments);
  std::string target = targetOptions.arch.empty() ? options.target : targetOptions.arch;
  return append(path, (signature ? "" : "# no signature can say its arguments: ") + placeOf(request) + "\t" +
                          target + "\t" + optionsText(request.options, targetOptions) + "\t" +
                          signature.value_or("") + "\n");
}

} // namespace tegula::compiler
