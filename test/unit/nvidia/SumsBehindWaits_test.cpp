#include "targets/nvidia/SumsBehindWaits.h"

#include <gtest/gtest.h>

namespace {

using tegula::nvidia::copySumsBehindWaits;

const std::string wait = "\t// begin inline asm\n\twgmma.wait_group.sync.aligned 0;\n\t// end inline asm\n";

TEST(SumsBehindWaits, CopiesAheadOfAWaitStandBehindIt) {
  EXPECT_EQ(copySumsBehindWaits("\tadd.s32 \t%r9, %r8, 1;\n\tmov.b32 \t%r5, %r1;\n\t.loc\t1 2 3\n"
                                "\tmov.b32 \t%r6, %r2;\n" +
                                wait + "\tret;\n"),
            "\tadd.s32 \t%r9, %r8, 1;\n\t.loc\t1 2 3\n\t// begin inline asm\n"
            "\twgmma.wait_group.sync.aligned 0;\n\tmov.b32 \t%r5, %r1;\n\tmov.b32 \t%r6, %r2;\n"
            "\t// end inline asm\n\tret;\n");
}

TEST(SumsBehindWaits, OtherCopiesStay) {
  for (const char *line :
       {"\tmov.b32 \t%r5, 0;\n", "\tmov.u32 \t%r5, %tid.x;\n", "\tmov.b64 \t{%r1, %r2}, %rd5;\n",
        "\tmov.b32 \t%r5, %r1;\n\tadd.s32 \t%r9, %r5, 1;\n", "$L__BB0_2:\n"})
    EXPECT_EQ(copySumsBehindWaits(line + wait), line + wait);
  EXPECT_EQ(copySumsBehindWaits("\tmov.b32 \t%r5, %r1;\n\tret;\n"), "\tmov.b32 \t%r5, %r1;\n\tret;\n");
}

} // namespace
