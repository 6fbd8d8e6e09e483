// Texts that are too large or too deep: a diagnostic, in time linear in the text.
#include "Parsed.h"

using namespace tegula;
using namespace tegula::syntax;
using diag::Kind;

namespace {

std::string repeated(std::string_view part, size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (size_t i = 0; i < count; ++i)
    text += part;
  return text;
}

std::string nested(unsigned levels) { return "a = " + repeated("(", levels) + "b" + repeated(")", levels); }

std::string blocks(unsigned levels) {
  std::string text;
  for (unsigned i = 0; i < levels; ++i)
    text += std::string(i, ' ') + "if a:\n";
  return text + std::string(levels, ' ') + "b\n";
}

std::string kindOf(std::string text) {
  Parsed parsed(std::move(text));
  EXPECT_LE(parsed.sink.all().size(), 1u) << parsed.errors().substr(0, 2000);
  return parsed.sink.all().empty() ? "none" : std::string(diag::name(parsed.sink.all()[0].kind));
}

TEST(Limits, TwoHundredLevelsAreFine) {
  EXPECT_EQ(kindOf(nested(maxNesting)), "none");
  EXPECT_EQ(kindOf(blocks(maxNesting)), "none");
  EXPECT_EQ(kindOf("a = " + repeated("-", 199) + "b"), "none");
}

TEST(Limits, MoreAreRefused) {
  EXPECT_EQ(kindOf(nested(maxNesting + 1)), "NestingTooDeep");
  EXPECT_EQ(kindOf(blocks(maxNesting + 1)), "NestingTooDeep");
  EXPECT_EQ(kindOf("a = " + repeated("-", 300) + "b"), "NestingTooDeep");
}

TEST(Limits, MegabytesOfNestingDoNotOverflowTheStack) {
  constexpr size_t bytes = 8'000'000;
  for (std::string_view part :
       {"(", "[", "{", "a(", "a[", "{a:", "f'{", "-", "~", "not ", "lambda:", "a if b else ", "a**",
        "(yield (", "[a for a in ", "(a:=", "(-not ", "lambda a="})
    EXPECT_EQ(Parsed(repeated(part, bytes / part.size())).sink.all().size(), 1u) << part;
  EXPECT_EQ(kindOf(repeated("-", bytes) + "a"), "NestingTooDeep");
  EXPECT_EQ(kindOf("match a:\n case " + repeated("[", bytes)), "NestingTooDeep");
}

TEST(Limits, ChainsAreReadByLoopsAndTheirTreeIsLimited) {
  EXPECT_EQ(kindOf("a" + repeated(".b", maxExpressionHeight - 1)), "none");
  for (std::string_view part : {".b", "()", "[0]", " + b"})
    EXPECT_EQ(kindOf("a" + repeated(part, 1'000'000)), "ExpressionTooHigh") << part;
  // The heights of parts add up.
  EXPECT_EQ(kindOf(repeated("(", 10) + "a" + repeated(repeated(".b", 150) + ")", 10)), "ExpressionTooHigh");
}

TEST(Limits, FlatIsNotDeep) {
  EXPECT_EQ(kindOf("a" + repeated(" and b", 100'000)), "none");
  EXPECT_EQ(kindOf("a" + repeated(" < b", 100'000)), "none");
  EXPECT_EQ(kindOf("a = [" + repeated("b, ", 100'000) + "]"), "none");
  EXPECT_EQ(kindOf("a = " + repeated("'b' ", 100'000)), "none");
  EXPECT_EQ(kindOf("if a: b\n" + repeated("elif c: d\n", 900)), "none");
}

TEST(Limits, ElifChains) { EXPECT_EQ(kindOf("if a: b\n" + repeated("elif c: d\n", 2000)), "NestingTooDeep"); }

TEST(Limits, ManyUnclosedBracketsAreNotQuadratic) {
  Parsed p(repeated("def f(\n", 1'000'000));
  EXPECT_EQ(p.sink.all().size(), 21u);
}

TEST(Limits, BytesThatAreNoText) {
  std::string binary;
  for (int i = 0; i < 100'000; ++i)
    binary += static_cast<char>(i * 7919 % 251);
  EXPECT_EQ(kindOf(binary), "FileNotText");
  EXPECT_EQ(kindOf(repeated("\xff\xfe", 1000)), "InvalidUtf8");
  EXPECT_EQ(kindOf(repeated("\x01", 1000)), "InvalidCharacter");
}

} // namespace
