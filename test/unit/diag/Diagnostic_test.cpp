#include "diag/Diagnostic.h"
#include "diag/Utf8.h"

#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::diag;

namespace {

SourcePtr source(std::string text) { return std::make_shared<Source>("a.py", std::move(text)); }

std::string rendered(std::string text, uint32_t begin, uint32_t end) {
  return render(make(Kind::UnexpectedToken, {source(std::move(text)), {begin, end}}, {"`x`"}));
}

TEST(Source, PositionsOfLines) {
  Source s("a.py", "ab\ncd\r\nef\rgh");
  EXPECT_EQ(s.position(1).line, 1u);
  EXPECT_EQ(s.position(1).column, 2u);
  EXPECT_EQ(s.position(3).line, 2u);
  EXPECT_EQ(s.position(7).line, 3u);
  EXPECT_EQ(s.position(10).line, 4u);
  EXPECT_EQ(s.position(10).column, 1u);
  EXPECT_EQ(s.lineAt(3), "cd");
  EXPECT_EQ(s.lineAt(7), "ef");
  EXPECT_EQ(s.lineAt(12), "gh");
}

TEST(Source, ByteOrderMarkIsNoColumn) {
  Source s("a.py", "\xEF\xBB\xBF"
                   "ab");
  EXPECT_EQ(s.position(3).column, 1u);
  EXPECT_EQ(s.position(0).column, 1u);
  EXPECT_EQ(s.lineAt(0), "ab");
}

TEST(Source, StartsWhereTheHostSays) {
  Source s("cell", "a\nb", 10, 4);
  EXPECT_EQ(s.position(0).line, 10u);
  EXPECT_EQ(s.position(0).column, 5u);
  EXPECT_EQ(s.position(2).line, 11u);
}

TEST(Diagnostic, FillsArgumentsAndKeepsOtherBraces) {
  Diagnostic d = make(Kind::ExpectedBlock, {}, {"`if`", "7"});
  EXPECT_EQ(d.message, "expected an indented block after `if` on line 7");
  EXPECT_FALSE(d.hint.empty());
  EXPECT_EQ(make(Kind::FormatSingleBrace, {}).message, "f-string: a single `}` is not allowed");
  EXPECT_EQ(name(Kind::ExpectedBlock), "ExpectedBlock");
  EXPECT_EQ(statusCode(Kind::ExpectedBlock), StatusCode::Parse);
}

TEST(Render, PlaceMessageKindLineAndCaret) {
  EXPECT_EQ(rendered("one\ny = xyz + 1\n", 8, 11), "a.py:2:5: error: unexpected `x` [UnexpectedToken]\n"
                                                   "    2 | y = xyz + 1\n"
                                                   "      |     ^~~\n");
}

TEST(Render, TabsStayTabs) {
  EXPECT_NE(rendered("\t\tx = 1", 2, 3).find("      | \t\t^\n"), std::string::npos);
}

TEST(Render, WideAndCombiningCharacters) {
  // Two wide characters before: four columns; e with a combining accent: one.
  EXPECT_NE(rendered("\u4e2d\u6587x", 6, 7).find("      |     ^\n"), std::string::npos);
  EXPECT_NE(rendered("e\u0301x", 3, 4).find("      |  ^\n"), std::string::npos);
  EXPECT_NE(rendered("\u00e9\u00e9", 2, 4).find("      |  ^\n"), std::string::npos);
}

TEST(Render, RangeOverLinesEndsWithTheFirst) {
  EXPECT_NE(rendered("abc\ndef", 1, 6).find("      |  ^~\n"), std::string::npos);
}

TEST(Render, BehindTheEndOfTheLine) {
  EXPECT_NE(rendered("abc\n", 3, 3).find("    1 | abc\n      |    ^\n"), std::string::npos);
  EXPECT_NE(rendered("", 0, 0).find("      | ^\n"), std::string::npos);
  EXPECT_NE(rendered("abc", 90, 95).find("      |    ^\n"), std::string::npos);
}

TEST(Render, ControlCharactersAndBrokenTextAreReplaced) {
  std::string text = rendered("a\x1b[2J\xff\u202ex", 0, 1);
  EXPECT_NE(text.find("    1 | a?[2J??x\n"), std::string::npos) << text;
}

TEST(Render, LongLinesAreCut) {
  std::string text = rendered(std::string(5000, 'a') + "x" + std::string(5000, 'b'), 5000, 5001);
  EXPECT_LT(text.size(), 800u);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_NE(text.find("ax"), std::string::npos);
}

TEST(Render, HintsAndNotes) {
  SourcePtr file = source("f(\ng");
  Diagnostic d = make(Kind::MismatchedBracket, {file, {3, 4}}, {")", "["});
  d.hint = "look";
  d.notes.push_back({{file, {1, 2}}, "opened here"});
  EXPECT_EQ(render(d), "a.py:2:1: error: closing `)` does not match opening `[` [MismatchedBracket]\n"
                       "    2 | g\n"
                       "      | ^\n"
                       "hint: look\n"
                       "a.py:1:2: note: opened here\n"
                       "    1 | f(\n"
                       "      |  ^\n");
}

TEST(Render, WithoutASource) {
  EXPECT_EQ(render(make(Kind::UnexpectedToken, {}, {"x"})), "error: unexpected x [UnexpectedToken]\n");
}

TEST(Sink, KeepsItsLimitAndCountsAll) {
  Sink sink(2);
  EXPECT_TRUE(sink.status().ok());
  for (int i = 0; i < 5; ++i)
    sink.report(Kind::UnexpectedToken, {}, {"x"}).hint = "h";
  EXPECT_EQ(sink.all().size(), 2u);
  EXPECT_EQ(sink.errorCount(), 5u);
  EXPECT_TRUE(sink.hasErrors());
  EXPECT_EQ(sink.status().code, StatusCode::Parse);
  EXPECT_EQ(sink.status().message, render(sink.all()));
}

TEST(Sink, KeepsAllThatAKernelPrints) {
  Sink sink(2);
  for (int i = 0; i < 5; ++i)
    sink.report(Kind::StaticPrint, {}, {"x"});
  for (int i = 0; i < 3; ++i)
    sink.report(Kind::UnexpectedToken, {}, {"x"});
  EXPECT_EQ(sink.all().size(), 5u + 2u);
  EXPECT_EQ(sink.errorCount(), 3u);
}

TEST(Utf8, RefusesWhatIsNoCharacter) {
  EXPECT_EQ(findInvalidUtf8("plain ascii text, long enough for words"), std::string_view::npos);
  EXPECT_EQ(findInvalidUtf8("\u00e9\u4e2d\U0001F600"), std::string_view::npos);
  for (std::string_view bad : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                               "\xf5\x80\x80\x80", "\xe4\xb8", "\x80"})
    EXPECT_EQ(findInvalidUtf8(std::string("12345678") + std::string(bad)), 8u);
}

TEST(Utf8, WritesWhatItReads) {
  for (uint32_t code : {0x41u, 0xE9u, 0x4E2Du, 0x1F600u, 0x10FFFFu}) {
    std::string text;
    appendUtf8(text, code);
    Utf8Character c = decodeUtf8(text, 0);
    EXPECT_TRUE(c.valid);
    EXPECT_EQ(c.code, code);
    EXPECT_EQ(c.bytes, text.size());
  }
}

TEST(Utf8, SplitsIntoCharacters) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(splitUtf8(""), Pieces());
  EXPECT_EQ(splitUtf8("a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80"),
            Pieces({"a", "\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}));
  EXPECT_EQ(splitUtf8("\xED\xA0\x80x"), Pieces({"\xED\xA0\x80", "x"})); // a lone surrogate
  EXPECT_EQ(splitUtf8("\xFF\xC3"), Pieces({"\xFF", "\xC3"}));           // no characters
}

} // namespace
