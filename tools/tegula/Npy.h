// Arrays in .npy files (format 1 and 2; little-endian, C order, plain element types).
// Reading checks everything that the header claims against the file; writing leaves no half of a file
// (base/Files.h).
#pragma once
#include "tegula/tegula.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tegula::cli {

struct Array {
  tg_dtype dtype = TG_F32;
  std::vector<int64_t> shape;
  std::vector<uint64_t> storage; // with room to begin at a multiple of `alignment`
  size_t bytes = 0;
  static constexpr uintptr_t alignment = 256; // as a GPU's allocations
  char *data() {
    auto begin = reinterpret_cast<uintptr_t>(storage.data());
    return reinterpret_cast<char *>((begin + alignment - 1) / alignment * alignment);
  }
};

// Why there is no array.
struct Problem {
  std::string reason, hint;
};

Array makeArray(tg_dtype dtype, std::vector<int64_t> shape, size_t bytes);
// Elements times bytes; nullopt above 2^40.
std::variant<size_t, Problem> byteCount(tg_dtype dtype, const std::vector<int64_t> &shape);
// True: NumPy has the type, and so a file says it. The bytes of others are under another name there.
bool isNamedByNpy(tg_dtype dtype);
std::variant<Array, Problem> readNpy(const std::string &path);
std::variant<std::monostate, Problem> writeNpy(const std::string &path, Array &array);

} // namespace tegula::cli
