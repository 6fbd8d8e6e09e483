#include "drivers/cuda/Api.h"
#include "base/Environment.h"

#include <atomic>
#include <mutex>

#include <dlfcn.h>
#include <pthread.h>

namespace tegula::cuda {
namespace {

struct Opened {
  Api api;
  Status status;
};

// Contexts do not survive a fork: the child must not touch the driver of its parent.
std::atomic<bool> initialised{false}, forked{false};

Status error(std::string message) { return Status::error(StatusCode::Driver, std::move(message)); }

Status resolve(void *library, const std::string &path, Api &api) {
  const char *missing = nullptr;
#define OPTIONAL_SYMBOL(name, exported, parameters)                                                          \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #exported));
#define SYMBOL(name, exported, parameters)                                                                   \
  OPTIONAL_SYMBOL(name, exported, parameters)                                                                \
  if (!api.name)                                                                                             \
    missing = #exported;
#include "drivers/cuda/Symbols.def"
  if (missing)
    return error("`" + path + "` has no `" + missing + "`; hint: the driver is too old, install a newer one");
  return Status::success();
}

Status open(Api &api) {
  const char *named = valueOf(Variable::Libcuda);
  std::string path = *named ? named : "libcuda.so.1";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return error("there is no GPU driver here: " + std::string(reason ? reason : path) +
                 "; hint: install the driver of the GPU, or use the target `cpu`");
  }
  if (Status status = resolve(library, path, api); !status.ok())
    return status;
  initialised = true;
  if (CUresult result = api.init(0))
    return failure(api, "cuInit", result);
  return Status::success();
}

const Opened &opened() {
  static const Opened *const once = [] {
    pthread_atfork(nullptr, nullptr, [] { forked = initialised.load(); });
    auto *made = new Opened; // never destroyed: threads may launch while the process ends
    made->status = open(made->api);
    return made;
  }();
  return *once;
}

// An error after which the context refuses everything.
bool isSticky(CUresult error) {
  switch (error) {
  case 214:
  case 700:
  case 702:
  case 709:
  case 710:
  case 714:
  case 715:
  case 716:
  case 717:
  case 718:
  case 719: return true;
  default: return false;
  }
}

} // namespace

Result<const Api *> api() {
  const Opened &it = opened();
  if (forked.load(std::memory_order_relaxed))
    return error("this process was forked from one that used the GPU already, and a GPU's context does not "
                 "survive a fork; "
                 "hint: start processes with `spawn`, or use the GPU first in the child");
  if (!it.status.ok())
    return it.status;
  return &it.api;
}

Status failure(const Api &api, const char *call, CUresult code) {
  const char *name = nullptr, *text = nullptr;
  api.getErrorName(code, &name);
  api.getErrorString(code, &text);
  std::string message = std::string(call) + ": " + (name ? name : "error " + std::to_string(code));
  if (text)
    message += " (" + std::string(text) + ")";
  if (isSticky(code))
    message += "; a kernel or a copy has failed in this context, now or before, and the context cannot be "
               "used any more; "
               "hint: start the process again with TEGULA_LAUNCH_BLOCKING=1 to see which kernel it is";
  else if (code == notInitialized)
    message += "; hint: a process forked from one that used the GPU cannot use it; start it with `spawn`";
  else if (code == noDevice)
    message += "; hint: CUDA_VISIBLE_DEVICES may hide the devices";
  return Status::error(code == outOfMemory || code == launchOutOfResources ? StatusCode::Resource
                                                                           : StatusCode::Driver,
                       std::move(message));
}

} // namespace tegula::cuda
