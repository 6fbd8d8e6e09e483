// What a tile is as a function of its coordinates. A tile of integers or addresses is
// recognised as `base + Σ strideᵢ·indexᵢ`, a tile of conditions as a conjunction of such
// forms below zero. What is not of that form becomes a factor of its own: it may still be
// constant along the axis that matters (a row index that was loaded).
//
// A form holds in ℤ only where the integer arithmetic behind it did not wrap. `conditions`
// lists the values whose own form must fit their width over the whole tile; a target
// proves each, or tests it at run time and keeps a variant that assumes nothing.
#pragma once
#include "analysis/Polynomial.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace tegula::analysis {

struct Form {
  Polynomial base;
  llvm::SmallVector<Polynomial, 3> strides; // one a dimension; empty for a scalar
  llvm::SmallVector<mlir::Value, 2> conditions;
  bool operator==(const Form &other) const { return base == other.base && strides == other.strides; }
};

// An address: a scalar pointer and an offset in bytes.
struct Address {
  mlir::Value pointer;
  Form offset;
  bool operator==(const Address &other) const { return pointer == other.pointer && offset == other.offset; }
};

// One conjunct of a mask: `form < 0`, or a condition that has no form.
struct Conjunct {
  std::optional<Form> form;
  Factor opaque; // where there is no form

  bool operator==(const Conjunct &other) const {
    return form.has_value() == other.form.has_value() &&
           (form ? *form == *other.form : opaque == other.opaque);
  }
  bool dependsOn(unsigned dim) const;
};

// A tile of integers that is one of its operands wherever that is within bounds: `x % d`, `where(x < n, x,
// 0)`, `minimum(x, n)`, `maximum(x, 0)`.
struct Clamp {
  mlir::Value inside;
  llvm::SmallVector<Form, 2> bounds; // where all are below zero, the value is that of `inside`
};

class AccessAnalysis {
public:
  AccessAnalysis() = default;
  // With `throughClamps` the form of a clamped value is that of what it clamps: then the clamped value is
  // among the conditions, and holds where it is within its bounds in the whole tile.
  explicit AccessAnalysis(bool throughClamps) : throughClamps_(throughClamps) {}

  // The form of an integer (scalar or tile). Always succeeds: at worst the value itself.
  const Form &form(mlir::Value integer);
  // The address behind a tile of pointers, or nullptr.
  const Address *address(mlir::Value pointers);
  // The conjuncts of a tile of i1; an empty list is `true`.
  llvm::SmallVector<Conjunct, 2> conjuncts(mlir::Value mask);

  // The clamp that a condition asks about; nullopt: it asks whether the value's own form is exact.
  std::optional<Clamp> clamp(mlir::Value condition);

  // The value as a factor at its own coordinates.
  Factor factor(mlir::Value value);

private:
  Form computeForm(mlir::Value value);
  Conjunct conjunctOf(mlir::Value mask); // of what is no conjunction
  std::optional<Form> formOfTileOp(mlir::Operation *op);
  std::optional<Clamp> clampBetween(mlir::Operation *op);
  std::optional<Clamp> clampOf(mlir::arith::SelectOp select);
  std::optional<Address> computeAddress(mlir::Value value);
  Form opaque(mlir::Value value);
  unsigned number(mlir::Value value);

  bool throughClamps_ = false;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Form>> forms_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<std::optional<Address>>> addresses_;
  llvm::DenseMap<mlir::Value, unsigned> numbers_;
};

// Have no two elements that are accessed of a tile of pointers one address? Yes only where the strides say
// so, as constants, or, of one stride that is known at run time alone, the masks of all accesses there: they
// keep the index within a row below the row's stride. Where strides may be anything, no.
bool isOneToOne(AccessAnalysis &access, mlir::Value pointers);

// Has no element of the one tile of pointers the address of an element of the other? Yes only where the forms
// of both say so: addresses from one pointer, apart by a constant that no steps of constant strides make up.
bool areApart(AccessAnalysis &access, mlir::Value a, mlir::Value b);
// The same of tiles that a loop computes, each in a trip other than the other's. Yes only where they depend
// on trips through the index of one loop alone, or a number of 64 bits that it carries and adds a constant
// to, whose step leads beyond all that one trip reaches. An index of 32 bits counts elements, or blocks of c
// of them below n // c, from an index on (Indices.h) that is within its bits, so that none of its values
// differ by a whole turn of the integers. Or trips move along rows, within which masks keep them, as
// isOneToOne says; a row's own offset is taken to be within its bits.
bool areApartInOtherTrips(AccessAnalysis &access, mlir::Value a, mlir::Value b);

// The address behind a tile of pointers from further back: numbers that were added to its scalar pointer are
// a part of the offset, from pointer to pointer as long as `isPassed` says so.
std::optional<Address> addressBehind(AccessAnalysis &access, mlir::Value pointers,
                                     llvm::function_ref<bool(mlir::Value)> isPassed);

// The values whose conjunction a tile of i1 is, behind views, at the mask's dimensions; constants that are
// true are left out. nullopt: more than are followed.
std::optional<llvm::SmallVector<Factor, 2>> conditionsOf(mlir::Value mask);

// How an op that only moves elements maps its result's coordinates to its operand's:
// map[operand dimension] = result dimension, or -1 for the operand's extents of 1.
// nullopt for other ops.
std::optional<llvm::SmallVector<int8_t, 4>> coordinateMap(mlir::Operation *op);

// The masks of all accesses at these addresses; nullopt: one of them has none, or is no load or store.
std::optional<llvm::SmallVector<mlir::Value>> masksOf(mlir::Value pointers);

} // namespace tegula::analysis
