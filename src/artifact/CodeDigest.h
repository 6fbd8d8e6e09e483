// Names what a launch of an artifact runs: equal digests, equal code, and launches that do the same.
#pragma once
#include "artifact/Artifact.h"

namespace tegula::artifact {

// 64 digits, of code, arguments and launch data. What only describes them does not count: the key, remarks,
// warnings, and the part `description`, unless it is the only one.
std::string codeDigest(const Artifact &artifact, std::string_view description);

} // namespace tegula::artifact
