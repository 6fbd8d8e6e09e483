// Integer, logic and permute forms: the bits that the PTX manual's formulas give.
#include "Snippet.h"

namespace tegula::ptxvm {
namespace {

// Loads a and b (32 bits), runs `instruction` on them into %r3, returns it.
uint32_t of32(const std::string &instruction, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  return uint32_t(resultOf("mov.u32 %r0, " + std::to_string(a) + "; mov.u32 %r1, " + std::to_string(b) +
                           "; mov.u32 %r2, " + std::to_string(c) + ";\n" + instruction +
                           "\nst.global.u32 [%out], %r3;"));
}
uint64_t of64(const std::string &instruction, uint64_t a, uint64_t b = 0, uint64_t c = 0) {
  return resultOf("mov.u64 %rd0, " + std::to_string(a) + "U; mov.u64 %rd1, " + std::to_string(b) +
                  "U; mov.u64 %rd2, " + std::to_string(c) + "U;\n" + instruction +
                  "\nst.global.u64 [%out], %rd3;");
}

TEST(Integer, AddsAndSubtractsWithWrappingAndSaturation) {
  EXPECT_EQ(of32("add.u32 %r3, %r0, %r1;", 0xffffffff, 2), 1u);
  EXPECT_EQ(of32("add.sat.s32 %r3, %r0, %r1;", 0x7fffffff, 2), 0x7fffffffu);
  EXPECT_EQ(of32("sub.sat.s32 %r3, %r0, %r1;", 0x80000000, 1), 0x80000000u);
  EXPECT_EQ(of64("sub.s64 %rd3, %rd0, %rd1;", 0, 1), ~uint64_t(0));
  EXPECT_EQ(of32("add.u16x2 %r3, %r0, %r1;", 0xffff0001, 0x00010001), 2u);
}

TEST(Integer, CarriesThroughTheConditionCode) {
  EXPECT_EQ(of32("{ .reg .b32 %lo; add.cc.u32 %lo, %r0, %r1; addc.u32 %r3, 0, 0; }", 0xffffffff, 1), 1u);
  EXPECT_EQ(of32("{ .reg .b32 %lo; sub.cc.u32 %lo, %r0, %r1; subc.u32 %r3, 5, 0; }", 0, 1), 4u);
}

TEST(Integer, Multiplies) {
  EXPECT_EQ(of32("mul.lo.s32 %r3, %r0, %r1;", 0x10001, 0x10001), 0x20001u);
  EXPECT_EQ(of32("mul.hi.u32 %r3, %r0, %r1;", 0xffffffff, 0xffffffff), 0xfffffffeu);
  EXPECT_EQ(of32("mul.hi.s32 %r3, %r0, %r1;", 0xffffffff, 0xffffffff), 0u);
  EXPECT_EQ(of64("mul.hi.u64 %rd3, %rd0, %rd1;", ~uint64_t(0), ~uint64_t(0)), ~uint64_t(0) - 1);
  EXPECT_EQ(of64("mul.wide.s32 %rd3, %r0, -4; ", 0), 0u);
  EXPECT_EQ(of32("mad.lo.s32 %r3, %r0, %r1, %r2;", 7, 6, 5), 47u);
  EXPECT_EQ(of32("mul24.lo.u32 %r3, %r0, %r1;", 0x01ffffff, 2), 0x01fffffeu);
  EXPECT_EQ(of32("sad.u32 %r3, %r0, %r1, %r2;", 3, 10, 100), 107u);
  EXPECT_EQ(of32("dp4a.s32.u32 %r3, %r0, %r1, %r2;", 0xff020304, 0x01010101, 10), 18u);
}

TEST(Integer, Divides) {
  EXPECT_EQ(int32_t(of32("div.s32 %r3, %r0, %r1;", uint32_t(-7), 2)), -3);
  EXPECT_EQ(int32_t(of32("rem.s32 %r3, %r0, %r1;", uint32_t(-7), 2)), -1);
  EXPECT_EQ(of32("div.s32 %r3, %r0, %r1;", 0x80000000, 0xffffffff), 0x80000000u);
  EXPECT_EQ(of32("rem.s32 %r3, %r0, %r1;", 0x80000000, 0xffffffff), 0u);
  EXPECT_EQ(of32("div.u32 %r3, %r0, %r1;", 7, 0), 0xffffffffu);
}

TEST(Integer, CountsAndFindsBits) {
  EXPECT_EQ(of32("popc.b32 %r3, %r0;", 0xf0f0), 8u);
  EXPECT_EQ(of32("clz.b32 %r3, %r0;", 1), 31u);
  EXPECT_EQ(of32("clz.b32 %r3, %r0;", 0), 32u);
  EXPECT_EQ(of32("brev.b32 %r3, %r0;", 1), 0x80000000u);
  EXPECT_EQ(of32("bfind.u32 %r3, %r0;", 0x100), 8u);
  EXPECT_EQ(of32("bfind.shiftamt.u32 %r3, %r0;", 0x100), 23u);
  EXPECT_EQ(of32("bfind.s32 %r3, %r0;", 0xffffffff), 0xffffffffu);
  EXPECT_EQ(of32("fns.b32 %r3, %r0, 0, 2;", 0b10110), 2u);
}

TEST(Integer, ExtractsAndInsertsFields) {
  EXPECT_EQ(of32("bfe.u32 %r3, %r0, 8, 8;", 0x12345678), 0x56u);
  EXPECT_EQ(of32("bfe.s32 %r3, %r0, 0, 4;", 0x8), 0xfffffff8u);
  EXPECT_EQ(of32("bfe.s32 %r3, %r0, 28, 8;", 0x80000000), 0xfffffff8u);
  EXPECT_EQ(of32("bfi.b32 %r3, %r0, %r1, 8, 8;", 0xab, 0x11111111), 0x1111ab11u);
  EXPECT_EQ(of32("szext.clamp.s32 %r3, %r0, 4;", 0xf), 0xffffffffu);
  EXPECT_EQ(of32("bmsk.clamp.b32 %r3, 4, 8;", 0), 0xff0u);
}

TEST(Logic, CombinesShiftsAndPermutes) {
  EXPECT_EQ(of32("lop3.b32 %r3, %r0, %r1, %r2, 0xE8;", 0b1100, 0b1010, 0b1001), 0b1000u | 0b1000u);
  EXPECT_EQ(of32("lop3.b32 %r3, %r0, %r1, %r2, 0x96;", 0b1100, 0b1010, 0b1001), 0b1111u);
  EXPECT_EQ(of32("shl.b32 %r3, %r0, 40;", 1), 0u);
  EXPECT_EQ(of32("shr.s32 %r3, %r0, 40;", 0x80000000), 0xffffffffu);
  EXPECT_EQ(of32("shr.u32 %r3, %r0, 4;", 0x80000000), 0x08000000u);
  EXPECT_EQ(of32("shf.l.wrap.b32 %r3, %r0, %r1, 8;", 0x12345678, 0x9abcdef0), 0xbcdef012u);
  EXPECT_EQ(of32("shf.r.clamp.b32 %r3, %r0, %r1, 8;", 0x12345678, 0x9abcdef0), 0xf0123456u);
  EXPECT_EQ(of32("prmt.b32 %r3, %r0, %r1, 0x5410;", 0x33221100, 0x77665544), 0x55441100u);
  EXPECT_EQ(of32("prmt.b32 %r3, %r0, %r1, 0x8;", 0x80, 0), 0x808080ffu);
  EXPECT_EQ(of32("prmt.b32.f4e %r3, %r0, %r1, 1;", 0x33221100, 0x77665544), 0x44332211u);
  EXPECT_EQ(of32("cnot.b32 %r3, %r0;", 0), 1u);
}

TEST(Logic, NarrowValuesStayNarrow) {
  EXPECT_EQ(resultOf("mov.u16 %h0, 0xffff; add.u16 %h1, %h0, 2; not.b16 %h2, %h1; cvt.u32.u16 %r0, %h2; "
                     "st.global.u32 [%out], %r0;"),
            0xfffeu);
  EXPECT_EQ(resultOf("mov.u16 %h0, 0x8000; shr.s16 %h1, %h0, 3; st.global.u16 [%out], %h1;"), 0xf000u);
  EXPECT_EQ(
      resultOf("mov.u32 %r0, 0x1ff; cvt.u8.u32 %r1, %r0; cvt.s32.s8 %r2, %r1; st.global.u32 [%out], %r2;"),
      0xffffffffu);
  EXPECT_EQ(resultOf("mov.u32 %r0, 300; cvt.sat.u8.s32 %h1, %r0; st.global.u8 [%out], %h1;"), 255u);
}

TEST(Compare, SetsAndSelects) {
  EXPECT_EQ(resultOf("setp.lt.s32 %p1|%p2, -1, 1; selp.b32 %r1, 10, 20, %p1; selp.b32 %r2, 1, 2, %p2; "
                     "add.s32 %r3, %r1, %r2; st.global.u32 [%out], %r3;"),
            12u);
  EXPECT_EQ(resultOf("setp.lo.u32 %p1, -1, 1; selp.b32 %r1, 10, 20, !%p1; st.global.u32 [%out], %r1;"), 10u);
}

TEST(Compare, CombinesWithAnotherPredicate) {
  EXPECT_EQ(resultOf("setp.eq.s32 %p1, 1, 1; setp.gt.and.s32 %p2, 5, 3, !%p1; setp.gt.or.s32 %p3, 5, 3, %p2; "
                     "xor.pred %p4, %p2, %p3; selp.u32 %r0, 1, 0, %p4; st.global.u32 [%out], %r0;"),
            1u);
  EXPECT_EQ(resultOf("set.lt.u32.s32 %r0, 1, 2; slct.b32.s32 %r1, %r0, 7, -1; st.global.u32 [%out], %r1;"),
            7u);
  EXPECT_EQ(
      resultOf("setp.ltu.f32 %p1, 0f7FC00000, 0f00000000; selp.u32 %r0, 1, 0, %p1; set.gt.f32.f32 %f0, "
               "0f40000000, 1.0; mov.b32 %r1, %f0; mov.b64 %rd0, {%r0, %r1}; st.global.u64 [%out], %rd0;"),
      0x3f80000000000001u);
}

} // namespace
} // namespace tegula::ptxvm
