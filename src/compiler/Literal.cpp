#include "compiler/Literal.h"
#include "base/DType.h"
#include "syntax/Parser.h"

namespace tegula::compiler {

using sema::Const;
using namespace syntax;

static std::optional<Const> evaluate(const Expr *node);

static Const integer(const IntLiteral &literal) {
  unsigned bits = llvm::APInt::getSufficientBitsNeeded(literal.digits, uint8_t(literal.base)) + 1;
  return {llvm::APInt(std::max(bits, 64u), literal.digits, uint8_t(literal.base))};
}

static std::optional<Const> negated(const Expr *operand) {
  std::optional<Const> value = evaluate(operand);
  if (!value)
    return std::nullopt;
  if (auto *number = std::get_if<llvm::APInt>(&value->value))
    return Const{-number->sext(number->getBitWidth() + 1)};
  if (auto *number = std::get_if<double>(&value->value))
    return Const{-*number};
  return std::nullopt;
}

static std::optional<Const> tuple(const std::vector<Expr *> &elements) {
  auto values = std::make_shared<sema::ConstTuple>();
  for (const Expr *element : elements) {
    std::optional<Const> value = evaluate(element);
    if (!value)
      return std::nullopt;
    values->push_back(std::move(*value));
  }
  return Const{std::move(values)};
}

static std::optional<Const> typeNamed(std::string_view name) {
  if (std::optional<DType> type = dtypeFromName(name))
    return Const{sema::TypeRef{*type}};
  return std::nullopt;
}

// `tl.float16`, `triton.language.float16`: the last name counts, the rest must be names.
static std::optional<Const> dotted(const syntax::Attribute &attribute) {
  const Expr *object = attribute.object;
  while (auto *inner = as<syntax::Attribute>(object))
    object = inner->object;
  return as<Name>(object) ? typeNamed(attribute.attribute) : std::nullopt;
}

static std::optional<Const> evaluate(const Expr *node) {
  if (as<NoneLiteral>(node))
    return Const{sema::NoneValue{}};
  if (auto *literal = as<BoolLiteral>(node))
    return Const{literal->value};
  if (auto *literal = as<IntLiteral>(node))
    return integer(*literal);
  if (auto *literal = as<FloatLiteral>(node))
    return Const{literal->value};
  if (auto *literal = as<StringLiteral>(node); literal && !literal->bytes)
    return Const{literal->value};
  if (auto *unary = as<Unary>(node); unary && unary->op == UnaryOperator::Negate)
    return negated(unary->operand);
  if (auto *list = as<Tuple>(node))
    return tuple(list->elements);
  if (auto *name = as<Name>(node)) {
    if (name->id == "inf" || name->id == "nan")
      return Const{name->id == "inf" ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN()};
    return typeNamed(name->id);
  }
  if (auto *attribute = as<syntax::Attribute>(node))
    return dotted(*attribute);
  return std::nullopt;
}

std::optional<Const> parseLiteral(std::string_view text) {
  diag::Sink sink;
  auto tree = parse(std::make_shared<diag::Source>("<constant>", std::string(text)), sink);
  if (sink.hasErrors() || tree->body.size() != 1)
    return std::nullopt;
  auto *statement = as<ExprStmt>(tree->body.front());
  return statement ? evaluate(statement->value) : std::nullopt;
}

} // namespace tegula::compiler
