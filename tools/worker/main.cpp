// tegula-worker: assembles PTX for the process that started it, until that process closes the
// socket. It is its own process so that a tool that crashes, hangs or eats memory takes nothing
// of the host along, and no child of that process, which may wait for all its children. In: requests on
// descriptor 0. Out: replies there. When the socket hangs up it ends at once, with the tool that runs. It
// knows no LLVM.
#include "Tools.h"

#include "base/Environment.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
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
  int ready = 1;
  while (hasPrepared() && (ready = ::poll(&waiting, 1, longestWait)) < 0 && errno == EINTR)
    ; // by the signal that the host has read its reply
  if (ready == 0)
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

static bool isAlone() {
  pollfd state{0, 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLHUP);
}

// A host that was killed, or that waited long enough, leaves a tool at work that has gigabytes: the end of
// the socket ends both. A signal says so, since a library that works in this thread looks at no socket.
static void endWhenAlone(int) {
  int error = errno;
  if (isAlone())
    ::kill(0, SIGKILL); // the group: this process and what it started
  errno = error;
}

static void watchHost() {
  struct sigaction action{};
  action.sa_handler = endWhenAlone;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGIO, &action, nullptr);
  ::fcntl(0, F_SETOWN, ::getpid());
  ::fcntl(0, F_SETFL, ::fcntl(0, F_GETFL) | O_ASYNC);
  endWhenAlone(SIGIO); // a host that ended before
}

// True in a process that is no child of the host, and is the first of a session and group of its own: no
// signal from the host's terminal, and a group that can be ended.
static bool leaveHost() {
  pid_t child = ::fork();
  if (child == 0)
    ::setsid();
  return child == 0;
}

int main(int, char **) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(0, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("tegula-worker serves the library that starts it; it has nothing to say to you\n", stderr);
    return 2;
  }
  if (!leaveHost())
    return 0;
  std::signal(SIGPIPE, SIG_IGN); // a program may end before it has read its text
  rlimit core{0, 0};
  // The shadows of sanitizers take terabytes of addresses.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  rlimit memory{rlim_t(16) << 30, rlim_t(16) << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  setrlimit(RLIMIT_CORE, &core);
  watchHost();
  while (serveOne(0))
    ;
  return 0;
}
