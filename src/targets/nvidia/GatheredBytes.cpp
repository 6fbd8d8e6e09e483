#include "targets/nvidia/GatheredBytes.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

#include <array>
#include <map>
#include <optional>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace tegula::nvidia {

namespace {

constexpr unsigned mostSteps = 64; // from a byte to where it comes from
constexpr unsigned wordBytes = 4;

// A byte of a number of up to 32 bits, or of a vector of so many; null: any byte.
struct Byte {
  Value *number = nullptr;
  unsigned index = 0;
};

unsigned bitsOf(Value *value) { return unsigned(value->getType()->getPrimitiveSizeInBits().getFixedValue()); }

// The byte that an element of a vector of bytes, or a byte of a number, is; nullopt: it is made otherwise.
std::optional<Byte> byteOf(Value *value, unsigned index) {
  for (unsigned step = 0; step != mostSteps; ++step) {
    if (isa<PoisonValue, UndefValue>(value))
      return Byte();
    Value *other, *element;
    uint64_t at;
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(value)) {
      int from = shuffle->getMaskValue(index);
      if (from < 0)
        return Byte();
      auto size = cast<FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements();
      value = shuffle->getOperand(unsigned(from) >= size ? 1 : 0);
      index = unsigned(from) % size;
    } else if (match(value, m_InsertElt(m_Value(other), m_Value(element), m_ConstantInt(at)))) {
      value = at == index ? element : other;
      index = at == index ? 0 : index;
    } else if (match(value, m_ExtractElt(m_Value(other), m_ConstantInt(at))) &&
               value->getType()->isIntegerTy(8)) {
      value = other;
      index = unsigned(at);
    } else if (match(value, m_BitCast(m_Value(other))) && other->getType()->isIntegerTy() &&
               value->getType()->getScalarType()->isIntegerTy(
                   8)) { // elements of more bytes are counted alone
      value = other;
    } else if (match(value, m_Trunc(m_Value(other)))) {
      value = other;
    } else if (match(value, m_ZExt(m_Value(other))) && other->getType()->isIntegerTy() &&
               8 * (index + 1) <= other->getType()->getIntegerBitWidth()) {
      value = other;
    } else if (match(value, m_LShr(m_Value(other), m_ConstantInt(at))) && at % 8 == 0 &&
               8 * (index + 1) + at <= other->getType()->getIntegerBitWidth()) {
      value = other;
      index += unsigned(at / 8);
    } else {
      Type *element = value->getType()->getScalarType();
      bool isNumber = element->isIntegerTy(8) || element == value->getType();
      bool isWhole = element->isIntegerTy() && isPowerOf2_32(bitsOf(value)) && bitsOf(value) >= 8 &&
                     bitsOf(value) <= 8 * wordBytes;
      return isNumber && isWhole ? std::optional(Byte{value, index}) : std::nullopt;
    }
  }
  return std::nullopt;
}

class Words {
public:
  explicit Words(IRBuilder<> &builder) : b_(builder) {}

  // The elements of a vector from `first` on as a word; null: LLVM makes it as well.
  Value *of(Value *vector, unsigned first) {
    std::array<Byte, wordBytes> bytes;
    SmallVector<Value *, wordBytes> numbers; // in the order of the bytes, each once
    bool isSplit = false;                    // into elements that are no neighbours
    for (unsigned i = 0; i != wordBytes; ++i) {
      std::optional<Byte> byte = byteOf(vector, first + i);
      if (!byte)
        return nullptr;
      bytes[i] = *byte;
      if (byte->number && !is_contained(numbers, byte->number))
        numbers.push_back(byte->number);
      isSplit |= byte->number && byte->index != i;
    }
    if (numbers.empty() || any_of(numbers, IsaPred<Constant>))
      return nullptr;
    if (numbers.size() == 1 && !isSplit && bitsOf(numbers.front()) == 8 * wordBytes)
      return widened(numbers.front());
    if (numbers.size() <= 2)
      return permuted(numbers.front(), numbers.back(), [&](unsigned i) {
        return bytes[i].index + (bytes[i].number && bytes[i].number != numbers.front() ? wordBytes : 0);
      });
    return ofPairs(bytes);
  }

private:
  // Bytes 0 and 1 from one pair of numbers, 2 and 3 from another one. All that two numbers of 16 bits hold is
  // in one word, which words of their other bytes are made of as well.
  Value *ofPairs(std::array<Byte, wordBytes> bytes) {
    for (Byte &byte : bytes)
      if (!byte.number)
        byte.number = bytes[0].number ? bytes[0].number : bytes[1].number ? bytes[1].number : bytes[2].number;
    bool areLow = all_of(bytes, [](const Byte &byte) { return byte.index < 2; });
    auto pair = [&](unsigned i) {
      const Byte &low = bytes[i], &high = bytes[i + 1];
      return permuted(low.number, high.number, [&](unsigned at) {
        if (areLow)
          return at / 2 + (at % 2 ? wordBytes : 0);
        return at % 2 ? high.index + wordBytes : low.index;
      });
    };
    Value *low = pair(0), *high = pair(2);
    return permuted(low, high, [&](unsigned i) {
      unsigned place = areLow ? 2 * bytes[i].index + i % 2 : i % 2;
      return place + (i < 2 ? 0 : wordBytes);
    });
  }

  template <class Selector> Value *permuted(Value *low, Value *high, Selector &&selected) {
    unsigned selector = 0;
    for (unsigned i = 0; i != wordBytes; ++i)
      selector |= selected(i) << 4 * i;
    Value *&known = made_[{low, high, selector}];
    constexpr unsigned halves = 0x5410; // the assembler converts to the upper half of a word by itself
    if (!known && selector == halves && bitsOf(low) == 16 && bitsOf(high) == 16) {
      Value *both = PoisonValue::get(FixedVectorType::get(b_.getInt16Ty(), 2));
      for (auto [at, half] : enumerate(std::array{low, high}))
        both = b_.CreateInsertElement(both, number(half), uint64_t(at));
      known = b_.CreateBitCast(both, b_.getInt32Ty());
    }
    if (!known)
      known = b_.CreateIntrinsic(b_.getInt32Ty(), Intrinsic::nvvm_prmt,
                                 {widened(low), widened(high), b_.getInt32(selector)});
    return known;
  }

  Value *widened(Value *value) {
    Value *&known = made_[{value, nullptr, 8 * wordBytes}];
    return known ? known : known = b_.CreateZExt(number(value), b_.getInt32Ty());
  }

  // A load of bytes becomes one of the number where nothing is between the two.
  Value *number(Value *value) {
    if (value->getType()->isIntegerTy())
      return value;
    Value *&known = made_[{value, nullptr, 0}];
    if (known)
      return known;
    IRBuilderBase::InsertPointGuard guard(b_);
    if (auto *load = dyn_cast<LoadInst>(value))
      b_.SetInsertPoint(load->getNextNode());
    return known = b_.CreateBitCast(value, b_.getIntNTy(bitsOf(value)));
  }

  IRBuilder<> &b_;
  std::map<std::tuple<Value *, Value *, unsigned>, Value *> made_; // looked up only: no order comes of it
};

bool isOfBytes(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getElementType()->isIntegerTy(8) && vector->getNumElements() % wordBytes == 0;
}

// The vector as words; null where LLVM makes one of them as well.
Value *wordsOf(Value *vector, Words &words, IRBuilder<> &b) {
  unsigned count = cast<FixedVectorType>(vector->getType())->getNumElements() / wordBytes;
  SmallVector<Value *> all;
  for (unsigned i = 0; i != count; ++i)
    if (Value *word = words.of(vector, i * wordBytes))
      all.push_back(word);
    else
      return nullptr;
  if (count == 1)
    return all.front();
  Value *result = PoisonValue::get(FixedVectorType::get(b.getInt32Ty(), count));
  for (unsigned i = 0; i != count; ++i)
    result = b.CreateInsertElement(result, all[i], uint64_t(i));
  return result;
}

} // namespace

void gatherBytes(Function &function) {
  for (BasicBlock &block : function) {
    IRBuilder<> b(function.getContext());
    Words words(b);
    for (Instruction &each : make_early_inc_range(block)) {
      auto *store = dyn_cast<StoreInst>(&each);
      auto *cast = dyn_cast<BitCastInst>(&each);
      Value *vector = store && store->isSimple() ? store->getValueOperand()
                      : cast                     ? cast->getOperand(0)
                                                 : nullptr;
      if (!vector || !isOfBytes(vector->getType()) ||
          (cast && cast->getType()->getScalarSizeInBits() != 8 * wordBytes))
        continue;
      b.SetInsertPoint(&each);
      Value *made = wordsOf(vector, words, b);
      if (!made)
        continue;
      if (store)
        store->setOperand(0, made);
      else
        cast->replaceAllUsesWith(b.CreateBitCast(made, cast->getType()));
    }
  }
  for (BasicBlock &block : function)
    for (Instruction &each : make_early_inc_range(reverse(block)))
      if (isInstructionTriviallyDead(&each))
        each.eraseFromParent();
}

} // namespace tegula::nvidia
