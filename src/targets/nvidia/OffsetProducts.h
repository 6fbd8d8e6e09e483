// Offsets of elements, in the form that costs least: shifts in loops of products, for those keep out of the
// way of the tensor cores, and products with the element's size elsewhere.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same; where products of several warps
// run, each `mul.wide` by a power of two up to the end of the loops around the last of them is a conversion
// and a shift, on one line as before. The assembler makes one instruction (`IMAD.WIDE`) of such a product and
// an addition, in the loop if need be. It waits for the registers' ports, which the sums of the tensor cores
// take meanwhile: products of 128×128 blocks were 4 to 15 % slower. Offsets of many loads into registers stay
// products: they would take two registers each around the loop, where the assembler holds one of 32 bits. So
// do those that a loop computes for loads into registers, each for one of them: a shift takes three
// instructions for an address in place of one, and convolutions that read f16 one by one lost 10 % by it.
std::string splitOffsetProducts(std::string_view ptx);

// In and out as before; behind those loops, and in a module without such products everywhere, a shift of what
// a conversion widened from 32 bits is a `mul.wide` of the 32 bits. LLVM selects instructions block by block:
// of an index that two blocks use the second one finds only the wide form. That keeps two registers of each
// thread's element until then, and takes three instructions for an address in place of one: rows whose
// threads hold 64 elements spilled 472 bytes, and take 0.81 of the instructions without them.
std::string joinOffsetProducts(std::string_view ptx);

// In and out as before; behind those loops, or everywhere, a `mul.wide` of a number that is the same in all
// threads, whose result only an addition of its block reads, is one instruction with it, `mad.wide`, which
// LLVM 22 does not select. The assembler computes addresses of the two by `IMAD.WIDE`, of the one by `LEA`,
// also in registers of the warp, and decides about loops by that. Ahead of a short loop that it unrolls it
// put one more trip under a predicate, which every thread issued and none needed (FlashInfer's merge of
// states), or held the addresses of all trips (Transformer Engine's unpermutation: 38 registers in place of
// 32, so 12 programs on a multiprocessor in place of 16). Offsets of a thread's elements stay products: `LEA`
// takes two instructions for each (8 % more in some loops).
std::string addOffsetProducts(std::string_view ptx);

} // namespace tegula::nvidia
