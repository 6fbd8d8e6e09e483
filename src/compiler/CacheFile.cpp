#include "compiler/CacheFile.h"
#include "artifact/Artifact.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"

#include <algorithm>
#include <cstring>

namespace tegula::compiler {
namespace {

constexpr std::string_view magic = "TEGCACHE";
constexpr uint32_t fileVersion = 1;
constexpr size_t digestBytes = 32;

Status refuse(const std::string &what) {
  return Status::error(StatusCode::Data, "the file of compiled kernels " + what);
}

// An entry's name says what it was made from.
bool isWhole(const std::string &bytes, std::string &name) {
  Result<artifact::Artifact> artifact = artifact::read(bytes);
  if (artifact)
    name = artifact::hexadecimal(artifact::sha256(artifact->key));
  return artifact.ok();
}

bool isThere(const cache::DiskCache &disk, const std::string &name, const std::string &bytes) {
  for (unsigned slot = 0; slot != cache::slotsOfName; ++slot)
    if (disk.get(name, slot) == bytes)
      return true;
  return false;
}

} // namespace

std::string exported(const cache::DiskCache &disk, uint64_t &entries) {
  std::vector<std::pair<std::string, unsigned>> all;
  disk.forEach([&](const std::string &name, unsigned slot) { all.emplace_back(name, slot); });
  std::sort(all.begin(), all.end());
  artifact::Writer rows;
  entries = 0;
  for (const auto &[name, slot] : all) {
    std::optional<std::string> bytes = disk.get(name, slot);
    std::string itsName;
    if (!bytes || !isWhole(*bytes, itsName) || itsName != name)
      continue;
    rows.text(*bytes);
    ++entries;
  }
  artifact::Writer head;
  head.number(fileVersion);
  head.count(entries);
  std::string file = std::string(magic) + head.bytes() + rows.bytes();
  artifact::Sha256 digest = artifact::sha256(file);
  return file.append(reinterpret_cast<const char *>(digest.data()), digest.size());
}

Status import(cache::DiskCache &disk, std::string_view bytes, uint64_t &entries) {
  entries = 0;
  if (bytes.size() < magic.size() + digestBytes || !bytes.starts_with(magic))
    return refuse("is too short, or something else");
  std::string_view body = bytes.substr(0, bytes.size() - digestBytes);
  artifact::Sha256 digest = artifact::sha256(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), digestBytes) != 0)
    return refuse("is damaged: its digest is another one");
  artifact::Reader in(body.substr(magic.size()));
  if (in.number<uint32_t>() != fileVersion)
    return refuse("is of another version");
  for (size_t count = in.count(8), i = 0; i != count; ++i) {
    std::string entry(in.text()), name;
    if (!isWhole(entry, name))
      return refuse("has an entry that is no compiled kernel of this version");
    if (isThere(disk, name, entry))
      continue;
    if (Status status = disk.put(name, entry); !status.ok())
      return status;
    ++entries;
  }
  return in.isWhole() ? Status::success() : refuse("cannot be read to its end");
}

} // namespace tegula::compiler
