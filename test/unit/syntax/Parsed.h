// A text, read: what the tests of the parser ask about it.
#pragma once
#include "syntax/Parser.h"
#include "syntax/Printer.h"

#include <gtest/gtest.h>

namespace tegula::syntax {

struct Parsed {
  explicit Parsed(std::string text)
      : source(std::make_shared<diag::Source>("a.py", std::move(text))), tree(parse(source, sink)) {}

  diag::SourcePtr source;
  diag::Sink sink;
  std::shared_ptr<const Tree> tree;

  std::string errors() const { return diag::render(sink.all()); }
  std::string_view text(diag::Range range) const {
    return source->text().substr(range.begin, range.end - range.begin);
  }
  std::string_view text(const Node *node) const { return text(node->range); }
};

// The tree of a text without errors.
inline std::string treeOf(std::string text) {
  Parsed parsed(std::move(text));
  return parsed.sink.hasErrors() ? parsed.errors() : print(*parsed.tree);
}

// The tree of an expression that is alone in its file, without the statement around it.
inline std::string exprOf(const std::string &text) {
  std::string tree = treeOf(text);
  return tree.starts_with("expr ") ? tree.substr(5, tree.size() - 6) : tree;
}

} // namespace tegula::syntax
