// Conversions between floats and from integers, compiled for this machine and compared with APFloat: all
// values of 8 and 16 bits, and floats around every place where a rounding changes.
#include "codegen/llvm/Arithmetic.h"
#include "codegen/llvm/Target.h"
#include "runtime/LoadedCode.h"

#include "llvm/ADT/APFloat.h"
#include <gtest/gtest.h>
#include <random>

using namespace tegula;
using llvm::APFloat;

namespace {

const llvm::fltSemantics &semantics(mlir::Type type) {
  return cast<mlir::FloatType>(type).getFloatSemantics();
}

llvm::Type *llvmType(llvm::LLVMContext &context, mlir::Type type) {
  if (type.isF64())
    return llvm::Type::getDoubleTy(context);
  if (type.isF32())
    return llvm::Type::getFloatTy(context);
  if (type.isF16())
    return llvm::Type::getHalfTy(context);
  if (type.isBF16())
    return llvm::Type::getBFloatTy(context);
  return llvm::IntegerType::get(context, type.getIntOrFloatBitWidth());
}

using Emit = llvm::function_ref<llvm::Value *(llvm::IRBuilder<> &, llvm::Value *)>;

// Runs the conversion of numbers of `from` bits to numbers of `to` bits on all of `inputs`.
std::vector<uint64_t> run(llvm::Type *(*typeOf)(llvm::LLVMContext &, mlir::Type), mlir::Type from,
                          mlir::Type to, const std::vector<uint64_t> &inputs, Emit emit) {
  auto machine = codegen::makeHostMachine("");
  if (!machine.ok()) {
    ADD_FAILURE() << machine.status().message;
    return {};
  }
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  llvm::IRBuilder<> b(context);
  auto *function = llvm::Function::Create(llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false),
                                          llvm::GlobalValue::ExternalLinkage, "convert", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  llvm::Value *value =
      b.CreateBitCast(b.CreateTrunc(function->getArg(0), b.getIntNTy(fromBits)), typeOf(context, from));
  llvm::Value *result = b.CreateBitCast(emit(b, value), b.getIntNTy(toBits));
  b.CreateRet(b.CreateZExt(result, b.getInt64Ty()));
  EXPECT_TRUE(codegen::optimize(module, **machine).ok());
  auto object = codegen::emitObject(module, **machine);
  auto loaded = object.ok() ? runtime::LoadedCode::load(*object)
                            : Result<std::unique_ptr<runtime::LoadedCode>>(object.status());
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.status().message;
    return {};
  }
  auto call = reinterpret_cast<uint64_t (*)(uint64_t)>((*loaded)->address("convert"));
  std::vector<uint64_t> outputs;
  for (uint64_t input : inputs)
    outputs.push_back(call(input));
  return outputs;
}

// Of up to 16 bits all, of more: each exponent with mantissas near the ends of a place, and random ones.
std::vector<uint64_t> inputsOf(mlir::Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  std::vector<uint64_t> inputs;
  if (bits <= 16) {
    for (uint64_t i = 0; i < uint64_t(1) << bits; ++i)
      inputs.push_back(i);
    return inputs;
  }
  unsigned mantissa = bits == 64 ? 52 : 23;
  std::mt19937_64 random(1);
  for (uint64_t exponent = 0; exponent < uint64_t(1) << (bits - 1 - mantissa); ++exponent)
    for (int i = 0; i < 80; ++i) {
      uint64_t one = 1, place = one << (random() % mantissa);
      uint64_t fraction = i % 4 == 0 ? random() : (random() & ~(2 * place - 1)) + place + (i % 4) - 2;
      uint64_t sign = random() & one << (bits - 1);
      inputs.push_back(sign | exponent << mantissa | (fraction & ((one << mantissa) - 1)));
    }
  return inputs;
}

uint64_t expected(mlir::Type from, mlir::Type to, uint64_t bits, bool towardZero) {
  APFloat value(semantics(from), llvm::APInt(from.getIntOrFloatBitWidth(), bits));
  bool isNan = value.isNaN(), inexact;
  value.convert(semantics(to), towardZero ? APFloat::rmTowardZero : APFloat::rmNearestTiesToEven, &inexact);
  if (to.getIntOrFloatBitWidth() == 8 && !isNan && !value.isFinite())
    value = APFloat::getLargest(semantics(to), value.isNegative());
  return value.bitcastToAPInt().getZExtValue();
}

class Conversions : public testing::Test {
protected:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::Builder builder{&context};
  std::vector<mlir::Type> floats{builder.getType<mlir::Float8E4M3FNType>(),
                                 builder.getType<mlir::Float8E5M2Type>(),
                                 builder.getF16Type(),
                                 builder.getBF16Type(),
                                 builder.getF32Type(),
                                 builder.getF64Type()};

  void check(mlir::Type from, mlir::Type to, bool towardZero) {
    auto inputs = inputsOf(from);
    auto outputs = run(llvmType, from, to, inputs, [&](llvm::IRBuilder<> &b, llvm::Value *value) {
      return codegen::convertFloat(b, value, from, to, llvmType(b.getContext(), to), towardZero);
    });
    ASSERT_EQ(inputs.size(), outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      APFloat result(semantics(to), llvm::APInt(to.getIntOrFloatBitWidth(), outputs[i]));
      uint64_t wanted = expected(from, to, inputs[i], towardZero);
      if (result.isNaN() && APFloat(semantics(to), llvm::APInt(to.getIntOrFloatBitWidth(), wanted)).isNaN())
        continue;
      std::string types;
      llvm::raw_string_ostream(types) << from << " to " << to << (towardZero ? " toward zero" : "");
      ASSERT_EQ(outputs[i], wanted) << types << " of bits " << std::hex << inputs[i];
    }
  }
};

TEST_F(Conversions, BetweenFloatsRoundOnceToNearest) {
  for (mlir::Type from : floats)
    for (mlir::Type to : floats)
      if (from != to)
        check(from, to, false);
}

TEST_F(Conversions, BetweenFloatsRoundTowardZero) {
  for (mlir::Type from : floats)
    for (mlir::Type to : floats)
      if (to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth())
        check(from, to, true);
}

TEST_F(Conversions, OfIntegersRoundOnce) {
  std::mt19937_64 random(2);
  for (mlir::Type to : {floats[2], floats[3], floats[4], floats[5]})
    for (unsigned bits : {8u, 16u, 32u, 64u})
      for (bool isSigned : {true, false}) {
        std::vector<uint64_t> inputs{0, 1, ~uint64_t(0), uint64_t(1) << (bits - 1)};
        for (int i = 0; i < 8000; ++i) {
          uint64_t number = random() >> random() % 64;
          inputs.push_back(i % 2 ? number : (number & ~(number >> 12)) + (random() % 3) - 1);
        }
        auto outputs = run(llvmType, builder.getIntegerType(bits), to, inputs,
                           [&](llvm::IRBuilder<> &b, llvm::Value *value) {
                             return codegen::integerToFloat(b, value, llvmType(b.getContext(), to), isSigned);
                           });
        ASSERT_EQ(inputs.size(), outputs.size());
        for (size_t i = 0; i < inputs.size(); ++i) {
          APFloat value(semantics(to));
          value.convertFromAPInt(llvm::APInt(64, inputs[i]).trunc(bits), isSigned,
                                 APFloat::rmNearestTiesToEven);
          ASSERT_EQ(outputs[i], value.bitcastToAPInt().getZExtValue())
              << bits << " bits " << std::hex << inputs[i];
        }
      }
}

} // namespace
