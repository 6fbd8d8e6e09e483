// What reductions and scans share: tiles of one shape, and a function of the caller expanded
// into the region of an op. Internal to builtins/.
#pragma once
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {

// Makes the combined scalars of accumulated and next ones; nullopt after a diagnostic.
using Combine = llvm::function_ref<std::optional<std::vector<Tensor>>(llvm::ArrayRef<Tensor> accumulated,
                                                                      llvm::ArrayRef<Tensor> next)>;

// Fills `region` with two scalars of each type, what `combine` makes of them, and `finish`.
bool buildCombine(Session &session, mlir::Region &region, llvm::ArrayRef<Type> types, Combine combine,
                  llvm::function_ref<void(mlir::ValueRange)> finish);

// The tiles of argument 0: one, or a tuple of tiles of one shape.
std::optional<std::vector<Tensor>> combinedInputs(Call &call);

// Calls argument `i`, a function of the language, on the scalars; its results have the types of
// `accumulated`.
std::optional<std::vector<Tensor>> callCombine(Call &call, size_t i, llvm::ArrayRef<Tensor> accumulated,
                                               llvm::ArrayRef<Tensor> next);

// Calls argument `i`, a function of the language, with values.
std::optional<Value> callArgument(Call &call, size_t i, std::span<const Value> arguments);

// Does the function that an op applies compute its results with scalars alone? `mayComplain`: it may print
// and assert, too. False after a diagnostic.
bool checkScalarFunction(Call &call, mlir::Region &region, llvm::ArrayRef<Tensor> results, bool mayComplain);

// The result for one tile, or a tuple for a tuple of tiles.
Value likeInputs(Call &call, std::vector<Tensor> results);

// The type in which a sum or product of `element` is computed: integers have at least 32 bits.
DType sumType(DType element);
// In which sums of that type are computed: fp32 for floats of 8 and 16 bits, which round once, at the end.
DType accumulatorType(DType element);

} // namespace tegula::sema::builtins
