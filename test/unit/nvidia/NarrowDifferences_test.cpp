// Differences of 16 bits leave the compiler as ones of 32; all other text stays as it is.
#include "targets/nvidia/NarrowDifferences.h"

#include <gtest/gtest.h>

using tegula::nvidia::widenNarrowDifferences;

TEST(NarrowDifferences, AreComputedInWords) {
  EXPECT_EQ(widenNarrowDifferences("\tneg.s16 \t%rs2, %rs1;\n"),
            "\t{ .reg .b32 wide, other; cvt.u32.u16 wide, %rs1; sub.s32 wide, 0, wide; cvt.u16.u32 %rs2, "
            "wide; }\n");
  EXPECT_EQ(
      widenNarrowDifferences("\tabs.s16 \t%rs2, %rs1;\n"),
      "\t{ .reg .b32 wide, other; cvt.s32.s16 wide, %rs1; abs.s32 wide, wide; cvt.u16.u32 %rs2, wide; }\n");
  EXPECT_EQ(widenNarrowDifferences("\tsub.s16 \t%rs3, 7, %rs1;\n"),
            "\t{ .reg .b32 wide, other; mov.b32 wide, 7; cvt.u32.u16 other, %rs1; sub.s32 wide, wide, other; "
            "cvt.u16.u32 %rs3, wide; }\n");
}

TEST(NarrowDifferences, OtherLinesStay) {
  for (const char *text :
       {"", "\n", "\n\n", "\tneg.s32 \t%r2, %r1;\n", "\tsub.f16 \t%rs2, %rs1, %rs3;", "// neg.s16 is\n",
        "\t@%p1 neg.s16 \t%rs2, %rs1;\n", "\tneg.s16", "\tadd.s16 \t%rs2, %rs1, -1;\n\tret;\n"})
    EXPECT_EQ(widenNarrowDifferences(text), text);
}
