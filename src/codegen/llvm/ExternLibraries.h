// Device libraries that a user brings: LLVM bitcode, or LLVM IR as text, whose functions a kernel calls by
// their symbols. The emitters declare a function and say which library has it; linking brings its body in. A
// library has no target of its own: it gets the kernel's, and loses what it says of a processor.
#pragma once
#include "base/Status.h"
#include "codegen/llvm/GivenFile.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <memory>
#include <string>
#include <vector>

namespace tegula::codegen {

using ExternLibrary = GivenFile; // bitcode or text
using ExternLibraries = std::vector<std::shared_ptr<const ExternLibrary>>;

// A call of `symbol` of the library on scalars. Of vectors: one call a lane, all of one length.
llvm::Value *callExtern(llvm::IRBuilderBase &builder, llvm::Module &module, llvm::StringRef library,
                        llvm::StringRef symbol, bool isPure, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> operands);

// Links what callExtern declared, and makes it a part of the kernel. Unsupported: a library is not given, is
// no LLVM module, is for another machine, lacks the symbol, has it with another type, or calls what nobody
// has.
Status linkExternLibraries(llvm::Module &module, const ExternLibraries &libraries);

} // namespace tegula::codegen
