#include "artifact/Archive.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"

#include <algorithm>
#include <set>

namespace tegula::artifact {
namespace {

constexpr std::string_view magic = "TEGARCH\n";
constexpr uint32_t archiveVersion = 1;
constexpr size_t digestBytes = 32;

Status refuse(const std::string &what) { return Status::error(StatusCode::Data, "the archive " + what); }

Status check(const Archive::Entry &entry) {
  if (!isIdentifier(entry.name))
    return refuse("has a kernel named `" + entry.name + "`, which is no name of C");
  if (entry.code.empty())
    return refuse("has no code for `" + entry.name + "`");
  for (const Artifact &artifact : entry.code) {
    if (artifact.failure || artifact.parts.empty())
      return refuse("has no code for `" + entry.name + "` on " + artifact.target);
    if (artifact.parameters != entry.code.front().parameters)
      return refuse("has code for `" + entry.name + "` whose parameters differ between targets");
  }
  return Status::success();
}

} // namespace

bool isIdentifier(std::string_view name) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && isLetter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

Status check(const Archive &archive) {
  std::set<std::string_view> names;
  for (const Archive::Entry &entry : archive.entries) {
    if (Status status = check(entry); !status.ok())
      return status;
    if (!names.insert(entry.name).second)
      return refuse("has two kernels named `" + entry.name + "`");
  }
  return Status::success();
}

// magic, version, the number of entries; of each its name, the number of its artifacts, and those.
std::string write(const Archive &archive) {
  Writer out;
  out.number(archiveVersion);
  out.count(archive.entries.size());
  for (const Archive::Entry &entry : archive.entries) {
    out.text(entry.name);
    out.count(entry.code.size());
    for (const Artifact &artifact : entry.code)
      out.text(write(artifact));
  }
  std::string bytes = std::string(magic) + out.take();
  Sha256 digest = sha256(bytes);
  return bytes.append(reinterpret_cast<const char *>(digest.data()), digest.size());
}

Result<Archive> readArchive(std::string_view bytes) {
  if (bytes.size() < magic.size() + digestBytes || !bytes.starts_with(magic))
    return refuse("is too short, or something else");
  std::string_view body = bytes.substr(0, bytes.size() - digestBytes);
  Sha256 digest = sha256(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), digestBytes) != 0)
    return refuse("is damaged: its digest is another one");
  Reader in(body.substr(magic.size()));
  if (in.number<uint32_t>() != archiveVersion)
    return refuse("is of another version");
  Archive archive;
  archive.entries.resize(in.count(16));
  for (Archive::Entry &entry : archive.entries) {
    entry.name = in.text();
    size_t count = in.count(8);
    for (size_t i = 0; i != count; ++i) {
      Result<Artifact> artifact = read(in.text());
      if (!artifact)
        return artifact.status();
      entry.code.push_back(std::move(*artifact));
    }
  }
  if (!in.isWhole())
    return refuse("cannot be read to its end");
  if (Status status = check(archive); !status.ok())
    return status;
  return archive;
}

std::string interfaceDigest(const Archive &archive) {
  Writer out;
  for (const Archive::Entry &entry : archive.entries) {
    out.text(entry.name);
    const std::vector<Parameter> &parameters = entry.code.front().parameters;
    out.count(parameters.size());
    for (const Parameter &parameter : parameters) {
      out.text(name(parameter.dtype));
      out.number(uint8_t(parameter.isPointer | parameter.isWritten << 1));
    }
  }
  return hexadecimal(sha256(out.bytes())).substr(0, 16);
}

} // namespace tegula::artifact
