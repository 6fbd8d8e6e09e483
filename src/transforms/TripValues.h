// Scalars of a loop in three of its trips: the first, the second and the last one. In: values of the loop's
// body that are linear in the trip's number. Out: the same values of 64 bits, computed ahead of the loop, and
// a condition under which they are what the loop computes in these trips, and what it computes between them
// lies on a line through them. So whoever asks for a range of a value asks twice ahead of the loop, not once
// a trip.
//
// Arithmetic of 32 bits must not wrap in any trip, which its ends say. Arithmetic of 64 bits may: then the
// values hold modulo 2^64, and `size` says that nothing is known.
#pragma once
#include "analysis/Polynomial.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tegula::transforms {

// The magnitude of a scalar is at most 2^bits; 64: it is no number of up to 64 bits.
unsigned bitsOf(mlir::Value scalar);

// The value ahead of its extensions.
mlir::Value withoutExtension(mlir::Value value);

struct InTrips {
  mlir::Value first, second, last;
  double size = 0;                   // a bound of its magnitude in ℤ in all trips; infinite: not known
  bool varies = false;               // false: the three are one
  std::optional<int64_t> slope = {}; // what a trip adds; none: not known when compiling
};

class TripValues {
public:
  // All that is computed goes where `ahead` stands, ahead of the loop.
  TripValues(mlir::OpBuilder &ahead, mlir::scf::ForOp loop);

  // nullopt: it is not known to be linear.
  std::optional<InTrips> of(mlir::Value scalar);
  std::optional<InTrips> of(const analysis::Polynomial &polynomial);
  // Of all that was asked for so far; null: always.
  mlir::Value condition() const { return condition_; }
  void also(mlir::Value holds);

  // The index of the loop in its three trips; nullopt: its bounds are not those of 32 bits.
  std::optional<InTrips> ofBounds();
  // The number of the last trip, once that is known; below 0 of a loop without trips.
  mlir::Value lastTrip() const { return lastTrip_; }

  mlir::Value constant(int64_t number);

private:
  std::optional<InTrips> compute(mlir::Value scalar);
  std::optional<InTrips> computeCarried(mlir::BlockArgument argument);
  // Applies an op of 64 bits in each of the trips; a result of `bits` bits must not wrap.
  template <typename Op> std::optional<InTrips> apply(InTrips x, InTrips y, double size, unsigned bits);
  std::optional<InTrips> multiply(const InTrips &x, const InTrips &y, unsigned bits);
  InTrips invariant(mlir::Value scalar);
  void demandRange(const InTrips &value, unsigned bits);

  mlir::OpBuilder &b_;
  mlir::scf::ForOp loop_;
  mlir::Value condition_;
  mlir::Value lastTrip_; // its number; null: not computed yet
  mlir::Value stride_;   // what a trip adds to the index, of 64 bits and above 0
  llvm::DenseMap<mlir::Value, std::optional<InTrips>> known_;
};

} // namespace tegula::transforms
