#include "jit/Leaf.h"
#include "base/ByteFloat.h"
#include "sema/Const.h"
#include "sema/HostRecord.h"
#include "sema/Session.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>

namespace tegula::jit {

using diag::Kind;

static std::string shortest(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string describe(const Leaf &leaf) {
  switch (leaf.kind) {
  case LeafKind::Absent: return "nothing";
  case LeafKind::None: return "None";
  case LeafKind::Bool: return leaf.bits ? "the bool True" : "the bool False";
  case LeafKind::Int: return "the int " + std::to_string(int64_t(leaf.bits));
  case LeafKind::UInt: return "the int " + std::to_string(leaf.bits);
  case LeafKind::Float: return "the float " + shortest(std::bit_cast<double>(leaf.bits));
  case LeafKind::Pointer: return "a pointer to " + std::string(name(leaf.dtype));
  case LeafKind::Constant: return "the constant " + sema::shortened(sema::repr(*leaf.constant));
  case LeafKind::Tuple: return "a tuple of " + std::to_string(leaf.tuple->elements.size());
  }
  return "nothing";
}

Leaf leafOf(const sema::Const &value) {
  Leaf leaf;
  if (std::holds_alternative<sema::NoneValue>(value.value)) {
    leaf.kind = LeafKind::None;
  } else if (auto *flag = std::get_if<bool>(&value.value)) {
    leaf.kind = LeafKind::Bool;
    leaf.bits = *flag;
  } else if (auto *number = std::get_if<llvm::APInt>(&value.value); number && number->isSignedIntN(64)) {
    leaf.kind = LeafKind::Int;
    leaf.bits = uint64_t(number->getSExtValue());
  } else if (number && !number->isNegative() && number->isIntN(64)) {
    leaf.kind = LeafKind::UInt;
    leaf.bits = number->getZExtValue();
  } else if (auto *real = std::get_if<double>(&value.value)) {
    leaf.kind = LeafKind::Float;
    leaf.bits = std::bit_cast<uint64_t>(*real);
  } else if (auto *elements = std::get_if<std::shared_ptr<sema::ConstTuple>>(&value.value)) {
    auto tuple = std::make_shared<LeafTuple>();
    tuple->type = (*elements)->type;
    for (const sema::Const &element : **elements)
      tuple->elements.push_back(leafOf(element));
    leaf.kind = LeafKind::Tuple;
    leaf.tuple = std::move(tuple);
  } else {
    leaf.kind = LeafKind::Constant;
    leaf.constant = std::make_shared<sema::Const>(value);
  }
  return leaf;
}

sema::Const constantOf(const Leaf &leaf) {
  switch (leaf.kind) {
  case LeafKind::Bool: return {leaf.bits != 0};
  case LeafKind::Int: return sema::makeInt(int64_t(leaf.bits));
  case LeafKind::UInt: return {llvm::APInt(65, leaf.bits)};
  case LeafKind::Float: return {std::bit_cast<double>(leaf.bits)};
  case LeafKind::Constant: return *leaf.constant;
  case LeafKind::Tuple: {
    auto tuple = std::make_shared<sema::ConstTuple>();
    tuple->type = leaf.tuple->type;
    for (const Leaf &element : leaf.tuple->elements)
      tuple->push_back(constantOf(element));
    return {std::move(tuple)};
  }
  default: return {sema::NoneValue{}};
  }
}

// A constant takes 15 bytes: its kind in `reserved[0]`, and its value or 96 bits of digest.
static KeyLeaf constantKey(const Leaf &leaf) {
  KeyLeaf key{.kind = KeyConstant};
  key.reserved[0] = uint8_t(leaf.kind);
  key.payload = leaf.bits;
  if (leaf.kind == LeafKind::Constant || leaf.kind == LeafKind::Tuple) {
    sema::Digest digest = sema::digestOf(constantOf(leaf));
    key.payload = digest[0];
    memcpy(key.reserved + 1, &digest[1], 4);
  }
  return key;
}

static bool holdsPointer(const Leaf &leaf) {
  return leaf.kind == LeafKind::Pointer ||
         (leaf.kind == LeafKind::Tuple && llvm::any_of(leaf.tuple->elements, holdsPointer));
}

bool isTakenApart(const Leaf &leaf, const compiler::Parameter &parameter) {
  return leaf.kind == LeafKind::Tuple && !parameter.isConstexpr && !leaf.isConstant;
}

compiler::Parameter elementOf(const compiler::Parameter &parameter, size_t index) {
  compiler::Parameter element;
  element.name = parameter.name + "." + std::to_string(index);
  element.isConst = parameter.isConst;
  element.doNotSpecialize = parameter.doNotSpecialize;
  element.doNotSpecializeOnAlignment = parameter.doNotSpecializeOnAlignment;
  element.isElement = true;
  element.location = parameter.location;
  return element;
}

KeyLeaf tupleKey(const LeafTuple &tuple) {
  KeyLeaf key{.kind = KeyTuple};
  key.payload = tuple.elements.size();
  if (tuple.type)
    key.payload ^= sema::digestOf(sema::Const{tuple.type})[0] << 20;
  return key;
}

static std::string pinnedText(const sema::TypeRef &type) {
  return (type.pointer ? "pointer<" : "") + std::string(name(type.element)) + (type.pointer ? ">" : "");
}

static bool fits(const Leaf &leaf, DType type) {
  unsigned bits = bitWidth(type);
  if (isBool(type))
    return leaf.bits <= 1;
  if (leaf.kind == LeafKind::UInt)
    return bits == 64 && isUnsigned(type);
  auto value = int64_t(leaf.bits);
  if (isUnsigned(type))
    return value >= 0 && (bits == 64 || leaf.bits >> bits == 0);
  return bits == 64 || (value >= -(int64_t(1) << (bits - 1)) && value < (int64_t(1) << (bits - 1)));
}

// The hint names a type that holds the number, if there is one.
static std::nullopt_t outOfRange(const sema::Const &value, DType type, const compiler::Parameter &parameter,
                                 const std::string &kernel, diag::Sink &sink) {
  const auto *number = std::get_if<llvm::APInt>(&value.value);
  diag::Diagnostic &reported =
      sink.report(Kind::ArgumentRange, parameter.location,
                  {kernel, parameter.name, sema::shortened(sema::repr(value)), name(type)});
  if (!number || number->isSignedIntN(64))
    return std::nullopt;
  bool isUnsigned64 = !number->isNegative() && number->isIntN(64);
  reported.hint = isUnsigned64
                      ? "annotate the parameter with a wider type: `" + parameter.name + ": tl.uint64`"
                      : "no integer type is as wide: pass it in parts, or to a parameter `" + parameter.name +
                            ": tl.constexpr`";
  return std::nullopt;
}

static uint8_t flagsOfNumber(const Leaf &leaf, const compiler::Parameter &parameter) {
  if (parameter.doNotSpecialize || parameter.doNotSpecializeOnAlignment)
    return 0;
  unsigned divisor = knownDivisor(leaf.bits);
  return divisor == 16 ? KeyDivisibleBy16 : divisor == 8 ? KeyDivisibleBy8 : 0;
}

// A number for a parameter whose type is given.
static std::optional<KeyLeaf> pinnedKey(const Leaf &leaf, const sema::TypeRef &type,
                                        const compiler::Parameter &parameter, const sema::Function &function,
                                        diag::Sink &sink) {
  const std::string &kernel = function.definition->name;
  auto mismatch = [&] {
    sink.report(Kind::ArgumentType, parameter.location,
                {kernel, parameter.name, pinnedText(type), describe(leaf)});
    return std::nullopt;
  };
  bool number = leaf.kind == LeafKind::Bool || leaf.kind == LeafKind::Int || leaf.kind == LeafKind::UInt;
  if (type.pointer || isPacked(type.element) ||
      !(number || (leaf.kind == LeafKind::Float && isFloat(type.element))))
    return mismatch();
  KeyLeaf key{.kind = KeyScalar, .dtype = uint8_t(type.element)};
  if (isFloat(type.element))
    return key;
  if (!fits(leaf, type.element)) {
    return outOfRange(constantOf(leaf), type.element, parameter, kernel, sink);
  }
  if (!isBool(type.element))
    key.flags = flagsOfNumber(leaf, parameter);
  return key;
}

static std::optional<KeyLeaf> integerKey(const Leaf &leaf, const compiler::Parameter &parameter) {
  if (leaf.bits == 1 && leaf.kind == LeafKind::Int && !parameter.doNotSpecialize)
    return constantKey(leaf);
  DType type = leaf.kind == LeafKind::UInt ? DType::U64 : fits(leaf, DType::I32) ? DType::I32 : DType::I64;
  return KeyLeaf{.kind = KeyScalar, .dtype = uint8_t(type), .flags = flagsOfNumber(leaf, parameter)};
}

static std::optional<KeyLeaf> pointerKey(const Leaf &leaf, const compiler::Parameter &parameter,
                                         const sema::Function &function, diag::Sink &sink) {
  // Packed elements come as bytes.
  const DType wanted = parameter.pinned ? parameter.pinned->element : leaf.dtype;
  const bool isBytes = isPacked(wanted) && (leaf.dtype == DType::U8 || leaf.dtype == DType::I8);
  if (parameter.pinned && (!parameter.pinned->pointer || (wanted != leaf.dtype && !isBytes))) {
    sink.report(Kind::ArgumentType, parameter.location,
                {function.definition->name, parameter.name, pinnedText(*parameter.pinned), describe(leaf)});
    return std::nullopt;
  }
  KeyLeaf key{.kind = KeyPointer, .dtype = uint8_t(wanted)};
  if (leaf.bits % 16 == 0 && !parameter.doNotSpecialize && !parameter.doNotSpecializeOnAlignment)
    key.flags = KeyDivisibleBy16;
  return key;
}

// A function of the language is a constant for any parameter, and a text or type is one within a tuple.
static bool isAlwaysConstant(const Leaf &leaf, const compiler::Parameter &parameter) {
  if (leaf.kind != LeafKind::Constant)
    return false;
  const auto &value = leaf.constant->value;
  return std::holds_alternative<std::shared_ptr<const sema::Function>>(value) ||
         (parameter.isElement && !std::holds_alternative<sema::OpaqueRef>(value) &&
          !std::holds_alternative<llvm::APInt>(value));
}

std::optional<KeyLeaf> specializeLeaf(const Leaf &leaf, const compiler::Parameter &parameter,
                                      const sema::Function &function, diag::Sink &sink) {
  const std::string &kernel = function.definition->name;
  if (leaf.kind == LeafKind::Absent) {
    if (parameter.hasDefault)
      return KeyLeaf{};
    sink.report(parameter.isConstexpr ? Kind::ConstexprMissing : Kind::ArgumentMissing, parameter.location,
                {kernel, parameter.name});
    return std::nullopt;
  }
  if (parameter.isConstexpr || leaf.isConstant || isAlwaysConstant(leaf, parameter)) {
    if (!holdsPointer(leaf))
      return constantKey(leaf);
    sink.report(Kind::ConstexprNeedsConstant, parameter.location, {kernel, parameter.name, describe(leaf)});
    return std::nullopt;
  }
  if (leaf.kind == LeafKind::Pointer)
    return pointerKey(leaf, parameter, function, sink);
  if (leaf.kind == LeafKind::None)
    return constantKey(leaf);
  if (leaf.kind == LeafKind::Constant && std::holds_alternative<llvm::APInt>(leaf.constant->value)) {
    bool isNegative = std::get<llvm::APInt>(leaf.constant->value).isNegative();
    DType widest = parameter.pinned ? parameter.pinned->element : isNegative ? DType::I64 : DType::U64;
    return outOfRange(*leaf.constant, widest, parameter, kernel, sink);
  }
  if (leaf.kind == LeafKind::Constant) {
    sink.report(Kind::ArgumentNeedsConstexpr, parameter.location, {kernel, parameter.name, describe(leaf)});
    return std::nullopt;
  }
  if (leaf.typed)
    return pinnedKey(leaf, {leaf.dtype}, parameter, function, sink);
  if (parameter.pinned)
    return pinnedKey(leaf, *parameter.pinned, parameter, function, sink);
  if (leaf.kind == LeafKind::Bool)
    return KeyLeaf{.kind = KeyScalar, .dtype = uint8_t(DType::I1)};
  if (leaf.kind == LeafKind::Float)
    return KeyLeaf{.kind = KeyScalar, .dtype = uint8_t(DType::F32)};
  return integerKey(leaf, parameter);
}

sema::ArgumentSpec specOf(const Leaf &leaf, const KeyLeaf &key, const compiler::Parameter &parameter) {
  if (key.kind == KeyConstant)
    return {parameter.name, constantOf(leaf), 1};
  sema::Type type;
  type.element = DType(key.dtype);
  type.pointer = key.kind == KeyPointer;
  type.isConst = parameter.isConst || (parameter.pinned && parameter.pinned->isConst);
  return {parameter.name, type, key.flags & KeyDivisibleBy16 ? 16u : key.flags & KeyDivisibleBy8 ? 8u : 1u};
}

static uint64_t floatBits(double value, DType type) {
  if (type == DType::F64)
    return std::bit_cast<uint64_t>(value);
  if (type == DType::F32)
    return std::bit_cast<uint32_t>(float(value));
  if (isByteFloat(type))
    return byteFloatBits(value, type);
  const llvm::fltSemantics &semantics =
      type == DType::F16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
  llvm::APFloat number(value);
  bool inexact;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

uint64_t slotOf(const Leaf &leaf, DType dtype, bool pointer) {
  if (pointer || isInteger(dtype))
    return leaf.bits;
  double value = leaf.kind == LeafKind::Float  ? std::bit_cast<double>(leaf.bits)
                 : leaf.kind == LeafKind::UInt ? double(leaf.bits)
                                               : double(int64_t(leaf.bits));
  return floatBits(value, dtype);
}

} // namespace tegula::jit
