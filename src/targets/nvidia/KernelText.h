// Questions about the PTX of a kernel, as LLVM writes it, that say with how many registers it had better be
// assembled. They read lines, and know of them their names and where they jump.
#pragma once
#include <cstddef>
#include <string_view>

namespace tegula::nvidia {

// The number of its instructions and declarations.
size_t statements(std::string_view ptx);

// Does it multiply tiles with matrix instructions?
bool hasProducts(std::string_view ptx);

// Do the warps wait for one another?
bool meets(std::string_view ptx);

// Do lanes reduce what they hold together, step by step?
bool reducesInWarps(std::string_view ptx);

// Do threads read factors for their products?
bool readsFragments(std::string_view ptx);

// Do threads load tiles of products into registers, and none by copies?
bool loadsProducts(std::string_view ptx);

// Is it bound to a number of registers of a thread?
bool isBound(std::string_view ptx);

// Is room kept for the registers of loops: is it compiled for a number of programs of a multiprocessor?
bool keepsRoom(std::string_view ptx);

// Is a block run again behind itself?
bool hasLoops(std::string_view ptx);

// Does an innermost loop compute more with floats than it multiplies tiles in single warps?
bool computesBesideProducts(std::string_view ptx);

// The most registers of a thread that loads bring with neither a branch nor a label in between.
unsigned loadedInTurn(std::string_view ptx);

// The most words of registers that are between their first and their last mention: about what a thread holds
// if instructions stay where they stand. The assembler moves them, and gets along with half of it, often.
unsigned wordsHeld(std::string_view ptx);

} // namespace tegula::nvidia
