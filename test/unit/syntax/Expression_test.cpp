#include "Parsed.h"

#include <cmath>

using namespace tegula::syntax;

namespace {

TEST(Precedence, Arithmetic) {
  EXPECT_EQ(exprOf("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(exprOf("a // b % c @ d"), "(@ (% (// a b) c) d)");
  EXPECT_EQ(exprOf("a | b ^ c & d << e + f"), "(| a (^ b (& c (<< d (+ e f)))))");
  EXPECT_EQ(exprOf("(a + b) * c"), "(* (+ a b) c)");
}

TEST(Precedence, PowerAndSigns) {
  EXPECT_EQ(exprOf("-a ** b"), "(- (** a b))");
  EXPECT_EQ(exprOf("a ** -b"), "(** a (- b))");
  EXPECT_EQ(exprOf("a ** b ** c"), "(** a (** b c))");
  EXPECT_EQ(exprOf("~-+a"), "(~ (- (+ a)))");
  EXPECT_EQ(exprOf("-a * b"), "(* (- a) b)");
  EXPECT_EQ(exprOf("-a.b[c](d) ** 2"), "(- (** (call (index (. a b) c) d) 2))");
}

TEST(Precedence, ComparisonsAndLogic) {
  EXPECT_EQ(exprOf("a < b <= c != d"), "(compare a < b <= c != d)");
  EXPECT_EQ(exprOf("(a < b) < c"), "(compare (compare a < b) < c)");
  EXPECT_EQ(exprOf("not a == b"), "(not (compare a == b))");
  EXPECT_EQ(exprOf("a is not b not in c is d in e"), "(compare a is not b not in c is d in e)");
  EXPECT_EQ(exprOf("a or b and not c or d"), "(or a (and b (not c)) d)");
  EXPECT_EQ(exprOf("(a or b) or c"), "(or (or a b) c)");
  EXPECT_EQ(exprOf("a & b == c"), "(compare (& a b) == c)");
}

TEST(Precedence, ConditionalLambdaAndWalrus) {
  EXPECT_EQ(exprOf("a if b else c if d else e"), "(if b a (if d c e))");
  EXPECT_EQ(exprOf("a or b if c or d else e"), "(if (or c d) (or a b) e)");
  EXPECT_EQ(exprOf("(a := b, c)"), "(tuple (:= a b) c)");
  EXPECT_EQ(exprOf("lambda x, *y, z=1: x if y else z"), "(unsupported \"lambda\")");
}

TEST(Primary, CallsSubscriptsAndSlices) {
  EXPECT_EQ(exprOf("f(a, *b, c=d, **e)"), "(call f a (star b) :c d ** e)");
  EXPECT_EQ(exprOf("x[:, None]"), "(index x (tuple (slice _ _ _) None))");
  EXPECT_EQ(exprOf("x[1:2:3, ..., ::]"), "(index x (tuple (slice 1 2 3) ... (slice _ _ _)))");
  EXPECT_EQ(exprOf("x[a,]"), "(index x (tuple a))");
  EXPECT_EQ(exprOf("x[*a]"), "(index x (tuple (star a)))");
  EXPECT_EQ(exprOf("x[a := 1]"), "(index x (:= a 1))");
}

TEST(Atom, TuplesListsAndComprehensions) {
  EXPECT_EQ(exprOf("()"), "(tuple)");
  EXPECT_EQ(exprOf("(a,)"), "(tuple a)");
  EXPECT_EQ(exprOf("((a))"), "a");
  EXPECT_EQ(exprOf("a, *b"), "(tuple a (star b))");
  EXPECT_EQ(exprOf("[]"), "(list)");
  EXPECT_EQ(exprOf("[a for b, c in d if e if f for g in h]"),
            "(listcomp a (for (tuple b c) d e f) (for g h))");
}

TEST(Atom, WhatKernelsCannotUseIsNamed) {
  EXPECT_EQ(exprOf("{a: b, **c}"), "(unsupported \"dict display\")");
  EXPECT_EQ(exprOf("{a, *b}"), "(unsupported \"set display\")");
  EXPECT_EQ(exprOf("{a: b for a in c}"), "(unsupported \"dict comprehension\")");
  EXPECT_EQ(exprOf("{a for a in c}"), "(unsupported \"set comprehension\")");
  EXPECT_EQ(exprOf("f(a for a in b)"), "(call f (unsupported \"generator expression\"))");
  EXPECT_EQ(exprOf("(yield a)"), "(unsupported \"yield\")");
  EXPECT_EQ(exprOf("(yield from a)"), "(unsupported \"yield from\")");
  EXPECT_EQ(exprOf("await a"), "(unsupported \"await\")");
  EXPECT_EQ(exprOf("[a async for a in b]"), "(unsupported \"async comprehension\")");
  EXPECT_EQ(exprOf("'\\N{DEGREE SIGN}'"), "(unsupported \"string with a \\\\N{...} escape\")");
  EXPECT_EQ(exprOf("1j"), "(imaginary)");
}

TEST(Literal, Integers) {
  EXPECT_EQ(exprOf("1_000"), "1000");
  EXPECT_EQ(exprOf("0XF_f"), "0xFf");
  EXPECT_EQ(exprOf("0b1_0"), "0b10");
  EXPECT_EQ(exprOf("0o17"), "0o17");
  EXPECT_EQ(exprOf("00"), "00");
  EXPECT_EQ(exprOf("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_EQ(exprOf("1if x else 2"), "(if x 1 2)");
}

TEST(Literal, Floats) {
  EXPECT_EQ(exprOf("1."), "1.0");
  EXPECT_EQ(exprOf(".5"), "0.5");
  EXPECT_EQ(exprOf("1_0.2_5e-1_0"), "1.025e-09");
  EXPECT_EQ(exprOf("1e5"), "100000.0");
  EXPECT_EQ(exprOf("09.5"), "9.5");
  EXPECT_EQ(exprOf("1e999"), "inf");
  EXPECT_EQ(exprOf("1e-999"), "0.0");
  EXPECT_EQ(exprOf("0.000e999999999999"), "0.0");
  EXPECT_EQ(exprOf("4.9e-324"), "4.94065645841247e-324");
}

TEST(Literal, Strings) {
  EXPECT_EQ(exprOf("'a' \"b\" r'\\n'"), "\"ab\\\\n\"");
  EXPECT_EQ(exprOf("'\\x41\\101\\u00e9\\t\\q'"), "\"AA\u00e9\\x09\\\\q\"");
  EXPECT_EQ(exprOf("'a\\\nb'"), "\"ab\"");
  EXPECT_EQ(exprOf("'''a\r\nb'''"), "\"a\\nb\"");
  EXPECT_EQ(exprOf("b'\\xff' B'a'"), "b\"\\xffa\"");
  EXPECT_EQ(exprOf("Rb'\\x'"), "b\"\\\\x\"");
}

TEST(Literal, FormatStrings) {
  EXPECT_EQ(exprOf("f'{{{a!r:>{b}}}}'"), "(fstring \"{\" (field a !r (spec \">\" (field b))) \"}\")");
  EXPECT_EQ(exprOf("f'{a = }'"), "(fstring \"a = \" (field a !r))");
  EXPECT_EQ(exprOf("f'{a=:x}'"), "(fstring \"a=\" (field a \"x\"))");
  EXPECT_EQ(exprOf("f'{a['b']}' 'c'"), "(fstring (field (index a \"b\")) \"c\")");
  EXPECT_EQ(exprOf("f\"{f\"{f\"{1}\"}\"}\""), "(fstring (field (fstring (field (fstring (field 1))))))");
  EXPECT_EQ(exprOf("f'{a != b}'"), "(fstring (field (compare a != b)))");
  EXPECT_EQ(exprOf("f'{a:=5}'"), "(fstring (field a \"=5\"))");
  EXPECT_EQ(exprOf("f'{a # why\n}'"), "(fstring (field a))");
  EXPECT_EQ(exprOf("rf'\\d{a}'"), "(fstring \"\\\\d\" (field a))");
  EXPECT_EQ(exprOf("f''"), "(fstring)");
}

TEST(Ranges, OfExpressions) {
  Parsed p("x = foo.bar(a + b, k=c[1:2]) ** (d, e)\n");
  auto *assign = as<Assign>(p.tree->body.at(0));
  auto *power = as<Binary>(assign->value);
  auto *call = as<Call>(power->left);
  EXPECT_EQ(p.text(assign), "x = foo.bar(a + b, k=c[1:2]) ** (d, e)");
  EXPECT_EQ(p.text(power), "foo.bar(a + b, k=c[1:2]) ** (d, e)");
  EXPECT_EQ(p.text(call), "foo.bar(a + b, k=c[1:2])");
  EXPECT_EQ(p.text(call->callee), "foo.bar");
  EXPECT_EQ(p.text(as<Attribute>(call->callee)->attributeRange), "bar");
  EXPECT_EQ(p.text(call->arguments[0]), "a + b");
  EXPECT_EQ(p.text(call->keywords[0].range), "k=c[1:2]");
  EXPECT_EQ(p.text(as<Subscript>(call->keywords[0].value)->index), "1:2");
  EXPECT_EQ(p.text(power->right), "(d, e)");
}

TEST(Ranges, OfStatements) {
  Parsed p("@jit  # why\ndef f(a: int = 1, *, b):\n    if a:\n        return b  # end\n\n# after\n");
  auto *function = as<FunctionDef>(p.tree->body.at(0));
  EXPECT_EQ(p.text(function), "def f(a: int = 1, *, b):\n    if a:\n        return b");
  EXPECT_EQ(p.text(function->nameRange), "f");
  EXPECT_EQ(p.text(function->parameters[0].range), "a: int = 1");
  EXPECT_EQ(p.text(function->decorators[0]), "jit");
  EXPECT_EQ(p.text(as<If>(function->body[0])->body[0]), "return b");
}

} // namespace
