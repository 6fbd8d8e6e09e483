// What an expression is worth while a kernel is compiled: a run-time value (scalar or
// tile, an SSA value with the language's type), a compile-time constant, a tuple of
// such, or a record: run-time values under a type of their own. Signedness lives here, in the type, and
// nowhere below: the IR is signless.
#pragma once
#include "base/DType.h"
#include "sema/HostEnv.h"

#include "mlir/IR/Value.h"

namespace tegula::sema {

// The type of a run-time value. A pointer's `element` is its pointee (I1 pointees are
// stored as bytes). `shape` is empty for scalars; extents are positive, any value.
struct Type {
  DType element = DType::I32;
  bool pointer = false;
  bool isConst = false; // pointer to const
  llvm::SmallVector<int64_t, 3> shape = {};

  bool isScalar() const { return shape.empty(); }
  bool operator==(const Type &) const = default;
  Type scalar() const { return {element, pointer, isConst, {}}; }
  Type withShape(llvm::ArrayRef<int64_t> newShape) const {
    return {element, pointer, isConst, llvm::SmallVector<int64_t, 3>(newShape)};
  }
  Type withElement(DType newElement) const { return {newElement, false, false, shape}; }
};

// Upstream's spelling: "fp32", "pointer<fp32>", "<['1024'], fp32>".
std::string spelling(const Type &type);
mlir::Type lower(const Type &type, mlir::MLIRContext *context);

struct Tensor {
  mlir::Value value;
  Type type;
};

struct Value;
struct ValueTuple;

// The type of a record: a block pointer or a tensor descriptor, for tiles of one shape. It has all of
// the record that is constant: values of two types do not meet in a branch or a loop.
struct RecordType {
  TypeRef::Whole kind = TypeRef::BlockPointer;
  Type tile; // what it loads and stores; `isConst`: it does not store
  bool padsWithNaN = false;

  bool operator==(const RecordType &) const = default;
};
// Upstream's spelling: "pointer<<['16', '8'], fp16>>", "tensor_descriptor<<['16', '8'], fp16>>".
std::string spelling(const RecordType &type);

struct Record;

struct Value {
  // ValueTuple holds at least one run-time element or a tuple built in the kernel.
  std::variant<Const, Tensor, std::shared_ptr<ValueTuple>, std::shared_ptr<const Record>> value;
  // Of a constant: upstream has a run-time scalar of int32, int64 or float32 here (a helper's result, an
  // element of a tuple that a name holds), so that it promotes as one. It is a constant wherever one is asked
  // for. Of a constant tuple: its numbers do.
  bool isScalar = false;

  Value() : value(Const{NoneValue{}}) {}
  Value(Const constant) : value(std::move(constant)) {}
  Value(Tensor tensor) : value(std::move(tensor)) {}
  Value(std::shared_ptr<ValueTuple> tuple) : value(std::move(tuple)) {}
  Value(std::shared_ptr<const Record> record) : value(std::move(record)) {}

  const Const *constant() const { return std::get_if<Const>(&value); }
  const Tensor *tensor() const { return std::get_if<Tensor>(&value); }
  const ValueTuple *tuple() const {
    auto *pointer = std::get_if<std::shared_ptr<ValueTuple>>(&value);
    return pointer ? pointer->get() : nullptr;
  }
  const Record *record() const {
    auto *pointer = std::get_if<std::shared_ptr<const Record>>(&value);
    return pointer ? pointer->get() : nullptr;
  }
  // The values that a tuple of run-time values or a record is made of; null: it is neither.
  const ValueTuple *parts() const;
  // The same with other parts; of the same number and types, for a record.
  Value withParts(ValueTuple parts) const;
  // The same, its numbers as run-time scalars.
  Value asScalars() const;
  bool isNone() const { return constant() && std::holds_alternative<NoneValue>(constant()->value); }
};

struct ValueTuple : std::vector<Value> {
  using std::vector<Value>::vector;
  ValueTuple(std::vector<Value> elements = {}) : std::vector<Value>(std::move(elements)) {}
  TupleClassPtr type = nullptr; // null: a plain tuple
};

struct Record {
  RecordType type;
  ValueTuple fields; // run-time values, and tuples of such; builtins/Block.h has their order
};

// The class of a tuple whose elements have names, or of an aggregate; null: of any other value.
inline const TupleClass *classOf(const Value &value) {
  if (auto *tuple = value.tuple())
    return tuple->type.get();
  auto *constant = value.constant();
  auto *tuple = constant ? std::get_if<std::shared_ptr<ConstTuple>>(&constant->value) : nullptr;
  return tuple ? (*tuple)->type.get() : nullptr;
}
// An aggregate is kept as a tuple of its fields, and is none.
inline bool isAggregate(const Value &value) {
  const TupleClass *type = classOf(value);
  return type && type->isAggregate;
}

inline const ValueTuple *Value::parts() const { return record() ? &record()->fields : tuple(); }
inline Value Value::withParts(ValueTuple parts) const {
  if (record())
    return std::make_shared<const Record>(Record{record()->type, std::move(parts)});
  return std::make_shared<ValueTuple>(std::move(parts));
}

inline Value Value::asScalars() const {
  Value result = *this;
  result.isScalar = constant() != nullptr;
  if (tuple() && !isAggregate(*this)) {
    ValueTuple elements = *tuple();
    for (Value &element : elements)
      element = element.asScalars();
    result = withParts(std::move(elements));
  }
  return result;
}

} // namespace tegula::sema
