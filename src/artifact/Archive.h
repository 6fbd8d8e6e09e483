// Kernels that are compiled ahead of time, in one file: under each name the artifacts of one specialization,
// one for each architecture or processor. The bytes carry a digest over everything, as those of an artifact
// do.
#pragma once
#include "artifact/Artifact.h"

#include <string>
#include <string_view>
#include <vector>

namespace tegula::artifact {

struct Archive {
  struct Entry {
    std::string name; // an identifier of C; no two are the same
    std::vector<Artifact> code;
    bool operator==(const Entry &) const = default;
  };
  std::vector<Entry> entries;
  bool operator==(const Archive &) const = default;
};

// Data: a name is none of C or is there twice; an entry has no code, or artifacts whose parameters differ.
Status check(const Archive &archive);

std::string write(const Archive &archive);
// Data: the bytes are not what `write` made of an archive that `check` accepts; why.
Result<Archive> readArchive(std::string_view bytes);

// 16 hexadecimal digits over names and parameters, in order: equal where callers of one archive can call the
// other one.
std::string interfaceDigest(const Archive &archive);

// Launch: the header would not compile: the prefix or the name of a kernel is none of C, or one that C, C++,
// their libraries, tegula/runtime.h or the header itself has. May end with "; hint: ".
Status checkHeader(const Archive &archive, const std::string &prefix);
// True: letters, digits and `_`, and no digit at the front.
bool isIdentifier(std::string_view name);

// A header of C and C++ with one function a kernel, over tegula/runtime.h. `prefix` begins the names of what
// opens the archive.
std::string headerOf(const Archive &archive, const std::string &prefix);

} // namespace tegula::artifact
