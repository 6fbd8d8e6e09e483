// Sums of products of values: `3·pid·stride + 128`. A factor is a scalar of the program,
// or an element of a tile that is read at the coordinates of the tile being described (a
// row index that was loaded, say). Exact in ℤ; kept in a normal form, so that equal
// polynomials compare equal.
#pragma once
#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace tegula::analysis {

// A value as a factor. For a tile, `dims[i]` is the dimension of the described tile that
// indexes the factor's dimension i, or -1 where the factor has extent 1.
struct Factor {
  mlir::Value value;
  unsigned number = 0; // order of discovery; makes the normal form deterministic
  llvm::SmallVector<int8_t, 3> dims;

  bool isTile() const { return !dims.empty(); }
  bool dependsOn(unsigned dim) const;
  bool operator==(const Factor &other) const { return value == other.value && dims == other.dims; }
  bool operator<(const Factor &other) const;
};

struct Monomial {
  int64_t coefficient = 0;
  llvm::SmallVector<Factor, 2> factors; // sorted
};

class Polynomial {
public:
  Polynomial() = default;
  Polynomial(int64_t constant) {
    if (constant)
      terms_.push_back({constant, {}});
  }
  explicit Polynomial(Factor factor) { terms_.push_back({1, {std::move(factor)}}); }

  llvm::ArrayRef<Monomial> terms() const { return terms_; }
  bool isZero() const { return terms_.empty(); }
  std::optional<int64_t> constant() const;
  bool dependsOn(unsigned dim) const;
  bool hasTiles() const;

  // nullopt where a coefficient leaves 64 bits.
  static std::optional<Polynomial> add(const Polynomial &a, const Polynomial &b);
  static std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b);
  std::optional<Polynomial> scaled(int64_t by) const { return multiply(*this, Polynomial(by)); }
  // The same polynomial where dimension d of the described tile is now map[d] (-1: gone,
  // it had extent 1).
  Polynomial remapped(llvm::ArrayRef<int8_t> map) const;

  bool operator==(const Polynomial &other) const;

private:
  // False: a coefficient left 64 bits, and wrapped around.
  bool normalize();
  llvm::SmallVector<Monomial, 2> terms_;
};

} // namespace tegula::analysis
