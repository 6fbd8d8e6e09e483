#include "ptxvm/simulate/MappedMemory.h"

#include <cinttypes>
#include <cstdio>
#include <memory>

namespace tegula::ptxvm {

std::vector<Buffer> mappedMemory() {
  std::vector<Buffer> buffers;
  std::unique_ptr<FILE, int (*)(FILE *)> maps(std::fopen("/proc/self/maps", "r"), std::fclose);
  char line[1024];
  while (maps && std::fgets(line, sizeof line, maps.get())) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, rights) != 3 || rights[0] != 'r')
      continue;
    bool writable = rights[1] == 'w';
    // Neighbours are one buffer, or an access across their border would be outside of both.
    if (!buffers.empty()) {
      Buffer &last = buffers.back();
      if (reinterpret_cast<uint64_t>(last.base) + last.size == begin && last.writable == writable) {
        last.size += end - begin;
        continue;
      }
    }
    buffers.push_back({reinterpret_cast<void *>(begin), end - begin, writable, true, "the process's memory"});
  }
  return buffers;
}

} // namespace tegula::ptxvm
