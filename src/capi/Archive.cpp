// Compiled kernels as files for programs without a compiler.
#include "artifact/Archive.h"
#include "base/Files.h"
#include "capi/Handles.h"
#include "compiler/Targets.h"

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
  Status status = tegula::writeFile(path, {bytes});
  if (!status.ok())
    sink.report(diag::Kind::ArchiveUnwritable, {}, {"`" + path + "` cannot be written: " + status.message});
  return status.ok();
}

// Reports something that does not go into an archive or a header; the message may end with "; hint: ".
static void refuse(const Status &status, diag::Sink &sink) {
  auto [message, hint] = compiler::withoutHint(status.message);
  diag::Diagnostic &diagnostic = sink.report(diag::Kind::ArchiveEntries, {}, {message});
  if (!hint.empty())
    diagnostic.hint = hint;
}

// Code that no program can load is of no use in an archive.
static Status checkTargets(const artifact::Archive &archive) {
  static constexpr std::string_view loadable[] = {
#define LOADER(Name, target) target,
#include "loader/Loaders.def"
  };
  std::string names;
  for (std::string_view name : loadable)
    names += (names.empty() ? "" : ", ") + std::string(name);
  for (const artifact::Archive::Entry &entry : archive.entries)
    for (const artifact::Artifact &artifact : entry.code)
      if (std::ranges::find(loadable, artifact.target) == std::end(loadable))
        return Status::error(StatusCode::Launch,
                             "`" + entry.name + "` is compiled for `" + artifact.target +
                                 "`, whose code no program can load from an archive; hint: "
                                 "targets of archives are " +
                                 names);
  return Status::success();
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
  Status status = checkTargets(archive);
  if (status.ok())
    status = artifact::check(archive);
  if (status.ok())
    return archive;
  refuse(status, sink);
  return std::nullopt;
}

tg_status tg_archive_write(const tg_archive_entry *entries, size_t count, const char *path,
                           const char *header, const char *prefix, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkItems(entries, count, capi::mostArguments, "entries", sink) && count)
      return;
    if (!capi::checkGiven(path, "path", sink) || (header && !capi::checkGiven(prefix, "prefix", sink)))
      return;
    if (header && isSameFile(path, header)) {
      sink.report(diag::Kind::HostMisuse, {},
                  {"the archive and its header are one file, `" + std::string(path) + "`",
                   "give each a path of its own"});
      return;
    }
    std::optional<artifact::Archive> archive = collect({entries, count}, sink);
    if (!archive)
      return;
    if (Status status = header ? artifact::checkHeader(*archive, prefix) : Status::success(); !status.ok())
      return refuse(status, sink);
    if (capi::writeFile(path, artifact::write(*archive), sink) && header)
      capi::writeFile(header, artifact::headerOf(*archive, prefix), sink);
  });
}
