#include "compiler/Signature.h"
#include "compiler/Literal.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tegula::compiler {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  size_t first = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// Splits at commas outside of quotes and brackets.
std::vector<std::string_view> entries(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i != text.size(); ++i) {
    char c = text[i];
    if (quote) {
      if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  if (!trimmed(text.substr(start)).empty())
    parts.push_back(text.substr(start));
  return parts;
}

struct Reader {
  diag::SourcePtr source;
  const sema::Function &function;
  std::span<const Parameter> parameters;
  diag::Sink &sink;
  std::unordered_map<std::string_view, const Parameter *> byName = namesOf(parameters);

  static std::unordered_map<std::string_view, const Parameter *> namesOf(std::span<const Parameter> all) {
    std::unordered_map<std::string_view, const Parameter *> byName;
    for (const Parameter &each : all)
      byName.try_emplace(each.name, &each);
    return byName;
  }

  diag::Location at(std::string_view part) const {
    auto begin = uint32_t(part.data() - source->text().data());
    return {source, {begin, begin + uint32_t(part.size())}};
  }

  std::optional<sema::ArgumentSpec> fail(std::string_view part, std::string_view reason) {
    sink.report(diag::Kind::SignatureSyntax, at(part), {reason});
    return std::nullopt;
  }

  // `*f32:16`, `i32:8`; nullopt: not a type.
  static std::optional<std::pair<sema::Type, unsigned>> typeOf(std::string_view text) {
    unsigned divisibility = 1;
    for (unsigned divisor : {16u, 8u})
      if (std::string end = ":" + std::to_string(divisor); text.ends_with(end)) {
        divisibility = divisor;
        text.remove_suffix(end.size());
        break;
      }
    sema::Type type;
    if ((type.pointer = text.starts_with('*'))) {
      text.remove_prefix(1);
      if ((type.isConst = text.starts_with('k')))
        text.remove_prefix(1);
    }
    std::optional<DType> element = dtypeFromName(text);
    if (!element)
      return std::nullopt;
    type.element = *element;
    return std::pair(type, divisibility);
  }

  std::optional<sema::ArgumentSpec> entry(std::string_view part) {
    size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return fail(part, "`" + std::string(part) + "` has no `=`");
    std::string_view name = trimmed(part.substr(0, equals)), value = trimmed(part.substr(equals + 1));
    auto parameter = byName.find(name);
    if (parameter == byName.end()) {
      sink.report(diag::Kind::ParameterUnknown, at(part),
                  {function.definition->name, name,
                   parameters.empty() ? "" : "its parameters: " + listOf(parameters)});
      return std::nullopt;
    }
    if (auto type = typeOf(value); type && !(parameter->second->isConstexpr && !type->first.pointer))
      return run(part, *parameter->second, *type);
    if (std::optional<sema::Const> constant = parseLiteral(value))
      return sema::ArgumentSpec{std::string(name), std::move(*constant), 1};
    if (size_t colon = value.find(':'); colon != value.npos && typeOf(value.substr(0, colon)))
      return fail(value,
                  "`" + std::string(value.substr(colon)) +
                      "` behind a type is nothing: there are only `:16` and `:8`, divisible by 16 and by 8");
    return fail(value.empty() ? part : value,
                "`" + std::string(value) + "` is neither a type nor a constant");
  }

  std::optional<sema::ArgumentSpec> run(std::string_view part, const Parameter &parameter,
                                        const std::pair<sema::Type, unsigned> &type) {
    if (parameter.isConstexpr) {
      sink.report(diag::Kind::ConstexprNeedsConstant, at(part),
                  {function.definition->name, parameter.name, "a pointer"});
      return std::nullopt;
    }
    sema::ArgumentSpec spec{parameter.name, type.first, type.second};
    if (parameter.isConst)
      std::get<sema::Type>(spec.value).isConst = true;
    return spec;
  }
};

} // namespace

std::optional<std::vector<sema::ArgumentSpec>> parseSignature(std::string_view text,
                                                              const sema::Function &function,
                                                              std::span<const Parameter> parameters,
                                                              diag::Sink &sink) {
  Reader reader{std::make_shared<diag::Source>("<signature>", std::string(text)), function, parameters, sink};
  std::vector<sema::ArgumentSpec> specs;
  std::unordered_set<std::string> given;
  size_t before = sink.errorCount();
  for (std::string_view part : entries(reader.source->text())) {
    part = trimmed(part);
    std::optional<sema::ArgumentSpec> spec = reader.entry(part);
    if (!spec)
      continue;
    if (!given.insert(spec->name).second)
      sink.report(diag::Kind::ParameterTwice, reader.at(part), {function.definition->name, spec->name});
    specs.push_back(std::move(*spec));
  }
  if (sink.errorCount() != before)
    return std::nullopt;
  return specs;
}

} // namespace tegula::compiler
