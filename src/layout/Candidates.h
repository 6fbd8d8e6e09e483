// Between the planner's own files: not for other modules.
#pragma once
#include "layout/Conversion.h"

namespace tegula::layout {

// The layout of the threads and registers that store: bits that only repeat have no image.
Layout storingPart(const Layout &layout);

// As swizzled, with a `store` that is its own storing part; the vectors of an access and all but the highest
// offset bits come from the subspace that `space` spans, which holds all lanes and warps of both sides.
SharedMap bestMap(const Layout &store, const Layout &load, unsigned elementBits, const SharedShape &shape,
                  std::span<const uint32_t> space);

// The same layouts with as many lane bits as there are, and as many warp bits as the other has.
std::pair<Layout, Layout> samePlaces(const Layout &from, const Layout &to);

// The parts of planAsChosen for each way; the layouts have the same extents and blocks.
std::optional<ConversionPlan> withinWarpAsChosen(const ConversionChoice &choice, const Layout &from,
                                                 const Layout &to, unsigned elementBits);
std::optional<ConversionPlan> sharedAsChosen(const ConversionChoice &choice, const Layout &from,
                                             const Layout &to, unsigned elementBits);

// Every warp of `to` finds what it needs in the same warp of `from`.
bool staysWithinWarp(const Layout &from, const Layout &to);

} // namespace tegula::layout
