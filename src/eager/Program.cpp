#include "eager/Program.h"
#include "eager/InlineAssembly.h"

#include "ir/tile/Tile.h"
#include "runtime/FloatState.h"
#include "sema/PackedPlace.h"
#include "sema/Visitor.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstring>

namespace tegula::eager {

using sema::Value;

Program::Program(const sema::LanguageOptions &options) : options(options), context_(tile::makeContext()) {
  mlir::OpBuilder builder(context_.get());
  mlir::Location nowhere = builder.getUnknownLoc();
  module_ = mlir::ModuleOp::create(nowhere);
  builder.setInsertionPointToEnd(module_->getBody());
  auto function = tile::FuncOp::create(builder, nowhere, "program", builder.getFunctionType({}, {}));
  block_ = function.getBody().empty() ? &function.getBody().emplaceBlock() : &function.getBody().front();
}

Program::~Program() = default;

Held Program::scalar(const sema::Type &type, uint64_t bits) {
  interp::Element element = *interp::elementOf(sema::lower(type.scalar(), context_.get()));
  interp::Tile tile = interp::Interpreter::scalar(element, interp::truncate(bits, interp::widthOf(element)));
  return {std::make_shared<const HeldTile>(HeldTile{type.scalar(), std::move(tile)})};
}

bool Program::hasMethod(const Held &object, std::string_view name) const {
  if (auto *constant = object.constant())
    return sema::isMethod(Value(*constant), name);
  if (auto *tile = object.get<HeldTile>())
    return sema::isMethod(Value(sema::Tensor{nullptr, tile->type}), name);
  if (auto *record = object.get<HeldRecord>())
    return sema::isMethod(Value(std::make_shared<const sema::Record>(sema::Record{record->type, {}})), name);
  return false;
}

// Held values as values of the IR and back. A tile that goes in is the result of an op without operands,
// which stands for it and is not executed.
class Program::Exchange {
public:
  Exchange(mlir::OpBuilder &builder, interp::Interpreter &machine) : builder_(builder), machine_(machine) {}

  Value in(const Held &held) {
    if (auto *constant = held.constant())
      return Value(*constant);
    if (auto *tile = held.get<HeldTile>())
      return sema::Tensor{tile->place ? atPlace(*tile) : placeholder(tile->type, tile->tile), tile->type};
    if (auto *record = held.get<HeldRecord>())
      return std::make_shared<const sema::Record>(sema::Record{record->type, in(record->fields)});
    return std::make_shared<sema::ValueTuple>(in(*held.get<HeldTuple>()));
  }

  // Ahead of their execution: what of a result is not its value. False: a pointer hides its place.
  bool prepare(sema::Session &session, const Value &value) {
    auto *tensor = value.tensor();
    if (tensor && tensor->type.pointer && isPacked(tensor->type.element)) {
      auto place = sema::packedPlaceOf(session, *tensor);
      if (!place) {
        session.fail(diag::Kind::PackedPointer, {name(tensor->type.element)});
        return false;
      }
      places_.insert({tensor->value, *place});
    }
    auto *tuple = value.tuple();
    return !tuple || llvm::all_of(*tuple, [&](const Value &element) { return prepare(session, element); });
  }

  // When the ops have been executed.
  Held out(const Value &value) {
    if (auto *constant = value.constant())
      return {*constant};
    if (auto *tensor = value.tensor())
      return {std::make_shared<const HeldTile>(outTile(*tensor))};
    if (auto *record = value.record())
      return {std::make_shared<const HeldRecord>(HeldRecord{record->type, out(record->fields)})};
    return {std::make_shared<const HeldTuple>(out(*value.tuple()))};
  }

private:
  mlir::Value placeholder(const sema::Type &type, const interp::Tile &tile) {
    auto cast = mlir::UnrealizedConversionCastOp::create(
        builder_, builder_.getUnknownLoc(), sema::lower(type, builder_.getContext()), mlir::ValueRange());
    machine_.define(cast.getResult(0), tile);
    return cast.getResult(0);
  }

  // A pointer to packed elements, made again by ops that sema can read.
  mlir::Value atPlace(const HeldTile &held) {
    mlir::Location nowhere = builder_.getUnknownLoc();
    mlir::Type type = sema::lower(held.type, builder_.getContext());
    mlir::Value base = placeholder(held.type.scalar(), held.place->base);
    sema::Type offsets = sema::Type{held.place->offsetType}.withShape(held.type.shape);
    mlir::Value offset = placeholder(offsets, held.place->offset);
    if (!held.type.shape.empty())
      base = tile::SplatOp::create(builder_, nowhere, type, base);
    return tile::AddPtrOp::create(builder_, nowhere, type, base, offset);
  }

  HeldTile outTile(const sema::Tensor &tensor) {
    auto found = places_.find(tensor.value);
    if (found == places_.end())
      return {tensor.type, machine_.value(tensor.value)};
    const sema::PackedPlace &place = found->second;
    auto parts = std::make_shared<HeldPlace>(
        HeldPlace{machine_.value(place.base), machine_.value(place.offset.value), place.offset.type.element});
    HeldTile held{tensor.type, interp::Interpreter::make(tensor.value.getType())};
    for (size_t i = 0; i != held.tile.size(); ++i)
      held.tile.bits[i] =
          parts->base.bits[0] + uint64_t(parts->offset.asSigned(i) * bitWidth(tensor.type.element) >> 3);
    held.place = std::move(parts);
    return held;
  }

  sema::ValueTuple in(const HeldTuple &elements) {
    sema::ValueTuple values;
    for (const Held &element : elements)
      values.push_back(in(element));
    return values;
  }
  HeldTuple out(const sema::ValueTuple &elements) {
    HeldTuple held;
    for (const Value &element : elements)
      held.push_back(out(element));
    return held;
  }

  mlir::OpBuilder &builder_;
  interp::Interpreter &machine_;
  llvm::DenseMap<mlir::Value, sema::PackedPlace> places_;
};

namespace {

// The operator that Python spells so; nullopt: there is none.
template <class Operator> std::optional<Operator> operatorOf(std::string_view text, Operator last) {
  for (unsigned i = 0; i <= unsigned(last); ++i)
    if (syntax::spelling(Operator(i)) == text)
      return Operator(i);
  return std::nullopt;
}

using MaybeValue = std::optional<Value>;

struct Operands {
  std::vector<MaybeValue> all; // without a value: `:`
  std::vector<Value> values;   // by position, `:` left out
  std::vector<sema::NamedValue> keywords;

  std::span<const Value> behindFirst() const { return std::span(values).subspan(1); }
};

MaybeValue subscript(sema::Session &session, const Operands &operands) {
  std::vector<sema::Index> indices;
  for (const MaybeValue &index : std::span(operands.all).subspan(1))
    indices.push_back(index ? sema::Index(*index) : sema::Index(sema::FullSlice{}));
  return sema::subscript(session, operands.values[0], indices);
}

MaybeValue operate(sema::Visitor &visitor, const Step &step, const Operands &operands) {
  using namespace syntax;
  sema::Session &session = visitor.session;
  const std::vector<Value> &values = operands.values;
  switch (step.action) {
  case Action::Call: return visitor.callFromHost(values[0], operands.behindFirst(), operands.keywords);
  case Action::Method:
    return sema::callMethod(session, values[0], step.name, operands.behindFirst(), operands.keywords);
  case Action::Attribute: return sema::attribute(session, values[0], step.name);
  case Action::Binary:
    if (auto op = operatorOf(step.name, BinaryOperator::Xor))
      return sema::binary(session, *op, values[0], values[1]);
    break;
  case Action::Compare:
    if (auto op = operatorOf(step.name, CompareOperator::NotIn))
      return sema::compare(session, *op, values[0], values[1]);
    break;
  case Action::Unary:
    if (auto op = operatorOf(step.name, UnaryOperator::Not))
      return sema::unary(session, *op, values[0]);
    break;
  case Action::Logical:
    if (auto op = operatorOf(step.name, BoolOperator::Or))
      return sema::logical(session, *op, values[0], values[1]);
    break;
  case Action::Subscript: return subscript(session, operands);
  case Action::Tensor: {
    auto tensor = sema::toTensor(session, values[0]);
    return tensor ? MaybeValue(*tensor) : std::nullopt;
  }
  case Action::Range: return visitor.rangeFromHost(values[0], values[1], values[2]);
  case Action::Condition: return visitor.conditionFromHost(values[0]);
  }
  return session.fail(diag::Kind::HostMisuse, {"there is no operator `" + std::string(step.name) + "`",
                                               "operators are spelled as in Python"});
}

// Arithmetic on pointers to packed elements has no address as its result: sema reads it off the ops.
bool onlyMovesPlace(mlir::Operation &op) {
  if (op.getNumResults() != 1 || llvm::isa<tile::BitcastOp, tile::IntToPtrOp>(op))
    return false;
  auto pointer = llvm::dyn_cast<tile::PointerType>(tile::elementType(op.getResult(0).getType()));
  return pointer && pointer.getPointee().isIntOrFloat() && pointer.getPointee().getIntOrFloatBitWidth() < 8 &&
         !pointer.getPointee().isSignlessInteger(1);
}

size_t operandsOf(Action action) {
  switch (action) {
  case Action::Binary:
  case Action::Compare:
  case Action::Logical: return 2;
  case Action::Range: return 3;
  default: return 1;
  }
}

} // namespace

std::optional<Held> Program::run(const Step &step, const diag::Location &place, diag::Sink &sink,
                                 Status &status) {
  mlir::OpBuilder builder(context_.get());
  builder.setInsertionPointToEnd(block_);
  llvm::scope_exit empty([&] { block_->clear(); });
  std::string complaints; // MLIR's own, told as our bug
  mlir::ScopedDiagnosticHandler handler(context_.get(), [&](mlir::Diagnostic &diagnostic) {
    complaints += diagnostic.str() + "\n";
    return mlir::success();
  });
  sema::HostRecord record;
  sema::Visitor visitor(builder, sink, options, record);
  visitor.session.place = place;
  runtime::FloatState defaults;
  interp::Interpreter machine(interp::allOps(), grid, 0);
  machine.program = index;
  Exchange exchange(builder, machine);
  Operands operands;
  for (const Operand &operand : step.operands) {
    MaybeValue value = operand.value ? MaybeValue(exchange.in(*operand.value)) : std::nullopt;
    operands.all.push_back(value);
    if (value && operand.name.empty())
      operands.values.push_back(*value);
    else if (value)
      operands.keywords.push_back({operand.name, *value});
  }
  if (operands.values.size() < operandsOf(step.action))
    return visitor.session.fail(diag::Kind::HostMisuse, {"an operation without all of its operands",
                                                         "give each that the operation has"});
  auto result = visitor.fromHost([&] { return operate(visitor, step, operands); });
  if (!result || sink.hasErrors())
    return std::nullopt;
  if (!exchange.prepare(visitor.session, *result))
    return std::nullopt;
  for (mlir::Operation &op : *block_) {
    if (llvm::isa<mlir::UnrealizedConversionCastOp>(op) || onlyMovesPlace(op))
      continue;
    if (mlir::failed(mlir::verify(&op)))
      return visitor.session.fail(diag::Kind::InternalCompilerError, {complaints});
    if (auto assembly = llvm::dyn_cast<tile::ElementwiseInlineAsmOp>(op)) {
      if (status = runInlineAssembly(assembly, machine); !status.ok())
        return std::nullopt;
      continue;
    }
    if (!machine.runOp(&op)) {
      status = machine.status();
      return std::nullopt;
    }
  }
  return exchange.out(*result);
}

} // namespace tegula::eager
