// Names this build of the compiler: by a text that no other build of it, or of the LLVM under it, has.
#pragma once
#include <string>

namespace tegula::compiler {

// Differs between builds of this library, of the core and of the LLVM and MLIR under it. Opens none of them:
// their files say it.
const std::string &buildId();

// The part of the build id that is the core's, in libtegula (CoreOpened.cpp) and where it is linked
// (CoreInPlace.cpp).
std::string identityOfCore();
// The linker's build ids of the libraries that LLVM and MLIR are in, in the core's own process; "" where they
// are in the core itself.
std::string identityOfLlvm();

// The library that holds an address: its build id, else path, size and time of its file.
std::string identityOfLibraryWith(const void *address);

// A library as a file: its identity as above, and those of MLIR's and LLVM's libraries that it needs, where
// they lie in folders that it names itself. Both are "" of a file that is none.
struct LibraryFile {
  std::string identity, identityOfLlvm;
};
LibraryFile readLibrary(const std::string &path);

} // namespace tegula::compiler
