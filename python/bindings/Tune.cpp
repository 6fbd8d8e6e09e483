// Tuning: Python compiles and measures, the library decides what and when.
#include "Bindings.h"

#include <deque>
#include <mutex>

namespace tegula::python {
namespace {

// The callables of one tuning, and the first exception that one of them raised.
struct Host {
  PyObject *compile, *measure;
  std::mutex mutex;
  std::deque<std::string> texts; // what answers point at
  std::vector<Ref> errors;       // of each configuration

  // Answers with a text, which lives as long as the tuning.
  void say(tg_value *out, PyObject *text) {
    Py_ssize_t size = 0;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    if (!data) {
      PyErr_Clear();
      data = "", size = 0;
    }
    std::lock_guard guard(mutex);
    const std::string &kept = texts.emplace_back(data, size_t(size));
    out->kind = TG_STRING;
    out->as.text = {kept.data(), kept.size()};
  }
  // -1, with the exception kept under the number of its configuration.
  int fail(size_t configuration, tg_value *out) {
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    if (value && trace)
      PyException_SetTraceback(value, trace);
    Py_XDECREF(kind);
    Py_XDECREF(trace);
    Ref number(PyUnicode_FromFormat("%zu", configuration));
    if (number)
      say(out, number.get());
    errors[configuration] = Ref(value);
    return -1;
  }
};

// (runs, text): what a callable returned. 1, 0 or -1.
int read(Host &host, size_t configuration, Ref result, tg_value *out, PyObject *&payload) {
  int runs = 0;
  PyObject *text = nullptr;
  if (!result || !PyArg_ParseTuple(result.get(), "pO", &runs, &text))
    return host.fail(configuration, out);
  if (!runs || PyUnicode_Check(text))
    host.say(out, text);
  Py_INCREF(text);
  payload = text;
  return runs;
}

int compile(void *user, size_t configuration, tg_value *out) {
  Gil gil;
  auto &host = *static_cast<Host *>(user);
  PyObject *payload = nullptr;
  int answer = read(host, configuration,
                    Ref(PyObject_CallFunction(host.compile, "n", Py_ssize_t(configuration))), out, payload);
  Py_XDECREF(payload);
  return answer;
}

int measure(void *user, size_t configuration, size_t runs, double *milliseconds, tg_value *out) {
  Gil gil;
  auto &host = *static_cast<Host *>(user);
  PyObject *payload = nullptr;
  int answer =
      read(host, configuration,
           Ref(PyObject_CallFunction(host.measure, "nn", Py_ssize_t(configuration), Py_ssize_t(runs))), out,
           payload);
  Ref times(payload);
  if (answer != 1)
    return answer;
  Ref list(PySequence_Fast(times.get(), "measured times are a list"));
  if (list && size_t(PySequence_Fast_GET_SIZE(list.get())) != runs)
    PyErr_Format(PyExc_ValueError, "%zu times were to be measured, and %zd were", runs,
                 PySequence_Fast_GET_SIZE(list.get()));
  for (size_t i = 0; !PyErr_Occurred() && i != runs; ++i)
    milliseconds[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(list.get(), Py_ssize_t(i)));
  return PyErr_Occurred() ? host.fail(configuration, out) : 1;
}

PyObject *rowsOf(const tg_tuning *tuning) {
  Ref rows(PyList_New(0)), remarks(PyList_New(0));
  for (size_t i = 0; rows && i != tg_tuning_count(tuning); ++i) {
    tg_tuning_row row{};
    row.struct_size = sizeof row;
    if (tg_tuning_get(tuning, i, &row) != TG_OK)
      continue;
    Ref item(Py_BuildValue("sdddKLi", row.refusal, row.milliseconds, row.low, row.high,
                           static_cast<unsigned long long>(row.runs), static_cast<long long>(row.same_as),
                           int(row.is_kept)));
    if (!item || PyList_Append(rows.get(), item.get()) < 0)
      return nullptr;
  }
  for (size_t i = 0; remarks; ++i) {
    const char *remark = tg_tuning_remark(tuning, i);
    if (!remark)
      break;
    Ref text(PyUnicode_FromString(remark));
    if (!text || PyList_Append(remarks.get(), text.get()) < 0)
      return nullptr;
  }
  return rows && remarks ? Py_BuildValue("nOO", Py_ssize_t(tg_tuning_best(tuning)), rows.get(), remarks.get())
                         : nullptr;
}

// (names, late, compile, measure, measures quantiles?, beside compiles?, threads, milliseconds, shows?,
// subject or None, call, sizes) -> (best, rows, remarks)
PyObject *tune(PyObject *, PyObject *args) {
  PyObject *names, *late, *sizes;
  Host host{};
  int quantiles, beside, shows;
  unsigned threads;
  double milliseconds;
  const char *subject, *call;
  if (!PyArg_ParseTuple(args, "O!O!OOppIdpzsO!", &PyTuple_Type, &names, &PyTuple_Type, &late, &host.compile,
                        &host.measure, &quantiles, &beside, &threads, &milliseconds, &shows, &subject, &call,
                        &PyTuple_Type, &sizes))
    return nullptr;
  std::vector<tg_configuration> configurations;
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(names); ++i) {
    const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    if (!name)
      return nullptr;
    configurations.push_back({name, nullptr, 0, nullptr, PyTuple_GET_ITEM(late, i) == Py_True});
  }
  host.errors.resize(configurations.size());
  std::vector<int64_t> numbers;
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(sizes); ++i)
    numbers.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
  if (PyErr_Occurred())
    return nullptr;
  tg_tune_host functions{};
  functions.struct_size = sizeof functions;
  functions.user = &host;
  functions.compile = compile;
  functions.measure = measure;
  functions.measures_quantiles = quantiles;
  functions.measures_beside_compiles = beside;
  functions.subject = subject;
  functions.call = call;
  functions.sizes = numbers.data(), functions.size_count = numbers.size();
  tg_tune_options options{};
  options.struct_size = sizeof options;
  options.configurations = configurations.data(), options.configuration_count = configurations.size();
  options.threads = threads;
  options.milliseconds = milliseconds;
  options.shows_progress = shows;
  options.host = &functions;
  tg_tuning *tuning = nullptr;
  tg_diagnostics *problems = nullptr;
  tg_status status;
  Py_BEGIN_ALLOW_THREADS status = tg_tune(nullptr, &options, &tuning, &problems);
  Py_END_ALLOW_THREADS if (status != TG_OK) {
    for (Ref &error : host.errors)
      if (error) {
        tg_diagnostics_destroy(problems);
        PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.get())), error.get());
        return nullptr;
      }
    return raise(status, problems);
  }
  PyObject *result = rowsOf(tuning);
  tg_tuning_destroy(tuning);
  return result;
}

// raw kernel -> a text that is the same for kernels whose launches do the same
PyObject *digestOf(PyObject *, PyObject *raw) {
  if (!PyObject_TypeCheck(raw, &KernelType)) {
    PyErr_SetString(PyExc_TypeError, "a compiled kernel is wanted");
    return nullptr;
  }
  char digest[65];
  if (tg_status status = tg_kernel_digest(kernelHandle(raw), digest))
    return raise(status, nullptr);
  return PyUnicode_FromString(digest);
}

} // namespace

PyMethodDef tuneMethods[] = {
    {"tune", tune, METH_VARARGS, "the fastest of several configurations"},
    {"digest_of", digestOf, METH_O, "what a launch of a compiled kernel runs, as a digest"},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tegula::python
