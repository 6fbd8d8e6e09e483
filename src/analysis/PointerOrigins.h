// Says which kernel arguments an address may be derived from. In: any value of a function of tile IR or simt.
// Out: a set of the function's pointer arguments, and whether the address may also come from somewhere that
// has no name here: from memory, or from integers that were not made of an address. Followed through
// displacements, moves of elements, selects, casts to integers and back, and what loops and branches carry.
// The answer names too many rather than too few. An integer that is added to an address displaces it, as an
// offset does: an address that is put together of the differences of others belongs to those it was added to.
// Each value is visited once, and again where its set grew: linear in the function, no recursion.
#pragma once
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tegula::analysis {

struct OriginSet {
  llvm::SmallBitVector arguments; // by the argument's number; may be shorter than the list of arguments
  bool isUnknown = false;         // there may be others

  bool contains(unsigned argument) const { return argument < arguments.size() && arguments.test(argument); }
  // Returns false only if the two have no origin in common. That two arguments differ proves nothing (M6).
  bool mayShare(const OriginSet &other) const {
    return isUnknown || other.isUnknown || arguments.anyCommon(other.arguments);
  }
};

// Answers stay valid while ops are added that change no operand of what was asked for.
class PointerOrigins {
public:
  const OriginSet &of(mlir::Value address);

private:
  struct State {
    OriginSet origins;
    bool isNumber = false; // may be an integer that is made of no address
  };
  struct Sources;
  struct Slice;

  static Sources sourcesOf(mlir::Value value);
  bool update(const Slice &slice, unsigned index);
  void solve(mlir::Value value);

  llvm::DenseMap<mlir::Value, State> states_;
};

// The operand that each element of the op's result is an element of, moved to another coordinate or
// displaced. Null: there is none, or several.
mlir::Value movedAddress(mlir::Operation *op);

} // namespace tegula::analysis
