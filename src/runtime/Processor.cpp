#include "runtime/Processor.h"

#include <cpuid.h>
#include <cstdint>
#include <cstdio>

namespace tegula::runtime {
namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

void append(std::string &text, unsigned leaf, unsigned index, const Leaf &words) {
  char line[64];
  std::snprintf(line, sizeof line, "%x.%x:%x,%x,%x,%x;", leaf, index, words.a, words.b, words.c, words.d);
  text += line;
}

// Of a leaf that the processor has; else zeros.
Leaf ask(unsigned leaf, unsigned index = 0) {
  Leaf words;
  if (__get_cpuid_count(leaf, index, &words.a, &words.b, &words.c, &words.d))
    return words;
  return {};
}

// The registers whose state the system saves: instructions on others cannot be used.
uint64_t savedState() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

std::string describe() {
  std::string text;
  append(text, 0, 0, ask(0)); // vendor
  // Family, model and instructions; not the number of the core that answers.
  Leaf first = ask(1);
  first.b = 0;
  append(text, 1, 0, first);
  // Instructions, the sizes of their registers, and what of them is stated elsewhere.
  constexpr unsigned leaves[][2] = {{7, 0},          {7, 1},          {7, 2},         {0xd, 1},  {0x14, 0},
                                    {0x19, 0},       {0x1d, 1},       {0x1e, 0},      {0x1e, 1}, {0x24, 0},
                                    {0x80000001, 0}, {0x80000008, 0}, {0x80000021, 0}};
  for (auto [leaf, index] : leaves) {
    Leaf words = ask(leaf, index);
    if (leaf == 0xd)
      words.b = 0; // the size of what is saved just now
    append(text, leaf, index, words);
  }
  if (first.c & bit_OSXSAVE) {
    Leaf saved;
    saved.a = unsigned(savedState());
    append(text, 0xd, 0, saved);
  }
  // Caches: Intel's leaf, and AMD's.
  for (unsigned leaf : {4u, 0x8000001du})
    for (unsigned index = 0; index != 8; ++index) {
      Leaf words = ask(leaf, index);
      if ((words.a & 0x1f) == 0)
        break;
      append(text, leaf, index, words);
    }
  return text;
}

} // namespace

const std::string &processorIdentity() {
  static const std::string identity = describe();
  return identity;
}

} // namespace tegula::runtime
