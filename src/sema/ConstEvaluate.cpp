// Evaluates constant expressions on the tree. The height of expressions is bounded by the
// parser, so the recursion here is too.
#include "sema/ConstEvaluate.h"
#include "sema/ConstMath.h"
#include "sema/Session.h"

#include <cmath>

namespace tegula::sema {

using llvm::APInt;
using namespace std::literals;

std::optional<Const> literalOf(const syntax::Expr *node, ConstError &error) {
  switch (node->kind) {
  case syntax::NodeKind::NoneLiteral: return Const{NoneValue{}};
  case syntax::NodeKind::BoolLiteral: return Const{syntax::as<syntax::BoolLiteral>(node)->value};
  case syntax::NodeKind::FloatLiteral: return Const{syntax::as<syntax::FloatLiteral>(node)->value};
  case syntax::NodeKind::IntLiteral: {
    auto *literal = syntax::as<syntax::IntLiteral>(node);
    return integerFromDigits(literal->digits, literal->base, error);
  }
  case syntax::NodeKind::StringLiteral: {
    auto *literal = syntax::as<syntax::StringLiteral>(node);
    if (literal->bytes)
      return error.set(diag::Kind::UnsupportedConstruct, {"a bytes literal", "use a str"});
    return Const{literal->value};
  }
  default: return std::nullopt;
  }
}

std::optional<Const> moduleAttribute(const ModuleRef &module, std::string_view name) {
  if (module.name == "math")
    return mathAttribute(name);
  return findBuiltin(module.name + "." + std::string(name));
}

bool namesConstexpr(const syntax::Expr *annotation) {
  if (auto *attribute = syntax::as<syntax::Attribute>(annotation))
    return attribute->attribute == "constexpr";
  if (auto *text = syntax::as<syntax::StringLiteral>(annotation))
    return text->value == "constexpr" || llvm::StringRef(text->value).ends_with(".constexpr");
  auto *name = syntax::as<syntax::Name>(annotation);
  return name && name->id == "constexpr";
}

namespace {

std::optional<Const> foldExtreme(bool wantsMax, std::span<const Const> arguments, ConstError &error) {
  if (arguments.size() == 1 && tupleOf(arguments[0]))
    arguments = *tupleOf(arguments[0]);
  else if (arguments.size() == 1)
    return error.set(diag::Kind::ConstOperand, {wantsMax ? "max" : "min", describeType(arguments[0])});
  if (arguments.empty())
    return error.set(diag::Kind::ConstOperand, {wantsMax ? "max" : "min", "no values"});
  const Const *best = &arguments[0];
  for (const Const &candidate : arguments.subspan(1)) {
    auto op = wantsMax ? syntax::CompareOperator::Gt : syntax::CompareOperator::Lt;
    auto isBetter = evaluate(op, candidate, *best, error);
    if (!isBetter)
      return std::nullopt;
    if (isTrue(*isBetter))
      best = &candidate;
  }
  return *best;
}

std::optional<Const> foldCeilingDivision(const Const &a, const Const &b, ConstError &error) {
  using syntax::BinaryOperator;
  auto sum = evaluate(BinaryOperator::Add, a, b, error);
  auto raised = sum ? evaluate(BinaryOperator::Sub, *sum, makeInt(1), error) : sum;
  return raised ? evaluate(BinaryOperator::FloorDiv, *raised, b, error) : raised;
}

std::optional<Const> foldUnary(std::string_view name, const Const &argument, ConstError &error) {
  if (name == "triton.language.constexpr" || name == "constexpr")
    return argument;
  if (name == "builtins.float")
    return toPythonFloat(argument, error);
  if (name == "builtins.int")
    return toPythonInt(argument, error);
  if (name == "builtins.bool")
    return Const{isTrue(argument)};
  if (name == "builtins.str")
    return Const{str(argument)};
  if ((name == "builtins.tuple" || name == "builtins.list") && tupleOf(argument))
    return argument;
  if (name == "builtins.len" && tupleOf(argument))
    return makeInt(static_cast<int64_t>(tupleOf(argument)->size()));
  if (name == "builtins.abs" && isNumber(argument)) {
    if (auto *real = get<double>(argument))
      return Const{std::fabs(*real)};
    auto isNegative = evaluate(syntax::CompareOperator::Lt, argument, makeInt(0), error);
    auto op = isTrue(*isNegative) ? syntax::UnaryOperator::Negate : syntax::UnaryOperator::Plus;
    return evaluate(op, argument, error);
  }
  if (name == "triton.next_power_of_2" || name == "triton.language.next_power_of_2") {
    auto value = asInt64(argument);
    if (value && *value >= 0 && *value <= int64_t(1) << 62)
      return makeInt(*value <= 1 ? *value
                                 : static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(*value))));
  }
  if (name == "triton.language.pointer_type")
    if (auto *type = get<TypeRef>(argument))
      if (!type->pointer && type->shape.empty())
        return Const{TypeRef{type->element, true, false, {}}};
  return error.set(diag::Kind::NotConstant, {"`" + std::string(name) + "` is not evaluated here"});
}

// One expression; the first failure stays.
class Evaluator {
public:
  Evaluator(ResolveName resolve, ConstFailure &failure) : resolve_(resolve), failure_(failure) {}

  std::optional<Const> visit(const syntax::Expr *node) {
    auto result = dispatch(node);
    if (!result && !failure_.where)
      failure_.where = node;
    return result;
  }

private:
  std::nullopt_t refuse(std::string why) {
    if (!failure_.where)
      failure_.error.set(diag::Kind::NotConstant, {std::move(why)});
    return std::nullopt;
  }

  std::optional<Const> dispatch(const syntax::Expr *node) {
    using syntax::as;
    if (auto literal = literalOf(node, failure_.error))
      return literal;
    if (auto *name = as<syntax::Name>(node)) {
      auto value = resolve_(*name);
      return value ? value : refuse("`" + name->id + "` is not known before the kernel runs");
    }
    if (auto *attribute = as<syntax::Attribute>(node))
      return visitAttribute(*attribute);
    if (auto *tuple = as<syntax::Tuple>(node))
      return visitElements(tuple->elements);
    if (auto *list = as<syntax::List>(node))
      return visitElements(list->elements);
    if (auto *unary = as<syntax::Unary>(node)) {
      auto operand = visit(unary->operand);
      return operand ? evaluate(unary->op, *operand, failure_.error) : operand;
    }
    if (auto *binary = as<syntax::Binary>(node)) {
      auto left = visit(binary->left);
      auto right = left ? visit(binary->right) : left;
      return right ? evaluate(binary->op, *left, *right, failure_.error) : right;
    }
    if (auto *boolean = as<syntax::BoolOp>(node))
      return visitBoolean(*boolean);
    if (auto *compare = as<syntax::Compare>(node))
      return visitCompare(*compare);
    if (auto *conditional = as<syntax::Conditional>(node)) {
      auto condition = visit(conditional->condition);
      if (!condition)
        return condition;
      return visit(isTrue(*condition) ? conditional->then : conditional->orelse);
    }
    if (auto *call = as<syntax::Call>(node))
      return visitCall(*call);
    if (auto *subscript = as<syntax::Subscript>(node))
      return visitSubscript(*subscript);
    return refuse("this form has no value before the kernel runs");
  }

  std::optional<Const> visitAttribute(const syntax::Attribute &node) {
    auto object = visit(node.object);
    if (!object)
      return object;
    if (auto *module = get<ModuleRef>(*object))
      if (auto value = moduleAttribute(*module, node.attribute))
        return value;
    return refuse("`." + node.attribute + "` of " + describeType(*object));
  }

  std::optional<Const> visitElements(const std::vector<syntax::Expr *> &nodes) {
    ConstTuple elements;
    for (const syntax::Expr *node : nodes) {
      auto value = visit(node);
      if (!value)
        return value;
      elements.push_back(std::move(*value));
    }
    Const tuple = makeTuple(std::move(elements));
    if (isWithinLimits(tuple))
      return tuple;
    return failure_.error.set(diag::Kind::ConstTooLarge, {std::to_string(maxConstElements) + " elements"});
  }

  std::optional<Const> visitBoolean(const syntax::BoolOp &node) {
    std::optional<Const> value;
    for (const syntax::Expr *operand : node.operands) {
      value = visit(operand);
      if (!value || isTrue(*value) == (node.op == syntax::BoolOperator::Or))
        return value;
    }
    return value;
  }

  std::optional<Const> visitCompare(const syntax::Compare &node) {
    auto left = visit(node.left);
    std::optional<Const> result = left;
    for (size_t i = 0; left && i < node.ops.size(); ++i) {
      auto right = visit(node.comparators[i]);
      result = right ? evaluate(node.ops[i], *left, *right, failure_.error) : right;
      if (!result || !isTrue(*result))
        return result;
      left = right;
    }
    return result;
  }

  std::optional<Const> visitCall(const syntax::Call &node) {
    auto callee = visit(node.callee);
    if (!callee)
      return callee;
    ConstTuple arguments;
    for (const syntax::Expr *argument : node.arguments) {
      auto value = visit(argument);
      if (!value)
        return value;
      arguments.push_back(std::move(*value));
    }
    if (!node.keywords.empty())
      return refuse("a call with keyword arguments");
    return foldCall(*callee, arguments, failure_.error);
  }

  std::optional<Const> visitSubscript(const syntax::Subscript &node) {
    auto object = visit(node.object);
    auto index = object ? visit(node.index) : object;
    if (!index)
      return index;
    auto *tuple = tupleOf(*object);
    auto position = asInt64(*index);
    if (!tuple || !position)
      return refuse("only tuples can be indexed here");
    int64_t size = static_cast<int64_t>(tuple->size());
    int64_t at = *position < 0 ? *position + size : *position;
    return at >= 0 && at < size ? std::optional((*tuple)[at]) : refuse("the index is outside the tuple");
  }

  ResolveName resolve_;
  ConstFailure &failure_;
};

} // namespace

std::optional<Const> foldCall(const Const &callee, std::span<const Const> arguments, ConstError &error) {
  auto *builtin = get<BuiltinRef>(callee);
  if (!builtin)
    return error.set(diag::Kind::NotConstant, {"a call of " + describeType(callee)});
  const std::string &name = builtin->name;
  if (name == "builtins.min" || name == "builtins.max")
    return foldExtreme(name == "builtins.max", arguments, error);
  if (llvm::StringRef(name).starts_with("math."))
    return foldMath(name.substr(5), arguments, error);
  bool isCdiv = name == "triton.cdiv" || name == "triton.language.cdiv";
  if (isCdiv && arguments.size() == 2 && isInteger(arguments[0]) && isInteger(arguments[1]))
    return foldCeilingDivision(arguments[0], arguments[1], error);
  if (arguments.size() == 1)
    return foldUnary(name, arguments[0], error);
  return error.set(diag::Kind::NotConstant, {"a call of `" + name + "`"});
}

std::optional<Const> evaluateExpression(const syntax::Expr *node, ResolveName resolve,
                                        ConstFailure &failure) {
  return Evaluator(resolve, failure).visit(node);
}

} // namespace tegula::sema
