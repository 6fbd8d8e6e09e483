// kernel[grid]: an object whose call goes straight to tg_call (PEP 590 vectorcall). Hooks.cpp has what comes
// before that for those who are told of launches.
#include "Apart.h"
#include "Recent.h"
#include "Simulated.h"
#include "Watch.h"

#include <cstring>
#include <new>

namespace tegula::python {
namespace {

struct Launcher {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Function *function;
  PyObject *grid; // a tuple, a callable, or nothing: only compile
  bool isPlain;   // hooks have been called
};

// Dead launchers: kernel[grid](...) makes one a call.
Launcher *spare[8];
int spareCount = 0;

// The entries of a grid; -1 with an exception set. Upstream reads three, and programs rely on it.
int readGrid(PyObject *grid, int64_t *extents) {
  if (!PyTuple_Check(grid) && !PyList_Check(grid)) {
    const char *text =
        PyIndex_Check(grid)
            ? "the grid is the int %R; it is a tuple of 1 to 3 ints\n  hint: write kernel[(n,)](...)"
            : "the grid is %R; it is a tuple of 1 to 3 ints, or a function that returns one\n"
              "  hint: write kernel[(n,)](...)";
    launchError(text, grid);
    return -1;
  }
  Py_ssize_t size = PySequence_Fast_GET_SIZE(grid);
  size = std::min<Py_ssize_t>(size, 3);
  for (Py_ssize_t i = 0; i != size; ++i) {
    PyObject *entry = PySequence_Fast_GET_ITEM(grid, i);
    if (!PyIndex_Check(entry)) {
      launchError("an entry of the grid is %R; entries are ints\n  hint: use triton.cdiv(n, BLOCK), or //",
                  entry);
      return -1;
    }
    Py_ssize_t value = PyNumber_AsSsize_t(entry, nullptr); // clipped: too large stays too large
    if (value == -1 && PyErr_Occurred())
      return -1;
    extents[i] = value;
  }
  return int(size);
}

// What a grid that is a function gets: all arguments by name, with defaults.
PyObject *metaOf(const Call &call) {
  auto [function, grid, args, count, keywords, written] = call;
  Ref meta(PyDict_Copy(function->defaults));
  if (!meta)
    return nullptr;
  Py_ssize_t rest = function->restPlace;
  Py_ssize_t known = rest < 0 ? PyTuple_GET_SIZE(function->names) : rest;
  for (Py_ssize_t i = 0; i != std::min(count, known); ++i)
    if (PyDict_SetItem(meta.get(), PyTuple_GET_ITEM(function->names, i), args[i]) < 0)
      return nullptr;
  if (rest >= 0) {
    Ref values(PyTuple_New(std::max<Py_ssize_t>(count - rest, 0)));
    for (Py_ssize_t i = rest; values && i < count; ++i)
      PyTuple_SET_ITEM(values.get(), i - rest, Py_NewRef(args[i]));
    if (!values || PyDict_SetItem(meta.get(), PyTuple_GET_ITEM(function->names, rest), values.get()) < 0)
      return nullptr;
  }
  for (Py_ssize_t i = 0; keywords && i != PyTuple_GET_SIZE(keywords); ++i)
    if (PyDict_SetItem(meta.get(), PyTuple_GET_ITEM(keywords, i), args[count + i]) < 0)
      return nullptr;
  return meta.release();
}

// Forgets the objects of kernels that were evicted: address -> (raw, object).
bool dropEvicted(Function *function) {
  Ref keys(PyDict_Keys(function->kernels));
  for (Py_ssize_t i = 0; keys && i != PyList_GET_SIZE(keys.get()); ++i) {
    PyObject *key = PyList_GET_ITEM(keys.get(), i), *row = PyDict_GetItemWithError(function->kernels, key);
    if (!row || isKeptKernel(PyTuple_GET_ITEM(row, 0)))
      continue;
    if (PyTuple_GET_ITEM(row, 1) == function->lastObject)
      function->lastKernel = nullptr, function->lastObject = nullptr;
    function->recent->drop(PyTuple_GET_ITEM(row, 1));
    if (PyDict_DelItem(function->kernels, key) < 0)
      return false;
  }
  return bool(keys);
}

} // namespace

PyObject *kernelObject(Function *function, tg_kernel *kernel, bool *isNew) {
  if (kernel == function->lastKernel) {
    tg_kernel_destroy(kernel);
    return Py_NewRef(function->lastObject);
  }
  Ref key(PyLong_FromVoidPtr(kernel));
  PyObject *known = key ? PyDict_GetItemWithError(function->kernels, key.get()) : nullptr;
  Ref row(Py_XNewRef(known));
  if (known || PyErr_Occurred())
    tg_kernel_destroy(kernel); // the row holds it
  if (!row && !PyErr_Occurred()) {
    Ref raw(makeKernel(kernel));
    Ref made(raw ? PyObject_CallFunctionObjArgs(state.makeKernel, raw.get(), function, nullptr) : nullptr);
    row = Ref(made ? PyTuple_Pack(2, raw.get(), made.get()) : nullptr);
    if (!row || !dropEvicted(function) || PyDict_SetItem(function->kernels, key.get(), row.get()) < 0)
      return nullptr;
    if (isNew)
      *isNew = true;
  }
  if (!row)
    return nullptr;
  PyObject *object = PyTuple_GET_ITEM(row.get(), 1); // the dict keeps it
  function->lastKernel = kernel;
  function->lastObject = object;
  return Py_NewRef(object);
}

bool packArguments(const Call &call, Ref &values, Ref &named) {
  values = Ref(PyTuple_New(call.positional));
  named = Ref(PyDict_New());
  for (Py_ssize_t i = 0; values && i != call.positional; ++i)
    PyTuple_SET_ITEM(values.get(), i, Py_NewRef(call.args[i]));
  for (Py_ssize_t i = call.positional; named && i < call.count(); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(call.keywords, i - call.positional), call.args[i]) < 0)
      return false;
  return values && named;
}

namespace {

// The call that a kernel was made for, to the kernel. False with an exception set.
bool tellCall(PyObject *kernel, const Call &call) {
  Ref values, named;
  if (!packArguments(call, values, named))
    return false;
  return bool(Ref(PyObject_CallMethod(kernel, "_tell_call", "OO", values.get(), named.get())));
}

// All of a call that the library asks for.
struct Gathered {
  static constexpr Py_ssize_t inlineCount = 32;
  tg_function *handle = nullptr;
  Py_ssize_t count = 0;
  tg_argument *arguments = few;
  Arena arena;
  int64_t extents[4];
  int rank = 0;
  Ref targetName; // may be set anew while the GIL is away
  const char *target = nullptr;
  tg_place place{sizeof(tg_place), -1, nullptr};

  tg_argument few[inlineCount];
  std::vector<tg_argument> many;
};

// The function's handle, and room for the arguments. False with an exception set.
bool begin(const Call &call, Gathered &out) {
  out.handle = functionHandle(call.function);
  if (!out.handle || !call.function->watch->look())
    return false;
  out.count = call.count();
  if (out.count > Gathered::inlineCount) {
    out.many.resize(size_t(out.count));
    out.arguments = out.many.data();
  }
  return true;
}

// The exception that is set says more.
void addNote(const Ref &text) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref done(text && value ? PyObject_CallMethod(value, "add_note", "O", text.get()) : nullptr);
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

// A grid asked for a parameter that has no value: the exception says which have one.
void explainGrid(PyObject *meta) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Ref names(PyDict_Keys(meta));
  Ref text(names ? PyUnicode_FromFormat("the function that gives the grid was called with %R", names.get())
                 : nullptr);
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  addNote(text);
}

// An argument is none that a kernel takes: the exception says which. PyTorch raises RuntimeError where a
// tensor has no memory of its own.
void explainArgument(Py_ssize_t index, Py_ssize_t positional, PyObject *keywords) {
  bool hasNoMemory = PyErr_ExceptionMatches(PyExc_RuntimeError);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const char *hint =
      hasNoMemory ? "\n  hint: a kernel takes tensors that lie in memory; of a sparse one x.to_dense(), "
                    "or its indices and values"
                  : "";
  Ref text(index < positional
               ? PyUnicode_FromFormat("argument %zd of the launch, counted from 0%s", index, hint)
               : PyUnicode_FromFormat("argument %R of the launch%s",
                                      PyTuple_GET_ITEM(keywords, index - positional), hint));
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  addNote(text);
}

// The arguments. False with an exception set.
bool convert(const Call &call, bool wantsNames, Gathered &out) {
  for (Py_ssize_t i = 0; i != out.count; ++i) {
    tg_argument &argument = out.arguments[i];
    argument = {};
    // What a dict is depends on its name.
    bool isNamed = i >= call.positional && (wantsNames || PyDict_Check(call.args[i]));
    if (isNamed && !(argument.name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.keywords, i - call.positional))))
      return false;
    if (!out.arena.convert(call.args[i], argument.name, argument.value)) {
      explainArgument(i, call.positional, call.keywords);
      return false;
    }
  }
  return true;
}

bool isGivenByFunction(PyObject *grid) { return !PyTuple_CheckExact(grid) && PyCallable_Check(grid); }

// What the function that gives the grid returns. Null with an exception set.
PyObject *askGrid(const Call &call) {
  Ref meta(metaOf(call.written ? *call.written : call));
  PyObject *grid = meta ? PyObject_CallOneArg(call.grid, meta.get()) : nullptr;
  if (meta && !grid && PyErr_ExceptionMatches(PyExc_KeyError))
    explainGrid(meta.get());
  return grid;
}

// False with an exception set.
bool addGrid(const Call &call, Gathered &out) {
  if (!call.grid)
    return true;
  if (!isGivenByFunction(call.grid))
    return (out.rank = readGrid(call.grid, out.extents)) >= 0;
  Ref grid(askGrid(call));
  return grid && (out.rank = readGrid(grid.get(), out.extents)) >= 0;
}

bool addNames(const Call &call, Gathered &out) {
  for (Py_ssize_t i = call.positional; i < out.count; ++i)
    if (!(out.arguments[i].name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.keywords, i - call.positional))))
      return false;
  return true;
}

bool choosePlace(Function *function, Gathered &call) {
  call.targetName = Ref(Py_NewRef(function->target));
  call.target = PyUnicode_AsUTF8(call.targetName.get());
  return choosePlace(call.arena, function, call.target, call.place);
}

PyObject *runKnown(Function *function, const Recent::Row &row, const uint64_t *slots, size_t slotCount,
                   Gathered &call) {
  Ref object(Py_NewRef(row.object.get()));
  std::shared_ptr<tg_bound> bound = row.bound; // the row may go while the GIL is away
  call.place.device = row.device;
  if (row.device >= 0 && !setStream(call.place))
    return nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status =
      tg_bound_run(bound.get(), &call.place, slots, slotCount, call.extents, size_t(call.rank), &problems);
  Py_END_ALLOW_THREADS if (status != TG_OK) return raise(status, problems, function);
  return object.release();
}

// A row for calls like this one, which has run. Tuples and what has no place take the longer way each time.
void remember(Function *function, const CallShape &shape, Gathered &call, PyObject *object) {
  bool isKnownHost = call.arena.hasHostMemory && std::strcmp(call.target, "cpu") == 0;
  if ((call.arena.device < 0 && !isKnownHost) || !function->recent->wantsMore())
    return;
  tg_bound *bound = nullptr;
  Asking asking(function);
  Py_BEGIN_ALLOW_THREADS tg_bind(call.handle, call.target, &call.place, call.arguments, size_t(call.count),
                                 call.extents, size_t(call.rank), &bound, nullptr);
  Py_END_ALLOW_THREADS if (bound) function->recent->add(shape, call.arena, bound, object);
}

PyObject *launch(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *keywords) {
  auto *self = reinterpret_cast<Launcher *>(object);
  Call call{self->function, self->grid, args, PyVectorcall_NARGS(nargsf), keywords};
  return self->isPlain ? launchPlain(call) : launchWritten(call);
}

// Whether hooks of compiles want the kernel is asked here; those of launches are called by each launch.
bool isWanted(const Call &call) {
  Ref values, named;
  if (!packArguments(call, values, named))
    return false;
  Ref answer(PyObject_CallFunctionObjArgs(state.hookedBound, call.function, call.grid, values.get(),
                                          named.get(), Py_None, Py_None, nullptr));
  if (answer && answer.get() == Py_None)
    launchError("a hook refuses to compile this call of %R, so that it cannot be bound", call.function);
  return answer && answer.get() != Py_None;
}

PyObject *bindPlain(const Call &written) {
  Function *function = written.function;
  Gathered call;
  if (!begin(written, call) || !convert(written, true, call) || !addGrid(written, call) ||
      !call.arena.checkMemory() || !choosePlace(function, call))
    return nullptr;
  if (std::strcmp(call.target, "ptxvm") == 0)
    return launchError("a call on %R is not bound: it is checked anew each time\n  hint: call the kernel",
                       function->target);
  tg_bound *bound = nullptr;
  tg_kernel *kernel = nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Asking asking(function);
  Py_BEGIN_ALLOW_THREADS status =
      tg_bind(call.handle, call.target, &call.place, call.arguments, size_t(call.count), call.extents,
              size_t(call.rank), &bound, &problems);
  if (status == TG_OK) // the same kernel, as Python has it
    status = tg_prepare(call.handle, call.target, &call.place, call.arguments, size_t(call.count), &kernel,
                        &problems);
  Py_END_ALLOW_THREADS std::unique_ptr<tg_bound, void (*)(tg_bound *)> owner(bound, tg_bound_destroy);
  if (status != TG_OK)
    return raise(status, problems, function);
  Ref made(kernelObject(function, kernel));
  Ref grid(made ? Py_BuildValue("(LLL)", (long long)call.extents[0],
                                (long long)(call.rank > 1 ? call.extents[1] : 1),
                                (long long)(call.rank > 2 ? call.extents[2] : 1))
                : nullptr);
  return grid ? makeBound(function, owner.release(), made.get(), grid.get(), call.place.device, written.args,
                          call.count, written.keywords)
              : nullptr;
}

PyObject *bind(PyObject *object, PyObject *const *args, Py_ssize_t positional, PyObject *keywords) {
  auto *self = reinterpret_cast<Launcher *>(object);
  Call call{self->function, self->grid, args, positional, keywords};
  if (!self->grid)
    return launchError("a call is bound with its grid, which is %R\n  hint: kernel[grid].bind(...)", Py_None);
  if (self->isPlain)
    return bindPlain(call);
  WithOptions with;
  if (!with.take(call))
    return nullptr;
  if (hasDescriptors(with.call))
    return bindApart(with.call);
  return !state.hookedBound || isWanted(with.call) ? bindPlain(with.call) : nullptr;
}

PyMethodDef launcherMethods[] = {
    {"bind", reinterpret_cast<PyCFunction>(bind), METH_FASTCALL | METH_KEYWORDS,
     "Binds a call for many launches: bound() runs it, bound[name] = value replaces an argument."},
    {nullptr, nullptr, 0, nullptr},
};

void dealloc(PyObject *object) {
  auto *self = reinterpret_cast<Launcher *>(object);
  Py_DECREF(self->function);
  Py_XDECREF(self->grid);
  if (spareCount != std::size(spare))
    spare[spareCount++] = self;
  else
    PyObject_Free(object);
}

} // namespace

PyObject *launchPlain(const Call &written, bool onlyKnown) {
  Function *function = written.function;
  Gathered call;
  if (!begin(written, call))
    return nullptr;
  bool runs = written.grid != nullptr;
  call.targetName = Ref(Py_NewRef(function->target));
  CallShape shape{written.keywords, call.count, call.targetName.get(), function->watch->version};
  bool mayBeKnown = runs && function->recent->has(shape);
  if ((onlyKnown && !mayBeKnown) || !convert(written, !mayBeKnown, call) ||
      (runs && !call.arena.checkMemory()))
    return nullptr;
  uint64_t slots[Gathered::inlineCount];
  size_t slotCount = 0;
  auto find = [&] {
    return function->recent->find(shape, call.arena, call.arguments, slots, std::size(slots), slotCount);
  };
  // A grid that is a function is asked once: not by a call that somebody else goes on with.
  if ((onlyKnown && !find()) || !addGrid(written, call))
    return nullptr;
  if (mayBeKnown) {
    if (const Recent::Row *row = find())
      return runKnown(function, *row, slots, slotCount, call);
    if (onlyKnown || !addNames(written, call))
      return nullptr;
  }
  if (!runs && function->targetsDevice)
    call.arena.hasHostMemory = false; // nobody reads it
  Simulated simulated;
  if (!choosePlace(function, call) ||
      (runs && !simulated.prepare(call.target, written.args, call.count, call.place)))
    return nullptr;
  tg_kernel *kernel = nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Asking asking(function);
  Py_BEGIN_ALLOW_THREADS status =
      runs ? tg_call(call.handle, call.target, &call.place, call.arguments, size_t(call.count), call.extents,
                     size_t(call.rank), &kernel, &problems)
           : tg_prepare(call.handle, call.target, &call.place, call.arguments, size_t(call.count), &kernel,
                        &problems);
  Py_END_ALLOW_THREADS if (!simulated.finish()) return nullptr;
  if (status != TG_OK)
    return raise(status, problems, function);
  bool isNew = false;
  Ref made(kernelObject(function, kernel, &isNew));
  if (made && isNew && !tellCall(made.get(), written))
    return nullptr;
  if (made && runs)
    remember(function, shape, call, made.get());
  return made.release();
}

PyObject *knownKernel(const Call &written) {
  Function *function = written.function;
  Gathered call;
  if (!begin(written, call))
    return nullptr;
  Ref target(Py_NewRef(function->target));
  CallShape shape{written.keywords, call.count, target.get(), function->watch->version};
  if (!function->recent->has(shape) || !convert(written, false, call) || !call.arena.checkMemory())
    return nullptr;
  uint64_t slots[Gathered::inlineCount];
  size_t slotCount = 0;
  const Recent::Row *row =
      function->recent->find(shape, call.arena, call.arguments, slots, std::size(slots), slotCount);
  return row ? Py_NewRef(row->object.get()) : nullptr;
}

PyObject *gridOf(const Call &call) {
  Ref grid(isGivenByFunction(call.grid) ? askGrid(call) : Py_NewRef(call.grid));
  int64_t extents[3];
  return grid && readGrid(grid.get(), extents) >= 0 ? PySequence_Tuple(grid.get()) : nullptr;
}

PyObject *gridOf(PyObject *, PyObject *grid) {
  int64_t extents[3] = {1, 1, 1};
  int rank = readGrid(grid, extents);
  return rank < 0
             ? nullptr
             : Py_BuildValue("(LLL)", (long long)extents[0], (long long)extents[1], (long long)extents[2]);
}

PyObject *makeLauncher(Function *function, PyObject *grid, bool isPlain) {
  Launcher *self;
  if (spareCount) {
    self = spare[--spareCount];
    PyObject_Init(reinterpret_cast<PyObject *>(self), &LauncherType);
  } else if (!(self = PyObject_New(Launcher, &LauncherType))) {
    return nullptr;
  }
  self->vectorcall = launch;
  self->function = reinterpret_cast<Function *>(Py_NewRef(function));
  self->grid = grid == Py_None ? nullptr : Py_NewRef(grid);
  self->isPlain = isPlain;
  return reinterpret_cast<PyObject *>(self);
}

PyTypeObject LauncherType = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "_tegula.Launcher";
  type.tp_doc = "A kernel with its grid: call it with the kernel's arguments.";
  type.tp_basicsize = sizeof(Launcher);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_vectorcall_offset = offsetof(Launcher, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_methods = launcherMethods;
  type.tp_dealloc = dealloc;
  return type;
}();

} // namespace tegula::python
