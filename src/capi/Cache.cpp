// The compiled kernels on disk.
#include "capi/Handles.h"
#include "compiler/KernelCache.h"

using namespace tegula;
using capi::guarded;

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
    if (capi::fill<tg_cache_info>(out, {0, path.c_str(), usage.entries, usage.bytes, disk->hits, disk->misses,
                                        disk->refused}) != TG_OK)
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
