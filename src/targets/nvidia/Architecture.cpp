#include "targets/nvidia/Architecture.h"

namespace tegula::nvidia {

namespace {

struct Row {
  unsigned capability;
  const char *suffix;
  unsigned ptxVersion;
  uint64_t sharedBytes;
  unsigned threads;
};

constexpr Row rows[] = {
#define ARCHITECTURE(capability, suffix, ptx, shared, threads) {capability, suffix, ptx, shared, threads},
#include "targets/nvidia/Architecture.def"
#undef ARCHITECTURE
};

} // namespace

Result<Architecture> findArchitecture(const std::string &name) {
  std::string all;
  for (const Row &row : rows) {
    std::string plain = "sm_" + std::to_string(row.capability);
    // Code of an architecture with instructions of its own is made for exactly that one.
    if (name == plain || name == plain + row.suffix)
      return Architecture{name, row.capability, row.ptxVersion, row.sharedBytes, row.threads};
    all += (all.empty() ? "" : ", ") + plain + row.suffix;
  }
  return Status::error(StatusCode::Unsupported, "there is no architecture `" + name + "`: there are " + all);
}

unsigned atomicAddWidth(unsigned capability, Added type) {
  bool isHalf = type == Added::F16 || type == Added::BF16;
  if (capability >= 90)
    return isHalf ? 8 : type == Added::F32 ? 4 : 1;
  return type == Added::F16 ? 2 : 1;
}

} // namespace tegula::nvidia
