// The options `extern_libs` and `ir_override`: files of device libraries, and of a stage of the compile ->
// their contents, read once as long as a file stays the same. One content is one object for the life of the
// process, so that keys of specializations may hold its address.
#pragma once
#include "codegen/llvm/ExternLibraries.h"
#include "jit/Dispatch.h"

namespace tegula::jit {

// `leaf`: a tuple of pairs (name, path). Unsupported: it is none, or a file cannot be read.
Result<codegen::ExternLibraries> librariesOf(const Leaf &leaf);
// The same of one; `path`: a text.
Result<std::shared_ptr<const codegen::ExternLibrary>> libraryOf(const std::string &name, const Leaf &path);
// `leaf`: a path, whose ending is a stage ("KERNEL.ptx"). Unsupported: it is none, or the file cannot be
// read.
Result<std::shared_ptr<const codegen::GivenFile>> givenStageOf(const Leaf &leaf);

} // namespace tegula::jit
