// Programs that Python runs one operation at a time: the types Program and Held over tg_program and tg_held.
#include "Bindings.h"

#include <structmember.h>

namespace tegula::python {
namespace {

struct HeldObject {
  PyObject_HEAD
  tg_held *held;
};

struct ProgramObject {
  PyObject_HEAD
  tg_program *program;
  Function *function; // whose launch it is
  PyObject *wrap;     // (kind, payload) -> object: values that Python has classes for
  PyObject *arguments;
};

// A value of the library -> an object. Takes what is held.
PyObject *toObject(PyObject *wrap, const tg_value &value) {
  switch (value.kind) {
  case TG_ABSENT: return Py_NewRef(Py_Ellipsis);
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
    for (size_t i = 0; i != value.as.tuple.count; ++i) {
      PyObject *item = toObject(wrap, value.as.tuple.items[i]);
      if (!item || !tuple) { // the items behind are the caller's, too
        Py_XDECREF(item);
        tuple = Ref();
        continue;
      }
      PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), item);
    }
    return tuple.release();
  }
  case TG_DTYPE: return PyObject_CallFunction(wrap, "ii", int(value.kind), int(value.dtype));
  case TG_MODULE:
  case TG_BUILTIN:
    return PyObject_CallFunction(wrap, "is#", int(value.kind), value.as.text.data,
                                 Py_ssize_t(value.as.text.size));
  case TG_OPAQUE:
    return PyObject_CallFunction(wrap, "iK", int(value.kind), (unsigned long long)value.as.opaque.handle);
  case TG_HELD: {
    HeldObject *held = PyObject_New(HeldObject, &HeldType);
    if (!held) {
      tg_held_release(value.as.held);
      return nullptr;
    }
    held->held = value.as.held;
    return PyObject_CallFunction(wrap, "iN", int(value.kind), reinterpret_cast<PyObject *>(held));
  }
  default: PyErr_SetString(PyExc_TypeError, "this value cannot be shown to Python"); return nullptr;
  }
}

// Program(function, wrap, arguments, keywords): binds a call; `arguments` has what the parameters get, where
// that is not the object that the call gave: ... stands there.
int init(PyObject *object, PyObject *args, PyObject *) {
  auto *self = reinterpret_cast<ProgramObject *>(object);
  PyObject *function, *wrap, *values, *keywords;
  if (self->program) {
    PyErr_SetString(PyExc_RuntimeError, "a Program is made once");
    return -1;
  }
  if (!PyArg_ParseTuple(args, "O!OO!O!", &FunctionType, &function, &wrap, &PyTuple_Type, &values,
                        &PyDict_Type, &keywords))
    return -1;
  self->function = reinterpret_cast<Function *>(Py_NewRef(function));
  self->wrap = Py_NewRef(wrap);
  tg_function *handle = functionHandle(self->function);
  Arena arena;
  std::vector<tg_argument> arguments;
  if (!handle || !readArguments(&PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values), keywords, false,
                                arena, arguments))
    return -1;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  std::vector<tg_value> bound;
  Asking asking(self->function);
  Py_BEGIN_ALLOW_THREADS bound.resize(tg_function_parameter_count(handle));
  status =
      tg_program_create(handle, arguments.data(), arguments.size(), bound.data(), &self->program, &problems);
  Py_END_ALLOW_THREADS if (status) return raise(status, problems, self->function), -1;
  tg_value all{};
  all.kind = TG_TUPLE;
  all.as.tuple = {bound.data(), bound.size()};
  self->arguments = toObject(wrap, all);
  return self->arguments ? 0 : -1;
}

void deallocProgram(PyObject *object) {
  auto *self = reinterpret_cast<ProgramObject *>(object);
  tg_program_destroy(self->program);
  Py_XDECREF(self->function);
  Py_XDECREF(self->wrap);
  Py_XDECREF(self->arguments);
  Py_TYPE(object)->tp_free(object);
}

// move(index, grid)
PyObject *move(PyObject *object, PyObject *args) {
  long long index[3], grid[3];
  if (!PyArg_ParseTuple(args, "(LLL)(LLL)", &index[0], &index[1], &index[2], &grid[0], &grid[1], &grid[2]))
    return nullptr;
  int64_t at[3] = {index[0], index[1], index[2]}, extents[3] = {grid[0], grid[1], grid[2]};
  tg_diagnostics *problems = nullptr;
  if (tg_status status =
          tg_program_move(reinterpret_cast<ProgramObject *>(object)->program, at, extents, 3, &problems))
    return raise(status, problems);
  Py_RETURN_NONE;
}

// add_source(path, text) -> its number
PyObject *addSource(PyObject *object, PyObject *args) {
  const char *path, *text;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "ss#", &path, &text, &size))
    return nullptr;
  uint32_t number = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_program_add_source(reinterpret_cast<ProgramObject *>(object)->program, path, text,
                                               size_t(size), &number, &problems))
    return raise(status, problems);
  return PyLong_FromUnsignedLong(number);
}

// do(action, name, span or None, operands, keywords or None) -> (result, warnings or None)
PyObject *doAction(PyObject *object, PyObject *const *args, Py_ssize_t count) {
  auto *self = reinterpret_cast<ProgramObject *>(object);
  if (count != 5 || !PyTuple_Check(args[3])) {
    PyErr_SetString(PyExc_TypeError, "do(action, name, span, operands, keywords)");
    return nullptr;
  }
  long action = PyLong_AsLong(args[0]);
  const char *name = PyUnicode_AsUTF8(args[1]);
  tg_span span{};
  bool hasSpan = args[2] != Py_None;
  if (PyErr_Occurred() || (hasSpan && !PyArg_ParseTuple(args[2], "IIIII", &span.source, &span.line,
                                                        &span.column, &span.end_line, &span.end_column)))
    return nullptr;
  Arena arena;
  std::vector<tg_argument> operands;
  if (!readArguments(&PyTuple_GET_ITEM(args[3], 0), PyTuple_GET_SIZE(args[3]),
                     args[4] == Py_None ? nullptr : args[4], action == TG_DO_SUBSCRIPT, arena, operands))
    return nullptr;
  tg_value out{};
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Asking asking(self->function);
  Py_BEGIN_ALLOW_THREADS status = tg_program_do(self->program, tg_action(action), name, operands.data(),
                                                operands.size(), hasSpan ? &span : nullptr, &out, &problems);
  Py_END_ALLOW_THREADS if (status) return raise(status, problems, self->function);
  Ref warnings(problems ? rowsOf(problems) : Py_NewRef(Py_None));
  tg_diagnostics_destroy(problems);
  Ref result(toObject(self->wrap, out));
  return warnings && result ? PyTuple_Pack(2, result.get(), warnings.get()) : nullptr;
}

// has_method(object, name)
PyObject *hasMethod(PyObject *object, PyObject *args) {
  PyObject *value;
  const char *name;
  Arena arena;
  tg_value converted{};
  if (!PyArg_ParseTuple(args, "Os", &value, &name) || !arena.convert(value, converted))
    return nullptr;
  return PyBool_FromLong(
      tg_program_has_method(reinterpret_cast<ProgramObject *>(object)->program, &converted, name));
}

PyMethodDef programMethods[] = {
    {"move", move, METH_VARARGS, "(index, grid): what follows is of this program of the grid"},
    {"add_source", addSource, METH_VARARGS, "(path, text) -> the number of a file, for spans"},
    {"do", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(doAction)), METH_FASTCALL,
     "(action, name, span, operands, keywords) -> (result, rows of warnings or None)"},
    {"has_method", hasMethod, METH_VARARGS, "(object, name)"},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef programMembers[] = {
    {"arguments", T_OBJECT, offsetof(ProgramObject, arguments), READONLY, "what each parameter gets"},
    {nullptr, 0, 0, 0, nullptr},
};

tg_held_info infoOf(PyObject *object) {
  tg_held_info info{};
  info.struct_size = sizeof info;
  tg_held_get(heldHandle(object), &info);
  return info;
}

PyObject *getKind(PyObject *self, void *) { return PyLong_FromLong(infoOf(self).kind); }
PyObject *getType(PyObject *self, void *) { return PyUnicode_FromString(infoOf(self).type); }
PyObject *getDtype(PyObject *self, void *) { return PyLong_FromLong(infoOf(self).dtype); }
PyObject *getIsPointer(PyObject *self, void *) { return PyBool_FromLong(infoOf(self).is_pointer); }
PyObject *getShape(PyObject *self, void *) {
  tg_held_info info = infoOf(self);
  Ref shape(PyTuple_New(Py_ssize_t(info.rank)));
  for (size_t d = 0; shape && d != info.rank; ++d)
    PyTuple_SET_ITEM(shape.get(), Py_ssize_t(d), PyLong_FromLongLong(info.shape[d]));
  return shape.release();
}
PyObject *getData(PyObject *self, void *) {
  size_t size = 0;
  const void *data = tg_held_data(heldHandle(self), &size);
  if (!data)
    Py_RETURN_NONE;
  return PyBytes_FromStringAndSize(static_cast<const char *>(data), Py_ssize_t(size));
}

PyGetSetDef heldAttributes[] = {
    {"kind", getKind, nullptr, "what it is: a HELD_ constant", nullptr},
    {"type", getType, nullptr, "its type, as messages spell it", nullptr},
    {"dtype", getDtype, nullptr, "the code of its elements' dtype, or of what pointers point at", nullptr},
    {"is_pointer", getIsPointer, nullptr, nullptr, nullptr},
    {"shape", getShape, nullptr, nullptr, nullptr},
    {"data", getData, nullptr, "the elements of a tile in row-major order; None of others", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

} // namespace

bool readArguments(PyObject *const *values, Py_ssize_t count, PyObject *keywords, bool isSubscript,
                   Arena &arena, std::vector<tg_argument> &out) {
  for (Py_ssize_t i = 0; i != count; ++i) {
    tg_argument argument{};
    if (!(isSubscript && PySlice_Check(values[i])) && !arena.convert(values[i], argument.value))
      return false;
    out.push_back(argument);
  }
  PyObject *key, *value;
  for (Py_ssize_t place = 0; keywords && PyDict_Next(keywords, &place, &key, &value);) {
    tg_argument argument{};
    if (!(argument.name = PyUnicode_AsUTF8(key)) || !arena.convert(value, argument.value))
      return false;
    out.push_back(argument);
  }
  return true;
}

tg_held *heldHandle(PyObject *object) { return reinterpret_cast<HeldObject *>(object)->held; }

PyTypeObject HeldType = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "_tegula.Held";
  type.tp_doc = "A value of a program that runs one operation at a time.";
  type.tp_basicsize = sizeof(HeldObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_dealloc = [](PyObject *object) {
    tg_held_release(heldHandle(object));
    PyObject_Free(object);
  };
  type.tp_getset = heldAttributes;
  return type;
}();

PyTypeObject ProgramType = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "_tegula.Program";
  type.tp_doc = "The programs of a launch, run one operation at a time.";
  type.tp_basicsize = sizeof(ProgramObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_new = PyType_GenericNew;
  type.tp_init = init;
  type.tp_dealloc = deallocProgram;
  type.tp_methods = programMethods;
  type.tp_members = programMembers;
  return type;
}();

} // namespace tegula::python
