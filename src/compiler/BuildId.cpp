#include "compiler/BuildId.h"
#include "artifact/Sha256.h"

#include "mlir/IR/Verifier.h"
#include "llvm/TargetParser/Host.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula::compiler {
namespace {

// The library that holds an address, and what tells it from others.
struct Library {
  uintptr_t address;
  std::string identity;
};

bool holds(const dl_phdr_info &info, uintptr_t address) {
  for (int i = 0; i != info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info.dlpi_phdr[i];
    uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz)
      return true;
  }
  return false;
}

// The note "GNU" of the build id: name size, description size, type, then both, each rounded up to four
// bytes.
std::string linkersId(const dl_phdr_info &info) {
  auto roundedUp = [](size_t size) { return (size + 3) & ~size_t(3); };
  for (int i = 0; i != info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(info.dlpi_addr + segment.p_vaddr);
    for (auto *end = at + segment.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof *note, *description = name + roundedUp(note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID &&
          std::string_view(name, note->n_namesz) == std::string_view("GNU", 4))
        return std::string(description, note->n_descsz);
      at = description + roundedUp(note->n_descsz);
    }
  }
  return {};
}

std::string filesId(const char *path) {
  struct stat status{};
  std::string file = path && *path ? path : "/proc/self/exe";
  if (::stat(file.c_str(), &status) != 0)
    return file + " of process " + std::to_string(::getpid()); // of no other one
  return file + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

int identify(dl_phdr_info *info, size_t, void *data) {
  auto *library = static_cast<Library *>(data);
  if (!holds(*info, library->address))
    return 0;
  library->identity = linkersId(*info);
  if (library->identity.empty())
    library->identity = filesId(info->dlpi_name);
  return 1;
}

template <class Function> std::string libraryOf(Function *function) {
  Library library{reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(identify, &library);
  return library.identity;
}

} // namespace

const std::string &buildId() {
  // One function each of this library, of MLIR and of LLVM: they may be one library or three.
  static const std::string id = [] {
    std::string all;
    for (const std::string &part :
         {libraryOf(&buildId), libraryOf(&mlir::verify), libraryOf(&llvm::sys::getHostCPUName)})
      all += std::to_string(part.size()) + ":" + part;
    return artifact::hexadecimal(artifact::sha256(all));
  }();
  return id;
}

} // namespace tegula::compiler
