// The last calls of a function, each with all that decided about its kernel: a call that is like one of them
// has the same kernel, without its key being made. The rules of specialization are those of Leaf.h; nothing
// here keeps a kernel alive.
#pragma once
#include "base/RobustLock.h"
#include "compiler/Parameters.h"
#include "jit/Arguments.h"
#include "jit/KernelTable.h"

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula::jit {

// A call by its arguments, and how they fill the slots of its kernel.
struct KnownCall {
  struct Argument {
    PlainArgument like; // but its texts
    std::string name, text;
    int parameter = -1;   // -1: it is an option
    bool isExact = false; // only the same value has the same kernel; else whatever has the same key
    // Of a plain parameter's argument the key is a matter of some bits of its value.
    enum class Rule : uint8_t { MakeKey, Divisible, Integer, Any } rule = Rule::MakeKey;
    KeyLeaf key;
  };
  struct Slot {
    int argument = -1; // -1: a default, which has the bits
    uint64_t bits = 0;
    DType dtype = DType::I32;
    bool isPointer = false;
  };
  std::vector<Argument> arguments;
  std::vector<Slot> slots;

  // Do they have the same kernel? `parameters` are the function's.
  bool isLike(std::span<const PlainArgument> arguments, std::span<const compiler::Parameter> parameters,
              const sema::Function &function) const;
  void fill(std::span<const PlainArgument> arguments, llvm::SmallVectorImpl<uint64_t> &slots) const;
};

// By this rule `isLike` decides about an argument that is not exact.
KnownCall::Argument::Rule ruleOf(const PlainArgument &argument, const compiler::Parameter &parameter);
// May the argument stand in the place of the known one without another kernel?
bool isLike(const KnownCall::Argument &known, const PlainArgument &argument,
            std::span<const compiler::Parameter> parameters, const sema::Function &function);
uint64_t slotOf(const PlainArgument &argument, const KnownCall::Slot &slot);

// All that specializeLeaf looks at of an int without an annotation.
inline unsigned integerClass(uint64_t bits) {
  return unsigned(bits == 1) | unsigned(int64_t(bits) == int32_t(bits)) << 1 | knownDivisor(bits) << 2;
}
// The same of a value that has the known one's kind, type and flags; nullopt: its text or its key decides.
inline std::optional<bool> isLikeByBits(const KnownCall::Argument &known, uint64_t bits) {
  using Rule = KnownCall::Argument::Rule;
  if (known.isExact && known.like.kind == LeafKind::Constant)
    return std::nullopt;
  if (known.isExact)
    return known.like.bits == bits;
  switch (known.rule) {
  case Rule::Any: return true;
  case Rule::Divisible: return (known.like.bits % 16 == 0) == (bits % 16 == 0);
  case Rule::Integer: return integerClass(known.like.bits) == integerClass(bits);
  case Rule::MakeKey: break;
  }
  return std::nullopt;
}

// Safe from several threads. A thread that finds another one here looks nothing up: its call takes the longer
// way.
class KnownCalls {
public:
  // Null: none is like it, or its kernel is gone.
  KernelRef find(std::span<const PlainArgument> arguments, std::string_view target, int device,
                 uint64_t version, std::span<const compiler::Parameter> parameters,
                 const sema::Function &function, KernelTable &table, llvm::SmallVectorImpl<uint64_t> &slots);
  // False most of the time while calls differ from each other more than there are rows.
  bool wantsMore();
  void add(KnownCall call, std::string target, int device, SpecializedKernel *kernel, uint64_t drops);
  // Parameters specialize in another way from now on.
  void forget();

private:
  struct Row {
    KnownCall call;
    std::string target;
    int device = -1;
    SpecializedKernel *kernel = nullptr; // may be gone: `drops` says
    uint64_t drops = 0;
  };
  using Rows = std::array<Row, 4>;
  // Within the lock.
  Rows &rows(const RobustLock::Holder &within);

  RobustLock lock_;
  std::atomic<bool> isWorthIt_{false}; // a row was found since the last one was added
  std::atomic<unsigned> skipped_{0};
  std::unique_ptr<Rows> rows_ = std::make_unique<Rows>();
  size_t next_ = 0, latest_ = 0;
};

} // namespace tegula::jit
