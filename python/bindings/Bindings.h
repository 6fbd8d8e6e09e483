// The extension _tegula: raw types of the C interface of Python over tegula.h. It holds no
// logic: it turns Python values into tg_values, calls the library with the GIL released, and
// turns what comes back into objects. What is written here in C++ is what a launch passes through.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tegula/tegula.h"

#include <list>
#include <memory>
#include <string>
#include <vector>

namespace tegula::python {

// Holds the GIL: callbacks run inside of compiles, which run without it.
class Gil {
public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }

private:
  PyGILState_STATE state_;
};

// ---- owners of references -----------------------------------------------------------------
class Ref {
public:
  Ref() = default;
  explicit Ref(PyObject *stolen) : object_(stolen) {}
  Ref(Ref &&other) noexcept : object_(other.release()) {}
  Ref &operator=(Ref &&other) noexcept {
    Py_XSETREF(object_, other.release());
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject *get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject *release() {
    PyObject *object = object_;
    object_ = nullptr;
    return object;
  }

private:
  PyObject *object_ = nullptr;
};

// What the Python side registers, and interned names.
struct State {
  PyObject *encode = nullptr;     // argument -> (kind, payload, flags), None of what stands for a tensor
  PyObject *makeError = nullptr;  // (status, text, [diagnostic]) -> exception
  PyObject *makeKernel = nullptr; // (Kernel, Function) -> CompiledKernel
  PyObject *dtypeCode = nullptr;  // a dtype of NumPy or PyTorch -> tg_dtype; raises
  // While there are hooks launches that must be told of go through (function, grid, arguments, keywords), and
  // bound ones through (function, grid, arguments, keywords, kernel, bound); without kernel and bound a call
  // is being bound.
  PyObject *hooked = nullptr, *hookedBound = nullptr;
  // Around a launch of what is compiled: (function, grid, arguments, keywords, kernel) -> told, and (told).
  PyObject *enter = nullptr, *leave = nullptr;
  bool hooksAll = false; // what is compiled goes through `hooked`, too
  PyObject *options =
      nullptr; // that switches of the process give: rows (name, value, is forced, targets without)
  // The class of tensor descriptors, once a program has made one, and the module that takes them apart.
  PyObject *descriptorClass = nullptr, *descriptors = nullptr;
  PyObject *dtypeCodes = nullptr; // dict: dtype object -> int
  PyObject *sArrayStruct, *sDataPtr, *sDtype, *sIsCpu, *sIsCuda, *sGetDevice, *sDevice, *sFields;
  PyObject *currentStream =
      nullptr;                   // device index -> handle of PyTorch's current stream; None: there is none
  tg_context *context = nullptr; // made at first use
};
extern State state;

// The exception that is set is what a compile runs into: the error of the launch gets it as its cause.
// Returns its text.
const std::string &keepRaised();

// Null with an exception set.
tg_context *context();

// Turns arguments into values; keeps what the values point at, and knows where they are.
class Arena {
public:
  bool hasHostMemory = false;
  bool hasEmptyHost = false;             // a tensor of the host without memory, which goes anywhere
  int device = -1;                       // of the arguments that are on one
  std::vector<PyObject *> withoutMemory; // tensors whose address is 0, borrowed from the caller

  // False with an exception set.
  bool convert(PyObject *object, tg_value &out);
  bool convert(PyObject *object, const char *name, tg_value &out);
  // No argument is in memory of which it is known where it is: numbers alone, addresses as numbers among
  // them, or objects that do not name their device.
  bool isUnplaced() const { return device < 0 && !hasHostMemory && !hasEmptyHost; }
  // Refuses a launch with tensors that have elements and no memory. False with an exception set.
  bool checkMemory() const { return withoutMemory.empty() || refuseWithoutMemory(); }
  // What `encode` returned.
  bool decode(PyObject *encoded, tg_value &out);

private:
  bool array(PyObject *object, tg_value &out);
  bool tensor(PyObject *object, tg_value &out);
  bool locate(PyObject *object, const struct Members &members, bool &isHost);
  bool isOnDevice(long index);
  bool locateByDevice(PyObject *object, bool &isHost);
  void takeAddress(PyObject *object, void *address, bool isHost, tg_value &out);
  bool integer(PyObject *object, tg_value &out);
  bool typed(PyObject *payload, tg_value &out);
  bool sequence(PyObject *object, tg_value &out);
  bool encode(PyObject *object, tg_value &out);
  bool refuseWithoutMemory() const;
  std::vector<Ref> kept_;
  std::list<std::vector<tg_value>> tuples_; // allocates nothing while there are none
  int depth_ = 0;
};

// A function of the language: the base class of JITFunction.
struct Function {
  PyObject_HEAD
  tg_module *module;
  tg_function *function;
  PyObject *environment; // answers free names
  PyObject *kernels;     // dict: address of a tg_kernel -> CompiledKernel
  PyObject *names;       // tuple of parameter names, for grids that are callables
  Py_ssize_t restPlace;  // of `*args` among them; -1: there is none
  PyObject *defaults;    // dict: name -> default
  PyObject *pending;     // an exception that a callback raised
  PyObject *target;      // str
  int targetsDevice;     // whether `target` is one whose pointers are a GPU's
  class Watch *watch;    // where the constants came from that compiled kernels depend on
  class Recent *recent;  // the last calls, bound
  class Forms *forms;    // of calls with descriptors
  PyObject *preRunHooks; // a list, of Python's; may be null
  tg_kernel *lastKernel; // the kernel of the last call, and its object
  PyObject *lastObject;
};
extern PyTypeObject FunctionType;
bool isFunction(PyObject *object);
// A call into the library that may ask this thread for names. Holds the function that is being
// compiled (what its helpers look up is its dependency too) and what the last answer points at.
class Asking {
public:
  explicit Asking(Function *function);
  ~Asking();
  static Asking *current(); // of this thread; may be null
  Function *function;
  // Of all answers: a kernel that a name meant once lives until the compile has ended.
  std::vector<Ref> answers;
  std::unique_ptr<Arena> arena;
  std::string raised; // the text of the last exception

private:
  Asking *outer_;
};
// The handle; parses the source at first use. Null with an exception set.
tg_function *functionHandle(Function *self);

// Where a call with these arguments runs: the target's name and the place. False with an exception set.
bool choosePlace(const Arena &arena, Function *function, const char *&target, tg_place &place);
// The place of a launch of what was compiled for `target`; `stream` is a handle, or None: that on which
// PyTorch works now. False with an exception set.
bool choosePlaceOf(const Arena &arena, const char *target, PyObject *stream, tg_place &place);
// The names of targets whose pointers are a GPU's.
bool namesDevice(PyObject *target);

// A launch: of `function` on the grid, which is null where it is only compiled.
struct Call {
  Function *function;
  PyObject *grid;
  PyObject *const *args; // by position, then by name
  Py_ssize_t positional;
  PyObject *keywords;            // may be null
  const Call *written = nullptr; // whose arguments a grid that is a function gets; null: this one's
  Py_ssize_t count() const { return positional + (keywords ? PyTuple_GET_SIZE(keywords) : 0); }
};
// Past hooks and switches. With `onlyKnown` null without an exception where the call is like none of the last
// ones.
PyObject *launchPlain(const Call &call, bool onlyKnown = false);
// The kernel of a call that is like one of the last ones. Null: it is not, or an exception is set.
PyObject *knownKernel(const Call &call);
// The grid as a tuple. Null with an exception set.
PyObject *gridOf(const Call &call);
// (arguments by position, those by name) of a call. False with an exception set.
bool packArguments(const Call &call, Ref &values, Ref &named);

// A call as the user wrote it.
PyObject *launchWritten(const Call &call);
bool hasPreRunHooks(Function *function);
// Calls the hooks before runs of the function. False with an exception set.
bool callPreRunHooks(const Call &call);
// A call with the options that switches of the process give, where it does not say them.
class WithOptions {
public:
  // False with an exception set.
  bool take(const Call &written);
  Call call{};

private:
  std::vector<PyObject *> values_;
  Ref names_, options_;
};
extern PyMethodDef hookMethods[]; // functions of the module

extern PyTypeObject LauncherType;
PyObject *makeLauncher(Function *function, PyObject *grid, bool isPlain = false);

// The stream of the place's device on which PyTorch works now. False with an exception set.
bool setStream(tg_place &place);

extern PyTypeObject BoundType;
// Takes the bound call, whose kernel is `kernel` to Python. The arguments are kept, the last of them under
// the names of `keywords`, which may be null.
PyObject *makeBound(Function *function, tg_bound *bound, PyObject *kernel, PyObject *grid, int device,
                    PyObject *const *args, Py_ssize_t count, PyObject *keywords);
// Three extents of a grid's entries. Null with an exception set.
PyObject *gridOf(PyObject *, PyObject *grid);

// The Python object of a kernel that belongs to `function`, which may be made here; takes the kernel.
PyObject *kernelObject(Function *function, tg_kernel *kernel, bool *isNew = nullptr);

// Compiling and launching step by step, as triton.compile has it: functions of the module.
extern PyMethodDef stepMethods[];
// Finding the fastest of several configurations: functions of the module.
extern PyMethodDef tuneMethods[];

extern PyTypeObject KernelType;
tg_kernel *kernelHandle(PyObject *raw);
PyObject *makeKernel(tg_kernel *kernel); // takes the kernel
bool isKeptKernel(PyObject *raw);

// Arguments by position, then by name (`keywords` may be null); with `isSubscript` a slice is absent. False
// with an exception set.
bool readArguments(PyObject *const *values, Py_ssize_t count, PyObject *keywords, bool isSubscript,
                   Arena &arena, std::vector<tg_argument> &out);

// Programs that Python runs one operation at a time.
extern PyTypeObject ProgramType, HeldType;
tg_held *heldHandle(PyObject *held);

// Rows of a list, as errors.Diagnostic has them.
PyObject *rowsOf(const tg_diagnostics *problems);
// Raises a LaunchError; as PyErr_Format.
PyObject *launchError(const char *format, ...);
// Raises what `problems` says (and destroys it); `function` may hold the cause.
PyObject *raise(tg_status status, tg_diagnostics *problems, Function *function = nullptr);

} // namespace tegula::python
