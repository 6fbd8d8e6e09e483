// The verb `cache`: the compiled kernels on disk.
#include "Verbs.h"

#include <cinttypes>
#include <cstdio>

namespace tegula::cli {

int cacheStats() {
  tg_cache_info info{};
  info.struct_size = sizeof info;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_get_info(&info, &problems))
    return report(tg::Error(status, problems));
  std::printf("%s: %" PRIu64 " compiled kernels, %.1f MB\n", info.path, info.entries,
              double(info.bytes) / 1e6);
  return ExitOk;
}

int cacheVerify() {
  uint64_t entries = 0, damaged = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_verify(&entries, &damaged, &problems))
    return report(tg::Error(status, problems));
  std::printf("%" PRIu64 " compiled kernels; %" PRIu64 " were damaged, and are removed\n", entries, damaged);
  return damaged ? ExitDiagnostics : ExitOk;
}

int cacheExport(const std::string &path) {
  uint64_t entries = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_export(path.c_str(), &entries, &problems))
    return report(tg::Error(status, problems));
  std::printf("%" PRIu64 " compiled kernels are written to %s\n", entries, path.c_str());
  return ExitOk;
}

int cacheImport(const std::string &path) {
  uint64_t entries = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_import(path.c_str(), &entries, &problems))
    return report(tg::Error(status, problems));
  std::printf("%" PRIu64 " compiled kernels are added\n", entries);
  return ExitOk;
}

int cacheClear() {
  uint64_t entries = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_clear(&entries, &problems))
    return report(tg::Error(status, problems));
  std::printf("%" PRIu64 " compiled kernels are removed\n", entries);
  return ExitOk;
}

} // namespace tegula::cli
