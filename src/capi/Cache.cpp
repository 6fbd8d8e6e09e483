// The compiled kernels on disk.
#include "base/Files.h"
#include "capi/Handles.h"
#include "compiler/CacheFile.h"
#include "compiler/KernelCache.h"
#include "runtime/CpuFeatures.h"

using namespace tegula;
using capi::guarded;

static constexpr uint64_t largestExport = uint64_t(1) << 34;

// Null after a diagnostic.
static std::shared_ptr<cache::DiskCache> theCache(diag::Sink &sink) {
  Result<std::shared_ptr<cache::DiskCache>> disk = compiler::diskCache();
  if (disk)
    return *disk;
  sink.report(diag::Kind::CacheMissing, {}, {disk.status().message});
  return nullptr;
}

tg_status tg_cache_get_info(tg_cache_info *out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    static thread_local std::string path;
    if (!capi::checkGiven(out, "out", sink))
      return;
    std::shared_ptr<cache::DiskCache> disk = theCache(sink);
    if (!disk)
      return;
    cache::DiskCache::Usage usage = disk->usage();
    path = disk->path();
    Result<std::shared_ptr<cache::RemoteCache>> opened = compiler::remoteCache();
    std::shared_ptr<cache::RemoteCache> remote = opened ? *opened : nullptr;
    if (capi::fill<tg_cache_info>(out, {0, path.c_str(), usage.entries, usage.bytes, disk->hits, disk->misses,
                                        disk->refused, remote ? remote->hits.load() : 0,
                                        remote ? remote->refused.load() : 0}) != TG_OK)
      sink.report(diag::Kind::HostMisuse, {},
                  {"struct_size of a tg_cache_info is not set", "set it to its sizeof"});
  });
}

tg_status tg_cache_verify(uint64_t *entries, uint64_t *damaged, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::shared_ptr<cache::DiskCache> disk = theCache(sink);
    if (!disk)
      return;
    compiler::Verified verified = compiler::verify(*disk);
    if (entries)
      *entries = verified.entries;
    if (damaged)
      *damaged = verified.damaged;
  });
}

tg_status tg_cache_clear(uint64_t *entries, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::shared_ptr<cache::DiskCache> disk = theCache(sink);
    if (!disk)
      return;
    uint64_t removed = disk->clear();
    if (entries)
      *entries = removed;
  });
}

tg_status tg_cache_export(const char *path, uint64_t *entries, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::shared_ptr<cache::DiskCache> disk = capi::checkGiven(path, "path", sink) ? theCache(sink) : nullptr;
    if (!disk)
      return;
    uint64_t written = 0;
    if (capi::writeFile(path, compiler::exported(*disk, written), sink) && entries)
      *entries = written;
  });
}

tg_status tg_cache_import(const char *path, uint64_t *entries, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::shared_ptr<cache::DiskCache> disk = capi::checkGiven(path, "path", sink) ? theCache(sink) : nullptr;
    if (!disk)
      return;
    Result<std::string> bytes = readFile(path, largestExport);
    if (!bytes) {
      sink.report(diag::Kind::FileUnreadable, {}, {path, bytes.status().message});
      return;
    }
    uint64_t added = 0;
    Status status = compiler::import(*disk, *bytes, added);
    if (entries)
      *entries = added;
    if (!status.ok())
      sink.report(diag::Kind::CacheFile, {}, {path, status.message});
  });
}

const char *tg_cpu_feature(size_t index) {
  static const std::vector<const char *> *const features = [] {
    auto *all = new std::vector<const char *>;
    for (std::string_view feature : runtime::cpuFeatures())
      if (runtime::cpuHas(feature))
        all->push_back(feature.data()); // of a table of literals
    return all;
  }();
  return index < features->size() ? (*features)[index] : nullptr;
}
