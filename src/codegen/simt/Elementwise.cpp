// Arithmetic of floats, choice and comparison; integers are codegen/llvm/Arithmetic.h's. f32 and f64
// may contract (N10); the 16-bit floats round after each op (N9), in pairs where the machine has
// packed instructions.
#include "codegen/simt/Elementwise.h"
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Ops.h"
#include "ir/tile/InlineAssembly.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/InlineAsm.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::simt {

namespace {

using codegen::Values;

llvm::Type *elementOf(llvm::Value *value) { return value->getType()->getScalarType(); }

llvm::Value *nearest(Scalars &s, llvm::Value *wide, Operation *op, llvm::Type *element) {
  Type to = elementType(op->getResult(0).getType());
  if (llvm::Value *rounded =
          s.hardware.convert(s.builder, wide, Float32Type::get(op->getContext()), to, false))
    return rounded;
  return codegen::roundTo(s.builder, wide, element);
}

// x / y. Of bfloat f32's approximation is near enough to round as the exact quotient does: quotients
// of 8-bit numbers keep 2^-17 away from the middle of two of them. Of half it is not.
llvm::Value *divide(Scalars &s, Operation *op, Values v, bool precise) {
  auto &b = s.builder;
  llvm::Type *element = elementOf(v[0]);
  llvm::Value *x = toFloat(s, op, v[0]), *y = toFloat(s, op, v[1]), *quotient = nullptr;
  bool isSingle = elementOf(x)->isFloatTy();
  if (isSingle && isFast(op))
    quotient = s.hardware.approximate(b, "fast_fdiv", {x, y});
  if (!quotient && isSingle && !precise && !element->isHalfTy())
    quotient = s.hardware.approximate(b, "fdiv", {x, y});
  if (!quotient)
    quotient = b.CreateFDiv(x, y);
  return codegen::isSmallFloat(v[0]) ? nearest(s, quotient, op, element) : quotient;
}

llvm::Value *remainder(Scalars &s, Operation *op, Values v) {
  auto &b = s.builder;
  llvm::Type *element = elementOf(v[0]);
  llvm::Value *x = toFloat(s, op, v[0]), *y = toFloat(s, op, v[1]);
  llvm::StringRef symbol = elementOf(x)->isDoubleTy() ? "tgm_fmod_f64" : "tgm_fmod_f32";
  llvm::Type *type = x->getType();
  llvm::Value *result = b.CreateCall(
      s.module.getOrInsertFunction(symbol, llvm::FunctionType::get(type, {type, type}, false)), {x, y});
  return codegen::isSmallFloat(v[0]) ? nearest(s, result, op, element) : result;
}

llvm::Value *clamp(Scalars &s, ClampFOp op, Values v) {
  auto lower = op.getPropagateNan() ? llvm::Intrinsic::maximum : llvm::Intrinsic::maxnum;
  auto upper = op.getPropagateNan() ? llvm::Intrinsic::minimum : llvm::Intrinsic::minnum;
  return s.builder.CreateBinaryIntrinsic(upper, s.builder.CreateBinaryIntrinsic(lower, v[0], v[1]), v[2]);
}

// Of f16 every machine has comparisons.
llvm::Value *compare(Scalars &s, arith::CmpFOp op, Values v) {
  auto &b = s.builder;
  auto predicate = codegen::predicateOf(op.getPredicate());
  if (!elementOf(v[0])->isBFloatTy() || s.hardware.comparesBFloat())
    return b.CreateFCmp(predicate, v[0], v[1]);
  auto widened = [&](llvm::Value *x, llvm::Value *y) {
    return b.CreateFCmp(predicate, toFloat(s, op, x), toFloat(s, op, y));
  };
  if (!v[0]->getType()->isVectorTy())
    return widened(v[0], v[1]);
  llvm::Value *both = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt1Ty(), 2));
  for (unsigned k : {0, 1})
    both = b.CreateInsertElement(
        both, widened(llvm::findScalarElement(v[0], k), llvm::findScalarElement(v[1], k)), uint64_t(k));
  return both;
}

bool isPackedArithmetic(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::MaxNumFOp, arith::MinNumFOp,
             arith::MaximumFOp, arith::MinimumFOp, ClampFOp, math::FmaOp, math::AbsFOp>(op);
}

} // namespace

llvm::Value *toFloat(Scalars &s, Operation *op, llvm::Value *value) {
  auto *context = op->getContext();
  llvm::Value *wide =
      elementOf(value)->isBFloatTy()
          ? s.hardware.convert(s.builder, value, BFloat16Type::get(context), Float32Type::get(context), false)
          : nullptr;
  return wide ? wide : codegen::toFloat(s.builder, value);
}

bool pairs(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  Type from = elementType(op->getOperand(0).getType()), to = elementType(op->getResult(0).getType());
  if (isa<arith::CmpFOp, arith::SelectOp>(op)) {
    Type compared = isa<arith::CmpFOp>(op) ? from : to;
    return compared.isF16() || compared.isBF16();
  }
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return to.getIntOrFloatBitWidth() == 8 && from.getIntOrFloatBitWidth() != 64;
  if (!isa<FloatType, IntegerType>(from) || !isa<FloatType>(to))
    return false;
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return fromBits >= 8 && fromBits <= 32 && toBits == 16;
  if (isPackedArithmetic(op))
    return toBits == 16;
  bool converts = isa<FpToFpOp, arith::ExtFOp, arith::TruncFOp>(op);
  return converts && fromBits != 64 && toBits != 64 &&
         (fromBits == 8 || toBits == 8 || (fromBits == 32 && toBits == 16));
}

llvm::Value *lowerFloats(Scalars &s, Operation *op, Values v, llvm::Type *) {
  auto &b = s.builder;
  if (isa<arith::SelectOp>(op))
    return b.CreateSelect(v[0], v[1], v[2]);
  if (auto comparison = dyn_cast<arith::CmpFOp>(op))
    return compare(s, comparison, v);
  if (isa<arith::MaxNumFOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, v[0], v[1]);
  if (isa<arith::MinNumFOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, v[0], v[1]);
  if (isa<arith::MaximumFOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, v[0], v[1]);
  if (isa<arith::MinimumFOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, v[0], v[1]);
  if (auto limits = dyn_cast<ClampFOp>(op))
    return clamp(s, limits, v);
  if (isa<arith::NegFOp>(op))
    return b.CreateFNeg(v[0]);
  if (isa<arith::DivFOp>(op))
    return divide(s, op, v, false);
  if (isa<PreciseDivFOp>(op))
    return divide(s, op, v, true);
  if (isa<arith::RemFOp>(op))
    return remainder(s, op, v);
  if (isa<PreciseSqrtOp>(op)) {
    llvm::Value *root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, toFloat(s, op, v[0]));
    return codegen::isSmallFloat(v[0]) ? nearest(s, root, op, elementOf(v[0])) : root;
  }
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
    return nullptr;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  llvm::FastMathFlags flags;
  flags.setAllowContract(!codegen::isSmallFloat(v[0]));
  b.setFastMathFlags(flags);
  if (isa<arith::AddFOp>(op))
    return b.CreateFAdd(v[0], v[1]);
  return isa<arith::SubFOp>(op) ? b.CreateFSub(v[0], v[1]) : b.CreateFMul(v[0], v[1]);
}

namespace {

bool isByteFloat(Type type) {
  return isa<FloatType>(elementType(type)) && elementType(type).getIntOrFloatBitWidth() == 8;
}

llvm::Value *convertFloat(Scalars &s, llvm::Value *value, Type from, Type to, llvm::Type *element) {
  llvm::Value *direct = s.hardware.convert(s.builder, value, from, to, false);
  return direct ? direct : codegen::convertFloat(s.builder, value, from, to, element);
}

// An op on 8-bit floats that is no conversion: computed in f32, rounded once.
llvm::Value *lowerBytes(Scalars &s, Operation *op, Values v) {
  Type f32 = Float32Type::get(op->getContext());
  llvm::SmallVector<llvm::Value *, 3> wide;
  for (auto [operand, value] : llvm::zip(op->getOperands(), v))
    wide.push_back(isByteFloat(operand.getType())
                       ? convertFloat(s, value, elementType(operand.getType()), f32, s.builder.getFloatTy())
                       : value);
  llvm::Value *result = neutralOps().find(op)->lowering.element(s, op, wide, s.builder.getFloatTy());
  bool narrows = isByteFloat(op->getResult(0).getType());
  return narrows
             ? convertFloat(s, result, f32, elementType(op->getResult(0).getType()), s.builder.getInt8Ty())
             : result;
}

} // namespace

llvm::Value *lowerElementwise(Scalars &s, Operation *op, Values v, llvm::Type *resultElement) {
  bool computesBytes = llvm::any_of(op->getOperandTypes(), isByteFloat) &&
                       !isa<arith::SelectOp, BitcastOp, arith::BitcastOp, FpToFpOp, arith::ExtFOp,
                            arith::TruncFOp, arith::FPToSIOp, arith::FPToUIOp, AddPtrOp>(op);
  if (computesBytes)
    return lowerBytes(s, op, v);
  return neutralOps().find(op)->lowering.element(s, op, v, resultElement);
}

// ---- inline assembly ----

namespace {

// Elements in registers `reg`: how many share one, and the register's type.
struct Packing {
  unsigned each;
  llvm::Type *reg;
};
Packing packingOf(llvm::IRBuilderBase &b, llvm::Type *element, unsigned packed, const AsmRegister &reg) {
  unsigned bits = element->isPointerTy() ? 64 : element->getScalarSizeInBits();
  if (bits >= 32)
    return {1, element};
  return {std::min(packed, 32 / std::max(8u, bits)), b.getIntNTy(reg.bits())};
}

llvm::Value *pack(llvm::IRBuilderBase &b, Values elements, llvm::Type *reg) {
  llvm::Value *packed = nullptr;
  for (auto [k, element] : llvm::enumerate(elements)) {
    unsigned bits = element->getType()->getScalarSizeInBits();
    llvm::Value *part = b.CreateZExt(b.CreateBitCast(element, b.getIntNTy(bits)), reg);
    part = b.CreateShl(part, k * std::max(8u, bits));
    packed = packed ? b.CreateOr(packed, part) : part;
  }
  return packed;
}

} // namespace

llvm::SmallVector<llvm::Value *> lowerInlineAsm(Scalars &s, ElementwiseInlineAsmOp op, Values operands,
                                                llvm::ArrayRef<llvm::Type *> resultElements) {
  auto &b = s.builder;
  unsigned packed = op.getPackedElement();
  AsmConstraints constraints = *parseAsmConstraints(op.getConstraints()); // the verifier has parsed it
  SmallVector<llvm::Type *> results;
  SmallVector<Packing> packings;
  for (llvm::Type *element : resultElements) {
    Packing packing = packingOf(b, element, packed, constraints.outputs[results.size()]);
    packings.push_back(packing);
    results.append(llvm::divideCeil(packed, packing.each), packing.reg);
  }
  SmallVector<llvm::Value *> arguments;
  for (size_t i = 0; i < op.getOperands().size(); ++i) {
    Values elements = operands.slice(i * packed, packed);
    Packing packing = packingOf(b, elements[0]->getType(), packed, constraints.inputs[arguments.size()]);
    for (unsigned k = 0; k < packed; k += packing.each) {
      Values part = elements.slice(k, std::min(packing.each, packed - k));
      const AsmRegister &reg = constraints.inputs[arguments.size()];
      llvm::Value *argument = packing.reg == part[0]->getType() ? part[0] : pack(b, part, packing.reg);
      // LLVM wants one type in both places of a shared register.
      arguments.push_back(reg.tiedTo ? codegen::bitcast(b, argument, results[*reg.tiedTo]) : argument);
    }
  }
  SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  llvm::Type *returned = results.size() == 1 ? results[0] : llvm::StructType::get(b.getContext(), results);
  auto *code = llvm::InlineAsm::get(llvm::FunctionType::get(returned, types, false), op.getAsmString(),
                                    op.getConstraints(),
                                    /*hasSideEffects=*/!op.getPure());
  llvm::CallInst *call = b.CreateCall(code, arguments);
  if (op.getPure())
    call->setDoesNotAccessMemory();
  else
    call->setConvergent();
  SmallVector<llvm::Value *> unpacked;
  unsigned reg = 0;
  for (auto [element, packing] : llvm::zip(resultElements, packings))
    for (unsigned k = 0; k < packed; k += packing.each, ++reg) {
      llvm::Value *value = results.size() == 1 ? call : b.CreateExtractValue(call, reg);
      for (unsigned i = 0; i < packing.each && k + i < packed; ++i) {
        if (packing.reg == element) {
          unpacked.push_back(value);
          continue;
        }
        unsigned bits = element->getScalarSizeInBits();
        llvm::Value *part = b.CreateTrunc(b.CreateLShr(value, i * std::max(8u, bits)), b.getIntNTy(bits));
        unpacked.push_back(b.CreateBitCast(part, element));
      }
    }
  return unpacked;
}

} // namespace tegula::simt
