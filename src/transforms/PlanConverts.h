// Decides how each conversion happens, once, by the costs of the machine. In: a simt kernel in which no later
// pass makes a conversion. Out: a #simt.conversion on each `simt.convert`, which whoever follows reads, and
// `simt.in_warp` on each gather whose elements lanes hand to each other. A conversion at which warps meet
// stands behind the stores ahead of its first reader.
#pragma once
#include "ir/simt/Costs.h"
#include "ir/simt/Simt.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::transforms {

void planConverts(mlir::ModuleOp module, const simt::Costs &costs);

constexpr uint64_t leastScratch = 8 * 1024; // bytes, that a conversion in several rounds keeps

// The conversion's plan; one in several rounds where that takes more scratch memory than so many bytes.
layout::ConversionPlan planUnder(simt::ConvertOp convert, uint64_t bytes, const simt::Costs &costs);

} // namespace tegula::transforms
