// The places where assemblers are looked for: by the worker, which runs them, and by the library, which must
// say which one that will be before it has one assemble.
#pragma once
#include "base/Environment.h"

#include <string>
#include <vector>

namespace tegula::nvidia {

// Folders that hold tools: those of TEGULA_TOOLS, then the worker's own, then the usual places.
std::vector<std::string> toolFolders(const std::string &workerProgram);
// The program that the variable names, or the first of this name in the folders; "" where there is none.
std::string findProgram(Variable variable, const char *name, const std::vector<std::string> &folders);
// Tells the file of one tool from other versions of it: path, size, time of its last change.
std::string identityOfTool(const std::string &path);
// Paths of the linker's library, in the order in which they are tried; the last of each of its versions is a
// bare name, for the system's loader.
std::vector<std::string> libraryPaths(const std::vector<std::string> &folders);

} // namespace tegula::nvidia
