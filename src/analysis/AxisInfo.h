// How the elements of a tile of integers, conditions or addresses run along each dimension: in
// steps of one, in multiples of a power of two, in runs of equal ones. From it come the width
// of memory accesses and the order of a layout's dimensions. In: a kernel in tile IR, with or
// without layouts (encodings are ignored). Out: facts, each for groups of a power of two of
// neighbours that start at multiples of the group's size and end at the tile's extent.
//
// Facts hold in wrapping arithmetic. What two values that wrap would break is claimed only
// under Trust::Indices; `order`, which cannot make code wrong, always trusts.
#pragma once
#include "ir/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tegula::analysis {

// Along dimension d, for the groups of `contiguity[d]` neighbours: each is one more than the one
// before (for pointers: the next element), and the first of each group is a multiple of
// `divisibility[d]` (for pointers: in bytes). In each group of `constancy[d]` neighbours all are
// equal. All are powers of two; those of groups at most the extent rounded up to one. A scalar
// has one dimension of extent 1.
struct AxisInfo {
  llvm::SmallVector<int64_t, 4> contiguity, divisibility, constancy;
  std::optional<int64_t> constant; // of all elements; sign-extended, but 0 or 1 of i1

  bool operator==(const AxisInfo &other) const = default;
  unsigned rank() const { return contiguity.size(); }
};

// What is taken for granted besides what is proven.
enum class Trust {
  Nothing,
  // Sums and products of what is not negative do not overflow, integer arguments are not
  // negative, and no divisor is 0: true of programs whose indices stay within their tensors.
  Indices,
};

// A unit attribute of a remainder or a quotient: where it would tear a run of neighbours apart, the program
// has ended before (transforms/CheckRemainders.h).
inline constexpr llvm::StringLiteral checkedRemainderName = "tt.checked";

// An integer attribute of an op: its result is that operand, as long as somebody asks what would be if it
// were.
inline constexpr llvm::StringLiteral takenOperandName = "tt.taken";

class AxisInfoAnalysis {
public:
  explicit AxisInfoAnalysis(tile::FuncOp function, Trust trust = Trust::Nothing);

  const AxisInfo &at(mlir::Value value);
  // The same under Trust::Indices: for choices that make nothing wrong.
  const AxisInfo &likelyAt(mlir::Value value);

  // The widest power of two of elements along `dim` that one access may take: contiguity,
  // alignment of the address, constancy of the mask (null: none), at most `limitBits`. When it is
  // less than the limit, `why` gets the reason in one sentence.
  unsigned accessWidth(mlir::Value pointers, mlir::Value mask, unsigned dim, unsigned limitBits,
                       std::string *why = nullptr);

  // The dimensions, most contiguous first; where none is, the one with the least usual stride first; of those
  // that only run time knows, the one that is known to be a multiple of less; of equals the last dimension
  // first.
  llvm::SmallVector<unsigned> order(mlir::Value pointers);

private:
  // Of the distance of neighbours along each dimension, in bytes: a power of two; at most 2^20.
  llvm::SmallVector<int64_t, 4> knownDivisorsOfStrides(mlir::Value pointers);

  llvm::DenseMap<mlir::Value, AxisInfo> facts_, likely_; // as trusted; with Trust::Indices
};

} // namespace tegula::analysis
