// What stands behind the handles of tegula.h, and the two things that every function of the
// interface does: turn what a sink collected into a status, and let no exception out.
#pragma once
#include "compiler/ModuleFile.h"
#include "jit/Dispatch.h"
#include "tegula/tegula.h"

#include <cstring>
#include <new>

struct tg_diagnostics {
  std::vector<tegula::diag::Diagnostic> list;
  std::string text;
  struct Place {
    std::string file;
    tegula::diag::Position position;
  };
  std::vector<Place> places;

  explicit tg_diagnostics(std::vector<tegula::diag::Diagnostic> list);
};

struct tg_context {
  std::string target = "cpu";
};

struct tg_function {
  explicit tg_function(std::shared_ptr<const tegula::sema::Function> function, tg_context *context)
      : dispatcher(std::move(function)), context(context) {}
  tegula::jit::Dispatcher dispatcher;
  tg_context *context;
};

struct tg_module {
  tegula::compiler::Module module;
  std::vector<std::unique_ptr<tg_function>> functions;
};

namespace tegula::capi {

// A tg_kernel is a jit::Kernel under a name of C; the type itself is defined nowhere.
inline tg_kernel *handleOf(jit::Kernel *kernel) { return reinterpret_cast<tg_kernel *>(kernel); }
inline jit::Kernel *kernelOf(tg_kernel *kernel) { return reinterpret_cast<jit::Kernel *>(kernel); }
inline const jit::Kernel *kernelOf(const tg_kernel *kernel) { return reinterpret_cast<const jit::Kernel *>(kernel); }
// The caller's, who destroys it.
inline tg_kernel *handOver(jit::KernelRef kernel) {
  if (kernel)
    kernel->Retain();
  return handleOf(kernel.get());
}

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
// The caller's options, with zeros where its struct is older than ours; NULL: all zeros.
template <class T> T read(const T *options) {
  T result{};
  if (options)
    std::memcpy(&result, options, std::min(options->struct_size, sizeof(T)));
  return result;
}

// NULL: the current device's default stream.
inline runtime::Place placeOf(const tg_place *place) {
  if (!place)
    return {};
  tg_place known = read(place);
  return {known.device, known.stream};
}

// Values across the border. nullopt: the kind is none that may stand here.
std::optional<sema::Const> constOf(const tg_value &value);
std::optional<jit::Leaf> leafOf(const tg_value &value);

// The environment that asks a host.
std::shared_ptr<sema::HostEnv> makeCallbackEnv(const tg_host &host);

} // namespace tegula::capi
