#include "targets/nvidia/RegistersUnderWay.h"

#include <gtest/gtest.h>

namespace {

using tegula::nvidia::keepFromRegistersUnderWay;

std::string product(const std::string &sums, const std::string &rows = "%rd1") {
  return "\twgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {" + sums +
         "}, " + rows + ", %rd2, 1, 1, 1, 0;\n";
}
const std::string commit = "\twgmma.commit_group.sync.aligned;\n",
                  wait = "\t// begin inline asm\n\twgmma.wait_group.sync.aligned 0;\n", ends = "\tret;\n";

TEST(RegistersUnderWay, CopiesOfSumsStandBehindTheWait) {
  std::string ahead = product("%r1, %r2") + commit;
  EXPECT_EQ(keepFromRegistersUnderWay(ahead +
                                      "\tadd.s32 \t%r9, %r8, 1;\n\tmov.b32 \t%r5, %r1;\n\t.loc\t1 2 3\n"
                                      "\tmov.b32 \t%r6, %r2;\n" +
                                      wait + ends),
            ahead + "\tadd.s32 \t%r9, %r8, 1;\n\t.loc\t1 2 3\n" + wait +
                "\tmov.b32 \t%r5, %r1;\n\tmov.b32 \t%r6, %r2;\n" + ends);
}

TEST(RegistersUnderWay, CopiesStayInTheirOrder) {
  std::string ahead = product("%r1, %r2") + commit + "$L__BB0_1:\n",
              trade = "\tmov.b32 \t%r5, %r1;\n\tmov.b32 \t%r1, %r2;\n\tmov.b32 \t%r2, %r5;\n";
  EXPECT_EQ(keepFromRegistersUnderWay(ahead + trade + wait + ends), ahead + wait + trade + ends);
}

TEST(RegistersUnderWay, UnpackedRowsStandBehindTheWait) {
  std::string ahead = product("%r1, %r2", "{%r3, %r4}"), unpacked = "\tmov.b32 \t{%rs1, %rs2}, %r3;\n";
  EXPECT_EQ(keepFromRegistersUnderWay(ahead + unpacked + commit + wait + ends),
            ahead + commit + wait + unpacked + ends);
}

TEST(RegistersUnderWay, StepsAddUpInOneRegister) {
  std::string again = "\tmov.b32 \t%r1, %r5;\n", copy = "\tmov.b32 \t%r5, %r1;\n";
  EXPECT_EQ(keepFromRegistersUnderWay("\tadd.f32 \t%r1, %r7, %r8;\n" + product("%r1, %r2") +
                                      product("%r1, %r2") + copy + product("%r5, %r2") + commit + wait +
                                      again + ends),
            "\tadd.f32 \t%r1, %r7, %r8;\n" + copy + product("%r5, %r2") + product("%r5, %r2") +
                product("%r5, %r2") + commit + wait + again + ends);
}

TEST(RegistersUnderWay, OtherCopiesStay) {
  for (const std::string &text :
       {product("%r1, %r2") + "\tmov.b32 \t%r5, 0;\n" + commit + wait,
        product("%r1, %r2") + "\tmov.u32 \t%r5, %tid.x;\n" + commit + wait,
        product("%r1, %r2") + commit + wait + "\tmov.b32 \t%r5, %r1;\n",
        // a reader ahead of the wait
        product("%r1, %r2") + "\tmov.b32 \t%r5, %r1;\n\tst.b32 \t[%rd4], %r5;\n" + commit + wait,
        // the source is written again ahead of the wait
        product("%r1, %r2") + commit + "$L__BB0_1:\n\tmov.b32 \t%r5, %r1;\n\tadd.s32 \t%r1, %r7, 1;\n" + wait,
        // somebody behind may read the sums as they were between the steps
        product("%r1, %r2") + "\tmov.b32 \t%r5, %r1;\n" + product("%r5, %r2") + commit + wait +
            "\tst.b32 \t[%rd4], %r1;\n",
        // on one of two ways
        product("%r1, %r2") + "\t@%p1 bra \t$L__BB0_2;\n\tmov.b32 \t%r5, %r1;\n$L__BB0_2:\n" + commit + wait})
    EXPECT_EQ(keepFromRegistersUnderWay(text + ends), text + ends);
}

} // namespace
