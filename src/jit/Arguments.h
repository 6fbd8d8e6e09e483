// The arguments of a call as leaves: a number, a pointer with its element type, a constant.
#pragma once
#include "base/DType.h"
#include "sema/HostEnv.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tegula::jit {

enum class LeafKind : uint8_t { Absent, None, Bool, Int, UInt, Float, Pointer, Constant, Tuple };
struct LeafTuple;

struct Leaf {
  LeafKind kind = LeafKind::Absent;
  DType dtype = DType::I32; // of a pointer's elements; of a typed number
  bool typed = false;       // the caller says which type the number has
  bool readOnly = false;    // the memory must not be written
  bool isConstant = false;  // the caller says that it is known when compiling, whatever the parameter says
  // Bool, Int, UInt: the value, extended; Float: the bits of a double; Pointer: the address.
  uint64_t bits = 0;
  // Constant: a string, a type, a function, a tuple, an integer wider than 64 bits.
  std::shared_ptr<const sema::Const> constant;
  std::shared_ptr<const LeafTuple> tuple; // Tuple
};

struct LeafTuple {
  std::vector<Leaf> elements;
  sema::TupleClassPtr type; // null: a plain tuple
};

struct Argument {
  Leaf leaf;
  std::string_view name; // "": by position
};

// An argument that needs no memory of its own. Of Constant only strings are, in `text`.
struct PlainArgument {
  LeafKind kind = LeafKind::Absent;
  DType dtype = DType::I32;
  bool typed = false, readOnly = false, isConstant = false; // as of Leaf
  uint64_t bits = 0;
  std::string_view text, name;
};

// Returns what the compiler is told to divide a number: 16, 8 or 1. Upstream asks for 16 alone. 8 elements of
// f16 are what one access reads; smaller numbers are counts more often than lengths of rows, and scripts
// count kernels by upstream's rule with 2, 4 and 8.
inline unsigned knownDivisor(uint64_t bits) {
  constexpr int64_t leastDividedBy8 = 24;
  auto number = int64_t(bits);
  bool isLong = number >= leastDividedBy8 || number <= -leastDividedBy8;
  return bits % 16 == 0 ? 16 : bits % 8 == 0 && isLong ? 8 : 1;
}

// 16 bytes a parameter; the options follow.
struct KeyLeaf {
  uint8_t kind = 0, dtype = 0, flags = 0, reserved[5] = {};
  uint64_t payload = 0;
};
static_assert(sizeof(KeyLeaf) == 16);

} // namespace tegula::jit
