// Ranges, constants, addresses and the program's place in the grid.
#include "codegen/simt/Emitter.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

llvm::Constant *constantOf(Emitter &e, Attribute value, llvm::Type *type) {
  if (auto number = dyn_cast<IntegerAttr>(value))
    return llvm::ConstantInt::get(type, number.getValue().zextOrTrunc(type->getIntegerBitWidth()));
  llvm::APFloat number = cast<FloatAttr>(value).getValue();
  if (type->isIntegerTy()) // an 8-bit float
    return llvm::ConstantInt::get(type, number.bitcastToAPInt());
  return llvm::ConstantFP::get(type, number);
}

// Applies `compute` to each register of the op's operands.
template <typename Compute> void eachRegister(Emitter &e, Operation *op, Compute compute) {
  Value result = op->getResult(0);
  if (!isa<RankedTensorType>(result.getType())) {
    SmallVector<llvm::Value *, 2> operands;
    for (Value operand : op->getOperands())
      operands.push_back(e.scalar(operand));
    return e.set(result, {compute(operands)});
  }
  Registers values;
  for (unsigned reg = 0; reg != layoutOf(result).size(Axis::Register); ++reg) {
    SmallVector<llvm::Value *, 2> operands;
    for (Value operand : op->getOperands())
      operands.push_back(e.registers(operand)[reg]);
    values.push_back(llvm::is_contained(operands, nullptr) ? nullptr : compute(operands));
  }
  e.set(result, std::move(values));
}

} // namespace

void emitIndexing(Emitter &e, Operation *op) {
  auto &b = e.builder;
  using Operands = SmallVectorImpl<llvm::Value *>;
  if (auto id = dyn_cast<GetProgramIdOp>(op)) {
    e.set(id, {e.programId(unsigned(id.getAxis()))});
  } else if (auto number = dyn_cast<GetNumProgramsOp>(op)) {
    e.set(number, {e.hardware.programCount(b, unsigned(number.getAxis()))});
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    llvm::Type *type = e.type(elementType(constant.getType()));
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      e.set(constant, Registers(layoutOf(constant).size(Axis::Register),
                                constantOf(e, splat.getSplatValue<Attribute>(), type)));
    else
      e.set(constant, {constantOf(e, constant.getValue(), type)});
  } else if (auto range = dyn_cast<MakeRangeOp>(op)) {
    Layout layout = layoutOf(range);
    Registers values;
    for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg) {
      llvm::Value *value = layout.isLive(reg) ? e.coordinate(layout, 0, reg) : nullptr;
      if (value && range.getStart() != 0)
        value = b.CreateAdd(value, b.getInt32(range.getStart()));
      values.push_back(value);
    }
    e.set(range, std::move(values));
  } else if (auto add = dyn_cast<AddPtrOp>(op)) {
    Type pointee = cast<PointerType>(elementType(add.getType())).getPointee();
    eachRegister(e, op, [&](Operands &v) -> llvm::Value * {
      llvm::Value *offset = b.CreateSExt(v[1], b.getInt64Ty());
      return b.CreateGEP(storedType(e, e.type(pointee)), v[0], offset);
    });
  } else if (isa<PtrToIntOp>(op)) {
    eachRegister(e, op, [&](Operands &v) -> llvm::Value * { return b.CreatePtrToInt(v[0], b.getInt64Ty()); });
  } else {
    eachRegister(e, op, [&](Operands &v) -> llvm::Value * { return b.CreateIntToPtr(v[0], b.getPtrTy(1)); });
  }
}

} // namespace tegula::simt
