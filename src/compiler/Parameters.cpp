#include "compiler/Parameters.h"
#include "sema/Session.h"

namespace tegula::compiler {
namespace {

using namespace syntax;
using sema::Const;

std::string_view textOf(const sema::Function &function, const Expr *node) {
  std::string_view text = function.tree->source->text();
  return text.substr(node->range.begin, node->range.end - node->range.begin);
}

// The object that an annotation's expression names; nullopt where it is something else.
std::optional<Const> resolve(const sema::Function &function, const Expr *node) {
  if (auto *name = as<Name>(node)) {
    std::optional<sema::HostAnswer> answer = function.env->lookup(name->id);
    return answer ? std::optional(answer->value) : std::nullopt;
  }
  auto *attribute = as<syntax::Attribute>(node);
  if (!attribute)
    return std::nullopt;
  std::optional<Const> object = resolve(function, attribute->object);
  if (!object)
    return std::nullopt;
  if (auto *module = std::get_if<sema::ModuleRef>(&object->value))
    return sema::findBuiltin(module->name + "." + attribute->attribute);
  std::optional<sema::HostAnswer> answer = function.env->attribute(*object, attribute->attribute);
  return answer ? std::optional(answer->value) : std::nullopt;
}

// The last name of `tl.constexpr`.
std::string_view lastName(const Expr *node) {
  if (auto *attribute = as<syntax::Attribute>(node))
    return attribute->attribute;
  if (auto *name = as<Name>(node))
    return name->id;
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\n";
  size_t begin = std::min(text.find_first_not_of(spaces), text.size());
  return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

std::string_view afterLastDot(std::string_view text) { return text.substr(text.rfind('.') + 1); }

// "i64", "tl.int64", "*fp16", "*ki32", "const fp32*", "tl.float32 *": upstream's spellings of a type as text.
std::optional<sema::TypeRef> typeFromText(std::string_view text) {
  sema::TypeRef type{DType::I32};
  if (text.starts_with("const ")) {
    type.isConst = true;
    text = trimmed(text.substr(6));
  }
  if (text.ends_with('*')) {
    type.pointer = true;
    text = trimmed(text.substr(0, text.size() - 1));
  } else if (text.starts_with('*')) {
    type.pointer = true;
    text = trimmed(text.substr(1));
    if (text.starts_with('k') && !dtypeFromName(text)) {
      type.isConst = true;
      text.remove_prefix(1);
    }
  }
  std::optional<DType> element = dtypeFromName(afterLastDot(text));
  if (!element)
    return std::nullopt;
  type.element = *element;
  return type;
}

// tl.pointer_type(tl.float32)
std::optional<sema::TypeRef> pointerType(const sema::Function &function, const Expr *node) {
  auto *call = as<Call>(node);
  if (!call || lastName(call->callee) != "pointer_type" || call->arguments.empty())
    return std::nullopt;
  std::optional<Const> element = resolve(function, call->arguments.front());
  auto *type = element ? std::get_if<sema::TypeRef>(&element->value) : nullptr;
  return type ? std::optional(sema::TypeRef{type->element, true}) : std::nullopt;
}

void applyAnnotation(const sema::Function &function, const Expr *node, Parameter &parameter) {
  parameter.annotation = textOf(function, node);
  if (auto *text = as<StringLiteral>(node))
    return void(compiler::applyAnnotation(text->value, parameter));
  if ((parameter.pinned = pointerType(function, node)))
    return;
  std::optional<Const> object = resolve(function, node);
  if (object) {
    if (auto *type = std::get_if<sema::TypeRef>(&object->value))
      return void(parameter.pinned = *type);
    if (auto *builtin = std::get_if<sema::BuiltinRef>(&object->value)) {
      parameter.isConstexpr = builtin->name.ends_with(".constexpr");
      parameter.isConst = builtin->name.ends_with(".const");
      return;
    }
  }
  std::string_view name = lastName(node);
  parameter.isConstexpr = name == "constexpr";
  parameter.isConst = name == "const";
  if (!parameter.isConstexpr && !parameter.isConst)
    parameter.pinned = typeFromText(name);
}

// Marks the parameters that `list` names, by name or by index.
void markListed(const Expr *list, std::vector<Parameter> &parameters, bool Parameter::*mark) {
  const std::vector<Expr *> *elements = nullptr;
  if (auto *tuple = as<Tuple>(list))
    elements = &tuple->elements;
  else if (auto *node = as<List>(list))
    elements = &node->elements;
  if (!elements)
    return;
  for (const Expr *element : *elements)
    for (size_t i = 0; i != parameters.size(); ++i) {
      auto *name = as<StringLiteral>(element);
      auto *index = as<IntLiteral>(element);
      if ((name && name->value == parameters[i].name) || (index && index->digits == std::to_string(i)))
        parameters[i].*mark = true;
    }
}

// @triton.jit(do_not_specialize=["n"])
void applyDecorators(const sema::Function &function, std::vector<Parameter> &parameters) {
  for (const Expr *decorator : function.definition->decorators)
    if (auto *call = as<Call>(decorator))
      for (const Keyword &keyword : call->keywords) {
        if (keyword.name == "do_not_specialize")
          markListed(keyword.value, parameters, &Parameter::doNotSpecialize);
        else if (keyword.name == "do_not_specialize_on_alignment")
          markListed(keyword.value, parameters, &Parameter::doNotSpecializeOnAlignment);
      }
}

} // namespace

bool applyAnnotation(std::string_view text, Parameter &parameter) {
  text = trimmed(text);
  bool isConstexpr = afterLastDot(text) == "constexpr", isConst = afterLastDot(text) == "const";
  std::optional<sema::TypeRef> pinned = typeFromText(text);
  parameter.isConstexpr = isConstexpr;
  parameter.isConst = isConst;
  parameter.pinned = pinned;
  return isConstexpr || isConst || pinned;
}

std::vector<Parameter> parametersOf(const sema::Function &function) {
  std::vector<Parameter> parameters;
  for (const syntax::Parameter &definition : function.definition->parameters) {
    Parameter parameter;
    parameter.name = definition.name;
    parameter.location = function.tree->at(definition.range);
    parameter.isVariadic = definition.kind == syntax::Parameter::VarArgs;
    parameter.isKeywordOnly = definition.kind == syntax::Parameter::KeywordOnly;
    if (definition.annotation)
      applyAnnotation(function, definition.annotation, parameter);
    if (definition.defaultValue) {
      parameter.hasDefault = true;
      parameter.defaultText = textOf(function, definition.defaultValue);
    }
    parameters.push_back(std::move(parameter));
  }
  applyDecorators(function, parameters);
  return parameters;
}

std::string listOf(std::span<const Parameter> parameters) {
  constexpr size_t most = 40;
  std::string names;
  for (const Parameter &parameter : parameters.first(std::min(most, parameters.size())))
    names += (names.empty() ? "" : ", ") + parameter.name;
  if (parameters.size() > most)
    names += " and " + std::to_string(parameters.size() - most) + " more";
  return names;
}

bool checkParameters(const sema::Function &function, diag::Sink &sink) {
  for (const syntax::Parameter &parameter : function.definition->parameters)
    if (parameter.kind == syntax::Parameter::KwArgs) {
      sink.report(diag::Kind::ParameterKindUnsupported, function.tree->at(parameter.range),
                  {function.definition->name, parameter.name});
      return false;
    }
  return true;
}

} // namespace tegula::compiler
