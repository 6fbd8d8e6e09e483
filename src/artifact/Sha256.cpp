// Over libmd, the library of digests that Debian's own tools use: a few KB when it is linked statically.
#include "artifact/Sha256.h"

#include <sha2.h>

namespace tegula::artifact {

Sha256 sha256(std::string_view bytes) {
  SHA2_CTX state;
  SHA256Init(&state);
  SHA256Update(&state, reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  Sha256 digest;
  SHA256Final(digest.data(), &state);
  return digest;
}

std::string hexadecimal(const Sha256 &digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest)
    text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

} // namespace tegula::artifact
