// Conversions to pairs of 8-bit floats that do not just make a word of two go through a word of their own;
// all other text stays as it is.
#include "targets/nvidia/LonePairs.h"

#include <gtest/gtest.h>

using tegula::nvidia::separateLonePairs;

static const std::string converted = "\tcvt.rn.satfinite.e5m2x2.f32 \t%rs1, %r2, %r1;\n"
                                     "\tcvt.rn.satfinite.e4m3x2.f16x2 \t%rs2, %r3;\n";

TEST(LonePairs, GoThroughAWord) {
  std::string separate =
      "\t{ .reg .b16 pair; .reg .b32 word; cvt.rn.satfinite.e5m2x2.f32 pair, %r2, %r1; cvt.u32.u16 word, "
      "pair; "
      "cvt.u16.u32 %rs1, word; }\n"
      "\t{ .reg .b16 pair; .reg .b32 word; cvt.rn.satfinite.e4m3x2.f16x2 pair, %r3; cvt.u32.u16 word, pair; "
      "cvt.u16.u32 %rs2, word; }\n";
  for (std::string uses : {"\tmov.b32 \t%r5, {%rs1, %rs2};\n\tmov.b32 \t%r6, {%rs3, %rs1};\n",
                           "\tmov.b32 \t%r5, {%rs1, %rs1};\n",
                           "\tmov.b32 \t%r5, {%rs1, %rs3};\n\tmov.b32 \t%r6, {%rs3, %rs2};\n",
                           "\tst.shared.b16 \t[%r9], %rs1;\n", "\n",
                           "\tst.shared.v2.b16 \t[%r9], {%rs1, %rs7};\n\tmov.b32 \t%r6, {%rs2, %rs1};\n"})
    EXPECT_EQ(separateLonePairs(converted + uses), separate + uses);
}

TEST(LonePairs, OtherTextStays) {
  std::string joined = converted + "\tmov.b32 \t%r5, {%rs2, %rs1};\n";
  for (std::string text : {"", "\tmov.b32 \t%r5, {%rs3, %rs3};\n", "\tcvt.rn.f16x2.e5m2x2 \t%r7, %rs11;\n",
                           "\tcvt.rn.satfinite.e5m2x2.f32", "\n"})
    EXPECT_EQ(separateLonePairs(joined + text), joined + text);
  for (std::string text : {"", "\n", "cvt.", "cvt.x.e5m2x2.f32 %rs",
                           "\tmov.b32 \t%r5, {%rs1, %rs1};\n\tmov.b32 \t%r6, {%rs1, %rs2};\n"})
    EXPECT_EQ(separateLonePairs(text), text);
}
