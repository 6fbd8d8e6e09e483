#include "jit/KnownCalls.h"
#include "jit/Leaf.h"

#include <cstring>

namespace tegula::jit {
namespace {

// The part of an argument that a key is made of.
Leaf leafOf(const PlainArgument &argument) {
  Leaf leaf;
  leaf.kind = argument.kind;
  leaf.dtype = argument.dtype;
  leaf.typed = argument.typed;
  leaf.readOnly = argument.readOnly;
  leaf.isConstant = argument.isConstant;
  leaf.bits = argument.bits;
  return leaf;
}

} // namespace

KnownCall::Argument::Rule ruleOf(const PlainArgument &argument, const compiler::Parameter &parameter) {
  using Rule = KnownCall::Argument::Rule;
  if (argument.kind == LeafKind::Pointer)
    return Rule::Divisible;
  if (argument.typed || parameter.pinned)
    return Rule::MakeKey;
  switch (argument.kind) {
  case LeafKind::Bool:
  case LeafKind::Float: return Rule::Any;
  case LeafKind::Int: return Rule::Integer;
  default: return Rule::MakeKey;
  }
}

bool isLike(const KnownCall::Argument &known, const PlainArgument &argument,
            std::span<const compiler::Parameter> parameters, const sema::Function &function) {
  const PlainArgument &like = known.like;
  if (like.kind != argument.kind || like.dtype != argument.dtype || like.typed != argument.typed ||
      like.readOnly != argument.readOnly || like.isConstant != argument.isConstant)
    return false;
  if (std::optional<bool> answer = isLikeByBits(known, argument.bits))
    return *answer;
  if (known.isExact)
    return like.bits == argument.bits && known.text == argument.text;
  diag::Sink unheard; // what is refused is like nothing
  std::optional<KeyLeaf> key =
      specializeLeaf(leafOf(argument), parameters[size_t(known.parameter)], function, unheard);
  return key && std::memcmp(&*key, &known.key, sizeof(KeyLeaf)) == 0;
}

uint64_t slotOf(const PlainArgument &argument, const KnownCall::Slot &slot) {
  return slot.isPointer || isInteger(slot.dtype) ? argument.bits
                                                 : slotOf(leafOf(argument), slot.dtype, slot.isPointer);
}

bool KnownCall::isLike(std::span<const PlainArgument> others, std::span<const compiler::Parameter> parameters,
                       const sema::Function &function) const {
  if (others.size() != arguments.size())
    return false;
  for (size_t i = 0; i != others.size(); ++i)
    if (arguments[i].name != others[i].name || !jit::isLike(arguments[i], others[i], parameters, function))
      return false;
  return true;
}

void KnownCall::fill(std::span<const PlainArgument> values, llvm::SmallVectorImpl<uint64_t> &out) const {
  for (const Slot &slot : slots)
    out.push_back(slot.argument < 0 ? slot.bits : slotOf(values[size_t(slot.argument)], slot));
}

KernelRef KnownCalls::find(std::span<const PlainArgument> arguments, std::string_view target, int device,
                           uint64_t version, std::span<const compiler::Parameter> parameters,
                           const sema::Function &function, KernelTable &table,
                           llvm::SmallVectorImpl<uint64_t> &slots) {
  RobustLock::Holder within = RobustLock::Holder::ifFree(lock_);
  if (!within)
    return nullptr;
  Rows &all = rows(within);
  for (size_t i = 0; i != all.size(); ++i) {
    size_t at = (latest_ + i) % all.size();
    Row &row = all[at];
    if (row.device != device || row.target != target || !row.kernel ||
        !row.call.isLike(arguments, parameters, function))
      continue;
    KernelRef kernel = table.findAgain(row.kernel, row.drops, version);
    if (!kernel) {
      row.kernel = nullptr; // the longer way finds it, or another one
      continue;
    }
    latest_ = at;
    isWorthIt_ = true;
    row.call.fill(arguments, slots);
    return kernel;
  }
  return nullptr;
}

KnownCalls::Rows &KnownCalls::rows(const RobustLock::Holder &within) {
  if (within.isAbandoned()) {
    (void)rows_.release(); // one of them may be half written
    rows_ = std::make_unique<Rows>();
    next_ = latest_ = 0;
  }
  return *rows_;
}

void KnownCalls::forget() {
  RobustLock::Holder within(lock_);
  for (Row &row : rows(within))
    row.kernel = nullptr;
}

bool KnownCalls::wantsMore() {
  constexpr unsigned patience = 64;
  return isWorthIt_.load(std::memory_order_relaxed) ||
         skipped_.fetch_add(1, std::memory_order_relaxed) < std::tuple_size_v<Rows> ||
         skipped_.load(std::memory_order_relaxed) % patience == 0;
}

void KnownCalls::add(KnownCall call, std::string target, int device, SpecializedKernel *kernel,
                     uint64_t drops) {
  RobustLock::Holder within = RobustLock::Holder::ifFree(lock_);
  if (!within)
    return;
  Rows &all = rows(within);
  all[next_] = {std::move(call), std::move(target), device, kernel, drops};
  latest_ = next_;
  isWorthIt_ = false;
  next_ = (next_ + 1) % all.size();
}

} // namespace tegula::jit
