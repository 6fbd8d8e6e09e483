// Numbers and texts in a row of bytes, little endian, and back. A reader never reads past its end: what is
// not there reads as zero or as nothing, and `ok` says so once at the end.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tegula::artifact {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

class Writer {
public:
  template <std::integral Number> void number(Number value) {
    bytes_.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  // Its length, then its bytes.
  void text(std::string_view value) {
    number(uint64_t(value.size()));
    bytes_ += value;
  }
  // For a list: its length. The elements follow.
  void count(size_t value) { number(uint64_t(value)); }

  const std::string &bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral Number> Number number() {
    Number value{};
    if (rest_.size() < sizeof value)
      return fail(), value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  // Lives as long as the bytes that are read.
  std::string_view text() {
    auto size = number<uint64_t>();
    if (size > rest_.size())
      return fail(), std::string_view();
    std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  // The length of a list whose elements take at least `bytesOfOne` each: no more than can be there.
  size_t count(size_t bytesOfOne) {
    auto value = number<uint64_t>();
    if (value > rest_.size() / bytesOfOne)
      return fail(), 0;
    return value;
  }

  void fail() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  // All was read, and no more than there was.
  bool isWhole() const { return ok_ && rest_.empty(); }

private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace tegula::artifact
