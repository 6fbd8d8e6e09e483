// tl.load of packed elements of less than a byte.
#pragma once
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {

// The elements at `pointer`, as values of `unpackedType`; where the mask is false `other`, or zeros.
std::optional<Tensor> loadPacked(Call &call, const Tensor &pointer, const std::optional<Tensor> &mask,
                                 const std::optional<Tensor> &other, std::string_view cache,
                                 std::string_view eviction);

} // namespace tegula::sema::builtins
