// SHA-256 (FIPS 180-4): names what an artifact is made from, and tells that its bytes are the ones that were
// written.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::artifact {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
// 64 digits.
std::string hexadecimal(const Sha256 &digest);

} // namespace tegula::artifact
