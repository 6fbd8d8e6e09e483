#include "targets/cpu/Legality.h"

#include "codegen/llvm/Arithmetic.h"
#include "ir/tile/Places.h"
#include "ir/tile/Tile.h"
#include "mathlib/Mathlib.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::cpu {

namespace {

// Math ops that Math.cpp turns into intrinsics; the others are asked of the library.
bool isIntrinsic(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::RsqrtOp, math::FloorOp, math::CeilOp, math::TruncOp,
             math::RoundEvenOp, math::RoundOp, math::CopySignOp, math::FmaOp, math::CtPopOp,
             math::CountLeadingZerosOp>(op);
}

std::string reasonAgainst(Operation *op) {
  if (isa<ElementwiseInlineAsmOp>(op))
    return "inline assembly: there is no PTX on this target; hint: choose by a constexpr parameter, and compute it with tl.*";
  if (isa<math::MathDialect>(op->getDialect()) && !isIntrinsic(op)) {
    StringRef name = codegen::mathlibName(op);
    Type element = elementType(op->getResult(0).getType());
    unsigned bits = element.isF64() ? 64 : 32;
    if (!isa<FloatType>(element) || !mathlib::symbol(name, bits, 1))
      return "`" + name.str() + "` of " + std::to_string(element.getIntOrFloatBitWidth()) + " bits yet; hint: convert with `.to(...)` first";
  }
  if (auto dot = dyn_cast<DotOp>(op)) {
    Type acc = elementType(dot.getAcc().getType()), a = elementType(dot.getA().getType());
    bool ints = isa<IntegerType>(acc) && isa<IntegerType>(a) && acc.getIntOrFloatBitWidth() >= a.getIntOrFloatBitWidth();
    bool floats = isa<FloatType>(acc) && isa<FloatType>(a) && !(a.isF64() && !acc.isF64()) && !(acc.isF64() && !a.isF64());
    if (!ints && !floats)
      return "dot of these element types; hint: convert the operands with `.to(...)` first";
  }
  if (isa<ReduceOp, ScanOp>(op->getParentOp()) && op->getNumRegions() != 0)
    return "control flow in a combine function yet; hint: compute both sides and choose with tl.where";
  bool known = isa<TileDialect, arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
               isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op);
  return known ? "" : "op `" + op->getName().getStringRef().str() + "`";
}

} // namespace

Status checkLegality(Operation *function) {
  Status status;
  function->walk([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    std::string reason = reasonAgainst(op);
    if (reason.empty())
      return WalkResult::advance();
    status = Status::error(StatusCode::Unsupported, placeOf(op->getLoc()) + ": the CPU target has no " + reason);
    return WalkResult::interrupt();
  });
  return status;
}

} // namespace tegula::cpu
