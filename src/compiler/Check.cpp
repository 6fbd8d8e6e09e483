#include "compiler/Check.h"
#include "compiler/Parameters.h"
#include "sema/AssignedNames.h"
#include "sema/Refusal.h"
#include "sema/Session.h"

#include "llvm/ADT/StringSet.h"

namespace tegula::compiler {
namespace {

using namespace syntax;
using diag::Kind;

class Checker {
public:
  // `used`: gets the names that the function reads.
  Checker(const sema::Function &function, diag::Sink &sink, llvm::StringSet<> &used)
      : function_(function), sink_(sink), used_(used) {}

  void run() {
    for (const syntax::Parameter &parameter : function_.definition->parameters)
      known_.insert(parameter.name);
    bind(function_.definition->body);
    walk(function_.definition->body);
  }

private:
  void refuse(const Node *node, std::string_view what, std::string_view instead) {
    sink_.report(Kind::UnsupportedConstruct, function_.tree->at(node), {what, instead});
  }

  // Every name that any statement assigns is known: the order is the compiler's business.
  void bind(const Block &block) {
    sema::AssignedNames names;
    const auto &facts = names.of(block);
    for (llvm::StringRef name : facts.assigned)
      known_.insert(name);
    for (llvm::StringRef name : facts.loopVariables)
      known_.insert(name);
  }

  void name(const Name &node) {
    used_.insert(node.id);
    if (known_.contains(node.id) || function_.env->lookup(node.id) ||
        sema::findBuiltin("builtins." + node.id))
      return;
    sink_.report(Kind::UndefinedName, function_.tree->at(&node), {node.id});
    known_.insert(node.id);
  }

  void walk(const Block &block) {
    for (const Stmt *statement : block)
      walk(statement);
  }

  void walk(const Stmt *node) {
    // `else: raise ...` behind constants refuses other constants: no compile that goes well looks at it.
    if (auto *s = as<UnsupportedStmt>(node); s && s->what == "raise" && branches_)
      return;
    if (std::optional<sema::Refusal> refusal = sema::refusalOf(node))
      return refuse(node, refusal->what, refusal->instead);
    if (auto *s = as<Assign>(node)) {
      all(s->targets);
      walk(s->value);
    } else if (auto *s = as<AugAssign>(node)) {
      walk(s->target);
      walk(s->value);
    } else if (auto *s = as<AnnAssign>(node)) {
      walk(s->target);
      walk(s->value);
    } else if (auto *s = as<ExprStmt>(node)) {
      walk(s->value);
    } else if (auto *s = as<Return>(node)) {
      walk(s->value);
    } else if (auto *s = as<If>(node)) {
      walk(s->condition);
      ++branches_;
      walk(s->body);
      walk(s->orelse);
      --branches_;
    } else if (auto *s = as<For>(node)) {
      walk(s->target);
      walk(s->iterable);
      walk(s->body);
      walk(s->orelse);
    } else if (auto *s = as<While>(node)) {
      walk(s->condition);
      walk(s->body);
      walk(s->orelse);
    } else if (auto *s = as<Assert>(node)) {
      walk(s->condition);
      walk(s->message);
    }
  }

  void all(const std::vector<Expr *> &nodes) {
    for (const Expr *node : nodes)
      walk(node);
  }

  void walk(const Expr *node) {
    if (!node)
      return;
    if (auto *e = as<Name>(node))
      name(*e);
    else if (auto *e = as<UnsupportedExpr>(node))
      refuse(e, e->what,
             "kernels have arithmetic, comparisons, calls, subscripts, tuples and conditional expressions");
    else if (auto *e = as<syntax::Attribute>(node))
      walk(e->object);
    else if (auto *e = as<Unary>(node))
      walk(e->operand);
    else if (auto *e = as<Binary>(node))
      walk(e->left), walk(e->right);
    else if (auto *e = as<BoolOp>(node))
      all(e->operands);
    else if (auto *e = as<Compare>(node))
      walk(e->left), all(e->comparators);
    else if (auto *e = as<Conditional>(node))
      walk(e->condition), walk(e->then), walk(e->orelse);
    else if (auto *e = as<Tuple>(node))
      all(e->elements);
    else if (auto *e = as<List>(node))
      all(e->elements);
    else if (auto *e = as<Subscript>(node))
      walk(e->object), walk(e->index);
    else if (auto *e = as<Slice>(node))
      walk(e->lower), walk(e->upper), walk(e->step);
    else if (auto *e = as<Starred>(node))
      walk(e->value);
    else if (auto *e = as<NamedExpr>(node))
      walk(e->value);
    else if (auto *e = as<Call>(node))
      call(*e);
    else if (auto *e = as<ListComp>(node))
      comprehension(*e);
    else if (auto *e = as<FormatString>(node))
      for (const FormatPart &part : e->parts)
        walk(part.value);
  }

  void call(const Call &node) {
    walk(node.callee);
    all(node.arguments);
    for (const Keyword &keyword : node.keywords)
      walk(keyword.value);
  }

  void comprehension(const ListComp &node) {
    for (const Comprehension &generator : node.generators) {
      targets(generator.target);
      walk(generator.iterable);
      all(generator.conditions);
    }
    walk(node.element);
  }

  void targets(const Expr *node) {
    if (auto *target = as<Name>(node))
      known_.insert(target->id);
    else if (auto *tuple = as<Tuple>(node))
      for (const Expr *element : tuple->elements)
        targets(element);
  }

  const sema::Function &function_;
  diag::Sink &sink_;
  llvm::StringSet<> known_, &used_;
  int branches_ = 0; // of `if` around the statement
};

} // namespace

void check(const Module &module, diag::Sink &sink) {
  llvm::StringSet<> used;
  for (const auto &function : module.functions)
    Checker(*function, sink, used).run();
  // One that others call may have parameters that a kernel has not.
  for (const auto &function : module.functions)
    if (!used.contains(function->definition->name))
      checkParameters(*function, sink);
}

} // namespace tegula::compiler
