// The numbers that choices compare, as data of a machine: one field a row of Costs.def.
#pragma once
#include "layout/Conversion.h"

#include <cstdint>

namespace tegula::simt {

struct Costs {
#define COST(type, name, value, unit, meaning, benchmark) type name = value;
#include "ir/simt/Costs.def"
#undef COST
  layout::ConversionCosts conversion; // of a change of layout
};

} // namespace tegula::simt
