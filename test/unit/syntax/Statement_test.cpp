#include "Parsed.h"

using namespace tegula::syntax;

namespace {

TEST(Statement, Assignments) {
  EXPECT_EQ(treeOf("a = b, *c = d"), "assign a (tuple b (star c)) d\n");
  EXPECT_EQ(treeOf("a //= b, c"), "augment // a (tuple b c)\n");
  EXPECT_EQ(treeOf("a: b = c; d[e]: f"), "annotate a b c\nannotate (index d e) f _\n");
  EXPECT_EQ(treeOf("a = yield"), "assign a (unsupported \"yield\")\n");
}

TEST(Statement, Functions) {
  EXPECT_EQ(treeOf("@a.b(c)\ndef f(p, /, q: r = 1, *s, t, u=2, **v) -> w: pass\n"),
            "def f\n"
            "  @ (call (. a b) c)\n"
            "  param-positional p _ _\n"
            "  param q r 1\n"
            "  param* s _ _\n"
            "  param-keyword t _ _\n"
            "  param-keyword u _ 2\n"
            "  param** v _ _\n"
            "  returns w\n"
            "  pass\n");
  EXPECT_EQ(treeOf("async def f(): pass"), "unsupported \"async def\"\n  pass\n");
  EXPECT_EQ(treeOf("def f[T](x: T): pass"), "unsupported \"generic function\"\n  pass\n");
}

TEST(Statement, Branches) {
  EXPECT_EQ(treeOf("if a: b\nelif c: d\nelse:\n  e\n"),
            "if a\n  expr b\nelse\n  if c\n    expr d\n  else\n    expr e\n");
  EXPECT_EQ(treeOf("while a:\n break\nelse: b\n"), "while a\n  break\nelse\n  expr b\n");
  EXPECT_EQ(treeOf("for a, b in c: continue"), "for (tuple a b) c\n  continue\n");
}

TEST(Statement, With) {
  EXPECT_EQ(treeOf("with (a as b, c): pass"), "with a b c _\n  pass\n");
  EXPECT_EQ(treeOf("with (a, b) as c: pass"), "with (tuple a b) c\n  pass\n");
  EXPECT_EQ(treeOf("with (a).b as (c, d), e: pass"), "with (. a b) (tuple c d) e _\n  pass\n");
  EXPECT_EQ(treeOf("with (a := b): pass"), "with (:= a b) _\n  pass\n");
}

TEST(Statement, Imports) {
  EXPECT_EQ(treeOf("import a.b as c, d"), "import a.b=c d\n");
  EXPECT_EQ(treeOf("from ...a.b import (c as d, e,)"), "from ...a.b c=d e\n");
  EXPECT_EQ(treeOf("from . import *"), "from . *\n");
}

TEST(Statement, WhatKernelsCannotUseIsNamedWithItsBlocks) {
  EXPECT_EQ(treeOf("try:\n a\nexcept B as c:\n d\nelse:\n e\nfinally:\n f\n"),
            "unsupported \"try\"\n  expr a\n  expr d\n  expr e\n  expr f\n");
  EXPECT_EQ(treeOf("match a, b:\n case [1, *_] | {'k': C(x=-1)} if d: e\n case _:\n  f\n"),
            "unsupported \"match\"\n  expr e\n  expr f\n");
  EXPECT_EQ(treeOf("async def f():\n async for a in b: c\n async with d: e\n"),
            "unsupported \"async def\"\n  unsupported \"async for\"\n    expr c\n  unsupported \"async "
            "with\"\n    expr e\n");
  EXPECT_EQ(treeOf("raise a from b; del c; global d; nonlocal e; type f = g"),
            "unsupported \"raise\"\nunsupported \"del\"\nunsupported \"global\"\nunsupported \"nonlocal\"\n"
            "unsupported \"type alias\"\n");
  EXPECT_EQ(treeOf("@a\nclass B(C, d=e):\n x: int = 1\n"), "class B\n  @ a\n  annotate x int 1\n");
}

TEST(Statement, SoftKeywordsAreNames) {
  EXPECT_EQ(treeOf("match = type = case = _ = 1"), "assign match type case _ 1\n");
  EXPECT_EQ(treeOf("match(a)\ntype(b)\nmatch[c]: int"),
            "expr (call match a)\nexpr (call type b)\nannotate (index match c) int _\n");
}

TEST(Lines, JoinedAndSplit) {
  EXPECT_EQ(treeOf("a = (b\n\n  # why\n + c)\nd = e \\\n  + f\n"), "assign a (+ b c)\nassign d (+ e f)\n");
  EXPECT_EQ(treeOf("a; b;\nc"), "expr a\nexpr b\nexpr c\n");
  EXPECT_EQ(treeOf("a\rb\r\nc\n\r\n"), "expr a\nexpr b\nexpr c\n");
  EXPECT_EQ(treeOf("\xEF\xBB\xBF# -*- coding: latin-1 -*-\na"), "expr a\n");
  EXPECT_EQ(treeOf("if a:\n\tb\n\tif c:\n\t\td\n"), "if a\n  expr b\n  if c\n    expr d\n");
  EXPECT_EQ(treeOf("if a:\n  b\n\f\n\f  c\n      # comment\n\n  d"), "if a\n  expr b\n  expr c\n  expr d\n");
  EXPECT_EQ(treeOf(""), "");
  EXPECT_EQ(treeOf("\n# only\n"), "");
}

TEST(Names, BeyondAscii) { EXPECT_EQ(treeOf("\u03b1\u0301\u4e2d = \u00e9"), "assign \u03ac\u4e2d \u00e9\n"); }

// As Python compares names (PEP 3131): ligatures, marks of their own, letters of other widths, Hangul in
// parts.
TEST(Names, HaveTheirNormalForm) {
  EXPECT_EQ(treeOf("\uFB01 + fi"), "expr (+ fi fi)\n");
  EXPECT_EQ(treeOf("e\u0301 + \u00E9"), "expr (+ \u00E9 \u00E9)\n");
  EXPECT_EQ(treeOf("a\u0301\u0323 + a\u0323\u0301"), "expr (+ \u1EA1\u0301 \u1EA1\u0301)\n");
  EXPECT_EQ(treeOf("\u1112\u1161\u11AB.\uFF58"), "expr (. \uD55C x)\n");
  EXPECT_EQ(treeOf("f(\u212B=1)"), treeOf("f(\u00C5=1)"));
}

} // namespace
