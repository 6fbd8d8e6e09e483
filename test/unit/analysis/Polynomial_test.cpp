// Sums of products in normal form: equal polynomials compare equal, whatever way they came about.
#include "analysis/Polynomial.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace tegula;
using analysis::Factor;
using analysis::Polynomial;

namespace {

// Two scalars and a tile with two dimensions, as factors.
struct PolynomialTest : testing::Test {
  PolynomialTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::Type i32 = mlir::IntegerType::get(&context, 32);
    for (unsigned i = 0; i < 3; ++i)
      values.push_back(block.addArgument(i32, mlir::UnknownLoc::get(&context)));
  }
  Polynomial scalar(unsigned i) { return Polynomial(Factor{values[i], i, {}}); }
  Polynomial tile(llvm::SmallVector<int8_t, 3> dims) {
    return Polynomial(Factor{values[2], 2, std::move(dims)});
  }
  static Polynomial sum(const Polynomial &x, const Polynomial &y) { return *Polynomial::add(x, y); }
  static Polynomial product(const Polynomial &x, const Polynomial &y) { return *Polynomial::multiply(x, y); }

  mlir::MLIRContext context;
  mlir::Block block;
  std::vector<mlir::Value> values;
};

TEST_F(PolynomialTest, OrderDoesNotMatter) {
  Polynomial a = scalar(0), b = scalar(1);
  EXPECT_EQ(product(a, b), product(b, a));
  EXPECT_EQ(sum(product(a, b), product(b, a)), *product(a, b).scaled(2));
  EXPECT_EQ(product(sum(a, 1), sum(a, -1)), sum(product(a, a), -1));
}

TEST_F(PolynomialTest, WhatCancelsIsGone) {
  Polynomial a = scalar(0);
  EXPECT_TRUE(sum(a, *a.scaled(-1)).isZero());
  EXPECT_EQ(sum(sum(a, 5), *a.scaled(-1)).constant(), 5);
  EXPECT_EQ(a.constant(), std::nullopt);
  EXPECT_TRUE(product(a, 0).isZero());
}

TEST_F(PolynomialTest, CoefficientsThatLeave64BitsAreNoPolynomial) {
  EXPECT_EQ(Polynomial::add(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(Polynomial::multiply(INT64_MAX, 2), std::nullopt);
  EXPECT_EQ(scalar(0).scaled(INT64_MAX)->scaled(-2), std::nullopt);
  // Each product fits, and two of one kind together do not.
  Polynomial many = sum(sum(scalar(0), scalar(1)), 1), large = *many.scaled(int64_t(1) << 61);
  EXPECT_EQ(Polynomial::multiply(sum(large, 0), *sum(sum(scalar(0), scalar(1)), 1).scaled(3)), std::nullopt);
}

TEST_F(PolynomialTest, TilesDependOnTheirDimensions) {
  Polynomial row = product(tile({0, -1}), scalar(0));
  EXPECT_TRUE(row.hasTiles());
  EXPECT_TRUE(row.dependsOn(0));
  EXPECT_FALSE(row.dependsOn(1));
  EXPECT_FALSE(scalar(0).hasTiles());
}

TEST_F(PolynomialTest, RemappingMovesDimensions) {
  EXPECT_EQ(tile({0, 1}).remapped({1, 0}), tile({1, 0}));
  EXPECT_EQ(tile({0, -1}).remapped({-1, 0}), tile({-1, -1}));
  EXPECT_EQ(scalar(1).remapped({1, 0}), scalar(1));
}

} // namespace
