// Python values -> tg_values.
#include "Exchange.h"

#include <cstdlib>
#include <cstring>

namespace tegula::python {

// An attribute of a type's objects, or a method without arguments, by the C function that its descriptor has:
// half the time of a look-up by name, which a tensor costs four times. Where there is none, by name.
class Member {
public:
  Member() = default;
  Member(PyTypeObject *type, PyObject *name, bool isMethod) : name_(name), isMethod_(isMethod) {
    Ref found(PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name));
    if (!found)
      PyErr_Clear();
    else if (!isMethod && Py_TYPE(found.get()) == &PyGetSetDescr_Type) {
      const PyGetSetDef *row = reinterpret_cast<PyGetSetDescrObject *>(found.get())->d_getset;
      get_ = row->get, closure_ = row->closure;
    } else if (isMethod && Py_TYPE(found.get()) == &PyMethodDescr_Type) {
      const PyMethodDef *row = reinterpret_cast<PyMethodDescrObject *>(found.get())->d_method;
      call_ = row->ml_flags == METH_NOARGS ? row->ml_meth : nullptr;
    }
  }
  // Null with an exception set.
  PyObject *of(PyObject *object) const {
    if (get_)
      return get_(object, closure_);
    if (call_)
      return call_(object, nullptr);
    return isMethod_ ? PyObject_CallMethodNoArgs(object, name_) : PyObject_GetAttr(object, name_);
  }

private:
  PyObject *name_ = nullptr;
  bool isMethod_ = false;
  getter get_ = nullptr;
  void *closure_ = nullptr;
  PyCFunction call_ = nullptr;
};

// Of a class of tensors.
struct Members {
  Member isCpu, isCuda, dtype, device, address;
  Members() = default;
  explicit Members(PyTypeObject *type)
      : isCpu(type, state.sIsCpu, false), isCuda(type, state.sIsCuda, false),
        dtype(type, state.sDtype, false), device(type, state.sGetDevice, true),
        address(type, state.sDataPtr, true) {}
};

namespace {

// The layout behind __array_struct__, fixed by NumPy's array interface protocol, version 3.
struct ArrayInterface {
  int two, nd;
  char typekind;
  int itemsize, flags;
  Py_ssize_t *shape, *strides;
  void *data;
  PyObject *descr;
};
constexpr int notSwapped = 0x200, writeable = 0x400;

int plainDtype(char kind, int size) {
  int width = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
  if (width < 0)
    return -1;
  switch (kind) {
  case 'b': return TG_I1;
  case 'i': return TG_I8 + width;
  case 'u': return TG_U8 + width;
  case 'f': return width == 0 ? -1 : width == 1 ? TG_F16 : width == 2 ? TG_F32 : TG_F64;
  default: return -1;
  }
}

// By the dtype object, which it takes; the answer is kept. -1 with an exception set.
int dtypeOf(PyObject *stolen) {
  Ref dtype(stolen);
  if (!dtype)
    return -1;
  PyObject *known = PyDict_GetItemWithError(state.dtypeCodes, dtype.get());
  if (known)
    return int(PyLong_AsLong(known));
  if (PyErr_Occurred())
    return -1;
  Ref code(PyObject_CallOneArg(state.dtypeCode, dtype.get()));
  if (!code || PyDict_SetItem(state.dtypeCodes, dtype.get(), code.get()) < 0)
    return -1;
  return int(PyLong_AsLong(code.get()));
}

// What a type's objects are; asked once a type. The types stay alive.
enum class Class { Other, Array, Tensor, Real, Integer };
struct Known {
  PyTypeObject *type = nullptr;
  Class what = Class::Other;
  Members members;                       // of Tensor
  const ExchangeApi *exchange = nullptr; // of PyTorch's own
};
Known known[64];
size_t knownCount = 0;

bool hasMember(PyTypeObject *type, PyObject *name) {
  int has = PyObject_HasAttr(reinterpret_cast<PyObject *>(type), name);
  return has == 1;
}

Class classify(PyTypeObject *type) {
  if (hasMember(type, state.sDataPtr))
    return Class::Tensor;
  if (std::strcmp(type->tp_name, "constexpr") == 0) // has numbers' methods, and says more than a number
    return Class::Other;
  // NumPy's scalars have the protocol too, and cannot be assigned to.
  bool isMutable = type->tp_as_mapping && type->tp_as_mapping->mp_ass_subscript;
  if (isMutable && hasMember(type, state.sArrayStruct))
    return Class::Array;
  if (!type->tp_as_number || isMutable)
    return Class::Other;
  if (type->tp_as_number->nb_index)
    return Class::Integer;
  return std::strncmp(type->tp_name, "numpy.float", 11) == 0 ? Class::Real : Class::Other;
}

// Lives until the next call with another type.
const Known &knownOf(PyTypeObject *type) {
  static Known other; // where the table is full
  for (size_t i = 0; i != knownCount; ++i)
    if (known[i].type == type)
      return known[i];
  Class what = classify(type);
  Known fresh{type, what, what == Class::Tensor ? Members(type) : Members(),
              what == Class::Tensor ? findExchangeApi(type) : nullptr};
  if (knownCount == std::size(known))
    return other = fresh;
  Py_INCREF(type);
  return known[knownCount++] = fresh;
}

} // namespace

bool Arena::array(PyObject *object, tg_value &out) {
  Ref capsule(PyObject_GetAttr(object, state.sArrayStruct));
  if (!capsule)
    return false;
  auto *array = static_cast<ArrayInterface *>(PyCapsule_GetPointer(capsule.get(), nullptr));
  if (!array)
    return false;
  int dtype = plainDtype(array->typekind, array->itemsize);
  if (dtype < 0 && (dtype = dtypeOf(PyObject_GetAttr(object, state.sDtype))) < 0)
    return false;
  if (!(array->flags & notSwapped) && array->itemsize > 1) {
    PyErr_SetString(
        PyExc_TypeError,
        "the array is not in this machine's byte order; use array.astype(array.dtype.newbyteorder('='))");
    return false;
  }
  out.kind = TG_POINTER;
  out.dtype = uint8_t(dtype);
  out.flags = array->flags & writeable ? 0 : TG_READ_ONLY;
  out.as.address = array->data;
  hasHostMemory = true;
  return true;
}

// Where a tensor's memory is. PyTorch's tensors say it; objects of the host's own need not.
bool Arena::locate(PyObject *object, const Members &members, bool &isHost) {
  static bool expectCuda = false; // as the last one: saves asking twice
  bool isCuda = expectCuda, denies = false;
  int asked = 0;
  for (; asked != 2; ++asked, isCuda = !isCuda) {
    Ref answer((isCuda ? members.isCuda : members.isCpu).of(object));
    if (answer.get() == Py_True)
      break;
    if (!answer)
      PyErr_Clear();
    else
      denies = true;
  }
  if (asked == 2) {
    if (!denies)
      return locateByDevice(object, isHost);
    Ref device(PyObject_GetAttr(object, state.sDevice)), name(device ? PyObject_Str(device.get()) : nullptr);
    auto isNamed = [&](const char *what) {
      return name && PyUnicode_CompareWithASCIIString(name.get(), what) == 0;
    };
    if (isNamed("cpu")) { // a storage knows `is_cuda` alone
      isHost = true;
      return true;
    }
    bool isMeta = isNamed("meta");
    launchError(
        "the tensor is on device `%S`, which no target of this build runs on%s", name ? name.get() : Py_None,
        isMeta
            ? "\n  hint: it has a shape and no elements; make it anew, torch.empty_like(x, device=\"cpu\"), "
              "or compile only, kernel.warmup(x.dtype, ...)"
            : "; use tensor.cpu()");
    return false;
  }
  expectCuda = isCuda;
  if (!isCuda) {
    isHost = true;
    return true;
  }
  Ref index(members.device.of(object));
  long found = index ? PyLong_AsLong(index.get()) : -1;
  return !PyErr_Occurred() && isOnDevice(found);
}

bool Arena::isOnDevice(long index) {
  if (device >= 0 && device != index) {
    launchError("the arguments are on two devices, cuda:%d and cuda:%ld\n  hint: move them to one", device,
                index);
    return false;
  }
  device = int(index);
  return true;
}

// An object of a library that stands for a tensor: its `device`, as PyTorch spells it ("cuda:0", "cpu"), if
// it has one.
bool Arena::locateByDevice(PyObject *object, bool &isHost) {
  Ref place(PyObject_GetAttr(object, state.sDevice));
  if (!place) {
    PyErr_Clear();
    return true;
  }
  Ref text(PyObject_Str(place.get()));
  const char *name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!name)
    return false;
  if (std::strncmp(name, "cuda:", 5) == 0)
    return isOnDevice(std::strtol(name + 5, nullptr, 10));
  isHost = std::strcmp(name, "cpu") == 0;
  return true;
}

void Arena::takeAddress(PyObject *object, void *address, bool isHost, tg_value &out) {
  out.as.address = address;
  if (!address) // without elements, or of a type alone, for a compile
    withoutMemory.push_back(object);
  if (isHost)
    (address ? hasHostMemory : hasEmptyHost) = true;
}

// False: with an exception, since the tensor is the negative of its memory.
static bool isNotNegated(PyObject *tensor) {
  Ref answer(PyObject_CallMethod(tensor, "is_neg", nullptr));
  if (answer.get() == Py_True)
    launchError("the tensor is the negative of what lies in its memory (tensor.is_neg())\n"
                "  hint: pass tensor.resolve_neg()");
  return answer && answer.get() != Py_True;
}

bool Arena::tensor(PyObject *object, tg_value &out) {
  ExchangedTensor exchanged;
  if (const ExchangeApi *api = knownOf(Py_TYPE(object)).exchange;
      api && readTensor(*api, object, exchanged)) {
    if (exchanged.mayBeNegated && !isNotNegated(object))
      return false;
    out.kind = TG_POINTER;
    out.dtype = uint8_t(exchanged.dtype);
    takeAddress(object, exchanged.address, exchanged.device < 0, out);
    return exchanged.device < 0 || isOnDevice(exchanged.device);
  }
  // A copy: what is asked may run code that asks for others. An object may have what its type has not.
  const Known &found = knownOf(Py_TYPE(object));
  const Members members = found.what == Class::Tensor ? found.members : Members(Py_TYPE(object));
  bool isHost = false;
  if (!locate(object, members, isHost))
    return false;
  int dtype = dtypeOf(members.dtype.of(object));
  if (dtype < 0)
    return false;
  Ref address(members.address.of(object));
  if (!address)
    return false;
  out.kind = TG_POINTER;
  out.dtype = uint8_t(dtype);
  takeAddress(object, PyLong_AsVoidPtr(address.get()), isHost, out);
  return out.as.address || !PyErr_Occurred();
}

// A tensor of no elements has no memory either; an object that does not count them may stand for no tensor.
bool Arena::refuseWithoutMemory() const {
  for (PyObject *object : withoutMemory) {
    Ref count(PyObject_CallMethod(object, "numel", nullptr));
    long long elements = count ? PyLong_AsLongLong(count.get()) : 0;
    PyErr_Clear();
    if (elements == 0)
      continue;
    launchError(
        "a tensor of the class %s has no memory: its address is 0\n"
        "  hint: one that only stands for a type is compiled for, kernel.warmup(...), and not launched",
        Py_TYPE(object)->tp_name);
    return false;
  }
  return true;
}

bool Arena::integer(PyObject *object, tg_value &out) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred())
      return false;
    out.kind = TG_INT;
    out.as.integer = value;
    return true;
  }
  if (overflow > 0) {
    unsigned long long bits = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) {
      out.kind = TG_UINT;
      out.as.bits = bits;
      return true;
    }
    PyErr_Clear();
  }
  kept_.emplace_back(PyObject_Str(object));
  Py_ssize_t size = 0;
  const char *text = kept_.back() ? PyUnicode_AsUTF8AndSize(kept_.back().get(), &size) : nullptr;
  out.kind = TG_LITERAL;
  out.as.text = {text, size_t(size)};
  return text != nullptr;
}

bool Arena::encode(PyObject *object, tg_value &out) {
  Ref encoded(PyObject_CallOneArg(state.encode, object));
  if (encoded.get() == Py_None) // it stands for a tensor
    return tensor(object, out);
  kept_.push_back(std::move(encoded));
  return kept_.back() && decode(kept_.back().get(), out);
}

// A tuple or a list element by element; one of a class with names has the class in front.
bool Arena::sequence(PyObject *object, tg_value &out) {
  if (depth_ == 100) {
    PyErr_SetString(PyExc_TypeError, "tuples within tuples, 100 of them or without an end");
    return false;
  }
  bool isNamed =
      PyTuple_Check(object) && !PyTuple_CheckExact(object) && PyObject_HasAttr(object, state.sFields) == 1;
  Ref elements(PySequence_Fast(object, "a tuple or a list"));
  if (!elements)
    return false;
  std::vector<tg_value> items(size_t(PySequence_Fast_GET_SIZE(elements.get())) + isNamed);
  bool isFine = !isNamed || encode(reinterpret_cast<PyObject *>(Py_TYPE(object)), items[0]);
  ++depth_;
  for (size_t i = isNamed; isFine && i != items.size(); ++i)
    isFine = convert(PySequence_Fast_GET_ITEM(elements.get(), Py_ssize_t(i - isNamed)), items[i]);
  --depth_;
  kept_.push_back(std::move(elements)); // what was converted points at its items
  tuples_.push_back(std::move(items));
  out.kind = isNamed ? TG_NAMED_TUPLE : TG_TUPLE;
  out.as.tuple = {tuples_.back().data(), tuples_.back().size()};
  return isFine;
}

bool Arena::convert(PyObject *object, tg_value &out) {
  PyTypeObject *type = Py_TYPE(object);
  if (type == &PyLong_Type)
    return integer(object, out);
  if (type == &PyFloat_Type) {
    out.kind = TG_FLOAT;
    out.as.real = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (type == &PyBool_Type) {
    out.kind = TG_BOOL;
    out.as.integer = object == Py_True;
    return true;
  }
  if (object == Py_None) {
    out.kind = TG_NONE;
    return true;
  }
  if (PyUnicode_CheckExact(object) && PyUnicode_IS_COMPACT_ASCII(object)) {
    constexpr Py_ssize_t mostText = 1 << 10; // longer ones Python looks at
    Py_ssize_t size = PyUnicode_GET_LENGTH(object);
    if (size <= mostText) {
      out.kind = TG_STRING;
      out.as.text = {reinterpret_cast<const char *>(PyUnicode_1BYTE_DATA(object)), size_t(size)};
      return true;
    }
  }
  if (PyTuple_Check(object) || PyList_Check(object))
    return sequence(object, out);
  if (type == &HeldType) {
    out.kind = TG_HELD;
    out.as.held = heldHandle(object);
    return true;
  }
  switch (knownOf(type).what) {
  case Class::Array: return array(object, out);
  case Class::Tensor: return tensor(object, out);
  case Class::Integer: {
    kept_.emplace_back(PyNumber_Index(object));
    return kept_.back() && integer(kept_.back().get(), out);
  }
  case Class::Real: {
    out.kind = TG_FLOAT;
    out.as.real = PyFloat_AsDouble(object);
    return !PyErr_Occurred();
  }
  case Class::Other: return encode(object, out);
  }
  return false;
}

// The argument of this name, null by position. What extern_libs names goes as pairs.
bool Arena::convert(PyObject *object, const char *name, tg_value &out) {
  if (!name || std::strcmp(name, "extern_libs") != 0 || !PyDict_Check(object))
    return convert(object, out);
  Ref items(PyDict_Items(object));
  if (!items || !convert(items.get(), out))
    return false;
  kept_.push_back(std::move(items));
  return true;
}

// (number, dtype): a number or an address whose type the caller says
bool Arena::typed(PyObject *payload, tg_value &out) {
  PyObject *number, *dtype;
  if (!PyArg_ParseTuple(payload, "OO!", &number, &PyLong_Type, &dtype) || !convert(number, out))
    return false;
  out.dtype = uint8_t(PyLong_AsLong(dtype));
  return !PyErr_Occurred();
}

// (kind, payload, flags)
bool Arena::decode(PyObject *encoded, tg_value &out) {
  if (!PyTuple_Check(encoded) || PyTuple_GET_SIZE(encoded) != 3) {
    PyErr_SetString(PyExc_TypeError, "an encoded value is (kind, payload, flags)");
    return false;
  }
  PyObject *payload = PyTuple_GET_ITEM(encoded, 1);
  long kind = PyLong_AsLong(PyTuple_GET_ITEM(encoded, 0)),
       flags = PyLong_AsLong(PyTuple_GET_ITEM(encoded, 2));
  if (PyErr_Occurred())
    return false;
  switch (kind) {
  case TG_NONE:
  case TG_BOOL:
  case TG_INT:
  case TG_FLOAT:
    if (flags & TG_TYPED ? !typed(payload, out) : !convert(payload, out))
      return false;
    break;
  case TG_POINTER:
    if (!typed(payload, out))
      return false;
    out.kind = TG_POINTER;
    break;
  case TG_STRING:
  case TG_LITERAL:
  case TG_MODULE:
  case TG_BUILTIN: {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(payload, &size);
    if (!text)
      return false;
    out.kind = uint8_t(kind);
    out.as.text = {text, size_t(size)};
    break;
  }
  case TG_DTYPE:
    out.kind = TG_DTYPE;
    out.dtype = uint8_t(PyLong_AsLong(payload));
    break;
  case TG_FUNCTION:
    out.kind = TG_FUNCTION;
    if (!(out.as.function = functionHandle(reinterpret_cast<Function *>(payload))))
      return false;
    break;
  case TG_TUPLE:
  case TG_CLASS:
  case TG_NAMED_TUPLE: {
    std::vector<tg_value> items(size_t(PyTuple_GET_SIZE(payload)));
    for (size_t i = 0; i != items.size(); ++i)
      if (!decode(PyTuple_GET_ITEM(payload, Py_ssize_t(i)), items[i]))
        return false;
    tuples_.push_back(std::move(items));
    out.kind = uint8_t(kind);
    out.as.tuple = {tuples_.back().data(), tuples_.back().size()};
    break;
  }
  case TG_OPAQUE: {
    PyObject *repr = PyTuple_GetItem(payload, 1);
    const char *text = repr ? PyUnicode_AsUTF8(repr) : nullptr;
    if (!text)
      return false;
    out.kind = TG_OPAQUE;
    out.as.opaque = {PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(payload, 0)), text};
    break;
  }
  default: PyErr_Format(PyExc_TypeError, "there is no kind %ld of value", kind); return false;
  }
  out.flags |= uint8_t(flags);
  return !PyErr_Occurred();
}

} // namespace tegula::python
