// A file that an option of a launch names, read once: a device library, or a stage of a compile.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tegula::codegen {

struct GivenFile {
  std::string name, path; // of a library the name that kernels call it by, of a stage the stage's; the file
  std::string bytes;
  std::string digest; // of the bytes
};

using GivenStage = std::shared_ptr<const GivenFile>; // null: there is none
inline bool gives(const GivenStage &given, std::string_view stage) { return given && given->name == stage; }

} // namespace tegula::codegen
