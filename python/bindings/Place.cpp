// Where a call runs: the arguments say which device, PyTorch says which stream.
#include "Exchange.h"

#include <cstring>

namespace tegula::python {
namespace {

constexpr const char *gpu = "cuda";

// PyTorch's own answer, without importing it: a process that has no PyTorch has no current stream.
PyObject *findCurrentStream() {
  PyObject *modules = PyImport_GetModuleDict(); // borrowed
  PyObject *torch = modules ? PyDict_GetItemString(modules, "torch._C") : nullptr;
  Ref found(torch ? PyObject_GetAttrString(torch, "_cuda_getCurrentRawStream") : nullptr);
  if (found)
    return found.release();
  PyErr_Clear(); // a PyTorch without CUDA
  return torch ? Py_NewRef(Py_None) : nullptr;
}

// Does this process use PyTorch on a GPU? Asked of a PyTorch that is loaded.
bool usesGpu() {
  PyObject *modules = PyImport_GetModuleDict(); // borrowed
  PyObject *torch = modules ? PyDict_GetItemString(modules, "torch.cuda") : nullptr;
  Ref answer(torch ? PyObject_CallMethod(torch, "is_initialized", nullptr) : nullptr);
  if (!answer)
    PyErr_Clear();
  return answer.get() == Py_True;
}

bool isOnDevice(const char *target) {
  return std::strcmp(target, gpu) == 0 || std::strncmp(target, "sm_", 3) == 0;
}

// The device of the calling thread; -1: there is none.
int32_t currentDevice() {
  int32_t device = -1;
  tg_diagnostics *problems = nullptr;
  if (tg_device_current(gpu, &device, &problems) == TG_OK)
    return device;
  tg_diagnostics_destroy(problems);
  return -1;
}

// The text may name the target.
bool refuse(const char *text, PyObject *target) {
  launchError(text, target);
  return false;
}

} // namespace

bool setStream(tg_place &place) {
  if (!state.currentStream && !(state.currentStream = findCurrentStream()))
    return true;
  if (state.currentStream == Py_None)
    return true;
  if (const ExchangeApi *api = exchangeInUse(); api && readStream(*api, place.device, place.stream))
    return true;
  Ref index(PyLong_FromLong(place.device));
  Ref handle(index ? PyObject_CallOneArg(state.currentStream, index.get()) : nullptr);
  if (!handle)
    return false;
  place.stream = PyLong_AsVoidPtr(handle.get());
  return place.stream || !PyErr_Occurred();
}

bool namesDevice(PyObject *target) {
  const char *name = PyUnicode_AsUTF8(target);
  return name && isOnDevice(name);
}

bool choosePlace(const Arena &arena, Function *function, const char *&target, tg_place &place) {
  if (arena.device < 0) {
    // Numbers may be addresses, and what does not say where it is lies where PyTorch's tensors are, as
    // upstream takes it.
    if (arena.isUnplaced() && std::strcmp(target, "cpu") == 0 && usesGpu())
      target = gpu;
    else if (!function->targetsDevice)
      return true;
    if (arena.hasHostMemory)
      return refuse("the target is `%U`, and an argument is in the host's memory\n  hint: move it with "
                    "tensor.cuda(), or "
                    "launch on the target `cpu`",
                    function->target);
    // No pointer says where: the thread's current device.
    if (int32_t device = state.currentStream != Py_None ? currentDevice() : -1; device >= 0) {
      place.device = device;
      return setStream(place);
    }
    return true;
  }
  if (arena.hasHostMemory)
    return refuse("some arguments are on the GPU and some in the host's memory\n  hint: "
                  "move all of them to one device: tensor.cuda() or tensor.cpu()",
                  function->target);
  if (!function->targetsDevice) {
    if (std::strcmp(target, "cpu") != 0) // "cpu" is what kernels have whose arguments choose
      return refuse("an argument is on the GPU, and the target `%U` works on the host's memory\n  hint: use "
                    "tensor.cpu()",
                    function->target);
    target = gpu;
  }
  place.device = arena.device;
  return setStream(place);
}

bool choosePlaceOf(const Arena &arena, const char *target, PyObject *stream, tg_place &place) {
  if (!isOnDevice(target))
    return arena.device < 0 ||
           (launchError(
                "an argument is on the GPU, and the kernel was compiled for the target `%s`, which works on "
                "the "
                "host's memory\n  hint: use tensor.cpu(), or launch the function itself, kernel[grid](...)",
                target),
            false);
  if (arena.hasHostMemory)
    return launchError(
               "the kernel was compiled for a GPU, and an argument is in the host's memory\n  hint: move it "
               "with tensor.cuda()"),
           false;
  place.device = arena.device >= 0 ? arena.device : currentDevice();
  if (stream == Py_None)
    return place.device < 0 || setStream(place);
  place.stream = PyLong_AsVoidPtr(stream);
  return place.stream || !PyErr_Occurred();
}

} // namespace tegula::python
