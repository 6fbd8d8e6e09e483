// The parts of a loop that its visitors share: its range, and what it carries from trip to trip.
#pragma once
#include "sema/Visitor.h"

namespace tegula::sema {

struct Visitor::Bounds {
  Value lower, upper, step;
  // tl.range's hints, put on the op.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

struct Visitor::RunTimeRange {
  Tensor lower, upper, step;
  bool isReversed = false; // counts up, and the variable runs down
};

// Names in order, with the leaves of their values as the loop's operands.
struct Visitor::Carried {
  llvm::SmallVector<llvm::StringRef, 8> assigned;  // all names that the body assigns
  llvm::SmallVector<llvm::StringRef, 2> variables; // of loops inside, in `assigned` too
  std::vector<std::optional<Local>> before;        // what they were, `assigned` in step
  llvm::SmallVector<llvm::StringRef> names;        // those with a run-time value before
  std::vector<Value> initial;                      // in step with `names`
  llvm::SmallVector<mlir::Value> operands;         // their leaves
  std::vector<Value> entered;                      // what they are where the region begins
  llvm::SmallVector<llvm::StringRef, 2> gone;      // variables that end with another type
};

} // namespace tegula::sema
