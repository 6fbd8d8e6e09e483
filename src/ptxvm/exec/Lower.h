// From an instruction to its micro-operation. Each row of Opcodes.def names a function lower##Name
// here; a row without one does not link.
#pragma once
#include "ptxvm/exec/DecodedKernel.h"

namespace tegula::ptxvm {

// The instruction being lowered, and where its operands are.
class Lowering {
public:
  Lowering(DecodedKernel &program, const Instruction &instruction)
      : program(program), instruction(instruction) {}

  DecodedKernel &program;
  const Instruction &instruction;
  Op op;
  std::string error; // why this instruction cannot be executed

  const PtxKernel &kernel() const { return *program.kernel; }
  Type type(unsigned slot = 0) const { return instruction.types[slot]; }
  bool has(Modifier modifier) const { return instruction.modifiers[size_t(modifier)]; }
  unsigned operandCount() const { return instruction.operandCount; }
  const Operand &operand(unsigned i) const { return kernel().operands[instruction.firstOperand + i]; }
  std::string_view mnemonic() const { return instruction.form->mnemonic; }

  // The place of a register, or of a constant as wide as `type`; `nowhere` for _.
  uint32_t place(const Operand &operand, Type type);
  uint32_t place(unsigned i, Type type) { return place(operand(i), type); }
  // The number of a predicate; a constant becomes always-true with `negated` set as needed.
  uint32_t predicate(const Operand &operand, bool &negated) const;
  // Places d, a, b, c of the operands in order, all of `type`.
  void regular(Type type);
  unsigned registerBits(const Operand &operand, Type type) const; // 32, 64 or 128
  // The address of a variable or parameter in its own space.
  uint64_t address(const Operand &operand, Space &space) const;
  Round round() const;
  LaneMode laneMode() const;

private:
  uint32_t constant(uint64_t bits, bool is64);
};

#define PTX_FORM(Op, mnemonic, modifiers, operands, ptx, sm, flags) void lower##Op(Lowering &l);
#include "ptxvm/Opcodes.def"
#undef PTX_FORM

} // namespace tegula::ptxvm
