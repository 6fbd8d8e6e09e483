#include "Apart.h"
#include "Recent.h"

#include <utility>

namespace tegula::python {
namespace {

constexpr int deepest = 100; // as Values.cpp: tuples nested deeper are no argument

bool isDescriptor(PyObject *object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject *>(state.descriptorClass));
}

bool isSequence(PyObject *object) { return PyTuple_Check(object) || PyList_Check(object); }

bool holds(PyObject *object, int depth = 0) {
  if (isDescriptor(object))
    return true;
  if (!isSequence(object) || depth > deepest)
    return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (holds(PySequence_Fast_GET_ITEM(object, i), depth + 1))
      return true;
  return false;
}

PyObject *nameOf(const char *text) { return PyUnicode_InternFromString(text); }
struct Names {
  PyObject *base = nameOf("base"), *shape = nameOf("shape"), *strides = nameOf("strides"),
           *block = nameOf("block_shape"), *padding = nameOf("padding"), *call = nameOf("_call");
};
const Names &names() {
  static const Names all;
  return all;
}

// The extents of a block. False with an exception set.
bool readBlock(PyObject *descriptor, std::vector<int64_t> &out) {
  Ref block(PyObject_GetAttr(descriptor, names().block));
  Ref extents(block ? PySequence_Fast(block.get(), "a block has extents") : nullptr);
  for (Py_ssize_t i = 0; extents && i != PySequence_Fast_GET_SIZE(extents.get()); ++i)
    out.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(extents.get(), i)));
  return extents && !PyErr_Occurred();
}

// False: another form, or an exception is set.
bool isOf(const Forms::Descriptor &known, PyObject *descriptor) {
  std::vector<int64_t> block;
  if (!readBlock(descriptor, block) || block != known.block)
    return false;
  Ref padding(PyObject_GetAttr(descriptor, names().padding));
  return padding && (padding.get() == known.padding.get() ||
                     PyObject_RichCompareBool(padding.get(), known.padding.get(), Py_EQ) == 1);
}

// False: another form, or an exception is set.
bool isOf(const Forms::Row &row, const Call &call) {
  if (!row.made || row.count != call.count() || !sameNames(row.keywords.get(), call.keywords))
    return false;
  size_t seen = 0;
  for (Py_ssize_t i = 0; i != row.count; ++i) {
    bool isExpected = seen != row.descriptors.size() && row.descriptors[seen].index == i;
    if (isExpected != isDescriptor(call.args[i]) || (!isExpected && holds(call.args[i])))
      return false;
    if (isExpected && !isOf(row.descriptors[seen++], call.args[i]))
      return false;
  }
  return true;
}

} // namespace

bool hasDescriptors(const Call &call) {
  if (!state.descriptorClass)
    return false;
  for (Py_ssize_t i = 0; i != call.count(); ++i)
    if (holds(call.args[i]))
      return true;
  return false;
}

const Forms::Row *Forms::find(const Call &call, bool &isFine) {
  for (const Row &row : rows_)
    if (isOf(row, call))
      return &row;
    else if (PyErr_Occurred()) {
      isFine = false;
      break;
    }
  return nullptr;
}

void Forms::add(Row row) { std::swap(rows_[next_++ % rows_.size()], row); }

void Forms::clear() { std::array<Row, 4> gone = std::exchange(rows_, {}); }

int Forms::traverse(visitproc visit, void *arg) {
  for (Row &row : rows_) {
    Py_VISIT(row.made.get());
    Py_VISIT(row.defaults.get());
  }
  return 0;
}

// The tensor, its extents and its strides but for the last, which is 1.
bool Apart::addParts(PyObject *descriptor) {
  auto add = [this](Ref &part) {
    values_.push_back(part.get());
    kept_.push_back(std::move(part));
  };
  Ref base(PyObject_GetAttr(descriptor, names().base));
  if (!base)
    return false;
  add(base);
  for (PyObject *name : {names().shape, names().strides}) {
    Ref numbers(PyObject_GetAttr(descriptor, name));
    Ref sequence(numbers ? PySequence_Fast(numbers.get(), "a descriptor has extents and strides") : nullptr);
    if (!sequence)
      return false;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get()) - (name == names().strides);
    for (Py_ssize_t i = 0; i < count; ++i) {
      Ref number(Py_NewRef(PySequence_Fast_GET_ITEM(sequence.get(), i)));
      add(number);
    }
  }
  return true;
}

bool Apart::takeKnown(const Forms::Row &row) {
  made_ = Ref(Py_NewRef(row.made.get())), names_ = Ref(Py_NewRef(row.names.get()));
  defaults_ = Ref(Py_NewRef(row.defaults.get()));
  values_.reserve(size_t(PyTuple_GET_SIZE(names_.get())));
  kept_.reserve(values_.capacity());
  for (Py_ssize_t i = 0; i != written_->count(); ++i) {
    if (!isDescriptor(written_->args[i]))
      values_.push_back(written_->args[i]);
    else if (!addParts(written_->args[i]))
      return false;
  }
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(defaults_.get()); ++i)
    values_.push_back(PyTuple_GET_ITEM(defaults_.get(), i));
  return true;
}

// Asks Python, which makes the function where there is none yet.
bool Apart::takeAnew() {
  Ref values, named;
  if (!packArguments(*written_, values, named))
    return false;
  Ref taken(
      PyObject_CallMethod(state.descriptors, "taken", "OOO", written_->function, values.get(), named.get()));
  PyObject *made, *arguments, *known, *defaults;
  if (!taken || !PyArg_ParseTuple(taken.get(), "O!O!OO", &FunctionType, &made, &PyDict_Type, &arguments,
                                  &known, &defaults))
    return false;
  made_ = Ref(Py_NewRef(made));
  names_ = Ref(PySequence_Tuple(arguments));
  kept_.emplace_back(PyDict_Values(arguments));
  if (!names_ || !kept_.back())
    return false;
  for (Py_ssize_t i = 0; i != PyList_GET_SIZE(kept_.back().get()); ++i)
    values_.push_back(PyList_GET_ITEM(kept_.back().get(), i));
  if (known == Py_None)
    return true;
  Forms::Row row{Ref(Py_XNewRef(written_->keywords)),
                 written_->count(),
                 {},
                 Ref(Py_NewRef(made)),
                 Ref(Py_NewRef(known)),
                 Ref(Py_NewRef(defaults))};
  for (Py_ssize_t i = 0; i != row.count; ++i)
    if (PyObject *object = written_->args[i]; isDescriptor(object)) {
      row.descriptors.push_back({i, {}, Ref(PyObject_GetAttr(object, names().padding))});
      if (!readBlock(object, row.descriptors.back().block) || !row.descriptors.back().padding)
        return false;
    }
  written_->function->forms->add(std::move(row));
  return true;
}

bool Apart::take(const Call &written) {
  written_ = &written;
  bool isFine = true;
  const Forms::Row *row = written.function->forms->find(written, isFine);
  if (!isFine || !(row ? takeKnown(*row) : takeAnew()))
    return false;
  if (Py_ssize_t(values_.size()) != PyTuple_GET_SIZE(names_.get())) {
    launchError("a descriptor of %R has not as many extents as its block", written.function);
    return false;
  }
  auto *made = reinterpret_cast<Function *>(made_.get());
  if (made->target != written.function->target) {
    Py_XSETREF(made->target, Py_NewRef(written.function->target));
    made->targetsDevice = written.function->targetsDevice;
  }
  call = {made, written.grid, values_.data(), 0, names_.get(), &written};
  return true;
}

PyObject *Apart::finish(PyObject *launched) {
  if (launched) { // the kernel is told which call it was made for, once
    Ref result(launched), told(PyObject_GetAttr(launched, names().call)), values, named;
    if (told.get() == Py_None && (!packArguments(*written_, values, named) ||
                                  !Ref(PyObject_CallMethod(state.descriptors, "tell", "OOOO", launched,
                                                           written_->function, values.get(), named.get()))))
      return nullptr;
    return told ? result.release() : nullptr;
  }
  if (!PyErr_Occurred())
    return nullptr;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref done(
      PyObject_CallMethod(state.descriptors, "tell_failed", "OOO", value, written_->function, made_.get()));
  if (!done)
    PyErr_WriteUnraisable(made_.get());
  PyErr_Restore(type, value, trace);
  return nullptr;
}

PyObject *launchApart(const Call &written, bool onlyKnown) {
  if (!hasDescriptors(written))
    return launchPlain(written, onlyKnown);
  Apart apart;
  return apart.take(written) ? apart.finish(launchPlain(apart.call, onlyKnown)) : nullptr;
}

PyObject *bindApart(const Call &call) {
  Ref values, named;
  return packArguments(call, values, named)
             ? PyObject_CallMethod(state.descriptors, "bind", "OOOO", call.function, call.grid, values.get(),
                                   named.get())
             : nullptr;
}

} // namespace tegula::python
