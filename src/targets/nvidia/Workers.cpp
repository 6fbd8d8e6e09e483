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
  int socket = -1; // -1: not started
  bool busy = false;
  bool isStarted() const { return socket >= 0; }
};

struct Pool {
  std::mutex mutex;
  std::condition_variable freed;
  std::array<Worker, 16> workers;
  size_t limit = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
};

// Never destroyed: the kernel closes the sockets when the process ends, however it does, and the workers
// follow.
Pool *pool = nullptr;

// A forked child shares its parent's sockets and must not speak on them.
void leaveToParent() {
  for (Worker &worker : pool->workers)
    if (worker.isStarted())
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

// Two ends above the descriptors of the standard streams, also where the host has closed those: what it
// prints must not reach a worker.
bool makeSocket(int (&ends)[2]) {
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return false;
  for (int &end : ends)
    if (int low = end; low <= 2) {
      end = ::fcntl(low, F_DUPFD_CLOEXEC, 3);
      ::close(low);
    }
  if (ends[0] >= 0 && ends[1] >= 0)
    return true;
  int error = errno;
  for (int end : ends)
    if (end >= 0)
      ::close(end);
  errno = error;
  return false;
}

// The program that is spawned forks the worker and ends at once, so that no child of the host is left: one
// that waits for all its children would wait for the worker.
Status start(Worker &worker) {
  std::string program = workerProgram();
  if (program.empty())
    return Status::error(StatusCode::Unsupported,
                         "the program tegula-worker is missing beside the library; hint: "
                         "install it there, or name it in TEGULA_WORKER");
  int ends[2];
  if (!makeSocket(ends))
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
  // No signal of the host's.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  char *words[] = {program.data(), nullptr};
  pid_t starter = 0;
  int error = posix_spawn(&starter, program.c_str(), &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    return Status::error(StatusCode::Unsupported,
                         "`" + program + "` cannot be started: " + std::strerror(error));
  }
  // Who reaps all its children, or ignores SIGCHLD, has it already.
  while (waitpid(starter, nullptr, 0) < 0 && errno == EINTR)
    ;
  worker.socket = ends[0];
  return Status::success();
}

// A worker ends, with all that it started, when its socket is closed, also in the midst of a text.
void end(Worker &worker) {
  ::close(worker.socket);
  worker.socket = -1;
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
    end(worker);
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
      !receiveString(socket, answer.tool, reply.toolSize)) {
    end(worker);
    return Status::error(StatusCode::Toolchain,
                         "the assembler was lost: its process `tegula-worker` was killed, or crashed");
  }
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
          std::find_if(pool_.workers.begin(), end, [](const Worker &w) { return !w.busy && w.isStarted(); });
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
  if (!worker.isStarted())
    return false;
  pollfd state{worker.socket, POLLIN, 0};
  if (::poll(&state, 1, 0) == 0)
    return true;
  end(worker);
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
