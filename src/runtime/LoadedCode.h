// An ELF object of x86-64 linked into this process, without a compiler: what the code generator writes for
// one kernel. Sections are copied, relocations applied, and then pages are either code or data, never both.
#pragma once
#include "base/Status.h"
#include "runtime/Launch.h"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tegula::runtime {

// A function of this process that the code may call by name. Others are looked for where the process's own
// code would find them: memcpy, fmod.
struct HostFunction {
  std::string_view name;
  void *address;
};

// The code, alive as long as the object.
class LoadedCode {
public:
  // Data: the bytes are no such object, or ask for something that this loader does not do; what. Toolchain: a
  // function that is called is nowhere.
  static Result<std::unique_ptr<LoadedCode>> load(std::string_view object,
                                                  std::span<const HostFunction> host = {});
  ~LoadedCode();
  LoadedCode(const LoadedCode &) = delete;

  void *address(std::string_view symbol) const; // nullptr: not there

private:
  friend class ObjectLinker;
  LoadedCode(std::byte *memory, size_t size) : memory_(memory), size_(size) {}

  std::byte *memory_;
  size_t size_;
  std::map<std::string, void *, std::less<>> symbols_; // global ones
};

// The kernel `entry` of an object, with the functions of this module that kernels call.
struct LoadedKernel {
  std::unique_ptr<LoadedCode> code;
  CpuKernel kernel;
};
Result<LoadedKernel> loadKernel(std::string_view object, const std::string &entry, uint64_t scratchBytes,
                                bool isCooperative = false);

} // namespace tegula::runtime
