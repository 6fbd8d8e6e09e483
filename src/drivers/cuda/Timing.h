// Times launches on a GPU, between events of its own stream.
#pragma once
#include "drivers/cuda/Devices.h"

#include <functional>
#include <vector>

namespace tegula::cuda {

// Milliseconds of `launch` on the place's stream, `runs` times. `prepare` runs ahead of each; what it queues
// on default streams has ended by then. The cache of the device is overwritten in between, as upstream's
// do_bench has it.
Result<std::vector<double>> time(const runtime::Place &place, size_t runs,
                                 const std::function<Status()> &prepare,
                                 const std::function<Status()> &launch);

} // namespace tegula::cuda
