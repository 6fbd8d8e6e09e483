#include "transforms/MarkVolatileStores.h"
#include "analysis/PointerOrigins.h"
#include "ir/tile/Volatile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

void markVolatileStores(Operation *function) {
  analysis::PointerOrigins origins;
  analysis::OriginSet polled;
  function->walk([&](LoadOp load) {
    if (!isVolatile(load))
      return;
    const analysis::OriginSet &from = origins.of(load.getPtr());
    polled.arguments |= from.arguments;
    polled.isUnknown |= from.isUnknown;
  });
  if (polled.arguments.none() && !polled.isUnknown)
    return;
  function->walk([&](StoreOp store) {
    if (polled.mayShare(origins.of(store.getPtr())))
      store->setAttr(volatileName, UnitAttr::get(store.getContext()));
  });
}

} // namespace tegula::transforms
