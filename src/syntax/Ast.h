// The tree of a Python module, as far as kernels need it. Nodes are plain data, owned
// by the Tree that parsed them; children are raw pointers into the same Tree, never
// null unless a comment says so. A tree is always returned: where the text is broken or
// outside the subset, an Invalid node stands and a diagnostic says why.
//
// The subset is refused in two places: here what has no tree (Invalid), and in sema what
// has a tree but no meaning in a kernel (a class statement, a lambda ...), by name, so
// that a module file may hold any Python beside its kernels.
#pragma once
#include "diag/Source.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::syntax {

enum class NodeKind : uint8_t {
#define EXPR(Name) Name,
#define STMT(Name) Name,
#include "syntax/Nodes.def"
#undef EXPR
#undef STMT
};

std::string_view name(NodeKind kind);

// No expression is higher than this, so that a visitor may recurse without a guard.
inline constexpr unsigned maxExpressionHeight = 1000;

struct Node {
  NodeKind kind;
  uint16_t height = 1; // levels of expression under and with this one (statements: 1)
  diag::Range range;
  virtual ~Node() = default;

protected:
  explicit Node(NodeKind kind) : kind(kind) {}
};

struct Expr : Node {
  using Node::Node;
};
struct Stmt : Node {
  using Node::Node;
};
using Block = std::vector<Stmt *>;

// dyn_cast for nodes: `if (auto *call = as<Call>(node))`.
template <class T> const T *as(const Node *node) {
  return node && node->kind == T::Kind ? static_cast<const T *>(node) : nullptr;
}

// clang-format off: a node is a row
#define TEGULA_NODE(Name, Base)                                                                    \
  static constexpr NodeKind Kind = NodeKind::Name;                                                 \
  Name() : Base(Kind) {}

// ---- expressions ------------------------------------------------------------------------

enum class UnaryOperator : uint8_t { Negate, Plus, Invert, Not };
enum class BinaryOperator : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, LShift, RShift, And, Or, Xor };
enum class CompareOperator : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot, In, NotIn };
enum class BoolOperator : uint8_t { And, Or };

// Python's spelling: "+", "//", "is not".
std::string_view spelling(UnaryOperator op);
std::string_view spelling(BinaryOperator op);
std::string_view spelling(CompareOperator op);
std::string_view spelling(BoolOperator op);

struct NoneLiteral : Expr { TEGULA_NODE(NoneLiteral, Expr) };
struct EllipsisLiteral : Expr { TEGULA_NODE(EllipsisLiteral, Expr) };
struct BoolLiteral : Expr { TEGULA_NODE(BoolLiteral, Expr) bool value = false; };
// Any width: the digits without underscores and prefix, and their base (2, 8, 10, 16).
struct IntLiteral : Expr { TEGULA_NODE(IntLiteral, Expr) std::string digits; unsigned base = 10; };
struct FloatLiteral : Expr { TEGULA_NODE(FloatLiteral, Expr) double value = 0; };
struct ImaginaryLiteral : Expr { TEGULA_NODE(ImaginaryLiteral, Expr) };
// Adjacent literals are joined and escapes decoded (UTF-8).
struct StringLiteral : Expr { TEGULA_NODE(StringLiteral, Expr) std::string value; bool bytes = false; };
// f"...": literal text and fields in order; a field has an expression.
// A spec that has fields of its own (f"{x:{width}}") is in `specParts`, and `spec` is empty.
struct FormatPart {
  std::string text;
  Expr *value = nullptr; // null: text only
  char conversion = 0;
  std::string spec;
  std::vector<FormatPart> specParts;
};
struct FormatString : Expr { TEGULA_NODE(FormatString, Expr) std::vector<FormatPart> parts; };
struct Name : Expr { TEGULA_NODE(Name, Expr) std::string id; };
struct Attribute : Expr { TEGULA_NODE(Attribute, Expr) Expr *object = nullptr; std::string attribute; diag::Range attributeRange; };
struct Subscript : Expr { TEGULA_NODE(Subscript, Expr) Expr *object = nullptr; Expr *index = nullptr; };
struct Slice : Expr { TEGULA_NODE(Slice, Expr) Expr *lower = nullptr, *upper = nullptr, *step = nullptr; /* each may be null */ };
struct Starred : Expr { TEGULA_NODE(Starred, Expr) Expr *value = nullptr; };
struct Keyword { std::string name; /* empty: **value */ Expr *value = nullptr; diag::Range range; };
struct Call : Expr { TEGULA_NODE(Call, Expr) Expr *callee = nullptr; std::vector<Expr *> arguments; std::vector<Keyword> keywords; };
struct Unary : Expr { TEGULA_NODE(Unary, Expr) UnaryOperator op{}; Expr *operand = nullptr; };
struct Binary : Expr { TEGULA_NODE(Binary, Expr) BinaryOperator op{}; Expr *left = nullptr, *right = nullptr; };
struct BoolOp : Expr { TEGULA_NODE(BoolOp, Expr) BoolOperator op{}; std::vector<Expr *> operands; };
struct Compare : Expr { TEGULA_NODE(Compare, Expr) Expr *left = nullptr; std::vector<CompareOperator> ops; std::vector<Expr *> comparators; };
struct Conditional : Expr { TEGULA_NODE(Conditional, Expr) Expr *condition = nullptr, *then = nullptr, *orelse = nullptr; };
struct Tuple : Expr { TEGULA_NODE(Tuple, Expr) std::vector<Expr *> elements; };
struct List : Expr { TEGULA_NODE(List, Expr) std::vector<Expr *> elements; };
struct Comprehension { Expr *target = nullptr, *iterable = nullptr; std::vector<Expr *> conditions; };
struct ListComp : Expr { TEGULA_NODE(ListComp, Expr) Expr *element = nullptr; std::vector<Comprehension> generators; };
struct NamedExpr : Expr { TEGULA_NODE(NamedExpr, Expr) Name *target = nullptr; Expr *value = nullptr; };
// Has a tree so that a module parses, and no meaning in a kernel; `what` names it ("lambda").
struct UnsupportedExpr : Expr { TEGULA_NODE(UnsupportedExpr, Expr) std::string what; };
struct InvalidExpr : Expr { TEGULA_NODE(InvalidExpr, Expr) };

// ---- statements -------------------------------------------------------------------------

struct Parameter {
  std::string name;
  diag::Range range;
  Expr *annotation = nullptr;    // null: none
  Expr *defaultValue = nullptr;  // null: none
  // PositionalOnly: before a bare `/`.
  enum Kind : uint8_t { Positional, VarArgs, KeywordOnly, KwArgs, PositionalOnly } kind = Positional;
};

struct FunctionDef : Stmt {
  TEGULA_NODE(FunctionDef, Stmt)
  std::string name;
  diag::Range nameRange;
  std::vector<Expr *> decorators;
  std::vector<Parameter> parameters;
  Expr *returns = nullptr; // null: none
  Block body;
};
// Kept for the module's names; the body is parsed, and has no meaning in a kernel.
struct ClassDef : Stmt { TEGULA_NODE(ClassDef, Stmt) std::string name; std::vector<Expr *> decorators; Block body; };
struct Return : Stmt { TEGULA_NODE(Return, Stmt) Expr *value = nullptr; /* null: none */ };
struct Assign : Stmt { TEGULA_NODE(Assign, Stmt) std::vector<Expr *> targets; Expr *value = nullptr; };
struct AugAssign : Stmt { TEGULA_NODE(AugAssign, Stmt) Expr *target = nullptr; BinaryOperator op{}; Expr *value = nullptr; };
struct AnnAssign : Stmt { TEGULA_NODE(AnnAssign, Stmt) Expr *target = nullptr, *annotation = nullptr, *value = nullptr; /* value may be null */ };
struct ExprStmt : Stmt { TEGULA_NODE(ExprStmt, Stmt) Expr *value = nullptr; };
struct Pass : Stmt { TEGULA_NODE(Pass, Stmt) };
struct Break : Stmt { TEGULA_NODE(Break, Stmt) };
struct Continue : Stmt { TEGULA_NODE(Continue, Stmt) };
// `elif` is an If alone in `orelse`.
struct If : Stmt { TEGULA_NODE(If, Stmt) Expr *condition = nullptr; Block body, orelse; };
struct For : Stmt { TEGULA_NODE(For, Stmt) Expr *target = nullptr, *iterable = nullptr; Block body, orelse; };
struct While : Stmt { TEGULA_NODE(While, Stmt) Expr *condition = nullptr; Block body, orelse; };
struct WithItem { Expr *context = nullptr; Expr *target = nullptr; /* null: none */ };
struct With : Stmt { TEGULA_NODE(With, Stmt) std::vector<WithItem> items; Block body; };
struct Assert : Stmt { TEGULA_NODE(Assert, Stmt) Expr *condition = nullptr, *message = nullptr; /* message may be null */ };
struct ImportedName { std::string name, asName; /* asName == name where there is no `as` */ };
struct Import : Stmt { TEGULA_NODE(Import, Stmt) std::vector<ImportedName> names; };
struct ImportFrom : Stmt { TEGULA_NODE(ImportFrom, Stmt) std::string module; unsigned level = 0; std::vector<ImportedName> names; };
// try, raise, del, global, nonlocal, match, async ...: `what` names it; nested blocks in `body`.
struct UnsupportedStmt : Stmt { TEGULA_NODE(UnsupportedStmt, Stmt) std::string what; Block body; };
struct InvalidStmt : Stmt { TEGULA_NODE(InvalidStmt, Stmt) };

#undef TEGULA_NODE
// clang-format on

// `what` of an UnsupportedExpr: there is no table of the names of characters here.
inline constexpr std::string_view namedCharacters = "string with a \\N{...} escape";

// A parsed source with all its nodes.
class Tree {
public:
  explicit Tree(diag::SourcePtr source) : source(std::move(source)) {}
  diag::SourcePtr source;
  Block body;

  template <class T> T *make(diag::Range range) {
    auto node = std::make_unique<T>();
    T *result = node.get();
    result->range = range;
    nodes_.push_back(std::move(node));
    return result;
  }
  diag::Location at(const Node *node) const { return {source, node->range}; }
  diag::Location at(diag::Range range) const { return {source, range}; }

private:
  std::deque<std::unique_ptr<Node>> nodes_;
};

} // namespace tegula::syntax
