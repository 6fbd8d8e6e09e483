#include "targets/nvidia/Assembler.h"
#include "base/OverLimit.h"
#include "targets/nvidia/ToolSearch.h"
#include "targets/nvidia/Workers.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <sys/stat.h>

namespace tegula::nvidia {
namespace {

// The path of a new file with `ptx`, for whoever looks into a failure.
std::string keep(const std::string &ptx) {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/tegula-XXXXXX.ptx";
  int file = ::mkstemps(path.data(), 4);
  if (file < 0)
    return "(which could not be kept)";
  bool whole = ::write(file, ptx.data(), ptx.size()) == ssize_t(ptx.size());
  ::close(file);
  return whole ? path : path + " (not whole)";
}

// Its errors, or all of it when it has none; bounded, since it ends up in a message.
std::string shorten(const std::string &log) {
  std::string errors, rest;
  for (size_t start = 0; start < log.size();) {
    size_t end = std::min(log.find('\n', start), log.size());
    std::string line = log.substr(start, end - start);
    bool isError = line.find("error") != std::string::npos || line.find("fatal") != std::string::npos;
    (isError ? errors : rest) += "\n  " + line;
    start = end + 1;
  }
  std::string text = errors.empty() ? rest : errors;
  return text.size() > 2000 ? text.substr(0, 2000) + " ..." : text;
}

bool isTooLarge(const std::string &log) {
  for (const char *sign :
       {"uses too much shared data", "uses too much", "too many registers", "Register allocation failed"})
    if (log.find(sign) != std::string::npos)
      return true;
  return false;
}

// "Entry function 'f' uses too much shared data (0x40000 bytes, 0xc000 max)" -> the sentence with these
// numbers, and a new line; empty where the log has none such.
std::string limitIn(const std::string &log) {
  constexpr std::string_view sign = "uses too much ";
  size_t at = log.find(sign);
  char name[16];
  unsigned long long required = 0, limit = 0;
  if (at == std::string::npos ||
      std::sscanf(log.c_str() + at + sign.size(), "%15s data (%llx bytes, %llx max)", name, &required,
                  &limit) != 3)
    return "";
  return overLimit(std::string(name) + " memory", required, limit) + "\n";
}

// The number before `word`, or behind `word` when `behind`.
std::optional<long> numberAt(const std::string &line, const std::string &word, bool behind) {
  size_t at = line.find(word);
  if (at == std::string::npos)
    return std::nullopt;
  size_t start = at + word.size();
  if (!behind) {
    start = at;
    while (start && line[start - 1] >= '0' && line[start - 1] <= '9')
      --start;
    if (start == at)
      return std::nullopt;
  }
  return std::strtol(line.c_str() + start, nullptr, 10);
}

} // namespace

void readUsage(const std::string &log, Assembled &out) {
  // A linker's own line counts what the system keeps for itself, too: the assembler's is better.
  size_t line = log.find("Used ");
  if (line == std::string::npos)
    line = log.find("used ");
  if (line != std::string::npos) {
    std::string usage = log.substr(line, log.find('\n', line) - line);
    out.registers = int(numberAt(usage, "sed ", true).value_or(-1));
    out.sharedBytes = numberAt(usage, " bytes smem", false).value_or(0);
  }
  auto stores = numberAt(log, " bytes spill stores", false),
       loads = numberAt(log, " bytes spill loads", false);
  if (stores && loads)
    out.spillBytes = int(std::max(*stores, *loads));
  if (auto stack = numberAt(log, " bytes stack frame", false))
    out.stackBytes = int(*stack);
}

void prepareToAssemble(const std::string &arch) { tellWorker({.task = worker::Task::Prepare}, arch); }

// The order is the worker's (tools/worker/main.cpp): a library that is named, the program, a library.
std::optional<std::string> identityOfAssembler() {
  char resolved[4096];
  std::string worker = workerProgram();
  std::vector<std::string> folders =
      toolFolders(!worker.empty() && ::realpath(worker.c_str(), resolved) ? resolved : worker);
  if (*valueOf(Variable::Nvjitlink))
    return identityOfTool(valueOf(Variable::Nvjitlink));
  if (std::string program = findProgram(Variable::Ptxas, "ptxas", folders); !program.empty())
    return identityOfTool(program);
  for (const std::string &path : libraryPaths(folders)) {
    struct stat status{};
    if (path.find('/') == path.npos)
      return std::nullopt;
    if (::stat(path.c_str(), &status) == 0)
      return identityOfTool(path);
  }
  return std::nullopt;
}

Result<Assembled> assemble(const std::string &ptx, const std::string &arch, std::optional<Status> *refusal) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  Result<WorkerAnswer> answer = askWorker({.task = worker::Task::Assemble}, arch, ptx);
  if (!answer) {
    Status status = answer.status();
    if (status.code == StatusCode::Toolchain)
      status.message += "; its PTX is " + keep(ptx);
    return status;
  }
  switch (answer->outcome) {
  case worker::Outcome::NoTool:
    return Status::error(StatusCode::Unsupported,
                         answer->log + "; hint: put ptxas on the PATH, or name it in TEGULA_PTXAS");
  case worker::Outcome::Crashed:
    return Status::error(StatusCode::Toolchain, "the assembler crashed: `" + answer->tool + "`" +
                                                    shorten(answer->log) + "\n  the PTX is " + keep(ptx));
  case worker::Outcome::Refused: {
    Status status = Status::error(isTooLarge(answer->log) ? StatusCode::Resource : StatusCode::Toolchain,
                                  limitIn(answer->log) + "the assembler refuses the kernel: `" +
                                      answer->tool + "` for " + arch + shorten(answer->log));
    // A worker that was started before the environment changed has the tool of then.
    if (refusal && identityOfTool(answer->tool) == identityOfAssembler())
      *refusal = status;
    if (status.code == StatusCode::Toolchain) // what a tuning tries and finds too large is no failure
      status.message += "\n  the PTX is " + keep(ptx);
    return status;
  }
  case worker::Outcome::Done: break;
  }
  Assembled result;
  result.cubin = std::move(answer->result);
  result.log = std::move(answer->log);
  result.tool = std::move(answer->tool);
  readUsage(result.log, result);
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return result;
}

Result<std::string> disassemble(const std::string &cubin) {
  Result<WorkerAnswer> answer = askWorker({.task = worker::Task::Disassemble}, "", cubin);
  if (!answer)
    return answer.status();
  if (answer->outcome == worker::Outcome::NoTool)
    return Status::error(StatusCode::Unsupported, answer->log + "; hint: name one in TEGULA_NVDISASM");
  if (answer->outcome != worker::Outcome::Done)
    return Status::error(StatusCode::Toolchain, "`" + answer->tool + "` failed" + shorten(answer->log));
  return std::move(answer->result);
}

} // namespace tegula::nvidia
