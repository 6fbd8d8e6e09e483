// core() of libtegula: opens libtegula-core beside it, once a process. A failure is not tried again.
#include "compiler/BuildId.h"
#include "compiler/Core.h"
#include "sema/builtins/Table.h"

#include <cstdlib>

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

const LibraryFile &fileOfCore() {
  static const LibraryFile file = readLibrary(coreFile());
  return file;
}

// Its symbols stay its own, so that another LLVM in the process does not meet those below it. It is never
// closed: objects of it live until the process ends.
Result<const Core *> open() {
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
  if (core->identityOfLlvm() != fileOfCore().identityOfLlvm)
    return missing("it got another LLVM than the one in the folder that it names");
  return core;
}

} // namespace

std::string identityOfCore() { return fileOfCore().identity + fileOfCore().identityOfLlvm; }

Result<const Core *> core() {
  static const Result<const Core *> opened = open();
  return opened;
}

} // namespace tegula::compiler
