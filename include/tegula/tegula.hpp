// Tegula for C++20: owners for the handles of tegula.h and errors as values. Header only; the
// standard library and tegula.h are all it needs. Nothing here throws, but for the containers of the
// standard library when there is no memory.
//
//   auto context = tg::Context::create();
//   auto module = context ? context->open("softmax.py") : context.error();
//   auto softmax = module ? module->function("softmax_kernel") : module.error();
//   auto ran = softmax ? softmax->call({rows}, out.data(), in.data(), stride, columns, tg::named("BLOCK",
//   1024))
//                      : softmax.error();
//   if (!ran) std::cerr << ran.error().text();
#ifndef TEGULA_TEGULA_HPP
#define TEGULA_TEGULA_HPP

#if !defined(__cpp_concepts)
#error "tegula.hpp needs C++20 (-std=c++20); programs in C and older C++ include tegula/tegula.h"
#endif

#include "tegula/tegula.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tg {

struct Diagnostic {
  tg_severity severity = TG_ERROR;
  tg_status status = TG_OK;
  std::string kind, file, message, hint;
  uint32_t line = 0, column = 0;
};

// Why there is no value: a status and the diagnostics that led to it.
class Error {
public:
  // Takes the list; it may be null.
  Error(tg_status status, tg_diagnostics *list) : status_(status), list_(list, tg_diagnostics_destroy) {}

  tg_status status() const { return status_; }
  // Place, line, caret, reason and hint of each, as a person reads them.
  std::string text() const { return list_ ? tg_diagnostics_text(list_.get()) : tg_status_name(status_); }
  std::vector<Diagnostic> diagnostics() const {
    std::vector<Diagnostic> all;
    for (size_t i = 0; i != tg_diagnostics_count(list_.get()); ++i) {
      tg_diagnostic d{};
      d.struct_size = sizeof d;
      if (tg_diagnostics_get(list_.get(), i, &d) == TG_OK)
        all.push_back({d.severity, d.status, d.kind, d.file, d.message, d.hint, d.line, d.column});
    }
    return all;
  }

private:
  tg_status status_;
  std::shared_ptr<tg_diagnostics> list_;
};

// The text of a handle's name, which has none when the handle is NULL.
inline std::string textOf(const char *text) { return text ? text : ""; }

// A value or an Error. `*` and `->` are for an Expected that has a value; of one without, the program is told
// on stderr why there is none, and ends (std::terminate). error() of a value is TG_OK without diagnostics.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::move(value)) {}
  Expected(Error error) : state_(std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T &operator*() & { return const_cast<T &>(value()); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(const_cast<T &>(value())); }
  T *operator->() { return &const_cast<T &>(value()); }
  const T *operator->() const { return &value(); }
  const Error &error() const {
    static const Error none(TG_OK, nullptr);
    const Error *error = std::get_if<1>(&state_);
    return error ? *error : none;
  }

private:
  const T &value() const {
    if (const T *value = std::get_if<0>(&state_))
      return *value;
    std::fprintf(stderr, "tegula: a value was taken of a call that failed:\n%s\n", error().text().c_str());
    std::terminate();
  }
  std::variant<T, Error> state_;
};
struct Done {};

// ---- arguments --------------------------------------------------------------------------

template <class T> constexpr int dtypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return TG_I1;
  else if constexpr (std::is_same_v<U, float>)
    return TG_F32;
  else if constexpr (std::is_same_v<U, double>)
    return TG_F64;
  else if constexpr (std::is_integral_v<U>)
    return int(std::is_signed_v<U> ? TG_I8 : TG_U8) + (sizeof(U) == 1   ? 0
                                                       : sizeof(U) == 2 ? 1
                                                       : sizeof(U) == 4 ? 2
                                                                        : 3);
  else
    return -1;
}

inline tg_value pointer(void *address, tg_dtype dtype, bool readOnly = false) {
  tg_value value{};
  value.kind = TG_POINTER;
  value.dtype = uint8_t(dtype);
  value.flags = readOnly ? uint8_t(TG_READ_ONLY) : uint8_t(0);
  value.as.address = address;
  return value;
}
// Memory that a kernel only reads when T is const.
template <class T>
  requires(dtypeOf<T>() >= 0)
tg_value value(T *memory) {
  return pointer(const_cast<std::remove_const_t<T> *>(memory), tg_dtype(dtypeOf<T>()), std::is_const_v<T>);
}
template <class T>
  requires std::is_arithmetic_v<T>
tg_value value(T number) {
  tg_value value{};
  if constexpr (std::is_floating_point_v<T>) {
    value.kind = TG_FLOAT;
    value.as.real = double(number);
  } else if constexpr (std::is_same_v<T, bool>) {
    value.kind = TG_BOOL;
    value.as.integer = number;
  } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
    value.kind = TG_UINT;
    value.as.bits = number;
  } else {
    value.kind = TG_INT;
    value.as.integer = int64_t(number);
  }
  return value;
}
inline tg_value value(std::nullptr_t) {
  tg_value value{};
  value.kind = TG_NONE;
  return value;
}
inline tg_value value(tg_value given) { return given; }
// A string constant; the text outlives the call.
inline tg_value value(std::string_view text) {
  tg_value value{};
  value.kind = TG_STRING;
  value.as.text = {text.data(), text.size()};
  return value;
}
inline tg_value value(const char *text) { return value(std::string_view(text)); }
inline tg_value dtype(tg_dtype type) {
  tg_value value{};
  value.kind = TG_DTYPE;
  value.dtype = uint8_t(type);
  return value;
}
// A constant as Python writes it; the text outlives the call.
inline tg_value literal(std::string_view text) {
  tg_value result = value(text);
  result.kind = TG_LITERAL;
  return result;
}

// A tensor descriptor as an argument of a kernel, of memory that lies row after row: what it points into
// lives in it.
class Descriptor {
public:
  // `padding`: "zero" or "nan".
  Descriptor(tg_value base, const std::vector<int64_t> &shape, const std::vector<int64_t> &blockShape,
             std::string_view padding = "zero") {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = strides[i] * shape[i];
    tg_value self{};
    self.kind = TG_OPAQUE;
    self.as.opaque = {0, "tensor_descriptor"};
    class_ = {value("triton.language.tensor_descriptor"),
              self,
              value(false),
              value("base"),
              value("shape"),
              value("strides"),
              value("block_shape"),
              value("padding")};
    fill(shape_, shape);
    fill(strides_, strides);
    fill(block_, blockShape);
    if (!strides_.empty())
      strides_.back().flags = TG_CONSTEXPR;
    tg_value block = tuple(block_);
    block.flags = TG_CONSTEXPR;
    tg_value description = tuple(class_);
    description.kind = TG_CLASS;
    parts_ = {description, base, tuple(shape_), tuple(strides_), block, value(padding)};
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  // The same of memory elsewhere; values that were taken from this descriptor see it.
  void moveTo(void *address) { parts_[1].as.address = address; }

  operator tg_value() const {
    tg_value all = tuple(parts_);
    all.kind = TG_NAMED_TUPLE;
    return all;
  }

private:
  static void fill(std::vector<tg_value> &list, const std::vector<int64_t> &numbers) {
    for (int64_t number : numbers)
      list.push_back(value(number));
  }
  static tg_value tuple(const std::vector<tg_value> &items) {
    tg_value all{};
    all.kind = TG_TUPLE;
    all.as.tuple = {items.data(), items.size()};
    return all;
  }

  std::vector<tg_value> class_, shape_, strides_, block_, parts_;
};

inline tg_argument argument(tg_argument given) { return given; }
template <class T> tg_argument argument(const T &given) { return {value(given), nullptr}; }
// By name; the name outlives the call.
template <class T> tg_argument named(const char *name, const T &given) { return {value(given), name}; }

// ---- kernels ----------------------------------------------------------------------------

struct Remark {
  std::string location, kind, text;
};

// A device and a stream of it; the default is the current device's default stream.
struct Place {
  int device = -1;
  void *stream = nullptr;
  tg_place raw() const { return {sizeof(tg_place), device, stream}; }
};

// The resources of a device that a launch takes; -1 where the target has nothing of the kind.
struct KernelAttributes {
  std::string arch;
  int warps = -1, registers = -1, spillBytes = -1;
  int64_t sharedBytes = -1;
};

// A compiled kernel, held: it may outlive its function's module.
class Kernel {
public:
  static Kernel own(tg_kernel *kernel) {
    return Kernel(std::shared_ptr<tg_kernel>(kernel, tg_kernel_destroy));
  }

  tg_kernel *handle() const { return kernel_.get(); }
  std::string name() const { return textOf(tg_kernel_name(handle())); }
  std::string target() const { return textOf(tg_kernel_target(handle())); }

  std::vector<std::string> stages() const {
    std::vector<std::string> names;
    while (const char *name = tg_kernel_stage_name(handle(), names.size()))
      names.push_back(name);
    return names;
  }
  Expected<std::string> stage(const std::string &name) const {
    const char *data = nullptr;
    size_t size = 0;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_kernel_stage(handle(), name.c_str(), &data, &size, &problems))
      return Error(status, problems);
    return std::string(data, size);
  }
  std::vector<Remark> remarks() const {
    std::vector<Remark> all;
    for (size_t i = 0; i != tg_kernel_remark_count(handle()); ++i) {
      tg_remark remark{};
      remark.struct_size = sizeof remark;
      if (tg_kernel_remark(handle(), i, &remark) == TG_OK)
        all.push_back({remark.location, remark.kind, remark.text});
    }
    return all;
  }
  // The warnings of the compile, and what it printed.
  std::vector<Diagnostic> warnings() const {
    return Error(TG_OK, tg_kernel_warnings(handle())).diagnostics();
  }
  // Milliseconds of each step of the compile.
  std::vector<std::pair<std::string, double>> times() const {
    std::vector<std::pair<std::string, double>> all;
    double milliseconds = 0;
    while (const char *stage = tg_kernel_time(handle(), all.size(), &milliseconds))
      all.emplace_back(stage, milliseconds);
    return all;
  }
  Expected<KernelAttributes> attributes() const {
    tg_kernel_attributes raw{};
    raw.struct_size = sizeof raw;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_kernel_get_attributes(handle(), &raw, &problems))
      return Error(status, problems);
    return KernelAttributes{raw.arch, raw.warps, raw.registers, raw.spill_bytes, raw.shared_bytes};
  }
  // One 8-byte slot an argument, as tg_launch says.
  Expected<Done> launch(std::span<const int64_t> grid, std::span<const uint64_t> slots,
                        const Place &place = {}) const {
    tg_diagnostics *problems = nullptr;
    tg_place where = place.raw();
    if (tg_status status =
            tg_launch(handle(), &where, slots.data(), slots.size(), grid.data(), grid.size(), &problems))
      return Error(status, problems);
    return Done{};
  }
  // Compiles what a launch of such a grid would, as tg_kernel_prepare says. Runs nothing.
  Expected<Done> prepare(std::span<const int64_t> grid, const Place &place = {}) const {
    tg_diagnostics *problems = nullptr;
    tg_place where = place.raw();
    if (tg_status status = tg_kernel_prepare(handle(), &where, grid.data(), grid.size(), &problems))
      return Error(status, problems);
    return Done{};
  }

private:
  explicit Kernel(std::shared_ptr<tg_kernel> kernel) : kernel_(std::move(kernel)) {}
  std::shared_ptr<tg_kernel> kernel_;
};

struct Parameter {
  std::string name, annotation;
  std::optional<std::string> defaultValue;
  bool isConstexpr = false;
  uint32_t line = 0;
};

struct CompileOptions {
  std::string target, cpu; // "": the context's; TEGULA_CPU's, else this machine
  int numWarps = 0, numStages = 0;
  bool debug = false;
  // Passes by name, or "all": `print` gets the kernel ahead of and behind them.
  std::string printBefore, printAfter;
  std::function<void(const char *text)> print; // it must not throw: then the program ends
  std::string options;                         // of a launch: "num_warps=8,maxnreg=64"
};

struct Pass {
  std::string name, gives, what;
};
// The passes of a compile for the target, in order.
inline Expected<std::vector<Pass>> passes(const std::string &target) {
  std::vector<Pass> all;
  for (;;) {
    tg_pass pass{};
    pass.struct_size = sizeof pass;
    tg_diagnostics *problems = nullptr;
    tg_status status = tg_pass_get(target.c_str(), all.size(), &pass, &problems);
    if (status == TG_LAUNCH && !problems)
      return all;
    if (status)
      return Error(status, problems);
    all.push_back({pass.name, pass.gives, pass.what});
  }
}

// Writes kernels as an archive for libtegula-rt, and its header where `header` names one. Kernels of one
// name, one behind the other, are one kernel for several targets.
inline Expected<Done> writeArchive(std::span<const std::string> names, std::span<const Kernel> kernels,
                                   const std::string &path, const std::string &header,
                                   const std::string &prefix) {
  std::vector<tg_archive_entry> entries;
  for (size_t i = 0; i != kernels.size(); ++i)
    entries.push_back({i < names.size() ? names[i].c_str() : nullptr, kernels[i].handle()});
  tg_diagnostics *problems = nullptr;
  if (tg_status status =
          tg_archive_write(entries.data(), entries.size(), path.c_str(),
                           header.empty() ? nullptr : header.c_str(), prefix.c_str(), &problems))
    return Error(status, problems);
  return Done{};
}

// A call that is bound once and launched often; of one thread at a time.
class Bound {
public:
  static Bound own(tg_bound *bound) { return Bound(std::shared_ptr<tg_bound>(bound, tg_bound_destroy)); }
  tg_bound *handle() const { return bound_.get(); }
  // Replaces an argument, counted from 0, by one for which the kernel is the same.
  template <class T> Expected<Done> set(size_t index, const T &value) const {
    tg_diagnostics *problems = nullptr;
    tg_argument raw = argument(value);
    if (tg_status status = tg_bound_set(handle(), index, &raw.value, &problems))
      return Error(status, problems);
    return Done{};
  }
  Expected<Done> launch() const {
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_bound_launch(handle(), nullptr, nullptr, 0, &problems))
      return Error(status, problems);
    return Done{};
  }

private:
  explicit Bound(std::shared_ptr<tg_bound> bound) : bound_(std::move(bound)) {}
  std::shared_ptr<tg_bound> bound_;
};

// A configuration's result; `sameAs` is -1 or the row whose code and times it has.
struct TuningRow {
  std::string name, refusal;
  double milliseconds, low, high;
  uint64_t runs;
  int64_t sameAs;
  bool isKept;
};

class Tuning {
public:
  static Tuning own(tg_tuning *tuning) {
    std::unique_ptr<tg_tuning, void (*)(tg_tuning *)> owner(tuning, tg_tuning_destroy);
    Tuning result;
    result.best_ = tg_tuning_best(tuning);
    for (size_t i = 0; i != tg_tuning_count(tuning); ++i) {
      tg_tuning_row row{};
      row.struct_size = sizeof row;
      if (tg_tuning_get(tuning, i, &row) == TG_OK)
        result.rows_.push_back({row.name, row.refusal, row.milliseconds, row.low, row.high, row.runs,
                                row.same_as, row.is_kept != 0});
    }
    while (const char *remark = tg_tuning_remark(tuning, result.remarks_.size()))
      result.remarks_.push_back(remark);
    return result;
  }
  size_t best() const { return best_; }
  const std::vector<TuningRow> &rows() const { return rows_; }
  const std::vector<std::string> &remarks() const { return remarks_; }

private:
  size_t best_ = 0;
  std::vector<TuningRow> rows_;
  std::vector<std::string> remarks_;
};

// As tg_tune_options. Without configurations those that the decorator @autotune in the file lists.
struct TuneSettings {
  std::string grid;                        // "cdiv(n, BLOCK), 1"
  std::vector<std::string> configurations; // "BLOCK=64,num_warps=4"
  std::vector<tg_memory_range> memory;     // behind every pointer through which the kernel writes
  uint32_t threads = 0;
  double milliseconds = 0;
  bool forgets = false, showsProgress = false;
};

// Borrowed from its module.
class Function {
public:
  explicit Function(tg_function *function) : function_(function) {}

  tg_function *handle() const { return function_; }
  std::string name() const { return textOf(tg_function_name(function_)); }
  std::vector<Parameter> parameters() const {
    std::vector<Parameter> all;
    for (size_t i = 0; i != tg_function_parameter_count(function_); ++i) {
      tg_parameter p{};
      p.struct_size = sizeof p;
      if (tg_function_parameter(function_, i, &p) == TG_OK)
        all.push_back({p.name, p.annotation,
                       p.default_value ? std::optional<std::string>(p.default_value) : std::nullopt,
                       p.is_constexpr != 0, p.line});
    }
    return all;
  }
  Expected<Kernel> compile(const std::string &signature, const CompileOptions &options = {}) const {
    tg_compile_options raw{};
    raw.struct_size = sizeof raw;
    raw.target = options.target.empty() ? nullptr : options.target.c_str();
    raw.cpu = options.cpu.empty() ? nullptr : options.cpu.c_str();
    raw.num_warps = options.numWarps;
    raw.num_stages = options.numStages;
    raw.debug = options.debug;
    raw.print_before = options.printBefore.empty() ? nullptr : options.printBefore.c_str();
    raw.print_after = options.printAfter.empty() ? nullptr : options.printAfter.c_str();
    raw.options = options.options.empty() ? nullptr : options.options.c_str();
    if (options.print) {
      raw.print = [](void *user, const char *text) noexcept {
        (*static_cast<const std::function<void(const char *)> *>(user))(text);
      };
      raw.user = const_cast<std::function<void(const char *)> *>(&options.print);
    }
    tg_kernel *kernel = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_compile(function_, signature.c_str(), &raw, &kernel, &problems))
      return Error(status, problems);
    return Kernel::own(kernel);
  }
  // The classic mistakes that it has. TG_OK and no diagnostics: none were found.
  Error check(const tg_check_options &options) const {
    tg_diagnostics *findings = nullptr;
    tg_status status = tg_check_kernel(function_, &options, &findings);
    return Error(status, findings);
  }
  // Specializes on the arguments, compiles if that is new, and runs.
  Expected<Kernel> callWith(std::span<const int64_t> grid, std::span<const tg_argument> arguments,
                            const char *target = nullptr, const Place &place = {}) const {
    tg_kernel *kernel = nullptr;
    tg_diagnostics *problems = nullptr;
    tg_place where = place.raw();
    if (tg_status status = tg_call(function_, target, &where, arguments.data(), arguments.size(), grid.data(),
                                   grid.size(), &kernel, &problems))
      return Error(status, problems);
    return Kernel::own(kernel);
  }
  template <class... T>
  Expected<Kernel> call(std::initializer_list<int64_t> grid, const T &...arguments) const {
    std::array<tg_argument, sizeof...(T)> all{argument(arguments)...};
    return callWith({grid.begin(), grid.size()}, all);
  }
  // The same on a device and a stream; pointers are of that device.
  template <class... T>
  Expected<Kernel> callOn(const Place &place, std::initializer_list<int64_t> grid,
                          const T &...arguments) const {
    std::array<tg_argument, sizeof...(T)> all{argument(arguments)...};
    return callWith({grid.begin(), grid.size()}, all, nullptr, place);
  }
  // Finds the fastest of several configurations of such a call.
  Expected<Tuning> tune(std::span<const tg_argument> arguments, const TuneSettings &settings,
                        const char *target = nullptr, const Place &place = {}) const {
    std::vector<tg_configuration> configurations;
    for (const std::string &text : settings.configurations)
      configurations.push_back({nullptr, nullptr, 0, text.c_str(), 0});
    tg_place where = place.raw();
    tg_tune_options options{};
    options.struct_size = sizeof options;
    options.target = target;
    options.place = &where;
    options.arguments = arguments.data(), options.count = arguments.size();
    options.configurations = configurations.data(), options.configuration_count = configurations.size();
    options.grid = settings.grid.c_str();
    options.memory = settings.memory.data(), options.memory_count = settings.memory.size();
    options.threads = settings.threads;
    options.milliseconds = settings.milliseconds;
    options.forgets = settings.forgets;
    options.shows_progress = settings.showsProgress;
    tg_tuning *tuning = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_tune(function_, &options, &tuning, &problems))
      return Error(status, problems);
    return Tuning::own(tuning);
  }
  // Binds such a call for many launches.
  template <class... T>
  Expected<Bound> bindOn(const Place &place, std::initializer_list<int64_t> grid,
                         const T &...arguments) const {
    std::array<tg_argument, sizeof...(T)> all{argument(arguments)...};
    tg_bound *bound = nullptr;
    tg_diagnostics *problems = nullptr;
    tg_place where = place.raw();
    if (tg_status status = tg_bind(function_, nullptr, &where, all.data(), all.size(), grid.begin(),
                                   grid.size(), &bound, &problems))
      return Error(status, problems);
    return Bound::own(bound);
  }
  template <class... T>
  Expected<Bound> bind(std::initializer_list<int64_t> grid, const T &...arguments) const {
    return bindOn(Place{}, grid, arguments...);
  }

private:
  tg_function *function_;
};

struct Device {
  std::string name, arch;
  int multiprocessors = 0, warpSize = 0;
  int64_t maxSharedBytes = 0, memoryBytes = 0;
};

// The devices of a target ("cuda"); none for targets without.
inline Expected<std::vector<Device>> devices(const std::string &target) {
  int32_t count = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_device_count(target.c_str(), &count, &problems))
    return Error(status, problems);
  std::vector<Device> all;
  for (int32_t i = 0; i != count; ++i) {
    tg_device raw{};
    raw.struct_size = sizeof raw;
    if (tg_status status = tg_device_get(target.c_str(), i, &raw, &problems))
      return Error(status, problems);
    all.push_back(
        {raw.name, raw.arch, raw.multiprocessors, raw.warp_size, raw.max_shared_bytes, raw.memory_bytes});
  }
  return all;
}

// Memory that kernels of a target reach; released with its owner.
class Memory {
public:
  static Expected<Memory> create(const std::string &target, size_t bytes, int device = -1) {
    void *memory = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_memory_allocate(target.c_str(), device, bytes, &memory, &problems))
      return Error(status, problems);
    return Memory(target, device, memory);
  }
  void *data() const { return memory_.get(); }
  template <class T> T *as() const { return static_cast<T *>(data()); }
  Expected<Done> copyFrom(const void *host, size_t bytes) const { return copy(data(), host, bytes); }
  Expected<Done> copyTo(void *host, size_t bytes) const { return copy(host, data(), bytes); }

private:
  Memory(std::string target, int device, void *memory)
      : target_(target), device_(device), memory_(memory, [target, device](void *owned) {
          tg_memory_release(target.c_str(), device, owned, nullptr);
        }) {}
  Expected<Done> copy(void *to, const void *from, size_t bytes) const {
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_memory_copy(target_.c_str(), device_, to, from, bytes, &problems))
      return Error(status, problems);
    return Done{};
  }
  std::string target_;
  int device_;
  std::shared_ptr<void> memory_;
};

inline Expected<Done> synchronize(const std::string &target, const Place &place = {}) {
  tg_diagnostics *problems = nullptr;
  tg_place where = place.raw();
  if (tg_status status = tg_synchronize(target.c_str(), &where, &problems))
    return Error(status, problems);
  return Done{};
}

class Module {
public:
  explicit Module(tg_module *module) : module_(module, tg_module_destroy) {}

  std::vector<Function> functions() const {
    std::vector<Function> all;
    for (size_t i = 0; i != tg_module_function_count(module_.get()); ++i)
      all.emplace_back(tg_module_function(module_.get(), i));
    return all;
  }
  Expected<Function> function(const std::string &name) const {
    tg_function *function = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_module_find(module_.get(), name.c_str(), &function, &problems))
      return Error(status, problems);
    return Function(function);
  }

private:
  std::shared_ptr<tg_module> module_;
};

struct SimulationOptions {
  std::string schedule = "round-robin", bundle; // bundle "": none
  uint64_t seed = 0, stepLimit = 0;
  unsigned threads = 0;
  bool profile = false, recordsAll = false;
  std::string copies = "late"; // asynchronous ones complete: late, at-once, random
};

// A GPU's code on the cores of this machine, with checks.
class Simulation {
public:
  static Expected<Simulation> create(const SimulationOptions &options = {}) {
    tg_simulation_options raw{};
    raw.struct_size = sizeof raw;
    raw.schedule = options.schedule.c_str();
    raw.seed = options.seed;
    raw.step_limit = options.stepLimit;
    raw.threads = options.threads;
    raw.profile = options.profile;
    raw.bundle = options.bundle.empty() ? nullptr : options.bundle.c_str();
    raw.records_all = options.recordsAll;
    raw.copies = options.copies.c_str();
    tg_simulation *simulation = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_simulation_create(&raw, &simulation, &problems))
      return Error(status, problems);
    return Simulation(simulation);
  }
  void addMemory(void *memory, size_t bytes, const std::string &name, bool isWritable = true) const {
    tg_simulation_add_memory(simulation_.get(), memory, bytes, name.c_str(), isWritable);
  }
  // For calls on target "ptxvm".
  Place place() const { return {-1, tg_simulation_stream(simulation_.get())}; }
  Expected<Done> run(tg_simulation_launch launch) const {
    launch.struct_size = sizeof launch;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_simulation_run(simulation_.get(), &launch, &problems))
      return Error(status, problems);
    return Done{};
  }
  Expected<Done> replay(const std::string &bundle) const {
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_simulation_replay(simulation_.get(), bundle.c_str(), &problems))
      return Error(status, problems);
    return Done{};
  }
  // Of the run that is under way, or the last one; from any thread.
  struct Progress {
    uint64_t steps = 0, done = 0, blocks = 0;
  };
  Progress progress() const {
    Progress now;
    tg_simulation_progress(simulation_.get(), &now.steps, &now.done, &now.blocks);
    return now;
  }
  size_t findingCount() const { return tg_simulation_finding_count(simulation_.get()); }
  // "findings", "profile", "html", "printed".
  std::string text(const char *what) const {
    const char *text = tg_simulation_text(simulation_.get(), what);
    return text ? text : "";
  }

private:
  explicit Simulation(tg_simulation *simulation) : simulation_(simulation, tg_simulation_destroy) {}
  std::shared_ptr<tg_simulation> simulation_;
};

// Outlives its modules.
class Context {
public:
  // `target`: "cpu", "interp" for the reference interpreter, "cuda" for GPUs.
  static Expected<Context> create(const std::string &target = "cpu") {
    tg_context_options options{sizeof(tg_context_options), target.c_str()};
    tg_context *context = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_context_create(&options, &context, &problems))
      return Error(status, problems);
    return Context(context);
  }
  Expected<Module> open(const std::string &path) const {
    tg_module *module = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_module_from_file(context_.get(), path.c_str(), &module, &problems))
      return Error(status, problems);
    return Module(module);
  }
  Expected<Module> parse(const std::string &text, const std::string &path = "<text>") const {
    tg_source source{sizeof(tg_source), path.c_str(), text.data(), text.size(), 1, 0, nullptr};
    tg_module *module = nullptr;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_module_from_text(context_.get(), &source, &module, &problems))
      return Error(status, problems);
    return Module(module);
  }
  // Every problem of a file that shows without a signature.
  Expected<Done> check(const std::string &path) const {
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_check_file(context_.get(), path.c_str(), &problems))
      return Error(status, problems);
    return Done{};
  }

private:
  explicit Context(tg_context *context) : context_(context, tg_context_destroy) {}
  std::shared_ptr<tg_context> context_;
};

} // namespace tg

#endif // TEGULA_TEGULA_HPP
