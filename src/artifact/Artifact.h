// A compiled kernel in one piece: code, all that a launch needs besides arguments, and what the compiler had
// to say. A container is the same as bytes: self-describing, with a digest over everything, so that it can be
// kept in a file, sent, and built in ahead of time. Knows no compiler; what a target calls its code is that
// target's business.
//
//   magic, version, number of sections, length of the whole
//   a table: id, place and length of each section
//   the sections
//   SHA-256 of all in front of it
//
// A reader takes bytes from anywhere: whatever is not exactly what a writer made is refused.
#pragma once
#include "base/CopyMap.h"
#include "base/DType.h"
#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::artifact {

// Changes with the meaning of the bytes; another version is refused.
constexpr uint32_t formatVersion = 4;

// A run-time argument: one 8-byte slot of a launch, in this order.
struct Parameter {
  std::string name;
  DType dtype = DType::I32; // of a pointer what it points to
  bool isPointer = false, isConst = false;
  bool isWritten = false;    // the kernel may store through it
  uint32_t divisibility = 1; // of the address or number: the code is wrong for others
  bool operator==(const Parameter &) const = default;
};

// The launches that code is made for.
enum class Programs : uint8_t {
  Any,    // the same code for all of them
  Beside, // several programs run on a multiprocessor
  Alone,  // each has a multiprocessor for itself
};

// Of one block of a device, or of one thread of the cores. -1: not known.
struct LaunchData {
  std::string entry;          // its name in the code
  uint32_t warps = 0;         // 0: the target has none
  uint64_t sharedBytes = 0;   // that the launch asks for
  uint64_t scratchBytes = 0;  // of a thread on cores
  bool isCooperative = false; // all programs run at the same time
  bool launchesEarly = false; // before the launch ahead of it has ended
  Programs programs = Programs::Any;
  int64_t registers = -1, spillBytes = -1;
  int64_t ownSharedBytes = 0; // that the code has besides
  // The first pointer to scratch memory points to these, one behind the other; or is null.
  std::vector<CopyMap> copyMaps;
  bool operator==(const LaunchData &) const = default;
};

// A form of the kernel by the name of its stage: "obj", "ttir".
struct Part {
  std::string name, bytes;
  bool operator==(const Part &) const = default;
};

struct Remark {
  std::string location, kind, text;
  bool operator==(const Remark &) const = default;
};

// A place in one of the sources that the kernel was made from; -1: no place.
struct Place {
  int32_t source = -1;
  uint32_t begin = 0, end = 0;
  bool operator==(const Place &) const = default;
};

// A warning, or a line of tl.static_print, of the compile.
struct Warning {
  struct Note {
    Place place;
    std::string message;
    bool operator==(const Note &) const = default;
  };
  std::string kind, message, hint;
  Place place;
  std::vector<Note> notes;
  bool operator==(const Warning &) const = default;
};

// Why there is no code, and would be none the next time.
struct Failure {
  StatusCode code = StatusCode::Resource;
  std::string message;
  bool operator==(const Failure &) const = default;
};

struct Artifact {
  std::string key;     // what it was made from: equal keys and answers, equal artifacts
  std::string answers; // of the host, which the compile came to ask

  std::string kernel, target, arch;
  std::vector<std::string> features; // that the processor must have (runtime/CpuFeatures.h)
  std::vector<Parameter> parameters;
  LaunchData launch;
  std::vector<Part> parts; // code, and stages that are kept
  std::vector<Remark> remarks;
  std::vector<Warning> warnings;
  std::optional<Failure> failure; // then there are no parts

  const std::string *part(std::string_view name) const; // null: there is none
  bool operator==(const Artifact &) const = default;
};

std::string write(const Artifact &artifact);
// Data: the bytes are not what `write` made; why.
Result<Artifact> read(std::string_view bytes);

} // namespace tegula::artifact
