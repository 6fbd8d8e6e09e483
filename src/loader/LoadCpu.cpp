// Machine code for the cores at hand.
#include "loader/Loader.h"
#include "runtime/CpuFeatures.h"
#include "runtime/LoadedCode.h"

#include <cstdlib>
#include <cstring>

namespace tegula::loader {
namespace {

class CpuCode : public Code {
public:
  explicit CpuCode(runtime::LoadedKernel kernel) : kernel_(std::move(kernel)) {}
  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    return runtime::launch(kernel_.kernel, slots, grid);
  }

private:
  runtime::LoadedKernel kernel_;
};

Result<int> device(const runtime::Place &) { return 0; }

// The code that uses most of what the processor has.
Result<int> fitness(const artifact::Artifact &artifact, int) {
  return runtime::lackingFeatures(artifact.features).empty() ? int(artifact.features.size()) + 1 : 0;
}

std::string describe(int) {
  std::string text;
  for (std::string_view feature : runtime::cpuFeatures())
    if (runtime::cpuHas(feature))
      text += (text.empty() ? "" : ", ") + std::string(feature);
  return "a processor with " + (text.empty() ? "none of the extensions" : text);
}

Result<std::unique_ptr<Code>> load(const artifact::Artifact &artifact, int) {
  const std::string *object = artifact.part("obj");
  if (!object)
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  Result<runtime::LoadedKernel> loaded = runtime::loadKernel(
      *object, artifact.launch.entry, artifact.launch.scratchBytes, artifact.launch.isCooperative);
  if (!loaded)
    return loaded.status();
  return std::unique_ptr<Code>(std::make_unique<CpuCode>(std::move(*loaded)));
}

// Wider than any vector, so that rows that begin here are whole cache lines.
constexpr size_t alignment = 64;

Result<void *> allocate(int, size_t bytes) {
  void *memory = nullptr;
  if (::posix_memalign(&memory, alignment, bytes ? bytes : 1) != 0)
    return Status::error(StatusCode::Resource, "there are no " + std::to_string(bytes) + " bytes of memory");
  return memory;
}
Status release(int, void *memory) {
  std::free(memory);
  return Status::success();
}
Status copy(int, void *to, const void *from, size_t bytes) {
  if (bytes)
    std::memmove(to, from, bytes);
  return Status::success();
}
Status synchronize(const runtime::Place &) { return Status::success(); } // a launch ends before it returns

} // namespace

const Loader loaderOfCpu{"cpu", device, fitness, describe, load, allocate, release, copy, synchronize};

} // namespace tegula::loader
