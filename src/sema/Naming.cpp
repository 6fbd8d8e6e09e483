#include "sema/Naming.h"
#include "artifact/Sha256.h"
#include "sema/Const.h"

#include <algorithm>
#include <bit>

namespace tegula::sema {
namespace {

using artifact::Reader;
using artifact::Writer;

// Handles that are numbers already, and mean the same everywhere: values of run time by their place among the
// arguments (TG_RUN_TIME), and 0, an object of no use.
constexpr uint64_t runTimeBit = uint64_t(1) << 62;
// The host says by this bit that run-time values may be passed (TG_TAKES_VALUES).
constexpr uint64_t takesValuesBit = uint64_t(1) << 61;
bool hasOwnNumber(const OpaqueRef &object) { return object.handle == 0 || object.handle & runTimeBit; }

// The kinds in bytes: the index of a Const's alternative.
enum Form : uint8_t { None, Bool, Int, Float, Text, Tuple, Type, Builtin, Module, Func, Opaque, Class };
static_assert(std::variant_size_v<decltype(Const::value)> == Class + 1);

void writeType(const TypeRef &type, Writer &out) {
  const auto &[element, pointer, isConst, shape, whole] = type; // all there is
  out.text(name(element));
  out.number(uint8_t(pointer | isConst << 1));
  out.number(uint8_t(whole));
  out.count(shape.size());
  for (int64_t extent : shape)
    out.number(extent);
}

TypeRef readType(Reader &in) {
  TypeRef type;
  std::optional<DType> element = dtypeFromName(in.text());
  auto flags = in.number<uint8_t>(), whole = in.number<uint8_t>();
  if (!element || whole > TypeRef::Descriptor)
    in.fail();
  type.element = element.value_or(DType::I32);
  type.pointer = flags & 1, type.isConst = flags & 2;
  type.whole = TypeRef::Whole(whole);
  type.shape.resize(in.count(8));
  for (int64_t &extent : type.shape)
    extent = in.number<int64_t>();
  return type;
}

// All of it but the class itself.
void writeClass(const TupleClass &type, Writer &out) {
  const auto &[name, fields, self, isAggregate] = type;
  out.text(name);
  out.number(uint8_t(isAggregate));
  out.count(fields.size());
  for (const std::string &field : fields)
    out.text(field);
}

void writeInt(const llvm::APInt &value, Writer &out) {
  out.number(uint32_t(value.getBitWidth()));
  for (unsigned i = 0; i != value.getNumWords(); ++i)
    out.number(value.getRawData()[i]);
}

std::optional<Const> readInt(Reader &in) {
  auto width = in.number<uint32_t>();
  if (width == 0 || width > maxConstBits + 1)
    return std::nullopt;
  std::vector<uint64_t> words((width + 63) / 64);
  for (uint64_t &word : words)
    word = in.number<uint64_t>();
  return Const{llvm::APInt(width, words)};
}

// Values that name nothing of the host. False: another one.
bool writePlain(const Const &value, Writer &out) {
  if (auto *flag = get<bool>(value))
    out.number(uint8_t(*flag));
  else if (auto *number = get<llvm::APInt>(value))
    writeInt(*number, out);
  else if (auto *real = get<double>(value))
    out.number(std::bit_cast<uint64_t>(*real));
  else if (auto *text = get<std::string>(value))
    out.text(*text);
  else if (auto *type = get<TypeRef>(value))
    writeType(*type, out);
  else if (auto *builtin = get<BuiltinRef>(value))
    out.text(builtin->name);
  else if (auto *module = get<ModuleRef>(value))
    out.text(module->name);
  else
    return get<NoneValue>(value) != nullptr;
  return true;
}

uint8_t formOf(const Const &value) { return uint8_t(value.value.index()); }

} // namespace

std::optional<uint32_t> Naming::numberOf(const HostEnv *env) const {
  auto found = std::ranges::find(environments_, env, &std::shared_ptr<HostEnv>::get);
  return found == environments_.end() ? std::nullopt : std::optional(uint32_t(found - environments_.begin()));
}

std::shared_ptr<HostEnv> Naming::environment(uint32_t number) const {
  return number < environments_.size() ? environments_[number] : nullptr;
}

// One definition in two environments is two functions.
std::optional<uint32_t> Naming::numberOf(const Function &function) const {
  auto found = std::ranges::find_if(functions_, [&](const auto &known) {
    return known->definition == function.definition && known->env == function.env;
  });
  return found == functions_.end() ? std::nullopt : std::optional(uint32_t(found - functions_.begin()));
}

std::optional<uint32_t> Naming::numberOf(const OpaqueRef &object) const {
  auto found = std::ranges::find(objects_, object.handle, &OpaqueRef::handle);
  return found == objects_.end() ? std::nullopt : std::optional(uint32_t(found - objects_.begin()));
}

int32_t Naming::numberOf(const diag::Source *source) const {
  for (size_t i = 0; i != functions_.size(); ++i)
    if (functions_[i]->tree->source.get() == source)
      return int32_t(i);
  return -1;
}

diag::SourcePtr Naming::source(int32_t number) const {
  return number >= 0 && size_t(number) < functions_.size() ? functions_[size_t(number)]->tree->source
                                                           : nullptr;
}

void Naming::describe(const std::shared_ptr<const Function> &function, Writer &out) {
  if (std::optional<uint32_t> known = numberOf(*function)) {
    out.number(uint8_t(0));
    return out.number(*known);
  }
  const auto &[tree, syntax, env, isNoinline, qualifiedName] = *function; // all there is
  functions_.push_back(function);
  if (!numberOf(env.get()))
    environments_.push_back(env);
  const diag::Source &source = *tree->source;
  const diag::Position first = source.position(0);
  const artifact::Sha256 text = artifact::sha256(source.text());
  out.number(uint8_t(1));
  // The path and the lines are in what kernels say when they fail, and in what debuggers show.
  out.text(source.path());
  out.number(first.line);
  out.number(first.column);
  out.text({reinterpret_cast<const char *>(text.data()), text.size()});
  out.text(syntax->name);
  out.number(syntax->range.begin);
  out.number(syntax->range.end);
  out.text(qualifiedName);
  out.number(uint8_t(isNoinline));
  out.number(*numberOf(env.get()));
}

void Naming::describe(const Const &value, Writer &out) {
  out.number(formOf(value));
  if (writePlain(value, out))
    return;
  if (auto *tuple = tupleOf(value)) {
    describe(tuple->type ? Const{tuple->type} : Const{NoneValue{}}, out);
    out.count(tuple->size());
    for (const Const &element : *tuple)
      describe(element, out);
  } else if (auto *type = get<TupleClassPtr>(value)) {
    artifact::Writer unused; // names the class, which is all of it that is the host's
    describe({(*type)->self}, unused);
    out.text(unused.bytes());
    writeClass(**type, out);
  } else if (auto *function = get<std::shared_ptr<const Function>>(value)) {
    describe(*function, out);
  } else if (auto *object = get<OpaqueRef>(value)) {
    if (!hasOwnNumber(*object) && !numberOf(*object))
      objects_.push_back(*object);
    write(value, out);
  }
}

bool Naming::write(const Const &value, Writer &out) const {
  out.number(formOf(value));
  if (writePlain(value, out))
    return true;
  if (auto *tuple = tupleOf(value)) {
    bool isNamed = write(tuple->type ? Const{tuple->type} : Const{NoneValue{}}, out);
    out.count(tuple->size());
    return isNamed && std::ranges::all_of(*tuple, [&](const Const &element) { return write(element, out); });
  }
  if (auto *type = get<TupleClassPtr>(value)) {
    bool isNamed = write({(*type)->self}, out);
    writeClass(**type, out);
    return isNamed;
  }
  if (auto *function = get<std::shared_ptr<const Function>>(value)) {
    std::optional<uint32_t> number = numberOf(**function);
    out.number(number.value_or(0));
    return number.has_value();
  }
  auto *object = get<OpaqueRef>(value);
  std::optional<uint32_t> number = hasOwnNumber(*object) ? std::optional(0u) : numberOf(*object);
  out.number(uint8_t(hasOwnNumber(*object)));
  out.number(hasOwnNumber(*object) ? object->handle : object->handle & takesValuesBit);
  out.number(number.value_or(0));
  out.text(object->repr);
  return number.has_value();
}

std::optional<Const> Naming::readClass(Reader &in, unsigned depth) const {
  std::optional<Const> self = depth == maxConstDepth ? std::nullopt : read(in, depth + 1);
  auto *object = self ? get<OpaqueRef>(*self) : nullptr;
  if (!object)
    return std::nullopt;
  auto type = std::make_shared<TupleClass>();
  type->self = *object;
  type->name = in.text();
  type->isAggregate = in.number<uint8_t>() != 0;
  for (size_t left = in.count(8); left; --left)
    type->fields.emplace_back(in.text());
  return Const{TupleClassPtr(std::move(type))};
}

std::optional<Const> Naming::readTuple(Reader &in, unsigned depth) const {
  std::optional<Const> type = depth == maxConstDepth ? std::nullopt : read(in, depth + 1);
  if (!type)
    return std::nullopt;
  size_t count = in.count(1);
  auto elements = std::make_shared<ConstTuple>();
  if (auto *known = get<TupleClassPtr>(*type))
    elements->type = *known;
  for (size_t i = 0; i != count; ++i) {
    std::optional<Const> element = read(in, depth + 1);
    if (!element)
      return std::nullopt;
    elements->push_back(std::move(*element));
  }
  return Const{std::move(elements)};
}

std::optional<Const> Naming::read(Reader &in, unsigned depth) const {
  auto form = in.number<uint8_t>();
  if (!in.ok())
    return std::nullopt;
  switch (form) {
  case None: return Const{NoneValue{}};
  case Bool: return Const{in.number<uint8_t>() != 0};
  case Int: return readInt(in);
  case Float: return Const{std::bit_cast<double>(in.number<uint64_t>())};
  case Text: return Const{std::string(in.text())};
  case Tuple: return readTuple(in, depth);
  case Type: return Const{readType(in)};
  case Builtin: return Const{BuiltinRef{std::string(in.text())}};
  case Module: return Const{ModuleRef{std::string(in.text())}};
  case Func: {
    auto number = in.number<uint32_t>();
    return number < functions_.size() ? std::optional(Const{functions_[number]}) : std::nullopt;
  }
  case Opaque: {
    auto isOwn = in.number<uint8_t>();
    auto bits = in.number<uint64_t>();
    auto number = in.number<uint32_t>();
    auto repr = std::string(in.text());
    if (isOwn)
      return Const{OpaqueRef{bits, repr}};
    // An object is its handle, and what the host says of it now.
    return number < objects_.size() ? std::optional(Const{objects_[number]}) : std::nullopt;
  }
  case Class: return readClass(in, depth);
  default: return std::nullopt;
  }
}

} // namespace tegula::sema
