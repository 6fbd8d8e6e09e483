// Operands that matrix instructions read from shared memory by themselves: where the PTX manual's formulas
// find an element, the map has put it.
#include "layout/Builders.h"
#include "layout/MatrixAccess.h"
#include "layout/OperandTile.h"

#include <gtest/gtest.h>

using namespace tegula::layout;

namespace {

struct Images {
  std::vector<uint32_t> rows, k;
};
Images imagesOf(const SharedMap &map, int64_t rows, int64_t k) {
  Layout tile({rows, k}, {});
  auto of = [&](unsigned dim) {
    auto first = map.images.begin() + tile.shift(dim);
    return std::vector<uint32_t>(first, first + tile.hullBits(dim));
  };
  return {of(0), of(1)};
}

// Byte of element (row, k) by the manual, in an instruction that starts at byte `start`.
uint32_t byteOf(const OperandTile &tile, uint32_t start, unsigned row, unsigned k, unsigned bytes) {
  uint32_t at = start;
  if (tile.isTransposed) {
    unsigned together = tile.swizzle / bytes;
    at += row % together * bytes + row / together * tile.leading + k % 8 * tile.swizzle + k / 8 * tile.stride;
  } else {
    at += row % 8 * tile.swizzle + row / 8 * tile.stride + k * bytes;
  }
  return at ^ (at & (tile.swizzle / 16 - 1) << 7) >> 3;
}

TEST(OperandTile, TheInstructionFindsWhatTheMapHasPut) {
  for (unsigned fastest : {0u, 1u})
    for (int64_t rows : {8, 16, 64, 80, 128, 256})
      for (int64_t k : {16, 32, 64, 128}) {
        SharedMap map = matrixMap({rows, k}, fastest, 16);
        Images images = imagesOf(map, rows, k);
        unsigned together = unsigned(std::min<int64_t>(rows, 64));
        std::optional<OperandTile> tile = planOperandTile(images.rows, images.k, together, 16, 16);
        bool isTooNarrow = fastest == 0 && rows < 16;
        ASSERT_EQ(tile.has_value(), !isTooNarrow) << rows << " x " << k << " by " << fastest;
        if (!tile)
          continue;
        EXPECT_EQ(tile->isTransposed, fastest == 0);
        Layout whole({rows, k}, {});
        for (unsigned piece = 0; piece + together <= unsigned(rows); piece += together)
          for (unsigned step = 0; step < unsigned(k); step += 16) {
            uint32_t start = map.offset(whole.flatten(std::vector<int64_t>{piece, step})) * 2;
            for (unsigned row = 0; row < together; ++row)
              for (unsigned inner = 0; inner < 16; ++inner)
                ASSERT_EQ(byteOf(*tile, start, row, inner, 2),
                          map.offset(whole.flatten(std::vector<int64_t>{piece + row, step + inner})) * 2)
                    << rows << " x " << k << " by " << fastest << ": " << piece + row << ", " << step + inner;
          }
      }
}

TEST(OperandTile, EightBitsAreNotTransposed) {
  SharedMap across = matrixMap({64, 64}, 0, 8), along = matrixMap({64, 64}, 1, 8);
  EXPECT_FALSE(planOperandTile(imagesOf(across, 64, 64).rows, imagesOf(across, 64, 64).k, 64, 32, 8));
  EXPECT_TRUE(planOperandTile(imagesOf(along, 64, 64).rows, imagesOf(along, 64, 64).k, 64, 32, 8));
}

TEST(OperandTile, OtherMapsDoNotFit) {
  SharedMap turned = matrixMap({64, 64}, 1, 16, 2);
  EXPECT_FALSE(planOperandTile(imagesOf(turned, 64, 64).rows, imagesOf(turned, 64, 64).k, 64, 16, 16));
  SharedMap plain = linearMap(12);
  EXPECT_FALSE(planOperandTile(imagesOf(plain, 64, 64).rows, imagesOf(plain, 64, 64).k, 64, 16, 16));
}

TEST(OperandTile, WarpsOfOneInstructionLieAlongM) {
  MatrixShape shape{16, 8, 16, 16, false, 4};
  Layout result = matrixResult({128, 64}, shape, 4, 2, 8);
  EXPECT_TRUE(result.isSurjective());
  std::vector<int64_t> second{16, 0}, half{0, 32};
  EXPECT_EQ(result.apply(0, 0, 1), result.flatten(second));
  EXPECT_EQ(result.apply(0, 0, 4), result.flatten(half)) << "columns of a group are in one piece";
}

} // namespace
