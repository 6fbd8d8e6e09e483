// Offsets ahead of products of several warps leave the compiler shifted; all other text stays as it is.
#include "targets/nvidia/OffsetProducts.h"

#include <gtest/gtest.h>

using tegula::nvidia::splitOffsetProducts;

TEST(OffsetProducts, AreShiftedAheadOfTheLastProductOfSeveralWarps) {
  EXPECT_EQ(splitOffsetProducts("\tmul.wide.s32 \t%rd1, %r1, 2;\n"
                                "\tmul.wide.u32 \t%rd2, %r2, 1073741824;\n"
                                "\twgmma.mma_async.sync.aligned\n"
                                "\tmul.wide.s32 \t%rd3, %r3, 1;\n"
                                "\twgmma.mma_async.sync.aligned\n"
                                "\tmul.wide.s32 \t%rd4, %r4, 2;\n"),
            "\tcvt.s64.s32 \t%rd1, %r1; shl.b64 \t%rd1, %rd1, 1;\n"
            "\tcvt.u64.u32 \t%rd2, %r2; shl.b64 \t%rd2, %rd2, 30;\n"
            "\twgmma.mma_async.sync.aligned\n"
            "\tcvt.s64.s32 \t%rd3, %r3; shl.b64 \t%rd3, %rd3, 0;\n"
            "\twgmma.mma_async.sync.aligned\n"
            "\tmul.wide.s32 \t%rd4, %r4, 2;\n");
}

TEST(OffsetProducts, AreShiftedInBlocksThatStandBehindTheProductInItsLoop) {
  std::string loop = "$L__BB0_10:\n"
                     "\twgmma.mma_async.sync.aligned\n"
                     "\t@%p1 bra \t$L__BB0_9;\n"
                     "\tbra.uni \t$L__BB0_11;\n"
                     "$L__BB0_9:\n";
  std::string ends = "\tbra.uni \t$L__BB0_10;\n"
                     "$L__BB0_11:\n"
                     "\tmul.wide.s32 \t%rd2, %r2, 2;\n"
                     "\tbra.uni \t$L__BB0_12;\n";
  EXPECT_EQ(splitOffsetProducts(loop + "\tmul.wide.s32 \t%rd1, %r1, 2;\n" + ends),
            loop + "\tcvt.s64.s32 \t%rd1, %r1; shl.b64 \t%rd1, %rd1, 1;\n" + ends);
}

TEST(OffsetProducts, OtherLinesStay) {
  for (std::string line :
       {"\tmul.wide.s32 \t%rd1, %r1, 3;", "\tmul.wide.s32 \t%rd1, %r1, -2;",
        "\tmul.wide.s32 \t%rd1, %r1, -2147483648;", "\tmul.wide.u32 \t%rd1, %r1, 0;",
        "\tmul.wide.u32 \t%rd1, %r1, 4294967296;", "\tmul.wide.s32 \t%rd1, %r1, %r2;",
        "\tmul.wide.s16 \t%r1, %rs1, 2;", "\t@%p1 mul.wide.s32 \t%rd1, %r1, 2;", "\tmul.wide.s32",
        "\tmul.wide.s32 \t%rd1, 2;", "\tmul.lo.s32 \t%r1, %r2, 2;", ""}) {
    std::string text = line + "\n\twgmma.mma_async.sync.aligned\n\n";
    EXPECT_EQ(splitOffsetProducts(text), text);
  }
  for (std::string text : {"", "\n", "\tmul.wide.s32 \t%rd1, %r1, 2;\n"})
    EXPECT_EQ(splitOffsetProducts(text), text);
}
