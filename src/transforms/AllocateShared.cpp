#include "ir/simt/Scratch.h"
#include "ir/tile/Places.h"
#include "transforms/SharedMemory.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tegula::transforms {

namespace {

constexpr uint64_t alignment = 128;
// Up to here a second place costs no occupancy worth a barrier.
constexpr uint64_t cheapBytes = 16 * 1024;

struct User {
  Operation *op;
  uint64_t bytes, offset;
};

Status tooLarge(ArrayRef<User> users, uint64_t limit) {
  std::string text = "the kernel needs more shared memory than the " + std::to_string(limit) + " bytes of a program:";
  for (const User &user : users) {
    text += "\n  " + std::to_string(user.bytes) + " bytes at " + std::to_string(user.offset) + ", " +
            user.op->getName().getStringRef().str() + " of " + tile::placeOf(user.op->getLoc());
  }
  return Status::error(StatusCode::Resource, text + "; hint: use smaller tiles, fewer of them at a time, or more programs");
}

} // namespace

Status allocateShared(ModuleOp module, uint64_t limit) {
  std::vector<User> users;
  uint64_t largest[2] = {0, 0};
  module.walk([&](Operation *op) {
    uint64_t bytes = llvm::alignTo(simt::scratchBytes(op), alignment);
    if (bytes == 0)
      return;
    uint64_t &size = largest[users.size() % 2];
    size = std::max(size, bytes);
    users.push_back({op, bytes, users.size() % 2});
  });
  bool apart = largest[0] + largest[1] <= cheapBytes;
  uint64_t total = apart ? largest[0] + largest[1] : std::max(largest[0], largest[1]);
  OpBuilder builder(module.getContext());
  for (User &user : users) {
    user.offset = apart && user.offset ? largest[0] : 0;
    user.op->setAttr(simt::scratchName, builder.getI64IntegerAttr(int64_t(user.offset)));
  }
  module->setAttr(simt::sharedBytesName, builder.getI64IntegerAttr(int64_t(total)));
  return total <= limit ? Status::success() : tooLarge(users, limit);
}

} // namespace tegula::transforms
