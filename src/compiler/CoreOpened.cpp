// core() of libtegula: opens libtegula-core beside it, once a process. A failure is not tried again.
#include "base/ForkMutex.h"
#include "compiler/BuildId.h"
#include "compiler/Core.h"
#include "sema/builtins/Table.h"

#include <cstdlib>
#include <mutex>
#include <optional>

#include <dlfcn.h>

namespace tegula::compiler {

namespace {

// Beside this library, under whichever name the loader found it.
std::string coreFile() {
  static const std::string path = [] {
    Dl_info info{};
    std::string own = dladdr(reinterpret_cast<void *>(&core), &info) && info.dli_fname ? info.dli_fname : "";
    if (char *resolved = ::realpath(own.c_str(), nullptr)) {
      own = resolved;
      std::free(resolved);
    }
    return own.substr(0, own.rfind('/') + 1) + "libtegula-core.so.0";
  }();
  return path;
}

// The file and the library as far as they are known. A child that is forked meanwhile would wait for ever for
// a thread that it does not have.
struct Known {
  ForkMutex mutex;
  std::optional<LibraryFile> file;
  std::optional<Result<const Core *>> core;

  static Known &get() {
    static auto *known = new Known; // functions of static lifetime end after it would have
    return *known;
  }
  const LibraryFile &fileOfCore() { // within the mutex
    if (!file)
      file = readLibrary(coreFile());
    return *file;
  }
};

// Its symbols stay its own, so that another LLVM in the process does not meet those below it. It is never
// closed: objects of it live until the process ends.
Result<const Core *> open(const LibraryFile &file) {
  const std::string path = coreFile();
  auto missing = [&](const std::string &why) {
    return Status::error(StatusCode::Unsupported, "the compiler cannot be loaded: " + why +
                                                      "; hint: kernels that are in the disk cache "
                                                      "run without it; to compile, install " +
                                                      path.substr(path.rfind('/') + 1) +
                                                      " of the same build beside libtegula");
  };
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *why = dlerror();
    return missing(why ? why : path);
  }
  auto open = reinterpret_cast<OpenCore>(dlsym(library, "tegula_core"));
  const Core *core = open ? open(sidesOf().c_str(), sema::builtins::findLibraryFunction) : nullptr;
  if (!core)
    return missing("`" + path + "` is of another build");
  // The names of entries on disk say of which LLVM they are before it is opened.
  if (core->identityOfLlvm() != file.identityOfLlvm)
    return missing("it got another LLVM than the one in the folder that it names");
  return core;
}

} // namespace

std::string identityOfCore() {
  Known &known = Known::get();
  std::lock_guard guard(known.mutex);
  const LibraryFile &file = known.fileOfCore();
  return file.identity + file.identityOfLlvm;
}

Result<const Core *> core() {
  Known &known = Known::get();
  std::lock_guard guard(known.mutex);
  if (!known.core)
    known.core = open(known.fileOfCore());
  return *known.core;
}

} // namespace tegula::compiler
