#include "syntax/Printer.h"

#include <charconv>
#include <cstdio>

namespace tegula::syntax {
namespace {

class Printer {
public:
  std::string out;

  void block(const Block &statements) {
    ++depth_;
    for (const Stmt *statement : statements)
      print(statement);
    --depth_;
  }

  void print(const Stmt *statement);
  void print(const Expr *expr);

private:
  void word(std::string_view text) { (out += ' ') += text; }
  // A child, or `_` where there is none.
  void child(const Expr *expr) {
    out += ' ';
    expr ? print(expr) : void(out += '_');
  }
  void children(const std::vector<Expr *> &exprs) {
    for (const Expr *expr : exprs)
      child(expr);
  }
  template <class... Exprs> void form(std::string_view head, Exprs... exprs) {
    (out += '(') += head;
    (child(exprs), ...);
    out += ')';
  }
  void list(std::string_view head, const std::vector<Expr *> &exprs) {
    (out += '(') += head;
    children(exprs);
    out += ')';
  }
  void newLine(std::string_view head) {
    out.append(2 * (depth_ - 1), ' ');
    out += head;
  }
  void clause(std::string_view head, const Block &statements) {
    if (statements.empty())
      return;
    newLine(head);
    out += '\n';
    block(statements);
  }
  template <class... Exprs> void simple(std::string_view head, Exprs... exprs) {
    newLine(head);
    (child(exprs), ...);
    out += '\n';
  }
  void quote(std::string_view text, bool isBytes);
  void number(double value);
  void formatParts(const std::vector<FormatPart> &parts);
  void call(const Call *node);
  void compare(const Compare *node);
  void comprehension(const ListComp *node);
  void names(const std::vector<ImportedName> &imported);
  void function(const FunctionDef *node);

  unsigned depth_ = 0;
};

void Printer::quote(std::string_view text, bool isBytes) {
  if (isBytes)
    out += 'b';
  out += '"';
  for (unsigned char c : text) {
    char escape[8];
    if (c == '"' || c == '\\')
      (out += '\\') += static_cast<char>(c);
    else if (c == '\n')
      out += "\\n";
    else if (c < 0x20 || c == 0x7F || (isBytes && c >= 0x80)) {
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else
      out += static_cast<char>(c);
  }
  out += '"';
}

// The fewest digits, of 15 to 17, that read back as the same number.
void Printer::number(double value) {
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
    double back = 0;
    auto [stop, error] = std::from_chars(text, end, back);
    *end = '\0';
    if (error == std::errc() && back == value)
      break;
  }
  std::string_view shown = text;
  out += shown;
  if (shown.find_first_of(".en") == std::string_view::npos)
    out += ".0";
}

void Printer::formatParts(const std::vector<FormatPart> &parts) {
  for (const FormatPart &part : parts) {
    out += ' ';
    if (!part.value) {
      quote(part.text, false);
      continue;
    }
    out += "(field ";
    print(part.value);
    if (part.conversion)
      (out += " !") += part.conversion;
    if (!part.spec.empty()) {
      out += ' ';
      quote(part.spec, false);
    }
    if (!part.specParts.empty()) {
      out += " (spec";
      formatParts(part.specParts);
      out += ')';
    }
    out += ')';
  }
}

void Printer::call(const Call *node) {
  out += "(call";
  child(node->callee);
  children(node->arguments);
  for (const Keyword &keyword : node->keywords) {
    word(keyword.name.empty() ? "**" : ":" + keyword.name);
    child(keyword.value);
  }
  out += ')';
}

void Printer::compare(const Compare *node) {
  out += "(compare";
  child(node->left);
  for (size_t i = 0; i < node->ops.size(); ++i) {
    word(spelling(node->ops[i]));
    child(node->comparators[i]);
  }
  out += ')';
}

void Printer::comprehension(const ListComp *node) {
  out += "(listcomp";
  child(node->element);
  for (const Comprehension &generator : node->generators) {
    out += " (for";
    child(generator.target);
    child(generator.iterable);
    children(generator.conditions);
    out += ')';
  }
  out += ')';
}

void Printer::print(const Expr *expr) {
  switch (expr->kind) {
  case NodeKind::NoneLiteral: out += "None"; return;
  case NodeKind::EllipsisLiteral: out += "..."; return;
  case NodeKind::BoolLiteral: out += as<BoolLiteral>(expr)->value ? "True" : "False"; return;
  case NodeKind::IntLiteral: {
    auto *node = as<IntLiteral>(expr);
    out += node->base == 16 ? "0x" : node->base == 8 ? "0o" : node->base == 2 ? "0b" : "";
    out += node->digits;
    return;
  }
  case NodeKind::FloatLiteral: return number(as<FloatLiteral>(expr)->value);
  case NodeKind::ImaginaryLiteral: out += "(imaginary)"; return;
  case NodeKind::StringLiteral: return quote(as<StringLiteral>(expr)->value, as<StringLiteral>(expr)->bytes);
  case NodeKind::FormatString:
    out += "(fstring";
    formatParts(as<FormatString>(expr)->parts);
    out += ')';
    return;
  case NodeKind::Name: out += as<Name>(expr)->id; return;
  case NodeKind::Attribute:
    out += "(.";
    child(as<Attribute>(expr)->object);
    word(as<Attribute>(expr)->attribute);
    out += ')';
    return;
  case NodeKind::Subscript: return form("index", as<Subscript>(expr)->object, as<Subscript>(expr)->index);
  case NodeKind::Slice: {
    auto *node = as<Slice>(expr);
    return form("slice", node->lower, node->upper, node->step);
  }
  case NodeKind::Starred: return form("star", as<Starred>(expr)->value);
  case NodeKind::Call: return call(as<Call>(expr));
  case NodeKind::Unary: return form(spelling(as<Unary>(expr)->op), as<Unary>(expr)->operand);
  case NodeKind::Binary:
    return form(spelling(as<Binary>(expr)->op), as<Binary>(expr)->left, as<Binary>(expr)->right);
  case NodeKind::BoolOp: return list(spelling(as<BoolOp>(expr)->op), as<BoolOp>(expr)->operands);
  case NodeKind::Compare: return compare(as<Compare>(expr));
  case NodeKind::Conditional: {
    auto *node = as<Conditional>(expr);
    return form("if", node->condition, node->then, node->orelse);
  }
  case NodeKind::Tuple: return list("tuple", as<Tuple>(expr)->elements);
  case NodeKind::List: return list("list", as<List>(expr)->elements);
  case NodeKind::ListComp: return comprehension(as<ListComp>(expr));
  case NodeKind::NamedExpr:
    return form(":=", static_cast<Expr *>(as<NamedExpr>(expr)->target), as<NamedExpr>(expr)->value);
  case NodeKind::UnsupportedExpr:
    out += "(unsupported ";
    quote(as<UnsupportedExpr>(expr)->what, false);
    out += ')';
    return;
  default: out += "(invalid)"; return;
  }
}

void Printer::names(const std::vector<ImportedName> &imported) {
  for (const ImportedName &name : imported) {
    word(name.name);
    if (name.asName != name.name)
      (out += '=') += name.asName;
  }
  out += '\n';
}

void Printer::function(const FunctionDef *node) {
  newLine("def ");
  out += node->name;
  out += '\n';
  ++depth_;
  for (const Expr *decorator : node->decorators)
    simple("@", decorator);
  for (const Parameter &parameter : node->parameters) {
    constexpr std::string_view heads[] = {"param", "param*", "param-keyword", "param**", "param-positional"};
    newLine(heads[parameter.kind]);
    word(parameter.name);
    child(parameter.annotation);
    child(parameter.defaultValue);
    out += '\n';
  }
  if (node->returns)
    simple("returns", node->returns);
  --depth_;
  block(node->body);
}

void Printer::print(const Stmt *statement) {
  switch (statement->kind) {
  case NodeKind::FunctionDef: return function(as<FunctionDef>(statement));
  case NodeKind::ClassDef: {
    auto *node = as<ClassDef>(statement);
    newLine("class ");
    out += node->name;
    out += '\n';
    ++depth_;
    for (const Expr *decorator : node->decorators)
      simple("@", decorator);
    --depth_;
    return block(node->body);
  }
  case NodeKind::Return: return simple("return", as<Return>(statement)->value);
  case NodeKind::Assign: {
    newLine("assign");
    children(as<Assign>(statement)->targets);
    child(as<Assign>(statement)->value);
    out += '\n';
    return;
  }
  case NodeKind::AugAssign: {
    auto *node = as<AugAssign>(statement);
    newLine("augment ");
    out += spelling(node->op);
    child(node->target);
    child(node->value);
    out += '\n';
    return;
  }
  case NodeKind::AnnAssign: {
    auto *node = as<AnnAssign>(statement);
    return simple("annotate", node->target, node->annotation, node->value);
  }
  case NodeKind::ExprStmt: return simple("expr", as<ExprStmt>(statement)->value);
  case NodeKind::Pass: return simple("pass");
  case NodeKind::Break: return simple("break");
  case NodeKind::Continue: return simple("continue");
  case NodeKind::If: {
    auto *node = as<If>(statement);
    simple("if", node->condition);
    block(node->body);
    return clause("else", node->orelse);
  }
  case NodeKind::For: {
    auto *node = as<For>(statement);
    simple("for", node->target, node->iterable);
    block(node->body);
    return clause("else", node->orelse);
  }
  case NodeKind::While: {
    auto *node = as<While>(statement);
    simple("while", node->condition);
    block(node->body);
    return clause("else", node->orelse);
  }
  case NodeKind::With: {
    newLine("with");
    for (const WithItem &item : as<With>(statement)->items) {
      child(item.context);
      child(item.target);
    }
    out += '\n';
    return block(as<With>(statement)->body);
  }
  case NodeKind::Assert:
    return simple("assert", as<Assert>(statement)->condition, as<Assert>(statement)->message);
  case NodeKind::Import: newLine("import"); return names(as<Import>(statement)->names);
  case NodeKind::ImportFrom: {
    auto *node = as<ImportFrom>(statement);
    newLine("from ");
    out += std::string(node->level, '.') + node->module;
    return names(node->names);
  }
  case NodeKind::UnsupportedStmt: {
    auto *node = as<UnsupportedStmt>(statement);
    newLine("unsupported ");
    quote(node->what, false);
    out += '\n';
    return block(node->body);
  }
  default: return simple("invalid");
  }
}

} // namespace

std::string print(const Tree &tree) {
  Printer printer;
  printer.block(tree.body);
  return std::move(printer.out);
}

std::string print(const Expr *expr) {
  Printer printer;
  printer.print(expr);
  return std::move(printer.out);
}

} // namespace tegula::syntax
