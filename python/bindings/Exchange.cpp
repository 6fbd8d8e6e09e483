#include "Exchange.h"

namespace tegula::python {

struct DlDevice {
  int32_t type, index;
};
constexpr int32_t onHost = 1, onCuda = 2;

struct DlDtype {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DlTensor {
  void *data;
  DlDevice device;
  int32_t rank;
  DlDtype dtype;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

struct ExchangeApi {
  uint32_t major, minor;
  ExchangeApi *previous;
  void *allocate, *fromObject, *toObject; // for those who keep tensors
  int (*tensorOf)(void *object, DlTensor *out);
  int (*currentStream)(int32_t deviceType, int32_t device, void **out);
};

namespace {

const ExchangeApi *inUse = nullptr;

PyObject *attributeOfModule(const char *module, const char *name) {
  PyObject *modules = PyImport_GetModuleDict(); // borrowed
  PyObject *found = modules ? PyDict_GetItemString(modules, module) : nullptr;
  return found ? PyObject_GetAttrString(found, name) : nullptr;
}

// Other classes may have their own idea of where their elements are.
bool isPlainTensor(PyTypeObject *type) {
  Ref tensor(attributeOfModule("torch", "Tensor")), parameter(attributeOfModule("torch.nn", "Parameter"));
  PyErr_Clear();
  auto *object = reinterpret_cast<PyObject *>(type);
  return object == tensor.get() || object == parameter.get();
}

int dtypeOf(DlDtype dtype) {
  if (dtype.lanes != 1)
    return -1;
  int width = dtype.bits == 8 ? 0 : dtype.bits == 16 ? 1 : dtype.bits == 32 ? 2 : dtype.bits == 64 ? 3 : -1;
  if (width < 0)
    return -1;
  switch (dtype.code) {
  case 0: return TG_I8 + width;
  case 1: return TG_U8 + width;
  case 2: return width == 1 ? TG_F16 : width == 2 ? TG_F32 : width == 3 ? TG_F64 : -1;
  case 4: return width == 1 ? TG_BF16 : -1;
  case 6: return width == 0 ? TG_I1 : -1;
  default: return -1; // the name of the dtype says which
  }
}

bool mayBeNegated(const DlTensor &tensor, const void *address) {
  constexpr uint8_t floats = 2;
  if (tensor.dtype.code != floats || reinterpret_cast<uintptr_t>(address) / (tensor.dtype.bits / 8u) % 2 == 0)
    return false;
  for (int32_t axis = 0; axis != tensor.rank; ++axis)
    if (tensor.shape[axis] > 1 && tensor.strides && tensor.strides[axis] % 2 != 0)
      return false;
  return true;
}

} // namespace

const ExchangeApi *findExchangeApi(PyTypeObject *type) {
  if (!isPlainTensor(type))
    return nullptr;
  Ref capsule(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__"));
  auto *api =
      capsule && PyCapsule_CheckExact(capsule.get())
          ? static_cast<const ExchangeApi *>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"))
          : nullptr;
  PyErr_Clear();
  while (api && api->major > 1)
    api = api->previous;
  return api && api->major == 1 && api->tensorOf && api->currentStream ? api : nullptr;
}

bool readTensor(const ExchangeApi &api, PyObject *object, ExchangedTensor &out) {
  DlTensor tensor{};
  if (api.tensorOf(object, &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  out.dtype = dtypeOf(tensor.dtype);
  out.address = static_cast<char *>(tensor.data) + tensor.byteOffset;
  out.mayBeNegated = out.dtype >= 0 && mayBeNegated(tensor, out.address);
  out.device = tensor.device.type == onCuda ? tensor.device.index : -1;
  // An address of nothing is asked for by its attributes, since that may be a tensor without memory.
  bool isKnown = out.dtype >= 0 && out.address && (out.device >= 0 || tensor.device.type == onHost);
  if (isKnown)
    inUse = &api;
  return isKnown;
}

bool readStream(const ExchangeApi &api, int device, void *&stream) {
  if (api.currentStream(onCuda, device, &stream) == 0)
    return true;
  PyErr_Clear();
  return false;
}

const ExchangeApi *exchangeInUse() { return inUse; }

} // namespace tegula::python
