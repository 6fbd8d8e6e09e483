// libnvJitLink, as a library for PTX -> cubin.
#include "Tools.h"

#include "targets/nvidia/ToolSearch.h"

#include <array>
#include <cstdlib>

#include <dlfcn.h>

namespace tegula::nvidia::worker {
namespace {

using Handle = void *;
constexpr int inputPtx = 2;

struct Library {
  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinSize)(Handle, size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*errorLogSize)(Handle, size_t *) = nullptr;
  int (*errorLog)(Handle, char *) = nullptr;
  int (*infoLogSize)(Handle, size_t *) = nullptr;
  int (*infoLog)(Handle, char *) = nullptr;
  std::string path;
};

template <class Function> bool resolve(void *library, const char *name, Function &out) {
  return (out = reinterpret_cast<Function>(dlsym(library, name)));
}

bool resolveAll(void *library, Library &out) {
  return resolve(library, "nvJitLinkCreate", out.create) &&
         resolve(library, "nvJitLinkDestroy", out.destroy) &&
         resolve(library, "nvJitLinkAddData", out.addData) &&
         resolve(library, "nvJitLinkComplete", out.complete) &&
         resolve(library, "nvJitLinkGetLinkedCubinSize", out.cubinSize) &&
         resolve(library, "nvJitLinkGetLinkedCubin", out.cubin) &&
         resolve(library, "nvJitLinkGetErrorLogSize", out.errorLogSize) &&
         resolve(library, "nvJitLinkGetErrorLog", out.errorLog) &&
         resolve(library, "nvJitLinkGetInfoLogSize", out.infoLogSize) &&
         resolve(library, "nvJitLinkGetInfoLog", out.infoLog);
}

const Library *open() {
  for (const std::string &path : libraryPaths(toolFolders()))
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      auto *made = new Library;
      made->path = path;
      if (resolveAll(library, *made))
        return made;
      delete made;
    }
  return nullptr;
}

std::string logOf(Handle handle, int (*sizeOf)(Handle, size_t *), int (*get)(Handle, char *)) {
  size_t size = 0;
  if (sizeOf(handle, &size) || size == 0)
    return {};
  std::string log(size + 1, '\0');
  if (get(handle, log.data()))
    return {};
  return log.substr(0, log.find('\0'));
}

Answer assemble(const Library &library, const std::string &arch, const std::string &ptx) {
  std::string archOption = "-arch=" + arch;
  std::array<const char *, 4> options{archOption.c_str(), "-O3", "-verbose", "-lineinfo"};
  Answer answer{Outcome::Refused, {}, {}, library.path};
  Handle handle = nullptr;
  size_t size = 0;
  if (library.create(&handle, uint32_t(options.size()), options.data())) {
    answer.log = "nvJitLinkCreate refused " + archOption;
    return answer;
  }
  // The text with its zero, as the library's examples pass it.
  bool done = !library.addData(handle, inputPtx, ptx.c_str(), ptx.size() + 1, "kernel.ptx") &&
              !library.complete(handle) && !library.cubinSize(handle, &size);
  answer.log = logOf(handle, library.errorLogSize, library.errorLog) +
               logOf(handle, library.infoLogSize, library.infoLog);
  answer.result.resize(size);
  if (done && size && !library.cubin(handle, answer.result.data()))
    answer.outcome = Outcome::Done;
  library.destroy(&handle);
  return answer;
}

} // namespace

static const Library *theLibrary() {
  static const Library *const library = open();
  return library;
}

void warmUpInProcess() {
  if (const Library *library = theLibrary())
    assemble(*library, "sm_80",
             ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n");
}

std::optional<Answer> assembleInProcess(const std::string &arch, const std::string &ptx) {
  const Library *library = theLibrary();
  if (!library)
    return std::nullopt;
  return assemble(*library, arch, ptx);
}

} // namespace tegula::nvidia::worker
