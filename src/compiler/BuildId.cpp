#include "compiler/BuildId.h"
#include "artifact/Sha256.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <elf.h>
#include <fcntl.h>
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
std::string idOfNotes(std::string_view notes) {
  auto roundedUp = [](size_t size) { return (size + 3) & ~size_t(3); };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    size_t name = sizeof note, description = name + roundedUp(note.n_namesz),
           end = description + roundedUp(note.n_descsz);
    if (end > notes.size())
      break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, note.n_namesz) == std::string_view("GNU", 4))
      return std::string(notes.substr(description, note.n_descsz));
    notes.remove_prefix(end);
  }
  return {};
}

std::string linkersId(const dl_phdr_info &info) {
  for (int i = 0; i != info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    std::string id = idOfNotes(
        {reinterpret_cast<const char *>(info.dlpi_addr + segment.p_vaddr), size_t(segment.p_memsz)});
    if (!id.empty())
      return id;
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

// A file of ELF, as far as the loader of this machine looks at it. It is read in pieces: LLVM's has more
// bytes than a process with few addresses could map.
class ElfFile {
public:
  explicit ElfFile(const std::string &path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    ElfW(Ehdr) header{};
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
      return;
    for (size_t i = 0; i != header.e_phnum; ++i)
      if (ElfW(Phdr) segment; read(header.e_phoff + i * sizeof segment, segment))
        segments_.push_back(segment);
  }
  ~ElfFile() {
    if (file_ >= 0)
      ::close(file_);
  }
  ElfFile(const ElfFile &) = delete;

  bool isOne() const { return !segments_.empty(); }

  std::string buildId() const {
    for (const ElfW(Phdr) &segment : segments_)
      if (segment.p_type == PT_NOTE)
        if (std::string id = idOfNotes(part(segment.p_offset, segment.p_filesz)); !id.empty())
          return id;
    return {};
  }

  // The texts that entries of this kind name: DT_NEEDED, DT_RUNPATH.
  std::vector<std::string> texts(int64_t kind) const {
    std::vector<uint64_t> offsets;
    uint64_t table = 0;
    for (const ElfW(Phdr) &segment : segments_)
      for (uint64_t at = 0; segment.p_type == PT_DYNAMIC && at < segment.p_filesz; at += sizeof(ElfW(Dyn))) {
        ElfW(Dyn) entry;
        if (!read(segment.p_offset + at, entry) || entry.d_tag == DT_NULL)
          break;
        if (entry.d_tag == kind)
          offsets.push_back(entry.d_un.d_val);
        if (entry.d_tag == DT_STRTAB)
          table = entry.d_un.d_ptr;
      }
    std::vector<std::string> found;
    for (const ElfW(Phdr) &segment : segments_)
      if (segment.p_type == PT_LOAD && table >= segment.p_vaddr && table - segment.p_vaddr < segment.p_filesz)
        for (uint64_t offset : offsets) {
          constexpr size_t longestText = 16384;
          std::string rest = part(segment.p_offset + (table - segment.p_vaddr) + offset, longestText);
          found.push_back(rest.substr(0, rest.find('\0')));
        }
    return found;
  }

private:
  // Fewer bytes at the end of the file, and of what is no such file.
  std::string part(uint64_t offset, uint64_t size) const {
    constexpr uint64_t most = 1 << 20;
    std::string bytes(size_t(std::min(size, most)), '\0');
    ssize_t count = ::pread(file_, bytes.data(), bytes.size(), off_t(offset));
    bytes.resize(size_t(std::max<ssize_t>(count, 0)));
    return bytes;
  }
  template <class T> bool read(uint64_t offset, T &out) const {
    return ::pread(file_, &out, sizeof out, off_t(offset)) == ssize_t(sizeof out);
  }

  int file_;
  std::vector<ElfW(Phdr)> segments_;
};

std::string identityOfFile(const std::string &path) {
  std::string id = ElfFile(path).buildId();
  return id.empty() ? filesId(path.c_str()) : id;
}

// "$ORIGIN/../lib:/opt/lib" as folders.
std::vector<std::string> foldersOf(std::string_view paths, const std::string &origin) {
  std::vector<std::string> folders;
  while (!paths.empty()) {
    std::string folder(paths.substr(0, paths.find(':')));
    paths.remove_prefix(std::min(folder.size() + 1, paths.size()));
    if (folder.starts_with("$ORIGIN"))
      folder = origin + folder.substr(7);
    if (folder.starts_with('/'))
      folders.push_back(std::move(folder));
  }
  return folders;
}

} // namespace

std::string identityOfLibraryWith(const void *address) {
  Library library{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(identify, &library);
  return library.identity;
}

LibraryFile readLibrary(const std::string &path) {
  ElfFile file(path);
  if (!file.isOne())
    return {};
  LibraryFile result{identityOfFile(path), {}};
  std::vector<std::string> folders;
  for (const std::string &paths : file.texts(DT_RUNPATH))
    folders = foldersOf(paths, path.substr(0, path.rfind('/')));
  for (const std::string &name : file.texts(DT_NEEDED)) {
    // In the named folders may lie others besides, as a sanitizer's runtime does.
    if (!name.starts_with("libMLIR") && !name.starts_with("libLLVM"))
      continue;
    for (const std::string &folder : folders)
      if (std::string needed = folder + "/" + name; ::access(needed.c_str(), R_OK) == 0) {
        result.identityOfLlvm += identityOfFile(needed);
        break;
      }
  }
  return result;
}

const std::string &buildId() {
  static const std::string id = [] {
    std::string all;
    for (const std::string &part :
         {identityOfLibraryWith(reinterpret_cast<const void *>(&buildId)), identityOfCore()})
      all += std::to_string(part.size()) + ":" + part;
    return artifact::hexadecimal(artifact::sha256(all));
  }();
  return id;
}

} // namespace tegula::compiler
