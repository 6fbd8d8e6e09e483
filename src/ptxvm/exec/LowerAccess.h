// What lowering loads, stores and atomics have in common.
#pragma once
#include "ptxvm/exec/Lower.h"

namespace tegula::ptxvm {

Scope scopeOf(const Lowering &l);
Semantics semanticsOf(const Lowering &l, Semantics otherwise);
// Space, size, order and address as written; results and sources are not filled.
// `space`: where a mnemonic names two.
AccessForm makeAccess(Lowering &l, AccessKind kind, const Operand &address, std::optional<Space> space = {});
void fillParts(Lowering &l, std::array<AccessForm::Part, 8> &parts, const Operand &operand, unsigned count);
// Updates an element in global memory in one atomic step, as red does.
void reduceInto(std::byte *element, Type type, Modifier operation, const std::byte *operand);
void useAccess(Lowering &l, AccessForm access, Handler run);

} // namespace tegula::ptxvm
