// The places in Python from which a function's compiles took answers: an entry of a dict, a cell of a
// closure, an attribute, the elements of a list, the result of a call. Each row keeps the object that
// was there. A launch compares them by identity; where one differs, `version` becomes another number,
// the library asks again what it needs, and rows come anew. So the rows are those that the kernels in
// use since the last change asked for, each place once; they do not grow with the number of compiles.
#pragma once
#include "Bindings.h"

#include <atomic>

namespace tegula::python {

class Watch {
public:
  enum Kind { Item, Cell, Attribute, Elements, Call };
  std::atomic<uint64_t> version{0}; // read without the GIL

  // The place is an entry `key` of the dict `container`, an attribute `key` of it, ...; `value` is what was
  // found there, null: nothing. Of a call: the callee, (arguments, pairs of keywords), the result.
  void add(Kind kind, PyObject *container, PyObject *key, PyObject *value);
  // Before a launch. False with an exception set.
  bool look();
  // A compile, or a check of a kernel, begins: counts the rows that it adds.
  void begin() { added_ = 0; }

  int traverse(visitproc visit, void *arg);
  void clear();
  size_t size() const { return rows_.size(); }

private:
  struct Row {
    Kind kind;
    Ref container, key, value;
  };
  static Ref now(const Row &row);
  std::vector<Row> rows_;
  size_t added_ = 0, most_ = 256; // above, rows of kernels that are not used any more are dropped
};

// The same constant: the same object, or equal immutable ones of one type.
bool isSameConstant(PyObject *a, PyObject *b);

} // namespace tegula::python
