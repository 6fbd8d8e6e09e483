// One walk over statements and the expressions in them.
#include "sema/AssignedNames.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace tegula::sema {

using syntax::as;

namespace {

class Collector {
public:
  explicit Collector(AssignedNames::Decide decide) : decide_(decide) {}

  BlockFacts facts;

  BlockFacts take() {
    llvm::erase_if(facts.loopVariables, [&](llvm::StringRef name) { return seen_.contains(name); });
    return std::move(facts);
  }

  void block(std::span<syntax::Stmt *const> statements) {
    for (const syntax::Stmt *statement : statements)
      this->statement(statement);
  }

  void expression(const syntax::Expr *node) {
    if (!node)
      return;
    if (auto *walrus = as<syntax::NamedExpr>(node)) {
      target(walrus->target);
      expression(walrus->value);
    }
    if (auto *e = as<syntax::Attribute>(node))
      expression(e->object);
    if (auto *e = as<syntax::Subscript>(node)) {
      expression(e->object);
      expression(e->index);
    }
    if (auto *e = as<syntax::Starred>(node))
      expression(e->value);
    if (auto *e = as<syntax::Unary>(node))
      expression(e->operand);
    if (auto *e = as<syntax::Binary>(node)) {
      expression(e->left);
      expression(e->right);
    }
    if (auto *e = as<syntax::BoolOp>(node))
      expressions(e->operands);
    if (auto *e = as<syntax::Compare>(node)) {
      expression(e->left);
      expressions(e->comparators);
    }
    if (auto *e = as<syntax::Conditional>(node)) {
      expression(e->condition);
      expression(e->then);
      expression(e->orelse);
    }
    if (auto *e = as<syntax::Tuple>(node))
      expressions(e->elements);
    if (auto *e = as<syntax::List>(node))
      expressions(e->elements);
    if (auto *e = as<syntax::Slice>(node)) {
      expression(e->lower);
      expression(e->upper);
      expression(e->step);
    }
    if (auto *e = as<syntax::FormatString>(node))
      formatParts(e->parts);
    if (auto *e = as<syntax::ListComp>(node)) { // its targets are its own
      expression(e->element);
      for (const syntax::Comprehension &generator : e->generators) {
        expression(generator.iterable);
        expressions(generator.conditions);
      }
    }
    if (auto *e = as<syntax::Call>(node)) {
      expression(e->callee);
      expressions(e->arguments);
      for (const syntax::Keyword &keyword : e->keywords)
        expression(keyword.value);
    }
  }

  void statement(const syntax::Stmt *node) {
    if (auto *s = as<syntax::Return>(node)) {
      facts.hasReturn = true;
      expression(s->value);
    }
    facts.hasBreak |= as<syntax::Break>(node) && !loops_;
    facts.hasContinue |= as<syntax::Continue>(node) && !loops_;
    if (auto *s = as<syntax::Assign>(node)) {
      expression(s->value);
      for (const syntax::Expr *each : s->targets)
        target(each);
    }
    if (auto *s = as<syntax::AugAssign>(node)) {
      expression(s->value);
      target(s->target);
    }
    if (auto *s = as<syntax::AnnAssign>(node)) {
      expression(s->value);
      if (s->value)
        target(s->target);
    }
    if (auto *s = as<syntax::ExprStmt>(node))
      expression(s->value);
    if (auto *s = as<syntax::Assert>(node)) {
      expression(s->condition);
      expression(s->message);
    }
    if (auto *s = as<syntax::If>(node))
      branch(*s);
    if (auto *s = as<syntax::For>(node)) {
      expression(s->iterable);
      loopTarget(s->target);
      ++loops_;
      block(s->body);
      --loops_;
      block(s->orelse);
    }
    if (auto *s = as<syntax::While>(node)) {
      expression(s->condition);
      ++loops_;
      block(s->body);
      --loops_;
      block(s->orelse);
    }
    refused(node);
  }

  void target(const syntax::Expr *node) {
    if (auto *name = as<syntax::Name>(node))
      bind(name->id);
    if (auto *attribute = as<syntax::Attribute>(node)) // a constructor sets a field
      target(attribute->object);
    if (auto *tuple = as<syntax::Tuple>(node))
      for (const syntax::Expr *element : tuple->elements)
        target(element);
    if (auto *list = as<syntax::List>(node))
      for (const syntax::Expr *element : list->elements)
        target(element);
    if (auto *starred = as<syntax::Starred>(node))
      target(starred->value);
  }

private:
  // Adds the names that statements bind which no kernel may hold: later uses of them are no further mistakes.
  void refused(const syntax::Stmt *node) {
    if (auto *s = as<syntax::With>(node)) {
      for (const syntax::WithItem &item : s->items) {
        expression(item.context);
        target(item.target);
      }
      block(s->body);
    }
    if (auto *s = as<syntax::FunctionDef>(node))
      bind(s->name);
    if (auto *s = as<syntax::ClassDef>(node))
      bind(s->name);
    if (auto *s = as<syntax::Import>(node))
      imports(s->names);
    if (auto *s = as<syntax::ImportFrom>(node))
      imports(s->names);
    if (auto *s = as<syntax::UnsupportedStmt>(node)) {
      facts.hasUnknown = true; // `global x`, `except E as x`, the patterns of `match`
      block(s->body);
    }
  }

  void imports(const std::vector<syntax::ImportedName> &names) {
    for (const syntax::ImportedName &name : names) {
      bind(llvm::StringRef(name.asName).split('.').first); // `import a.b` binds `a`
      facts.hasUnknown |= name.name == "*";
    }
  }

  void bind(llvm::StringRef name) {
    if (seen_.insert(name).second)
      facts.assigned.push_back(name);
  }

  void expressions(const std::vector<syntax::Expr *> &nodes) {
    for (const syntax::Expr *node : nodes)
      expression(node);
  }

  void formatParts(const std::vector<syntax::FormatPart> &parts) {
    for (const syntax::FormatPart &part : parts) {
      expression(part.value);
      formatParts(part.specParts);
    }
  }

  void loopTarget(const syntax::Expr *node) {
    auto *name = as<syntax::Name>(node);
    if (!name)
      return target(node); // `for a, b in`: refused
    if (!llvm::is_contained(facts.loopVariables, name->id))
      facts.loopVariables.push_back(name->id);
  }

  void branch(const syntax::If &node) {
    auto decided = decide_ ? decide_(node.condition) : std::nullopt;
    expression(node.condition);
    if (decided.value_or(true))
      block(node.body);
    if (!decided.value_or(false))
      block(node.orelse);
  }

  AssignedNames::Decide decide_;
  unsigned loops_ = 0; // around the statement, within the block
  llvm::DenseSet<llvm::StringRef> seen_;
};

} // namespace

const BlockFacts &AssignedNames::of(const syntax::Block &block) {
  auto known = facts_.find(&block);
  if (known != facts_.end())
    return known->second;
  Collector collector(nullptr);
  collector.block(block);
  return facts_[&block] = collector.take();
}

BlockFacts AssignedNames::of(std::span<syntax::Stmt *const> statements) {
  Collector collector(nullptr);
  collector.block(statements);
  return collector.take();
}

BlockFacts AssignedNames::of(const syntax::Stmt *statement) {
  Collector collector(nullptr);
  collector.statement(statement);
  BlockFacts facts = collector.take();
  facts.assigned.append(facts.loopVariables.begin(), facts.loopVariables.end());
  return facts;
}

void AssignedNames::collect(const syntax::Expr *node, llvm::SmallVectorImpl<llvm::StringRef> &names) {
  Collector collector(nullptr);
  collector.expression(node);
  names.append(collector.facts.assigned.begin(), collector.facts.assigned.end());
}

void AssignedNames::collectTarget(const syntax::Expr *target, llvm::SmallVectorImpl<llvm::StringRef> &names) {
  Collector collector(nullptr);
  collector.target(target);
  names.append(collector.facts.assigned.begin(), collector.facts.assigned.end());
}

BlockFacts AssignedNames::live(const syntax::Block &block, Decide decide) {
  Collector collector(decide);
  collector.block(block);
  return collector.take();
}

} // namespace tegula::sema
