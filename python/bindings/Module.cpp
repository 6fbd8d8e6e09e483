// The module _tegula: its functions, the type Kernel, and the way of errors.
#include "Watch.h"

#include <utility>

namespace tegula::python {

State state;

tg_context *context() {
  if (!state.context) {
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_context_create(nullptr, &state.context, &problems))
      raise(status, problems);
  }
  return state.context;
}

PyObject *rowsOf(const tg_diagnostics *problems) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i != tg_diagnostics_count(problems); ++i) {
    tg_diagnostic d{};
    d.struct_size = sizeof d;
    if (tg_diagnostics_get(problems, i, &d) != TG_OK)
      continue;
    Ref row(Py_BuildValue("(issIIss)", int(d.severity), d.kind, d.file, d.line, d.column, d.message, d.hint));
    if (!row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *raise(tg_status status, tg_diagnostics *problems, Function *function) {
  Ref list(rowsOf(problems));
  Ref text(PyUnicode_DecodeUTF8(tg_diagnostics_text(problems),
                                Py_ssize_t(strlen(tg_diagnostics_text(problems))), "replace"));
  tg_diagnostics_destroy(problems);
  if (!list || !text)
    return nullptr;
  if (status == TG_LAUNCH && PyErr_CheckSignals() < 0)
    return nullptr; // the user interrupted the launch
  // An interrupt or sys.exit ends the program, or a part of it.
  if (function && function->pending && !PyErr_GivenExceptionMatches(function->pending, PyExc_Exception)) {
    Ref pending(std::exchange(function->pending, nullptr));
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(pending.get())), pending.get());
    return nullptr;
  }
  Ref error(PyObject_CallFunction(state.makeError, "iOO", int(status), text.get(), list.get()));
  if (!error)
    return nullptr;
  if (function && function->pending) {
    PyException_SetCause(error.get(), function->pending); // takes the reference
    function->pending = nullptr;
  }
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject *launchError(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Ref text(PyUnicode_FromFormatV(format, arguments));
  va_end(arguments);
  Ref list(PyList_New(0));
  if (!text || !list)
    return nullptr;
  Ref error(PyObject_CallFunction(state.makeError, "iOO", int(TG_LAUNCH), text.get(), list.get()));
  if (error)
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

// ---- Kernel -------------------------------------------------------------------------------

struct KernelObject {
  PyObject_HEAD
  tg_kernel *kernel; // held; CompiledKernel keeps its function alive
};

tg_kernel *kernelHandle(PyObject *raw) { return reinterpret_cast<KernelObject *>(raw)->kernel; }

namespace {

tg_kernel *handle(PyObject *object) { return kernelHandle(object); }

PyObject *kernelStage(PyObject *self, PyObject *name) {
  const char *stage = PyUnicode_AsUTF8(name), *data = nullptr;
  if (!stage)
    return nullptr;
  size_t size = 0;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status = tg_kernel_stage(handle(self), stage, &data, &size, &problems);
  Py_END_ALLOW_THREADS return status ? raise(status, problems)
                                     : PyBytes_FromStringAndSize(data, Py_ssize_t(size));
}

PyObject *kernelStages(PyObject *self, PyObject *) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list; ++i) {
    const char *name = tg_kernel_stage_name(handle(self), i);
    if (!name)
      break;
    Ref text(PyUnicode_FromString(name));
    if (!text || PyList_Append(list.get(), text.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *kernelRemarks(PyObject *self, PyObject *) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i != tg_kernel_remark_count(handle(self)); ++i) {
    tg_remark remark{};
    remark.struct_size = sizeof remark;
    tg_kernel_remark(handle(self), i, &remark);
    Ref row(Py_BuildValue("(sss)", remark.location, remark.kind, remark.text));
    if (!row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *kernelTimes(PyObject *self, PyObject *) {
  Ref list(PyList_New(0));
  double milliseconds = 0;
  for (size_t i = 0; list; ++i) {
    const char *stage = tg_kernel_time(handle(self), i, &milliseconds);
    if (!stage)
      break;
    Ref row(Py_BuildValue("(sd)", stage, milliseconds));
    if (!row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *kernelArguments(PyObject *self, PyObject *) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i != tg_kernel_argument_count(handle(self)); ++i) {
    tg_kernel_argument argument{};
    argument.struct_size = sizeof argument;
    tg_kernel_get_argument(handle(self), i, &argument);
    Ref row(Py_BuildValue("(ssOO)", argument.name, tg_dtype_name(argument.dtype),
                          argument.is_pointer ? Py_True : Py_False,
                          argument.is_written ? Py_True : Py_False));
    if (!row || PyList_Append(list.get(), row.get()) < 0)
      return nullptr;
  }
  return list.release();
}

// {arch, warps, registers, spill_bytes, shared_bytes}; -1 where the target has nothing of the kind
PyObject *kernelAttributes(PyObject *self, PyObject *) {
  tg_kernel_attributes found{};
  found.struct_size = sizeof found;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status = tg_kernel_get_attributes(handle(self), &found, &problems);
  Py_END_ALLOW_THREADS if (status) return raise(status, problems);
  return Py_BuildValue("{s:s,s:i,s:i,s:i,s:L}", "arch", found.arch, "warps", int(found.warps), "registers",
                       int(found.registers), "spill_bytes", int(found.spill_bytes), "shared_bytes",
                       (long long)(found.shared_bytes));
}

// ((x, y, z)): compiles what launches of the current device with this grid run
PyObject *kernelPrepare(PyObject *self, PyObject *extents) {
  long long grid[3];
  if (!PyTuple_Check(extents))
    return PyErr_Format(PyExc_TypeError, "the extents of a grid are a tuple; here is %R", extents);
  if (!PyArg_ParseTuple(extents, "LLL", &grid[0], &grid[1], &grid[2]))
    return nullptr;
  int64_t counts[3] = {grid[0], grid[1], grid[2]};
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status = tg_kernel_prepare(handle(self), nullptr, counts, 3, &problems);
  Py_END_ALLOW_THREADS if (status) return raise(status, problems);
  Py_RETURN_NONE;
}

PyObject *kernelWarnings(PyObject *self, PyObject *) {
  tg_diagnostics *list = tg_kernel_warnings(handle(self));
  PyObject *rows = rowsOf(list);
  tg_diagnostics_destroy(list);
  return rows;
}

PyObject *kernelName(PyObject *self, PyObject *) {
  return PyUnicode_FromString(tg_kernel_name(handle(self)));
}
PyObject *kernelTarget(PyObject *self, PyObject *) {
  return PyUnicode_FromString(tg_kernel_target(handle(self)));
}

PyMethodDef kernelMethods[] = {
    {"stage", kernelStage, METH_O, "(name) -> bytes of a stage"},
    {"stages", kernelStages, METH_NOARGS, "names of the stages"},
    {"remarks", kernelRemarks, METH_NOARGS, "[(location, kind, text)]"},
    {"times", kernelTimes, METH_NOARGS, "[(step, milliseconds)]"},
    {"arguments", kernelArguments, METH_NOARGS, "[(name, dtype, is_pointer, is_written)]"},
    {"attributes", kernelAttributes, METH_NOARGS, "{what: count} of a launch's needs; -1 is unknown"},
    {"prepare", kernelPrepare, METH_O, "(extents): compiles what launches of a grid run"},
    {"warnings", kernelWarnings, METH_NOARGS, "diagnostics that were no errors"},
    {"name", kernelName, METH_NOARGS, "the kernel's name"},
    {"target", kernelTarget, METH_NOARGS, "the target's name"},
    {nullptr, nullptr, 0, nullptr},
};

// ---- functions of the module ----------------------------------------------------------------

PyObject *registerHooks(PyObject *, PyObject *args) {
  PyObject *encode, *makeError, *makeKernel, *dtypeCode;
  if (!PyArg_ParseTuple(args, "OOOO", &encode, &makeError, &makeKernel, &dtypeCode))
    return nullptr;
  Py_XSETREF(state.encode, Py_NewRef(encode));
  Py_XSETREF(state.makeError, Py_NewRef(makeError));
  Py_XSETREF(state.makeKernel, Py_NewRef(makeKernel));
  Py_XSETREF(state.dtypeCode, Py_NewRef(dtypeCode));
  Py_RETURN_NONE;
}

PyObject *dtypeFromName(PyObject *, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  return text ? PyLong_FromLong(tg_dtype_from_name(text)) : nullptr;
}

PyObject *dtypeName(PyObject *, PyObject *code) {
  const char *name = tg_dtype_name(int(PyLong_AsLong(code)));
  if (name)
    return PyUnicode_FromString(name);
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_IndexError, "there is no such dtype");
  return nullptr;
}

// (kind, dtype) or None
PyObject *languageName(PyObject *, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  tg_value value;
  if (!text)
    return nullptr;
  if (!tg_language_name(text, &value))
    Py_RETURN_NONE;
  return Py_BuildValue("(ii)", int(value.kind), int(value.dtype));
}

PyObject *languageNames(PyObject *, PyObject *module) {
  const char *text = PyUnicode_AsUTF8(module);
  PyObject *names = text ? PyList_New(0) : nullptr;
  for (size_t index = 0; names; ++index) {
    const char *name = tg_language_name_at(text, index);
    if (!name)
      break;
    PyObject *item = PyUnicode_FromString(name);
    if (!item || PyList_Append(names, item) < 0)
      Py_CLEAR(names);
    Py_XDECREF(item);
  }
  return names;
}

// (kind, container, key[, value]): the kernel that this thread compiles depends on what is there.
PyObject *watch(PyObject *, PyObject *args) {
  int kind;
  PyObject *container, *key, *value = nullptr;
  if (!PyArg_ParseTuple(args, "iOO|O", &kind, &container, &key, &value))
    return nullptr;
  bool fits = kind == Watch::Item       ? PyDict_Check(container)
              : kind == Watch::Cell     ? PyCell_Check(container)
              : kind == Watch::Elements ? PyList_Check(container)
                                        : kind == Watch::Attribute || kind == Watch::Call;
  if (!fits) {
    PyErr_Format(PyExc_TypeError, "%R cannot be watched so", container);
    return nullptr;
  }
  if (Asking *asking = Asking::current())
    asking->function->watch->add(Watch::Kind(kind), container, key == Py_None ? nullptr : key, value);
  Py_RETURN_NONE;
}

// Counts the places that the launches of a function look at.
PyObject *watchedPlaces(PyObject *, PyObject *function) {
  if (isFunction(function))
    return PyLong_FromSize_t(reinterpret_cast<Function *>(function)->watch->size());
  PyErr_SetString(PyExc_TypeError, "a function of the language is wanted");
  return nullptr;
}

PyObject *kernelLimit(PyObject *, PyObject *) { return PyLong_FromSize_t(tg_kernel_limit()); }
PyObject *keptKernels(PyObject *, PyObject *) { return PyLong_FromSize_t(tg_kept_kernels()); }
PyObject *setKernelLimit(PyObject *, PyObject *count) {
  size_t value = PyLong_AsSize_t(count);
  if (value == size_t(-1) && PyErr_Occurred())
    return nullptr;
  tg_set_kernel_limit(value);
  Py_RETURN_NONE;
}

// {"path", "entries", "bytes", "hits", "misses", "damaged"}
PyObject *cacheInfo(PyObject *, PyObject *) {
  tg_cache_info info{};
  info.struct_size = sizeof info;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_get_info(&info, &problems))
    return raise(status, problems);
  return Py_BuildValue("{sssKsKsKsKsK}", "path", info.path, "entries", (unsigned long long)info.entries,
                       "bytes", (unsigned long long)info.bytes, "hits", (unsigned long long)info.hits,
                       "misses", (unsigned long long)info.misses, "damaged",
                       (unsigned long long)info.damaged);
}

PyObject *deviceCount(PyObject *, PyObject *name) {
  const char *target = PyUnicode_AsUTF8(name);
  if (!target)
    return nullptr;
  int32_t count = 0;
  tg_diagnostics *problems = nullptr;
  tg_status status = tg_device_count(target, &count, &problems);
  return status ? raise(status, problems) : PyLong_FromLong(count);
}

PyObject *currentDevice(PyObject *, PyObject *name) {
  const char *target = PyUnicode_AsUTF8(name);
  if (!target)
    return nullptr;
  int32_t device = 0;
  tg_diagnostics *problems = nullptr;
  tg_status status = tg_device_current(target, &device, &problems);
  return status ? raise(status, problems) : PyLong_FromLong(device);
}

PyObject *device(PyObject *, PyObject *args) {
  const char *target;
  int index;
  if (!PyArg_ParseTuple(args, "si", &target, &index))
    return nullptr;
  tg_device d{};
  d.struct_size = sizeof d;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_device_get(target, index, &d, &problems))
    return raise(status, problems);
  return Py_BuildValue(
      "{s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:L,s:L,s:L,s:L,s:i,s:i,s:i}", "name", d.name, "arch", d.arch, "major",
      int(d.major), "minor", int(d.minor), "multiprocessors", int(d.multiprocessors), "warp_size",
      int(d.warp_size), "max_threads_per_block", int(d.max_threads_per_block), "max_shared_bytes",
      (long long)(d.max_shared_bytes), "max_registers", (long long)(d.max_registers), "memory_bytes",
      (long long)(d.memory_bytes), "cache_bytes", (long long)(d.cache_bytes), "clock_khz", int(d.clock_khz),
      "memory_clock_khz", int(d.memory_clock_khz), "memory_bus_bits", int(d.memory_bus_bits));
}

PyObject *threads(PyObject *, PyObject *) { return PyLong_FromUnsignedLong(tg_threads()); }

PyObject *setThreads(PyObject *, PyObject *count) {
  long value = PyLong_AsLong(count);
  if (value == -1 && PyErr_Occurred())
    return nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status = tg_set_threads(value < 0 ? 0 : unsigned(std::min(value, 1l << 20)), &problems);
  if (status != TG_OK)
    return raise(status, problems);
  Py_RETURN_NONE;
}

PyObject *launcher(PyObject *, PyObject *args) {
  PyObject *function, *grid;
  int isPlain = 0;
  if (!PyArg_ParseTuple(args, "O!O|p", &FunctionType, &function, &grid, &isPlain))
    return nullptr;
  return makeLauncher(reinterpret_cast<Function *>(function), grid, isPlain);
}

PyMethodDef moduleMethods[] = {
    {"register", registerHooks, METH_VARARGS, "(encode, make_error, make_kernel, dtype_code)"},
    {"dtype_from_name", dtypeFromName, METH_O, "code of a dtype's name, or -1"},
    {"dtype_name", dtypeName, METH_O, "name of a dtype's code"},
    {"language_name", languageName, METH_O, "(kind, dtype) of a dotted name, or None"},
    {"language_names", languageNames, METH_O, "the bare names of a module's functions"},
    {"watch", watch, METH_VARARGS,
     "(kind, container, key[, value]) that the kernel being compiled depends on"},
    {"watched_places", watchedPlaces, METH_O, "how many places the launches of a function look at"},
    {"kernel_limit", kernelLimit, METH_NOARGS, "how many compiled kernels the process keeps"},
    {"set_kernel_limit", setKernelLimit, METH_O, "sets it; 0 is no bound"},
    {"kept_kernels", keptKernels, METH_NOARGS, "how many there are"},
    {"cache_info", cacheInfo, METH_NOARGS, "the compiled kernels on disk, and what this process found there"},
    {"device_count", deviceCount, METH_O, "devices of a target"},
    {"current_device", currentDevice, METH_O, "the device of a target that is current on this thread"},
    {"device", device, METH_VARARGS, "(target, index) -> what the device is"},
    {"threads", threads, METH_NOARGS, "threads that launches use"},
    {"set_threads", setThreads, METH_O, "sets the number of threads"},
    {"launcher", launcher, METH_VARARGS, "(function, grid[, hooks were called]); grid None only compiles"},
    {"grid_of", gridOf, METH_O, "three extents of a grid's entries"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_tegula",
                          "Tegula's C interface for Python.",
                          -1,
                          moduleMethods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

bool addConstants(PyObject *module) {
  constexpr std::pair<const char *, int> kinds[] = {{"NONE", TG_NONE},
                                                    {"BOOL", TG_BOOL},
                                                    {"INT", TG_INT},
                                                    {"FLOAT", TG_FLOAT},
                                                    {"POINTER", TG_POINTER},
                                                    {"TYPED", TG_TYPED},
                                                    {"STRING", TG_STRING},
                                                    {"DTYPE", TG_DTYPE},
                                                    {"LITERAL", TG_LITERAL},
                                                    {"TUPLE", TG_TUPLE},
                                                    {"CLASS", TG_CLASS},
                                                    {"NAMED_TUPLE", TG_NAMED_TUPLE},
                                                    {"FUNCTION", TG_FUNCTION},
                                                    {"MODULE", TG_MODULE},
                                                    {"BUILTIN", TG_BUILTIN},
                                                    {"OPAQUE", TG_OPAQUE},
                                                    {"CONSTEXPR", TG_CONSTEXPR},
                                                    {"HELD", TG_HELD},
                                                    {"HELD_TILE", TG_HELD_TILE},
                                                    {"HELD_BLOCK_POINTER", TG_HELD_BLOCK_POINTER},
                                                    {"HELD_DESCRIPTOR", TG_HELD_DESCRIPTOR},
                                                    {"HELD_TYPE", TG_HELD_TYPE},
                                                    {"DO_CALL", TG_DO_CALL},
                                                    {"DO_METHOD", TG_DO_METHOD},
                                                    {"DO_ATTRIBUTE", TG_DO_ATTRIBUTE},
                                                    {"DO_BINARY", TG_DO_BINARY},
                                                    {"DO_COMPARE", TG_DO_COMPARE},
                                                    {"DO_UNARY", TG_DO_UNARY},
                                                    {"DO_LOGICAL", TG_DO_LOGICAL},
                                                    {"DO_SUBSCRIPT", TG_DO_SUBSCRIPT},
                                                    {"DO_TENSOR", TG_DO_TENSOR},
                                                    {"DO_RANGE", TG_DO_RANGE},
                                                    {"DO_CONDITION", TG_DO_CONDITION},
                                                    {"WATCH_ITEM", Watch::Item},
                                                    {"WATCH_CELL", Watch::Cell},
                                                    {"WATCH_ATTRIBUTE", Watch::Attribute},
                                                    {"WATCH_ELEMENTS", Watch::Elements},
                                                    {"WATCH_CALL", Watch::Call}};
  for (auto [name, kind] : kinds)
    if (PyModule_AddIntConstant(module, name, kind) < 0)
      return false;
  return PyModule_AddStringConstant(module, "version", tg_version()) == 0;
}

} // namespace

PyTypeObject KernelType = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "_tegula.Kernel";
  type.tp_doc = "A compiled kernel.";
  type.tp_basicsize = sizeof(KernelObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_dealloc = [](PyObject *object) {
    tg_kernel_destroy(handle(object));
    PyObject_Free(object);
  };
  type.tp_methods = kernelMethods;
  return type;
}();

PyObject *makeKernel(tg_kernel *kernel) {
  KernelObject *self = PyObject_New(KernelObject, &KernelType);
  if (self)
    self->kernel = kernel;
  else
    tg_kernel_destroy(kernel);
  return reinterpret_cast<PyObject *>(self);
}

bool isKeptKernel(PyObject *raw) { return tg_kernel_is_kept(handle(raw)); }

} // namespace tegula::python

PyMODINIT_FUNC PyInit__tegula() {
  using namespace tegula::python;
  state.sArrayStruct = PyUnicode_InternFromString("__array_struct__");
  state.sDataPtr = PyUnicode_InternFromString("data_ptr");
  state.sDtype = PyUnicode_InternFromString("dtype");
  state.sIsCpu = PyUnicode_InternFromString("is_cpu");
  state.sIsCuda = PyUnicode_InternFromString("is_cuda");
  state.sGetDevice = PyUnicode_InternFromString("get_device");
  state.sDevice = PyUnicode_InternFromString("device");
  state.sFields = PyUnicode_InternFromString("_fields");
  state.dtypeCodes = PyDict_New();
  if (PyType_Ready(&FunctionType) < 0 || PyType_Ready(&LauncherType) < 0 || PyType_Ready(&BoundType) < 0 ||
      PyType_Ready(&KernelType) < 0 || PyType_Ready(&ProgramType) < 0 || PyType_Ready(&HeldType) < 0)
    return nullptr;
  PyObject *module = PyModule_Create(&definition);
  if (!module || !addConstants(module) || PyModule_AddFunctions(module, stepMethods) < 0 ||
      PyModule_AddFunctions(module, tuneMethods) < 0 || PyModule_AddFunctions(module, hookMethods) < 0 ||
      PyModule_AddObjectRef(module, "Function", reinterpret_cast<PyObject *>(&FunctionType)) < 0 ||
      PyModule_AddObjectRef(module, "Kernel", reinterpret_cast<PyObject *>(&KernelType)) < 0 ||
      PyModule_AddObjectRef(module, "Program", reinterpret_cast<PyObject *>(&ProgramType)) < 0)
    return nullptr;
  return module;
}
