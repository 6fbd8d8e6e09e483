// What one argument contributes to the specialization key, to the request of a compile and to
// the slots of a launch.
#pragma once
#include "jit/Dispatch.h"

namespace tegula::jit {

// How a parameter specializes an argument.
enum KeyKind : uint8_t { KeyAbsent, KeyConstant, KeyScalar, KeyPointer, KeyTuple };
enum KeyFlags : uint8_t { KeyDivisibleBy16 = 1, KeyDivisibleBy8 = 2 }; // 16: not 8 besides

// Does the argument of this parameter go into the key and to the compiler element by element?
bool isTakenApart(const Leaf &leaf, const compiler::Parameter &parameter);
// The parameter that an element of a tuple is for; its name is "pair.0".
compiler::Parameter elementOf(const compiler::Parameter &parameter, size_t index);
// The key of a tuple itself; those of its elements follow.
KeyLeaf tupleKey(const LeafTuple &tuple);
// The key of `leaf` as the argument of `parameter`; nullopt after a diagnostic.
std::optional<KeyLeaf> specializeLeaf(const Leaf &leaf, const compiler::Parameter &parameter,
                                      const sema::Function &function, diag::Sink &sink);
// What the compiler is told: of a leaf whose key is not KeyAbsent.
sema::ArgumentSpec specOf(const Leaf &leaf, const KeyLeaf &key, const compiler::Parameter &parameter);
sema::Const constantOf(const Leaf &leaf);
// The 8 bytes that the kernel gets, for a parameter of type `dtype`.
uint64_t slotOf(const Leaf &leaf, DType dtype, bool pointer);

} // namespace tegula::jit
