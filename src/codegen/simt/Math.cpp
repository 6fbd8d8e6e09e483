// Functions of the math dialect: an intrinsic where rounding is exact, the machine's approximation
// where it is near enough, else the math library. The 16-bit floats go through f32.
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Elementwise.h"
#include "mathlib/Mathlib.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::simt {

namespace {

using codegen::Values;

// Powers of other bases are those of base 2, scaled.
llvm::Value *approximate(Scalars &s, Operation *op, Values v) {
  auto &b = s.builder;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  llvm::FastMathFlags flags;
  flags.setAllowContract(); // what follows may fuse with the scale
  b.setFastMathFlags(flags);
  if (isFast(op))
    if (llvm::Value *fast = s.hardware.approximate(b, "fast_" + codegen::mathlibName(op).str(), v))
      return fast;
  auto scaled = [&](llvm::Value *value, double by) {
    return b.CreateFMul(value, llvm::ConstantFP::get(value->getType(), by));
  };
  if (isa<math::ExpOp>(op))
    return s.hardware.approximate(b, "exp2", {scaled(v[0], 0x1.71547652b82fep+0)}); // log2 e
  return s.hardware.approximate(b, codegen::mathlibName(op), v);
}

std::optional<std::string> symbolOf(Operation *op, unsigned bits) {
  return mathlib::symbol(codegen::mathlibName(op), bits, 1);
}

llvm::Value *callMathlib(Scalars &s, Operation *op, Values v) {
  llvm::Type *type = v[0]->getType();
  auto symbol = symbolOf(op, type->getScalarSizeInBits());
  if (!symbol)
    return nullptr;
  llvm::SmallVector<llvm::Type *, 2> parameters(v.size(), type);
  return s.builder.CreateCall(
      s.module.getOrInsertFunction(*symbol, llvm::FunctionType::get(type, parameters, false)), v);
}

// Halves away from zero: the integer part of |x| + 1/2, which reaches no integer by rounding toward zero that
// it does not reach exactly; from 2^23 (2^52) on that gives x back.
llvm::Value *round(Scalars &s, llvm::Value *x) {
  auto &b = s.builder;
  llvm::Value *half = b.CreateCopySign(llvm::ConstantFP::get(x->getType(), 0.5), x);
  llvm::Value *sum = s.hardware.directed(b, DirectedKind::Add, Direction::TowardZero, {x, half});
  return sum ? b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, sum) : nullptr;
}

llvm::Value *inFloat(Scalars &s, Operation *op, Values v) {
  if (isa<math::RoundOp>(op))
    if (llvm::Value *rounded = round(s, v[0]))
      return rounded;
  if (auto id = codegen::exactIntrinsic(op); id != llvm::Intrinsic::not_intrinsic)
    return s.builder.CreateIntrinsic(id, {v[0]->getType()}, v);
  bool exact = elementType(op->getResult(0).getType()).isF16() && isa<math::SqrtOp>(op); // N9
  if (v[0]->getType()->isFloatTy() && !exact)
    if (llvm::Value *near = approximate(s, op, v))
      return near;
  if (isa<math::SqrtOp>(op))
    return s.builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]);
  return callMathlib(s, op, v);
}

} // namespace

bool isFast(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  return flags && bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
}

bool hasFunction(Operation *op) {
  Type element = elementType(op->getResult(0).getType());
  if (!isa<FloatType>(element))
    return isa<math::AbsIOp, math::CountLeadingZerosOp, math::CtPopOp>(op);
  return codegen::exactIntrinsic(op) != llvm::Intrinsic::not_intrinsic || isa<math::SqrtOp>(op) ||
         symbolOf(op, element.isF64() ? 64 : 32);
}

llvm::Value *lowerMath(Scalars &s, Operation *op, Values v, llvm::Type *) {
  if (isa<math::AbsFOp, math::FmaOp, math::CopySignOp>(op)) // of each type itself
    return s.builder.CreateIntrinsic(codegen::exactIntrinsic(op), {v[0]->getType()}, v);
  llvm::SmallVector<llvm::Value *, 3> wide;
  for (llvm::Value *operand : v)
    wide.push_back(toFloat(s, op, operand));
  llvm::Value *result = inFloat(s, op, wide);
  if (!result || !codegen::isSmallFloat(v[0]))
    return result;
  Type to = elementType(op->getResult(0).getType());
  if (llvm::Value *rounded =
          s.hardware.convert(s.builder, result, Float32Type::get(op->getContext()), to, false))
    return rounded;
  return codegen::roundTo(s.builder, result, v[0]->getType()->getScalarType());
}

llvm::Value *lowerDirected(Scalars &s, Operation *op, Values v, llvm::Type *) {
  auto &b = s.builder;
  auto directed = cast<DirectedOp>(op);
  if (llvm::Value *result = s.hardware.directed(b, directed.getKind(), directed.getDirection(), v))
    return result;
  llvm::Type *type = v[0]->getType(), *number = b.getInt32Ty();
  llvm::SmallVector<llvm::Value *, 5> arguments(v);
  arguments.resize(3, llvm::PoisonValue::get(type));
  arguments.push_back(b.getInt32(uint32_t(directed.getKind())));
  arguments.push_back(b.getInt32(uint32_t(directed.getDirection())));
  auto *function = llvm::FunctionType::get(type, {type, type, type, number, number}, false);
  return b.CreateCall(
      s.module.getOrInsertFunction(mathlib::directedSymbol(type->getScalarSizeInBits(), 1), function),
      arguments);
}

} // namespace tegula::simt
