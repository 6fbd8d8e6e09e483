// The blocks of Scratch.h. Blocks above `keptBytes` are returned at once: a thread that
// once ran a kernel with much scratch must not hold that memory for good.
#include "runtime/Scratch.h"

#include <cstdlib>

namespace tegula::runtime {

namespace {

constexpr uint64_t alignment = 64;
constexpr uint64_t keptBytes = uint64_t(64) << 20;

void *allocate(uint64_t bytes) {
  if (bytes > (uint64_t(1) << 62))
    return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

struct Block {
  void *data = nullptr;
  uint64_t bytes = 0;
  bool lent = false;
  ~Block() { std::free(data); }
};

thread_local Block threadBlock;

} // namespace

Scratch::Scratch(uint64_t bytes) {
  if (bytes == 0)
    return;
  Block &block = threadBlock;
  if (block.lent || bytes > keptBytes) {
    data_ = allocate(bytes);
    ok_ = data_ != nullptr;
    return;
  }
  if (block.bytes < bytes) {
    std::free(block.data);
    block.data = allocate(bytes);
    block.bytes = block.data ? bytes : 0;
  }
  data_ = block.data;
  ok_ = data_ != nullptr;
  lent_ = block.lent = ok_;
}

Scratch::~Scratch() {
  if (lent_)
    threadBlock.lent = false;
  else
    std::free(data_);
}

} // namespace tegula::runtime
