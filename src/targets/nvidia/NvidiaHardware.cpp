#include "targets/nvidia/NvidiaHardware.h"
#include "targets/nvidia/Arithmetic.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/MDBuilder.h"

namespace tegula::nvidia {

using simt::Access;
using Builder = simt::Hardware::Builder;

namespace {

llvm::Value *special(Builder &b, llvm::Intrinsic::ID id) { return b.CreateIntrinsic(b.getInt32Ty(), id, {}); }

llvm::Value *allLanes(Builder &b) { return b.getInt32(~0u); }

// The words that one access moves: 32 bits each, or the element itself where it is wider or alone.
struct Words {
  unsigned bits, count;
};
Words wordsOf(const Access &access) {
  unsigned bits = access.element->getScalarSizeInBits(), total = bits * access.count;
  if (bits == 64)
    return {64, access.count};
  return total >= 32 ? Words{32, total / 32} : Words{total, 1};
}

llvm::Type *registerType(Builder &b, const Words &words) { return b.getIntNTy(std::max(16u, words.bits)); }

const char *constraint(const Words &words) { return words.bits == 64 ? "l" : words.bits == 32 ? "r" : "h"; }

// Elements as words: neighbours share one, the first in the low bits.
simt::Hardware::Values pack(Builder &b, const Access &access, const Words &words,
                            llvm::ArrayRef<llvm::Value *> values) {
  simt::Hardware::Values result;
  unsigned perWord = access.count / words.count, bits = access.element->getScalarSizeInBits();
  for (unsigned w = 0; w != words.count; ++w) {
    llvm::Value *word;
    if (perWord == 1) {
      word = b.CreateBitCast(values[w], b.getIntNTy(bits));
    } else {
      word = llvm::PoisonValue::get(llvm::FixedVectorType::get(access.element, perWord));
      for (unsigned i = 0; i != perWord; ++i)
        word = b.CreateInsertElement(word, values[w * perWord + i], uint64_t(i));
      word = b.CreateBitCast(word, b.getIntNTy(words.bits));
    }
    result.push_back(b.CreateZExt(word, registerType(b, words)));
  }
  return result;
}

simt::Hardware::Values unpack(Builder &b, const Access &access, const Words &words,
                              llvm::ArrayRef<llvm::Value *> loaded) {
  simt::Hardware::Values result;
  unsigned perWord = access.count / words.count;
  for (llvm::Value *word : loaded) {
    word = b.CreateTrunc(word, b.getIntNTy(words.bits));
    if (perWord == 1) {
      result.push_back(b.CreateBitCast(word, access.element));
      continue;
    }
    word = b.CreateBitCast(word, llvm::FixedVectorType::get(access.element, perWord));
    for (unsigned i = 0; i != perWord; ++i)
      result.push_back(b.CreateExtractElement(word, uint64_t(i)));
  }
  return result;
}

std::string modifiers(const Access &access, bool isStore) {
  std::string text;
  bool isShared = llvm::cast<llvm::PointerType>(access.pointer->getType())->getAddressSpace() == 3;
  if (isShared || access.isVolatile)
    return std::string(access.isVolatile ? ".volatile" : "") + (isShared ? ".shared" : ".global");
  text = ".global";
  switch (access.cache) {
  case tile::CacheModifier::None: break;
  case tile::CacheModifier::CA: text += isStore ? "" : ".ca"; break;
  case tile::CacheModifier::CG: text += ".cg"; break;
  case tile::CacheModifier::WB: text += isStore ? ".wb" : ""; break;
  case tile::CacheModifier::CS: text += ".cs"; break;
  case tile::CacheModifier::WT: text += isStore ? ".wt" : ""; break;
  case tile::CacheModifier::CV: text += isStore ? "" : ".cv"; break;
  }
  bool hasCache = text != ".global"; // PTX: a cache operator and an eviction priority exclude each other
  if (!hasCache && access.evict == tile::Eviction::First)
    text += ".L1::evict_first";
  if (!hasCache && access.evict == tile::Eviction::Last)
    text += ".L1::evict_last";
  return text;
}

std::string shape(const Words &words) {
  std::string text = words.count == 1 ? "" : ".v" + std::to_string(words.count);
  return text + ".b" + std::to_string(words.bits);
}

// "{$0, $1}" or "$0".
std::string operands(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i != count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

bool isPlain(const Access &access) {
  return !access.predicate && access.cache == tile::CacheModifier::None &&
         access.evict == tile::Eviction::Normal && !access.isVolatile;
}

llvm::Align alignmentOf(const Access &access) {
  return llvm::Align(access.element->getScalarSizeInBits() / 8 * access.count);
}

} // namespace

void orderAccesses(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
    if (!text || text->hasSideEffects() || !call->onlyReadsMemory() || call->doesNotAccessMemory())
      continue;
    call->setCalledOperand(llvm::InlineAsm::get(text->getFunctionType(), text->getAsmString(),
                                                text->getConstraintString(),
                                                /*hasSideEffects=*/true));
  }
}

llvm::Value *NvidiaHardware::threadIndex(Builder &b) const {
  auto *index = llvm::cast<llvm::CallInst>(special(b, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
  index->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, 32 * warps_)));
  return index;
}

llvm::Value *NvidiaHardware::threadIndexHere(Builder &b) const {
  auto *type = llvm::FunctionType::get(b.getInt32Ty(), false);
  llvm::CallInst *index =
      b.CreateCall(llvm::InlineAsm::get(type, "mov.u32 $0, %tid.x;", "=r", /*hasSideEffects=*/true));
  index->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, 32 * warps_)));
  return index;
}

// No lane's mask is 0, so that at most 31 bits lead it.
llvm::Value *NvidiaHardware::zeroOfLane(Builder &b) const {
  auto *type = llvm::FunctionType::get(b.getInt64Ty(), false);
  return b.CreateCall(
      llvm::InlineAsm::get(type,
                           "{ .reg .b32 %mask; mov.u32 %mask, %lanemask_eq; clz.b32 %mask, %mask; "
                           "shr.u32 %mask, %mask, 5; cvt.u64.u32 $0, %mask; }",
                           "=l", /*hasSideEffects=*/false));
}

llvm::Value *NvidiaHardware::programId(Builder &b, unsigned axis) const {
  constexpr llvm::Intrinsic::ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                         llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                         llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  return special(b, ids[axis]);
}

llvm::Value *NvidiaHardware::programCount(Builder &b, unsigned axis) const {
  constexpr llvm::Intrinsic::ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                                         llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                         llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  return special(b, ids[axis]);
}

void NvidiaHardware::barrier(Builder &b) const {
  if (warps_ == 1)
    warpBarrier(b);
  else
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {}, {b.getInt32(0)});
}

void NvidiaHardware::namedBarrier(Builder &b, llvm::Value *number, unsigned threads, bool waits) const {
  b.CreateIntrinsic(waits ? llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count
                          : llvm::Intrinsic::nvvm_barrier_cta_arrive_aligned_count,
                    {}, {number, b.getInt32(threads)});
}

void NvidiaHardware::warpBarrier(Builder &b) const {
  b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {allLanes(b)});
}

llvm::Value *NvidiaHardware::shuffleXor(Builder &b, llvm::Value *word, unsigned mask) const {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                           {allLanes(b), word, b.getInt32(mask), b.getInt32(31)});
}

llvm::Value *NvidiaHardware::shuffleIndex(Builder &b, llvm::Value *word, llvm::Value *lane) const {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                           {allLanes(b), word, lane, b.getInt32(31)});
}

llvm::Value *NvidiaHardware::shuffleUp(Builder &b, llvm::Value *word, unsigned delta) const {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_up_i32, {},
                           {allLanes(b), word, b.getInt32(delta), b.getInt32(0)});
}

llvm::Value *NvidiaHardware::reduceWarp(Builder &b, llvm::StringRef op, llvm::Value *word) const {
  if (capability_ < 80)
    return nullptr;
  auto id = llvm::StringSwitch<llvm::Intrinsic::ID>(op)
                .Case("add", llvm::Intrinsic::nvvm_redux_sync_add)
                .Case("min", llvm::Intrinsic::nvvm_redux_sync_min)
                .Case("max", llvm::Intrinsic::nvvm_redux_sync_max)
                .Case("umin", llvm::Intrinsic::nvvm_redux_sync_umin)
                .Case("umax", llvm::Intrinsic::nvvm_redux_sync_umax)
                .Case("and", llvm::Intrinsic::nvvm_redux_sync_and)
                .Case("or", llvm::Intrinsic::nvvm_redux_sync_or)
                .Case("xor", llvm::Intrinsic::nvvm_redux_sync_xor)
                .Default(llvm::Intrinsic::not_intrinsic);
  return id == llvm::Intrinsic::not_intrinsic ? nullptr : b.CreateIntrinsic(id, {}, {word, allLanes(b)});
}

llvm::Value *NvidiaHardware::holdsInLane(Builder &b, llvm::Value *condition) const {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_any_sync, {}, {allLanes(b), condition});
}

simt::Hardware::Values NvidiaHardware::load(Builder &b, const Access &access,
                                            llvm::ArrayRef<llvm::Value *> others) const {
  Words words = wordsOf(access);
  if (isPlain(access)) {
    llvm::Type *type =
        words.count == 1
            ? b.getIntNTy(words.bits)
            : static_cast<llvm::Type *>(llvm::FixedVectorType::get(b.getIntNTy(words.bits), words.count));
    llvm::Value *loaded = b.CreateAlignedLoad(type, access.pointer, alignmentOf(access));
    Values parts;
    for (unsigned i = 0; i != words.count; ++i)
      parts.push_back(words.count == 1 ? loaded : b.CreateExtractElement(loaded, uint64_t(i)));
    return unpack(b, access, words, parts);
  }
  llvm::Type *word = registerType(b, words);
  llvm::SmallVector<llvm::Type *> outputs(words.count, word), inputs;
  llvm::SmallVector<llvm::Value *> arguments;
  std::string constraints, text;
  for (unsigned i = 0; i != words.count; ++i)
    constraints += (i ? ",=" : "=") + std::string(constraint(words));
  if (access.predicate) {
    // The registers keep what they had where the predicate is false.
    Values kept = others.empty() ? Values(words.count, llvm::ConstantInt::get(word, 0))
                                 : pack(b, access, words, others);
    for (unsigned i = 0; i != words.count; ++i)
      constraints += "," + std::to_string(i);
    llvm::append_range(arguments, kept);
    text = "@$" + std::to_string(2 * words.count + 1) + " ";
  }
  constraints += ",l";
  arguments.push_back(access.pointer);
  text += "ld" + modifiers(access, false) + shape(words) + " " + operands(0, words.count) + ", [$" +
          std::to_string(words.count + (access.predicate ? words.count : 0)) + "];";
  if (access.predicate) {
    constraints += ",b";
    arguments.push_back(access.predicate);
  }
  for (llvm::Value *argument : arguments)
    inputs.push_back(argument->getType());
  llvm::Type *result =
      words.count == 1 ? word : static_cast<llvm::Type *>(llvm::StructType::get(b.getContext(), outputs));
  // Without this LLVM takes assembly of this target for code that leaves memory alone, whatever the call
  // says.
  constraints += ",~{memory}";
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, inputs, false), text, constraints,
                                        access.isVolatile);
  llvm::CallInst *loaded = b.CreateCall(assembly, arguments);
  if (!access.isVolatile) {
    // Equal loads with no store between them are one.
    loaded->setOnlyReadsMemory();
    loaded->setDoesNotThrow();
    loaded->addFnAttr(llvm::Attribute::WillReturn);
  }
  Values parts;
  for (unsigned i = 0; i != words.count; ++i)
    parts.push_back(words.count == 1 ? static_cast<llvm::Value *>(loaded) : b.CreateExtractValue(loaded, i));
  return unpack(b, access, words, parts);
}

void NvidiaHardware::store(Builder &b, const Access &access, llvm::ArrayRef<llvm::Value *> values) const {
  Words words = wordsOf(access);
  Values packed = pack(b, access, words, values);
  if (isPlain(access)) {
    llvm::Value *value = b.CreateTrunc(packed[0], b.getIntNTy(words.bits));
    if (words.count != 1) {
      value = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getIntNTy(words.bits), words.count));
      for (unsigned i = 0; i != words.count; ++i)
        value = b.CreateInsertElement(value, packed[i], uint64_t(i));
    }
    b.CreateAlignedStore(value, access.pointer, alignmentOf(access));
    return;
  }
  std::string constraints, text;
  llvm::SmallVector<llvm::Value *> arguments(packed.begin(), packed.end());
  for (unsigned i = 0; i != words.count; ++i)
    constraints += std::string(constraint(words)) + ",";
  constraints += "l";
  arguments.push_back(access.pointer);
  if (access.predicate) {
    constraints += ",b";
    arguments.push_back(access.predicate);
    text = "@$" + std::to_string(words.count + 1) + " ";
  }
  text += "st" + modifiers(access, true) + shape(words) + " [$" + std::to_string(words.count) + "], " +
          operands(0, words.count) + ";";
  constraints += ",~{memory}";
  llvm::SmallVector<llvm::Type *> inputs;
  for (llvm::Value *argument : arguments)
    inputs.push_back(argument->getType());
  auto *assembly =
      llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), inputs, false), text, constraints, true);
  b.CreateCall(assembly, arguments);
}

llvm::Value *NvidiaHardware::approximate(Builder &b, llvm::StringRef function,
                                         llvm::ArrayRef<llvm::Value *> arguments) const {
  return nvidia::approximate(b, function, arguments, capability_);
}

llvm::Value *NvidiaHardware::directed(Builder &b, tile::DirectedKind kind, tile::Direction direction,
                                      llvm::ArrayRef<llvm::Value *> operands) const {
  return nvidia::directed(b, kind, direction, operands);
}

llvm::Value *NvidiaHardware::convert(Builder &b, llvm::Value *value, mlir::Type from, mlir::Type to,
                                     bool towardZero) const {
  return nvidia::convert(b, value, from, to, towardZero, capability_);
}

} // namespace tegula::nvidia
