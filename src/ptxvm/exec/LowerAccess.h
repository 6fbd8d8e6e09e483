// What lowering loads, stores and atomics have in common.
#pragma once
#include "ptxvm/exec/Lower.h"

namespace tegula::ptxvm {

Scope scopeOf(const Lowering &l);
Semantics semanticsOf(const Lowering &l, Semantics otherwise);
// Space, size, order and address as written; results and sources are not filled.
Access makeAccess(Lowering &l, AccessKind kind, const Operand &address);
void fillParts(Lowering &l, std::array<Access::Part, 8> &parts, const Operand &operand, unsigned count);
void useAccess(Lowering &l, Access access, Handler run);

} // namespace tegula::ptxvm
