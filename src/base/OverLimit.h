// The sentence that says which limit of a device is exceeded, and by how much, as upstream says it. Hosts
// read the numbers out of the text of a Resource status, so that it stands here alone.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tegula {

// "out of resource: threads, Required: 2048, Hardware limit: 1024"
inline std::string overLimit(std::string_view name, uint64_t required, uint64_t limit) {
  return "out of resource: " + std::string(name) + ", Required: " + std::to_string(required) +
         ", Hardware limit: " + std::to_string(limit);
}

} // namespace tegula
