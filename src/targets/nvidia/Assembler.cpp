#include "targets/nvidia/Assembler.h"
#include "targets/nvidia/AssemblerLog.h"
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

} // namespace

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
                                                    errorsIn(answer->log) + "\n  the PTX is " + keep(ptx));
  case worker::Outcome::Refused: {
    Status status = Status::error(saysTooLarge(answer->log) ? StatusCode::Resource : StatusCode::Toolchain,
                                  placeOfError(answer->log, ptx) + limitIn(answer->log) +
                                      "the assembler refuses the kernel: `" + answer->tool + "` for " + arch +
                                      errorsIn(answer->log));
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
    return Status::error(StatusCode::Toolchain, "`" + answer->tool + "` failed" + errorsIn(answer->log));
  return std::move(answer->result);
}

} // namespace tegula::nvidia
