#include "targets/nvidia/Ops.h"

#include "codegen/simt/Emitter.h"

using namespace mlir;

namespace tegula::nvidia {

namespace {

[[maybe_unused]] constexpr codegen::Refusal none = nullptr;

simt::OpTable makeTable() {
  simt::OpTable table = simt::neutralOps();
#define OP(type, lowering, refusal)                                                                          \
  table.add<type>({[]([[maybe_unused]] simt::Emitter &e, Operation *any) {                                   \
                     [[maybe_unused]] auto op = cast<type>(any);                                             \
                     lowering;                                                                               \
                   },                                                                                        \
                   nullptr},                                                                                 \
                  refusal);
#include "targets/nvidia/Ops.def"
  return table;
}

} // namespace

const simt::OpTable &ops() {
  static const simt::OpTable table = makeTable();
  return table;
}

Status checkLegal(ModuleOp module) {
  for (tile::FuncOp function : module.getOps<tile::FuncOp>())
    if (Status status = codegen::checkLegal(function, "the NVIDIA target",
                                            [](Operation *op) { return ops().reasonAgainst(op); });
        !status.ok())
      return status;
  return {};
}

} // namespace tegula::nvidia
