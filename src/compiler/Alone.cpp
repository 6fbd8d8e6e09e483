#include "compiler/Alone.h"
#include "base/Environment.h"

namespace tegula::compiler {
namespace {

int64_t multiprocessorsOf(const Target &target, const runtime::Place &place) {
  if (!target.devices)
    return 0;
  Result<int> device = place.device >= 0 ? Result<int>(place.device) : target.devices->current();
  Result<const runtime::DeviceInfo *> info = device ? target.devices->info(*device) : device.status();
  return info ? (*info)->multiprocessors : 0;
}

} // namespace

std::optional<int64_t> mostAlone() {
  std::optional<uint64_t> number = numberOf(Variable::ProgramsAlone);
  return number ? std::optional(int64_t(*number)) : std::nullopt;
}

bool runsAlone(const Target &target, const runtime::Grid &grid, const runtime::Place &place,
               std::optional<int64_t> most) {
  if (!target.hasBlocks())
    return false;
  if (!most)
    most = multiprocessorsOf(target, place);
  int64_t programs = 1;
  for (int64_t extent : grid.extent)
    if (extent > *most || (programs *= extent) > *most)
      return false;
  return programs != 0;
}

} // namespace tegula::compiler
