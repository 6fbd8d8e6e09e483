// The devices of a target.
#include "capi/Handles.h"

using namespace tegula;
using capi::guarded;

// The devices of the target; null after a diagnostic, and for a target that has none.
static const compiler::Devices *devicesOf(const char *name, diag::Sink &sink) {
  const compiler::Target *target = compiler::requireTarget(name ? name : "", sink);
  return target ? target->devices : nullptr;
}

tg_status tg_device_count(const char *target, int32_t *count, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    *count = 0;
    const compiler::Devices *devices = devicesOf(target, sink);
    if (!devices)
      return;
    Result<int> found = devices->count();
    if (!found)
      return compiler::reportStatus(found.status(), target, {}, sink);
    *count = *found;
  });
}

tg_status tg_device_get(const char *target, int32_t device, tg_device *out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    const compiler::Devices *devices = devicesOf(target, sink);
    if (!devices) {
      if (!sink.hasErrors())
        sink.report(diag::Kind::HostMisuse, {}, {"target `" + std::string(target) + "` has no devices", "it runs on this machine's cores"});
      return;
    }
    Result<const runtime::DeviceInfo *> found = devices->info(device);
    if (!found)
      return compiler::reportStatus(found.status(), target, {}, sink);
    const runtime::DeviceInfo &d = **found;
    if (capi::fill<tg_device>(out, {0, d.name.c_str(), d.arch.c_str(), d.major, d.minor, d.multiprocessors, d.warpSize,
                                    d.maxThreadsPerBlock, d.maxSharedBytes, d.maxRegisters, d.memoryBytes, d.cacheBytes,
                                    d.clockKilohertz, d.memoryClockKilohertz, d.memoryBusBits}) != TG_OK)
      sink.report(diag::Kind::HostMisuse, {}, {"struct_size of a tg_device is not set", "set it to its sizeof"});
  });
}

tg_status tg_device_current(const char *target, int32_t *device, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    *device = -1;
    const compiler::Devices *devices = devicesOf(target, sink);
    if (!devices)
      return;
    Result<int> found = devices->current();
    if (!found)
      return compiler::reportStatus(found.status(), target, {}, sink);
    *device = *found;
  });
}
