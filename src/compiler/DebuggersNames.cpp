// MLIR's headers put functions for debuggers ("dump") into every object file that includes them, and no
// linker drops those. Libtegula has no MLIR, so what they call is here, and ends the process. Nothing else
// calls it: all other names of MLIR in libtegula are errors of the linker.
#include <cstdlib>

extern "C" {
[[noreturn]] __attribute__((used)) void
tegulaNoSuccessors() __asm__("_ZN4mlir14SuccessorRangeC1EPNS_9OperationE");
[[noreturn]] __attribute__((used)) void
tegulaNoValue() __asm__("_ZNK4mlir5Value5printERN4llvm11raw_ostreamE");
[[noreturn]] __attribute__((used)) void
tegulaNoAttribute() __asm__("_ZNK4mlir9Attribute5printERN4llvm11raw_ostreamEb");

void tegulaNoSuccessors() { std::abort(); }
void tegulaNoValue() { std::abort(); }
void tegulaNoAttribute() { std::abort(); }
}
