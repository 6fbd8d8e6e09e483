// Each mistake: its kind, its line and column, and that it is the only thing reported.
#include "Parsed.h"

using namespace tegula;
using namespace tegula::syntax;
using diag::Kind;

namespace {

struct Mistake {
  std::string text;
  Kind kind;
  unsigned line, column;
};

const Mistake mistakes[] = {
    // the text
    {"a = '\xff'", Kind::InvalidUtf8, 1, 6},
    {"# coding: latin-1\na = '\xff'", Kind::UnsupportedEncoding, 2, 6},
    {std::string("a\n\0b", 4), Kind::FileNotText, 2, 1},
    {std::string(maxTextBytes + 1, ' '), Kind::FileTooLarge, 1, 1},
    // lines
    {"if a:\n        b\n\tc\n", Kind::InconsistentTabs, 3, 1},
    {"if a:\n    b\n  c\n", Kind::UnindentMismatch, 3, 1},
    {"a\n  b\nc\n", Kind::UnexpectedIndent, 2, 1},
    {"for a in b:\nc\n", Kind::ExpectedBlock, 2, 1},
    {"if a:\n", Kind::ExpectedBlock, 1, 5},
    {"a = 1 \\ \nb", Kind::StrayBackslash, 1, 8},
    {"a = 1 + \\", Kind::UnexpectedEnd, 1, 9},
    // tokens
    {"a = \u201cb\u201d", Kind::InvalidCharacter, 1, 5},
    {"a\u00a0= 1", Kind::InvalidCharacter, 1, 2},
    {"a = b ? c", Kind::InvalidOperator, 1, 7},
    {"a <> b", Kind::InvalidOperator, 1, 3},
    {"a = 1__0", Kind::InvalidNumber, 1, 5},
    {"a = 0b12", Kind::InvalidDigit, 1, 8},
    {"a = 0777", Kind::LeadingZeros, 1, 5},
    {"a = 'b\nc", Kind::UnterminatedString, 1, 5},
    {"a = '''b\nc", Kind::UnterminatedTripleString, 1, 5},
    {"a = '\\x1'", Kind::InvalidEscape, 1, 6},
    {"a = b'\u00e9'", Kind::NonAsciiBytes, 1, 7},
    {"a = 'b' b'c'", Kind::MixedStrings, 1, 5},
    {"a = f(b,\nc = 1\nd = 2", Kind::UnclosedBracket, 1, 6},
    {"a = (b\ndef f(): pass", Kind::UnclosedBracket, 1, 5},
    {"a = b)", Kind::UnmatchedBracket, 1, 6},
    {"a = (b]", Kind::MismatchedBracket, 1, 7},
    // f-strings
    {"f'a}'", Kind::FormatSingleBrace, 1, 4},
    {"f'{a'", Kind::FormatExpectsBrace, 1, 5},
    {"f'{a:x'", Kind::FormatExpectsBrace, 1, 7},
    {"f'{}'", Kind::FormatEmptyField, 1, 4},
    {"f'{a!x}'", Kind::FormatConversion, 1, 6},
    {"f'{lambda a: b}'", Kind::FormatLambda, 1, 13},
    // expressions
    {"a = ", Kind::ExpectedExpression, 1, 4},
    {"a = b +* c", Kind::ExpectedExpression, 1, 8},
    {"a..b", Kind::ExpectedToken, 1, 3},
    {"a b", Kind::UnexpectedToken, 1, 3},
    {"def if(): pass", Kind::KeywordAsName, 1, 5},
    {"f(a b)", Kind::MissingComma, 1, 5},
    {"a = b if c", Kind::ExpectedElse, 1, 11},
    {"a = *b", Kind::StarredAlone, 1, 5},
    {"a = [*b for b in c]", Kind::UnpackingInComprehension, 1, 6},
    {"[a, b for a in c]", Kind::ComprehensionTarget, 1, 2},
    {"{a: }", Kind::MissingDictValue, 1, 5},
    {"(a.b := c)", Kind::InvalidNamedTarget, 1, 2},
    {"if a = b: pass", Kind::AssignInExpression, 1, 6},
    {"while (a = b): pass", Kind::AssignInExpression, 1, 10},
    {"f(a.b=c)", Kind::AssignInCall, 1, 3},
    {"f(a=)", Kind::MissingArgumentValue, 1, 5},
    {"f(a=b, c)", Kind::PositionalAfterKeyword, 1, 8},
    {"f(**a, *b)", Kind::StarAfterDoubleStar, 1, 8},
    {"f(a=1, a=2)", Kind::RepeatedKeyword, 1, 8},
    {"f(a for a in b, c)", Kind::GeneratorNeedsParentheses, 1, 3},
    {"print 'a'", Kind::MissingCallParentheses, 1, 1},
    // statements
    {"if a\n    pass\n", Kind::ExpectedColon, 1, 5},
    {"while : pass", Kind::MissingCondition, 1, 7},
    {"f() = a", Kind::InvalidTarget, 1, 1},
    {"a = (b, 1) = c", Kind::InvalidTarget, 1, 9},
    {"del f()", Kind::InvalidDelete, 1, 5},
    {"a, b += c", Kind::InvalidAugmentedTarget, 1, 1},
    {"a, b: c", Kind::AnnotatedTuple, 1, 1},
    {"for *a in b: pass", Kind::StarredTargetAlone, 1, 5},
    {"else: pass", Kind::StrayClause, 1, 1},
    {"@a\nb = 1", Kind::ExpectedDefinition, 2, 1},
    {"from a import b,", Kind::TrailingCommaInImport, 1, 1},
    {"return a", Kind::ReturnOutsideFunction, 1, 1},
    {"if a: break", Kind::LoopExitOutsideLoop, 1, 7},
    {"try:\n  a\nb", Kind::ExpectedExcept, 1, 1},
    {"try: a\nexcept: b\nexcept C: d", Kind::BareExceptNotLast, 3, 1},
    {"try: a\nexcept* B: c\nexcept D: e", Kind::MixedExcept, 3, 1},
    {"try: a\nexcept B, C: d", Kind::UnparenthesizedExceptions, 2, 9},
    {"match a:\n  case f'b': c", Kind::InvalidPattern, 2, 8},
    {"match a:\n  case b as _: c", Kind::UnderscoreAsName, 2, 13},
    // parameters
    {"def f(a, b, a): pass", Kind::DuplicateParameter, 1, 13},
    {"def f(a=1, b): pass", Kind::MissingDefault, 1, 12},
    {"def f(*a=1): pass", Kind::DefaultOfVarArgs, 1, 9},
    {"def f(a, *): pass", Kind::BareStarAlone, 1, 10},
    {"def f(*a, *b): pass", Kind::RepeatedStar, 1, 11},
    {"def f(/, a): pass", Kind::MisplacedSlash, 1, 7},
    {"def f(**a, b): pass", Kind::ParameterAfterKwArgs, 1, 12},
    {"def f((a, b)): pass", Kind::ParenthesizedParameter, 1, 7},
};

TEST(Errors, EachMistakeIsReportedOnceAtItsPlace) {
  for (const Mistake &mistake : mistakes) {
    Parsed parsed(mistake.text);
    std::string shown = mistake.text.substr(0, 80) + "\n" + parsed.errors();
    ASSERT_EQ(parsed.sink.all().size(), 1u) << shown;
    const diag::Diagnostic &error = parsed.sink.all()[0];
    diag::Position at = parsed.source->position(error.location.range.begin);
    EXPECT_EQ(diag::name(error.kind), diag::name(mistake.kind)) << shown;
    EXPECT_EQ(at.line, mistake.line) << shown;
    EXPECT_EQ(at.column, mistake.column) << shown;
  }
}

std::string hintOf(std::string text) {
  Parsed parsed(std::move(text));
  return parsed.sink.all().empty() ? "" : parsed.sink.all()[0].hint;
}

TEST(Errors, HintsSayWhatToWrite) {
  EXPECT_EQ(hintOf("if a = b: pass"), "did you mean `==` or `:=` instead of `=`?");
  EXPECT_EQ(hintOf("f() = a"), "did you mean `==` instead of `=`?");
  EXPECT_EQ(hintOf("a++"), "there is no `++`; write `+= 1`");
  EXPECT_EQ(hintOf("a && b"), "there is no `&&`; write `and`");
  EXPECT_EQ(hintOf("a || b"), "there is no `||`; write `or`");
  EXPECT_EQ(hintOf("!a"), "write `not`");
  EXPECT_EQ(hintOf("a <> b"), "write `!=`");
  EXPECT_EQ(hintOf("print 'a'"), "did you mean `print(...)`?");
  EXPECT_EQ(hintOf("if a: b\nelse if c: d\n"), "write `elif`");
  EXPECT_EQ(hintOf("if a: b\nelseif c: d\n"), "did you mean `elif`?");
  EXPECT_EQ(hintOf("a = \u201cb\u201d"), "write a straight quote, `'` or `\"`");
  EXPECT_EQ(hintOf("a := 1"), "put the assignment expression in parentheses, or write `=`");
}

TEST(Errors, MessagesNameWhatStandsThere) {
  EXPECT_NE(Parsed("if a\n  b").errors().find("expected `:` after the `if` condition"), std::string::npos);
  EXPECT_NE(Parsed("a = (\n").errors().find("`(` was never closed"), std::string::npos);
  EXPECT_NE(Parsed("a = \u20ac").errors().find("invalid character `\u20ac` (U+20AC)"), std::string::npos);
  EXPECT_NE(Parsed("a\u200b").errors().find("invalid character U+200B"), std::string::npos);
  EXPECT_NE(
      Parsed("for a in b:\nc").errors().find("expected an indented block after the `for` loop on line 1"),
      std::string::npos);
}

TEST(Recovery, OneErrorAStatement) {
  Parsed p("a = = 1\n"
           "def f(x:\n"
           "    return x\n"
           "if x = 3:\n"
           "    y = 1\n"
           "else:\n"
           "    z = 2\n"
           "while x\n"
           "    pass\n"
           "s = 'abc\n"
           "foo(a, b\n"
           "t = 3\n"
           "u = 5 ? 3\n"
           "v = 1\n");
  std::vector<unsigned> lines;
  for (const diag::Diagnostic &error : p.sink.all())
    lines.push_back(p.source->position(error.location.range.begin).line);
  EXPECT_EQ(lines, (std::vector<unsigned>{1, 2, 4, 8, 10, 11, 13})) << p.errors();
  // What is right is still in the tree.
  EXPECT_NE(print(*p.tree).find("assign v 1\n"), std::string::npos);
  EXPECT_NE(print(*p.tree).find("assign t 3\n"), std::string::npos);
}

TEST(Recovery, ErrorsInTheBlockOfABrokenHeaderAreFound) {
  Parsed p("def f(a b):\n    c = = 1\n    return c\nd = 1 1\n");
  EXPECT_EQ(p.sink.all().size(), 3u) << p.errors();
}

TEST(Recovery, AFloodStops) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "a b\n";
  Parsed p(text);
  EXPECT_EQ(p.sink.all().size(), 21u);
  EXPECT_EQ(p.sink.all().back().kind, Kind::TooManyErrors);
}

TEST(Recovery, AnInvalidTreeMeansAnError) {
  for (const Mistake &mistake : mistakes) {
    Parsed parsed(mistake.text);
    EXPECT_TRUE(parsed.sink.hasErrors());
    EXPECT_FALSE(print(*parsed.tree).find("\xff") != std::string::npos);
  }
}

} // namespace
