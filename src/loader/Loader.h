// An archive and a target -> kernels that can be launched, without a compiler. Of the artifacts of a kernel
// the one that fits the processor or device best is taken; it is loaded at the first launch there.
#pragma once
#include "artifact/Archive.h"
#include "base/RobustLock.h"
#include "runtime/Launch.h"
#include "runtime/Place.h"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tegula::loader {

// One artifact, loaded. Safe from several threads.
class Code {
public:
  virtual ~Code() = default;
  virtual Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                        const runtime::Place &place) = 0;
};

// A row of Loaders.def: how code of one target is chosen and loaded, and the memory that it reaches.
struct Loader {
  std::string_view target;
  // The number of the device that a place means; 0 for targets without devices.
  Result<int> (*device)(const runtime::Place &place);
  // The fitness of the code for the device: 0 is none, more is better.
  Result<int> (*fitness)(const artifact::Artifact &artifact, int device);
  // The device or processor in words, for a refusal.
  std::string (*describe)(int device);
  Result<std::unique_ptr<Code>> (*load)(const artifact::Artifact &artifact, int device);

  Result<void *> (*allocate)(int device, size_t bytes);
  Status (*release)(int device, void *memory);
  Status (*copy)(int device, void *to, const void *from, size_t bytes);
  Status (*synchronize)(const runtime::Place &place);
};
#define LOADER(Name, target) extern const Loader loaderOf##Name;
#include "loader/Loaders.def"

// Null: there is none for this target.
const Loader *findLoader(std::string_view target);
std::string loaderNames(); // "cpu, ..."

class Kernel {
public:
  // Those of the entry's artifacts that are for the loader's target; at least one.
  Kernel(const Loader &loader, artifact::Archive::Entry entry);

  const std::string &name() const { return entry_.name; }
  const std::vector<artifact::Parameter> &parameters() const { return entry_.code.front().parameters; }

  // Launch: the number of slots is wrong, a value is not divisible as the code needs it, or the grid is none.
  // Unsupported: none of the artifacts runs there. A grid with a 0 runs nothing.
  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &place);

private:
  static constexpr size_t mostDevices = 128;
  Status check(std::span<const uint64_t> slots) const;
  Result<Code *> codeAt(const runtime::Place &place);
  Result<Code *> choose(int device);

  const Loader &loader_;
  const artifact::Archive::Entry entry_;
  std::vector<std::pair<uint32_t, uint64_t>> masks_; // of slots whose low bits must be 0
  RobustLock lock_;
  std::vector<std::unique_ptr<Code>> loaded_; // one a device that it was launched on
  std::array<std::atomic<Code *>, mostDevices> ofDevice_{};
};

// The kernels of an archive that have code for the target, under their numbers in the archive; null where
// there is none. Data: the bytes are no archive, or its interface is another than `interface` ("": any).
// Unsupported: the target has no loader, or no kernel has code for it.
Result<std::vector<std::unique_ptr<Kernel>>> open(std::string_view bytes, const Loader &loader,
                                                  std::string_view interface);

} // namespace tegula::loader
