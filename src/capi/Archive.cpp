// Compiled kernels as files for programs without a compiler.
#include "artifact/Archive.h"
#include "capi/Handles.h"

#include <cerrno>
#include <cstdio>
#include <fstream>

using namespace tegula;
using capi::guarded;

// The code, and what a launch needs: not what it was made from, and not what the compiler said.
static artifact::Artifact shipped(const artifact::Artifact &artifact) {
  artifact::Artifact kept = artifact;
  kept.key.clear();
  kept.answers.clear();
  kept.remarks.clear();
  kept.warnings.clear();
  std::erase_if(kept.parts, [](const artifact::Part &part) { return part.name == compiler::tilePart; });
  return kept;
}

bool capi::writeFile(const std::string &path, std::string_view bytes, diag::Sink &sink) {
  std::string beside = path + ".new";
  errno = 0;
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (file && std::rename(beside.c_str(), path.c_str()) == 0)
    return true;
  std::string reason = errno ? std::strerror(errno) : "the disk did not take it";
  std::remove(beside.c_str());
  sink.report(diag::Kind::ArchiveUnwritable, {}, {"`" + path + "` cannot be written: " + reason});
  return false;
}

static std::optional<artifact::Archive> collect(std::span<const tg_archive_entry> entries, diag::Sink &sink) {
  artifact::Archive archive;
  for (const tg_archive_entry &entry : entries) {
    if (!capi::checkGiven(entry.name, "name", sink) || !capi::checkHandle(entry.kernel, "tg_kernel", sink))
      return std::nullopt;
    if (archive.entries.empty() || archive.entries.back().name != entry.name)
      archive.entries.push_back({entry.name, {}});
    archive.entries.back().code.push_back(shipped(capi::kernelOf(entry.kernel)->compilation->artifact()));
  }
  Status status = artifact::check(archive);
  if (status.ok())
    return archive;
  sink.report(diag::Kind::ArchiveEntries, {}, {status.message});
  return std::nullopt;
}

tg_status tg_archive_write(const tg_archive_entry *entries, size_t count, const char *path,
                           const char *header, const char *prefix, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkItems(entries, count, capi::mostArguments, "entries", sink) && count)
      return;
    if (!capi::checkGiven(path, "path", sink) || (header && !capi::checkGiven(prefix, "prefix", sink)))
      return;
    std::optional<artifact::Archive> archive = collect({entries, count}, sink);
    if (archive && capi::writeFile(path, artifact::write(*archive), sink) && header)
      capi::writeFile(header, artifact::headerOf(*archive, prefix), sink);
  });
}
