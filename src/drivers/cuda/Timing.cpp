#include "drivers/cuda/Timing.h"
#include "drivers/cuda/Memory.h"

#include <algorithm>

namespace tegula::cuda {
namespace {

// At least twice the cache, so that nothing of it stays.
constexpr size_t leastFlushed = size_t(64) << 20;

class Events {
public:
  explicit Events(const Api &api) : api_(api) {}
  ~Events() {
    for (CUevent event : {start_, stop_})
      if (event)
        api_.eventDestroy(event);
  }
  Events(const Events &) = delete;
  Status create() {
    for (CUevent *event : {&start_, &stop_})
      if (CUresult result = api_.eventCreate(event, 0); result != success)
        return failure(api_, "cuEventCreate", result);
    return Status::success();
  }
  Status record(bool isStart, CUstream stream) {
    CUresult result = api_.eventRecord(isStart ? start_ : stop_, stream);
    return result == success ? Status::success() : failure(api_, "cuEventRecord", result);
  }
  Result<double> elapsed() {
    float milliseconds = 0;
    if (CUresult result = api_.eventSynchronize(stop_); result != success)
      return failure(api_, "cuEventSynchronize", result);
    if (CUresult result = api_.eventElapsedTime(&milliseconds, start_, stop_); result != success)
      return failure(api_, "cuEventElapsedTime", result);
    return double(milliseconds);
  }

private:
  const Api &api_;
  CUevent start_ = nullptr, stop_ = nullptr;
};

// Memory that is written to fill the cache.
class Flush {
public:
  Flush(int device, size_t bytes) : device_(device), bytes_(bytes) {}
  ~Flush() {
    if (memory_)
      (void)release(device_, memory_);
  }
  Flush(const Flush &) = delete;
  Status allocate() {
    Result<void *> memory = cuda::allocate(device_, bytes_);
    if (memory)
      memory_ = *memory;
    return memory.status();
  }
  Status write(const Api &api, CUstream stream) {
    CUresult result = api.memsetD8Async(CUdeviceptr(reinterpret_cast<uintptr_t>(memory_)), 0, bytes_, stream);
    return result == success ? Status::success() : failure(api, "cuMemsetD8Async", result);
  }

private:
  const int device_;
  const size_t bytes_;
  void *memory_ = nullptr;
};

} // namespace

Result<std::vector<double>> time(const runtime::Place &place, size_t runs,
                                 const std::function<Status()> &prepare,
                                 const std::function<Status()> &launch) {
  Result<const Api *> api = cuda::api();
  if (!api)
    return api.status();
  Current current;
  if (Status status = current.enter(**api, place.device); !status.ok())
    return status;
  Result<const runtime::DeviceInfo *> info = deviceInfo(current.device());
  if (!info)
    return info.status();
  Flush flush(current.device(),
              std::max(leastFlushed, 2 * size_t(std::max<int64_t>((*info)->cacheBytes, 0))));
  Events events(**api);
  if (Status status = flush.allocate(); !status.ok())
    return status;
  if (Status status = events.create(); !status.ok())
    return status;
  auto stream = static_cast<CUstream>(place.stream);
  std::vector<double> times;
  for (size_t run = 0; run != runs; ++run) {
    Status status = prepare();
    if (status.ok())
      status = synchronize({current.device(), nullptr});
    if (status.ok())
      status = flush.write(**api, stream);
    if (status.ok())
      status = events.record(true, stream);
    if (status.ok())
      status = launch();
    if (status.ok())
      status = events.record(false, stream);
    Result<double> elapsed = status.ok() ? events.elapsed() : Result<double>(status);
    if (!elapsed)
      return elapsed.status();
    times.push_back(*elapsed);
  }
  return times;
}

} // namespace tegula::cuda
