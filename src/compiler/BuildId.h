// Names this build of the compiler: by a text that no other build of it, or of the LLVM under it, has.
#pragma once
#include <string>

namespace tegula::compiler {

// Made once a process, from what the linker wrote into the libraries ("build id"): no file is read. Where a
// library has none, the size and the time of its file stand for it.
const std::string &buildId();

} // namespace tegula::compiler
