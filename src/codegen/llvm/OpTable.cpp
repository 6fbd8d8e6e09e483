#include "codegen/llvm/OpTable.h"

#include "ir/tile/Tile.h"

using namespace mlir;

namespace tegula::codegen {

namespace {

// "file.py:3:5", of the innermost function where the op was inlined.
std::string placeOf(Location location) {
  if (auto call = dyn_cast<CallSiteLoc>(LocationAttr(location)))
    return placeOf(call.getCallee());
  auto at = location->findInstanceOf<FileLineColLoc>();
  if (!at)
    return "";
  return at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" + std::to_string(at.getColumn());
}

} // namespace

Status checkLegal(Operation *root, llvm::StringRef target,
                  llvm::function_ref<std::string(Operation *)> reasonAgainst) {
  Status status;
  root->walk([&](Operation *op) {
    std::string reason = op == root ? "" : reasonAgainst(op);
    if (reason.empty())
      return WalkResult::advance();
    std::string place = placeOf(op->getLoc());
    status = Status::error(StatusCode::Unsupported, target.str() + " has no " + reason + " yet" +
                                                        (place.empty() ? "" : ", needed at " + place));
    return WalkResult::interrupt();
  });
  return status;
}

} // namespace tegula::codegen
