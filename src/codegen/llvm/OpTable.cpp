#include "codegen/llvm/OpTable.h"

#include "ir/tile/Tile.h"

using namespace mlir;

namespace tegula::codegen {

Status checkLegal(Operation *root, llvm::StringRef target,
                  llvm::function_ref<std::string(Operation *)> reasonAgainst) {
  Status status;
  root->walk([&](Operation *op) {
    std::string reason = op == root ? "" : reasonAgainst(op);
    if (reason.empty())
      return WalkResult::advance();
    std::string place = tile::locationText(op->getLoc());
    status = Status::error(StatusCode::Unsupported,
                           (place.empty() ? "" : place + ": ") + target.str() + " has no " + reason);
    return WalkResult::interrupt();
  });
  return status;
}

} // namespace tegula::codegen
