// A driver for machines without one: it knows FAKE_CUDA_DEVICES devices (two without), keeps the
// rules that we rely on (a context is current, code is loaded in relaxed capture mode, shared
// memory above 48 KB is asked for), and writes down each call. `fakeCuda...` is for the tests.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum {
  Ok = 0,
  InvalidValue = 1,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidContext = 201,
  CaptureUnsupported = 900
};

struct Context {
  int device;
};
struct Function {
  std::string name;
  int sharedLimit = 48 * 1024;
};

std::mutex mutex;
std::string calls;
int failing = 0;        // what the next launches answer
std::string failsIn;    // the function that fails
bool capturing = false; // some thread captures in global mode
int loads = 0;
int launches = 0;
std::vector<uint64_t> seen; // parameters of the last launch
bool initialised = false;
Context primaries[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
std::set<int> retained;
std::deque<Context> contexts;   // that tests made
std::deque<Function> functions; // of what was loaded
std::deque<int> streams;
std::map<uint64_t, std::unique_ptr<std::byte[]>>
    memory; // of the devices: theirs until it is freed, or the end
thread_local std::vector<Context *> stack;
thread_local int captureMode = 0;

int count() {
  const char *text = std::getenv("FAKE_CUDA_DEVICES");
  return text ? std::atoi(text) : 2;
}

bool quiet = false; // writing down costs more than a launch
void note(const std::string &call) {
  std::lock_guard guard(mutex);
  calls += call + "\n";
}

int answer(const char *function) {
  if (!initialised)
    return NotInitialized;
  std::lock_guard guard(mutex);
  return failing && failsIn == function ? failing : Ok;
}

int made(void **function, const char *name) {
  std::lock_guard guard(mutex);
  *function = &functions.emplace_back(Function{name});
  return Ok;
}

} // namespace

EXPORT const char *fakeCudaCalls() { return calls.c_str(); }
EXPORT void fakeCudaReset() {
  std::lock_guard guard(mutex);
  calls.clear();
  failing = 0;
  capturing = false;
  loads = 0;
}
EXPORT void fakeCudaFail(const char *function, int error) {
  failsIn = function;
  failing = error;
}
EXPORT void fakeCudaQuiet(bool on) { quiet = on; }
EXPORT void fakeCudaCapture(bool on) { capturing = on; }
EXPORT int fakeCudaLoads() { return loads; }
EXPORT size_t fakeCudaAllocations() { return memory.size(); }
EXPORT uint64_t fakeCudaParameter(size_t index) { return index < seen.size() ? seen[index] : ~0ull; }
EXPORT void *fakeCudaMakeContext(int device) { return &contexts.emplace_back(Context{device}); }

EXPORT int cuInit(unsigned) {
  initialised = true;
  return count() > 0 ? Ok : NoDevice;
}
EXPORT int cuDriverGetVersion(int *version) { return *version = 13000, Ok; }
EXPORT int cuGetErrorName(int error, const char **text) {
  *text = error == 700        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == NoDevice ? "CUDA_ERROR_NO_DEVICE"
                              : "CUDA_ERROR_OTHER";
  return Ok;
}
EXPORT int cuGetErrorString(int error, const char **text) {
  *text = error == 700 ? "an illegal memory access was encountered" : "some error";
  return Ok;
}
EXPORT int cuDeviceGetCount(int *out) { return *out = count(), answer("cuDeviceGetCount"); }
EXPORT int cuDeviceGet(int *device, int ordinal) {
  return *device = ordinal + 100, Ok;
} // a handle is no ordinal
EXPORT int cuDeviceGetName(char *name, int size, int) {
  return std::strncpy(name, "Fake GPU", size_t(size)), Ok;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = size_t(1) << 37, Ok; }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case 75: *value = 9; break;
  case 76: *value = 0; break;
  case 16: *value = 132; break;
  case 10: *value = 32; break;
  case 97: *value = 227 * 1024; break;
  case 1: *value = 1024; break;
  default: *value = attribute; break;
  }
  return device >= 100 && device < 100 + count() ? Ok : InvalidValue;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  note("retain " + std::to_string(device - 100));
  retained.insert(device - 100);
  return *context = &primaries[device - 100], Ok;
}
EXPORT int cuCtxGetCurrent(void **context) { return *context = stack.empty() ? nullptr : stack.back(), Ok; }
EXPORT int cuCtxSetCurrent(void *context) {
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(static_cast<Context *>(context));
  return Ok;
}
EXPORT int cuCtxPushCurrent_v2(void *context) { return stack.push_back(static_cast<Context *>(context)), Ok; }
EXPORT int cuCtxPopCurrent_v2(void **context) {
  if (stack.empty())
    return InvalidContext;
  *context = stack.back();
  return stack.pop_back(), Ok;
}
EXPORT int cuCtxGetDevice(int *device) {
  return stack.empty() ? InvalidContext : (*device = stack.back()->device + 100, Ok);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) { return std::swap(captureMode, *mode), Ok; }

static int load(void **out, const void *image) {
  if (capturing && captureMode != 2)
    return CaptureUnsupported;
  if (std::strncmp(static_cast<const char *>(image), "bad", 3) == 0)
    return 209;
  ++loads;
  *out = const_cast<void *>(image);
  return answer("load");
}
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  note("moduleLoad");
  return stack.empty() ? InvalidContext : load(module, image);
}
EXPORT int cuModuleGetFunction(void **function, void *, const char *name) { return made(function, name); }
// Of a block of the kernel, for the registers that it takes.
static int mostThreads() {
  const char *said = getenv("FAKE_CUDA_MOST_THREADS");
  return said ? atoi(said) : 1024;
}
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *) {
  return *value = attribute == 4 ? 40 : attribute == 0 ? mostThreads() : 0, Ok;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  if (attribute == 8)
    static_cast<Function *>(function)->sharedLimit = value;
  return Ok;
}
#ifndef FAKE_CUDA_WITHOUT_LIBRARIES
EXPORT int cuLibraryLoadData(void **library, const void *image, int *, void **, unsigned, int *, void **,
                             unsigned) {
  note("libraryLoad");
  return load(library, image);
}
// Code that says so has constant memory for copy maps, of 1024 bytes.
EXPORT int cuLibraryGetGlobal(unsigned long long *address, size_t *bytes, void *library, const char *name) {
  static char memory[1024];
  bool isThere = std::strcmp(static_cast<const char *>(library), "cubin with copy maps") == 0;
  *address = reinterpret_cast<uintptr_t>(memory);
  *bytes = sizeof memory;
  return isThere && std::strcmp(name, "copy_maps$") == 0 ? Ok : 500;
}
EXPORT int cuTensorMapEncodeTiled(void *map, int, unsigned, void *address, const unsigned long long *,
                                  const unsigned long long *, const unsigned *, const unsigned *, int, int,
                                  int, int) {
  return std::memcpy(map, &address, sizeof address), Ok;
}
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *) {
  return std::memcpy(reinterpret_cast<void *>(to), from, bytes), answer("cuMemcpyHtoDAsync");
}
EXPORT int cuStreamCreate(void **stream, unsigned) { return *stream = &streams.emplace_back(), Ok; }
EXPORT int cuLibraryGetKernel(void **kernel, void *, const char *name) { return made(kernel, name); }
EXPORT int cuKernelGetFunction(void **function, void *kernel) {
  if (capturing && captureMode != 2)
    return CaptureUnsupported;
  return *function = kernel, stack.empty() ? InvalidContext : Ok;
}
EXPORT int cuKernelGetAttribute(int *value, int attribute, void *, int device) {
  *value = attribute == 4 ? 40 : attribute == 3 ? 16 : attribute == 0 ? mostThreads() : 0;
  return device >= 100 ? Ok : InvalidValue;
}
EXPORT int cuKernelSetAttribute(int attribute, int value, void *kernel, int device) {
  note("setAttribute on " + std::to_string(device - 100));
  return cuFuncSetAttribute(kernel, attribute, value);
}
#endif
EXPORT int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                          unsigned, unsigned shared, void *stream, void **parameters, void **) {
  if (stack.empty())
    return InvalidContext;
  auto *kernel = static_cast<Function *>(function);
  if (!quiet)
    note("launch " + kernel->name + " on " + std::to_string(stack.back()->device) + " grid " +
         std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + " block " +
         std::to_string(threads) + " shared " + std::to_string(shared) + " stream " +
         std::to_string(reinterpret_cast<uintptr_t>(stream)));
  if (int(shared) > kernel->sharedLimit)
    return InvalidValue;
  const char *text = std::getenv("FAKE_CUDA_PARAMETERS");
  size_t wanted = text ? size_t(std::atoi(text)) : 0;
  std::lock_guard guard(mutex);
  ++launches;
  seen.clear();
  for (size_t i = 0; i != wanted; ++i)
    seen.push_back(*static_cast<uint64_t *>(parameters[i]));
  return failing && failsIn == "cuLaunchKernel" ? failing : Ok;
}
// 720: more blocks than the fake GPU runs at the same time.
EXPORT int cuLaunchCooperativeKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads,
                                     unsigned, unsigned, unsigned shared, void *stream, void **parameters) {
  note("cooperative");
  if (uint64_t(x) * y * z > 264)
    return 720;
  return cuLaunchKernel(function, x, y, z, threads, 1, 1, shared, stream, parameters, nullptr);
}
struct Attribute {
  int id, padding, value, rest[15];
};
struct Config {
  unsigned x, y, z, threads, threadsY, threadsZ, shared;
  void *stream;
  const Attribute *attributes;
  unsigned count;
};
EXPORT int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **extra) {
  for (unsigned i = 0; i != config->count; ++i) {
    note("attribute " + std::to_string(config->attributes[i].id) + " is " +
         std::to_string(config->attributes[i].value));
    if (config->attributes[i].id == 2 && uint64_t(config->x) * config->y * config->z > 264)
      return 720;
  }
  return cuLaunchKernel(function, config->x, config->y, config->z, config->threads, 1, 1, config->shared,
                        config->stream, parameters, extra);
}
EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  if (stack.empty())
    return InvalidContext;
  if (bytes > size_t(1) << 36)
    return 2;
  note("allocate " + std::to_string(bytes));
  auto room = std::make_unique<std::byte[]>(bytes);
  *address = reinterpret_cast<uintptr_t>(room.get());
  std::lock_guard guard(mutex);
  return memory[*address] = std::move(room), Ok;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  std::lock_guard guard(mutex);
  return memory.erase(address) == 1 ? Ok : InvalidValue;
}
EXPORT int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return stack.empty() ? InvalidContext : answer("cuMemcpy");
}
EXPORT int cuStreamSynchronize(void *) { return note("synchronize"), answer("cuStreamSynchronize"); }
// Events count the launches ahead of them: between two is a millisecond for each.
EXPORT int cuEventCreate(void **event, unsigned) {
  if (stack.empty())
    return InvalidContext;
  return *event = new int(0), answer("cuEventCreate");
}
EXPORT int cuEventDestroy_v2(void *event) { return delete static_cast<int *>(event), Ok; }
EXPORT int cuEventRecord(void *event, void *) {
  return *static_cast<int *>(event) = launches, answer("cuEventRecord");
}
EXPORT int cuEventSynchronize(void *) { return answer("cuEventSynchronize"); }
EXPORT int cuEventElapsedTime(float *milliseconds, void *start, void *stop) {
  return *milliseconds = float(*static_cast<int *>(stop) - *static_cast<int *>(start)), Ok;
}
EXPORT int cuMemsetD8Async(unsigned long long, unsigned char, size_t bytes, void *) {
  return note("set " + std::to_string(bytes)), answer("cuMemsetD8Async");
}
EXPORT int cuStreamIsCapturing(void *, int *status) { return *status = capturing, Ok; }
