#include "runtime/LoadedCode.h"
#include "runtime/HugePages.h"
#include "runtime/Report.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tegula::runtime {
namespace {

constexpr size_t largestObject = size_t(1) << 30;
constexpr size_t stubBytes = 8; // jmp *offset(%rip), and two bytes of nothing

Status refuse(const std::string &what) {
  return Status::error(StatusCode::Data, "the object of a kernel cannot be loaded: " + what);
}

size_t roundUp(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// Kinds of pages; memory is laid out in this order.
enum Kind { Code, Constants, Variables, kindCount };
Kind kindOf(const Elf64_Shdr &section) {
  return section.sh_flags & SHF_EXECINSTR ? Code : section.sh_flags & SHF_WRITE ? Variables : Constants;
}

} // namespace

// One object on its way into memory.
class ObjectLinker {
public:
  ObjectLinker(std::string_view object, std::span<const HostFunction> host) : object_(object), host_(host) {}

  Result<std::unique_ptr<LoadedCode>> link() {
    for (auto step : {&ObjectLinker::readSections, &ObjectLinker::readSymbols, &ObjectLinker::layOut,
                      &ObjectLinker::copySections, &ObjectLinker::findSymbols, &ObjectLinker::relocate,
                      &ObjectLinker::protect})
      if (Status status = (this->*step)(); !status.ok())
        return status;
    return std::move(code_);
  }

private:
  // `count` things at `offset`; empty where the object ends before.
  template <class T> std::span<const T> at(uint64_t offset, uint64_t count) const {
    if (offset > object_.size() || count > (object_.size() - offset) / sizeof(T) || offset % alignof(T) ||
        reinterpret_cast<uintptr_t>(object_.data()) % alignof(T))
      return {};
    return {reinterpret_cast<const T *>(object_.data() + offset), count};
  }

  Status readSections() {
    std::span<const Elf64_Ehdr> header = at<Elf64_Ehdr>(0, 1);
    if (header.empty() || object_.size() > largestObject)
      return refuse("it is too short, too long or not aligned");
    const Elf64_Ehdr &elf = header[0];
    if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_type != ET_REL || elf.e_machine != EM_X86_64 ||
        elf.e_shentsize != sizeof(Elf64_Shdr))
      return refuse("it is no relocatable object for x86-64");
    sections_ = at<Elf64_Shdr>(elf.e_shoff, elf.e_shnum);
    if (sections_.empty())
      return refuse("it has no sections");
    for (const Elf64_Shdr &section : sections_) {
      bool hasBytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
      if ((hasBytes && section.sh_size && at<char>(section.sh_offset, section.sh_size).empty()) ||
          section.sh_size > largestObject || section.sh_addralign > 4096)
        return refuse("a section is not within it");
    }
    return Status::success();
  }

  Status readSymbols() {
    for (const Elf64_Shdr &section : sections_)
      if (section.sh_type == SHT_SYMTAB) {
        symbols_ = at<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
        if (section.sh_link >= sections_.size() || symbols_.empty())
          return refuse("its symbols are not within it");
        const Elf64_Shdr &names = sections_[section.sh_link];
        names_ = object_.substr(names.sh_offset, names.sh_size);
      }
    return names_.empty() || names_.back() == '\0' ? Status::success() : refuse("its names have no end");
  }

  std::string_view nameOf(const Elf64_Sym &symbol) const {
    return symbol.st_name < names_.size() ? std::string_view(names_.data() + symbol.st_name)
                                          : std::string_view();
  }
  static bool isForeign(const Elf64_Sym &symbol) { return symbol.st_shndx == SHN_UNDEF; }

  // Code, then constants, then variables, each on pages of its own. Behind the code there is a stub, and
  // behind the constants an address, for each symbol: what is far away is reached through them.
  Status layOut() {
    size_t page = size_t(::sysconf(_SC_PAGESIZE)), end = 0;
    offsets_.assign(sections_.size(), 0);
    for (int kind = 0; kind != kindCount; ++kind) {
      begin_[size_t(kind)] = end;
      for (size_t i = 0; i != sections_.size(); ++i)
        if (const Elf64_Shdr &section = sections_[i]; isLoaded(section) && kindOf(section) == kind) {
          offsets_[i] = roundUp(end, std::max<size_t>(1, section.sh_addralign));
          end = offsets_[i] + section.sh_size;
        }
      if (kind == Code)
        stubs_ = roundUp(end, stubBytes), end = stubs_ + symbols_.size() * stubBytes;
      if (kind == Constants)
        addresses_ = roundUp(end, 8), end = addresses_ + symbols_.size() * 8;
      end = roundUp(end, page);
      if (end > 2 * largestObject)
        return refuse("it is too large");
    }
    begin_[kindCount] = end;
    return Status::success();
  }

  static bool isLoaded(const Elf64_Shdr &section) { return section.sh_flags & SHF_ALLOC && section.sh_size; }

  Status copySections() {
    size_t size = begin_[kindCount];
    void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return Status::error(StatusCode::Resource, "there is no memory for the code of a kernel");
    memory_ = static_cast<std::byte *>(memory);
    code_.reset(new LoadedCode(memory_, size));
    for (size_t i = 0; i != sections_.size(); ++i)
      if (const Elf64_Shdr &section = sections_[i]; isLoaded(section) && section.sh_type != SHT_NOBITS)
        std::memcpy(memory_ + offsets_[i], object_.data() + section.sh_offset, section.sh_size);
    return Status::success();
  }

  void *findForeign(std::string_view name) const {
    for (const HostFunction &function : host_)
      if (function.name == name)
        return function.address;
    return ::dlsym(RTLD_DEFAULT, std::string(name).c_str());
  }

  // Finds the place of each symbol; makes stubs and addresses of those that are elsewhere.
  Status findSymbols() {
    places_.assign(symbols_.size(), nullptr);
    for (size_t i = 1; i < symbols_.size(); ++i) {
      const Elf64_Sym &symbol = symbols_[i];
      if (isForeign(symbol)) {
        places_[i] = static_cast<std::byte *>(findForeign(nameOf(symbol)));
        if (!places_[i] && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
          return Status::error(StatusCode::Toolchain, "the code of a kernel calls `" +
                                                          std::string(nameOf(symbol)) +
                                                          "`, which is nowhere");
        writeStub(i);
      } else if (symbol.st_shndx < sections_.size()) {
        if (symbol.st_value > sections_[symbol.st_shndx].sh_size)
          return refuse("a symbol is not within its section");
        places_[i] = memory_ + offsets_[symbol.st_shndx] + symbol.st_value;
        if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
          code_->symbols_[std::string(nameOf(symbol))] = places_[i];
      } else if (symbol.st_shndx != SHN_ABS) {
        return refuse("it has a symbol without a section");
      }
      std::memcpy(memory_ + addresses_ + i * 8, &places_[i], 8);
    }
    return Status::success();
  }

  void writeStub(size_t symbol) {
    std::byte *stub = memory_ + stubs_ + symbol * stubBytes;
    auto distance = int32_t(int64_t(addresses_ + symbol * 8) - int64_t(stubs_ + symbol * stubBytes + 6));
    const unsigned char jump[] = {0xff, 0x25};
    std::memcpy(stub, jump, 2);
    std::memcpy(stub + 2, &distance, 4);
  }

  Status relocate() {
    for (const Elf64_Shdr &section : sections_) {
      if (section.sh_type == SHT_REL)
        return refuse("its relocations are of another kind");
      if (section.sh_type != SHT_RELA || section.sh_info >= sections_.size() ||
          !isLoaded(sections_[section.sh_info]))
        continue;
      std::span<const Elf64_Rela> rows =
          at<Elf64_Rela>(section.sh_offset, section.sh_size / sizeof(Elf64_Rela));
      if (rows.empty() && section.sh_size)
        return refuse("its relocations are not within it");
      for (const Elf64_Rela &row : rows)
        if (Status status = apply(row, section.sh_info); !status.ok())
          return status;
    }
    return Status::success();
  }

  // System V ABI for x86-64, 4.4.1: S the symbol, A the addend, P the place, G the entry of the table of
  // addresses.
  Status apply(const Elf64_Rela &row, size_t section) {
    size_t symbol = ELF64_R_SYM(row.r_info), type = ELF64_R_TYPE(row.r_info);
    size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    const Elf64_Shdr &within = sections_[section];
    if (symbol >= symbols_.size() || within.sh_size < width || row.r_offset > within.sh_size - width)
      return refuse("a relocation is not within its section");
    std::byte *place = memory_ + offsets_[section] + row.r_offset;
    auto s = int64_t(reinterpret_cast<uintptr_t>(places_[symbol]));
    auto p = int64_t(reinterpret_cast<uintptr_t>(place));
    int64_t value = s + row.r_addend;
    switch (type) {
    case R_X86_64_NONE: return Status::success();
    case R_X86_64_64: break;
    case R_X86_64_PC64: value -= p; break;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      if (isForeign(symbols_[symbol]))
        value = int64_t(reinterpret_cast<uintptr_t>(memory_ + stubs_ + symbol * stubBytes)) + row.r_addend;
      value -= p;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = int64_t(reinterpret_cast<uintptr_t>(memory_ + addresses_ + symbol * 8)) + row.r_addend - p;
      break;
    default: return refuse("a relocation of type " + std::to_string(type));
    }
    if (width == 4 && value != int32_t(value))
      return refuse("a relocation does not reach its symbol");
    std::memcpy(place, &value, width);
    return Status::success();
  }

  Status protect() {
    constexpr int protections[kindCount] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (size_t kind = 0; kind != kindCount; ++kind)
      if (size_t size = begin_[kind + 1] - begin_[kind];
          size && ::mprotect(memory_ + begin_[kind], size, protections[kind]) != 0)
        return Status::error(StatusCode::Resource, "the system does not let the code of a kernel run");
    return Status::success();
  }

  std::string_view object_;
  std::span<const HostFunction> host_;
  std::span<const Elf64_Shdr> sections_;
  std::span<const Elf64_Sym> symbols_;
  std::string_view names_;
  std::vector<size_t> offsets_; // of sections in memory
  std::array<size_t, kindCount + 1> begin_{};
  size_t stubs_ = 0, addresses_ = 0;
  std::byte *memory_ = nullptr;
  std::vector<std::byte *> places_; // of symbols
  std::unique_ptr<LoadedCode> code_;
};

Result<std::unique_ptr<LoadedCode>> LoadedCode::load(std::string_view object,
                                                     std::span<const HostFunction> host) {
  // Tables are read in place: they are aligned within the object, and the object must be.
  if (reinterpret_cast<uintptr_t>(object.data()) % alignof(Elf64_Ehdr) == 0)
    return ObjectLinker(object, host).link();
  std::vector<uint64_t> aligned((object.size() + 7) / 8);
  std::memcpy(aligned.data(), object.data(), object.size());
  return ObjectLinker({reinterpret_cast<const char *>(aligned.data()), object.size()}, host).link();
}

LoadedCode::~LoadedCode() { ::munmap(memory_, size_); }

void *LoadedCode::address(std::string_view symbol) const {
  auto found = symbols_.find(symbol);
  return found == symbols_.end() ? nullptr : found->second;
}

Result<LoadedKernel> loadKernel(std::string_view object, const std::string &entry, uint64_t scratchBytes,
                                bool isCooperative) {
  const HostFunction host[] = {
      {"tegula_assertion_failed", reinterpret_cast<void *>(&tegula_assertion_failed)},
      {"tegula_goes_on", reinterpret_cast<void *>(&tegula_goes_on)},
      {"tegula_print", reinterpret_cast<void *>(&tegula_print)},
      {"tegula_expect_stores", reinterpret_cast<void *>(&tegula_expect_stores)}};
  Result<std::unique_ptr<LoadedCode>> code = LoadedCode::load(object, host);
  if (!code)
    return code.status();
  void *address = (*code)->address(entry);
  if (!address)
    return Status::error(StatusCode::Internal, "the object lacks its entry " + entry);
  return LoadedKernel{std::move(*code), {reinterpret_cast<CpuEntry>(address), scratchBytes, isCooperative}};
}

} // namespace tegula::runtime
