// tl.load of packed elements of less than a byte.
#pragma once
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {

// The elements at `pointer`, as values of `unpackedType`; undefined where the mask is false.
std::optional<Tensor> loadPacked(Call &call, const Tensor &pointer, const std::optional<Tensor> &mask,
                                 std::string_view cache, std::string_view eviction);

} // namespace tegula::sema::builtins
