// Layouts of matrix instructions against the formulas of the PTX manual, and loads of matrices executed on a
// model.
#include "layout/Builders.h"
#include "layout/MatrixAccess.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace tegula::layout;

namespace {

constexpr MatrixShape f16{16, 8, 16, 16}, tf32{16, 8, 8, 32}, s8{16, 8, 32, 8}, f64{8, 8, 4, 64};
constexpr MatrixShape s8Pairs{
    .m = 16, .n = 8, .k = 32, .elementBits = 8, .pairsRows = true, .pairsColumns = true};

// PTX ISA, "Matrix Fragments for mma.m16n8k16": row and column of register i of a lane.
TEST(Matrix, FragmentsOf16BitsAreTheManuals) {
  Layout c = matrixResult({16, 8}, f16, 1, 1, 1);
  Layout a = matrixOperand(c, f16, 0, 16), b = matrixOperand(c, f16, 1, 16);
  for (unsigned lane = 0; lane != 32; ++lane) {
    unsigned group = lane / 4, inGroup = lane % 4;
    for (unsigned i = 0; i != 4; ++i)
      EXPECT_EQ(c.coordinates(c.apply(i, lane, 0)),
                (std::vector<int64_t>{group + (i < 2 ? 0 : 8), inGroup * 2 + (i & 1)}));
    for (unsigned i = 0; i != 8; ++i)
      EXPECT_EQ(
          a.coordinates(a.apply(i, lane, 0)),
          (std::vector<int64_t>{group + ((i / 2) % 2 ? 8 : 0), inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0)}));
    for (unsigned i = 0; i != 4; ++i)
      EXPECT_EQ(b.coordinates(b.apply(i, lane, 0)),
                (std::vector<int64_t>{inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0), group}));
  }
}

TEST(Matrix, FragmentsOfOtherWidthsAreTheManuals) {
  Layout c = matrixResult({16, 8}, tf32, 1, 1, 1), a = matrixOperand(c, tf32, 0, 8);
  Layout bytes = matrixOperand(matrixResult({16, 8}, s8, 1, 1, 1), s8, 0, 32);
  Layout wide = matrixOperand(matrixResult({8, 8}, f64, 1, 1, 1), f64, 1, 4);
  for (unsigned lane = 0; lane != 32; ++lane) {
    for (unsigned i = 0; i != 4; ++i)
      EXPECT_EQ(a.coordinates(a.apply(i, lane, 0)),
                (std::vector<int64_t>{lane / 4 + (i & 1) * 8, lane % 4 + (i >> 1) * 4}));
    for (unsigned i = 0; i != 16; ++i)
      EXPECT_EQ(
          bytes.coordinates(bytes.apply(i, lane, 0)),
          (std::vector<int64_t>{lane / 4 + (i / 4 % 2) * 8, lane % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)}));
    EXPECT_EQ(wide.coordinates(wide.apply(0, lane, 0)), (std::vector<int64_t>{lane % 4, lane / 4}));
  }
}

TEST(Matrix, ResultsAndOperandsCoverTheTile) {
  for (bool isSwapped : {false, true})
    for (auto [m, n, warpsM, warpsN] : {std::tuple(128, 64, 2, 2), std::tuple(64, 128, 4, 1),
                                        std::tuple(48, 80, 1, 2), std::tuple(16, 8, 1, 1)}) {
      MatrixShape shape = f16;
      shape.isSwapped = isSwapped;
      Layout c = matrixResult({m, n}, shape, warpsM, warpsN, 4);
      EXPECT_TRUE(c.isSurjective()) << c.text();
      EXPECT_TRUE(matrixOperand(c, shape, 0, 32).isSurjective());
      EXPECT_TRUE(matrixOperand(c, shape, 1, 48).isSurjective());
    }
}

// Warps that rows and columns leave share the batch: each has neighbours of it, and of both operands what it
// multiplies.
TEST(Matrix, WarpsShareABatch) {
  for (auto [batch, warpsM, warpsN] : {std::tuple(16, 1, 1), std::tuple(4, 1, 2), std::tuple(2, 2, 2)}) {
    Layout c = matrixResult({batch, 32, 16}, f16, unsigned(warpsM), unsigned(warpsN), 8);
    EXPECT_TRUE(c.isSurjective()) << c.text();
    EXPECT_EQ(c.freeBits(Axis::Warp) != 0, batch * warpsM * warpsN < 8) << c.text();
    for (unsigned operand : {0u, 1u}) {
      Layout factor = matrixOperand(c, f16, operand, 32);
      EXPECT_TRUE(factor.isSurjective()) << factor.text();
      for (unsigned warp = 0; warp != 8; ++warp)
        EXPECT_EQ(factor.coordinates(factor.apply(0, 0, warp))[0], c.coordinates(c.apply(0, 0, warp))[0]);
    }
  }
  Layout neighbours = matrixResult({16, 16, 16}, f16, 1, 1, 4);
  EXPECT_EQ(neighbours.coordinates(neighbours.apply(0, 0, 1))[0], 4);
}

TEST(Matrix, ShortTilesRepeat) {
  Layout c = matrixResult({2, 16}, {16, 8, 16, 16, true}, 1, 1, 2);
  EXPECT_TRUE(c.isSurjective());
  EXPECT_NE(c.freeBits(Axis::Lane) | c.freeBits(Axis::Register), 0u);
}

// The result of a product is the left operand of the next as it lies, but for the numbers of registers.
TEST(Matrix, AResultIsTheNextProductsLeftOperand) {
  Layout c = matrixResult({64, 32}, f16, 4, 1, 4),
         next = matrixOperand(matrixResult({64, 128}, f16, 4, 1, 4), f16, 0, 32);
  for (unsigned lane = 0; lane != 32; ++lane)
    for (unsigned warp = 0; warp != 4; ++warp) {
      std::set<uint32_t> held, wanted;
      for (unsigned reg = 0; reg != c.size(Axis::Register); ++reg) {
        held.insert(c.apply(reg, lane, warp));
        wanted.insert(next.apply(reg, lane, warp));
      }
      EXPECT_EQ(held, wanted);
    }
}

// PTX ISA, "ldmatrix": lane 8i + r has the address of row r of matrix i; a lane gets 4 bytes of each.
std::map<unsigned, uint32_t> loaded(const MatrixAccess &access, unsigned lane, unsigned warp,
                                    unsigned elementBits) {
  unsigned perRow = 128 / elementBits, perWord = 32 / elementBits;
  auto thread = [&](unsigned l) {
    uint32_t offset = 0;
    for (unsigned bit = 0; bit != laneBits; ++bit)
      offset ^= l >> bit & 1 ? access.laneOffsets[bit] : 0;
    for (unsigned bit = 0; bit != access.warpOffsets.size(); ++bit)
      offset ^= warp >> bit & 1 ? access.warpOffsets[bit] : 0;
    return offset;
  };
  std::map<unsigned, uint32_t> result; // register -> offset of its element
  for (const MatrixAccess::Piece &piece : access.pieces)
    for (unsigned matrix = 0; matrix != access.matrices; ++matrix)
      for (unsigned i = 0; i != perWord; ++i) {
        // Transposed units are of 16 bits: two elements where those have 8.
        unsigned perUnit = 16 / elementBits;
        unsigned row = access.isTransposed ? 2 * (lane % 4) + i / perUnit : lane / 4;
        unsigned column = access.isTransposed ? lane / 4 * perUnit + i % perUnit : perWord * (lane % 4) + i;
        uint32_t start = thread(8 * matrix + row) ^ piece.offset;
        EXPECT_EQ(start % perRow, 0u) << "a row is aligned to 16 bytes";
        result[piece.registers[matrix][i]] = start + column;
      }
  return result;
}

TEST(Matrix, LoadsOfMatricesBringEachRegisterItsElement) {
  struct Case {
    MatrixShape shape;
    unsigned operand, fastest;
    bool fits;
  };
  for (const Case &each :
       {Case{f16, 0, 1, true}, Case{f16, 0, 0, true}, Case{f16, 1, 0, true}, Case{f16, 1, 1, true},
        Case{tf32, 0, 1, true}, Case{tf32, 1, 0, true}, Case{tf32, 1, 1, false}, Case{s8, 0, 1, true},
        Case{s8, 1, 1, false}, Case{s8Pairs, 0, 0, true}, Case{s8Pairs, 1, 1, true},
        Case{s8Pairs, 1, 0, true}, Case{f64, 0, 1, false}}) {
    Layout layout = matrixOperand(matrixResult({64, 64}, each.shape, 2, 2, 4), each.shape, each.operand, 64);
    SharedMap map = matrixMap(layout.extents(), each.fastest, each.shape.elementBits);
    ASSERT_TRUE(map.isInjective());
    std::optional<MatrixAccess> access = planMatrixAccess(layout, map, each.shape.elementBits);
    ASSERT_EQ(access.has_value(), each.fits) << each.shape.elementBits << " bits, operand " << each.operand;
    if (!access)
      continue;
    for (unsigned lane = 0; lane != 32; ++lane)
      for (unsigned warp = 0; warp != 4; ++warp) {
        std::map<unsigned, uint32_t> found = loaded(*access, lane, warp, each.shape.elementBits);
        EXPECT_EQ(found.size(), layout.size(Axis::Register));
        for (auto [reg, offset] : found)
          EXPECT_EQ(offset, map.offset(layout.apply(reg, lane, warp)));
      }
  }
}

TEST(Matrix, NoLoadOfMatricesReadsOutsideOfTheExtents) {
  Layout layout = matrixOperand(matrixResult({64, 20}, f16, 1, 1, 4), f16, 1, 16);
  EXPECT_FALSE(planMatrixAccess(layout, matrixMap(layout.extents(), 1, 16), 16));
}

// A fragment's words are the elements that the instruction wants, in other rows and columns of the tile.
TEST(Matrix, PairsAreRowsAndColumnsOfTheInstruction) {
  Layout c = matrixResult({16, 16}, s8Pairs, 1, 1, 1);
  Layout a = matrixOperand(c, s8Pairs, 0, 32), b = matrixOperand(c, s8Pairs, 1, 32);
  EXPECT_TRUE(c.isSurjective() && a.isSurjective() && b.isSurjective());
  auto pairOf = [](unsigned index, unsigned odd) { return int64_t(2 * index + odd); };
  for (unsigned lane = 0; lane != 32; ++lane) {
    for (unsigned i = 0; i != 8; ++i) // column, row + 8, then the second instruction
      EXPECT_EQ(c.coordinates(c.apply(i, lane, 0)),
                (std::vector<int64_t>{pairOf(lane / 4, i / 2 % 2), pairOf(2 * (lane % 4) + (i & 1), i / 4)}));
    for (unsigned i = 0; i != 16; ++i) {
      EXPECT_EQ(
          a.coordinates(a.apply(i, lane, 0)),
          (std::vector<int64_t>{pairOf(lane / 4, i / 4 % 2), lane % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)}));
      EXPECT_EQ(b.coordinates(b.apply(i, lane, 0)),
                (std::vector<int64_t>{lane % 4 * 4 + (i & 3) + (i & 4 ? 16 : 0), pairOf(lane / 4, i / 8)}));
    }
  }
}

// Eight rows of 16 bytes in one phase lie in different banks, whatever the length of a row.
TEST(Matrix, RowsOfAMatrixLieInDifferentBanks) {
  for (int64_t columns : {8, 16, 32, 64, 128}) {
    Layout tile({64, columns}, {});
    SharedMap map = matrixMap({64, columns}, 1, 16);
    for (int64_t first = 0; first != 64; first += 8)
      for (int64_t column = 0; column < columns; column += 8) {
        std::set<uint32_t> banks;
        for (int64_t row = 0; row != 8; ++row)
          banks.insert(map.offset(tile.flatten(std::vector<int64_t>{first + row, column})) * 2 / 16 % 8);
        EXPECT_EQ(banks.size(), 8u) << columns << " columns";
      }
  }
}

TEST(Matrix, RowsOfAMatrixOfPairsLieInDifferentBanks) {
  for (int64_t columns : {16, 32, 64, 128, 256}) {
    Layout tile({64, columns}, {});
    SharedMap map = matrixMap({64, columns}, 1, 8, 1, true);
    ASSERT_TRUE(map.isInjective());
    for (int64_t first : {0, 2, 16, 50})
      for (int64_t column = 0; column < columns; column += 16) {
        std::set<uint32_t> banks;
        for (int64_t row : {0, 1, 4, 5, 8, 9, 12, 13})
          banks.insert(map.offset(tile.flatten(std::vector<int64_t>{first + row, column})) / 16 % 8);
        EXPECT_EQ(banks.size(), 8u) << columns << " columns";
      }
  }
}

TEST(Matrix, CopiesTakeWhatLiesInOrder) {
  Layout layout = coalesced({64, 64}, 8, 4);
  EXPECT_EQ(copyWidth(layout, matrixMap({64, 64}, 1, 16), 8), 8u);
  EXPECT_EQ(copyWidth(layout, matrixMap({64, 64}, 0, 16), 8), 1u);
  EXPECT_EQ(copyWidth(layout, linearMap(12), 4), 4u);
}

} // namespace
