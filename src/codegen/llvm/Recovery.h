// LLVM's errors as statuses. LLVM prints what it refuses and ends the process: an error diagnostic without a
// handler calls exit(1), report_fatal_error does so always. Within `recoverably` the one is collected and the
// other leaves the passes, by longjmp, for it must not return. Nothing is left in the host: no handler of a
// signal, no output. The passes run on a thread with a deep stack: they recurse over chains of operations.
#pragma once
#include "base/Status.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/LLVMContext.h"

#include <memory>

namespace tegula::codegen {

// Runs `body`, passes of LLVM over what belongs to `context`. Not ok: LLVM refused. After that nothing of the
// context may be destroyed, nor what `body` used: the passes that were left may still be registered with it.
// Give it to `abandon`. The destructors of frames below this one do not run, and their memory is lost.
Status recoverably(llvm::LLVMContext &context, llvm::function_ref<void()> body);

// Keeps `state` until the process ends.
void abandon(std::shared_ptr<void> state);

} // namespace tegula::codegen
