// The elements of two tiles of addresses, or of one and itself, that may lie at one address. In: tile IR,
// the forms of its addresses and masks (Access.h). Out: one of three answers.
//
// Numbers are sums of products, and those of k bits are right up to multiples of 2^k whatever wraps. So an
// answer rests on remainders by powers of two: tiles of 1024 elements that start at multiples of 1024 share
// no element or all of them, and those are the same ones of both.
//
// Rows of n elements share none where the masks of all accesses keep the index within a row from 0 to n. That
// rests on what docs/language/memory-model.md says in M12: no row's offset is past its bits, nor is an index
// made of program ids, ranges and loops' numbers (Indices.h). Rows of n <= 0 elements have none that a mask
// lets through.
#pragma once
#include "analysis/Access.h"
#include "analysis/Indices.h"

namespace tegula::analysis {

enum class Meeting {
  Anywhere, // nothing is known
  Alike,    // elements that share an address have the same coordinates in both tiles
  Never,    // no two elements share an address
};

class Meetings {
public:
  explicit Meetings(AccessAnalysis &access) : access_(access) {}

  // Of two accesses of one trip of the loops around them: what both are made of is the same.
  Meeting inTrip(mlir::Value a, mlir::Value b) { return between(a, b, /*isOneTrip=*/true); }
  // Of accesses of any two trips of the loops around them, or of the same one.
  Meeting inAnyTrips(mlir::Value a, mlir::Value b) { return between(a, b, /*isOneTrip=*/false); }

private:
  // A number whose polynomial is right up to multiples of 2^bits.
  struct Number {
    Polynomial sum;
    unsigned bits = 64;
  };
  // The same of a number for each element of a tile.
  struct Numbers {
    Form form;
    unsigned bits = 64;
  };
  // `0 <= index < length` at all accesses.
  struct Bound {
    Numbers index;
    Polynomial length;
  };
  // A tile of addresses: the pointer that all else is added to, and offsets in bytes.
  struct Place {
    mlir::Value pointer;
    Numbers offset;
    llvm::SmallVector<Bound, 2> bounds;
  };
  Meeting between(mlir::Value a, mlir::Value b, bool isOneTrip);
  Meeting compute(mlir::Value a, mlir::Value b, bool isOneTrip);
  Meeting betweenRows(const Place &a, const Place &b, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                      bool isOneTrip);
  static Meeting betweenIndices(const Numbers &a, const Numbers &b, llvm::ArrayRef<int64_t> shape,
                                bool isOneTrip);
  static Meeting betweenNumbers(const Numbers &a, const Numbers &b, llvm::ArrayRef<int64_t> shape,
                                int64_t elementBytes, bool isOneTrip);
  const std::optional<Place> &place(mlir::Value pointers);
  std::optional<Place> computePlace(mlir::Value pointers);
  llvm::SmallVector<Bound, 2> boundsOf(mlir::Value pointers);
  std::optional<Bound> boundOf(const Form &belowZero);
  bool isNotNegative(const Form &form);

  Number unknown(mlir::Value scalar);
  Number numberOf(mlir::Value scalar, unsigned depth = 0);
  Number computeNumber(mlir::Value scalar, unsigned depth);
  Number carried(mlir::BlockArgument argument, unsigned depth);
  std::optional<Number> expand(const Polynomial &sum);
  std::optional<Numbers> expand(const Form &form, unsigned depth = 0);
  std::optional<Numbers> carriedTile(const Factor &tile, size_t rank, unsigned depth);

  AccessAnalysis &access_;
  Indices indices_;
  llvm::DenseMap<mlir::Value, Number> numbers_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<std::optional<Place>>> places_;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, Meeting> inTrip_, inAnyTrips_;
};

} // namespace tegula::analysis
