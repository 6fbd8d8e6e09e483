#include "targets/nvidia/Architecture.h"
#include "codegen/simt/Elementwise.h"
#include "ir/tile/Places.h"
#include "ir/tile/Tile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::nvidia {

namespace {

struct Row {
  unsigned capability;
  const char *suffix;
  unsigned ptxVersion;
  uint64_t sharedBytes;
};

constexpr Row rows[] = {
#define ARCHITECTURE(capability, suffix, ptx, shared) {capability, suffix, ptx, shared},
#include "targets/nvidia/Architecture.def"
#undef ARCHITECTURE
};

// Is `op` in a combine function that threads also call with elements outside of the extents? There a
// loop need not end.
bool combinesPadding(Operation *op) {
  Operation *parent = op->getParentOp();
  while (parent && !isa<ReduceOp, ScanOp>(parent))
    parent = parent->getParentOp();
  return parent && llvm::any_of(shapeOf(parent->getOperand(0).getType()), [](int64_t e) { return !llvm::isPowerOf2_64(e); });
}

// What follows "the NVIDIA target has no"; "": nothing is missing.
std::string reasonAgainst(Operation *op) {
  if (auto dot = dyn_cast<DotOp>(op)) {
    Type acc = elementType(dot.getAcc().getType()), a = elementType(dot.getA().getType());
    bool eightBits = isa<FloatType>(a) && a.getIntOrFloatBitWidth() == 8;
    if (eightBits || isa<FloatType>(acc) != isa<FloatType>(a) || (a.isF64() != acc.isF64()) ||
        (isa<IntegerType>(a) && a.getIntOrFloatBitWidth() > 32))
      return "dot of these element types yet; hint: convert both operands with `.to(...)`, 8-bit floats to tl.float16";
  }
  if (isa<scf::WhileOp>(op) && combinesPadding(op))
    return "`while` in a combine function where an extent is no power of two; hint: take an extent that is one, with "
           "the function's neutral element behind the data";
  if (isa<math::MathDialect>(op->getDialect()) && !simt::hasFunction(op))
    return "function `" + op->getName().stripDialect().str() + "` yet; hint: compute it from functions that there are";
  bool known = isa<TileDialect, arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
               isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op);
  return known ? "" : "op `" + op->getName().getStringRef().str() + "`";
}

} // namespace

Result<Architecture> findArchitecture(const std::string &name) {
  std::string all;
  for (const Row &row : rows) {
    std::string plain = "sm_" + std::to_string(row.capability);
    // Code of an architecture with instructions of its own is made for exactly that one.
    if (name == plain || name == plain + row.suffix)
      return Architecture{name, row.capability, row.ptxVersion, row.sharedBytes};
    all += (all.empty() ? "" : ", ") + plain + row.suffix;
  }
  return Status::error(StatusCode::Unsupported, "there is no architecture `" + name + "`: there are " + all);
}

Status checkLegal(ModuleOp module, const Architecture &architecture) {
  Status status;
  module.walk([&](Operation *op) {
    if (isa<ModuleOp, FuncOp>(op))
      return WalkResult::advance();
    std::string reason = reasonAgainst(op);
    if (reason.empty())
      return WalkResult::advance();
    status = Status::error(StatusCode::Unsupported, placeOf(op->getLoc()) + ": the NVIDIA target has no " + reason);
    return WalkResult::interrupt();
  });
  return status;
}

} // namespace tegula::nvidia
