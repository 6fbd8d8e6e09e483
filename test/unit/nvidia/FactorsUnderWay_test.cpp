#include "targets/nvidia/FactorsUnderWay.h"

#include <gtest/gtest.h>

namespace {

using tegula::nvidia::giveFactorsOwnRegisters;

const std::string opening = ".visible .entry kernel(\n)\n{\n\t.reg .b32 \t%r<9>;\n",
                  fenceLine = "\twgmma.fence.sync.aligned;\n",
                  endGroup = "\twgmma.commit_group.sync.aligned;\n",
                  declarationLine = "\t.reg .b32 \t%own<1>;\n", copyLine = "\tmov.b32 \t%own0, %r3;\n",
                  readLine = "\tshl.b32 \t%r6, %r3, 1;\n", closing = "\tret;\n}\n";

std::string ofRows(const std::string &rows) {
  return "\twgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%r1, %r2}, {" + rows +
         "}, %rd2, 1, 1, 1, 0;\n";
}
std::string waitFor(int pending) {
  return "\twgmma.wait_group.sync.aligned " + std::to_string(pending) + ";\n";
}

// The products that read a register together read one copy of it.
TEST(FactorsUnderWay, WhatOthersReadIsCopiedAheadOfTheFence) {
  EXPECT_EQ(giveFactorsOwnRegisters(opening + fenceLine + ofRows("%r3, %r4") + ofRows("%r4, %r3") + readLine +
                                    endGroup + waitFor(0) + closing),
            opening + declarationLine + copyLine + fenceLine + ofRows("%own0, %r4") + ofRows("%r4, %own0") +
                readLine + endGroup + waitFor(0) + closing);
}

TEST(FactorsUnderWay, WhatOthersWriteIsCopied) {
  std::string write = "{\n\t.reg .pred some;\n\tselp.b32 %r3, %r5, %r7, some;\n}\n";
  EXPECT_EQ(giveFactorsOwnRegisters(opening + fenceLine + ofRows("%r3") + write + fenceLine + ofRows("%r3") +
                                    waitFor(0) + closing),
            opening + declarationLine + copyLine + fenceLine + ofRows("%own0") + write + fenceLine +
                ofRows("%r3") + waitFor(0) + closing);
}

TEST(FactorsUnderWay, GroupsEndInTheirOrder) {
  std::string two = opening + fenceLine + ofRows("%r3") + endGroup + fenceLine + ofRows("%r4") + endGroup;
  EXPECT_EQ(giveFactorsOwnRegisters(two + waitFor(1) + readLine + waitFor(0) + closing),
            two + waitFor(1) + readLine + waitFor(0) + closing);
  EXPECT_NE(giveFactorsOwnRegisters(two + readLine + waitFor(0) + closing),
            two + readLine + waitFor(0) + closing);
}

TEST(FactorsUnderWay, OthersStay) {
  for (const std::string &text :
       {fenceLine + ofRows("%r3") + endGroup + waitFor(0) + readLine, // behind the wait
        fenceLine + ofRows("%r4") + readLine + waitFor(0),            // of no product
        "\tshl.b32 \t%r3, %r6, 1;\n" + fenceLine + ofRows("%r3") + waitFor(0),
        fenceLine + ofRows("%r3") + "$L__BB0_1:\n" + readLine + waitFor(0), // perhaps on another way
        fenceLine + "\tadd.s32 \t%r3, %r6, 1;\n" + ofRows("%r3") + readLine + waitFor(0)})
    EXPECT_EQ(giveFactorsOwnRegisters(opening + text + closing), opening + text + closing);
}

} // namespace
