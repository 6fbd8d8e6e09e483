// The least and the greatest value of a form (analysis/Access.h) over a tile, and whether the conditions of
// forms hold, as scalars that the program computes in 64 bits.
#pragma once
#include "analysis/Access.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tegula::transforms {

// The magnitude of a polynomial is at most this, whatever its factors are; infinite where that is not known.
double sizeOf(const analysis::Polynomial &polynomial);
// Beyond this magnitude, sums of two are not computed in 64 bits. Rounding is far below the rest.
inline constexpr double largestSize = 1.5 * double(int64_t(1) << 62);

// Are all factors scalars of fewer than 64 bits?
bool isScalar(const analysis::Polynomial &polynomial);

// Can the program compute the condition of a form? Not where a range may leave 64 bits.
bool isComputed(mlir::Value condition, analysis::AccessAnalysis &access);

// Arithmetic of 64 bits on scalars, emitted where the builder stands.
struct Emitted {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value constant(int64_t number);
  template <typename Op> mlir::Value make(mlir::Value x, mlir::Value y) {
    return b.createOrFold<Op>(loc, x, y);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, int64_t y);
  mlir::Value both(mlir::Value x, mlir::Value y) { return make<mlir::arith::AndIOp>(x, y); }

  mlir::Value of(const analysis::Factor &factor);
  mlir::Value of(const analysis::Polynomial &polynomial);
  // The least and the greatest value over a tile of such a shape.
  std::pair<mlir::Value, mlir::Value> range(const analysis::Form &form, llvm::ArrayRef<int64_t> shape);
  // Does a condition that is computed hold: is a clamp within its bounds, a value exact?
  mlir::Value holds(mlir::Value condition, analysis::AccessAnalysis &access);
};

} // namespace tegula::transforms
