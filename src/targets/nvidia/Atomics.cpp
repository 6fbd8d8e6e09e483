// Atomics as PTX `atom` and `red`, predicated. In: one thread's element. Out: what was there, 0
// under a false predicate. Additions that the architecture has no instruction for are a loop of
// compare-and-swap.
#include "targets/nvidia/Architecture.h"
#include "targets/nvidia/NvidiaHardware.h"

#include "llvm/IR/InlineAsm.h"

namespace tegula::nvidia {

using simt::Atomic;
using tile::AtomicKind;
using tile::MemScope;
using tile::MemSemantic;
using Builder = simt::Hardware::Builder;

namespace {

std::string semanticOf(const Atomic &atomic) {
  if (atomic.isFenced)
    return ".relaxed";
  switch (atomic.sem) {
  case MemSemantic::Relaxed: return ".relaxed";
  case MemSemantic::Acquire: return ".acquire";
  case MemSemantic::Release: return ".release";
  case MemSemantic::AcquireRelease: return ".acq_rel";
  }
}

std::string nameOf(MemScope scope) {
  switch (scope) {
  case MemScope::GPU: return ".gpu";
  case MemScope::CTA: return ".cta";
  case MemScope::System: return ".sys";
  }
}

std::string scopeOf(const Atomic &atomic) { return nameOf(atomic.scope); }

std::string spaceOf(const Atomic &atomic) {
  bool isShared = llvm::cast<llvm::PointerType>(atomic.pointer->getType())->getAddressSpace() == 3;
  return isShared ? ".shared" : ".global";
}

// The modifiers in the manual's order.
std::string orderOf(const Atomic &atomic) { return semanticOf(atomic) + scopeOf(atomic) + spaceOf(atomic); }

// Assemblers take these modifiers in any order. Here they stand as upstream writes them, since programs
// search the PTX of their kernels for `atom.global.gpu.acq_rel`, and for `atom.global.acq_rel` of a
// compare-and-swap.
std::string upstreamOrderOf(const Atomic &atomic, bool isSwap) {
  return spaceOf(atomic) +
         (isSwap ? semanticOf(atomic) + scopeOf(atomic) : scopeOf(atomic) + semanticOf(atomic));
}

// The operation and its type; "": there is no such instruction.
std::string operationOf(AtomicKind kind, llvm::Type *type, unsigned capability) {
  std::string bits = std::to_string(type->getScalarSizeInBits());
  switch (kind) {
  case AtomicKind::And: return ".and.b" + bits;
  case AtomicKind::Or: return ".or.b" + bits;
  case AtomicKind::Xor: return ".xor.b" + bits;
  case AtomicKind::Exch: return ".exch.b" + bits;
  case AtomicKind::Add: return ".add.u" + bits;
  case AtomicKind::Max: return ".max.s" + bits;
  case AtomicKind::Min: return ".min.s" + bits;
  case AtomicKind::UMax: return ".max.u" + bits;
  case AtomicKind::UMin: return ".min.u" + bits;
  case AtomicKind::FAdd: break;
  }
  if (type->isBFloatTy())
    return capability >= 90 ? ".add.noftz.bf16" : "";
  return type->isHalfTy() ? ".add.noftz.f16" : ".add.f" + bits;
}

// "$3", or "{$3, $4}" of a vector.
std::string group(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i != count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

// `instruction` [pointer], operands, each of which is a vector of integers of one width. Gives the
// result, of a vector as a struct.
llvm::Value *call(Builder &b, const Atomic &atomic, const std::string &instruction,
                  llvm::ArrayRef<llvm::ArrayRef<llvm::Value *>> operands) {
  llvm::Type *type = operands[0][0]->getType();
  unsigned bits = type->getIntegerBitWidth(), count = unsigned(operands[0].size()), next = 0;
  std::string letter = bits == 64 ? "l" : bits == 32 ? "r" : "h", constraints, text = instruction + " ";
  llvm::SmallVector<llvm::Value *> arguments;
  llvm::Type *result = b.getVoidTy();
  if (atomic.isUsed) {
    for (unsigned i = 0; i != count; ++i)
      constraints += "=" + letter + ",";
    for (unsigned i = 0; i != count; ++i) // where the predicate is false, the 0 stays
      constraints += std::to_string(i) + ",";
    arguments.append(count, llvm::ConstantInt::get(type, 0));
    text += group(0, count) + ", ";
    next = 2 * count;
    llvm::SmallVector<llvm::Type *> types(count, type);
    result = count == 1 ? type : llvm::StructType::get(b.getContext(), types);
  }
  constraints += "l";
  arguments.push_back(atomic.pointer);
  text += "[$" + std::to_string(next++) + "]";
  for (llvm::ArrayRef<llvm::Value *> operand : operands) {
    for (llvm::Value *value : operand) {
      constraints += "," + letter;
      arguments.push_back(value);
    }
    text += ", " + group(next, count);
    next += count;
  }
  if (atomic.predicate) {
    constraints += ",b";
    arguments.push_back(atomic.predicate);
    text = "@$" + std::to_string(next) + " " + text;
  }
  llvm::SmallVector<llvm::Type *> inputs;
  for (llvm::Value *argument : arguments)
    inputs.push_back(argument->getType());
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, inputs, false), text + ";",
                                        constraints + ",~{memory}", true);
  llvm::Value *made = b.CreateCall(assembly, arguments);
  return atomic.isUsed ? made : nullptr;
}

// `red` gives nothing back, and cannot acquire, be it by a fence behind it: it is no read.
bool needsAtom(const Atomic &atomic) {
  return atomic.isUsed || atomic.sem == MemSemantic::Acquire || atomic.sem == MemSemantic::AcquireRelease;
}

llvm::Value *bitsOf(Builder &b, llvm::Value *value) {
  if (value->getType()->isPointerTy())
    return b.CreatePtrToInt(value, b.getInt64Ty());
  return b.CreateBitCast(value, b.getIntNTy(value->getType()->getScalarSizeInBits()));
}

llvm::Value *valueOf(Builder &b, llvm::Value *bits, llvm::Type *type) {
  if (!bits)
    return nullptr;
  return type->isPointerTy() ? b.CreateIntToPtr(bits, type) : b.CreateBitCast(bits, type);
}

llvm::Value *swap(Builder &b, const Atomic &atomic, llvm::Value *expected, llvm::Value *desired) {
  std::string type = ".cas.b" + std::to_string(expected->getType()->getIntegerBitWidth());
  if (!atomic.isUsed) { // `red` cannot compare
    Atomic used = atomic;
    used.isUsed = true;
    call(b, used, "atom" + upstreamOrderOf(atomic, true) + type, {{expected}, {desired}});
    return nullptr;
  }
  return call(b, atomic, "atom" + upstreamOrderOf(atomic, true) + type, {{expected}, {desired}});
}

// Adds until no other thread came between.
llvm::Value *addBySwapping(Builder &b, const Atomic &atomic, llvm::Value *value) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  llvm::LLVMContext &context = b.getContext();
  llvm::BasicBlock *before = b.GetInsertBlock(), *start = llvm::BasicBlock::Create(context, "add", function),
                   *loop = llvm::BasicBlock::Create(context, "add.again", function),
                   *end = llvm::BasicBlock::Create(context, "add.end", function);
  llvm::Type *bits = b.getIntNTy(value->getType()->getScalarSizeInBits());
  b.CreateCondBr(atomic.predicate ? atomic.predicate : b.getTrue(), start, end);
  b.SetInsertPoint(start);
  llvm::Value *first = b.CreateAlignedLoad(bits, atomic.pointer, llvm::Align(bits->getIntegerBitWidth() / 8),
                                           /*isVolatile=*/true);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode *expected = b.CreatePHI(bits, 2);
  llvm::Value *sum = b.CreateFAdd(b.CreateBitCast(expected, value->getType()), value);
  Atomic step = atomic;
  step.predicate = nullptr;
  step.isUsed = true;
  llvm::Value *found = swap(b, step, expected, bitsOf(b, sum));
  expected->addIncoming(first, start);
  expected->addIncoming(found, loop);
  b.CreateCondBr(b.CreateICmpEQ(found, expected), end, loop);
  b.SetInsertPoint(end);
  llvm::PHINode *old = b.CreatePHI(bits, 2);
  old->addIncoming(llvm::ConstantInt::get(bits, 0), before);
  old->addIncoming(found, loop);
  return atomic.isUsed ? valueOf(b, old, value->getType()) : nullptr;
}

} // namespace

llvm::Value *NvidiaHardware::atomicRmw(Builder &b, const Atomic &atomic, AtomicKind kind,
                                       llvm::Value *value) const {
  llvm::Type *type = value->getType();
  llvm::Value *bits = bitsOf(b, value);
  std::string operation = operationOf(kind, type->isPointerTy() ? bits->getType() : type, capability_);
  if (operation.empty())
    return addBySwapping(b, atomic, value);
  // In global memory the assembler makes of an `atom` whose result is unused what it makes of `red`.
  Atomic step = atomic;
  step.isUsed = needsAtom(atomic) || kind == AtomicKind::Exch || spaceOf(atomic) == ".global";
  std::string order = step.isUsed ? "atom" + upstreamOrderOf(atomic, false) : "red" + orderOf(atomic);
  llvm::Value *old = call(b, step, order + operation, {{bits}});
  return atomic.isUsed ? valueOf(b, old, type) : nullptr;
}

void NvidiaHardware::fence(Builder &b, MemScope scope) const {
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false),
                                        "fence.acq_rel" + nameOf(scope) + ";", "~{memory}", true);
  b.CreateCall(assembly);
}

unsigned NvidiaHardware::atomicAddWidth(llvm::Type *element) const {
  return nvidia::atomicAddWidth(capability_, element->isHalfTy()     ? Added::F16
                                             : element->isBFloatTy() ? Added::BF16
                                             : element->isFloatTy()  ? Added::F32
                                                                     : Added::Other);
}

void NvidiaHardware::atomicAdd(Builder &b, const Atomic &atomic, llvm::ArrayRef<llvm::Value *> values) const {
  llvm::Type *element = values[0]->getType();
  unsigned perWord = 32 / element->getScalarSizeInBits(), words = unsigned(values.size()) / perWord;
  llvm::SmallVector<llvm::Value *> packed;
  for (unsigned w = 0; w != words; ++w) {
    llvm::Value *word = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, perWord));
    for (unsigned i = 0; i != perWord; ++i)
      word = b.CreateInsertElement(word, values[w * perWord + i], uint64_t(i));
    packed.push_back(b.CreateBitCast(word, b.getInt32Ty()));
  }
  std::string vector = words == 1 ? "" : ".v" + std::to_string(words);
  std::string type = element->isFloatTy() ? ".f32" : element->isHalfTy() ? ".f16x2" : ".bf16x2";
  Atomic step = atomic;
  step.isUsed = needsAtom(atomic);
  call(b, step,
       (step.isUsed ? "atom" : "red") + orderOf(atomic) + ".add" + (element->isFloatTy() ? "" : ".noftz") +
           vector + type,
       {packed});
}

llvm::Value *NvidiaHardware::atomicCas(Builder &b, const Atomic &atomic, llvm::Value *expected,
                                       llvm::Value *value) const {
  return valueOf(b, swap(b, atomic, bitsOf(b, expected), bitsOf(b, value)), value->getType());
}

} // namespace tegula::nvidia
