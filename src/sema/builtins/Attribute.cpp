// What stands behind a dot or in brackets: attributes and methods of run-time values and of
// types, x[None, :], elements of tuples.
#include "sema/Const.h"
#include "sema/Hints.h"
#include "sema/builtins/Block.h"
#include "sema/builtins/Call.h"

#include <numeric>

namespace tegula::sema {

using namespace builtins;

namespace {

const TypeRef *typeOfValue(const Value &value) {
  auto *constant = value.constant();
  return constant ? std::get_if<TypeRef>(&constant->value) : nullptr;
}

int64_t elementCount(llvm::ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

// ---- types ------------------------------------------------------------------------------

int64_t mantissaBits(DType type) {
  switch (type) {
  case DType::F64: return 52;
  case DType::F32: return 23;
  case DType::F16: return 10;
  case DType::BF16: return 7;
  case DType::F8E4NV:
  case DType::F8E4B8:
  case DType::F8E4B15: return 3;
  default: return 2;
  }
}

int64_t exponentBias(DType type) {
  switch (type) {
  case DType::F64: return 1023;
  case DType::F32:
  case DType::BF16: return 127;
  case DType::F8E4NV: return 7;
  case DType::F8E4B8: return 8;
  case DType::F8E5B16: return 16;
  default: return 15;
  }
}

std::optional<Const> wholeAttribute(const TypeRef &ref, std::string_view name) {
  bool isPointer = ref.whole == TypeRef::BlockPointer;
  if (name == (isPointer ? "element_ty" : "block_type"))
    return Const{TypeRef{ref.element, false, false, ref.shape}};
  if (isPointer && name == "scalar")
    return Const{ref};
  if (isPointer && name == "primitive_bitwidth")
    return makeInt(64);
  return std::nullopt;
}

std::optional<Const> typeAttribute(const TypeRef &ref, std::string_view name) {
  if (ref.whole)
    return wholeAttribute(ref, name);
  Type type = typeOf(ref);
  if (name == "scalar")
    return makeType(type.scalar());
  if (name == "shape" && !type.isScalar())
    return makeTuple(type.shape);
  if (name == "numel" && !type.isScalar())
    return makeInt(elementCount(type.shape));
  if (name == "element_ty" && !type.isScalar())
    return makeType(type.scalar());
  if (name == "nbytes" && !type.isScalar()) // of booleans none, as upstream counts
    return makeInt(elementCount(type.shape) * (type.pointer ? 8 : bitWidth(type.element) / 8));
  if (type.pointer) {
    if (name == "element_ty")
      return makeType(Type{type.element});
    if (name == "address_space")
      return makeInt(1);
    if (name == "name")
      return Const{spelling(type)};
    if (name == "primitive_bitwidth")
      return makeInt(64);
    return name == "itemsize" ? std::optional(makeInt(8)) : std::nullopt;
  }
  if (name == "primitive_bitwidth")
    return makeInt(bitWidth(type.element));
  if (name == "itemsize")
    return makeInt(byteSize(type.element));
  if (name == "name")
    return Const{spelling(type)};
  if (isInteger(type.element)) {
    if (name == "int_bitwidth")
      return makeInt(bitWidth(type.element));
    if (name == "int_signedness")
      return Const{BuiltinRef{std::string("triton.language.dtype.SIGNEDNESS.") +
                              (isSigned(type.element) ? "SIGNED" : "UNSIGNED")}};
    return std::nullopt;
  }
  if (name == "fp_mantissa_width")
    return makeInt(mantissaBits(type.element));
  if (name == "exponent_bias")
    return makeInt(exponentBias(type.element));
  return std::nullopt;
}

// is_fp16, is_int64, is_uint8, is_fp8e4nv: the row of the type table they ask for.
std::optional<bool> isNamedType(const Type &type, std::string_view question) {
  std::string_view asked = question.substr(3);
  auto found = dtypeFromName(asked);
  if (!found || name(*found) != asked)
    return std::nullopt;
  return !type.pointer && type.isScalar() && type.element == *found;
}

llvm::APInt largest(DType type) {
  return isSigned(type) ? llvm::APInt::getSignedMaxValue(bitWidth(type)).sext(72)
                        : llvm::APInt::getMaxValue(bitWidth(type)).zext(72);
}
llvm::APInt smallest(DType type) {
  return isSigned(type) ? llvm::APInt::getSignedMinValue(bitWidth(type)).sext(72) : llvm::APInt(72, 0);
}

std::optional<Const> typeMethod(const TypeRef &ref, std::string_view name) {
  if (ref.whole)
    return name == "is_ptr" || name == "is_block" || name == "is_const"
               ? std::optional(Const{name == "is_ptr" && ref.whole == TypeRef::BlockPointer})
               : std::nullopt;
  Type type = typeOf(ref);
  bool plain = !type.pointer && type.isScalar();
  bool isInt = plain && isInteger(type.element);
  if (name == "is_ptr")
    return Const{type.pointer && type.isScalar()};
  if (name == "is_block")
    return Const{!type.isScalar()};
  if (name == "is_const")
    return Const{type.isConst};
  if (name == "is_void")
    return Const{false};
  if (name == "is_dtype")
    return Const{true};
  if (name == "is_floating" || name == "is_standard_floating")
    return Const{plain && isFloat(type.element) && (name == "is_floating" || bitWidth(type.element) > 8)};
  if (name == "kind" && plain)
    return Const{
        BuiltinRef{std::string("triton.language.dtype.KIND.") + (isFloat(type.element)  ? "FLOATING"
                                                                 : isBool(type.element) ? "BOOLEAN"
                                                                                        : "INTEGRAL")}};
  if (name == "is_fp8")
    return Const{plain && isFloat(type.element) && bitWidth(type.element) == 8};
  if (name == "is_int")
    return Const{isInt};
  if (name == "is_int_signed")
    return Const{isInt && isSigned(type.element)};
  if (name == "is_int_unsigned")
    return Const{isInt && !isSigned(type.element)};
  if (name == "is_bool")
    return Const{isInt && isBool(type.element)};
  if (name == "get_int_max_value" && isInt)
    return Const{largest(type.element)};
  if (name == "get_int_min_value" && isInt)
    return Const{smallest(type.element)};
  if (name == "get_block_shapes" && !type.isScalar())
    return makeTuple(type.shape);
  if (name.starts_with("is_"))
    if (auto answer = isNamedType(type, name))
      return Const{*answer};
  return std::nullopt;
}

// ---- run-time values --------------------------------------------------------------------

std::optional<Value> tensorAttribute(Session &session, const Tensor &tensor, std::string_view name) {
  const Type &type = tensor.type;
  if (name == "dtype")
    return Value(makeType(type.scalar()));
  if (name == "type")
    return Value(makeType(type));
  if (name == "shape")
    return Value(makeTuple(type.shape));
  if (name == "numel")
    return Value(makeInt(elementCount(type.shape)));
  if (name == "T") {
    if (type.shape.size() != 2)
      return session.fail(diag::Kind::TransposedRank, {spelling(type)});
    return Value(transpose(session, tensor, {1, 0}));
  }
  return session.fail(diag::Kind::NoSuchAttribute, {spelling(type), name});
}

std::optional<Value> tileSubscript(Session &session, const Tensor &tensor, std::span<const Index> indices) {
  int64_t place = 0;
  size_t taken = 0;
  Tensor result = tensor;
  for (const Index &index : indices) {
    if (auto *value = std::get_if<Value>(&index)) {
      if (!value->isNone()) {
        session.fail(diag::Kind::UnsupportedIndex, {describe(*value)});
        if (tensor.type.pointer)
          setHint(session, diag::Kind::UnsupportedIndex,
                  "memory is read with tl.load(pointer + offset), and written with tl.store");
        return std::nullopt;
      }
      if (!checkRank(session, result.type.shape.size() + 1))
        return std::nullopt;
      result = expandDims(session, result, place);
    } else if (tensor.type.isScalar()) {
      continue; // a scalar has no dimension that `:` could take
    } else if (++taken > tensor.type.shape.size()) {
      return session.fail(diag::Kind::TooManyIndices, {spelling(tensor.type), std::to_string(taken)});
    }
    ++place;
  }
  return Value(result);
}

// `tuple` is one of constants or of values. Its elements are many: none but the one asked for is copied.
template <class Elements>
std::optional<Value> tupleSubscript(Session &session, const Value &tuple, const Elements &elements,
                                    std::span<const Index> indices) {
  auto *index = indices.size() == 1 ? std::get_if<Value>(&indices[0]) : nullptr;
  if (indices.size() == 1 && !index) // t[:]
    return makeValueTuple(*elementsOf(tuple));
  auto number = index && index->constant() ? asInt64(*index->constant()) : std::nullopt;
  if (!number)
    return session.fail(diag::Kind::TupleIndex, {index ? describe(*index) : "several"});
  int64_t size = elements.size(), i = *number < 0 ? *number + size : *number;
  if (i < 0 || i >= size)
    return session.fail(diag::Kind::TupleIndexRange, {std::to_string(*number), std::to_string(size)});
  Value element(elements[i]);
  element.isScalar |= tuple.isScalar;
  return element;
}

std::optional<Value> attributeOf(Session &session, const Value &object, std::string_view name) {
  if (auto *tensor = object.tensor())
    return tensorAttribute(session, *tensor, name);
  if (auto *record = object.record())
    return recordAttribute(session, *record, name);
  if (auto *type = typeOfValue(object)) {
    if (auto result = typeAttribute(*type, name))
      return Value(*result);
    return session.fail(diag::Kind::NoSuchAttribute, {repr(*object.constant()), name});
  }
  if (name == "value" && object.constant()) {
    auto *builtin = std::get_if<BuiltinRef>(&object.constant()->value);
    auto number = builtin ? enumeratorOf(builtin->name) : std::nullopt;
    return number ? Value(makeInt(*number)) : object;
  }
  // A number that is specialized, like a stride of 1, still looks like a value.
  if (isNumber(object) && (name == "dtype" || name == "type" || name == "shape" || name == "numel")) {
    auto tensor = toTensor(session, object);
    return tensor ? tensorAttribute(session, *tensor, name) : std::nullopt;
  }
  session.fail(diag::Kind::NoSuchAttribute, {describe(object), name});
  if (elementsOf(object))
    setHint(session, diag::Kind::NoSuchAttribute,
            "lists are tuples in a kernel, and do not change: `x = x + (value,)`");
  return std::nullopt;
}

// The builtin behind a method of a run-time value; null: there is none.
const Row *methodOf(const Value &object, std::string_view name) {
  if (auto *record = object.record())
    return record->type.kind == TypeRef::Descriptor ? findDescriptorMethod(name)
           : name == "advance"                      ? findMember(name)
                                                    : nullptr;
  return object.tensor() || isNumber(object) ? findMember(memberBuiltin(name)) : nullptr;
}

} // namespace

bool isMethod(const Value &object, std::string_view name) {
  if (auto *type = typeOfValue(object))
    return typeMethod(*type, name).has_value();
  return methodOf(object, name) != nullptr;
}

std::optional<Value> attribute(Session &session, const Value &object, std::string_view name) {
  auto result = attributeOf(session, object, name);
  if (!result && isMethod(object, name))
    setHint(session, diag::Kind::NoSuchAttribute,
            "`" + std::string(name) + "` is a method, and must be called: `." + std::string(name) + "(...)`");
  return result;
}

std::optional<Value> callMethod(Session &session, const Value &object, std::string_view name,
                                std::span<const Value> arguments, std::span<const NamedValue> keywords) {
  if (auto *type = typeOfValue(object)) {
    auto result = typeMethod(*type, name);
    if (!result)
      return session.fail(diag::Kind::NoSuchAttribute, {repr(*object.constant()), name});
    if (!arguments.empty() || !keywords.empty())
      return session.fail(diag::Kind::BuiltinTooManyArguments,
                          {name, "0", std::to_string(arguments.size() + keywords.size()), ""});
    return Value(*result);
  }
  const Row *row = methodOf(object, name);
  if (!row)
    return session.fail(diag::Kind::NoSuchAttribute, {describe(object), name});
  std::vector<Value> all{object};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return runBuiltin(session, *row, all, keywords);
}

std::optional<Value> subscript(Session &session, const Value &object, std::span<const Index> indices) {
  if (auto *tensor = object.tensor())
    return tileSubscript(session, *tensor, indices);
  if (auto *elements = object.tuple())
    return tupleSubscript(session, object, *elements, indices);
  if (auto *elements = object.constant() ? tupleOf(*object.constant()) : nullptr)
    return tupleSubscript(session, object, *elements, indices);
  if (isNumber(object)) {
    auto tensor = toTensor(session, object);
    return tensor ? tileSubscript(session, *tensor, indices) : std::nullopt;
  }
  return session.fail(diag::Kind::NotSubscriptable, {describe(object)});
}

} // namespace tegula::sema
