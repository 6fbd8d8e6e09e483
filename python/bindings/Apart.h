// Calls with tensor descriptors among their arguments. They are launched as calls of another function, which
// takes the tensors and numbers that the descriptors are made of (runtime/descriptors.py). Which function
// that is, and under which names it takes them, depends on the form of the call: where the descriptors are,
// their ranks, blocks and paddings. Each function of the language keeps its last forms.
#pragma once
#include "Bindings.h"

#include <array>

namespace tegula::python {

// Is there a descriptor among the arguments, or within a tuple of them?
bool hasDescriptors(const Call &call);
// The bound call of one with descriptors.
PyObject *bindApart(const Call &call);
// A call that may have descriptors, as launchPlain.
PyObject *launchApart(const Call &written, bool onlyKnown = false);

class Forms {
public:
  struct Descriptor {
    Py_ssize_t index; // among the arguments
    std::vector<int64_t> block;
    Ref padding;
  };
  struct Row {
    Ref keywords; // null: no row, or a call without
    Py_ssize_t count = 0;
    std::vector<Descriptor> descriptors;
    Ref made, names, defaults; // the function, the names of what it takes, and the last values of those
  };

  // Null: there is none. May run code of Python's; false of `isFine`: an exception is set.
  const Row *find(const Call &call, bool &isFine);
  void add(Row row);
  void clear();
  int traverse(visitproc visit, void *arg);

private:
  std::array<Row, 4> rows_;
  size_t next_ = 0;
};

// The call that is launched instead of one with descriptors.
class Apart {
public:
  // False with an exception set.
  bool take(const Call &written);
  // Takes the result of a launch of `call`, null with an exception set; that of the launch that was written.
  PyObject *finish(PyObject *launched);
  Call call{};

private:
  bool takeKnown(const Forms::Row &row);
  bool takeAnew();
  bool addParts(PyObject *descriptor);
  const Call *written_ = nullptr;
  Ref made_, names_, defaults_;
  std::vector<PyObject *> values_;
  std::vector<Ref> kept_;
};

} // namespace tegula::python
