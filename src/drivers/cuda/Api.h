// libcuda, opened at run time: the functions of Symbols.def behind pointers, and what of the
// driver's types and numbers we use (CUDA Driver API reference). No header of the vendor is
// needed to build.
#pragma once
#include "base/Status.h"

#include <cstddef>

namespace tegula::cuda {

using CUresult = int;
using CUdevice = int;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUlibrary = struct CUlib_st *;
using CUkernel = struct CUkern_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUdeviceptr = unsigned long long; // of the host's memory too: one address space for all

enum Error : CUresult {
  success = 0,
  outOfMemory = 2,
  notInitialized = 3,
  deinitialized = 4,
  noDevice = 100,
  invalidContext = 201,
  noBinaryForGpu = 209,
  launchOutOfResources = 701,
  cooperativeLaunchTooLarge = 720,
};

enum DeviceAttribute {
  maxThreadsPerBlock = 1,
  warpSize = 10,
  maxRegistersPerBlock = 12,
  clockRate = 13,
  multiprocessorCount = 16,
  memoryClockRate = 36,
  globalMemoryBusWidth = 37,
  l2CacheSize = 38,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76,
  maxSharedMemoryPerBlockOptin = 97,
};

enum FunctionAttribute {
  mostThreadsOfBlock = 0,
  sharedSizeBytes = 1,
  localSizeBytes = 3,
  numRegs = 4,
  maxDynamicSharedSizeBytes = 8,
  preferredSharedCarveout = 9 // percent of what shared memory may be
};
enum JitOption { errorLogBuffer = 5, errorLogBufferSizeBytes = 6 };
enum CaptureMode { captureModeRelaxed = 2 };

// The arguments of cuLaunchKernelEx (CUlaunchConfig, CUlaunchAttribute): 56 bytes, and 72 an attribute.
struct LaunchAttribute {
  int id = 0;
  char padding[4] = {};
  union {
    char bytes[64] = {};
    int number;
  } value;
};
enum LaunchAttributeId { cooperative = 2, programmaticStreamSerialization = 6 };
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  CUstream stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

struct Api {
#define SYMBOL(name, exported, parameters) CUresult(*name) parameters = nullptr;
#include "drivers/cuda/Symbols.def"
  bool hasLibraries() const {
    return libraryLoadData && libraryGetKernel && kernelGetFunction && kernelSetAttribute;
  }
};

// The driver, initialised; opened on the first call. TEGULA_LIBCUDA names another library than
// "libcuda.so.1". Driver: there is none, it has no device, or this process was forked from one
// that had initialised it. A failure is kept: it is the answer of every later call.
Result<const Api *> api();

// "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)", with what to do about it.
Status failure(const Api &api, const char *call, CUresult error);

} // namespace tegula::cuda
