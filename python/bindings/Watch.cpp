#include "Watch.h"

#include <bit>

namespace tegula::python {

bool isSameConstant(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b))
    return false;
  if (PyFloat_CheckExact(a))
    return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(a)) == std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(b));
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) {
    int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0)
      PyErr_Clear();
    return same == 1;
  }
  if (!PyTuple_CheckExact(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
    return false;
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(a); ++i)
    if (!isSameConstant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
      return false;
  return true;
}

// Null without an exception: there is nothing, or reading it raises.
Ref Watch::now(const Row &row) {
  PyObject *container = row.container.get(), *key = row.key.get(), *found = nullptr;
  switch (row.kind) {
  case Item: found = Py_XNewRef(PyDict_GetItemWithError(container, key)); break;
  case Cell: found = PyCell_Get(container); break;
  case Attribute: found = PyObject_GetAttr(container, key); break;
  case Elements: found = PyList_AsTuple(container); break;
  case Call: {
    Ref keywords(PyDict_New());
    if (keywords && PyDict_MergeFromSeq2(keywords.get(), PyTuple_GET_ITEM(key, 1), 1) == 0)
      found = PyObject_Call(container, PyTuple_GET_ITEM(key, 0), keywords.get());
    break;
  }
  }
  if (!found)
    PyErr_Clear();
  return Ref(found);
}

void Watch::add(Kind kind, PyObject *container, PyObject *key, PyObject *value) {
  for (Row &row : rows_)
    if (row.kind == kind && row.container.get() == container && isSameConstant(row.key.get(), key)) {
      if (isSameConstant(row.value.get(), value))
        return;
      // Changed between two compiles: what the first one took may be stale.
      row.value = Ref(Py_XNewRef(value));
      ++version;
      return;
    }
  rows_.push_back({kind, Ref(Py_NewRef(container)), Ref(Py_XNewRef(key)), Ref(Py_XNewRef(value))});
  ++added_;
}

bool Watch::look() {
  bool isChanged = rows_.size() > most_;
  // An attribute may run code that launches kernels and so adds rows here.
  for (size_t i = 0; !isChanged && i < rows_.size(); ++i) {
    const Row &row = rows_[i];
    if (row.kind == Item) { // most of them, without a reference
      PyObject *found = PyDict_GetItemWithError(row.container.get(), row.key.get());
      isChanged = found != row.value.get() && !isSameConstant(found, row.value.get());
      continue;
    }
    Row copy{row.kind, Ref(Py_NewRef(row.container.get())), Ref(Py_XNewRef(row.key.get())),
             Ref(Py_XNewRef(row.value.get()))};
    Ref found = now(copy);
    isChanged = !isSameConstant(found.get(), copy.value.get());
  }
  if (PyErr_Occurred())
    return false;
  if (!isChanged)
    return true;
  if (added_ > most_ / 2)
    most_ = 2 * added_;
  std::vector<Row> gone = std::move(rows_); // their destructors may run code
  rows_.clear();
  ++version;
  return true;
}

int Watch::traverse(visitproc visit, void *arg) {
  for (Row &row : rows_) {
    Py_VISIT(row.container.get());
    Py_VISIT(row.key.get());
    Py_VISIT(row.value.get());
  }
  return 0;
}

void Watch::clear() { std::vector<Row> gone = std::move(rows_); }

} // namespace tegula::python
