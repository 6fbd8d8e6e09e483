// Names that functions and parameters in a header of C and C++ cannot have.
#pragma once
#include <string_view>

namespace tegula::artifact {

// True: a keyword of C or of C++.
bool isKeyword(std::string_view name);
// True: a name of tegula/runtime.h, of the headers that it includes, or one that most programs have from
// elsewhere. Functions of <math.h> are not among them: a kernel may be called `exp`.
bool isOfLibraries(std::string_view name);

// True: a macro of the C headers that the header includes, or of a library that programs have ahead of it
// (Qt, the macros of systems): not even a parameter can have the name.
bool isMacro(std::string_view name);

} // namespace tegula::artifact
