#include "drivers/cuda/Memory.h"

namespace tegula::cuda {
namespace {

// Calls `body(api)` in the device's context; `name` is the driver's name of what it calls.
template <class Body> Status inContext(int device, const char *name, Body body) {
  Result<const Api *> api = cuda::api();
  if (!api)
    return api.status();
  Current current;
  if (Status status = current.enter(**api, device); !status.ok())
    return status;
  CUresult result = body(**api);
  return result == success ? Status::success() : failure(**api, name, result);
}

CUdeviceptr address(const void *memory) { return CUdeviceptr(reinterpret_cast<uintptr_t>(memory)); }

} // namespace

Result<void *> allocate(int device, size_t bytes) {
  CUdeviceptr memory = 0;
  Status status = inContext(device, "cuMemAlloc",
                            [&](const Api &api) { return api.memAlloc(&memory, bytes ? bytes : 1); });
  if (!status.ok())
    return status;
  return reinterpret_cast<void *>(uintptr_t(memory));
}

Status release(int device, void *memory) {
  return inContext(device, "cuMemFree", [&](const Api &api) { return api.memFree(address(memory)); });
}

Status copy(int device, void *to, const void *from, size_t bytes) {
  return inContext(device, "cuMemcpy", [&](const Api &api) {
    return bytes ? api.memcpy(address(to), address(from), bytes) : success;
  });
}

Status synchronize(const runtime::Place &place) {
  return inContext(place.device, "cuStreamSynchronize", [&](const Api &api) {
    return api.streamSynchronize(static_cast<CUstream>(place.stream));
  });
}

} // namespace tegula::cuda
