// The devices of a target and their memory.
#include "capi/Handles.h"

#include <cstdlib>

using namespace tegula;
using capi::guarded;

// The devices of the target; null after a diagnostic, and for a target that has none.
static const compiler::Devices *devicesOf(const char *name, diag::Sink &sink) {
  const compiler::Target *target = compiler::requireTarget(name ? name : "", sink);
  return target ? target->devices : nullptr;
}

tg_status tg_device_count(const char *target, int32_t *count, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(count, "count", sink))
      return;
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
        sink.report(
            diag::Kind::HostMisuse, {},
            {"target `" + std::string(target) + "` has no devices", "it runs on this machine's cores"});
      return;
    }
    Result<const runtime::DeviceInfo *> found = devices->info(device);
    if (!found)
      return compiler::reportStatus(found.status(), target, {}, sink);
    const runtime::DeviceInfo &d = **found;
    if (capi::fill<tg_device>(out, {0, d.name.c_str(), d.arch.c_str(), d.major, d.minor, d.multiprocessors,
                                    d.warpSize, d.maxThreadsPerBlock, d.maxSharedBytes, d.maxRegisters,
                                    d.memoryBytes, d.cacheBytes, d.clockKilohertz, d.memoryClockKilohertz,
                                    d.memoryBusBits}) != TG_OK)
      sink.report(diag::Kind::HostMisuse, {},
                  {"struct_size of a tg_device is not set", "set it to its sizeof"});
  });
}

tg_status tg_device_current(const char *target, int32_t *device, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(device, "device", sink))
      return;
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

tg_status tg_memory_allocate(const char *target, int32_t device, size_t bytes, void **out,
                             tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink))
      return;
    *out = nullptr;
    const compiler::Devices *devices = devicesOf(target, sink);
    if (sink.hasErrors())
      return;
    Result<void *> memory =
        devices ? devices->allocate(device, bytes) : Result<void *>(std::malloc(bytes ? bytes : 1));
    if (!memory)
      return compiler::reportStatus(memory.status(), target, {}, sink);
    if (!*memory)
      throw std::bad_alloc();
    *out = *memory;
  });
}

// What a call on a target's devices came to; targets without devices did what `onHost` does.
template <class OnDevice, class OnHost>
static tg_status onTarget(const char *target, tg_diagnostics **problems, OnDevice onDevice, OnHost onHost) {
  return guarded(problems, [&](diag::Sink &sink) {
    const compiler::Devices *devices = devicesOf(target, sink);
    if (sink.hasErrors())
      return;
    if (!devices)
      return onHost();
    if (Status status = onDevice(*devices); !status.ok())
      compiler::reportStatus(status, target, {}, sink);
  });
}

tg_status tg_memory_release(const char *target, int32_t device, void *memory, tg_diagnostics **problems) {
  return onTarget(
      target, problems,
      [&](const compiler::Devices &devices) {
        return memory ? devices.release(device, memory) : Status::success();
      },
      [&] { std::free(memory); });
}

tg_status tg_memory_copy(const char *target, int32_t device, void *to, const void *from, size_t bytes,
                         tg_diagnostics **problems) {
  if (bytes && (!to || !from))
    return capi::fail(diag::Kind::HostMisuse, {"memory to copy is NULL", "it must point at something"},
                      problems);
  return onTarget(
      target, problems,
      [&](const compiler::Devices &devices) { return devices.copy(device, to, from, bytes); },
      [&] {
        if (bytes)
          std::memmove(to, from, bytes);
      });
}

tg_status tg_synchronize(const char *target, const tg_place *place, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    const compiler::Devices *devices = devicesOf(target, sink);
    std::optional<runtime::Place> where = capi::placeOf(place, sink);
    if (sink.hasErrors() || !devices)
      return;
    if (Status status = devices->synchronize(*where); !status.ok())
      compiler::reportStatus(status, target, {}, sink);
  });
}
