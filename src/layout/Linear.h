// Linear algebra over F2 on words: vectors are uint32_t, a map is the list of its images of the unit vectors.
// What layouts, shared-memory maps and plans compute with; knows none of them.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tegula::layout {

inline bool parity(uint32_t value) { return std::popcount(value) & 1; }

// The image of `value` under the map: the xor of the images of its bits.
inline uint32_t image(std::span<const uint32_t> images, uint32_t value) {
  uint32_t result = 0;
  for (size_t i = 0; i != images.size(); ++i)
    if (value >> i & 1)
      result ^= images[i];
  return result;
}

// A subspace that grows by one vector at a time and remembers of which inserted vectors its members are sums.
// That memory ends with 64 insertions.
class Span {
public:
  Span() = default;
  explicit Span(std::span<const uint32_t> vectors) {
    for (uint32_t v : vectors)
      insert(v);
  }

  // False where the vector is a sum of earlier ones; it still counts as an insertion.
  bool insert(uint32_t vector);
  // The smallest member of the vector's coset; 0 for members.
  uint32_t reduce(uint32_t vector) const;
  bool contains(uint32_t vector) const { return reduce(vector) == 0; }
  // The inserted vectors that sum to `vector`, bit i for the i-th; earliest possible: only those not implied
  // by earlier ones are used. None for a vector outside.
  std::optional<uint64_t> solve(uint32_t vector) const;
  unsigned dimension() const { return unsigned(rows_.size()); }
  std::vector<uint32_t> basis() const;

private:
  struct Row {
    uint32_t vector;  // its highest bit is in no other row
    uint64_t members; // of the inserted vectors
  };
  std::vector<Row> rows_; // by highest bit, descending
  unsigned inserted_ = 0;
};

// Vectors that lie in both.
std::vector<uint32_t> intersection(std::span<const uint32_t> a, std::span<const uint32_t> b);
// A basis of the combinations c (over positions) with image 0.
std::vector<uint32_t> kernel(std::span<const uint32_t> images);
// All masks m, as a basis, with parity(m & v) == 0 for each vector; of `bits` bits.
std::vector<uint32_t> annihilator(std::span<const uint32_t> vectors, unsigned bits);
// The inverse of a map of `images.size()` bits to as many; none for a singular one.
std::optional<std::vector<uint32_t>> inverse(std::span<const uint32_t> images);
// Unit vectors of `bits` bits, ascending, that complete `vectors` to the whole space.
std::vector<uint32_t> completion(std::span<const uint32_t> vectors, unsigned bits);

} // namespace tegula::layout
