// A PTX module as text says it: names resolved, every instruction matched to its row of
// Opcodes.def and its operands checked, nothing executed. In: PTX text. Out: Module, or the first
// error with its line and the text that was not understood. Bad text never crashes or recurses.
#pragma once
#include "base/Status.h"
#include "ptxvm/Types.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::ptxvm {

// The parts of a mnemonic that are no types (Modifiers.def).
enum class Modifier : uint8_t {
#define PTX_MODIFIER(Enum, text, ptx, sm) Enum,
#include "ptxvm/Modifiers.def"
#undef PTX_MODIFIER
  Count
};
using Modifiers = std::bitset<size_t(Modifier::Count)>;

// Where a variable lives.
enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };
std::string_view name(Space space);

// .loc: a file of Module::files and a line, 0 when unknown. `inlinedAt` is the index of another
// location in PtxKernel::locations, or -1.
struct Location {
  uint32_t file = 0, line = 0, column = 0;
  int32_t inlinedAt = -1;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  uint32_t align = 1;
  uint64_t bytes = 0; // 0 with `isExtern`: as much as the launch gives
  bool isExtern = false;
  bool isWritable = true;      // false for .const
  std::vector<std::byte> init; // empty: zeros (.global, .const), nothing (.shared, .local)
  struct Reference {           // an initialiser that is the address of another variable
    uint64_t offset;
    uint32_t variable; // of Module::variables
    int64_t addend;
    bool isGeneric;
  };
  std::vector<Reference> references;
};

struct Parameter {
  std::string name;
  Type type = Type::B64; // of one element
  uint32_t align = 1;
  uint64_t bytes = 0;
  bool isArray = false;
  uint64_t offset = 0; // in the parameter space
};

// A register that the body names; of a range such as %r<9> only those that are used.
struct Register {
  std::string name;
  Type type = Type::B32;
};

// What a variable named in an operand is: of the module, or of the kernel.
enum class OperandKind : uint8_t {
  Register,  // index into PtxKernel::registers; `negated` for !%p
  Immediate, // bits in `value`: an integer as two's complement in 64 bits, or a float's bits (see isFloat)
  Special,   // index into SpecialRegisters.def
  Variable,  // its address: `value` is the offset added
  Parameter, // its address in the parameter space
  Label,     // index into PtxKernel::instructions
  Targets,   // index into PtxKernel::targets
  Function,  // index into Module::functions
  Vector,    // `count` operands from `first` in PtxKernel::parts
  Sink,      // _
  Address,   // [base + value]: base in parts[first], absent when count is 0; further parts are further
             // coordinates
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  bool negated = false;  // a predicate with !
  bool isFloat = false;  // an immediate 0f... (32 bits) or 0d..., 1.0 (64 bits)
  uint8_t floatBits = 0; // 32 or 64 then
  bool afterBar = false; // written behind |: the second of d|p
  bool isModule = false; // a Variable of the module, not of the kernel
  uint32_t index = 0;
  uint32_t first = 0, count = 0;
  int64_t value = 0;
};

struct Form; // a row of Opcodes.def (Opcodes.h)

struct Instruction {
  const Form *form = nullptr;
  Modifiers modifiers;
  std::array<Type, 4> types{};                 // in the order written
  uint16_t columns = 0;                        // N of m64nNk16
  uint32_t firstOperand = 0, operandCount = 0; // in PtxKernel::operands
  Operand guard;                               // a register, or Sink
  uint32_t line = 0;                           // 1-based, of the PTX text
  int32_t location = -1;                       // in PtxKernel::locations
  std::string_view text;                       // as written, into Module::text
};

// Names of a function that PTX calls, defined elsewhere: vprintf, __assertfail.
struct Function {
  std::string name;
};

struct PtxKernel {
  std::string name;
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0;
  std::vector<Register> registers;
  std::vector<Variable> variables; // declared inside: .shared, .local, .param of calls
  std::vector<Instruction> instructions;
  std::vector<Operand> operands, parts;
  std::vector<std::vector<uint32_t>> targets; // of .branchtargets: instruction indices
  std::vector<Location> locations;
  std::array<uint32_t, 3> reqntid{}, maxntid{}; // 0 where not said
  uint32_t line = 0;
  const struct Module *module = nullptr;

  // "file" and line of the source for an instruction: the outermost place it was inlined at counts
  // as the user's line when `outermost`.
  std::string_view sourceFile(uint32_t instruction) const;
  uint32_t sourceLine(uint32_t instruction) const;
};

struct Module {
  std::string name; // of the file, for messages
  std::string text;
  uint32_t version = 0;           // 80 for .version 8.0
  uint32_t arch = 0;              // 90 for sm_90a
  char archSuffix = 0;            // 'a', 'f' or 0
  std::vector<std::string> files; // by .file index; index 0 is ""
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::unique_ptr<PtxKernel>> kernels;

  const PtxKernel *find(std::string_view entry) const;
};

// `name` is used in messages only: "name:line: reason: text".
Result<std::shared_ptr<const Module>> parse(std::string_view text, std::string name);

} // namespace tegula::ptxvm
