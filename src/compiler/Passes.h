// The passes of a compile, in order: those of every target, then the target's own.
#pragma once
#include "compiler/Targets.h"
#include "pipeline/Pipeline.h"

namespace tegula::compiler {

// Ahead of every target: the kernel as a reader of IR wants it. Stage "simplify".
std::span<const pipeline::Row> simplification();

// Those and the target's for these options. Unsupported: there is no such architecture.
Result<PassList> passesOf(const Target &target, const TargetOptions &options);

// False after a diagnostic with the list: `looks` names a pass that is none of the target's.
bool checkLooks(const pipeline::Looks &looks, const Target &target, const TargetOptions &options,
                diag::Sink &sink);

} // namespace tegula::compiler
