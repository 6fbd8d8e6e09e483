#include "targets/cpu/Ops.h"

#include "codegen/llvm/Arithmetic.h"
#include "codegen/llvm/ExternLibraries.h"
#include "ir/tile/Tile.h"
#include "mathlib/Mathlib.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::cpu {

namespace {

// ---- refusals ----

constexpr codegen::Refusal none = nullptr;

std::string dotOfTypes(Operation *op) {
  auto dot = cast<DotOp>(op);
  Type acc = elementType(dot.getAcc().getType()), a = elementType(dot.getA().getType());
  bool ints = isa<IntegerType>(acc) && isa<IntegerType>(a) &&
              acc.getIntOrFloatBitWidth() >= a.getIntOrFloatBitWidth();
  bool floats = isa<FloatType>(acc) && isa<FloatType>(a) && a.isF64() == acc.isF64();
  return ints || floats ? "" : "dot of these element types; hint: convert the operands with `.to(...)` first";
}

// The math library lacks some functions of some widths.
std::string functionOfWidth(Operation *op) {
  StringRef name = codegen::mathlibName(op);
  Type element = elementType(op->getResult(0).getType());
  if (mathlib::symbol(name, element.isF64() ? 64 : 32, 1))
    return "";
  return "`" + name.str() + "` of " + std::to_string(element.getIntOrFloatBitWidth()) +
         " bits; hint: convert the operand with `.to(...)` first";
}

// The planner chooses how often a nest computes an element.
std::string externOfPureFunctions(Operation *op) {
  return cast<ExternElementwiseOp>(op).getPure() ? "" : "calls of a library with is_pure=False";
}

// ---- the table ----

llvm::Value *integers(ProgramEmitter &p, Operation *op, ArrayRef<llvm::Value *> v) {
  return codegen::lowerIntegers(p.builder, op, v, p.type(elementType(op->getResult(0).getType())));
}

llvm::Value *externCall(ProgramEmitter &p, Operation *op, ArrayRef<llvm::Value *> v) {
  auto call = cast<ExternElementwiseOp>(op);
  return codegen::callExtern(p.builder, p.module, call.getLibrary(), call.getSymbol(), call.getPure(),
                             p.type(elementType(call.getType())), v);
}

codegen::OpTable<Lowering> makeTable() {
  codegen::OpTable<Lowering> table;
#define STEP(type, emission, refusal)                                                                        \
  table.add<type>({[]([[maybe_unused]] ProgramEmitter &p, Operation *any) {                                  \
                     [[maybe_unused]] auto op = cast<type>(any);                                             \
                     emission;                                                                               \
                   },                                                                                        \
                   nullptr},                                                                                 \
                  refusal);
#define ELEMENT(type, part, refusal) table.add<type>({nullptr, part}, refusal);
#define WITHIN(type) table.add<type>({}, none);
#define REFUSED(type, reason) table.add<type>({}, [](Operation *) -> std::string { return reason; });
#include "targets/cpu/Ops.def"
  return table;
}

} // namespace

const codegen::OpTable<Lowering> &ops() {
  static const codegen::OpTable<Lowering> table = makeTable();
  return table;
}

Status checkLegality(Operation *function) {
  return codegen::checkLegal(function, "the CPU target",
                             [](Operation *op) { return ops().reasonAgainst(op); });
}

} // namespace tegula::cpu
