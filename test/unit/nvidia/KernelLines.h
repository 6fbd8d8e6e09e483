// Lines of kernels as LLVM writes them, of which tests make texts.
#pragma once
#include <string>

namespace tegula::nvidia {

inline std::string line(const std::string &text) { return "\t" + text + ";\n"; }
inline std::string label(int number) { return "$L__BB0_" + std::to_string(number) + ":\n"; }
inline std::string jump(int number) { return line("@%p1 bra \t$L__BB0_" + std::to_string(number)); }
inline std::string alwaysJump(int number) { return line("bra.uni \t$L__BB0_" + std::to_string(number)); }

inline const std::string product = "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n",
                         sum = line("add.rn.f32 \t%r1, %r2, %r3"),
                         load = line("ld.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1]");

} // namespace tegula::nvidia
