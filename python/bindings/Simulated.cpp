#include "Simulated.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace tegula::python {
namespace {

// [(address, bytes, is writable)], or None where an argument does not say how large its memory is.
PyObject *memoryOf(PyObject *const *args, Py_ssize_t count) {
  Ref module(PyImport_ImportModule("tegula.runtime.simulate"));
  Ref list(PyTuple_New(count));
  if (!module || !list)
    return nullptr;
  for (Py_ssize_t i = 0; i != count; ++i)
    PyTuple_SET_ITEM(list.get(), i, Py_NewRef(args[i]));
  return PyObject_CallMethod(module.get(), "memory_of", "(O)", list.get());
}

} // namespace

bool Simulated::prepare(const char *target, PyObject *const *args, Py_ssize_t count, tg_place &place) {
  if (!target || std::strcmp(target, "ptxvm") != 0)
    return true;
  Ref memory(memoryOf(args, count));
  tg_diagnostics *problems = nullptr;
  if (!memory)
    return false;
  tg_simulation_options options{};
  options.struct_size = sizeof options;
  options.schedule = std::getenv("TEGULA_SIM_SCHEDULE");
  options.copies = std::getenv("TEGULA_SIM_COPIES");
  const char *seed = std::getenv("TEGULA_SIM_SEED");
  options.seed = seed ? std::strtoull(seed, nullptr, 10) : 0;
  // Every launch becomes a bundle in this folder.
  static int launches = 0;
  std::string folder;
  if (const char *record = std::getenv("TEGULA_SIM_RECORD")) {
    folder = std::string(record) + "/" + std::to_string(getpid()) + "-" + std::to_string(launches++);
    options.bundle = folder.c_str();
    options.records_all = 1;
  }
  if (tg_status status = tg_simulation_create(&options, &simulation_, &problems))
    return raise(status, problems) != nullptr;
  Ref rows(memory.get() == Py_None ? PyTuple_New(0) : PySequence_Tuple(memory.get()));
  for (Py_ssize_t i = 0; rows && i != PyTuple_GET_SIZE(rows.get()); ++i) {
    unsigned long long address = 0, bytes = 0;
    int isWritable = 1;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows.get(), i), "KKp", &address, &bytes, &isWritable))
      return false;
    std::string name = "argument memory " + std::to_string(i);
    tg_simulation_add_memory(simulation_, reinterpret_cast<void *>(address), bytes, name.c_str(), isWritable);
  }
  place.stream = tg_simulation_stream(simulation_);
  return rows.get() != nullptr;
}

bool Simulated::finish() {
  const char *printed = simulation_ ? tg_simulation_text(simulation_, "printed") : "";
  if (!*printed)
    return true;
  PyObject *out = PySys_GetObject("stdout");
  return !out || out == Py_None || PyFile_WriteString(printed, out) == 0;
}

} // namespace tegula::python
