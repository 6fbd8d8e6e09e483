// The functions of tegula/runtime.h.
#include "base/Files.h"
#include "loader/Loader.h"
#include "tegula/runtime.h"

#include <exception>

using namespace tegula;

struct tgr_library {
  const loader::Loader *loader;
  std::vector<std::unique_ptr<loader::Kernel>> kernels;
};

namespace {

std::string &lastMessage() {
  static thread_local std::string message;
  return message;
}

tg_status finish(Status status) {
  if (!status.ok())
    lastMessage() = std::move(status.message);
  return tg_status(status.code);
}
tg_status misuse(std::string message) {
  return finish(Status::error(StatusCode::Launch, std::move(message)));
}

// Runs `body`, which gives a Status; an exception is one.
template <class Body> tg_status guarded(Body body) {
  try {
    return finish(body());
  } catch (const std::bad_alloc &) {
    return TG_RESOURCE; // there may be no memory for a message
  } catch (const std::exception &error) {
    return finish(Status::error(StatusCode::Internal, error.what()));
  } catch (...) {
    return finish(Status::error(StatusCode::Internal, "something was thrown that says nothing"));
  }
}

tgr_kernel *handleOf(loader::Kernel *kernel) { return reinterpret_cast<tgr_kernel *>(kernel); }

// NULL: the current device's default stream.
bool readPlace(const tg_place *place, runtime::Place &out) {
  if (!place)
    return true;
  if (place->struct_size < sizeof(tg_place))
    return false;
  out = {place->device, place->stream};
  return true;
}

Status openBytes(std::string_view bytes, const char *target, const char *interface, tgr_library **out) {
  const loader::Loader *found = loader::findLoader(target);
  if (!found)
    return Status::error(StatusCode::Unsupported, "there is no target `" + std::string(target) +
                                                      "`; targets are " + loader::loaderNames());
  auto kernels = loader::open(bytes, *found, interface ? interface : "");
  if (!kernels)
    return kernels.status();
  *out = new tgr_library{found, std::move(*kernels)};
  return Status::success();
}

constexpr uint64_t largestArchive = uint64_t(1) << 34;
constexpr const char *noPlace = "struct_size of a tg_place is not set; hint: set it to its sizeof";
constexpr const char *noLibrary = "the library is NULL; hint: open one first";

} // namespace

const char *tgr_message() { return lastMessage().c_str(); }
const char *tgr_version() { return TEGULA_VERSION; }

tg_status tgr_library_open(const char *path, const char *target, const char *interface, tgr_library **out) {
  if (!path || !target || !out)
    return misuse("path, target and out must not be NULL");
  *out = nullptr;
  return guarded([&] {
    Result<std::string> bytes = readFile(path, largestArchive);
    if (!bytes)
      return Status::error(StatusCode::Data, "cannot read `" + std::string(path) +
                                                 "`: " + bytes.status().message +
                                                 "; hint: `tegula build -o` writes archives");
    return openBytes(*bytes, target, interface, out);
  });
}

tg_status tgr_library_open_bytes(const void *data, size_t size, const char *target, const char *interface,
                                 tgr_library **out) {
  if (!data || !target || !out)
    return misuse("data, target and out must not be NULL");
  *out = nullptr;
  return guarded([&] { return openBytes({static_cast<const char *>(data), size}, target, interface, out); });
}

void tgr_library_close(tgr_library *library) { delete library; }

tgr_kernel *tgr_library_kernel(tgr_library *library, size_t number) {
  return library && number < library->kernels.size() ? handleOf(library->kernels[number].get()) : nullptr;
}

tgr_kernel *tgr_library_find(tgr_library *library, const char *name) {
  if (library && name)
    for (const std::unique_ptr<loader::Kernel> &kernel : library->kernels)
      if (kernel && kernel->name() == name)
        return handleOf(kernel.get());
  return nullptr;
}

tg_status tgr_launch(tgr_kernel *kernel, const tg_place *place, const uint64_t *slots, size_t slot_count,
                     tgr_grid grid) {
  runtime::Place where;
  if (!kernel || (slot_count && !slots))
    return misuse(kernel ? "slots is NULL"
                         : "the kernel is NULL: the archive has no code for it on this target");
  if (!readPlace(place, where))
    return misuse(noPlace);
  return guarded([&] {
    return reinterpret_cast<loader::Kernel *>(kernel)->launch({slots, slot_count}, {{grid.x, grid.y, grid.z}},
                                                              where);
  });
}

tg_status tgr_memory_allocate(tgr_library *library, int32_t device, size_t bytes, void **out) {
  if (!library || !out)
    return misuse(library ? "out is NULL" : noLibrary);
  *out = nullptr;
  return guarded([&] {
    Result<void *> memory = library->loader->allocate(device, bytes);
    if (memory)
      *out = *memory;
    return memory.status();
  });
}

tg_status tgr_memory_release(tgr_library *library, int32_t device, void *memory) {
  if (!library)
    return misuse(noLibrary);
  return guarded([&] { return memory ? library->loader->release(device, memory) : Status::success(); });
}

tg_status tgr_memory_copy(tgr_library *library, int32_t device, void *to, const void *from, size_t bytes) {
  if (!library || (bytes && (!to || !from)))
    return misuse(library ? "memory to copy is NULL" : noLibrary);
  return guarded([&] { return library->loader->copy(device, to, from, bytes); });
}

tg_status tgr_synchronize(tgr_library *library, const tg_place *place) {
  runtime::Place where;
  if (!library || !readPlace(place, where))
    return misuse(library ? noPlace : noLibrary);
  return guarded([&] { return library->loader->synchronize(where); });
}
