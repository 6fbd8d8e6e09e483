// Memory of a GPU for hosts that have no library of their own for it. Each call works in the context
// that Devices.h describes.
#pragma once
#include "drivers/cuda/Devices.h"

namespace tegula::cuda {

// Resource: there is not so much.
Result<void *> allocate(int device, size_t bytes);
Status release(int device, void *memory);
// Between any two places; returns when it is done, after all earlier work on default streams.
Status copy(int device, void *to, const void *from, size_t bytes);
// Waits for the work that was queued on the place's stream; tells what a kernel there did wrong.
Status synchronize(const runtime::Place &place);

} // namespace tegula::cuda
