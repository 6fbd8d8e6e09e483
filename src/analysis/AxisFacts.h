// The lattice behind AxisInfo and its rules, one fact a value. `at` of a dimension answers for
// groups smaller than those the fact was proven for: they start inside of a run of steps.
#pragma once
#include "analysis/AxisInfo.h"

#include "mlir/IR/Operation.h"

namespace tegula::analysis {

struct AxisFact {
  struct Dimension {
    int64_t contiguity = 1, divisibility = 1, constancy = 1;
    bool operator==(const Dimension &) const = default;
  };
  llvm::SmallVector<Dimension, 4> dims;
  std::optional<int64_t> constant;
  bool nonNegative = false; // as a signed integer, at each coordinate
  int64_t step = 1;         // from one element to the next: 1, or a pointer's bytes

  bool operator==(const AxisFact &) const = default;

  // What divides the elements whose index along `d` is a multiple of `group`.
  int64_t divisibilityAt(unsigned d, int64_t group) const;
  // What divides every element.
  int64_t divisibilityOfAll() const;
  AxisInfo info() const;
};

// Nothing is known of the value.
AxisFact unknownFact(mlir::Value value);
// Every element is `constant`; `bits` wide.
AxisFact constantFact(mlir::Value value, int64_t constant, unsigned bits);
// What holds of both; the dimensions must agree.
AxisFact joinFacts(const AxisFact &a, const AxisFact &b);
// Brings groups down to the extents and lets what divides all elements hold along each dimension.
void normalizeFact(AxisFact &fact, llvm::ArrayRef<int64_t> shape);

using FactOf = llvm::function_ref<AxisFact(mlir::Value)>;

// The fact of result `index` of an op without regions, from its operands'. With `trust`, see
// Trust::Indices. Hints on the op are included.
AxisFact ruleOf(mlir::Operation *op, unsigned index, bool trust, FactOf operands);
// Adds what loads and stores promise of `address` (`tt.address_divisibility` and the like). Of those in its
// own block, which run wherever the address is made.
void addAddressHints(AxisFact &fact, mlir::Value address);
// The fact of a kernel's argument: `tt.divisibility`.
AxisFact argumentFact(tile::FuncOp function, unsigned index, bool trust);

// The greatest power of two that divides `value`, at most 2^62; of 0: 2^62.
int64_t powerOfTwoIn(int64_t value);

// The bits of an element in memory.
unsigned bitsInMemory(mlir::Type element);

} // namespace tegula::analysis
