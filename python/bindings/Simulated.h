// A launch on the machine that runs a GPU's code here: it gets a simulation that knows where the
// memory of the arguments ends.
#pragma once
#include "Bindings.h"

namespace tegula::python {

class Simulated {
public:
  Simulated() = default;
  Simulated(const Simulated &) = delete;
  ~Simulated() { tg_simulation_destroy(simulation_); }
  // False with an exception set. Does nothing for other targets.
  bool prepare(const char *target, PyObject *const *args, Py_ssize_t count, tg_place &place);
  // Writes what the kernel printed; false with an exception set.
  bool finish();

private:
  tg_simulation *simulation_ = nullptr;
};

} // namespace tegula::python
