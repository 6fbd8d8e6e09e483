// Offsets ahead of products of several warps leave the compiler shifted, others as products of 32 bits; all
// other text stays as it is.
#include "targets/nvidia/OffsetProducts.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

using tegula::nvidia::addOffsetProducts;
using tegula::nvidia::joinOffsetProducts;
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

TEST(OffsetProducts, OfManyLoadsIntoRegistersStayProducts) {
  auto loop = [](int offsets, const std::string &copy) {
    std::string products, loads;
    for (int i = 0; i != offsets; ++i) {
      std::string number = std::to_string(i + 10);
      products += "\tmul.wide.s32 \t%rd" + number + ", %r" + number + ", 2;\n";
      loads += "\tadd.s64 \t%rd1" + number + ", %rd1, %rd" + number + ";\n\t@%p1 " + copy + "[%rd1" + number +
               "];\n";
    }
    return products + "\tmul.wide.s32 \t%rd2, %r2, 2;\n$L__BB0_1:\n" + loads +
           "\twgmma.mma_async.sync.aligned\n\tbra.uni \t$L__BB0_1;\n";
  };
  auto products = [](const std::string &text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find("mul.wide", at)) != text.npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(products(splitOffsetProducts(loop(49, "ld.global.b16 %rs1, "))), 49u);
  EXPECT_EQ(products(splitOffsetProducts(loop(20, "ld.global.b16 %rs1, "))), 0u) << "registers have room";
  EXPECT_EQ(products(splitOffsetProducts(loop(49, "cp.async.cg.shared.global [%r1], "))), 0u);
}

TEST(OffsetProducts, ThatALoopComputesForALoadEachStayProducts) {
  auto loop = [](int offsets, const std::string &others) {
    std::string text = "\tmul.wide.s32 \t%rd2, %r2, 2;\n$L__BB0_1:\n";
    for (int i = 0; i != offsets; ++i) {
      std::string number = std::to_string(i + 10);
      text += "\tmul.wide.s32 \t%rd" + number + ", %r" + number + ", 2;\n\tadd.s64 \t%rd1" + number +
              ", %rd1, %rd" + number + ";\n\t@%p1 ld.global.b16 %rs1, [%rd1" + number + "];\n";
    }
    return text + others + "\twgmma.mma_async.sync.aligned\n\tbra.uni \t$L__BB0_1;\n";
  };
  auto products = [](const std::string &text) { return llvm::StringRef(text).count("mul.wide"); };
  EXPECT_EQ(products(splitOffsetProducts(loop(8, ""))), 8u) << "all but the one ahead of the loop";
  EXPECT_EQ(products(splitOffsetProducts(loop(7, ""))), 0u) << "few";
  EXPECT_EQ(products(splitOffsetProducts(loop(8, "\tadd.s64 \t%rd3, %rd4, %rd10;\n"))), 0u)
      << "one is of two loads";
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

TEST(OffsetProducts, OfIndicesThatAnotherBlockWidenedAreOfTheirWords) {
  EXPECT_EQ(joinOffsetProducts("\tadd.s32 \t%r1, %r2, 4;\n"
                               "\tcvt.s64.s32 \t%rd1, %r1;\n"
                               "\tmov.u32 \t%r3, %tid.x;\n"
                               "\tcvt.u64.u32 \t%rd2, %r3;\n"
                               "\tbar.sync \t0;\n"
                               "\tshl.b64 \t%rd3, %rd1, 2;\n"
                               "\tshl.b64 \t%rd4, %rd2, 30;\n"),
            "\tadd.s32 \t%r1, %r2, 4;\n"
            "\tcvt.s64.s32 \t%rd1, %r1;\n"
            "\tmov.u32 \t%r3, %tid.x;\n"
            "\tcvt.u64.u32 \t%rd2, %r3;\n"
            "\tbar.sync \t0;\n"
            "\tmul.wide.s32 \t%rd3, %r1, 4;\n"
            "\tmul.wide.u32 \t%rd4, %r3, 1073741824;\n");
}

TEST(OffsetProducts, OfIndicesThatChangeStayShifted) {
  const std::string ends = "\tcvt.s64.s32 \t%rd1, %r1;\n\tshl.b64 \t%rd2, %rd1, 2;\n";
  for (std::string again :
       {"\tadd.s32 \t%r1, %r1, 4;\n", "\t@%p1 mov.b32 \t%r1, 0;\n", "\tcvt.s64.s32 \t%rd1, %r2;\n",
        "\tld.global.v2.b32 \t{%r4, %r1}, [%rd9];\n",
        "\t{ .reg .b32 t; add.s32 t, %r2, 1; mov.b32 %r1, t; }\n",
        "\tshfl.sync.bfly.b32 \t%r1|%p1, %r2, 1, 31, -1;\n", "\tmma.sync {%r1, %r2},\n\t{%r3, %r4};\n",
        "\tmma.sync\n\t{%r1, %r2}, {%r3, %r4};\n"}) {
    std::string text = "\tmov.b32 \t%r1, 0;\n" + again + ends;
    EXPECT_EQ(joinOffsetProducts(text), text) << again;
  }
  const std::string half = "\tcvt.s64.s32 \t%rd1, %rd3;\n\tshl.b64 \t%rd2, %rd1, 2;\n"; // of 64 bits
  EXPECT_EQ(joinOffsetProducts("\tmov.b64 \t%rd3, 0;\n" + half), "\tmov.b64 \t%rd3, 0;\n" + half);
  const std::string unknown = ends + "\tst.global.b32 \t[%rd5], %r1;\n"; // nobody writes the index
  EXPECT_EQ(joinOffsetProducts(unknown), unknown);
}

TEST(OffsetProducts, OfOtherShiftsStay) {
  const std::string begins = "\tmov.b32 \t%r1, 0;\n\tcvt.s64.s32 \t%rd1, %r1;\n";
  for (std::string line :
       {"\tshl.b64 \t%rd2, %rd1, 31;\n", "\tshl.b64 \t%rd2, %rd1, 0;\n", "\tshl.b64 \t%rd2, %rd3, 2;\n",
        "\tshl.b64 \t%rd2, %rd1, %r1;\n", "\t@%p1 shl.b64 \t%rd2, %rd1, 2;\n", "\tshr.s64 \t%rd2, %rd1, 2;\n",
        "\tshl.b64 \t%rd2, %rd1, 2;\n\twgmma.mma_async.sync.aligned\n"}) {
    EXPECT_EQ(joinOffsetProducts(begins + line), begins + line);
  }
  const std::string behind = "\twgmma.mma_async.sync.aligned;\n" + begins;
  EXPECT_EQ(joinOffsetProducts(behind + "\tshl.b64 \t%rd2, %rd1, 2;\n"),
            behind + "\tmul.wide.s32 \t%rd2, %r1, 4;\n");
}

TEST(OffsetProducts, AreAddedToTheirBaseByOneInstruction) {
  EXPECT_EQ(addOffsetProducts("\tmul.wide.s32 \t%rd2, %r1, 4;\n"
                              "\tmov.b32 \t%r2, 0;\n"
                              "\tadd.s64 \t%rd3, %rd1, %rd2;\n"
                              "\tmul.wide.u32 \t%rd4, %r2, 2;\n"
                              "\tadd.s64 \t%rd5, %rd4, 64;\n"),
            "\tmov.b32 \t%r2, 0;\n"
            "\tmad.wide.s32 \t%rd3, %r1, 4, %rd1;\n"
            "\tmad.wide.u32 \t%rd5, %r2, 2, 64;\n");
}

TEST(OffsetProducts, ThatAreReadElsewhereStayProducts) {
  for (std::string text : {
           "\tmul.wide.s32 \t%rd2, %r1, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\tadd.s64 \t%rd4, %rd3, %rd2;\n",
           "\tmul.wide.s32 \t%rd2, %r1, 4;\n$L__BB0_1:\n\tadd.s64 \t%rd3, %rd1, %rd2;\n",
           "\tmul.wide.s32 \t%rd2, %r1, 4;\n\t@%p1 bra \t$L__BB0_1;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n",
           "\tmul.wide.s32 \t%rd2, %r1, 4;\n\tsub.s64 \t%rd3, %rd1, %rd2;\n",
           "\tmul.wide.s32 \t%rd2, %r1, 4;\n\t@%p1 add.s64 \t%rd3, %rd1, %rd2;\n",
           // The index of the next trip.
           "\tmov.b32 \t%r1, 0;\n\tmul.wide.s32 \t%rd2, %r1, 4;\n\tadd.s32 \t%r1, %r1, 1;\n"
           "\tadd.s64 \t%rd3, %rd1, %rd2;\n",
           // Of each thread's element.
           "\tmov.u32 \t%r3, %tid.x;\n\tadd.s32 \t%r1, %r3, %r2;\n\tmul.wide.s32 \t%rd2, %r1, 4;\n"
           "\tadd.s64 \t%rd3, %rd1, %rd2;\n",
           "$L__BB0_1:\n\twgmma.mma_async.sync.aligned\n\tadd.s64 \t%rd4, %rd1, %rd2;\n"
           "\t@%p1 bra \t$L__BB0_1;\n\tmul.wide.s32 \t%rd2, %r1, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n",
           "\tmul.wide.s32 \t%rd2, %r1, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\twgmma.mma_async.sync.aligned\n",
       })
    EXPECT_EQ(addOffsetProducts(text), text);
}
