// Arithmetic of forms (Access.h): what sums, products and views of tiles are. nullopt: that has no form, or
// none that is small.
#pragma once
#include "analysis/Access.h"
#include "ir/tile/Tile.h"

namespace tegula::analysis {

// Forms stay small: a value whose form would not is left opaque.
struct Limits {
  size_t terms = 12, conditions = 16;
};
inline constexpr Limits limitsOfAddress{64, 64}; // pointers move step by step, and what is opaque is slow
bool isSmall(const Form &form, const Limits &limits = {});

Form constantForm(int64_t number, size_t rank);
// A form of the operand as a form of the result; `map` as coordinateMap gives it.
Form remap(const Form &form, llvm::ArrayRef<int8_t> map, size_t resultRank);
// a + scaleB·b.
std::optional<Form> combine(const Form &a, const Form &b, int64_t scaleB);
// a - b + slack; with a slack of -1, that is below zero where a <= b.
std::optional<Form> difference(const Form &a, const Form &b, int64_t slack);
// One of the two is the same in the whole tile.
std::optional<Form> multiply(const Form &a, const Form &b);

// The number that an integer is, or that all elements of a tile are.
std::optional<int64_t> constantOf(mlir::Value value);
// Of what a pointer points to.
int64_t bytesOf(tile::PointerType pointer);

// Is it the same in the whole tile?
bool isUniform(const Form &form);
// Is some element of a tile of such a shape known not to be below zero?
bool isSomewhereNotBelowZero(const Form &form, llvm::ArrayRef<int64_t> shape);

// An integer whose arithmetic may have wrapped becomes a condition of the form.
void addCondition(Form &form, mlir::Value integer);
void addConditions(Form &form, llvm::ArrayRef<mlir::Value> conditions);

} // namespace tegula::analysis
