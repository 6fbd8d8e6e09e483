// Cubins, or PTX for the driver's own assembler, on the GPUs at hand.
#include "drivers/cuda/LoadedKernel.h"
#include "drivers/cuda/Memory.h"
#include "loader/Loader.h"

#include <charconv>

namespace tegula::loader {
namespace {

class NvidiaCode : public Code {
public:
  explicit NvidiaCode(cuda::Image image) : kernel_(std::move(image)) {}
  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                const runtime::Place &place) override {
    return kernel_.launch(slots, grid, place);
  }

private:
  cuda::LoadedKernel kernel_;
};

// "sm_90a" -> 90, and does it name features of this architecture only?
struct Arch {
  int number = 0;
  bool isExact = false;
};
Arch parse(std::string_view name) {
  Arch arch;
  name.remove_prefix(std::min<size_t>(3, name.size()));
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), arch.number);
  arch.isExact = error != std::errc() || end != name.data() + name.size();
  return arch;
}

Result<int> device(const runtime::Place &place) {
  return place.device >= 0 ? Result<int>(place.device) : cuda::currentDevice();
}

// From here up binary code runs.
constexpr int own = 3000, sameMajor = 2000, later = 1000;

// CUDA programming guide, "Compute capabilities" and "Application compatibility": code of X.y runs on X.z
// with z >= y, PTX on every later architecture; with a suffix both run on their own only.
Result<int> fitness(const artifact::Artifact &artifact, int device) {
  Result<const runtime::DeviceInfo *> info = cuda::deviceInfo(device);
  if (!info)
    return info.status();
  Arch code = parse(artifact.arch);
  int here = (*info)->major * 10 + (*info)->minor;
  bool hasBinary = artifact.part("cubin"), hasText = artifact.part("ptx");
  if (code.number == here)
    return own + 2 * code.isExact + hasBinary;
  if (code.isExact || code.number > here)
    return 0;
  if (hasBinary && code.number / 10 == here / 10)
    return sameMajor + code.number;
  return hasText ? later + code.number : 0;
}

std::string describe(int device) {
  Result<const runtime::DeviceInfo *> info = cuda::deviceInfo(device);
  return info ? (*info)->name + " (" + (*info)->arch + ")" : info.status().message;
}

Result<std::unique_ptr<Code>> load(const artifact::Artifact &artifact, int device) {
  Result<int> fits = fitness(artifact, device);
  if (!fits)
    return fits.status();
  const std::string *cubin = artifact.part("cubin"), *ptx = artifact.part("ptx");
  const std::string *image = cubin && *fits >= sameMajor ? cubin : ptx;
  if (!image)
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  const artifact::LaunchData &launch = artifact.launch;
  return std::unique_ptr<Code>(std::make_unique<NvidiaCode>(cuda::Image{
      *image, launch.entry, artifact.arch, launch.warps * 32, launch.sharedBytes,
      launch.programs == artifact::Programs::Alone, launch.isCooperative, false, 2, launch.copyMaps}));
}

} // namespace

const Loader loaderOfNvidia{"cuda",         device,        fitness,    describe,         load,
                            cuda::allocate, cuda::release, cuda::copy, cuda::synchronize};

} // namespace tegula::loader
