// The machine that runs a GPU's code on the cores of this one, with checks: the code is the very
// text that the assembler would get. A launch whose place has a stream runs in that
// ptxvm::Simulation, which knows extents and keeps what it finds; without, on the memory of the
// process. A finding is the launch's failure.
#include "base/Environment.h"
#include "compiler/Targets.h"
#include "ptxvm/exec/TensorMap.h"
#include "ptxvm/simulate/Simulation.h"

#include <cstdio>

namespace tegula::compiler {
namespace {

constexpr unsigned kWarpSize = 32;
constexpr size_t kScratchPointers = 2; // after the kernel's own parameters

void printAtOnce(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Status statusOf(const ptxvm::Simulation &simulation) {
  if (simulation.findings().empty())
    return Status::success();
  bool asserts = simulation.findings().front().kind == ptxvm::FindingKind::AssertFailed;
  return Status::error(asserts ? StatusCode::Assertion : StatusCode::Launch, simulation.findingsText());
}

// The kernel's copy maps for these arguments, as the machine reads them; none where one cannot be.
std::vector<ptxvm::TensorMap> mapsFor(std::span<const CopyMap> maps, std::span<const uint64_t> slots) {
  std::vector<ptxvm::TensorMap> made;
  for (const CopyMap &map : maps) {
    std::optional<uint64_t> stride = map.strideIn(slots);
    if (!stride)
      return {};
    ptxvm::TensorMap one;
    one.magic = ptxvm::TensorMap::mark;
    one.rank = 3;
    one.elementBytes = uint8_t(map.elementBytes);
    one.swizzle = uint8_t(map.swizzle());
    one.address = slots[map.pointer];
    one.strides = {*stride, CopyMap::unit};
    one.extents = {map.columns, map.rows, uint32_t(CopyMap::origins), 1, 1};
    one.box = {uint16_t(map.boxColumns), uint16_t(map.boxRows), 1, 1, 1};
    one.elementStrides = {1, 1, 1, 1, 1};
    made.push_back(one);
  }
  return made;
}

class PtxvmExecutable : public Executable {
public:
  PtxvmExecutable(const artifact::Artifact &artifact, std::shared_ptr<const ptxvm::Module> parsed)
      : artifact_(artifact), parsed_(std::move(parsed)) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                const runtime::Place &place) override {
    ptxvm::LaunchShape shape;
    for (size_t axis = 0; axis != 3; ++axis)
      shape.grid[axis] = uint32_t(grid.extent[axis]);
    shape.block = {artifact_.launch.warps * kWarpSize, 1, 1};
    shape.sharedBytes = artifact_.launch.sharedBytes;
    shape.parameters.assign(slots.begin(), slots.end());
    shape.parameters.resize(slots.size() + kScratchPointers);
    ptxvm::Simulation own({});
    bool isOwn = !place.stream;
    ptxvm::Simulation *given = isOwn ? &own : ptxvm::Simulation::at(place.stream);
    if (!given)
      return Status::error(
          StatusCode::Launch,
          "the stream is no simulation that lives: pass what tg_simulation_stream gives, or none");
    ptxvm::Simulation &simulation = *given;
    // A bundle holds buffers, and maps hold addresses of this process: a launch that is kept copies without.
    if (simulation.options().bundle.empty())
      if (std::vector<ptxvm::TensorMap> maps = mapsFor(artifact_.launch.copyMaps, slots); !maps.empty()) {
        auto bytes = std::as_bytes(std::span(maps));
        shape.parameters[slots.size()] = CopyMap::inConstants(0);
        shape.constants.push_back({CopyMap::constantsName, {bytes.begin(), bytes.end()}});
      }
    Status status = simulation.run(parsed_, artifact_.launch.entry, shape);
    if (isOwn)
      printAtOnce(own.printed());
    return status.ok() ? statusOf(simulation) : status;
  }

  Result<runtime::KernelAttributes> attributes() override {
    runtime::KernelAttributes known;
    known.warps = int(artifact_.launch.warps);
    known.sharedBytes = int64_t(artifact_.launch.sharedBytes);
    return known;
  }

  std::vector<std::string> stageNames() const override { return {"simt", "llvm", "ptx"}; }

  const std::string *stage(std::string_view name) const override {
    return name == "ptx" ? artifact_.part("ptx") : nullptr;
  }

private:
  const artifact::Artifact &artifact_;
  std::shared_ptr<const ptxvm::Module> parsed_;
};

} // namespace

const char *archOfPtxvm() {
  const char *wanted = valueOf(Variable::SimArch);
  return *wanted ? wanted : "sm_90a";
}

// It checks the compiler as much as the kernel: what it runs was compiled just now.
std::optional<std::string> identityOfPtxvm(const TargetOptions &) { return std::nullopt; }

Result<std::unique_ptr<Executable>> loadPtxvm(const artifact::Artifact &artifact) {
  const std::string *ptx = artifact.part("ptx");
  if (!ptx)
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  Result<std::shared_ptr<const ptxvm::Module>> parsed = ptxvm::parse(*ptx, artifact.launch.entry + ".ptx");
  if (!parsed)
    return Status::error(StatusCode::Toolchain,
                         "the machine does not understand the code: " + parsed.status().message +
                             "; hint: look into the kernel's inline assembly, if it has any; else this is a "
                             "bug of the compiler");
  return std::unique_ptr<Executable>(std::make_unique<PtxvmExecutable>(artifact, std::move(*parsed)));
}

} // namespace tegula::compiler
