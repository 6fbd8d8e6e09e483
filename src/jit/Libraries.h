// The option `extern_libs`: names and files of device libraries -> their contents, read once as long as a
// file stays the same. One library is one object for the life of the process, so that keys of specializations
// may hold its address.
#pragma once
#include "codegen/llvm/ExternLibraries.h"
#include "jit/Dispatch.h"

namespace tegula::jit {

// `leaf`: a tuple of pairs (name, path). Unsupported: it is none, or a file cannot be read.
Result<codegen::ExternLibraries> librariesOf(const Leaf &leaf);

} // namespace tegula::jit
