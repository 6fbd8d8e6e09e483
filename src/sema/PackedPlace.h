// The place that a pointer to elements of less than a byte means: such elements have no address of their own,
// so a pointer is what it was made of. Of interest to who keeps a pointer apart from the ops that made it.
#pragma once
#include "sema/Value.h"

namespace tegula::sema {

class Session;

struct PackedPlace {
  mlir::Value base; // a scalar pointer to the first bit of a byte
  Tensor offset;    // in elements, 32 or 64 bits, in the pointer's shape
};

// The place of a pointer to packed elements; emits ops. Nothing where an op that made it hides its offset.
std::optional<PackedPlace> packedPlaceOf(Session &session, const Tensor &pointer);

} // namespace tegula::sema
