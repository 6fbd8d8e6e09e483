#include "tune/Results.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"
#include "cache/OpenFile.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula::tune {
namespace {

constexpr const char *ownName = "tunings-1"; // changes with the form of the lines
constexpr size_t mostBytes = 4u << 20;       // of a file; then its older half goes
constexpr size_t digestDigits = 16;

std::string hexadecimal(std::string_view bytes) {
  std::string digits;
  for (char c : bytes)
    for (int shift : {4, 0})
      digits += "0123456789abcdef"[uint8_t(c) >> shift & 15];
  return digits;
}
std::optional<std::string> bytesOf(std::string_view digits) {
  std::string bytes;
  auto valueOf = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    int high = valueOf(digits[i]), low = valueOf(digits[i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    bytes += char(high << 4 | low);
  }
  return digits.size() % 2 ? std::nullopt : std::optional(bytes);
}
std::string digestOf(std::string_view body) {
  return artifact::hexadecimal(artifact::sha256(body)).substr(0, digestDigits);
}

// DIGEST BODY\n, both as hexadecimal digits: no byte of a name can end a line.
std::string lineOf(const Kept &row) {
  artifact::Writer out;
  out.text(row.call);
  out.count(row.sizes.size());
  for (int64_t size : row.sizes)
    out.number(size);
  out.text(row.candidate);
  out.text(row.digest);
  for (double time : {row.median, row.low, row.high, row.least, row.most})
    out.number(std::bit_cast<uint64_t>(time));
  std::string body = hexadecimal(out.bytes());
  return digestOf(body) + " " + body + "\n";
}
std::optional<Kept> rowOf(std::string_view line) {
  if (line.size() < digestDigits + 1 ||
      digestOf(line.substr(digestDigits + 1)) != line.substr(0, digestDigits))
    return std::nullopt;
  std::optional<std::string> bytes = bytesOf(line.substr(digestDigits + 1));
  if (!bytes)
    return std::nullopt;
  artifact::Reader in(*bytes);
  Kept row;
  row.call = in.text();
  row.sizes.resize(in.count(sizeof(int64_t)));
  for (int64_t &size : row.sizes)
    size = in.number<int64_t>();
  row.candidate = in.text();
  row.digest = in.text();
  for (double *time : {&row.median, &row.low, &row.high, &row.least, &row.most})
    *time = std::bit_cast<double>(in.number<uint64_t>());
  bool isTime = std::isfinite(row.median) && row.median >= 0 && row.low <= row.median &&
                row.median <= row.high && row.least <= row.median && row.median <= row.most;
  return in.isWhole() && isTime ? std::optional(row) : std::nullopt;
}

bool writeAll(int file, std::string_view bytes) {
  ssize_t count = 0;
  do
    count = ::write(file, bytes.data(), bytes.size());
  while (count < 0 && errno == EINTR);
  return count == ssize_t(bytes.size()); // a part of a line is no line
}

} // namespace

Result<std::shared_ptr<Results>> Results::open(const std::string &path) {
  Result<cache::PrivateFolder> folder = cache::PrivateFolder::open(path, ownName);
  if (!folder)
    return folder.status();
  return std::shared_ptr<Results>(new Results(std::move(*folder)));
}

std::string Results::fileOf(std::string_view subject) const {
  return artifact::hexadecimal(artifact::sha256(subject)).substr(0, 32);
}

std::string Results::text(const std::string &name) const {
  cache::OpenFile file(folder_.descriptor(), name, O_RDONLY);
  struct stat status{};
  if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    return "";
  std::string text(std::min(size_t(status.st_size), 2 * mostBytes), '\0');
  size_t done = 0;
  while (done != text.size()) {
    ssize_t count = ::pread(file, text.data() + done, text.size() - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += size_t(count);
  }
  text.resize(done);
  return text;
}

std::vector<Kept> Results::read(std::string_view subject) const {
  std::string all = text(fileOf(subject));
  std::vector<Kept> rows;
  std::map<std::tuple<std::string, std::vector<int64_t>, std::string, std::string>, size_t> known;
  for (size_t at = 0; at < all.size();) {
    size_t end = std::min(all.find('\n', at), all.size());
    if (std::optional<Kept> row = rowOf(std::string_view(all).substr(at, end - at))) {
      auto [place, isNew] =
          known.try_emplace({row->call, row->sizes, row->candidate, row->digest}, rows.size());
      if (isNew)
        rows.push_back(std::move(*row));
      else
        rows[place->second] = std::move(*row);
    }
    at = end + 1;
  }
  return rows;
}

// The younger half of the lines, in a file beside it that takes its place. A line that another process
// appends meanwhile is lost: it is measured again.
Status Results::shorten(const std::string &name, const std::string &all) const {
  size_t from = std::min(all.find('\n', all.size() / 2), all.size() - 1) + 1;
  static std::atomic<uint64_t> count{0};
  std::string fresh = name + "." + std::to_string(::getpid()) + "-" + std::to_string(++count);
  {
    cache::OpenFile file(folder_.descriptor(), fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (file < 0 || !writeAll(file, std::string_view(all).substr(from))) {
      ::unlinkat(folder_.descriptor(), fresh.c_str(), 0);
      return cache::systemError(folder_.path() + "/" + fresh);
    }
  }
  if (::renameat(folder_.descriptor(), fresh.c_str(), folder_.descriptor(), name.c_str()) == 0)
    return Status::success();
  Status status = cache::systemError(folder_.path() + "/" + name);
  ::unlinkat(folder_.descriptor(), fresh.c_str(), 0);
  return status;
}

Status Results::add(std::string_view subject, std::span<const Kept> rows) const {
  std::string name = fileOf(subject), lines = "\n"; // behind a part of a line that a writer left
  for (const Kept &row : rows)
    lines += lineOf(row);
  if (rows.empty())
    return Status::success();
  {
    cache::OpenFile file(folder_.descriptor(), name, O_WRONLY | O_CREAT | O_APPEND);
    if (file < 0 || !writeAll(file, lines))
      return cache::systemError(folder_.path() + "/" + name);
  }
  std::string all = text(name);
  return all.size() > mostBytes ? shorten(name, all) : Status::success();
}

} // namespace tegula::tune
