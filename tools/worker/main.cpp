// tegula-worker: assembles PTX for the process that started it, until that process closes the
// socket. It is its own process so that a tool that crashes, hangs or eats memory takes nothing
// of the host along. In: requests on descriptor 0. Out: replies there. It knows no LLVM.
#include "Tools.h"

#include "base/Environment.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <poll.h>
#include <sys/resource.h>

using namespace tegula::nvidia::worker;

// A library that is named is wanted.
static bool prefersLibrary() { return *valueOf(tegula::Variable::Nvjitlink) != 0; }

static std::optional<Answer> assemble(const std::string &arch, const std::string &ptx) {
  if (prefersLibrary())
    return assembleInProcess(arch, ptx);
  // The program first: it sees the whole of the code, the library leaves room for a linker, at the cost of
  // registers.
  std::optional<Answer> answer = assembleWithProgram(arch, ptx);
  return answer ? std::move(answer) : assembleInProcess(arch, ptx);
}

static Answer perform(const Request &request, const std::string &arch, const std::string &text) {
  bool assembles = request.task == Task::Assemble;
  std::optional<Answer> answer = assembles ? assemble(arch, text) : disassemble(text);
  if (answer)
    return std::move(*answer);
  return {Outcome::NoTool,
          {},
          assembles ? "no assembler was found: neither ptxas nor libnvJitLink"
                    : "neither nvdisasm nor cuobjdump was found",
          {}};
}

static void prepare(const std::string &arch) {
  if (prefersLibrary())
    warmUpInProcess();
  else
    prepareProgram(arch);
}

// An assembler that nobody needs for so long ends, and gives back its 20 MB.
constexpr int longestWait = 5000; // milliseconds

// Waits until there is a request, or the end of the host.
static void await(int socket) {
  pollfd waiting{socket, POLLIN, 0};
  if (hasPrepared() && ::poll(&waiting, 1, longestWait) == 0)
    dropPrepared();
}

static bool serveOne(int socket) {
  await(socket);
  Request request;
  std::string arch, text;
  if (!receiveAll(socket, &request, sizeof request) || request.magic != magic || request.archSize > 64 ||
      !receiveString(socket, arch, request.archSize) || !receiveString(socket, text, request.textSize))
    return false;
  if (request.task == Task::Prepare) {
    prepare(arch);
    return true;
  }
  Answer answer = perform(request, arch, text);
  Reply reply{magic, answer.outcome, answer.result.size(), answer.log.size(), answer.tool.size()};
  bool isSent = sendAll(socket, &reply, sizeof reply) &&
                sendAll(socket, answer.result.data(), answer.result.size()) &&
                sendAll(socket, answer.log.data(), answer.log.size()) &&
                sendAll(socket, answer.tool.data(), answer.tool.size());
  // Kernels come one behind the other: the next one's assembler starts while that kernel is made. Its start
  // takes longer than the text of a small kernel.
  if (isSent && request.task == Task::Assemble && !prefersLibrary())
    prepareProgram(arch);
  return isSent;
}

int main(int, char **) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(0, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("tegula-worker serves the library that starts it; it has nothing to say to you\n", stderr);
    return 2;
  }
  // Ctrl-C is for the host; its end closes the socket.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN); // a program may end before it has read its text
  rlimit core{0, 0};
  // The shadows of sanitizers take terabytes of addresses.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  rlimit memory{rlim_t(16) << 30, rlim_t(16) << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  setrlimit(RLIMIT_CORE, &core);
  while (serveOne(0))
    ;
  return 0;
}
