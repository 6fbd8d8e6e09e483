#include "targets/nvidia/Arithmetic.h"
#include "mathlib/Coefficients.h"
#include "targets/nvidia/Subnormals.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

#include <cmath>

using namespace mlir;

namespace tegula::nvidia {

using Builder = llvm::IRBuilderBase;

namespace {

llvm::Value *constant(Builder &b, double number) { return llvm::ConstantFP::get(b.getFloatTy(), number); }
llvm::Value *instruction(Builder &b, llvm::Intrinsic::ID id, llvm::Value *x) {
  return b.CreateIntrinsic(b.getFloatTy(), id, {x});
}
llvm::Value *fma(Builder &b, llvm::Value *x, llvm::Value *y, llvm::Value *z) {
  return b.CreateIntrinsic(b.getFloatTy(), llvm::Intrinsic::fma, {x, y, z});
}
llvm::Value *polynomial(Builder &b, llvm::Value *x, llvm::ArrayRef<float> coefficients) {
  llvm::Value *sum = constant(b, coefficients.back());
  for (float each : llvm::reverse(coefficients.drop_back()))
    sum = fma(b, sum, x, constant(b, each));
  return sum;
}

// As mathlib/Exp.inc has it, but e^2x and the quotient are the machine's: 16 instructions in place of 53.
// Their errors are the largest where the result is 1/2, so that the polynomial is taken somewhat further: 1
// ulp there.
llvm::Value *tanh(Builder &b, llvm::Value *x) {
  llvm::Value *size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *power = instruction(b, llvm::Intrinsic::nvvm_ex2_approx_ftz,
                                   b.CreateFMul(size, constant(b, 2 * 0x1.71547652b82fep+0))); // log2 e
  llvm::Value *rest =
      instruction(b, llvm::Intrinsic::nvvm_rcp_approx_ftz_f, b.CreateFAdd(power, constant(b, 1)));
  llvm::Value *large = fma(b, rest, constant(b, -2), constant(b, 1));
  llvm::Value *square = b.CreateFMul(x, x);
  llvm::Value *small = fma(b, b.CreateFMul(polynomial(b, square, kTanh_f32), square), size, size);
  llvm::Value *result = b.CreateSelect(b.CreateFCmpOLT(size, constant(b, 0.6)), small, large);
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
}

// 2^(log2 |x| / 3), which is within 2^-16 of the root, and a step of Newton's with the residual of a fused
// product, as in mathlib/Cbrt.inc: 0.51 ulp. Numbers are brought where the residual is none of the
// subnormals.
llvm::Value *cbrt(Builder &b, llvm::Value *x) {
  llvm::Value *size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *isTiny = b.CreateFCmpOLT(size, constant(b, 0x1p-80));
  size = b.CreateFMul(size, b.CreateSelect(isTiny, constant(b, 0x1p72), constant(b, 1)));
  llvm::Value *third =
      b.CreateFMul(instruction(b, llvm::Intrinsic::nvvm_lg2_approx_ftz_f, size), constant(b, 1.0 / 3));
  llvm::Value *root = instruction(b, llvm::Intrinsic::nvvm_ex2_approx_ftz, third);
  llvm::Value *minus = b.CreateFNeg(root);
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags(); // the square is rounded, and what that lost taken into account
  llvm::Value *square = b.CreateFMul(root, root);
  llvm::Value *lost = fma(b, root, root, b.CreateFNeg(square));
  llvm::Value *residual = fma(b, minus, lost, fma(b, minus, square, size));
  llvm::Value *slope =
      instruction(b, llvm::Intrinsic::nvvm_rcp_approx_ftz_f, b.CreateFMul(square, constant(b, 3)));
  root = fma(b, residual, slope, root);
  root = b.CreateFMul(root, b.CreateSelect(isTiny, constant(b, 0x1p-24), constant(b, 1)));
  // Zeros and infinities are their own roots.
  llvm::Value *isOwn = b.CreateFCmpOEQ(b.CreateFAdd(x, x), x);
  return b.CreateSelect(isOwn, x, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, root, x));
}

// As mathlib/Erf.inc has it, but 2^Q is the machine's: 22 instructions in place of 33.
llvm::Value *erf(Builder &b, llvm::Value *x) {
  llvm::Value *size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *square = b.CreateFMul(x, x);
  llvm::Value *small = fma(b, polynomial(b, square, kErfSmall_f32), x, x);
  llvm::Value *bounded =
      b.CreateSelect(b.CreateFCmpOGT(size, constant(b, kErfTop_f32)), constant(b, kErfTop_f32), size);
  llvm::Value *exponent = polynomial(b, b.CreateFSub(bounded, constant(b, kErfSplit_f32)), kErfLarge_f32);
  llvm::Value *rest = instruction(b, llvm::Intrinsic::nvvm_ex2_approx_ftz, exponent);
  llvm::Value *large =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b.CreateFSub(constant(b, 1), rest), x);
  return b.CreateSelect(b.CreateFCmpOLT(size, constant(b, kErfSplit_f32)), small, large);
}

llvm::Value *log2Fast(Builder &b, llvm::Value *x) {
  if (auto number = llvm::dyn_cast<llvm::ConstantFP>(x))
    return constant(b, std::log2(number->getValueAPF().convertToFloat()));
  return instruction(b, llvm::Intrinsic::nvvm_lg2_approx_ftz_f, x);
}

llvm::Value *divideFast(Builder &b, llvm::Value *x, llvm::Value *y) {
  return b.CreateIntrinsic(b.getFloatTy(), llvm::Intrinsic::nvvm_div_approx_ftz_f, {x, y});
}

// As CUDA's functions __sinf, __powf and so on are made.
llvm::Value *fast(Builder &b, llvm::StringRef function, llvm::ArrayRef<llvm::Value *> v,
                  unsigned capability) {
  auto sine = [&] { return instruction(b, llvm::Intrinsic::nvvm_sin_approx_ftz_f, v[0]); };
  auto cosine = [&] { return instruction(b, llvm::Intrinsic::nvvm_cos_approx_ftz_f, v[0]); };
  if (function == "sin")
    return sine();
  if (function == "cos")
    return cosine();
  if (function == "tan")
    return divideFast(b, sine(), cosine());
  if (function == "fdiv")
    return divideFast(b, v[0], v[1]);
  if (function == "log2")
    return log2Fast(b, v[0]);
  if (function == "log")
    return b.CreateFMul(log2Fast(b, v[0]), constant(b, 0x1.62e42fefa39efp-1)); // ln 2
  if (function == "log10")
    return b.CreateFMul(log2Fast(b, v[0]), constant(b, 0x1.34413509f79ffp-2)); // log10 2
  if (function == "pow")
    return instruction(b, llvm::Intrinsic::nvvm_ex2_approx_ftz, b.CreateFMul(v[1], log2Fast(b, v[0])));
  if (function == "tanh" && capability >= 75) {
    auto *type = llvm::FunctionType::get(b.getFloatTy(), {b.getFloatTy()}, false);
    return b.CreateCall(llvm::InlineAsm::get(type, "tanh.approx.f32 $0, $1;", "=f,f", false), v);
  }
  return nullptr;
}

} // namespace

llvm::Value *approximate(Builder &b, llvm::StringRef function, llvm::ArrayRef<llvm::Value *> arguments,
                         unsigned capability) {
  if (function.consume_front("fast_"))
    return fast(b, function, arguments, capability);
  // Within 2 ulp (div.full), 2^-22.5 (ex2, lg2 away from 1), 2^-22.9 (rsqrt) and 2^-23 (sqrt).
  // Subnormals are kept, as the f32 arithmetic around them does, except where ex2 gives them: keeping those
  // takes two scalings and a comparison for each, more than a softmax has otherwise (N20).
  if (function == "tanh")
    return tanh(b, arguments[0]);
  if (function == "erf")
    return erf(b, arguments[0]);
  if (function == "cbrt")
    return cbrt(b, arguments[0]);
  // Keeping those of a root takes as much; neither is one where the argument is none.
  bool isNormal = isNeverSubnormal(arguments[0]);
  auto id = llvm::StringSwitch<llvm::Intrinsic::ID>(function)
                .Case("fdiv", llvm::Intrinsic::nvvm_div_full)
                .Case("exp2", llvm::Intrinsic::nvvm_ex2_approx_ftz)
                .Case("sqrt", isNormal ? llvm::Intrinsic::nvvm_sqrt_approx_ftz_f
                                       : llvm::Intrinsic::nvvm_sqrt_approx_f)
                .Case("rsqrt", isNormal ? llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f
                                        : llvm::Intrinsic::nvvm_rsqrt_approx_f)
                .Default(llvm::Intrinsic::not_intrinsic);
  if (id == llvm::Intrinsic::not_intrinsic)
    return nullptr;
  return b.CreateIntrinsic(b.getFloatTy(), id, arguments);
}

// Each is one instruction of PTX.
llvm::Value *directed(Builder &b, tile::DirectedKind kind, tile::Direction direction,
                      llvm::ArrayRef<llvm::Value *> operands) {
  // A row a kind, a reciprocal behind them: f32 toward zero, down and up, then f64.
#define DIRECTIONS(op, type)                                                                                 \
  llvm::Intrinsic::nvvm_##op##_rz_##type, llvm::Intrinsic::nvvm_##op##_rm_##type,                            \
      llvm::Intrinsic::nvvm_##op##_rp_##type
#define ROW(op)                                                                                              \
  {                                                                                                          \
    DIRECTIONS(op, f), DIRECTIONS(op, d)                                                                     \
  }
  static constexpr llvm::Intrinsic::ID instructions[][6] = {ROW(add), ROW(mul),  ROW(fma),
                                                            ROW(div), ROW(sqrt), ROW(rcp)};
#undef ROW
#undef DIRECTIONS
  auto one = llvm::dyn_cast<llvm::ConstantFP>(operands[0]);
  bool isReciprocal = kind == tile::DirectedKind::Div && one && one->isExactlyValue(1);
  size_t row = isReciprocal ? std::size(instructions) - 1 : size_t(kind);
  size_t column = size_t(direction) + (operands[0]->getType()->isDoubleTy() ? 3 : 0);
  return b.CreateIntrinsic(operands[0]->getType(), instructions[row][column],
                           isReciprocal ? operands.drop_front() : operands);
}

namespace {

bool isPair(llvm::Value *value) { return value->getType()->isVectorTy(); }
llvm::Value *low(Builder &b, llvm::Value *value) {
  return isPair(value) ? b.CreateExtractElement(value, uint64_t(0)) : value;
}
// The upper half of what packed instructions take; nothing where there is one element.
llvm::Value *high(Builder &b, llvm::Value *value) {
  return isPair(value) ? b.CreateExtractElement(value, uint64_t(1))
                       : llvm::Constant::getNullValue(value->getType());
}

// f32 -> f16 or bf16, through the instruction for two.
llvm::Value *narrow(Builder &b, llvm::Value *value, Type to, bool towardZero) {
  bool half = to.isF16();
  auto id = half ? (towardZero ? llvm::Intrinsic::nvvm_ff2f16x2_rz : llvm::Intrinsic::nvvm_ff2f16x2_rn)
                 : (towardZero ? llvm::Intrinsic::nvvm_ff2bf16x2_rz : llvm::Intrinsic::nvvm_ff2bf16x2_rn);
  llvm::Type *element = half ? b.getHalfTy() : b.getBFloatTy();
  if (!isPair(value) && !towardZero)
    return b.CreateFPTrunc(value, element);
  llvm::Value *both =
      b.CreateIntrinsic(llvm::FixedVectorType::get(element, 2), id, {high(b, value), low(b, value)});
  return isPair(value) ? both : b.CreateExtractElement(both, uint64_t(0));
}

// bf16 -> f32: of two in one word each is a shift or a mask away, where a register of 16 bits between would
// cost a step more.
llvm::Value *widenHalfOfWord(Builder &b, llvm::Value *value) {
  auto taken = dyn_cast<llvm::ExtractElementInst>(value);
  auto index = taken ? dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
  if (!index || cast<llvm::VectorType>(taken->getVectorOperandType())->getElementCount().getFixedValue() != 2)
    return nullptr;
  llvm::Value *word = b.CreateBitCast(taken->getVectorOperand(), b.getInt32Ty());
  llvm::Value *bits = index->isOne() ? b.CreateAnd(word, 0xFFFF0000) : b.CreateShl(word, 16);
  return b.CreateBitCast(bits, b.getFloatTy());
}

// f32 or f16 -> 8 bits.
llvm::Value *encodeBytes(Builder &b, llvm::Value *value, Type from, Type to) {
  bool e4m3 = isa<Float8E4M3FNType>(to);
  llvm::Value *word;
  if (from.isF16()) {
    llvm::Value *both = value;
    if (!isPair(value))
      both = b.CreateInsertElement(llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getHalfTy(), 2)),
                                   value, uint64_t(0));
    word = b.CreateIntrinsic(
        b.getInt16Ty(),
        e4m3 ? llvm::Intrinsic::nvvm_f16x2_to_e4m3x2_rn : llvm::Intrinsic::nvvm_f16x2_to_e5m2x2_rn, {both});
  } else {
    word = b.CreateIntrinsic(
        b.getInt16Ty(), e4m3 ? llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn : llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn,
        {high(b, value), low(b, value)});
  }
  return isPair(value) ? b.CreateBitCast(word, llvm::FixedVectorType::get(b.getInt8Ty(), 2))
                       : b.CreateTrunc(word, b.getInt8Ty());
}

// 8 bits -> f16 or f32.
llvm::Value *decodeBytes(Builder &b, llvm::Value *value, Type from, Type to) {
  bool e4m3 = isa<Float8E4M3FNType>(from);
  llvm::Value *word =
      isPair(value) ? b.CreateBitCast(value, b.getInt16Ty()) : b.CreateZExt(value, b.getInt16Ty());
  llvm::Value *halves = b.CreateIntrinsic(
      llvm::FixedVectorType::get(b.getHalfTy(), 2),
      e4m3 ? llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn : llvm::Intrinsic::nvvm_e5m2x2_to_f16x2_rn, {word});
  llvm::Value *result = isPair(value) ? halves : b.CreateExtractElement(halves, uint64_t(0));
  if (to.isF16())
    return result;
  return b.CreateFPExt(result,
                       isPair(value) ? llvm::FixedVectorType::get(b.getFloatTy(), 2) : b.getFloatTy());
}

llvm::Value *betweenFloats(Builder &b, llvm::Value *value, Type from, Type to, bool towardZero,
                           unsigned capability) {
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  bool small = to.isF16() || to.isBF16();
  if (from.isF32() && small)
    return capability >= 80 || (to.isF16() && !isPair(value) && !towardZero)
               ? narrow(b, value, to, towardZero)
               : nullptr;
  if (from.isF64() && small && !towardZero && (to.isF16() || capability >= 90))
    return b.CreateFPTrunc(value, to.isF16() ? b.getHalfTy() : b.getBFloatTy());
  if (from.isBF16() && to.isF32())
    return widenHalfOfWord(b, value);
  if (capability < 89 || towardZero)
    return nullptr;
  if (toBits == 8 && (from.isF32() || from.isF16()))
    return encodeBytes(b, value, from, to);
  if (toBits == 8 && from.isBF16()) {
    llvm::Type *f32 =
        isPair(value) ? (llvm::Type *)llvm::FixedVectorType::get(b.getFloatTy(), 2) : b.getFloatTy();
    return encodeBytes(b, b.CreateFPExt(value, f32), Float32Type::get(to.getContext()), to);
  }
  if (fromBits != 8 || toBits == 8)
    return nullptr;
  if (to.isBF16()) {
    Type f32 = Float32Type::get(to.getContext());
    return narrow(b, decodeBytes(b, value, from, f32), to, false);
  }
  return to.isF16() || to.isF32() ? decodeBytes(b, value, from, to) : nullptr;
}

// f32 -> bytes. From Hopper on the assembler makes one instruction of both steps, for two elements, and of a
// rounding ahead of them.
llvm::Value *toBytes(Builder &b, llvm::Value *value, bool isSigned) {
  auto whole = [&](llvm::Value *number) -> llvm::Value * {
    return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_f2i_rz, {number});
  };
  llvm::Type *word = b.getInt32Ty();
  const std::string text = "cvt.pack.sat." + std::string(isSigned ? "s8" : "u8") + ".s32.b32 $0, $1, $2, 0;";
  auto *pack =
      llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word}, false), text, "=r,r,r", false);
  llvm::Value *above = isPair(value) ? whole(high(b, value)) : b.getInt32(0);
  llvm::Value *bytes = b.CreateCall(pack, {above, whole(low(b, value))});
  return isPair(value) ? b.CreateBitCast(b.CreateTrunc(bytes, b.getInt16Ty()),
                                         llvm::FixedVectorType::get(b.getInt8Ty(), 2))
                       : b.CreateTrunc(bytes, b.getInt8Ty());
}

// cvt saturates, and gives 0 for NaN where both are of 32 bits at most.
llvm::Value *toInteger(Builder &b, llvm::Value *value, Type from, IntegerType to) {
  bool isSigned = to.isSigned(), isLong = to.getWidth() == 64;
  if (to.getWidth() == 8 && from.isF32())
    return toBytes(b, value, isSigned);
  if (isPair(value) || !(from.isF32() || (from.isF64() && to.getWidth() >= 32)))
    return nullptr;
  if (to.getWidth() == 16) { // LLVM's own conversion says nothing of what is out of range
    auto *type = llvm::FunctionType::get(b.getInt16Ty(), {b.getFloatTy()}, false);
    const char *text = isSigned ? "cvt.rzi.s16.f32 $0, $1;" : "cvt.rzi.u16.f32 $0, $1;";
    return b.CreateCall(llvm::InlineAsm::get(type, text, "=h,f", false), {value});
  }
  if (to.getWidth() < 32)
    return nullptr;
  llvm::Intrinsic::ID id;
  if (from.isF32())
    id = isLong ? (isSigned ? llvm::Intrinsic::nvvm_f2ll_rz : llvm::Intrinsic::nvvm_f2ull_rz)
                : (isSigned ? llvm::Intrinsic::nvvm_f2i_rz : llvm::Intrinsic::nvvm_f2ui_rz);
  else
    id = isLong ? (isSigned ? llvm::Intrinsic::nvvm_d2ll_rz : llvm::Intrinsic::nvvm_d2ull_rz)
                : (isSigned ? llvm::Intrinsic::nvvm_d2i_rz : llvm::Intrinsic::nvvm_d2ui_rz);
  llvm::Value *result = b.CreateIntrinsic(b.getIntNTy(to.getWidth()), id, {value});
  if (from.isF32() && !isLong)
    return result;
  return b.CreateSelect(b.CreateFCmpUNO(value, value), llvm::Constant::getNullValue(result->getType()),
                        result);
}

// Integers become floats without the instruction for it (but for 32 bits to f32): its unit takes 16 a cycle
// of a multiprocessor. Their bits are put below those of a power of two whose last place counts 1, and the
// power is subtracted, which is exact. Of signed ones the sign is turned over first, which adds half of the
// range.

// Bytes of two words: a digit of the selector is 0 to 3 for one of the first, 4 to 7 of the second.
llvm::Value *permuted(Builder &b, llvm::Value *low, llvm::Value *high, unsigned selector) {
  return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_prmt, {low, high, b.getInt32(selector)});
}

llvm::Value *pairOf(Builder &b, llvm::Value *word, llvm::Type *element) {
  return b.CreateBitCast(word, llvm::FixedVectorType::get(element, 2));
}

llvm::Value *less(Builder &b, llvm::Value *value, double power) {
  return b.CreateFSub(value, llvm::ConstantFP::get(value->getType(), power));
}

// An integer in a word: where it begins, and which word. Bytes that were loaded together are in one, also
// behind bitwise steps that are the same for all of them.
struct InWord {
  llvm::Value *word;
  unsigned byte = 0;
  llvm::Value *loaded = nullptr; // the vector, and its first byte in the word
  int first = 0;
  llvm::SmallVector<std::pair<unsigned, uint32_t>, 2> steps = {}; // opcodes and their constants
  unsigned bias = 0;                                              // by which the byte is above the integer
  bool isBeside(const InWord &other) const {
    return loaded && loaded == other.loaded && first == other.first && steps == other.steps;
  }
};

// A byte that was loaded beside others.
std::optional<InWord> loadedByte(Builder &b, llvm::Value *byte) {
  auto taken = dyn_cast<llvm::ExtractElementInst>(byte);
  auto index = taken ? dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
  if (!index || !byte->getType()->isIntegerTy(8))
    return std::nullopt;
  llvm::Value *bytes = taken->getVectorOperand();
  unsigned count = cast<llvm::FixedVectorType>(bytes->getType())->getNumElements();
  auto at = int(index->getZExtValue()), first = at / 4 * 4;
  if (count == 2)
    return InWord{b.CreateZExt(b.CreateBitCast(bytes, b.getInt16Ty()), b.getInt32Ty()), unsigned(at), bytes};
  if (count % 4 != 0)
    return std::nullopt;
  llvm::Value *four =
      count == 4 ? bytes : b.CreateShuffleVector(bytes, {first, first + 1, first + 2, first + 3});
  return InWord{b.CreateBitCast(four, b.getInt32Ty()), unsigned(at - first), bytes, first};
}

// The constant that the op has on its right, if it is such an op.
std::optional<uint64_t> constantOf(llvm::Value *value, std::initializer_list<unsigned> opcodes) {
  auto op = dyn_cast<llvm::BinaryOperator>(value);
  auto constant = op ? dyn_cast<llvm::ConstantInt>(op->getOperand(1)) : nullptr;
  if (!constant || !llvm::is_contained(opcodes, op->getOpcode()))
    return std::nullopt;
  return constant->getZExtValue();
}

// A byte behind bitwise steps, in 8 bits or more, whose result is that of the steps in 8 bits. They are done
// in the word: for four bytes at once.
std::optional<InWord> byteOf(Builder &b, llvm::Value *integer) {
  using llvm::Instruction;
  auto step = [&](std::optional<InWord> in, unsigned opcode, uint64_t number) -> std::optional<InWord> {
    if (!in || in->bias)
      return std::nullopt;
    uint64_t kept = number;
    if (opcode == Instruction::LShr) {
      in->word = b.CreateLShr(in->word, number);
      kept = 0xFF >> number;
    } else if (opcode == Instruction::Shl) {
      in->word = b.CreateShl(in->word, number);
      kept = 0xFF << number & 0xFF;
    }
    in->word = b.CreateAnd(in->word, b.getInt32(uint32_t(kept * 0x01010101)));
    in->steps.push_back({opcode, uint32_t(number)});
    return in;
  };
  auto narrowed = [](llvm::Value *value) {
    bool isWidened = isa<llvm::ZExtInst, llvm::SExtInst>(value);
    llvm::Value *inner = isWidened ? cast<llvm::CastInst>(value)->getOperand(0) : value;
    return inner->getType()->isIntegerTy(8) ? inner : value;
  };
  auto operand = [](llvm::Value *value) { return cast<llvm::User>(value)->getOperand(0); };
  bool isByte = integer->getType()->isIntegerTy(8);
  if (auto mask = constantOf(integer, {Instruction::And}); mask && *mask <= 0xFF) {
    llvm::Value *before = operand(integer);
    auto places = constantOf(before, {Instruction::AShr, Instruction::LShr});
    if (places && *places < 8 && *mask <= 0xFFu >> *places) // no sign is left, and nothing from beyond a byte
      return step(step(byteOf(b, narrowed(operand(before))), Instruction::LShr, *places), Instruction::And,
                  *mask);
    return step(byteOf(b, narrowed(before)), Instruction::And, *mask);
  }
  if (auto places = constantOf(integer, {Instruction::LShr}); places && *places < 8)
    return step(byteOf(b, operand(integer)), Instruction::LShr, *places);
  if (auto places = constantOf(integer, {Instruction::Shl}); places && *places < 8 && isByte)
    return step(byteOf(b, operand(integer)), Instruction::Shl, *places);
  if (auto places = constantOf(integer, {Instruction::AShr}); places && *places < 8 && isByte) {
    std::optional<InWord> in = step(byteOf(b, operand(integer)), Instruction::LShr, *places);
    if (in) {
      in->bias = 0x80u >> *places; // the sign is turned over
      in->word = b.CreateXor(in->word, b.getInt32(in->bias * 0x01010101));
      in->steps.push_back({Instruction::Xor, in->bias});
    }
    return in;
  }
  if (auto wide = dyn_cast<llvm::ZExtInst>(integer))
    return wide->getOperand(0)->getType()->isIntegerTy(8)
               ? step(byteOf(b, wide->getOperand(0)), Instruction::And, 0xFF)
               : std::nullopt;
  return loadedByte(b, integer);
}

// Is the number made of one that comes from several blocks, as near as LLVM looks, which is not behind
// memory? While code is emitted a loop's number has the value of the first trip alone, and would be taken for
// it.
bool restsOnPhi(llvm::Value *number) {
  llvm::SmallPtrSet<llvm::Value *, 16> seen{number};
  llvm::SmallVector<llvm::Value *, 16> level{number}, next;
  for (unsigned depth = 0; depth <= llvm::MaxAnalysisRecursionDepth && !level.empty(); ++depth) {
    next.clear();
    for (llvm::Value *each : level) {
      if (isa<llvm::PHINode>(each))
        return true;
      auto *instruction = dyn_cast<llvm::Instruction>(each);
      auto *call = dyn_cast<llvm::CallBase>(each);
      bool isOpaque = isa<llvm::LoadInst>(each) || (call && !isa<llvm::IntrinsicInst>(call));
      if (instruction && !isOpaque)
        for (llvm::Value *operand : instruction->operands())
          if (seen.insert(operand).second)
            next.push_back(operand);
    }
    std::swap(level, next);
  }
  return false;
}

// The numbers that it may be, whatever comes from other blocks. As deep as `restsOnPhi` looks.
llvm::ConstantRange rangeOf(llvm::Value *number, const llvm::DataLayout &layout) {
  using llvm::ConstantRange;
  const unsigned bits = number->getType()->getIntegerBitWidth();
  if (!restsOnPhi(number)) {
    unsigned own = bits + 1 - llvm::ComputeNumSignBits(number, layout);
    llvm::APInt bound = llvm::APInt::getOneBitSet(bits, own - 1);
    ConstantRange ofSigns = own == bits ? ConstantRange::getFull(bits) : ConstantRange(-bound, bound);
    return ConstantRange::fromKnownBits(llvm::computeKnownBits(number, layout), false).intersectWith(ofSigns);
  }
  if (isa<llvm::ZExtInst, llvm::SExtInst, llvm::TruncInst>(number)) {
    auto *cast = llvm::cast<llvm::CastInst>(number);
    return rangeOf(cast->getOperand(0), layout).castOp(cast->getOpcode(), bits);
  }
  auto *op = dyn_cast<llvm::BinaryOperator>(number);
  auto *constant = op ? dyn_cast<llvm::ConstantInt>(op->getOperand(1)) : nullptr;
  if (!constant)
    return ConstantRange::getFull(bits);
  return rangeOf(op->getOperand(0), layout).binaryOp(op->getOpcode(), constant->getValue());
}

bool isBelow128(Builder &b, llvm::Value *integer) {
  return rangeOf(integer, b.GetInsertBlock()->getModule()->getDataLayout()).getActiveBits() < 8;
}

// A byte, or what holds one, as it is in a word.
InWord wordOf(Builder &b, llvm::Value *integer, bool isSigned) {
  std::optional<InWord> in = byteOf(b, integer);
  return in && (!in->bias || isSigned) ? *in : InWord{b.CreateZExt(integer, b.getInt32Ty())};
}

// The same with a bias, if the byte may be below zero.
InWord biasedWordOf(Builder &b, llvm::Value *integer, bool isSigned) {
  InWord in = wordOf(b, integer, isSigned);
  if (isSigned && !in.bias && !isBelow128(b, integer)) {
    in.bias = 0x80;
    in.word = b.CreateXor(in.word, b.getInt32(0x80808080)); // once for all four
    in.steps.push_back({llvm::Instruction::Xor, in.bias});
  }
  return in;
}

// An integer of 8 or 16 bits -> f32.
llvm::Value *toFloat(Builder &b, llvm::Value *integer, bool isSigned) {
  llvm::Value *power = b.getInt32(0x4B000000);
  if (integer->getType()->isIntegerTy(8)) {
    InWord in = biasedWordOf(b, integer, isSigned);
    llvm::Value *word = permuted(b, in.word, power, 0x7440 | in.byte);
    return less(b, b.CreateBitCast(word, b.getFloatTy()), 0x1p23 + in.bias);
  }
  uint32_t half = isSigned ? 0x8000 : 0;
  llvm::Value *word = permuted(b, b.CreateZExt(integer, b.getInt32Ty()), power, 0x7410);
  if (isSigned)
    word = b.CreateXor(word, b.getInt32(half));
  return less(b, b.CreateBitCast(word, b.getFloatTy()), 0x1p23 + half);
}

// Two bytes as the lower ones of a word's halves, whose upper ones are `fill`.
llvm::Value *spread(Builder &b, const InWord &first, const InWord &second, uint32_t fill) {
  if (first.isBeside(second))
    return permuted(b, first.word, b.getInt32(fill), 0x4040 | second.byte << 8 | first.byte);
  llvm::Value *word = permuted(b, first.word, second.word, 0x4040 | (4 + second.byte) << 8 | first.byte);
  word = b.CreateAnd(word, b.getInt32(0x00FF00FF));
  return b.CreateOr(word, b.getInt32(fill << 8 | fill << 24));
}

// The same as floats, of whose power of two the fraction's last place is 1.
llvm::Value *bytesBelowPower(Builder &b, const InWord &first, const InWord &second, llvm::Type *element) {
  bool isHalf = element->isHalfTy();
  double power = isHalf ? 0x1p10 : 0x1p7;
  llvm::Value *pair = pairOf(b, spread(b, first, second, isHalf ? 0x64 : 0x43), element);
  llvm::Constant *most[] = {llvm::ConstantFP::get(element, power + first.bias),
                            llvm::ConstantFP::get(element, power + second.bias)};
  return b.CreateFSub(pair, llvm::ConstantVector::get(most));
}

// Two bytes -> f16 or bf16.
llvm::Value *fromBytes(Builder &b, llvm::Value *first, llvm::Value *second, bool isSigned, bool isHalf) {
  if (isHalf)
    return bytesBelowPower(b, biasedWordOf(b, first, isSigned), biasedWordOf(b, second, isSigned),
                           b.getHalfTy());
  InWord words[] = {wordOf(b, first, isSigned), wordOf(b, second, isSigned)};
  auto isShort = [&](const InWord &in, llvm::Value *byte) { return in.bias || isBelow128(b, byte); };
  if (isShort(words[0], first) && isShort(words[1], second))
    return bytesBelowPower(b, words[0], words[1], b.getBFloatTy());
  // The fraction has 7 bits: the eighth chooses between two powers.
  for (auto [in, byte] : {std::pair(&words[0], first), std::pair(&words[1], second)})
    if (in->bias)
      *in = InWord{b.CreateZExt(byte, b.getInt32Ty())};
  llvm::Value *word = spread(b, words[0], words[1], 0x43);
  auto only = [&](uint32_t mask) { return pairOf(b, b.CreateAnd(word, b.getInt32(mask)), b.getBFloatTy()); };
  llvm::Value *low = only(0xFF7FFF7F), *high = only(0xFF80FF80); // 128 + the rest; 128 or 256
  return isSigned ? b.CreateFSub(low, high) : b.CreateFAdd(low, less(b, high, 256));
}

// So many bits hold the integer, one of them its sign if it may be negative.
unsigned bitsTaken(llvm::Value *integer, bool isSigned, const llvm::DataLayout &layout) {
  llvm::ConstantRange range = rangeOf(integer, layout);
  return isSigned ? range.getMinSignedBits() : range.getActiveBits();
}

// Two integers of 8, 16 or 32 bits -> f16 or bf16, if nothing is rounded ahead of that; else null.
llvm::Value *fromIntegers(Builder &b, llvm::ArrayRef<llvm::Value *> integers, bool isSigned, Type to,
                          unsigned capability) {
  bool areBytes = integers[0]->getType()->isIntegerTy(8), hasPairs = to.isF16() || capability >= 90;
  const llvm::DataLayout &layout = b.GetInsertBlock()->getModule()->getDataLayout();
  unsigned bits = 0, fraction = to.isF16() ? 10 : 7;
  for (llvm::Value *each : integers)
    bits = std::max(bits, bitsTaken(each, isSigned, layout));
  // Wider ones that hold bytes are not negative.
  auto holdsByte = [&](llvm::Value *each) { return byteOf(b, each).has_value(); };
  if (hasPairs && (areBytes || (bits <= 9 && llvm::all_of(integers, holdsByte))))
    return fromBytes(b, integers[0], integers[1], areBytes && isSigned, to.isF16());
  if (bits <= fraction && hasPairs) {
    uint32_t power = to.isF16() ? 0x6400 : 0x4300, half = isSigned ? 1u << (fraction - 1) : 0;
    llvm::Value *word = permuted(b, b.CreateZExt(integers[0], b.getInt32Ty()),
                                 b.CreateZExt(integers[1], b.getInt32Ty()), 0x5410);
    if (isSigned)
      word = b.CreateAnd(word, b.getInt32(((1u << fraction) - 1) * 0x10001));
    word = b.CreateXor(word, b.getInt32((power | half) * 0x10001));
    return less(b, pairOf(b, word, to.isF16() ? b.getHalfTy() : b.getBFloatTy()), (1u << fraction) + half);
  }
  if (bits > 24 || capability < 80) // to narrow a pair
    return nullptr;
  llvm::Value *floats = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getFloatTy(), 2));
  for (auto [i, each] : llvm::enumerate(integers)) {
    llvm::Value *one = !each->getType()->isIntegerTy(32) ? toFloat(b, each, isSigned)
                       : isSigned                        ? b.CreateSIToFP(each, b.getFloatTy())
                                                         : b.CreateUIToFP(each, b.getFloatTy());
    floats = b.CreateInsertElement(floats, one, i);
  }
  return narrow(b, floats, to, false);
}

llvm::Value *fromInteger(Builder &b, llvm::Value *value, IntegerType from, Type to, unsigned capability) {
  bool isSigned = from.isSigned();
  if (isPair(value))
    return fromIntegers(b, {llvm::findScalarElement(value, 0), llvm::findScalarElement(value, 1)}, isSigned,
                        to, capability);
  if ((from.getWidth() == 8 || from.getWidth() == 16) && to.isF32())
    return toFloat(b, value, isSigned);
  if (!(to.isF16() || (to.isBF16() && capability >= 90)))
    return nullptr;
  llvm::Type *element = to.isF16() ? b.getHalfTy() : b.getBFloatTy();
  return isSigned ? b.CreateSIToFP(value, element) : b.CreateUIToFP(value, element);
}

} // namespace

llvm::Value *convert(Builder &b, llvm::Value *value, Type from, Type to, bool towardZero,
                     unsigned capability) {
  if (auto integer = dyn_cast<IntegerType>(to))
    return toInteger(b, value, from, integer);
  if (auto integer = dyn_cast<IntegerType>(from))
    return fromInteger(b, value, integer, to, capability);
  return betweenFloats(b, value, from, to, towardZero, capability);
}

} // namespace tegula::nvidia
