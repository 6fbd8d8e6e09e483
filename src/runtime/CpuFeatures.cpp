#include "runtime/CpuFeatures.h"

namespace tegula::runtime {

std::span<const std::string_view> cpuFeatures() {
  static constexpr std::string_view names[] = {
#define FEATURE(name) name,
#include "runtime/CpuFeatures.def"
  };
  return names;
}

// A chain of comparisons, since the builtin takes literals only.
bool cpuHas(std::string_view feature) {
  __builtin_cpu_init();
#define FEATURE(name)                                                                                        \
  if (feature == name)                                                                                       \
    return __builtin_cpu_supports(name);
#include "runtime/CpuFeatures.def"
  return false;
}

std::string lackingFeatures(std::span<const std::string> wanted) {
  std::string lacking;
  for (const std::string &feature : wanted)
    if (!cpuHas(feature))
      lacking += (lacking.empty() ? "" : ", ") + feature;
  return lacking;
}

} // namespace tegula::runtime
