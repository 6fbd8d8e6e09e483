#include "drivers/cuda/Devices.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tegula::cuda {
namespace {

struct Device {
  CUdevice handle = 0;
  std::atomic<CUcontext> primary{nullptr};
  std::atomic<const runtime::DeviceInfo *> info{nullptr};
};

struct Table {
  std::vector<std::unique_ptr<Device>> devices;
  std::mutex mutex;
  Status status;
};

Table *readTable(const Api &api) {
  auto *table = new Table;
  int count = 0;
  CUresult result = api.deviceGetCount(&count);
  for (int i = 0; result == success && i != count; ++i) {
    table->devices.push_back(std::make_unique<Device>());
    result = api.deviceGet(&table->devices.back()->handle, i);
  }
  if (result != success)
    table->status = failure(api, "cuDeviceGet", result);
  else if (count == 0)
    table->status = failure(api, "cuDeviceGetCount", noDevice);
  return table;
}

// Never destroyed: threads may launch while the process ends.
Table &tableOf(const Api &api) {
  static Table *const table = readTable(api);
  return *table;
}

Result<Device *> find(const Api &api, int ordinal) {
  Table &table = tableOf(api);
  if (!table.status.ok())
    return table.status;
  if (ordinal < 0 || size_t(ordinal) >= table.devices.size())
    return Status::error(StatusCode::Launch, "there is no device " + std::to_string(ordinal) +
                                                 "; this process sees " +
                                                 std::to_string(table.devices.size()));
  return table.devices[size_t(ordinal)].get();
}

Result<int> ordinalOf(const Api &api, CUdevice handle) {
  Table &table = tableOf(api);
  for (size_t i = 0; i != table.devices.size(); ++i)
    if (table.devices[i]->handle == handle)
      return int(i);
  return Status::error(StatusCode::Driver,
                       "the current context belongs to a device that the driver does not list");
}

Result<CUcontext> primaryOf(const Api &api, Device &device) {
  if (CUcontext known = device.primary.load(std::memory_order_acquire))
    return known;
  std::lock_guard guard(tableOf(api).mutex);
  if (CUcontext known = device.primary.load(std::memory_order_acquire))
    return known;
  CUcontext context = nullptr;
  if (CUresult result = api.devicePrimaryCtxRetain(&context, device.handle))
    return failure(api, "cuDevicePrimaryCtxRetain", result);
  device.primary.store(context, std::memory_order_release);
  return context;
}

Result<std::unique_ptr<runtime::DeviceInfo>> readInfo(const Api &api, CUdevice handle) {
  auto info = std::make_unique<runtime::DeviceInfo>();
  CUresult result = success;
  auto ask = [&](DeviceAttribute attribute) {
    int value = 0;
    if (CUresult now = api.deviceGetAttribute(&value, attribute, handle))
      result = now;
    return value;
  };
  char name[256] = {};
  size_t bytes = 0;
  if ((result = api.deviceGetName(name, sizeof name - 1, handle)) == success)
    result = api.deviceTotalMem(&bytes, handle);
  info->name = name;
  info->memoryBytes = int64_t(bytes);
  info->major = ask(computeCapabilityMajor);
  info->minor = ask(computeCapabilityMinor);
  info->arch = archName(info->major, info->minor);
  info->multiprocessors = ask(multiprocessorCount);
  info->warpSize = ask(warpSize);
  info->maxThreadsPerBlock = ask(maxThreadsPerBlock);
  info->maxSharedBytes = ask(maxSharedMemoryPerBlockOptin);
  info->maxRegisters = ask(maxRegistersPerBlock);
  info->cacheBytes = ask(l2CacheSize);
  info->clockKilohertz = ask(clockRate);
  info->memoryClockKilohertz = ask(memoryClockRate);
  info->memoryBusBits = ask(globalMemoryBusWidth);
  if (result != success)
    return failure(api, "cuDeviceGetAttribute", result);
  return info;
}

} // namespace

std::string archName(int major, int minor) {
  return "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
}

Result<int> deviceCount() {
  Result<const Api *> api = cuda::api();
  if (!api)
    return api.status();
  Table &table = tableOf(**api);
  if (!table.status.ok())
    return table.status;
  return int(table.devices.size());
}

Result<const runtime::DeviceInfo *> deviceInfo(int ordinal) {
  Result<const Api *> api = cuda::api();
  if (!api)
    return api.status();
  Result<Device *> device = find(**api, ordinal);
  if (!device)
    return device.status();
  if (const runtime::DeviceInfo *known = (*device)->info.load(std::memory_order_acquire))
    return known;
  std::lock_guard guard(tableOf(**api).mutex);
  if (const runtime::DeviceInfo *known = (*device)->info.load(std::memory_order_acquire))
    return known;
  auto info = readInfo(**api, (*device)->handle);
  if (!info)
    return info.status();
  (*device)->info.store(info->get(), std::memory_order_release);
  return const_cast<const runtime::DeviceInfo *>(info->release());
}

Result<int> currentDevice() {
  Result<const Api *> api = cuda::api();
  if (!api)
    return api.status();
  CUcontext context = nullptr;
  CUdevice handle = 0;
  if (CUresult result = (*api)->ctxGetCurrent(&context))
    return failure(**api, "cuCtxGetCurrent", result);
  if (!context)
    return 0;
  if (CUresult result = (*api)->ctxGetDevice(&handle))
    return failure(**api, "cuCtxGetDevice", result);
  return ordinalOf(**api, handle);
}

Status Current::enter(const Api &api, int device) {
  CUcontext context = nullptr;
  if (CUresult result = api.ctxGetCurrent(&context))
    return failure(api, "cuCtxGetCurrent", result);
  if (context) {
    if (CUresult result = api.ctxGetDevice(&handle_))
      return failure(api, "cuCtxGetDevice", result);
    Result<int> ordinal = ordinalOf(api, handle_);
    if (!ordinal)
      return ordinal.status();
    device_ = *ordinal;
    // Without libraries code belongs to one context of the device, and we load it into the primary.
    if ((device < 0 || device == device_) && api.hasLibraries())
      return Status::success();
  }
  device_ = device >= 0 ? device : std::max(device_, 0);
  Result<Device *> wanted = find(api, device_);
  if (!wanted)
    return wanted.status();
  Result<CUcontext> primary = primaryOf(api, **wanted);
  if (!primary)
    return primary.status();
  handle_ = (*wanted)->handle;
  if (context == *primary)
    return Status::success();
  CUresult result = context ? api.ctxPushCurrent(*primary) : api.ctxSetCurrent(*primary);
  if (result != success)
    return failure(api, context ? "cuCtxPushCurrent" : "cuCtxSetCurrent", result);
  if (context)
    pushed_ = &api;
  return Status::success();
}

Current::~Current() {
  CUcontext popped = nullptr;
  if (pushed_)
    pushed_->ctxPopCurrent(&popped);
}

} // namespace tegula::cuda
