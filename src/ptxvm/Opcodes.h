// The table of instruction forms, compiled for matching. In: a mnemonic's parts. Out: the rows
// whose modifiers and types they spell.
#pragma once
#include "ptxvm/Ptx.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tegula::ptxvm {

enum FormFlags : uint8_t { None = 0, Sync = 1, Aligned = 2, Convergent = 4, Memory = 8, Specific = 16 };

// What an operand of a form may be.
struct OperandSpec {
  enum class Kind : uint8_t {
    Destination,
    Source,
    VectorDestination,
    VectorSource,
    PredicateOut,
    PredicateIn,
    Address,
    Label,
    Targets,
    Immediate,
    MovDestination,
    MovSource,
    Call,
  };
  Kind kind{};
  int8_t slot = -1; // of Instruction::types, or -1: `type`
  Type type = Type::None;
  bool mayBeWider = false; // the register
  bool isDouble = false;   // twice the width of the slot's type: mul.wide
  bool afterBar = false;   // written behind |
  bool isOptional = false;
  bool maySink = false;   // _ is allowed
  uint8_t count = 0;      // a vector of so many registers, or coordinates of an address; 0: as Kind says
  bool ofColumns = false; // a vector of half as many registers as the shape has columns
};

struct Form {
  std::string_view lower, mnemonic, modifiers, operands;
  uint32_t ptx = 0, sm = 0;
  uint8_t flags = 0;
  uint32_t index = 0; // of the row
  std::vector<OperandSpec> specs;
};

// What a mnemonic says, and the least .version and .target for it.
struct Spelling {
  uint32_t ptx = 0, sm = 0;
  Modifiers modifiers;
  std::array<Type, 4> types{};
  uint16_t columns = 0; // N of m64nNk16
};

std::span<const Form> forms();
// The rows of a mnemonic: "add".
std::span<const Form *const> formsOf(std::string_view mnemonic);
// Do the parts after the mnemonic, split at dots, spell this form?
std::optional<Spelling> match(const Form &form, std::span<const std::string_view> parts);
std::string_view name(Modifier modifier);

enum class Special : uint8_t {
#define PTX_SPECIAL(Enum, text, type, changes) Enum,
#include "ptxvm/SpecialRegisters.def"
#undef PTX_SPECIAL
  Count
};
std::optional<Special> specialFromName(std::string_view name);
Type typeOf(Special special);
bool changes(Special special);

} // namespace tegula::ptxvm
