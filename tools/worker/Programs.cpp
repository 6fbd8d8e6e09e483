// ptxas, nvdisasm and cuobjdump, on memory files.
#include "Tools.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

namespace tegula::nvidia::worker {
namespace {

// A file that is only memory; programs open it as /proc/self/fd/N.
class MemoryFile {
public:
  explicit MemoryFile(const char *name, const std::string &content = {}) : descriptor_(memfd_create(name, 0)) {
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
    struct stat status {};
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

bool isProgram(const std::string &path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string findProgram(const char *variable, const char *name) {
  if (const char *named = std::getenv(variable); named && *named)
    return named;
  for (const std::string &folder : toolFolders())
    if (std::string path = folder + "/" + name; isProgram(path))
      return path;
  return {};
}

// Runs to the end; both outputs go to `log`, but stdout to `output` where there is one.
Answer run(std::vector<std::string> command, MemoryFile &log, MemoryFile *output) {
  std::vector<char *> words;
  for (std::string &word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, (output ? *output : log).descriptor(), 1);
  posix_spawn_file_actions_adddup2(&actions, log.descriptor(), 2);
  pid_t child = 0;
  int error = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  Answer answer{Outcome::Refused, {}, {}, command[0]};
  if (error) {
    answer.log = "`" + command[0] + "` cannot be started: " + std::strerror(error);
    return answer;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  answer.log = log.content();
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

} // namespace

std::vector<std::string> toolFolders() {
  std::vector<std::string> folders;
  auto addList = [&](const char *variable) {
    const char *value = std::getenv(variable);
    std::string list = value ? value : "";
    for (size_t start = 0; start < list.size();) {
      size_t end = std::min(list.find(':', start), list.size());
      if (end != start)
        folders.push_back(list.substr(start, end - start));
      start = end + 1;
    }
  };
  addList("TEGULA_TOOLS");
  char self[4096];
  if (ssize_t size = ::readlink("/proc/self/exe", self, sizeof self); size > 0) {
    std::string path(self, size_t(size));
    folders.push_back(path.substr(0, path.rfind('/')));
  }
  addList("PATH");
  folders.push_back("/usr/local/cuda/bin");
  return folders;
}

std::optional<Answer> assembleWithProgram(const std::string &arch, bool lineInfo, const std::string &ptx) {
  std::string program = findProgram("TEGULA_PTXAS", "ptxas");
  if (program.empty())
    return std::nullopt;
  MemoryFile in("kernel.ptx", ptx), out("kernel.cubin"), log("log");
  std::vector<std::string> command{program, "-v", "-O3", "--gpu-name=" + arch, "-o", out.path(), in.path()};
  if (lineInfo)
    command.insert(command.begin() + 3, "-lineinfo");
  Answer answer = run(std::move(command), log, nullptr);
  answer.result = out.content();
  if (answer.outcome == Outcome::Done && answer.result.size() < 64) {
    answer.outcome = Outcome::Refused;
    answer.log += "it ended well and wrote no cubin\n";
  }
  return answer;
}

std::optional<Answer> disassemble(const std::string &cubin) {
  MemoryFile in("kernel.cubin", cubin), out("text"), log("log");
  std::vector<std::string> command;
  if (std::string program = findProgram("TEGULA_NVDISASM", "nvdisasm"); !program.empty())
    command = {program, "-c", in.path()};
  else if (std::string other = findProgram("TEGULA_CUOBJDUMP", "cuobjdump"); !other.empty())
    command = {other, "-sass", in.path()};
  else
    return std::nullopt;
  Answer answer = run(std::move(command), log, &out);
  answer.result = out.content();
  return answer;
}

} // namespace tegula::nvidia::worker
