// The handles that this process holds. A handle comes from a host: it may be NULL, destroyed, of another
// kind, or any address at all. It is looked up here before it is read, so that a wrong one is a status. Safe
// from several threads.
#pragma once
#include <cstdint>

namespace tegula::capi {

enum class Handle : uint8_t {
  Context,
  Module,
  Function,
  Kernel,
  Diagnostics,
  Simulation,
  Program,
  Held,
  Bound,
  Tuning
};

// A handle that is given out several times, as a kernel is, lives until it left as often.
void enter(const void *handle, Handle kind);
// False: there is no such handle, and so nothing to destroy.
bool leave(const void *handle, Handle kind);
bool isLive(const void *handle, Handle kind);

} // namespace tegula::capi
