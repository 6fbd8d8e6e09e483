#include "ir/tile/Places.h"

using namespace mlir;

namespace tegula::tile {

std::string placeOf(Location location) {
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    std::string callee = placeOf(call.getCallee());
    return callee.empty() || callee.starts_with("<tegula>/") ? placeOf(call.getCaller()) : callee;
  }
  if (auto named = dyn_cast<NameLoc>(location))
    return placeOf(named.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty())
    return placeOf(fused.getLocations().front());
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
  return {};
}

} // namespace tegula::tile
