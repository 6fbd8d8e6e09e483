// Values across the border, both ways, and the environment that asks a host through callbacks.
#include "base/DeepStack.h"
#include "capi/Handles.h"
#include "compiler/Literal.h"
#include "sema/Const.h"
#include "sema/Session.h"

#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <type_traits>

namespace tegula::capi {

static bool isDtype(uint8_t dtype) { return tg_dtype_name(dtype) != nullptr; }
static std::string textOf(const tg_value &value) { return {value.as.text.data, value.as.text.size}; }

// A value that is larger, or nested deeper (as a tuple that holds itself is), is no constant.
static bool isText(const tg_value &value) {
  return value.as.text.size <= sema::maxConstElements && (value.as.text.data || !value.as.text.size);
}
static bool isTuple(const tg_value &value) {
  return value.as.tuple.count <= sema::maxConstElements && (value.as.tuple.items || !value.as.tuple.count);
}

static std::optional<sema::Const> constOf(const tg_value &value, unsigned depth);

// The class that a TG_CLASS describes; null: it is none.
static sema::TupleClassPtr classOf(const tg_value &value) {
  if (value.kind != TG_CLASS || !isTuple(value) || value.as.tuple.count < 3)
    return nullptr;
  const tg_value *items = value.as.tuple.items;
  auto result = std::make_shared<sema::TupleClass>();
  for (size_t i = 0; i != value.as.tuple.count; ++i)
    if (items[i].kind != (i == 1   ? TG_OPAQUE
                          : i == 2 ? TG_BOOL
                                   : TG_STRING) ||
        (items[i].kind == TG_STRING && !isText(items[i])))
      return nullptr;
  result->name = textOf(items[0]);
  result->self = {items[1].as.opaque.handle, items[1].as.opaque.repr ? items[1].as.opaque.repr : ""};
  result->isAggregate = items[2].as.integer != 0;
  for (size_t i = 3; i != value.as.tuple.count; ++i)
    result->fields.push_back(textOf(items[i]));
  return result;
}

// The elements of a tuple behind its class; nullopt: it is no tuple.
static std::optional<std::span<const tg_value>> elementsOf(const tg_value &value, sema::TupleClassPtr &type) {
  if (!isTuple(value))
    return std::nullopt;
  std::span<const tg_value> items(value.as.tuple.items, value.as.tuple.count);
  if (value.kind != TG_NAMED_TUPLE)
    return items;
  type = items.empty() ? nullptr : classOf(items.front());
  if (!type || type->fields.size() != items.size() - 1)
    return std::nullopt;
  return items.subspan(1);
}

static std::optional<sema::Const> tupleOf(const tg_value &value, unsigned depth) {
  auto elements = std::make_shared<sema::ConstTuple>();
  auto items = elementsOf(value, elements->type);
  if (!items || depth == sema::maxConstDepth)
    return std::nullopt;
  for (const tg_value &item : *items) {
    std::optional<sema::Const> element = constOf(item, depth + 1);
    if (!element)
      return std::nullopt;
    elements->push_back(std::move(*element));
  }
  return sema::Const{std::move(elements)};
}

std::optional<sema::Const> constOf(const tg_value &value) { return constOf(value, 0); }

static std::optional<sema::Const> constOf(const tg_value &value, unsigned depth) {
  using sema::Const;
  bool hasText = value.kind == TG_STRING || value.kind == TG_LITERAL || value.kind == TG_MODULE ||
                 value.kind == TG_BUILTIN;
  if (hasText && !isText(value))
    return std::nullopt;
  switch (value.kind) {
  case TG_NONE: return Const{sema::NoneValue{}};
  case TG_BOOL: return Const{value.as.integer != 0};
  case TG_INT: return sema::makeInt(value.as.integer);
  case TG_UINT: return Const{llvm::APInt(65, value.as.bits)};
  case TG_FLOAT: return Const{value.as.real};
  case TG_STRING: return Const{textOf(value)};
  case TG_DTYPE:
    if (isDtype(value.dtype))
      return Const{sema::TypeRef{DType(value.dtype)}};
    return std::nullopt;
  case TG_LITERAL: return compiler::parseLiteral({value.as.text.data, value.as.text.size});
  case TG_TUPLE:
  case TG_NAMED_TUPLE: return tupleOf(value, depth);
  case TG_CLASS:
    if (sema::TupleClassPtr type = classOf(value))
      return Const{type};
    return std::nullopt;
  case TG_FUNCTION:
    if (!isLive(value.as.function))
      return std::nullopt;
    return Const{value.as.function->dispatcher.functionPointer()};
  case TG_MODULE: return Const{sema::ModuleRef{textOf(value)}};
  case TG_BUILTIN: {
    // Builtins written in the language are functions to the front end.
    std::optional<Const> found = sema::findBuiltin(textOf(value));
    return found ? found : Const{sema::BuiltinRef{textOf(value)}};
  }
  case TG_OPAQUE:
    return Const{sema::OpaqueRef{value.as.opaque.handle, value.as.opaque.repr ? value.as.opaque.repr : ""}};
  default: return std::nullopt;
  }
}

static std::optional<jit::Leaf> leafOf(const tg_value &value, unsigned depth);
std::optional<jit::Leaf> leafOf(const tg_value &value) { return leafOf(value, 0); }

static std::optional<jit::Leaf> tupleLeafOf(const tg_value &value, unsigned depth) {
  auto tuple = std::make_shared<jit::LeafTuple>();
  auto items = elementsOf(value, tuple->type);
  if (!items || depth == sema::maxConstDepth)
    return std::nullopt;
  for (const tg_value &item : *items) {
    std::optional<jit::Leaf> element = leafOf(item, depth + 1);
    if (!element || element->kind == jit::LeafKind::Absent)
      return std::nullopt;
    tuple->elements.push_back(std::move(*element));
  }
  jit::Leaf leaf;
  leaf.kind = jit::LeafKind::Tuple;
  leaf.isConstant = value.flags & TG_CONSTEXPR;
  leaf.tuple = std::move(tuple);
  return leaf;
}

static std::optional<jit::Leaf> leafOf(const tg_value &value, unsigned depth) {
  using jit::LeafKind;
  if (value.kind == TG_TUPLE || value.kind == TG_NAMED_TUPLE)
    return tupleLeafOf(value, depth);
  jit::Leaf leaf;
  leaf.isConstant = value.flags & TG_CONSTEXPR;
  leaf.typed = value.flags & TG_TYPED;
  leaf.readOnly = value.flags & TG_READ_ONLY;
  if (value.kind == TG_POINTER || leaf.typed) {
    if (!isDtype(value.dtype))
      return std::nullopt;
    leaf.dtype = DType(value.dtype);
  }
  switch (value.kind) {
  case TG_ABSENT: return leaf;
  case TG_NONE: leaf.kind = LeafKind::None; return leaf;
  case TG_BOOL:
    leaf.kind = LeafKind::Bool;
    leaf.bits = value.as.integer != 0;
    return leaf;
  case TG_INT:
    leaf.kind = LeafKind::Int;
    leaf.bits = value.as.bits;
    return leaf;
  case TG_UINT:
    leaf.kind = value.as.integer < 0 ? LeafKind::UInt : LeafKind::Int;
    leaf.bits = value.as.bits;
    return leaf;
  case TG_FLOAT:
    leaf.kind = LeafKind::Float;
    leaf.bits = std::bit_cast<uint64_t>(value.as.real);
    return leaf;
  case TG_POINTER:
    leaf.kind = LeafKind::Pointer;
    leaf.bits = reinterpret_cast<uintptr_t>(value.as.address);
    return leaf;
  default: break;
  }
  std::optional<sema::Const> constant = constOf(value);
  if (!constant)
    return std::nullopt;
  jit::Leaf result = jit::leafOf(*constant);
  result.typed = leaf.typed;
  result.dtype = leaf.dtype;
  result.isConstant = leaf.isConstant;
  return result;
}

static void setText(tg_value &out, tg_value_kind kind, std::string_view text) {
  out.kind = kind;
  out.as.text = {text.data(), text.size()};
}

static void keepItems(tg_value_kind kind, std::vector<tg_value> items, tg_value &out, Loan &loan) {
  const std::vector<tg_value> &kept = loan.tuples.emplace_back(std::move(items));
  out.kind = kind;
  out.as.tuple = {kept.data(), kept.size()};
}

static void lendClass(const sema::TupleClass &type, tg_value &out, Loan &loan) {
  std::vector<tg_value> items(3 + type.fields.size());
  setText(items[0], TG_STRING, type.name);
  items[1].kind = TG_OPAQUE;
  items[1].as.opaque = {type.self.handle, type.self.repr.c_str()};
  items[2].kind = TG_BOOL;
  items[2].as.integer = type.isAggregate;
  for (size_t i = 0; i != type.fields.size(); ++i)
    setText(items[i + 3], TG_STRING, type.fields[i]);
  keepItems(TG_CLASS, std::move(items), out, loan);
}

static bool lendTuple(const sema::ConstTuple &tuple, tg_value &out, Loan &loan, FunctionOf functionOf) {
  size_t first = tuple.type ? 1 : 0;
  std::vector<tg_value> items(tuple.size() + first);
  if (tuple.type)
    lendClass(*tuple.type, items.front(), loan);
  for (size_t i = 0; i != tuple.size(); ++i)
    if (!lend(tuple[i], items[i + first], loan, functionOf))
      return false;
  keepItems(tuple.type ? TG_NAMED_TUPLE : TG_TUPLE, std::move(items), out, loan);
  return true;
}

bool lend(const sema::Const &value, tg_value &out, Loan &loan, FunctionOf functionOf) {
  if (std::holds_alternative<sema::NoneValue>(value.value)) {
    out.kind = TG_NONE;
  } else if (auto *flag = std::get_if<bool>(&value.value)) {
    out.kind = TG_BOOL;
    out.as.integer = *flag;
  } else if (auto *number = std::get_if<llvm::APInt>(&value.value)) {
    if (number->isSignedIntN(64)) {
      out.kind = TG_INT;
      out.as.integer = number->getSExtValue();
    } else {
      setText(out, TG_LITERAL, loan.texts.emplace_back(llvm::toString(*number, 10, true)));
    }
  } else if (auto *real = std::get_if<double>(&value.value)) {
    out.kind = TG_FLOAT;
    out.as.real = *real;
  } else if (auto *text = std::get_if<std::string>(&value.value)) {
    setText(out, TG_STRING, *text);
  } else if (auto *builtin = std::get_if<sema::BuiltinRef>(&value.value)) {
    setText(out, TG_BUILTIN, builtin->name);
  } else if (auto *module = std::get_if<sema::ModuleRef>(&value.value)) {
    setText(out, TG_MODULE, module->name);
  } else if (auto *opaque = std::get_if<sema::OpaqueRef>(&value.value)) {
    out.kind = TG_OPAQUE;
    out.as.opaque = {opaque->handle, opaque->repr.c_str()};
  } else if (auto *type = std::get_if<sema::TypeRef>(&value.value);
             type && !type->pointer && type->shape.empty()) {
    out.kind = TG_DTYPE;
    out.dtype = uint8_t(type->element);
  } else if (auto *function = std::get_if<std::shared_ptr<const sema::Function>>(&value.value)) {
    out.kind = TG_FUNCTION;
    out.as.function = functionOf(**function);
    return out.as.function != nullptr;
  } else if (auto *tuple = std::get_if<std::shared_ptr<sema::ConstTuple>>(&value.value)) {
    return lendTuple(**tuple, out, loan, functionOf);
  } else if (auto *type = std::get_if<sema::TupleClassPtr>(&value.value)) {
    lendClass(**type, out, loan);
  } else {
    return false;
  }
  return true;
}

namespace {

class CallbackEnv : public sema::HostEnv {
public:
  explicit CallbackEnv(const tg_host &host) : host_(host) {}

  uint64_t version() override { return host_.version ? ask(host_.version) : 0; }

  std::optional<sema::HostAnswer> lookup(std::string_view name) override {
    tg_value out{};
    return answer(host_.lookup ? ask(host_.lookup, std::string(name).c_str(), &out) : 0, out);
  }

  std::optional<sema::HostAnswer> defaultOf(std::string_view parameter) override {
    tg_value out{};
    if (!host_.default_of)
      return std::nullopt;
    return answer(ask(host_.default_of, std::string(parameter).c_str(), &out), out);
  }

  std::optional<sema::HostAnswer> attribute(const sema::Const &object, std::string_view name) override {
    Loan loan;
    tg_value self{}, out{};
    if (!host_.attribute || !lend(object, self, loan))
      return std::nullopt;
    return answer(ask(host_.attribute, &self, std::string(name).c_str(), &out), out);
  }

  sema::HostReply call(const sema::Const &callee, std::span<const sema::Const> arguments,
                       std::span<const std::string> names) override {
    Loan loan;
    tg_value self{}, out{};
    std::vector<tg_value> values(arguments.size());
    if (!(host_.call || host_.call_named) || !lend(callee, self, loan))
      return {};
    for (size_t i = 0; i != arguments.size(); ++i)
      if (!lend(arguments[i], values[i], loan))
        return {{},
                "an error: argument " + std::to_string(i) + ", `" + sema::repr(arguments[i]) +
                    "`, has no form outside of the compiler"};
    if (!host_.call_named && !names.empty())
      return {{}, "an error: it takes no keyword arguments"};
    std::vector<const char *> keywords(arguments.size());
    for (size_t i = 0; i != names.size(); ++i)
      keywords[arguments.size() - names.size() + i] = names[i].c_str();
    int answered = host_.call_named
                       ? ask(host_.call_named, &self, values.data(), keywords.data(), values.size(), &out)
                       : ask(host_.call, &self, values.data(), values.size(), &out);
    if (answered < 0)
      return {{}, raisedText(out)};
    return {answer(answered, out), {}};
  }

private:
  // A compile may run on a thread that is not the host's.
  template <class Function, class... Arguments>
  std::invoke_result_t<Function, void *, Arguments...> ask(Function function, Arguments... arguments) {
    std::invoke_result_t<Function, void *, Arguments...> answered{};
    onHostsThread([&] { answered = function(host_.user, arguments...); });
    return answered;
  }

  static std::string raisedText(const tg_value &value) {
    return value.kind == TG_STRING && isText(value) ? textOf(value) : "an error";
  }

  // `answered` is what the callback returned. What an exception hides is of no use to a kernel, and says why.
  std::optional<sema::HostAnswer> answer(int answered, const tg_value &value) {
    if (answered < 0)
      return sema::HostAnswer{{sema::OpaqueRef{0, "a value whose reading raised " + raisedText(value)}}};
    if (answered == 0)
      return std::nullopt;
    std::optional<sema::Const> constant = constOf(value);
    if (!constant)
      return std::nullopt;
    remember(value); // behind the check of it
    return sema::HostAnswer{std::move(*constant), (value.flags & TG_CONSTEXPR) != 0};
  }

  void remember(const tg_value &value) {
    if (value.kind == TG_FUNCTION) {
      std::lock_guard guard(mutex_);
      functions_[&value.as.function->dispatcher.function()] = value.as.function;
    }
    if (value.kind == TG_TUPLE || value.kind == TG_NAMED_TUPLE)
      for (size_t i = 0; i != value.as.tuple.count; ++i)
        remember(value.as.tuple.items[i]);
  }

  bool lend(const sema::Const &value, tg_value &out, Loan &loan) {
    return capi::lend(value, out, loan, [this](const sema::Function &function) {
      std::lock_guard guard(mutex_);
      auto known = functions_.find(&function);
      return known == functions_.end() ? nullptr : known->second;
    });
  }

  tg_host host_;
  std::mutex mutex_; // several threads may compile
  std::map<const sema::Function *, tg_function *> functions_;
};

} // namespace

// A constant without a form in C is shown as a text.
static sema::Const shown(const sema::Const &row) {
  const sema::ConstTuple &parts = *sema::tupleOf(row);
  sema::Const type = parts[1], value = parts[2];
  if (const sema::ConstTuple *rows = sema::tupleOf(type)) {
    sema::ConstTuple all;
    for (const sema::Const &element : *rows)
      all.push_back(shown(element));
    type = sema::makeTuple(std::move(all));
  }
  Loan loan;
  tg_value out{};
  if (!lend(value, out, loan, [](const sema::Function &) -> tg_function * { return nullptr; }))
    value = {sema::repr(value)};
  return sema::makeTuple(std::vector{parts[0], type, value});
}

jit::NameKernel makeCallbackNames(const tg_host &host) {
  return [host](const sema::Const &specialization) -> Result<std::string> {
    sema::ConstTuple rows;
    for (const sema::Const &row : *sema::tupleOf(specialization))
      rows.push_back(shown(row));
    sema::Const all = sema::makeTuple(std::move(rows));
    Loan loan;
    tg_value out{}, shownRows{};
    lend(all, shownRows, loan, [](const sema::Function &) -> tg_function * { return nullptr; });
    int answered = host.name_of(host.user, &shownRows, &out);
    bool isGiven = answered && out.kind == TG_STRING && isText(out);
    if (answered > 0 && isGiven && out.as.text.size)
      return textOf(out);
    return Status::error(StatusCode::Launch,
                         answered < 0 && isGiven ? textOf(out) : "it is empty, or no text");
  };
}

std::shared_ptr<sema::HostEnv> makeCallbackEnv(const tg_host &host) {
  return std::make_shared<CallbackEnv>(host);
}

} // namespace tegula::capi
