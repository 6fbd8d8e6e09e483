#include "layout/Linear.h"

#include <algorithm>
#include <cassert>

namespace tegula::layout {

static uint32_t highBit(uint32_t v) { return std::bit_floor(v); }

bool Span::insert(uint32_t vector) {
  uint64_t members = inserted_ < 64 ? uint64_t(1) << inserted_ : 0;
  ++inserted_;
  for (const Row &row : rows_)
    if (vector & highBit(row.vector)) {
      vector ^= row.vector;
      members ^= row.members;
    }
  if (vector == 0)
    return false;
  for (Row &row : rows_)
    if (row.vector & highBit(vector)) {
      row.vector ^= vector;
      row.members ^= members;
    }
  auto place = std::find_if(rows_.begin(), rows_.end(), [&](const Row &row) { return row.vector < vector; });
  rows_.insert(place, {vector, members});
  return true;
}

uint32_t Span::reduce(uint32_t vector) const {
  for (const Row &row : rows_)
    if (vector & highBit(row.vector))
      vector ^= row.vector;
  return vector;
}

std::optional<uint64_t> Span::solve(uint32_t vector) const {
  assert(inserted_ <= 64);
  uint64_t members = 0;
  for (const Row &row : rows_)
    if (vector & highBit(row.vector)) {
      vector ^= row.vector;
      members ^= row.members;
    }
  if (vector != 0)
    return std::nullopt;
  return members;
}

std::vector<uint32_t> Span::basis() const {
  std::vector<uint32_t> result;
  for (const Row &row : rows_)
    result.push_back(row.vector);
  return result;
}

std::vector<uint32_t> kernel(std::span<const uint32_t> images) {
  Span span;
  std::vector<uint32_t> result;
  for (size_t i = 0; i != images.size(); ++i) {
    std::optional<uint64_t> earlier = span.solve(images[i]);
    span.insert(images[i]);
    if (earlier)
      result.push_back(uint32_t(*earlier) | 1u << i);
  }
  return result;
}

std::vector<uint32_t> intersection(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  // A sum of vectors of a that equals a sum of vectors of b is a relation among both lists.
  std::vector<uint32_t> both = Span(a).basis();
  size_t left = both.size();
  for (uint32_t v : Span(b).basis())
    both.push_back(v);
  Span span;
  std::vector<uint32_t> result;
  for (size_t i = 0; i != both.size(); ++i) {
    std::optional<uint64_t> earlier = span.solve(both[i]);
    span.insert(both[i]);
    if (!earlier)
      continue;
    uint32_t shared = 0;
    for (size_t k = 0; k != left; ++k)
      if (*earlier >> k & 1)
        shared ^= both[k];
    result.push_back(shared);
  }
  return result;
}

std::vector<uint32_t> annihilator(std::span<const uint32_t> vectors, unsigned bits) {
  // Reduced rows have a leading bit each that no other row has: every other bit is free.
  std::vector<uint32_t> rows = Span(vectors).basis();
  uint32_t leading = 0;
  for (uint32_t row : rows)
    leading |= highBit(row);
  std::vector<uint32_t> result;
  for (unsigned bit = 0; bit != bits; ++bit) {
    if (leading >> bit & 1)
      continue;
    uint32_t mask = 1u << bit;
    for (uint32_t row : rows)
      if (row >> bit & 1)
        mask |= highBit(row);
    result.push_back(mask);
  }
  return result;
}

std::optional<std::vector<uint32_t>> inverse(std::span<const uint32_t> images) {
  Span span(images);
  std::vector<uint32_t> result;
  for (size_t i = 0; i != images.size(); ++i) {
    std::optional<uint64_t> members = span.solve(1u << i);
    if (!members)
      return std::nullopt;
    result.push_back(uint32_t(*members));
  }
  return result;
}

std::vector<uint32_t> completion(std::span<const uint32_t> vectors, unsigned bits) {
  Span span(vectors);
  std::vector<uint32_t> result;
  for (unsigned i = 0; i != bits; ++i)
    if (span.insert(1u << i))
      result.push_back(1u << i);
  return result;
}

} // namespace tegula::layout
