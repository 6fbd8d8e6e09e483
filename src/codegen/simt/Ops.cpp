#include "codegen/simt/Ops.h"

#include "codegen/llvm/Arithmetic.h"
#include "codegen/llvm/ExternLibraries.h"
#include "codegen/simt/Emitter.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::simt {

namespace {

// ---- refusals ----

constexpr codegen::Refusal none = nullptr;

std::string dotOfTypes(Operation *op) {
  auto dot = cast<DotOp>(op);
  Type acc = elementType(dot.getAcc().getType()), a = elementType(dot.getA().getType());
  bool refused = isa<FloatType>(acc) != isa<FloatType>(a) || acc.isF64() != a.isF64() ||
                 (isa<IntegerType>(a) && a.getIntOrFloatBitWidth() > 32);
  return refused ? "dot of these element types; hint: convert the operands with `.to(...)` first" : "";
}

// The math library lacks some functions of some widths.
std::string functionOfWidth(Operation *op) {
  return hasFunction(op)
             ? ""
             : "function `" + op->getName().stripDialect().str() + "`; hint: convert to tl.float32 first";
}

// ---- the table ----

llvm::Value *integers(Scalars &s, Operation *op, ArrayRef<llvm::Value *> v, llvm::Type *element) {
  return codegen::lowerIntegers(s.builder, op, v, element);
}

llvm::Value *externCall(Scalars &s, Operation *op, ArrayRef<llvm::Value *> v, llvm::Type *element) {
  auto call = cast<ExternElementwiseOp>(op);
  return codegen::callExtern(s.builder, s.module, call.getLibrary(), call.getSymbol(), call.getPure(),
                             element, v);
}

OpTable makeTable() {
  OpTable table;
#define OP(type, lowering, refusal)                                                                          \
  table.add<type>({[]([[maybe_unused]] Emitter &e, Operation *any) {                                         \
                     [[maybe_unused]] auto op = cast<type>(any);                                             \
                     lowering;                                                                               \
                   },                                                                                        \
                   nullptr},                                                                                 \
                  refusal);
#define ELEMENT(type, part, refusal) table.add<type>({nullptr, part}, refusal);
#define ENDS_REGION(type) table.add<type>({}, none);
#include "codegen/simt/Ops.def"
  return table;
}

} // namespace

const OpTable &neutralOps() {
  static const OpTable table = makeTable();
  return table;
}

} // namespace tegula::simt
