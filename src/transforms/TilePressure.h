// The registers that the tiles of a block take while it runs, in the order of its ops. A tile whose elements
// are neighbours or equal along each dimension takes none: it is a few scalars and a thread's coordinates.
#pragma once
#include "analysis/AxisInfo.h"

namespace tegula::transforms {

// Do neighbours along no dimension of these addresses lie side by side in memory?
bool isScattered(mlir::Value pointers, analysis::AxisInfoAnalysis &axes);

// The most that are held at the same time, in elements of 32 bits of all threads together.
int64_t mostHeld(mlir::Block &block, analysis::AxisInfoAnalysis &axes);

} // namespace tegula::transforms
