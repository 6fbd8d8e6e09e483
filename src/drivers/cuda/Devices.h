// The GPUs of this machine, and which context a call of ours works in: the caller's current one
// when it belongs to the device, else the device's primary context, which PyTorch and the CUDA
// runtime use too.
#pragma once
#include "drivers/cuda/Api.h"
#include "runtime/Place.h"

namespace tegula::cuda {

Result<int> deviceCount();
// Launch: there is no such device. Asked once a device; lives on.
Result<const runtime::DeviceInfo *> deviceInfo(int device);
// The device of the context that is current on this thread, else the first.
Result<int> currentDevice();
// "sm_90a" of 9, 0: with the instructions that only this architecture has, where there are such.
std::string archName(int major, int minor);

// A context of `place.device` is current while this lives. A thread without any context keeps it.
class Current {
public:
  Current() = default;
  ~Current();
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

  Status enter(const Api &api, int device);
  int device() const { return device_; }
  // The driver's number of it.
  CUdevice handle() const { return handle_; }

private:
  const Api *pushed_ = nullptr;
  int device_ = -1;
  CUdevice handle_ = 0;
};

} // namespace tegula::cuda
