// The constraints and the text of tt.elementwise_inline_asm. The list of constraints is closed: what LLVM
// does not know or cannot allocate ends its process, so nothing but these reaches it. Outputs first, then
// inputs, then clobbers:
//
//   =h =r =l =f =d      an output in a register of 16, 32, 64 bits; of a 32- or 64-bit float. `=&r` is
//   written early. h r l f d           an input in one 0 1 ...             an input in the register of that
//   output
//   ~{memory}           the text touches memory
//
// In the text `$0`, `${1}`, ... stand for operands, `$$` for a dollar sign, `${:uid}` for a number of each
// copy.
#pragma once
#include "base/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tegula::tile {

struct AsmRegister {
  char kind;                    // h r l f d; a tied input has its output's
  std::optional<size_t> tiedTo; // the output whose register this input is in
  unsigned bits() const { return kind == 'h' ? 16 : kind == 'r' || kind == 'f' ? 32 : 64; }
};

struct AsmConstraints {
  llvm::SmallVector<AsmRegister, 4> outputs, inputs;
};

// Type, with the constraint and the reason, for what is not on the list.
Result<AsmConstraints> parseAsmConstraints(llvm::StringRef constraints);

// Type, with the piece of text, for a `$` that stands for none of the `operands` registers, or a zero byte.
Status checkAsmText(llvm::StringRef text, size_t operands);

// An assembly with constants among its operands: inputs `n` and `i`, which the text has as numbers and no
// register holds. `numbers` has one entry an input, empty where that is no constant. Out: text and
// constraints without them.
struct AsmText {
  std::string text, constraints;
};
AsmText withoutImmediates(llvm::StringRef text, llvm::StringRef constraints,
                          llvm::ArrayRef<std::optional<int64_t>> numbers);
// Is each input, in order, of this kind?
llvm::SmallVector<bool> immediatesOf(llvm::StringRef constraints);

// A run of `pack` elements of `bits` (1 to 64): those below 32 bits share registers of 32 bits, lowest first.
size_t registersOfRun(unsigned bits, unsigned pack);
// The bits that one register of the run needs: 8 to 64.
unsigned registerBits(unsigned bits, unsigned pack);
// A register of 32 bits also holds less.
bool fits(const AsmRegister &reg, unsigned bits, unsigned pack);

} // namespace tegula::tile
