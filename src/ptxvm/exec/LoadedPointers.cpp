// A kernel and an instruction of it -> is its address a pointer that the kernel has loaded? Then what it
// points at is memory that no argument names. An index that was loaded is multiplied by the size of an
// element: products and shifts end the walk, and so it answers no. Said of the text alone, for a hint:
// registers have one answer, whatever the order of instructions.
#include "ptxvm/Opcodes.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>

namespace tegula::ptxvm {
namespace {

class Walk {
public:
  explicit Walk(const PtxKernel &kernel) : kernel_(kernel), isSeen_(kernel.registers.size()) {}

  bool reachesLoad(const Instruction &access) {
    for (const Operand &operand : operandsOf(access))
      if (operand.kind == OperandKind::Address)
        visit(operand);
    while (!pending_.empty()) {
      uint32_t wanted = pending_.back();
      pending_.pop_back();
      for (const Instruction &instruction : kernel_.instructions)
        if (writes(instruction, wanted) && follow(instruction))
          return true;
    }
    return false;
  }

private:
  std::span<const Operand> operandsOf(const Instruction &instruction) const {
    return {kernel_.operands.data() + instruction.firstOperand, instruction.operandCount};
  }

  std::span<const Operand> partsOf(const Operand &operand) const {
    return {kernel_.parts.data() + operand.first, operand.count};
  }

  // Results stand first; a store and its like have an address there.
  bool writes(const Instruction &instruction, uint32_t wanted) const {
    auto is = [&](const Operand &part) { return part.kind == OperandKind::Register && part.index == wanted; };
    if (!instruction.operandCount)
      return false;
    const Operand &result = operandsOf(instruction).front();
    return result.kind == OperandKind::Vector ? std::ranges::any_of(partsOf(result), is) : is(result);
  }

  // True at a load of addresses; else the registers that the result is made of are looked at, too.
  bool follow(const Instruction &instruction) {
    std::string_view mnemonic = instruction.form->mnemonic;
    if (mnemonic.starts_with("ld"))
      return bitWidth(instruction.types[0]) == 64 && !isOfParameter(instruction);
    if (mnemonic.starts_with("mul") || mnemonic == "shl")
      return false;
    std::span<const Operand> sources = operandsOf(instruction).subspan(1);
    if (mnemonic.starts_with("mad") && !sources.empty())
      sources = sources.last(1);
    for (const Operand &source : sources)
      visit(source);
    return false;
  }

  static bool isOfParameter(const Instruction &load) {
    for (Modifier space : {Modifier::param, Modifier::paramEntry, Modifier::paramFunc})
      if (load.modifiers[size_t(space)])
        return true;
    return false;
  }

  void visit(const Operand &operand) {
    if (operand.kind == OperandKind::Register && !isSeen_[operand.index]) {
      isSeen_[operand.index] = true;
      pending_.push_back(operand.index);
    } else if (operand.kind == OperandKind::Vector || operand.kind == OperandKind::Address) {
      for (const Operand &part : partsOf(operand))
        visit(part);
    }
  }

  const PtxKernel &kernel_;
  std::vector<bool> isSeen_;
  std::vector<uint32_t> pending_;
};

} // namespace

bool isLoadedPointer(const PtxKernel &kernel, uint32_t instruction) {
  return instruction < kernel.instructions.size() &&
         Walk(kernel).reachesLoad(kernel.instructions[instruction]);
}

} // namespace tegula::ptxvm
