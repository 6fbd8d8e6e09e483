// A tensor's address, type and device, and the stream on which its library works, from DLPack's table of C
// functions: no Python object is made. The layout is DLPack's, version 1 (dmlc.github.io/dlpack), which
// libraries put on the class as `__dlpack_c_exchange_api__` (PyTorch 2.10 and later).
#pragma once
#include "Bindings.h"

namespace tegula::python {

struct ExchangeApi;

// Of a class whose objects are PyTorch's own tensors and nothing that stands for them; null: it has none, or
// another version.
const ExchangeApi *findExchangeApi(PyTypeObject *type);

struct ExchangedTensor {
  void *address = nullptr;
  int dtype = -1;  // tg_dtype
  int device = -1; // of a GPU; -1: in the host's memory
  // Are these every other element of a memory, from an odd one on, as of `x.conj().imag`? PyTorch keeps that
  // such a view is the negative of what lies there as a bit of the tensor, of which DLPack knows nothing.
  bool mayBeNegated = false;
};
// False without an exception: its attributes say more, or why there is nothing to say.
bool readTensor(const ExchangeApi &api, PyObject *object, ExchangedTensor &out);

// The stream on which the library works now. False without an exception: it does not say.
bool readStream(const ExchangeApi &api, int device, void *&stream);
// Of the tensors that were read so far; null: none was.
const ExchangeApi *exchangeInUse();

} // namespace tegula::python
