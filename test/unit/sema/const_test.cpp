// Compile-time values: what Python's arithmetic does not show through the dump tool.
#include "sema/Const.h"
#include "sema/Session.h"

#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::sema;
using syntax::BinaryOperator;

namespace {

std::string result(BinaryOperator op, const Const &left, const Const &right) {
  ConstError error;
  auto value = evaluate(op, left, right, error);
  return value ? repr(*value) : std::string(diag::name(error.kind));
}

std::string formatted(const Const &value, std::string_view spec) {
  ConstError error;
  auto text = formatConst(value, spec, error);
  return text ? *text : std::string(diag::name(error.kind));
}

TEST(Const, GrowsIntegersAndStopsAtTheLimit) {
  EXPECT_EQ(result(BinaryOperator::Pow, makeInt(2), makeInt(100)), "1267650600228229401496703205376");
  EXPECT_EQ(result(BinaryOperator::Pow, makeInt(2), makeInt(100000)), "ConstTooLarge");
  EXPECT_EQ(result(BinaryOperator::LShift, makeInt(1), makeInt(int64_t(1) << 40)), "ConstTooLarge");
  EXPECT_EQ(result(BinaryOperator::Mul, Const{std::string("ab")}, makeInt(int64_t(1) << 40)),
            "ConstTooLarge");
}

TEST(Const, NarrowsWhatFitsAgain) {
  ConstError error;
  Const big = *evaluate(BinaryOperator::Pow, makeInt(2), makeInt(200), error);
  Const small = *evaluate(BinaryOperator::Sub, big, big, error);
  EXPECT_EQ(get<llvm::APInt>(small)->getBitWidth(), 64u);
  EXPECT_EQ(asInt64(small), 0);
  EXPECT_EQ(asInt64(big), std::nullopt);
}

TEST(Const, RefusesByName) {
  EXPECT_EQ(result(BinaryOperator::Div, makeInt(1), makeInt(0)), "ConstDivisionByZero");
  EXPECT_EQ(result(BinaryOperator::Mod, Const{1.5}, Const{0.0}), "ConstDivisionByZero");
  EXPECT_EQ(result(BinaryOperator::Add, makeInt(1), Const{std::string("a")}), "ConstOperands");
  EXPECT_EQ(result(BinaryOperator::LShift, makeInt(1), makeInt(-1)), "ConstDomain");
  EXPECT_EQ(result(BinaryOperator::Pow, Const{-8.0}, Const{0.5}), "ConstDomain");
}

TEST(Const, DividesHugeIntegersCorrectly) {
  ConstError error;
  Const a = *evaluate(BinaryOperator::Pow, makeInt(10), makeInt(400), error);
  Const b = *evaluate(BinaryOperator::Pow, makeInt(10), makeInt(399), error);
  EXPECT_EQ(result(BinaryOperator::Div, a, b), "10.0");
  EXPECT_EQ(result(BinaryOperator::Div, a, makeInt(3)), "ConstTooLarge");
}

TEST(Const, Formats) {
  EXPECT_EQ(formatted(makeInt(255), "#06x"), "0x00ff");
  EXPECT_EQ(formatted(makeInt(-1234567), ","), "-1,234,567");
  EXPECT_EQ(formatted(Const{3.14159}, ".3f"), "3.142");
  EXPECT_EQ(formatted(Const{0.25}, "%"), "25.000000%");
  EXPECT_EQ(formatted(Const{std::string("ab")}, "*^6"), "**ab**");
  EXPECT_EQ(formatted(Const{std::string("ab")}, "d"), "FormatSpec");
  EXPECT_EQ(formatted(Const{NoneValue{}}, ">5"), "FormatSpec");
}

TEST(Const, ResolvesSlicesAsPythonDoes) {
  ConstError error;
  auto all = resolveSlice(std::nullopt, std::nullopt, -1, 3, error);
  EXPECT_EQ(all->start, 2);
  EXPECT_EQ(all->count, 3u);
  EXPECT_EQ(resolveSlice(5, 9, std::nullopt, 3, error)->count, 0u);
  EXPECT_EQ(resolveSlice(-2, std::nullopt, std::nullopt, 3, error)->start, 1);
  EXPECT_FALSE(resolveSlice(std::nullopt, std::nullopt, 0, 3, error));
  EXPECT_EQ(resolveSlice(std::nullopt, std::nullopt, INT64_MIN, 3, error)->count, 1u);
}

} // namespace
