// kernel[grid].bind(...): a call whose arguments are in slots, launched as often as wanted.
#include "Bindings.h"

namespace tegula::python {
namespace {

struct Bound {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  tg_bound *bound;
  Function *function;
  PyObject *arguments; // list: what the slots point at lives as long
  PyObject *names;     // tuple: of the arguments by name, which are the last
  PyObject *grid;      // three ints
  PyObject *kernel;    // as Python has it
  int device;          // -1: the target has none
};

// Past the hooks.
PyObject *run(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<Bound *>(object);
  tg_place place{sizeof(tg_place), self->device, nullptr};
  if (self->device >= 0 && !setStream(place))
    return nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status =
      tg_bound_launch(self->bound, self->device >= 0 ? &place : nullptr, nullptr, 0, &problems);
  Py_END_ALLOW_THREADS if (status != TG_OK) return raise(status, problems, self->function);
  Py_RETURN_NONE;
}

// With hooks of all launches one is Python's.
PyObject *launchHooked(Bound *self, const Call &call) {
  Ref values, named;
  if (!packArguments(call, values, named))
    return nullptr;
  Ref done(PyObject_CallFunctionObjArgs(state.hookedBound, self->function, self->grid, values.get(),
                                        named.get(), self->kernel, self, nullptr));
  if (!done)
    return nullptr;
  Py_RETURN_NONE;
}

PyObject *launch(PyObject *object, PyObject *const *, size_t nargsf, PyObject *keywords) {
  auto *self = reinterpret_cast<Bound *>(object);
  if (PyVectorcall_NARGS(nargsf) || (keywords && PyTuple_GET_SIZE(keywords)))
    return launchError(
        "a bound launch takes no arguments, not even %R\n  hint: bound[name] = value replaces one",
        keywords ? keywords : Py_None);
  if (!state.hookedBound && !hasPreRunHooks(self->function))
    return run(object, nullptr);
  Ref list(PyList_AsTuple(self->arguments));
  if (!list)
    return nullptr;
  Call call{self->function, self->grid, &PyTuple_GET_ITEM(list.get(), 0),
            PyTuple_GET_SIZE(list.get()) - PyTuple_GET_SIZE(self->names), self->names};
  if (!callPreRunHooks(call))
    return nullptr;
  return state.hookedBound ? launchHooked(self, call) : run(object, nullptr);
}

// The number of an argument that is named by its parameter or by its number; -1 with an exception set.
Py_ssize_t indexOf(Bound *self, PyObject *key) {
  Py_ssize_t count = PyList_GET_SIZE(self->arguments), named = PyTuple_GET_SIZE(self->names);
  if (PyLong_Check(key)) {
    Py_ssize_t index = PyLong_AsSsize_t(key);
    if (index >= 0 && index < count)
      return index;
  } else if (PyUnicode_Check(key)) {
    for (Py_ssize_t i = 0; i != named; ++i)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(self->names, i), key) == 0)
        return count - named + i;
    for (Py_ssize_t i = 0; i != std::min(count - named, PyTuple_GET_SIZE(self->function->names)); ++i)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(self->function->names, i), key) == 0)
        return i;
  }
  if (!PyErr_Occurred())
    PyErr_SetObject(PyExc_KeyError, key);
  return -1;
}

int set(PyObject *object, PyObject *key, PyObject *value) {
  auto *self = reinterpret_cast<Bound *>(object);
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "an argument of a bound launch can be replaced, not taken away");
    return -1;
  }
  Py_ssize_t index = indexOf(self, key);
  if (index < 0)
    return -1;
  Arena arena;
  tg_value raw{};
  if (!arena.convert(value, raw) || !arena.checkMemory())
    return -1;
  if (raw.kind == TG_POINTER && !arena.isUnplaced() && arena.device != self->device) {
    launchError("%R is not in the memory in which the arguments of the bound launch are", value);
    return -1;
  }
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_bound_set(self->bound, size_t(index), &raw, &problems); status != TG_OK) {
    raise(status, problems, self->function);
    return -1;
  }
  return PyList_SetItem(self->arguments, index, Py_NewRef(value));
}

void dealloc(PyObject *object) {
  auto *self = reinterpret_cast<Bound *>(object);
  tg_bound_destroy(self->bound);
  Py_XDECREF(self->arguments);
  Py_XDECREF(self->names);
  Py_XDECREF(self->grid);
  Py_XDECREF(self->kernel);
  Py_XDECREF(self->function);
  PyObject_Free(object);
}

PyMappingMethods mapping = {nullptr, nullptr, set};
PyMethodDef methods[] = {
    {"_run", run, METH_NOARGS, "A launch that calls no hooks."},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

PyObject *makeBound(Function *function, tg_bound *bound, PyObject *kernel, PyObject *grid, int device,
                    PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  Ref arguments(PyList_New(count)), names(keywords ? Py_NewRef(keywords) : PyTuple_New(0));
  Bound *self = arguments && names ? PyObject_New(Bound, &BoundType) : nullptr;
  if (!self) {
    tg_bound_destroy(bound);
    return nullptr;
  }
  for (Py_ssize_t i = 0; i != count; ++i)
    PyList_SET_ITEM(arguments.get(), i, Py_NewRef(args[i]));
  self->vectorcall = launch;
  self->bound = bound;
  self->function = reinterpret_cast<Function *>(Py_NewRef(function));
  self->arguments = arguments.release();
  self->names = names.release();
  self->grid = Py_NewRef(grid);
  self->kernel = Py_NewRef(kernel);
  self->device = device;
  return reinterpret_cast<PyObject *>(self);
}

PyTypeObject BoundType = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "_tegula.Bound";
  type.tp_doc =
      "A call of a kernel with its arguments: bound() launches, bound[name or number] = value replaces one.";
  type.tp_basicsize = sizeof(Bound);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_vectorcall_offset = offsetof(Bound, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_as_mapping = &mapping;
  type.tp_methods = methods;
  type.tp_dealloc = dealloc;
  return type;
}();

} // namespace tegula::python
