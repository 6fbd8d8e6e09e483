// A cubin (or PTX, which the driver then assembles) -> launches of its entry, on any device.
// Loaded on a device before its first launch there; a launch itself neither allocates nor waits in its
// stream, so that it can be captured into a graph. Safe from several threads.
#pragma once
#include "drivers/cuda/CopyMaps.h"
#include "drivers/cuda/Devices.h"
#include "runtime/Launch.h"

#include <array>
#include <atomic>
#include <mutex>
#include <span>

namespace tegula::cuda {

struct Image {
  std::string bytes; // cubin, or PTX
  std::string entry, arch;
  unsigned threads = 128;     // of a block
  uint64_t sharedBytes = 0;   // dynamic, of a block
  bool isAlone = false;       // no other block of a launch runs on the block's multiprocessor
  bool isCooperative = false; // all blocks of a launch run at the same time, or it is refused
  bool launchesEarly = false; // a launch may begin before the one ahead of it in its stream has ended
  // Parameters behind the kernel's own: pointers to scratch memory, null (ABI mode `plain`); but the first
  // says where the kernel's copy maps lie (base/CopyMap.h).
  unsigned hiddenPointers = 2;
  std::vector<CopyMap> copyMaps = {};
};

class LoadedKernel {
public:
  explicit LoadedKernel(Image image) : image_(std::move(image)), copyMaps_(image_.copyMaps) {}

  // One 8-byte slot a parameter. Launch: the grid does not fit the hardware. Resource: the block
  // does not. Driver: what the driver says.
  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &place);
  Result<runtime::KernelAttributes> attributes(int device);

private:
  static constexpr size_t maxDevices = 128;
  // Of the driver: a CUkernel, which works in every context of the device, where it has such.
  Result<CUfunction> functionOn(const Api &api, const Current &current);
  Result<CUfunction> load(const Api &api, const Current &current);
  Status start(const Api &api, CUfunction function, const runtime::Grid &grid, CUstream stream,
               void **parameters);
  Status loadLibrary(const Api &api);
  Result<CUfunction> loadModule(const Api &api);
  Status allowShared(const Api &api, const Current &current, CUfunction function);
  Status checkThreads(const Api &api, const Current &current, CUfunction function);
  CUresult ask(const Api &api, const Current &current, CUfunction function, FunctionAttribute attribute,
               int &value) const;

  const Image image_;
  CopyMaps copyMaps_;
  std::mutex mutex_;
  // Never unloaded: a captured graph may still run the code when its kernel is forgotten.
  CUlibrary library_ = nullptr; // null with a driver that knows modules alone
  CUkernel kernel_ = nullptr;
  std::array<std::atomic<CUfunction>, maxDevices> functions_{};
};

} // namespace tegula::cuda
