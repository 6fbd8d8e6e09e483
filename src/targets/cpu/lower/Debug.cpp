// Prints and checks. Both call the runtime by name; the loader knows its address. A failed check
// ends this call of the entry: programs behind it do not run on what they must not see.
#include "ir/tile/Tile.h"
#include "runtime/Report.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

using runtime::Printed;

llvm::Constant *text(ProgramEmitter &p, const std::string &value) {
  return p.builder.CreateGlobalString(value, "text");
}

Printed kindOf(Type element, bool isSigned) {
  if (isa<PointerType>(element))
    return Printed::Pointer;
  if (isa<FloatType>(element))
    return Printed::Float;
  return isSigned && !element.isInteger(1) ? Printed::Signed : Printed::Unsigned;
}

// An element as the 8 bytes that the runtime prints.
llvm::Value *asPrinted(ProgramEmitter &p, llvm::Value *value, Type element, Printed kind, bool hex) {
  auto &b = p.builder;
  llvm::Type *i64 = b.getInt64Ty();
  if (kind == Printed::Pointer)
    return b.CreatePtrToInt(value, i64);
  if (kind == Printed::Float && hex) {
    unsigned bits = element.getIntOrFloatBitWidth();
    return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), i64);
  }
  if (kind == Printed::Float) {
    llvm::Value *wide = floatOf(p, value, element);
    return b.CreateBitCast(wide->getType()->isDoubleTy() ? wide : b.CreateFPExt(wide, b.getDoubleTy()), i64);
  }
  return kind == Printed::Signed && !hex ? b.CreateSExt(value, i64) : b.CreateZExt(value, i64);
}

void emitPrint(ProgramEmitter &p, PrintOp print) {
  auto &b = p.builder;
  llvm::Type *i64 = b.getInt64Ty(), *ptr = b.getPtrTy();
  SmallVector<uint64_t> shapes;
  int64_t total = 0;
  for (auto [value, isSigned] : llvm::zip(print.getOperands(), print.getIsSigned())) {
    Type element = elementType(value.getType());
    auto shape = shapeOf(value.getType());
    unsigned bits = isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
    shapes.append({uint64_t(kindOf(element, isSigned)), bits, shape.size()});
    int64_t count = 1;
    for (int64_t extent : shape) {
      shapes.push_back(uint64_t(extent));
      count *= extent;
    }
    total += count;
  }
  int64_t offset = p.plan.reserve(total * 8), at = 0;
  for (auto [value, isSigned] : llvm::zip(print.getOperands(), print.getIsSigned())) {
    Type element = elementType(value.getType());
    Buffer words{IntegerType::get(print.getContext(), 64), SmallVector<int64_t, 3>(shapeOf(value.getType())),
                 offset + 8 * at};
    ElementLoop loop(p);
    loop.over(words.shape, [&](const Coordinates &c) {
      llvm::Value *word =
          asPrinted(p, loop.element(value, c), element, kindOf(element, isSigned), print.getHex());
      loop.evaluator().write(words, c, word);
    });
    at += words.elements();
  }
  auto *table = llvm::ConstantDataArray::get(p.context, shapes);
  auto *global = new llvm::GlobalVariable(p.module, table->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                          table, "shapes");
  llvm::AllocaInst *program = p.temporary(llvm::ArrayType::get(i64, 3), "program");
  for (unsigned axis = 0; axis < 3; ++axis)
    b.CreateStore(b.CreateSExt(p.programId(axis), i64), b.CreateConstGEP1_64(i64, program, axis));
  auto callee = p.module.getOrInsertFunction(
      "tegula_print", llvm::FunctionType::get(b.getVoidTy(), {ptr, i64, i64, ptr, ptr, ptr}, false));
  b.CreateCall(callee, {text(p, print.getPrefix().str()), b.getInt64(print.getHex()),
                        b.getInt64(print.getNumOperands()), global, program, p.scratchAt(offset)});
}

void emitAssert(ProgramEmitter &p, AssertOp check) {
  auto &b = p.builder;
  llvm::AllocaInst *holds = p.temporary(b.getInt1Ty(), "holds");
  b.CreateStore(b.getTrue(), holds);
  ElementLoop loop(p);
  loop.over(shapeOf(check.getCondition().getType()), [&](const Coordinates &at) {
    llvm::Value *here = loop.element(check.getCondition(), at);
    b.CreateStore(b.CreateAnd(b.CreateLoad(b.getInt1Ty(), holds), here), holds);
  });
  p.setLocation(check.getLoc());
  p.branch(
      b.CreateLoad(b.getInt1Ty(), holds), [] {},
      [&] {
        auto callee = p.module.getOrInsertFunction(
            "tegula_assertion_failed", llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false));
        std::string place = p.locationOf(check);
        b.CreateCall(callee, {text(p, (place.empty() ? "" : place + ": ") +
                                          "assertion failed: " + check.getMessage().str())});
        p.leave();
      },
      /*likely=*/true);
}

} // namespace

void emitDebug(ProgramEmitter &p, Operation *op) {
  if (auto print = dyn_cast<PrintOp>(op))
    return emitPrint(p, print);
  emitAssert(p, cast<AssertOp>(op));
}

} // namespace tegula::cpu
