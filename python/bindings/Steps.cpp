// Compiling for arguments that are described, and launching what was compiled: triton.compile and the
// `run` of its result.
#include "Recent.h"
#include "Simulated.h"
#include "Watch.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tegula::python {
namespace {

// Rows of (name, encoded value) -> arguments by name. False with an exception set.
bool readRows(PyObject *rows, Arena &arena, std::vector<tg_argument> &arguments) {
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(rows); ++i) {
    tg_argument argument{};
    PyObject *encoded;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "sO", &argument.name, &encoded) ||
        !arena.decode(encoded, argument.value))
      return false;
    arguments.push_back(argument);
  }
  return true;
}

// (function, target, device, ((name, encoded), ...)) -> CompiledKernel
PyObject *prepare(PyObject *, PyObject *args) {
  PyObject *object, *rows;
  const char *target;
  int device;
  if (!PyArg_ParseTuple(args, "O!siO!", &FunctionType, &object, &target, &device, &PyTuple_Type, &rows))
    return nullptr;
  auto *function = reinterpret_cast<Function *>(object);
  tg_function *handle = functionHandle(function);
  Arena arena;
  std::vector<tg_argument> arguments;
  if (!handle || !function->watch->look() || !readRows(rows, arena, arguments))
    return nullptr;
  tg_place place{sizeof(tg_place), device, nullptr};
  tg_kernel *kernel = nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Asking asking(function);
  Py_BEGIN_ALLOW_THREADS status =
      tg_prepare(handle, target, &place, arguments.data(), arguments.size(), &kernel, &problems);
  Py_END_ALLOW_THREADS return status ? raise(status, problems, function) : kernelObject(function, kernel);
}

// A float of 16 bits, rounded once to nearest even.
uint64_t halfOf(double number, tg_dtype dtype) {
  if (dtype == TG_BF16) {
    auto bits = std::bit_cast<uint32_t>(float(number));
    if (number != number)
      return (bits | 0x400000u) >> 16;
    // The last bit is odd where f32 has cut something off, so that rounding twice is rounding once.
    double wide = float(number);
    if (wide != number)
      bits = (bits - (std::fabs(wide) > std::fabs(number))) | 1;
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  }
  char bytes[2] = {};
  if (PyFloat_Pack2(number, bytes, 1) < 0) { // too large for it
    PyErr_Clear();
    return number < 0 ? 0xfc00 : 0x7c00;
  }
  return uint64_t(uint8_t(bytes[0])) | uint64_t(uint8_t(bytes[1])) << 8;
}

bool isReal(tg_dtype dtype) {
  return dtype == TG_F16 || dtype == TG_BF16 || dtype == TG_F32 || dtype == TG_F64;
}

uint64_t realSlot(double number, tg_dtype dtype) {
  if (dtype == TG_F64)
    return std::bit_cast<uint64_t>(number);
  return dtype == TG_F32 ? std::bit_cast<uint32_t>(float(number)) : halfOf(number, dtype);
}

// Does an integer fit the type of its parameter?
bool fits(const tg_value &value, tg_dtype dtype) {
  if (dtype == TG_I1)
    return value.as.bits <= 1;
  int bits = int(tg_dtype_size(dtype)) * 8;
  bool isUnsigned = dtype >= TG_U8 && dtype <= TG_U64;
  if (value.kind == TG_UINT)
    return bits == 64 && isUnsigned;
  int64_t number = value.as.integer;
  if (isUnsigned)
    return number >= 0 && (bits == 64 || number >> bits == 0);
  return bits == 64 || (number >= -(int64_t(1) << (bits - 1)) && number < int64_t(1) << (bits - 1));
}

// The 8 bytes of a slot; false: the value is none of the argument.
bool slotOf(const tg_kernel_argument &argument, const tg_value &value, uint64_t &slot) {
  bool wantsReal = !argument.is_pointer && isReal(argument.dtype);
  switch (value.kind) {
  case TG_NONE: slot = 0; return argument.is_pointer;
  case TG_POINTER: slot = reinterpret_cast<uintptr_t>(value.as.address); return argument.is_pointer;
  case TG_BOOL:
  case TG_INT:
  case TG_UINT:
    slot = value.as.bits;
    if (wantsReal)
      slot =
          realSlot(value.kind == TG_UINT ? double(value.as.bits) : double(value.as.integer), argument.dtype);
    return argument.is_pointer || wantsReal || fits(value, argument.dtype);
  case TG_FLOAT: slot = realSlot(value.as.real, argument.dtype); return wantsReal;
  default: return false;
  }
}

bool readSlots(tg_kernel *kernel, PyObject *values, Arena &arena, std::vector<uint64_t> &slots) {
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(values); ++i) {
    tg_kernel_argument argument{};
    argument.struct_size = sizeof argument;
    tg_value value{};
    slots.push_back(0);
    if (tg_kernel_get_argument(kernel, size_t(i), &argument) != TG_OK)
      return launchError("the kernel has %zu run-time arguments, and %zd were given",
                         tg_kernel_argument_count(kernel), PyTuple_GET_SIZE(values)),
             false;
    if (!arena.convert(PyTuple_GET_ITEM(values, i), value))
      return false;
    if (value.kind == TG_POINTER && argument.is_written && value.flags & TG_READ_ONLY)
      return launchError(
                 "the compiled kernel writes to its argument `%s`, which is read-only\n  hint: pass a "
                 "writable array",
                 argument.name),
             false;
    if (!slotOf(argument, value, slots.back()))
      return launchError("argument `%s` of the compiled kernel is %s%s, and %R was given", argument.name,
                         argument.is_pointer ? "a pointer to " : "", tg_dtype_name(argument.dtype),
                         PyTuple_GET_ITEM(values, i)),
             false;
  }
  return true;
}

// (raw kernel, (x, y, z), stream or None, (value, ...)): the run-time arguments in their order
PyObject *launch(PyObject *, PyObject *args) {
  PyObject *raw, *values, *stream;
  long long grid[3];
  if (!PyArg_ParseTuple(args, "O!(LLL)OO!", &KernelType, &raw, &grid[0], &grid[1], &grid[2], &stream,
                        &PyTuple_Type, &values))
    return nullptr;
  tg_kernel *kernel = kernelHandle(raw);
  Arena arena;
  std::vector<uint64_t> slots;
  tg_place place{sizeof(tg_place), -1, nullptr};
  Simulated simulated;
  if (!readSlots(kernel, values, arena, slots) || !arena.checkMemory() ||
      !choosePlaceOf(arena, tg_kernel_target(kernel), stream, place) ||
      !simulated.prepare(tg_kernel_target(kernel), &PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values),
                         place))
    return nullptr;
  int64_t extents[3] = {grid[0], grid[1], grid[2]};
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status =
      tg_launch(kernel, &place, slots.data(), slots.size(), extents, 3, &problems);
  Py_END_ALLOW_THREADS if (!simulated.finish()) return nullptr;
  if (status != TG_OK)
    return raise(status, problems);
  Py_RETURN_NONE;
}

// (function, arguments, keywords, elements or -1 of each, grid or None) -> rows of findings
PyObject *check(PyObject *, PyObject *args) {
  PyObject *object, *values, *keywords, *counts, *grid;
  if (!PyArg_ParseTuple(args, "O!O!O!O!O", &FunctionType, &object, &PyTuple_Type, &values, &PyDict_Type,
                        &keywords, &PyTuple_Type, &counts, &grid))
    return nullptr;
  auto *function = reinterpret_cast<Function *>(object);
  tg_function *handle = functionHandle(function);
  Arena arena;
  std::vector<tg_argument> arguments;
  if (!handle || !function->watch->look() ||
      !readArguments(&PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values), keywords, false, arena,
                     arguments))
    return nullptr;
  std::vector<int64_t> elements;
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(counts); ++i)
    elements.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(counts, i)));
  elements.resize(arguments.size(), -1);
  long long extents[3] = {1, 1, 1};
  if (PyErr_Occurred() ||
      (grid != Py_None && !PyArg_ParseTuple(grid, "LLL", &extents[0], &extents[1], &extents[2])))
    return nullptr;
  int64_t known[3] = {extents[0], extents[1], extents[2]};
  tg_check_options options{sizeof options,           nullptr,         arguments.data(),
                           arguments.size(),         elements.data(), grid == Py_None ? nullptr : known,
                           grid == Py_None ? 0u : 3u};
  tg_diagnostics *findings = nullptr;
  tg_status status;
  Asking asking(function);
  Py_BEGIN_ALLOW_THREADS status = tg_check_kernel(handle, &options, &findings);
  Py_END_ALLOW_THREADS if (status) return raise(status, findings, function);
  Ref rows(rowsOf(findings));
  tg_diagnostics_destroy(findings);
  return rows.release();
}

// function -> the CompiledKernels that its launches have made and that are kept
PyObject *kernelsOf(PyObject *, PyObject *object) {
  if (!isFunction(object)) {
    PyErr_SetString(PyExc_TypeError, "a function of the language is wanted");
    return nullptr;
  }
  Ref rows(PyDict_Values(reinterpret_cast<Function *>(object)->kernels)), list(PyList_New(0));
  for (Py_ssize_t i = 0; rows && list && i != PyList_GET_SIZE(rows.get()); ++i)
    if (PyList_Append(list.get(), PyTuple_GET_ITEM(PyList_GET_ITEM(rows.get(), i), 1)) < 0)
      return nullptr;
  return rows ? list.release() : nullptr;
}

// (function, kernel or None for all): they are no kernels of the function any more; the library may know them
// still.
PyObject *forget(PyObject *, PyObject *args) {
  PyObject *object, *kernel;
  if (!PyArg_ParseTuple(args, "O!O", &FunctionType, &object, &kernel))
    return nullptr;
  auto *function = reinterpret_cast<Function *>(object);
  Ref items(PyDict_Items(function->kernels));
  for (Py_ssize_t i = 0; items && i != PyList_GET_SIZE(items.get()); ++i) {
    PyObject *item = PyList_GET_ITEM(items.get(), i), *made = PyTuple_GET_ITEM(PyTuple_GET_ITEM(item, 1), 1);
    if (kernel != Py_None && kernel != made)
      continue;
    if (made == function->lastObject)
      function->lastKernel = nullptr, function->lastObject = nullptr;
    function->recent->drop(made);
    if (PyDict_DelItem(function->kernels, PyTuple_GET_ITEM(item, 0)) < 0)
      return nullptr;
  }
  if (!items)
    return nullptr;
  Py_RETURN_NONE;
}

} // namespace

PyMethodDef stepMethods[] = {
    {"prepare", prepare, METH_VARARGS, "(function, target, device, rows) -> CompiledKernel"},
    {"launch", launch, METH_VARARGS, "(kernel, grid, stream, values)"},
    {"check", check, METH_VARARGS, "(function, arguments, keywords, elements, grid) -> rows of findings"},
    {"kernels_of", kernelsOf, METH_O, "the compiled kernels of a function"},
    {"forget", forget, METH_VARARGS, "(function, kernel or None): drops its compiled kernels"},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tegula::python
