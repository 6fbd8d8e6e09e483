// The steps before a launch as the user wrote it: options that switches of the process give, the hooks before
// runs of one kernel, and hooks around all launches. A kernel that may have to be compiled, and those who are
// told of that, are for runtime/hooks.py; a launch of one that is known calls Python for the hooks alone.
#include "Apart.h"
#include "Recent.h"

namespace tegula::python {
namespace {

bool isAmong(PyObject *name, PyObject *names) {
  for (Py_ssize_t i = 0; names && i != PyTuple_GET_SIZE(names); ++i)
    if (PyTuple_GET_ITEM(names, i) == name || PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
      return true;
  return false;
}

PyObject *launchInPython(const Call &call) {
  Ref values, named;
  return packArguments(call, values, named)
             ? PyObject_CallFunctionObjArgs(state.hooked, call.function, call.grid ? call.grid : Py_None,
                                            values.get(), named.get(), nullptr)
             : nullptr;
}

// Between the hooks of launches; `taken` is what is launched for the call that was written.
PyObject *launchBetween(const Call &written, Call taken, PyObject *kernel) {
  Ref grid(gridOf(taken)), told(Py_NewRef(Py_None)), values, named;
  if (!grid)
    return nullptr;
  if (state.enter) {
    Ref enter(Py_NewRef(state.enter)); // a hook may take itself away
    if (!packArguments(written, values, named) ||
        !(told = Ref(PyObject_CallFunctionObjArgs(enter.get(), written.function, grid.get(), values.get(),
                                                  named.get(), kernel, nullptr))))
      return nullptr;
  }
  taken.grid = grid.get();
  Ref launched(launchPlain(taken)); // the hook may have changed what the arguments are
  if (launched && state.leave) {
    Ref leave(Py_NewRef(state.leave));
    if (!Ref(PyObject_CallOneArg(leave.get(), told.get())))
      return nullptr;
  }
  return launched.release();
}

// Null without an exception where the call is like none of the last ones.
PyObject *launchKnown(const Call &call) {
  if (!state.enter && !state.leave)
    return launchApart(call, true);
  bool isApart = hasDescriptors(call);
  Apart apart;
  if (isApart && !apart.take(call))
    return nullptr;
  const Call &taken = isApart ? apart.call : call;
  Ref kernel(knownKernel(taken));
  if (!kernel)
    return isApart ? apart.finish(nullptr) : nullptr;
  PyObject *launched = launchBetween(call, taken, kernel.get());
  return isApart ? apart.finish(launched) : launched;
}

PyObject *setHooked(PyObject *, PyObject *args) {
  PyObject *functions[4];
  int hooksAll;
  if (!PyArg_ParseTuple(args, "OOOOp", &functions[0], &functions[1], &functions[2], &functions[3], &hooksAll))
    return nullptr;
  PyObject **places[] = {&state.hooked, &state.hookedBound, &state.enter, &state.leave};
  for (size_t i = 0; i != std::size(places); ++i)
    Py_XSETREF(*places[i], functions[i] == Py_None ? nullptr : Py_NewRef(functions[i]));
  state.hooksAll = hooksAll;
  Py_RETURN_NONE;
}

PyObject *setOptions(PyObject *, PyObject *rows) {
  if (!PyTuple_Check(rows))
    return PyErr_SetString(PyExc_TypeError, "options are a tuple of rows"), nullptr;
  Py_XSETREF(state.options, PyTuple_GET_SIZE(rows) ? Py_NewRef(rows) : nullptr);
  Py_RETURN_NONE;
}

PyObject *setDescriptors(PyObject *, PyObject *args) {
  PyObject *type, *module;
  if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &module))
    return nullptr;
  Py_XSETREF(state.descriptorClass, Py_NewRef(type));
  Py_XSETREF(state.descriptors, Py_NewRef(module));
  Py_RETURN_NONE;
}

} // namespace

bool WithOptions::take(const Call &written) {
  call = written;
  if (!state.options)
    return true;
  Ref rows(Py_NewRef(state.options));
  values_.assign(written.args, written.args + written.count());
  std::vector<PyObject *> added;
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(rows.get()); ++i) {
    PyObject *name, *value, *targets;
    int isForced;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows.get(), i), "UOpO!", &name, &value, &isForced, &PyTuple_Type,
                          &targets))
      return false;
    if (isAmong(name, written.function->names) || isAmong(written.function->target, targets))
      continue;
    Py_ssize_t place = written.positional;
    while (place != written.count() &&
           PyUnicode_Compare(PyTuple_GET_ITEM(written.keywords, place - written.positional), name) != 0)
      ++place;
    if (place == written.count())
      added.push_back(name), values_.push_back(value);
    else if (isForced)
      values_[size_t(place)] = value;
  }
  options_ = std::move(rows);
  Py_ssize_t named = written.count() - written.positional;
  names_ = Ref(PyTuple_New(named + Py_ssize_t(added.size())));
  for (Py_ssize_t i = 0; names_ && i != PyTuple_GET_SIZE(names_.get()); ++i)
    PyTuple_SET_ITEM(names_.get(), i,
                     Py_NewRef(i < named ? PyTuple_GET_ITEM(written.keywords, i) : added[size_t(i - named)]));
  call.args = values_.data();
  call.keywords = names_.get();
  return bool(names_);
}

bool hasPreRunHooks(Function *function) {
  PyObject *hooks = function->preRunHooks;
  return hooks && (PyList_CheckExact(hooks) ? PyList_GET_SIZE(hooks) != 0 : hooks != Py_None);
}

bool callPreRunHooks(const Call &call) {
  if (!hasPreRunHooks(call.function))
    return true;
  Ref hooks(PySequence_Tuple(call.function->preRunHooks));
  for (Py_ssize_t i = 0; hooks && i != PyTuple_GET_SIZE(hooks.get()); ++i)
    if (!Ref(PyObject_Vectorcall(PyTuple_GET_ITEM(hooks.get(), i), call.args, size_t(call.positional),
                                 call.keywords)))
      return false;
  return bool(hooks);
}

PyObject *launchWritten(const Call &written) {
  WithOptions with;
  if (!with.take(written) || !callPreRunHooks(with.call))
    return nullptr;
  const Call &call = with.call;
  if (!state.hooked)
    return launchApart(call);
  if (call.grid && !state.hooksAll)
    if (PyObject *launched = launchKnown(call); launched || PyErr_Occurred())
      return launched;
  return launchInPython(call);
}

PyMethodDef hookMethods[] = {
    {"set_hooked", setHooked, METH_VARARGS,
     "(launch, bound, enter, leave, all): what launches go through from now on; None: nothing"},
    {"set_options", setOptions, METH_O,
     "((name, value, is forced, targets without), ...): options of all launches"},
    {"set_descriptors", setDescriptors, METH_VARARGS, "(class, module): there are descriptors from now on"},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tegula::python
