// tegula-worker: assembles PTX for the process that started it, until that process closes the
// socket. It is its own process so that a tool that crashes, hangs or eats memory takes nothing
// of the host along. In: requests on descriptor 0. Out: replies there. It knows no LLVM.
#include "Tools.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/resource.h>

using namespace tegula::nvidia::worker;

// The library saves starting a program; a ptxas that is named is wanted.
static bool usesLibrary() {
  const char *named = std::getenv("TEGULA_PTXAS");
  return !named || !*named;
}

static Answer perform(const Request &request, const std::string &arch, const std::string &text) {
  const char *none = "no assembler was found: neither libnvJitLink nor ptxas";
  std::optional<Answer> answer;
  if (request.task == Task::Disassemble) {
    answer = disassemble(text);
    none = "neither nvdisasm nor cuobjdump was found";
  } else {
    if (usesLibrary())
      answer = assembleInProcess(arch, request.lineInfo, text);
    if (!answer)
      answer = assembleWithProgram(arch, request.lineInfo, text);
  }
  return answer ? std::move(*answer) : Answer{Outcome::NoTool, {}, none, {}};
}

static bool serveOne(int socket) {
  Request request;
  std::string arch, text;
  if (!receiveAll(socket, &request, sizeof request) || request.magic != magic || request.archSize > 64 ||
      !receiveString(socket, arch, request.archSize) || !receiveString(socket, text, request.textSize))
    return false;
  Answer answer = perform(request, arch, text);
  Reply reply{magic, answer.outcome, answer.result.size(), answer.log.size(), answer.tool.size()};
  return sendAll(socket, &reply, sizeof reply) && sendAll(socket, answer.result.data(), answer.result.size()) &&
         sendAll(socket, answer.log.data(), answer.log.size()) && sendAll(socket, answer.tool.data(), answer.tool.size());
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
  rlimit memory{rlim_t(16) << 30, rlim_t(16) << 30}, core{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
  if (usesLibrary())
    warmUpInProcess(); // while the host still compiles
  while (serveOne(0))
    ;
  return 0;
}
