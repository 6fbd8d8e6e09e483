// The last calls of a function, bound: a call that is like one of them goes to its kernel with its own slots,
// without names, keys or handles. What makes it another call is looked at here (the place, the constants of
// the host) and in tg_bound_fits (the arguments).
#pragma once
#include "Bindings.h"

#include <array>
#include <utility>

namespace tegula::python {

// A call as far as this table knows it. `keywords` is null where all arguments are positional.
struct CallShape {
  PyObject *keywords;
  Py_ssize_t count;
  PyObject *target; // of the function, as a str
  uint64_t version; // of its watch
};

// Names of keywords are interned where they are written in a call; others are taken for other names.
bool sameNames(PyObject *a, PyObject *b);

class Recent {
public:
  struct Row {
    Ref keywords, target, object; // the kernel as Python has it
    Py_ssize_t count = 0;
    uint64_t version = 0;
    int device = -1;
    bool hasHostMemory = false;
    std::shared_ptr<tg_bound> bound; // null: no row
  };

  // Is there a row of such a call? Others need not ask.
  bool has(const CallShape &shape) const;
  // The row whose kernel the call has, with the slots of the call; null: none. Needs the GIL, and asks for
  // nothing that runs code of Python's.
  const Row *find(const CallShape &shape, const Arena &arena, const tg_argument *arguments, uint64_t *slots,
                  size_t room, size_t &slotCount);
  // False most of the time while calls differ from each other more than there are rows.
  bool wantsMore();
  void add(const CallShape &shape, const Arena &arena, tg_bound *bound, PyObject *object);
  // The kernel is not kept any more.
  void drop(PyObject *object);
  // Parameters specialize in another way from now on, or the function ends.
  void clear();
  int traverse(visitproc visit, void *arg);

private:
  std::array<Row, 8> rows_;
  size_t latest_ = 0, next_ = 0;
  bool isWorthIt_ = false; // a row was found since the last one was added
  unsigned skipped_ = 0;
};

} // namespace tegula::python
