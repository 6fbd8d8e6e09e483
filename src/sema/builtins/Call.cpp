// Arguments to parameters, by a builtin's row of the table.
#include "sema/builtins/Call.h"
#include "sema/Hints.h"

namespace tegula::sema::builtins {
namespace {

// ---- binding ----------------------------------------------------------------------------

struct Binder {
  Session &session;
  const Row &row;
  std::vector<std::optional<Value>> bound = std::vector<std::optional<Value>>(row.parameters.size());

  std::nullopt_t fail(diag::Kind kind, std::initializer_list<std::string_view> arguments) {
    return session.fail(kind, arguments);
  }

  std::optional<size_t> indexOf(std::string_view name) const {
    for (size_t i = 0; i < row.parameters.size(); ++i)
      if (row.parameters[i].name == name)
        return i;
    return std::nullopt;
  }

  bool takePositional(std::span<const Value> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i < row.parameters.size() && row.parameters[i].isVariadic) {
        takeRest(i, arguments.subspan(i));
        return true;
      }
      if (i == row.parameters.size()) {
        fail(diag::Kind::BuiltinTooManyArguments, {row.display(), std::to_string(row.parameters.size()),
                                                   std::to_string(arguments.size()), row.parameterText});
        return false;
      }
      bound[i] = arguments[i];
    }
    return true;
  }

  // f(x, 1, 2), f(x, (1, 2)) and f(x, [1, 2]) are one, unless the parameter takes any object.
  void takeRest(size_t i, std::span<const Value> rest) {
    bool isTuple = !row.parameters[i].keepsTuples && rest.size() == 1 && elementsOf(rest[0]);
    bound[i] = isTuple ? rest[0] : makeValueTuple({rest.begin(), rest.end()});
  }

  bool takeKeywords(std::span<const NamedValue> keywords) {
    for (const NamedValue &keyword : keywords) {
      auto i = indexOf(keyword.name);
      if (!i) {
        fail(diag::Kind::BuiltinUnknownKeyword, {row.display(), keyword.name, row.parameterText});
        return false;
      }
      if (bound[*i]) {
        fail(diag::Kind::BuiltinDuplicateArgument, {row.display(), keyword.name});
        return false;
      }
      if (row.parameters[*i].isVariadic)
        takeRest(*i, {&keyword.value, 1});
      else
        bound[*i] = keyword.value;
    }
    return true;
  }

  std::optional<std::vector<Value>> finish() {
    std::vector<Value> values;
    for (size_t i = 0; i < bound.size(); ++i) {
      const Parameter &parameter = row.parameters[i];
      if (!bound[i] && parameter.fallback)
        bound[i] = *parameter.fallback;
      if (!bound[i] && parameter.isVariadic)
        bound[i] = makeValueTuple({});
      if (!bound[i])
        return fail(diag::Kind::BuiltinMissingArgument, {row.display(), parameter.name, row.parameterText});
      if (parameter.isConstexpr && !isConstexpr(*bound[i]))
        return fail(diag::Kind::ArgumentNotConstexpr, {row.display(), parameter.name, describe(*bound[i])});
      values.push_back(*bound[i]);
    }
    return values;
  }

  static bool isConstexpr(const Value &value) {
    if (value.tensor() || value.record())
      return false;
    auto *tuple = value.tuple();
    return !tuple || std::all_of(tuple->begin(), tuple->end(), isConstexpr);
  }
};

} // namespace

// Floats below fp32 go through `function` as fp32, and so does what it makes of them, rounded to their type.
static std::optional<Value> callWidened(Session &session, const Function &function,
                                        std::span<const Value> arguments,
                                        std::span<const NamedValue> keywords) {
  std::optional<DType> narrow;
  bool isWide = false; // a float among them is fp32 or fp64
  auto widened = [&](const Value &value) -> Value {
    const Tensor *tensor = value.tensor();
    if (!tensor || tensor->type.pointer || !isFloat(tensor->type.element))
      return value;
    if (bitWidth(tensor->type.element) >= 32) {
      isWide = true;
      return value;
    }
    isWide |= narrow && narrow != tensor->type.element;
    narrow = tensor->type.element;
    return *cast(session, *tensor, DType::F32);
  };
  std::vector<Value> positional;
  std::vector<NamedValue> named(keywords.begin(), keywords.end());
  for (const Value &argument : arguments)
    positional.push_back(widened(argument));
  for (NamedValue &keyword : named)
    keyword.value = widened(keyword.value);
  auto result = session.functions.callFunction(function, positional, named);
  const Tensor *made = result && narrow && !isWide ? result->tensor() : nullptr;
  if (!made || made->type.element != DType::F32)
    return result;
  auto rounded = cast(session, *made, *narrow);
  return rounded ? std::optional<Value>(*rounded) : std::nullopt;
}

std::optional<Value> runBuiltin(Session &session, const Row &row, std::span<const Value> arguments,
                                std::span<const NamedValue> keywords) {
  if (row.isLibrary) {
    auto function = findLibraryFunction(row.libraryName());
    return row.widensFloats ? callWidened(session, *function, arguments, keywords)
                            : session.functions.callFunction(*function, arguments, keywords);
  }
  if (!row.hasMeaning)
    return session.fail(diag::Kind::UnsupportedBuiltin, {row.display(), row.doc});
  Binder binder{session, row};
  if (!binder.takePositional(arguments) || !binder.takeKeywords(keywords))
    return std::nullopt;
  auto values = binder.finish();
  if (!values)
    return std::nullopt;
  Call call(session, row, std::move(*values));
  return meaningOf(row)(call);
}

// ---- reading arguments ------------------------------------------------------------------

// A hint for what is commonly given in place of it.
static std::string_view hintOf(std::string_view expected, const Value &given) {
  bool isPointer = expected.find("pointer") != std::string_view::npos;
  if (given.isNone())
    return "an argument that may be None is used behind `if x is not None:`";
  if (isPointer)
    return "memory comes to a kernel as a tensor or an array; an offset is added to its pointer: `x_ptr + i`";
  if (expected == "a dtype")
    return "types are tl.float32, tl.int8, x.dtype, ..., or a parameter annotated `: tl.constexpr`";
  if (expected == "an integer" && given.constant() && std::get_if<double>(&given.constant()->value))
    return "a quotient of `/` is a float, also in Python: divide with `//`, or round up with triton.cdiv";
  if (expected == "int1")
    return "compare: `mask != 0`";
  return {};
}

std::nullopt_t Call::wrong(size_t i, std::string_view expected) const {
  session.fail(diag::Kind::BuiltinWrongArgument,
               {row.display(), row.parameters[i].name, expected, describe(values[i])});
  setHint(session, diag::Kind::BuiltinWrongArgument, hintOf(expected, values[i]));
  return std::nullopt;
}

std::nullopt_t Call::fail(diag::Kind kind, std::vector<std::string> arguments) const {
  std::string name = row.display();
  arguments.resize(std::max<size_t>(arguments.size(), 4));
  return session.fail(kind, {name, arguments[0], arguments[1], arguments[2], arguments[3]});
}

std::optional<Tensor> Call::tensor(size_t i) const {
  if (values[i].tensor() || isNumber(values[i]))
    return toTensor(session, values[i]);
  return wrong(i, "a number or a tile");
}

std::optional<Tensor> Call::tile(size_t i) const {
  if (auto *tensor = values[i].tensor(); tensor && !tensor->type.isScalar())
    return *tensor;
  return wrong(i, "a tile");
}

std::optional<int64_t> Call::integer(size_t i) const {
  if (auto *constant = values[i].constant())
    if (auto value = asInt64(*constant))
      return value;
  if (values[i].tensor())
    return session.fail(diag::Kind::ArgumentNotConstexpr,
                        {row.display(), row.parameters[i].name, describe(values[i])});
  return wrong(i, "an integer");
}

std::optional<bool> Call::flag(size_t i) const {
  auto *constant = values[i].constant();
  if (constant && (values[i].isNone() || asInt64(*constant)))
    return truth(session, *constant);
  if (constant || elementsOf(values[i]))
    return wrong(i, "True or False");
  return session.fail(diag::Kind::ArgumentNotConstexpr,
                      {row.display(), row.parameters[i].name, describe(values[i])});
}

std::optional<std::string> Call::text(size_t i) const {
  if (auto *constant = values[i].constant()) {
    if (auto *string = std::get_if<std::string>(&constant->value))
      return *string;
    if (values[i].isNone())
      return std::string();
  }
  return wrong(i, "a string");
}

std::optional<Type> Call::type(size_t i) const {
  if (auto *constant = values[i].constant())
    if (auto *type = std::get_if<TypeRef>(&constant->value); type && !type->whole) {
      if (!type->pointer && isPacked(type->element))
        return fail(diag::Kind::PackedElement,
                    {std::string(name(type->element)), std::string(name(unpackedType(type->element)))});
      return typeOf(*type).scalar();
    }
  return wrong(i, "a dtype");
}

std::optional<DType> Call::dtype(size_t i) const {
  auto found = type(i);
  if (found && found->pointer)
    return wrong(i, "a dtype");
  return found ? std::optional(found->element) : std::nullopt;
}

std::optional<Shape> Call::integers(size_t i) const {
  auto elements = elementsOf(values[i]);
  if (!elements)
    elements = std::vector<Value>{values[i]};
  Shape result;
  for (const Value &element : *elements) {
    auto value = element.constant() ? asInt64(*element.constant()) : std::nullopt;
    if (!value && element.tensor())
      return session.fail(diag::Kind::ArgumentNotConstexpr,
                          {row.display(), row.parameters[i].name, describe(element)});
    if (!value)
      return wrong(i, "a tuple of integers");
    result.push_back(*value);
  }
  return result;
}

std::optional<Shape> Call::shape(size_t i) const {
  if (!elementsOf(values[i]))
    return values[i].tensor() ? session.fail(diag::Kind::ArgumentNotConstexpr,
                                             {row.display(), row.parameters[i].name, describe(values[i])})
                              : wrong(i, "a tuple of integers");
  auto extents = integers(i);
  return extents && checkShape(session, *extents) ? extents : std::nullopt;
}

std::optional<int64_t> Call::axis(size_t i, int64_t rank) const {
  auto value = integer(i);
  if (value && (*value < -rank || *value >= rank))
    return fail(diag::Kind::BadAxis, {std::to_string(*value), std::to_string(rank)});
  return value ? std::optional(*value < 0 ? *value + rank : *value) : std::nullopt;
}

} // namespace tegula::sema::builtins
