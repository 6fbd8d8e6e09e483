// Tuples: literals, comprehensions, subscripts and slices; and f-strings. Lists are tuples.
// A tuple of constants is a constant.
#include "diag/Utf8.h"
#include "sema/Hints.h"
#include "sema/Visitor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

namespace tegula::sema {

using diag::Kind;
using syntax::as;

std::optional<ValueTuple> elementsOf(const Value &value) {
  return isAggregate(value) ? std::nullopt : partsOf(value);
}

std::optional<ValueTuple> partsOf(const Value &value) {
  if (auto *tuple = value.tuple())
    return *tuple;
  auto *constant = value.constant();
  auto *tuple = constant ? tupleOf(*constant) : nullptr;
  if (!tuple)
    return std::nullopt;
  ValueTuple elements(tuple->begin(), tuple->end());
  elements.type = tuple->type;
  for (Value &element : elements)
    element.isScalar = value.isScalar;
  return elements;
}

static bool isTuple(const Value &value) {
  return (value.tuple() || (value.constant() && tupleOf(*value.constant()))) && !isAggregate(value);
}

bool isSameClass(const TupleClassPtr &a, const TupleClassPtr &b) { return a == b || (a && b && *a == *b); }

Value makeTupleValue(ValueTuple elements) {
  ConstTuple constants;
  constants.type = elements.type;
  bool areScalars = llvm::any_of(elements, [](const Value &element) { return element.isScalar; });
  for (const Value &element : elements) {
    if (!element.constant() || (areScalars && !element.isScalar))
      return Value(std::make_shared<ValueTuple>(std::move(elements)));
    constants.push_back(*element.constant());
  }
  Value tuple(makeTuple(std::move(constants)));
  tuple.isScalar = areScalars;
  return tuple;
}

std::string describeType(const Value &value) {
  if (auto *tensor = value.tensor())
    return spelling(tensor->type);
  if (auto *record = value.record())
    return spelling(record->type);
  if (auto *constant = value.constant(); constant && !tupleOf(*constant))
    return describeType(*constant);
  ValueTuple elements = *partsOf(value);
  std::string result = (elements.type ? elements.type->name : "") + "(";
  for (size_t i = 0; i < elements.size(); ++i)
    result += (i ? ", " : "") + describeType(elements[i]);
  return result + ")";
}

// Are they constants that differ, and that no run-time value can stand for? A number of an aggregate is a
// part of its type.
static bool areOtherConstants(const Value &a, const Value &b, bool isOfAggregate) {
  if (!a.constant() || !b.constant() || isSame(*a.constant(), *b.constant()))
    return false;
  return isOfAggregate || !isNumber(*a.constant()) || !isNumber(*b.constant());
}

static std::pair<std::string, std::string> describeTypes(const Value &a, const Value &b, bool isOfAggregate) {
  auto left = partsOf(a), right = partsOf(b);
  if (left && right && left->size() == right->size() && isSameClass(left->type, right->type)) {
    std::pair<std::string, std::string> result;
    for (size_t i = 0; i < left->size(); ++i) {
      auto [one, other] = describeTypes((*left)[i], (*right)[i], isAggregate(a));
      result.first += (i ? ", " : "") + one;
      result.second += (i ? ", " : "") + other;
    }
    std::string name = left->type ? left->type->name : "";
    return {name + "(" + result.first + ")", name + "(" + result.second + ")"};
  }
  std::pair<std::string, std::string> types{describeType(a), describeType(b)};
  if (types.first == types.second && areOtherConstants(a, b, isOfAggregate))
    return {shortened(repr(*a.constant())), shortened(repr(*b.constant()))};
  return types;
}

std::pair<std::string, std::string> describeTypes(const Value &a, const Value &b) {
  return describeTypes(a, b, false);
}

static bool differsInConstants(const Value &a, const Value &b, bool isOfAggregate = false) {
  auto left = partsOf(a), right = partsOf(b);
  if (left && right && left->size() == right->size() && isSameClass(left->type, right->type))
    return llvm::any_of(llvm::zip_equal(*left, *right), [&](const auto &pair) {
      return differsInConstants(std::get<0>(pair), std::get<1>(pair), isAggregate(a));
    });
  return areOtherConstants(a, b, isOfAggregate);
}

void explainConstants(Session &session, Kind kind, const Value &a, const Value &b) {
  if (differsInConstants(a, b))
    setHint(
        session, kind,
        "constants are known when the kernel is compiled, and cannot change by a run-time condition or in a "
        "run-time loop: decide by a constant, or keep a run-time number that says which");
}

namespace {
bool countElements(const Value &value, size_t &count, unsigned depth) {
  if (++count > maxConstElements || depth > maxConstDepth)
    return false;
  auto elements = partsOf(value);
  return !elements || llvm::all_of(*elements, [&](const Value &element) {
    return countElements(element, count, depth + 1);
  });
}
} // namespace

std::optional<Value> Visitor::tupleWithinLimits(ValueTuple elements) {
  Value tuple = makeTupleValue(std::move(elements));
  size_t count = 0;
  if (!countElements(tuple, count, 0))
    return session.fail(Kind::ConstTooLarge, {std::to_string(maxConstElements) + " elements"});
  return tuple;
}

std::optional<Value> Visitor::visitElements(const std::vector<syntax::Expr *> &nodes) {
  ValueTuple elements;
  for (const syntax::Expr *node : nodes) {
    auto *starred = as<syntax::Starred>(node);
    auto value = visit(starred ? starred->value : node);
    if (!value)
      return value;
    if (!starred) {
      elements.push_back(std::move(*value));
      continue;
    }
    auto inner = elementsOf(*value);
    if (!inner)
      return session.fail(Kind::NotATuple, {describeType(*value)});
    elements.insert(elements.end(), inner->begin(), inner->end());
  }
  return tupleWithinLimits(std::move(elements));
}

// Names of a comprehension keep constants, where those of an assignment become run-time values.
bool Visitor::bindTarget(const syntax::Expr *target, const Value &value) {
  if (auto *name = as<syntax::Name>(target)) {
    frame->locals[name->id] = Local{Local::Defined, false, lineOf(target), value, {}};
    return true;
  }
  auto *tuple = as<syntax::Tuple>(target);
  auto elements = tuple ? elementsOf(value) : std::nullopt;
  if (!elements || elements->size() != tuple->elements.size())
    return assign(target, value); // says what is wrong
  for (size_t i = 0; i < elements->size(); ++i)
    if (!bindTarget(tuple->elements[i], (*elements)[i]))
      return false;
  return true;
}

std::optional<Value> Visitor::visitListComp(const syntax::ListComp &node) {
  if (node.generators.size() != 1)
    return unsupported("a comprehension with more than one `for`", "nest two comprehensions");
  const syntax::Comprehension &generator = node.generators.front();
  auto iterable = visit(generator.iterable);
  if (!iterable)
    return iterable;
  auto elements = elementsOf(*iterable);
  if (!elements)
    return session.fail(Kind::NotATuple, {describeType(*iterable)});
  // The targets are the comprehension's own; what it assigns otherwise (`:=`) is not.
  llvm::SmallVector<llvm::StringRef> targets;
  AssignedNames::collectTarget(generator.target, targets);
  std::vector<std::optional<Local>> outer = save(targets);
  auto leave = llvm::scope_exit([&] { restore(targets, outer); });
  ValueTuple result;
  for (const Value &element : *elements) {
    if (!spend())
      return std::nullopt;
    if (!bindTarget(generator.target, element))
      return std::nullopt;
    bool isKept = true;
    for (const syntax::Expr *test : generator.conditions) {
      auto decided = constantCondition(test);
      if (!decided)
        return std::nullopt;
      isKept &= *decided;
    }
    auto value = isKept ? visit(node.element) : MaybeValue(Value());
    if (!value)
      return value;
    if (isKept)
      result.push_back(std::move(*value));
  }
  return tupleWithinLimits(std::move(result));
}

std::optional<bool> Visitor::constantCondition(const syntax::Expr *node) {
  auto value = visit(node);
  if (!value)
    return std::nullopt;
  if (!value->constant())
    return session.fail(Kind::ConstexprNeeded, {"this condition", describeType(*value)});
  return isTrue(*value->constant());
}

std::optional<std::string> Visitor::formatParts(const std::vector<syntax::FormatPart> &parts) {
  std::string result;
  for (const syntax::FormatPart &part : parts) {
    result += part.text;
    if (!part.value)
      continue;
    auto value = visit(part.value);
    auto spec = value && !part.specParts.empty() ? formatParts(part.specParts) : std::optional(part.spec);
    if (!value || !spec)
      return std::nullopt;
    if (!value->constant())
      return session.fail(Kind::FormatRunTime);
    const Const &constant = *value->constant();
    ConstError error;
    auto text = !part.conversion ? formatConst(constant, *spec, error)
                                 : formatConst(Const{part.conversion == 's' ? str(constant) : repr(constant)},
                                               *spec, error);
    if (!text)
      return failConst(error);
    result += *text;
  }
  return result;
}

// ---- subscripts -------------------------------------------------------------------------

std::optional<Value> Visitor::visitSubscript(const syntax::Subscript &node) {
  auto object = visit(node.object);
  if (!object)
    return object;
  if (isTuple(*object))
    return subscriptTuple(*object, node.index);
  if (isAggregate(*object))
    return subscriptAggregate(*object, node.index);
  if (auto *constant = object->constant()) {
    if (get<OpaqueRef>(*constant))
      return subscriptHost(*constant, node.index);
    if (auto *text = get<std::string>(*constant))
      return subscriptText(*text, node.index);
  }
  std::vector<Index> indices;
  auto addIndex = [&](const syntax::Expr *index) {
    if (auto *slice = as<syntax::Slice>(index)) {
      if (slice->lower || slice->upper || slice->step)
        return session.fail(diag::Kind::UnsupportedIndex, {"a slice with bounds"}), false;
      indices.push_back(FullSlice{});
      return true;
    }
    auto value = visit(index);
    if (value)
      indices.push_back(std::move(*value));
    return value.has_value();
  };
  if (auto *tuple = as<syntax::Tuple>(node.index)) {
    for (const syntax::Expr *index : tuple->elements)
      if (!addIndex(index))
        return std::nullopt;
  } else if (!addIndex(node.index)) {
    return std::nullopt;
  }
  return subscript(session, *object, indices);
}

// As a tuple of its characters, which a slice puts together again.
std::optional<Value> Visitor::subscriptText(std::string_view text, const syntax::Expr *index) {
  ValueTuple characters;
  for (std::string_view character : diag::splitUtf8(text))
    characters.push_back(Value(Const{std::string(character)}));
  auto chosen = subscriptTuple(makeTupleValue(std::move(characters)), index);
  if (!chosen || !as<syntax::Slice>(index))
    return chosen;
  std::string result;
  ValueTuple pieces = *elementsOf(*chosen);
  for (const Value &piece : pieces)
    result += *get<std::string>(*piece.constant());
  return Value(Const{std::move(result)});
}

// An entry of a dictionary of the host's: a call with the key as the argument `[]`, a name that no other call
// has.
std::optional<Value> Visitor::subscriptHost(const Const &object, const syntax::Expr *index) {
  auto key = visit(index);
  if (!key)
    return key;
  const OpaqueRef &opaque = *get<OpaqueRef>(object);
  if (!opaque.handle)
    return session.fail(Kind::NotSubscriptable, {opaque.repr});
  if (!key->constant())
    return session.fail(Kind::ConstexprNeeded, {"the key of " + opaque.repr, describeType(*key)});
  std::string name = "[]";
  HostReply reply = host.call(frame->function.env, object, {key->constant(), 1}, {&name, 1});
  if (reply.answer)
    return Value(std::move(reply.answer->value));
  if (!reply.raised.empty())
    return session.fail(Kind::HostFunctionRaised, {opaque.repr, reply.raised});
  return session.fail(Kind::NotSubscriptable, {opaque.repr});
}

// The length of an object of the host's: a call with an argument `len()`.
std::optional<Value> Visitor::lengthOfHost(const Const &object) {
  const Const none;
  std::string name = "len()";
  HostReply reply = host.call(frame->function.env, object, {&none, 1}, {&name, 1});
  if (reply.answer)
    return Value(std::move(reply.answer->value));
  return session.fail(Kind::ConstOperand, {"len", describeType(object)});
}

// nullopt: failed; a missing bound is an empty optional inside.
std::optional<std::optional<int64_t>> Visitor::sliceBound(const syntax::Expr *node) {
  if (!node)
    return std::optional<int64_t>();
  auto value = visit(node);
  if (!value)
    return std::nullopt;
  if (value->isNone())
    return std::optional<int64_t>();
  auto integer = value->constant() ? asInt64(*value->constant()) : std::nullopt;
  if (!integer)
    return session.fail(Kind::ConstexprNeeded, {"the bound of a slice", describeType(*value)});
  return integer;
}

std::optional<Value> Visitor::subscriptTuple(const Value &object, const syntax::Expr *index) {
  auto *slice = as<syntax::Slice>(index);
  if (!slice) {
    auto value = visit(index);
    if (!value)
      return value;
    Index single = *value;
    return subscript(session, object, {&single, 1});
  }
  auto lower = sliceBound(slice->lower);
  auto upper = lower ? sliceBound(slice->upper) : std::nullopt;
  auto step = upper ? sliceBound(slice->step) : std::nullopt;
  if (!step)
    return std::nullopt;
  ConstError error;
  ValueTuple elements = *elementsOf(object);
  auto range = resolveSlice(*lower, *upper, *step, elements.size(), error);
  if (!range)
    return failConst(error);
  ValueTuple result;
  for (size_t i = 0; i < range->count; ++i)
    result.push_back(elements[static_cast<size_t>(range->start + static_cast<int64_t>(i) * range->step)]);
  return makeTupleValue(std::move(result));
}

} // namespace tegula::sema
