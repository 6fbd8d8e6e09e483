// The instructions that the processor at hand has, by name, without a compiler.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tegula::runtime {

// All names of CpuFeatures.def.
std::span<const std::string_view> cpuFeatures();
// False, too, for a name that is not in the table.
bool cpuHas(std::string_view feature);
// Returns those that the processor has not, "avx512f, avx512fp16"; "": it has all.
std::string lackingFeatures(std::span<const std::string> wanted);

} // namespace tegula::runtime
