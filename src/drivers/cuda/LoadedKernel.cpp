#include "drivers/cuda/LoadedKernel.h"
#include "base/Environment.h"
#include "base/OverLimit.h"

namespace tegula::cuda {
namespace {

constexpr size_t logBytes = 8192;

// A place for what the driver's assembler says of a PTX text.
struct AssemblerLog {
  std::string text = std::string(logBytes, '\0');
  int options[2] = {errorLogBuffer, errorLogBufferSizeBytes};
  void *values[2] = {text.data(), reinterpret_cast<void *>(logBytes)};
  std::string said() const { return text.substr(0, text.find('\0')); }
};

Status loadFailure(const Api &api, const char *call, CUresult result, const Image &image,
                   const AssemblerLog &log) {
  Status status = failure(api, call, result);
  if (result == noBinaryForGpu)
    status.message += "; the kernel was compiled for " + image.arch + ", and the device is another";
  if (std::string said = log.said(); !said.empty())
    status.message += "\n" + said;
  return status;
}

bool launchesBlock() {
  static const bool blocking = isOn(Variable::LaunchBlocking) || isOn(Variable::CudaLaunchBlocking);
  return blocking;
}

Status checkGrid(const runtime::Grid &grid) {
  for (size_t axis : {1, 2})
    if (grid.extent[axis] > 65535)
      return Status::error(StatusCode::Launch,
                           "axis " + std::to_string(axis) + " of the grid is " +
                               std::to_string(grid.extent[axis]) +
                               "; on this GPU it is at most 65535; hint: put the long axis first");
  return Status::success();
}

} // namespace

Status LoadedKernel::loadLibrary(const Api &api) {
  if (kernel_)
    return Status::success();
  AssemblerLog log;
  if (CUresult result = api.libraryLoadData(&library_, image_.bytes.c_str(), log.options, log.values, 2,
                                            nullptr, nullptr, 0))
    return loadFailure(api, "cuLibraryLoadData", result, image_, log);
  if (CUresult result = api.libraryGetKernel(&kernel_, library_, image_.entry.c_str()))
    return failure(api, "cuLibraryGetKernel", result);
  return Status::success();
}

Result<CUfunction> LoadedKernel::loadModule(const Api &api) {
  AssemblerLog log;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (CUresult result = api.moduleLoadDataEx(&module, image_.bytes.c_str(), 2, log.options, log.values))
    return loadFailure(api, "cuModuleLoadDataEx", result, image_, log);
  if (CUresult result = api.moduleGetFunction(&function, module, image_.entry.c_str()))
    return failure(api, "cuModuleGetFunction", result);
  return function;
}

// More than 48 KB a block must be asked for (CUDA programming guide, "Shared memory").
Status LoadedKernel::allowShared(const Api &api, const Current &current, CUfunction function) {
  Result<const runtime::DeviceInfo *> found = deviceInfo(current.device());
  if (!found)
    return found.status();
  const runtime::DeviceInfo *info = *found;
  if (image_.sharedBytes > uint64_t(info->maxSharedBytes))
    return Status::error(StatusCode::Resource,
                         overLimit("shared memory", image_.sharedBytes, uint64_t(info->maxSharedBytes)) +
                             " bytes, of " + info->name + "; hint: smaller tiles, or fewer stages");
  auto set = [&](FunctionAttribute attribute, int value) {
    CUresult result = kernel_ ? api.kernelSetAttribute(attribute, value, kernel_, current.handle())
                              : api.funcSetAttribute(function, attribute, value);
    return result == success ? Status::success() : failure(api, "cuFuncSetAttribute", result);
  };
  // The driver sets aside shared memory for as many blocks as fit into a multiprocessor; one is there, and
  // the rest is its first-level cache.
  if (image_.isAlone && image_.sharedBytes != 0) {
    constexpr uint64_t reserved = 1024; // of each block
    uint64_t most = uint64_t(info->maxSharedBytes) + reserved;
    // A hint: a driver that does not take it runs the kernel as well.
    (void)set(preferredSharedCarveout, int((100 * (image_.sharedBytes + reserved) + most - 1) / most));
  }
  return image_.sharedBytes > 48 * 1024 ? set(maxDynamicSharedSizeBytes, int(image_.sharedBytes))
                                        : Status::success();
}

CUresult LoadedKernel::ask(const Api &api, const Current &current, CUfunction function,
                           FunctionAttribute attribute, int &value) const {
  return kernel_ ? api.kernelGetAttribute(&value, attribute, kernel_, current.handle())
                 : api.funcGetAttribute(&value, attribute, function);
}

// A block of many threads with many registers each is refused here, with numbers: the driver's error of a
// launch has none.
Status LoadedKernel::checkThreads(const Api &api, const Current &current, CUfunction function) {
  int most = 0;
  if (CUresult result = ask(api, current, function, mostThreadsOfBlock, most))
    return failure(api, "cuFuncGetAttribute", result);
  if (image_.threads <= unsigned(most))
    return Status::success();
  return Status::error(StatusCode::Resource,
                       overLimit("threads", image_.threads, uint64_t(most)) +
                           "; hint: fewer warps, or fewer registers a thread (maxnreg)");
}

Result<CUfunction> LoadedKernel::load(const Api &api, const Current &current) {
  DuringCapture capture(api);
  CUfunction function = nullptr;
  if (api.hasLibraries()) {
    if (Status status = loadLibrary(api); !status.ok())
      return status;
    // The code reaches the device now, not during the first launch.
    CUfunction inThisContext = nullptr;
    if (CUresult result = api.kernelGetFunction(&inThisContext, kernel_))
      return loadFailure(api, "cuKernelGetFunction", result, image_, {});
    function = reinterpret_cast<CUfunction>(kernel_);
  } else {
    Result<CUfunction> loaded = loadModule(api);
    if (!loaded)
      return loaded;
    function = *loaded;
  }
  if (Status status = allowShared(api, current, function); !status.ok())
    return status;
  if (Status status = checkThreads(api, current, function); !status.ok())
    return status;
  return function;
}

Result<CUfunction> LoadedKernel::functionOn(const Api &api, const Current &current) {
  auto index = size_t(current.device());
  if (index >= maxDevices)
    return Status::error(StatusCode::Unsupported,
                         "devices above " + std::to_string(maxDevices) + " are not served");
  if (CUfunction known = functions_[index].load(std::memory_order_acquire))
    return known;
  std::lock_guard guard(mutex_);
  if (CUfunction known = functions_[index].load(std::memory_order_acquire))
    return known;
  Result<CUfunction> loaded = load(api, current);
  if (loaded)
    functions_[index].store(*loaded, std::memory_order_release);
  return loaded;
}

// The driver's answer to a launch by `call`.
static Status statusOf(const Api &api, CUresult result, const char *call, const runtime::Grid &grid) {
  if (result == cooperativeLaunchTooLarge)
    return Status::error(StatusCode::Launch,
                         "the grid of " + std::to_string(grid.programs()) +
                             " programs is cooperative (launch_cooperative_grid), and this GPU cannot run "
                             "so many of this kernel at the same time; hint: a smaller grid, in which each "
                             "program loops over its share");
  return result == success ? Status::success() : failure(api, call, result);
}

Status LoadedKernel::start(const Api &api, CUfunction function, const runtime::Grid &grid, CUstream stream,
                           void **parameters) {
  auto x = unsigned(grid.extent[0]), y = unsigned(grid.extent[1]), z = unsigned(grid.extent[2]);
  auto shared = unsigned(image_.sharedBytes);
  if (image_.launchesEarly && api.launchKernelEx) { // of an older driver launches wait, as without the option
    LaunchAttribute attributes[2];
    attributes[0].id = programmaticStreamSerialization;
    attributes[1].id = cooperative;
    attributes[0].value.number = attributes[1].value.number = 1;
    LaunchConfig config{x, y,      z,      image_.threads, 1,
                        1, shared, stream, attributes,     image_.isCooperative ? 2u : 1u};
    return statusOf(api, api.launchKernelEx(&config, function, parameters, nullptr), "cuLaunchKernelEx",
                    grid);
  }
  if (!image_.isCooperative) {
    CUresult result =
        api.launchKernel(function, x, y, z, image_.threads, 1, 1, shared, stream, parameters, nullptr);
    return statusOf(api, result, "cuLaunchKernel", grid);
  }
  return statusOf(
      api, api.launchCooperativeKernel(function, x, y, z, image_.threads, 1, 1, shared, stream, parameters),
      "cuLaunchCooperativeKernel", grid);
}

Status LoadedKernel::launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                            const runtime::Place &place) {
  constexpr size_t inlineSlots = 128;
  if (slots.size() > inlineSlots)
    return Status::error(StatusCode::Launch, "a kernel has at most 128 run-time parameters on this target");
  if (Status status = checkGrid(grid); !status.ok())
    return status;
  Result<const Api *> opened = cuda::api();
  if (!opened)
    return opened.status();
  const Api &api = **opened;
  Current current;
  if (Status status = current.enter(api, place.device); !status.ok())
    return status;
  Result<CUfunction> function = functionOn(api, current);
  if (!function)
    return function.status();

  static uint64_t noScratch = 0;
  uint64_t maps = copyMaps_.numberOf(api, library_, slots);
  void *parameters[inlineSlots + 8];
  size_t count = 0;
  for (const uint64_t &slot : slots)
    parameters[count++] = const_cast<uint64_t *>(&slot);
  for (unsigned i = 0; i != image_.hiddenPointers; ++i)
    parameters[count++] = i == 0 ? &maps : &noScratch;
  auto stream = static_cast<CUstream>(place.stream);
  if (Status status = start(api, *function, grid, stream, parameters); !status.ok())
    return status;
  if (!launchesBlock())
    return Status::success();
  int capturing = 0;
  api.streamIsCapturing(stream, &capturing);
  CUresult result = capturing ? success : api.streamSynchronize(stream);
  return result == success ? Status::success() : failure(api, "the kernel itself", result);
}

Result<runtime::KernelAttributes> LoadedKernel::attributes(int device) {
  Result<const Api *> opened = cuda::api();
  if (!opened)
    return opened.status();
  const Api &api = **opened;
  Current current;
  if (Status status = current.enter(api, device); !status.ok())
    return status;
  Result<CUfunction> function = functionOn(api, current);
  if (!function)
    return function.status();
  CUresult result = success;
  auto count = [&](FunctionAttribute attribute) {
    int value = 0;
    CUresult now = ask(api, current, *function, attribute, value);
    result = now ? now : result;
    return value;
  };
  runtime::KernelAttributes answer;
  answer.warps = int(image_.threads / 32);
  answer.registers = count(numRegs);
  answer.spillBytes = count(localSizeBytes);
  answer.sharedBytes = count(sharedSizeBytes) + int64_t(image_.sharedBytes);
  return result == success ? Result(answer)
                           : Result<runtime::KernelAttributes>(failure(api, "cuFuncGetAttribute", result));
}

} // namespace tegula::cuda
