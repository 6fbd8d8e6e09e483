#include "targets/nvidia/Workers.h"
#include "base/Environment.h"
#include "runtime/Interrupt.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

namespace tegula::nvidia {
namespace {

struct Worker {
  pid_t process = 0; // 0: not started
  int socket = -1;
  bool busy = false;
};

struct Pool {
  std::mutex mutex;
  std::condition_variable freed;
  std::array<Worker, 16> workers;
  size_t limit = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
};

// Never destroyed: the kernel closes the sockets when the process ends, and the workers follow.
Pool *pool = nullptr;

// A forked child shares its parent's sockets and must not speak on them.
void leaveToParent() {
  for (Worker &worker : pool->workers)
    if (worker.socket >= 0)
      ::close(worker.socket);
  pool = new Pool;
}

Pool &thePool() {
  static std::once_flag once;
  std::call_once(once, [] {
    pool = new Pool;
    pthread_atfork(nullptr, nullptr, leaveToParent);
  });
  return *pool;
}

Status start(Worker &worker) {
  std::string program = workerProgram();
  if (program.empty())
    return Status::error(StatusCode::Unsupported,
                         "the program tegula-worker is missing beside the library; hint: "
                         "install it there, or name it in TEGULA_WORKER");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return Status::error(StatusCode::Toolchain,
                         std::string("no socket for tegula-worker: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Its own group, so that it can be ended with all that it started; no signal of the host's.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  char *words[] = {program.data(), nullptr};
  int error = posix_spawn(&worker.process, program.c_str(), &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    worker.process = 0;
    return Status::error(StatusCode::Unsupported,
                         "`" + program + "` cannot be started: " + std::strerror(error));
  }
  worker.socket = ends[0];
  return Status::success();
}

// Ends the worker and says how it ended.
std::string end(Worker &worker, bool kill) {
  if (kill)
    ::kill(-worker.process, SIGKILL);
  ::close(worker.socket);
  int status = 0;
  while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR)
    ;
  worker.process = 0;
  worker.socket = -1;
  if (WIFSIGNALED(status))
    return std::string("it ended by a signal: ") + strsignal(WTERMSIG(status));
  return "it ended with status " + std::to_string(WEXITSTATUS(status));
}

int timeoutSeconds() { return int(*numberOf(Variable::AssemblerTimeout)); }

enum class Wait { Replied, TimedOut, Interrupted };

Wait waitForReply(int socket, runtime::Interrupt &interrupt) {
  constexpr auto turn = std::chrono::milliseconds(50); // a signal may come to another thread
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(timeoutSeconds());
  pollfd waiting{socket, POLLIN, 0};
  while (std::chrono::steady_clock::now() < end) {
    if (::poll(&waiting, 1, int(turn.count())) > 0)
      return Wait::Replied;
    if (interrupt.hasCome())
      return Wait::Interrupted;
  }
  return Wait::TimedOut;
}

// The worker is lost when this is an error.
Result<WorkerAnswer> exchange(Worker &worker, const worker::Request &request, const std::string &arch,
                              const std::string &text) {
  using namespace worker;
  int socket = worker.socket;
  runtime::Interrupt interrupt;
  interrupt.watch();
  bool sent = sendAll(socket, &request, sizeof request) && sendAll(socket, arch.data(), arch.size()) &&
              sendAll(socket, text.data(), text.size());
  Wait waited = sent ? waitForReply(socket, interrupt) : Wait::Replied;
  if (waited != Wait::Replied)
    end(worker, true);
  if (waited == Wait::Interrupted)
    return Status::error(StatusCode::Launch, "the compile was interrupted while the assembler ran");
  if (waited == Wait::TimedOut)
    return Status::error(StatusCode::Toolchain,
                         "the assembler did not finish within " + std::to_string(timeoutSeconds()) +
                             " seconds and was ended; hint: TEGULA_ASSEMBLER_TIMEOUT gives it more");
  Reply reply;
  WorkerAnswer answer;
  if (!sent || !receiveAll(socket, &reply, sizeof reply) || reply.magic != magic ||
      !receiveString(socket, answer.result, reply.resultSize) ||
      !receiveString(socket, answer.log, reply.logSize) ||
      !receiveString(socket, answer.tool, reply.toolSize))
    return Status::error(StatusCode::Toolchain, "the assembler was lost: " + end(worker, true));
  answer.outcome = reply.outcome;
  return answer;
}

// Lends a worker that no other thread uses; waits when all are busy.
class Lent {
public:
  explicit Lent(Pool &pool) : pool_(pool) {
    std::unique_lock lock(pool_.mutex);
    auto idle = [&] {
      auto end = pool_.workers.begin() + long(pool_.limit);
      // One that runs already, rather than a new one.
      auto found =
          std::find_if(pool_.workers.begin(), end, [](const Worker &w) { return !w.busy && w.process; });
      if (found == end)
        found = std::find_if(pool_.workers.begin(), end, [](const Worker &w) { return !w.busy; });
      worker_ = found == end ? nullptr : &*found;
      return worker_ != nullptr;
    };
    pool_.freed.wait(lock, idle);
    worker_->busy = true;
  }
  ~Lent() {
    std::lock_guard guard(pool_.mutex);
    worker_->busy = false;
    pool_.freed.notify_one();
  }
  Worker &operator*() { return *worker_; }

private:
  Pool &pool_;
  Worker *worker_ = nullptr;
};

// A worker that ended while it was idle (someone killed it) is no failure of this request.
bool isAlive(Worker &worker) {
  if (!worker.process)
    return false;
  pollfd state{worker.socket, POLLIN, 0};
  if (::poll(&state, 1, 0) == 0)
    return true;
  end(worker, true);
  return false;
}

} // namespace

static bool isProgram(const std::string &path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// TEGULA_WORKER, or beside this library, or in the bin folder next to its folder.
std::string workerProgram() {
  if (const char *named = valueOf(Variable::Worker); *named)
    return named;
  Dl_info info{};
  std::string folder;
  if (dladdr(reinterpret_cast<void *>(&workerProgram), &info) && info.dli_fname) {
    char resolved[4096];
    // Of a program that is linked statically this may be a bare name.
    std::string file = std::strchr(info.dli_fname, '/') && realpath(info.dli_fname, resolved) ? resolved : "";
    if (ssize_t size; file.empty() && (size = ::readlink("/proc/self/exe", resolved, sizeof resolved)) > 0)
      file.assign(resolved, size_t(size));
    folder = file.substr(0, file.rfind('/'));
  }
  for (const char *below : {"/", "/../bin/", "/../../bin/"})
    if (std::string path = folder + below + "tegula-worker"; isProgram(path))
      return path;
  return {};
}

Result<WorkerAnswer> askWorker(worker::Request request, const std::string &arch, const std::string &text) {
  request.archSize = uint32_t(arch.size());
  request.textSize = text.size();
  Lent lent(thePool());
  if (!isAlive(*lent))
    if (Status status = start(*lent); !status.ok())
      return status;
  return exchange(*lent, request, arch, text);
}

void tellWorker(worker::Request request, const std::string &arch) {
  request.archSize = uint32_t(arch.size());
  Lent lent(thePool());
  if (isAlive(*lent) || start(*lent).ok())
    (void)(worker::sendAll((*lent).socket, &request, sizeof request) &&
           worker::sendAll((*lent).socket, arch.data(), arch.size()));
}

} // namespace tegula::nvidia
