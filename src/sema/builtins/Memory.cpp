// tl.load and tl.store. Bools are bytes in memory.
#include "sema/builtins/Block.h"
#include "sema/builtins/PackedMemory.h"

namespace tegula::sema::builtins {
namespace {

using Cache = tile::CacheModifier;
using Eviction = tile::Eviction;

std::optional<Eviction> evictionOf(Call &call, size_t i) {
  return call.word<Eviction>(
      i, {{"", Eviction::Normal}, {"evict_first", Eviction::First}, {"evict_last", Eviction::Last}});
}

// The pointer operand, and that nothing asks for a block pointer's checks.
std::optional<Tensor> pointerOperand(Call &call, std::initializer_list<size_t> blockOnly) {
  auto *pointer = call[0].tensor();
  if (!pointer || !pointer->type.pointer)
    return call.wrong(0, "a pointer or a tile of pointers");
  for (size_t i : blockOnly) {
    auto elements = elementsOf(call[i]);
    auto *constant = call[i].constant();
    auto *text = constant ? std::get_if<std::string>(&constant->value) : nullptr;
    bool isDefault = call.isNone(i) || (elements && elements->empty()) || (text && text->empty());
    if (!isDefault)
      return call.fail(diag::Kind::NeedsBlockPointer, {call.row.parameters[i].name});
  }
  return *pointer;
}

// A mask or a value beside a scalar pointer is a scalar.
bool scalarBesideScalar(Call &call, size_t i, const Tensor &pointer, const Tensor &value) {
  if (!pointer.type.isScalar() || value.type.isScalar())
    return true;
  call.fail(diag::Kind::TileBesideScalarPointer, {call.row.parameters[i].name, spelling(value.type)});
  return false;
}

std::optional<Tensor> maskOperand(Call &call, size_t i, const Tensor &pointer) {
  auto mask = call.tensor(i);
  if (!mask)
    return std::nullopt;
  if (mask->type.pointer || !isBool(mask->type.element))
    return call.wrong(i, "int1");
  return scalarBesideScalar(call, i, pointer, *mask) ? mask : std::nullopt;
}

// Gives an access the promises that hold here of its address, if a loop carries that.
void carryPromises(Session &session, mlir::Value address, mlir::Operation *access) {
  auto found = session.promises.find(address);
  if (found == session.promises.end())
    return;
  for (const Session::Promise &promise : found->second)
    if (promise.block->getParent()->isAncestor(access->getParentRegion()))
      access->setAttr(promise.attribute.getName(), promise.attribute.getValue());
}

// The type that elements are loaded and stored as: bytes for bools, whole numbers of bytes for packed ones.
DType storedAs(DType element) {
  return isBool(element) ? DType::I8 : isPacked(element) ? unpackedType(element) : element;
}

} // namespace

std::optional<Value> call_load(Call &call) {
  enum { Pointer, Mask, Other, BoundaryCheck, Padding, CacheModifier, EvictionPolicy, Volatile };
  if (call[Pointer].record())
    return loadBlock(call);
  Session &session = call.session;
  auto pointer = pointerOperand(call, {BoundaryCheck, Padding});
  if (!pointer)
    return std::nullopt;
  if (call.isNone(Mask) && !call.isNone(Other))
    return call.fail(diag::Kind::OtherWithoutMask);
  auto cache = call.word<Cache>(
      CacheModifier,
      {{"", Cache::None}, {".ca", Cache::CA}, {".cg", Cache::CG}, {".cs", Cache::CS}, {".cv", Cache::CV}});
  auto eviction = cache ? evictionOf(call, EvictionPolicy) : std::nullopt;
  auto isVolatile = eviction ? call.flag(Volatile) : std::nullopt;
  if (!isVolatile)
    return std::nullopt;

  std::optional<Tensor> mask, other;
  DType stored = storedAs(pointer->type.element);
  if (!call.isNone(Mask)) {
    mask = maskOperand(call, Mask, *pointer);
    auto both = mask ? broadcastPair(session, *pointer, *mask) : std::nullopt;
    if (!both)
      return std::nullopt;
    std::tie(pointer, mask) = *both;
  }
  if (!call.isNone(Other)) {
    auto value = call.tensor(Other);
    if (!value || !scalarBesideScalar(call, Other, *pointer, *value))
      return std::nullopt;
    auto element = castTo(session, *value, Type{stored});
    auto both = element ? broadcastPair(session, *pointer, *element) : std::nullopt;
    // `other` may widen the pointer, and with it the mask.
    auto wide = both ? broadcastTo(session, *mask, both->first.type.shape) : std::nullopt;
    if (!wide)
      return std::nullopt;
    std::tie(pointer, other) = *both;
    mask = wide;
  }
  Type type = pointer->type.withElement(stored);
  if (isPacked(pointer->type.element)) {
    if (*isVolatile)
      return call.wrong(Volatile, "False: packed elements share their bytes");
    auto values =
        loadPacked(call, *pointer, mask, other, *call.text(CacheModifier), *call.text(EvictionPolicy));
    return values ? std::optional<Value>(*values) : std::nullopt;
  }
  Tensor loaded = emit<tile::LoadOp>(session, type, lower(type, session.builder.getContext()), pointer->value,
                                     mask ? mask->value : mlir::Value(), other ? other->value : mlir::Value(),
                                     *cache, *eviction, *isVolatile);
  carryPromises(session, pointer->value, loaded.value.getDefiningOp());
  return isBool(pointer->type.element) ? *cast(session, loaded, DType::I1) : loaded;
}

std::optional<Value> call_store(Call &call) {
  enum { Pointer, Stored, Mask, BoundaryCheck, CacheModifier, EvictionPolicy };
  if (call[Pointer].record())
    return storeBlock(call);
  Session &session = call.session;
  auto pointer = pointerOperand(call, {BoundaryCheck});
  if (!pointer)
    return std::nullopt;
  if (pointer->type.isConst)
    return call.fail(diag::Kind::StoreToConst);
  if (isPacked(pointer->type.element))
    return call.fail(diag::Kind::PackedStore, {std::string(name(pointer->type.element))});
  auto cache = call.word<Cache>(
      CacheModifier,
      {{"", Cache::None}, {".wb", Cache::WB}, {".cg", Cache::CG}, {".cs", Cache::CS}, {".wt", Cache::WT}});
  auto eviction = cache ? evictionOf(call, EvictionPolicy) : std::nullopt;
  auto value = eviction ? call.tensor(Stored) : std::nullopt;
  if (!value || !scalarBesideScalar(call, Stored, *pointer, *value))
    return std::nullopt;

  // A bool keeps only whether it is 0, so the cast comes before the bytes.
  auto element = castTo(session, *value, Type{pointer->type.element});
  element = element ? cast(session, *element, storedAs(pointer->type.element)) : std::nullopt;
  auto elements = element ? broadcastTo(session, *element, pointer->type.shape) : std::nullopt;
  if (!elements)
    return std::nullopt;
  std::optional<Tensor> mask;
  if (!call.isNone(Mask)) {
    mask = maskOperand(call, Mask, *pointer);
    mask = mask ? broadcastTo(session, *mask, pointer->type.shape) : std::nullopt;
    if (!mask)
      return std::nullopt;
  }
  auto stored = tile::StoreOp::create(session.builder, session.loc(), pointer->value, elements->value,
                                      mask ? mask->value : mlir::Value(), *cache, *eviction);
  carryPromises(session, pointer->value, stored);
  return Value();
}

} // namespace tegula::sema::builtins
