// ptxas, nvdisasm and cuobjdump, on pipes and memory files.
#include "Tools.h"

#include "targets/nvidia/ToolSearch.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

namespace tegula::nvidia::worker {
namespace {

// A file that is only memory; programs open it as /proc/self/fd/N.
class MemoryFile {
public:
  explicit MemoryFile(const char *name, const std::string &content = {})
      : descriptor_(memfd_create(name, 0)) {
    for (size_t done = 0; done < content.size();) {
      ssize_t written = ::write(descriptor_, content.data() + done, content.size() - done);
      if (written <= 0)
        break;
      done += size_t(written);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  int descriptor() const { return descriptor_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  std::string content() const {
    struct stat status{};
    ::fstat(descriptor_, &status);
    std::string text(size_t(status.st_size), '\0');
    for (size_t done = 0; done < text.size();) {
      ssize_t count = ::pread(descriptor_, text.data() + done, text.size() - done, off_t(done));
      if (count <= 0)
        break;
      done += size_t(count);
    }
    return text;
  }

private:
  int descriptor_;
};

std::string findProgram(Variable variable, const char *name) {
  return nvidia::findProgram(variable, name, toolFolders());
}

// The environment of this process, in which the C library of a program takes its memory in large pages and in
// few steps. An assembler touches tens of megabytes once: with small pages the faults are a fifteenth of its
// time for a large kernel, a fourth for a small one. Where the system has no large pages, or the C library no
// such setting, nothing changes; what GLIBC_TUNABLES says already comes behind ours, and so counts.
class LargePages {
public:
  LargePages() {
    for (char **each = environ; *each; ++each)
      if (std::string_view(*each).starts_with(variable_))
        setting_ += ":" + std::string(*each).substr(variable_.size());
      else
        words_.push_back(*each);
    words_.push_back(setting_.data());
    words_.push_back(nullptr);
  }
  LargePages(const LargePages &) = delete;
  LargePages &operator=(const LargePages &) = delete;

  char **words() { return words_.data(); }

private:
  static constexpr std::string_view variable_ = "GLIBC_TUNABLES=";
  std::string setting_ =
      std::string(variable_) +
      "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:glibc.malloc.mmap_threshold=1073741824";
  std::vector<char *> words_;
};

// A program under way. Its text comes through a pipe, its outputs go to memory files.
class Process {
public:
  // The word `@out` stands for the path of the result, which is the standard output without it.
  explicit Process(std::vector<std::string> command, char **environment = environ)
      : tool_(command[0]), log_("log"), output_("output") {
    std::vector<char *> words;
    bool writesFile = false;
    for (std::string &word : command) {
      if (word == "@out") {
        word = output_.path();
        writesFile = true;
      }
      words.push_back(word.data());
    }
    words.push_back(nullptr);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      error_ = errno;
      return;
    }
    input_ = ends[1];
    start(words.data(), environment, ends[0], (writesFile ? log_ : output_).descriptor());
    ::close(ends[0]);
  }
  ~Process() {
    closeInput();
    if (process_)
      ::kill(process_, SIGKILL);
    wait();
  }
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  bool isStarted() const { return !error_; }

  // Gives it its text and waits for its end.
  Answer finish(const std::string &text) {
    Answer answer{Outcome::Refused, {}, {}, tool_};
    if (error_) {
      answer.log = "`" + tool_ + "` cannot be started: " + std::strerror(error_);
      return answer;
    }
    for (size_t done = 0; done < text.size();) {
      ssize_t written = ::write(input_, text.data() + done, text.size() - done);
      if (written <= 0)
        break; // it has ended: its status says why
      done += size_t(written);
    }
    closeInput();
    int status = wait();
    answer.log = log_.content();
    answer.result = output_.content();
    if (WIFSIGNALED(status)) {
      answer.outcome = Outcome::Crashed;
      answer.log += std::string(WTERMSIG(status) == SIGKILL ? "killed" : strsignal(WTERMSIG(status))) + "\n";
    } else if (WEXITSTATUS(status) == 0) {
      answer.outcome = Outcome::Done;
    } else {
      answer.log += "exit status " + std::to_string(WEXITSTATUS(status)) + "\n";
    }
    return answer;
  }

private:
  // As posix_spawn does, and with the wish to be killed when the worker ends, which only the child can state.
  void start(char **words, char **environment, int input, int output) {
    pid_t worker = ::getpid();
    pid_t child = ::vfork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != worker) // it has ended already
        ::_exit(127);
      ::signal(SIGPIPE, SIG_DFL);
      if (::dup2(input, 0) >= 0 && ::dup2(output, 1) >= 0 && ::dup2(log_.descriptor(), 2) >= 0)
        ::execve(words[0], words, environment);
      error_ = errno; // the memory is the worker's
      ::_exit(127);
    }
    if (child < 0)
      error_ = errno;
    else if (error_)
      ::waitpid(child, nullptr, 0);
    else
      process_ = child;
  }
  void closeInput() {
    if (input_ >= 0)
      ::close(input_);
    input_ = -1;
  }
  int wait() {
    int status = 0;
    while (process_ && waitpid(process_, &status, 0) < 0 && errno == EINTR)
      ;
    process_ = 0;
    return status;
  }
  std::string tool_;
  MemoryFile log_, output_;
  pid_t process_ = 0;
  int input_ = -1;
  volatile int error_ = 0;
};

// An assembler that waits for its text.
struct Prepared {
  std::string arch, identity;
  std::unique_ptr<Process> process;
} prepared;

std::unique_ptr<Process> startAssembler(const std::string &program, const std::string &arch) {
  std::vector<std::string> command = {program, "-v",   "-O3",       "-lineinfo", "--gpu-name=" + arch,
                                      "-o",    "@out", "/dev/stdin"};
  return std::make_unique<Process>(std::move(command), LargePages().words());
}

} // namespace

std::vector<std::string> toolFolders() {
  char self[4096];
  ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  return nvidia::toolFolders(size > 0 ? std::string(self, size_t(size)) : "");
}

void prepareProgram(const std::string &arch) {
  std::string program = findProgram(Variable::Ptxas, "ptxas");
  std::string identity = identityOfTool(program);
  if (prepared.process && prepared.process->isStarted() && prepared.arch == arch &&
      prepared.identity == identity)
    return;
  dropPrepared();
  if (!program.empty())
    prepared = {arch, identity, startAssembler(program, arch)};
}

bool hasPrepared() { return prepared.process != nullptr; }

void dropPrepared() { prepared = {}; }

std::optional<Answer> assembleWithProgram(const std::string &arch, const std::string &ptx) {
  prepareProgram(arch);
  std::unique_ptr<Process> process = std::move(prepared.process);
  if (!process)
    return std::nullopt;
  Answer answer = process->finish(ptx);
  if (answer.outcome == Outcome::Done && answer.result.size() < 64) {
    answer.outcome = Outcome::Refused;
    answer.log += "it ended well and wrote no cubin\n";
  }
  return answer;
}

std::optional<Answer> disassemble(const std::string &cubin) {
  MemoryFile in("kernel.cubin", cubin);
  if (std::string program = findProgram(Variable::Nvdisasm, "nvdisasm"); !program.empty())
    return Process({program, "-c", in.path()}).finish({});
  if (std::string program = findProgram(Variable::Cuobjdump, "cuobjdump"); !program.empty())
    return Process({program, "-sass", in.path()}).finish({});
  return std::nullopt;
}

} // namespace tegula::nvidia::worker
