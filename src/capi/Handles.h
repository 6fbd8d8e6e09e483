// What stands behind the handles of tegula.h, and the two things that every function of the
// interface does: turn what a sink collected into a status, and let no exception out.
#pragma once
#include "capi/LiveHandles.h"
#include "compiler/ModuleFile.h"
#include "jit/Dispatch.h"
#include "tegula/tegula.h"

#include <cstring>
#include <deque>
#include <new>

struct tg_diagnostics {
  std::vector<tegula::diag::Diagnostic> list;
  std::string text;
  struct Location {
    std::string file;
    tegula::diag::Position position;
  };
  std::vector<Location> locations;

  explicit tg_diagnostics(std::vector<tegula::diag::Diagnostic> list);
};

struct tg_context {
  std::string target = "cpu";
};

struct tg_function {
  tg_function(std::shared_ptr<const tegula::sema::Function> function, tg_context *context);
  ~tg_function();

  tegula::jit::Dispatcher dispatcher;
  std::string defaultTarget; // the context's
};

struct tg_module {
  tegula::compiler::Module module;
  std::vector<std::unique_ptr<tg_function>> functions;
};

namespace tegula::capi {

// A tg_kernel is a jit::SpecializedKernel under a name of C; the type itself is defined nowhere.
inline tg_kernel *handleOf(jit::SpecializedKernel *kernel) { return reinterpret_cast<tg_kernel *>(kernel); }
inline jit::SpecializedKernel *kernelOf(tg_kernel *kernel) {
  return reinterpret_cast<jit::SpecializedKernel *>(kernel);
}
inline const jit::SpecializedKernel *kernelOf(const tg_kernel *kernel) {
  return reinterpret_cast<const jit::SpecializedKernel *>(kernel);
}
// The caller's, who destroys it; null stays null. Each handle that a host gets of one kernel holds it.
inline tg_kernel *handOver(jit::KernelRef kernel) {
  if (!kernel)
    return nullptr;
  tg_kernel *handle = handleOf(kernel.get());
  enter(handle, Handle::Kernel);
  kernel.resetWithoutRelease();
  return handle;
}

// ---- what a host passes in ----

inline bool isLive(const tg_context *handle) { return isLive(handle, Handle::Context); }
inline bool isLive(const tg_module *handle) { return isLive(handle, Handle::Module); }
inline bool isLive(const tg_function *handle) { return isLive(handle, Handle::Function); }
inline bool isLive(const tg_kernel *handle) { return isLive(handle, Handle::Kernel); }
inline bool isLive(const tg_diagnostics *handle) { return isLive(handle, Handle::Diagnostics); }
inline bool isLive(const tg_simulation *handle) { return isLive(handle, Handle::Simulation); }
inline bool isLive(const tg_program *handle) { return isLive(handle, Handle::Program); }
inline bool isLive(const tg_bound *handle) { return isLive(handle, Handle::Bound); }
inline bool isLive(const tg_tuning *handle) { return isLive(handle, Handle::Tuning); }
inline bool isLive(const tg_held *handle) { return isLive(handle, Handle::Held); }

// False after a diagnostic. `name` is the type's: "tg_function".
template <class T> bool checkHandle(const T *handle, std::string_view name, diag::Sink &sink) {
  if (isLive(handle))
    return true;
  sink.report(diag::Kind::HostMisuse, {},
              {"the " + std::string(name) + (handle ? " is none, or was destroyed" : " is NULL"),
               "pass a handle that this library gave out and that lives"});
  return false;
}

// False after a diagnostic: a pointer that must not be NULL is.
inline bool checkGiven(const void *pointer, std::string_view name, diag::Sink &sink) {
  if (!pointer)
    sink.report(diag::Kind::HostMisuse, {},
                {"`" + std::string(name) + "` is NULL", "it must point at something"});
  return pointer;
}
// The same of `count` things at `items`; above `most` they are not looked at.
inline bool checkItems(const void *items, size_t count, size_t most, std::string_view name,
                       diag::Sink &sink) {
  if (count > most)
    sink.report(diag::Kind::HostMisuse, {},
                {std::to_string(count) + " `" + std::string(name) + "` are more than " + std::to_string(most),
                 "check the count"});
  else if (count)
    return checkGiven(items, name, sink);
  return count == 0;
}
inline constexpr size_t mostArguments = 4096; // of a call or a launch

// The status of the sink's first error; its diagnostics go to `*problems` when there is one.
tg_status finish(diag::Sink &sink, tg_diagnostics **problems);
tg_status fail(diag::Kind kind, std::initializer_list<std::string_view> arguments, tg_diagnostics **problems);

// Runs `body(sink)` and ends with `finish`; an exception is a status.
template <class Body> tg_status guarded(tg_diagnostics **problems, Body body) {
  if (problems)
    *problems = nullptr;
  try {
    diag::Sink sink;
    body(sink);
    return sink.hasErrors() ? finish(sink, problems) : TG_OK;
  } catch (const std::bad_alloc &) {
    return TG_RESOURCE;
  } catch (const std::exception &error) {
    return fail(diag::Kind::InternalCompilerError, {error.what()}, problems);
  } catch (...) { // of a host's function
    return fail(diag::Kind::HostMisuse,
                {"a function of the host threw what is no exception of the library",
                 "functions that the library calls return, and do not throw"},
                problems);
  }
}

// Copies as much of `from` as the caller's struct has room for.
template <class T> tg_status fill(T *out, T from) {
  if (!out || out->struct_size < sizeof(size_t))
    return TG_LAUNCH;
  from.struct_size = out->struct_size;
  std::memcpy(out, &from, std::min(out->struct_size, sizeof(T)));
  return TG_OK;
}
// The caller's options, with zeros where its struct is older than ours; NULL: all zeros. nullopt after a
// diagnostic: struct_size was not set, so that nothing is known of the rest.
template <class T> std::optional<T> read(const T *options, std::string_view name, diag::Sink &sink) {
  T result{};
  if (!options)
    return result;
  if (options->struct_size < sizeof(size_t)) {
    sink.report(diag::Kind::HostMisuse, {},
                {"struct_size of a " + std::string(name) + " is not set", "set it to its sizeof"});
    return std::nullopt;
  }
  std::memcpy(&result, options, std::min(options->struct_size, sizeof(T)));
  return result;
}

// NULL: the current device's default stream. nullopt after a diagnostic.
inline std::optional<runtime::Place> placeOf(const tg_place *place, diag::Sink &sink) {
  std::optional<tg_place> known = read(place, "tg_place", sink);
  if (!place || !known)
    return known ? std::optional(runtime::Place{}) : std::nullopt;
  return runtime::Place{known->device, known->stream};
}

// Values across the border. nullopt: the kind is none that may stand here.
std::optional<sema::Const> constOf(const tg_value &value);
std::optional<jit::Leaf> leafOf(const tg_value &value);
// An argument that needs no memory of its own; false: it does.
bool readPlain(const tg_argument &argument, jit::PlainArgument &out);
// The arguments of a call. False after a diagnostic.
bool readArguments(tg_function *function, std::span<const tg_argument> arguments,
                   llvm::SmallVectorImpl<jit::Argument> &out, diag::Sink &sink);
// Keeps what values point at that a host is shown.
struct Loan {
  std::deque<std::vector<tg_value>> tuples;
  std::deque<std::string> texts;
};
using FunctionOf = llvm::function_ref<tg_function *(const sema::Function &)>; // null: not known to the host
// What `out` points at is the value's or the loan's. False: a value that C cannot be shown.
bool lend(const sema::Const &value, tg_value &out, Loan &loan, FunctionOf functionOf);

// Writes a file, as base/Files.h does. False after a diagnostic.
bool writeFile(const std::string &path, std::string_view bytes, diag::Sink &sink);

// The environment that asks a host.
std::shared_ptr<sema::HostEnv> makeCallbackEnv(const tg_host &host);
// Asks a host, which has a `name_of`, for the names of kernels.
jit::NameKernel makeCallbackNames(const tg_host &host);

} // namespace tegula::capi
