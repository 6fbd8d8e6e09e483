// The type Function: source text on the Python side, a tg_function behind it, and the
// environment of its free names through callbacks.
#include "Apart.h"
#include "Recent.h"
#include "Watch.h"

#include <new>
#include <structmember.h>

namespace tegula::python {
namespace {

// The answer of a Python callback -> the library. None: there is no such thing.
int reply(PyObject *stolen, tg_value *out) {
  Ref answer(stolen);
  Asking *asking = Asking::current();
  if (asking && answer && answer.get() != Py_None) {
    asking->arena = std::make_unique<Arena>();
    *out = tg_value{};
    if (asking->arena->decode(answer.get(), *out)) {
      asking->answers.push_back(std::move(answer));
      return 1;
    }
  }
  if (!PyErr_Occurred())
    return 0;
  const std::string &text = keepRaised();
  *out = tg_value{};
  out->kind = TG_STRING;
  out->as.text = {text.data(), text.size()};
  return -1;
}

PyObject *toObject(Function *self, const tg_value &value) {
  switch (value.kind) {
  case TG_NONE: Py_RETURN_NONE;
  case TG_BOOL: return PyBool_FromLong(value.as.integer != 0);
  case TG_INT: return PyLong_FromLongLong(value.as.integer);
  case TG_FLOAT: return PyFloat_FromDouble(value.as.real);
  case TG_STRING: return PyUnicode_FromStringAndSize(value.as.text.data, Py_ssize_t(value.as.text.size));
  case TG_LITERAL: {
    Ref text(PyUnicode_FromStringAndSize(value.as.text.data, Py_ssize_t(value.as.text.size)));
    return text ? PyLong_FromUnicodeObject(text.get(), 10) : nullptr;
  }
  case TG_TUPLE: {
    Ref tuple(PyTuple_New(Py_ssize_t(value.as.tuple.count)));
    for (size_t i = 0; tuple && i != value.as.tuple.count; ++i) {
      PyObject *item = toObject(self, value.as.tuple.items[i]);
      if (!item)
        return nullptr;
      PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), item);
    }
    return tuple.release();
  }
  case TG_CLASS: return toObject(self, value.as.tuple.items[1]);
  case TG_NAMED_TUPLE: {
    tg_value elements = value;
    elements.kind = TG_TUPLE;
    elements.as.tuple = {value.as.tuple.items + 1, value.as.tuple.count - 1};
    Ref type(toObject(self, value.as.tuple.items[0])), values(type ? toObject(self, elements) : nullptr);
    return values ? PyObject_CallMethod(self->environment, "named_tuple", "OO", type.get(), values.get())
                  : nullptr;
  }
  // Things that only Python knows how to find again.
  case TG_OPAQUE:
    if (value.as.opaque.handle & TG_RUN_TIME)
      return PyObject_CallMethod(self->environment, "run_time", "Ks",
                                 (unsigned long long)value.as.opaque.handle, value.as.opaque.repr);
    return PyObject_CallMethod(self->environment, "object", "K", (unsigned long long)value.as.opaque.handle);
  case TG_DTYPE: return PyObject_CallMethod(self->environment, "dtype", "i", int(value.dtype));
  case TG_MODULE:
  case TG_BUILTIN:
    return PyObject_CallMethod(self->environment, "named", "s#", value.as.text.data,
                               Py_ssize_t(value.as.text.size));
  default: PyErr_SetString(PyExc_TypeError, "this value cannot be shown to Python"); return nullptr;
  }
}

int lookup(void *user, const char *name, tg_value *out) {
  Gil gil;
  auto *self = static_cast<Function *>(user);
  return reply(PyObject_CallMethod(self->environment, "lookup", "s", name), out);
}

int defaultOf(void *user, const char *name, tg_value *out) {
  Gil gil;
  auto *self = static_cast<Function *>(user);
  return reply(PyObject_CallMethod(self->environment, "default", "s", name), out);
}

int attribute(void *user, const tg_value *object, const char *name, tg_value *out) {
  Gil gil;
  auto *self = static_cast<Function *>(user);
  Ref value(toObject(self, *object));
  return reply(value ? PyObject_CallMethod(self->environment, "attribute", "Os", value.get(), name) : nullptr,
               out);
}

int callNamed(void *user, const tg_value *callee, const tg_value *arguments, const char *const *names,
              size_t count, tg_value *out) {
  Gil gil;
  auto *self = static_cast<Function *>(user);
  Ref function(toObject(self, *callee));
  size_t positional = 0;
  while (positional != count && !names[positional])
    ++positional;
  tg_value all{};
  all.kind = TG_TUPLE;
  all.as.tuple = {arguments, positional};
  Ref values(function ? toObject(self, all) : nullptr), keywords(values ? PyDict_New() : nullptr);
  for (size_t i = positional; keywords && i != count; ++i) {
    Ref value(toObject(self, arguments[i]));
    if (!value || PyDict_SetItemString(keywords.get(), names[i], value.get()) < 0)
      keywords = Ref();
  }
  return reply(keywords ? PyObject_CallMethod(self->environment, "call", "OOO", function.get(), values.get(),
                                              keywords.get())
                        : nullptr,
               out);
}

int nameOf(void *user, const tg_value *specialization, tg_value *out) {
  Gil gil;
  auto *self = static_cast<Function *>(user);
  Ref rows(toObject(self, *specialization));
  return reply(rows ? PyObject_CallMethod(self->environment, "name_of", "(O)", rows.get()) : nullptr, out);
}

uint64_t version(void *user) { return static_cast<Function *>(user)->watch->version; }

int init(PyObject *object, PyObject *args, PyObject *) {
  auto *self = reinterpret_cast<Function *>(object);
  PyObject *environment, *names, *defaults, *target;
  Py_ssize_t restPlace = -1;
  if (!PyArg_ParseTuple(args, "OO!O!U|n", &environment, &PyTuple_Type, &names, &PyDict_Type, &defaults,
                        &target, &restPlace))
    return -1;
  self->restPlace = restPlace;
  Py_XSETREF(self->environment, Py_NewRef(environment));
  Py_XSETREF(self->names, Py_NewRef(names));
  Py_XSETREF(self->defaults, Py_NewRef(defaults));
  Py_XSETREF(self->target, Py_NewRef(target));
  self->targetsDevice = namesDevice(target);
  Py_XSETREF(self->kernels, PyDict_New());
  if (!self->watch)
    self->watch = new Watch;
  if (!self->recent)
    self->recent = new Recent;
  if (!self->forms)
    self->forms = new Forms;
  return self->kernels ? 0 : -1;
}

int clear(PyObject *object) {
  auto *self = reinterpret_cast<Function *>(object);
  Py_CLEAR(self->environment);
  Py_CLEAR(self->kernels);
  Py_CLEAR(self->names);
  Py_CLEAR(self->defaults);
  Py_CLEAR(self->pending);
  if (self->watch)
    self->watch->clear();
  if (self->recent)
    self->recent->clear();
  if (self->forms)
    self->forms->clear();
  Py_CLEAR(self->preRunHooks);
  Py_CLEAR(self->target);
  self->lastObject = nullptr;
  self->lastKernel = nullptr;
  return 0;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<Function *>(object);
  Py_VISIT(self->environment);
  Py_VISIT(self->kernels);
  Py_VISIT(self->names);
  Py_VISIT(self->defaults);
  Py_VISIT(self->pending);
  Py_VISIT(self->preRunHooks);
  if (int result = self->forms ? self->forms->traverse(visit, arg) : 0)
    return result;
  if (int result = self->recent ? self->recent->traverse(visit, arg) : 0)
    return result;
  return self->watch ? self->watch->traverse(visit, arg) : 0;
}

void dealloc(PyObject *object) {
  auto *self = reinterpret_cast<Function *>(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  tg_module_destroy(self->module);
  delete self->watch;
  delete self->recent;
  delete self->forms;
  Py_TYPE(object)->tp_free(object);
}

PyObject *subscript(PyObject *self, PyObject *grid) {
  if (grid == Py_None)
    return launchError("the grid is %R; it is a tuple of 1 to 3 ints, or a function that returns one\n"
                       "  hint: write kernel[(n,)](...), or kernel.warmup(...) to compile only",
                       grid);
  return makeLauncher(reinterpret_cast<Function *>(self), grid);
}

PyObject *doNotSpecialize(PyObject *object, PyObject *args) {
  Py_ssize_t index;
  int onlyAlignment;
  if (!PyArg_ParseTuple(args, "np", &index, &onlyAlignment))
    return nullptr;
  tg_function *function = functionHandle(reinterpret_cast<Function *>(object));
  if (!function)
    return nullptr;
  reinterpret_cast<Function *>(object)->recent->clear();
  Asking asking(reinterpret_cast<Function *>(object));
  Py_BEGIN_ALLOW_THREADS tg_function_do_not_specialize(function, size_t(index), onlyAlignment);
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"_do_not_specialize", doNotSpecialize, METH_VARARGS, "(index, only_alignment)"},
    {nullptr, nullptr, 0, nullptr},
};
PyObject *getTarget(PyObject *object, void *) {
  return Py_NewRef(reinterpret_cast<Function *>(object)->target);
}

int setTarget(PyObject *object, PyObject *value, void *) {
  if (!value || !PyUnicode_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "a target is named by a str");
    return -1;
  }
  Py_XSETREF(reinterpret_cast<Function *>(object)->target, Py_NewRef(value));
  reinterpret_cast<Function *>(object)->targetsDevice = namesDevice(value);
  return 0;
}

PyGetSetDef attributes[] = {
    {"target", getTarget, setTarget, "the target that launches go to", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef members[] = {
    {"pre_run_hooks", T_OBJECT, offsetof(Function, preRunHooks), 0,
     "functions that are called before each launch"},
    {nullptr, 0, 0, 0, nullptr},
};
PyMappingMethods mapping = {nullptr, subscript, nullptr};

} // namespace

static thread_local Asking *innermost = nullptr;

Asking::Asking(Function *function) : function(function), outer_(innermost) {
  innermost = this;
  function->watch->begin();
}
Asking::~Asking() { innermost = outer_; }
Asking *Asking::current() { return innermost; }

bool isFunction(PyObject *object) { return PyObject_TypeCheck(object, &FunctionType); }

const std::string &keepRaised() {
  static const std::string nobody = "an error";
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace)
    PyException_SetTraceback(value, trace);
  Ref text(PyObject_Str(value));
  const char *said = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!said)
    PyErr_Clear();
  Asking *asking = Asking::current();
  if (asking)
    asking->raised = std::string(reinterpret_cast<PyTypeObject *>(type)->tp_name) +
                     (said && *said ? ": " + std::string(said) : "");
  Py_XDECREF(type);
  Py_XDECREF(trace);
  if (asking)
    Py_XSETREF(asking->function->pending, value);
  else
    Py_XDECREF(value);
  return asking ? asking->raised : nobody;
}

// Passes on what the function's annotations say at run time: environment.annotations() -> [(index, text)].
static bool annotate(Function *self, tg_function *function) {
  Asking asking(self);
  Ref rows(PyObject_CallMethod(self->environment, "annotations", nullptr));
  Ref list(rows ? PySequence_Fast(rows.get(), "annotations are a list") : nullptr);
  for (Py_ssize_t i = 0; list && i != PySequence_Fast_GET_SIZE(list.get()); ++i) {
    Py_ssize_t index;
    const char *text;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list.get(), i), "ns", &index, &text))
      return false;
    Py_BEGIN_ALLOW_THREADS tg_function_annotate(function, size_t(index), text);
    Py_END_ALLOW_THREADS
  }
  return bool(list);
}

// environment.source() -> (path, text, first line, first column)
tg_function *functionHandle(Function *self) {
  if (self->function)
    return self->function;
  Ref source(PyObject_CallMethod(self->environment, "source", nullptr));
  const char *path, *text;
  Py_ssize_t size;
  unsigned line, column;
  if (!source || !PyArg_ParseTuple(source.get(), "ss#II", &path, &text, &size, &line, &column))
    return nullptr;
  tg_context *where = context();
  if (!where)
    return nullptr;
  Ref isNaming(PyObject_GetAttrString(self->environment, "is_naming"));
  if (!isNaming)
    return nullptr;
  tg_host host{sizeof(tg_host), self,      lookup,
               attribute,       nullptr,   version,
               callNamed,       defaultOf, isNaming.get() == Py_True ? nameOf : nullptr};
  tg_source description{sizeof(tg_source), path, text, size_t(size), line, column, &host};
  tg_module *module = nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status = tg_module_from_text(where, &description, &module, &problems);
  Py_END_ALLOW_THREADS if (status != TG_OK) return raise(status, problems, self), nullptr;
  if (self->function) { // another thread was faster
    tg_module_destroy(module);
    return self->function;
  }
  if (tg_module_function_count(module) == 0) {
    tg_module_destroy(module);
    PyErr_SetString(PyExc_ValueError, "the source of this function has no `def`");
    return nullptr;
  }
  tg_function *function = tg_module_function(module, 0);
  if (!annotate(self, function)) {
    tg_module_destroy(module);
    return nullptr;
  }
  self->module = module;
  return self->function = function;
}

PyTypeObject FunctionType = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "_tegula.Function";
  type.tp_doc = "A function of the language; the base of JITFunction.";
  type.tp_basicsize = sizeof(Function);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  type.tp_new = PyType_GenericNew;
  type.tp_init = init;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_as_mapping = &mapping;
  type.tp_methods = methods;
  type.tp_getset = attributes;
  type.tp_members = members;
  return type;
}();

} // namespace tegula::python
