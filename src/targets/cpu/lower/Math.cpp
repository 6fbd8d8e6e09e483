// math: an LLVM intrinsic where the machine has the instruction, else a call into the vector
// math library, which is linked and inlined later. Never a call to libm.
#include "codegen/llvm/Arithmetic.h"
#include "ir/tile/Tile.h"
#include "mathlib/Mathlib.h"
#include "targets/cpu/ProgramEmitter.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::cpu {

namespace {

using Values = llvm::ArrayRef<llvm::Value *>;

// Ops that are one instruction or a short sequence of LLVM's own.
llvm::Intrinsic::ID intrinsicOf(Operation *op) {
  return isa<math::SqrtOp>(op) ? llvm::Intrinsic::sqrt : codegen::exactIntrinsic(op);
}

// A function of the library by its symbol for so many bits and lanes. `constants` follow the floats.
llvm::Value *callMathlib(ProgramEmitter &p, llvm::function_ref<std::string(unsigned, unsigned)> symbolOf,
                         Values v, Values constants = {}) {
  auto &b = p.builder;
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(v[0]->getType());
  unsigned lanes = vector ? vector->getNumElements() : 1;
  llvm::Type *element = v[0]->getType()->getScalarType();
  unsigned bits = element->getScalarSizeInBits();
  unsigned chunk = mathlib::lanesAtMost(lanes, bits);
  llvm::Type *type = chunk == 1 ? element : llvm::FixedVectorType::get(element, chunk);
  llvm::SmallVector<llvm::Type *, 5> parameters(v.size(), type);
  for (llvm::Value *constant : constants)
    parameters.push_back(constant->getType());
  llvm::FunctionCallee callee =
      p.module.getOrInsertFunction(symbolOf(bits, chunk), llvm::FunctionType::get(type, parameters, false));
  auto call = [&](llvm::SmallVector<llvm::Value *, 5> arguments) {
    llvm::append_range(arguments, constants);
    return b.CreateCall(callee, arguments);
  };
  if (chunk == lanes)
    return call({v.begin(), v.end()});
  // Wider than the library's widest: in pieces.
  llvm::Value *result = llvm::PoisonValue::get(v[0]->getType());
  for (unsigned at = 0; at < lanes; at += chunk) {
    llvm::SmallVector<llvm::Value *, 5> pieces;
    for (llvm::Value *operand : v)
      pieces.push_back(b.CreateExtractVector(type, operand, b.getInt64(at)));
    result = b.CreateInsertVector(v[0]->getType(), result, call(pieces), b.getInt64(at));
  }
  return result;
}

} // namespace

llvm::Value *lowerMath(ProgramEmitter &p, Operation *op, Values operands) {
  auto &b = p.builder;
  llvm::Type *element = operands[0]->getType()->getScalarType();
  llvm::SmallVector<llvm::Value *, 3> wide;
  for (llvm::Value *operand : operands)
    wide.push_back(toFloat(p, operand));
  llvm::Value *result;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  if (isa<math::FmaOp>(op))
    b.clearFastMathFlags(); // rounds once, also where one of its two steps folds away
  if (auto id = intrinsicOf(op); id != llvm::Intrinsic::not_intrinsic) {
    result = b.CreateIntrinsic(id, {wide[0]->getType()}, wide);
  } else if (isa<math::RsqrtOp>(op)) {
    llvm::Value *root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, wide[0]);
    result = b.CreateFDiv(llvm::ConstantFP::get(root->getType(), 1.0), root);
  } else {
    auto symbol = [&](unsigned bits, unsigned lanes) {
      return *mathlib::symbol(codegen::mathlibName(op), bits, lanes);
    };
    result = callMathlib(p, symbol, wide);
  }
  return element->isHalfTy() || element->isBFloatTy() ? roundTo(p, result, element) : result;
}

llvm::Value *lowerDirected(ProgramEmitter &p, Operation *op, Values operands) {
  auto directed = cast<DirectedOp>(op);
  auto constant = [&](auto number) { return p.builder.getInt32(uint32_t(number)); };
  llvm::SmallVector<llvm::Value *, 3> three(operands);
  three.resize(3, llvm::PoisonValue::get(operands[0]->getType()));
  return callMathlib(p, mathlib::directedSymbol, three,
                     {constant(directed.getKind()), constant(directed.getDirection())});
}

} // namespace tegula::cpu
