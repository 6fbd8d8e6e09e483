// The embedded bitcode is what a kernel can take in: every symbol of the table, vectors by value, no trace of
// the target it was compiled for, and nothing called but a closed list of LLVM intrinsics.
#include "mathlib/Mathlib.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include <array>
#include <gtest/gtest.h>

namespace tegula::mathlib {
namespace {

std::unique_ptr<llvm::Module> parse(llvm::LLVMContext &context) {
  std::span<const unsigned char> bytes = bitcode();
  llvm::StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(text, "mathlib"), context);
  EXPECT_TRUE(bool(module));
  return module ? std::move(*module) : nullptr;
}

void expectSignature(llvm::Module &module, const Function &row, unsigned bits, unsigned lanes) {
  std::string name = symbol(row.name, bits, lanes).value();
  llvm::Function *function = module.getFunction(name);
  ASSERT_NE(function, nullptr) << name;
  llvm::Type *element =
      bits == 32 ? llvm::Type::getFloatTy(module.getContext()) : llvm::Type::getDoubleTy(module.getContext());
  llvm::Type *type = lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
  EXPECT_EQ(function->getReturnType(), type) << name;
  ASSERT_EQ(function->arg_size(), row.arity) << name;
  for (llvm::Argument &argument : function->args())
    EXPECT_EQ(argument.getType(), type) << name;
  EXPECT_TRUE(function->hasFnAttribute(llvm::Attribute::AlwaysInline)) << name;
  EXPECT_TRUE(function->doesNotAccessMemory()) << name;
}

TEST(MathlibBitcode, HasEveryFunctionOfTheTableByValue) {
  llvm::LLVMContext context;
  auto module = parse(context);
  ASSERT_TRUE(module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  for (const Function &row : functions())
    for (auto [bits, has] : {std::pair(32u, row.hasF32), std::pair(64u, row.hasF64)})
      for (unsigned lanes : {1u, 2u, 4u, 8u, 16u})
        if (has && lanesAtMost(lanes, bits) == lanes)
          expectSignature(*module, row, bits, lanes);
}

TEST(MathlibBitcode, CarriesNothingOfATarget) {
  llvm::LLVMContext context;
  auto module = parse(context);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->getTargetTriple().str().empty());
  EXPECT_EQ(module->getNamedMetadata("llvm.module.flags"), nullptr);
  for (llvm::Function &function : *module)
    for (llvm::Attribute attribute : function.getAttributes().getFnAttrs())
      EXPECT_FALSE(attribute.isStringAttribute()) << function.getName().str() << attribute.getAsString();
}

TEST(MathlibBitcode, CallsOnlyIntrinsicsThatEveryTargetHasAsInstructions) {
  const std::array<llvm::StringRef, 13> allowed = {
      "llvm.fma.",       "llvm.fabs.",       "llvm.copysign.", "llvm.sqrt.", "llvm.smin.",
      "llvm.smax.",      "llvm.umin.",       "llvm.umax.",     "llvm.fshl.", "llvm.vector.reduce.or.",
      "llvm.roundeven.", "llvm.is.fpclass.", "llvm.ctlz."};
  llvm::LLVMContext context;
  auto module = parse(context);
  ASSERT_TRUE(module);
  for (llvm::Function &function : *module)
    if (function.isDeclaration())
      EXPECT_TRUE(llvm::any_of(allowed, [&](llvm::StringRef stem) {
        return function.getName().starts_with(stem);
      })) << function.getName().str();
}

TEST(MathlibBitcode, LinksLazilyAndBringsOnlyWhatIsNeeded) {
  llvm::LLVMContext context;
  llvm::Module kernel("kernel", context);
  llvm::Type *type = llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), 8);
  kernel.getOrInsertFunction("tgm_sin_f32x8", llvm::FunctionType::get(type, {type}, false));
  std::span<const unsigned char> bytes = bitcode();
  llvm::StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto library = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(text, "mathlib"), context);
  ASSERT_TRUE(bool(library));
  EXPECT_FALSE(llvm::Linker::linkModules(kernel, std::move(*library), llvm::Linker::LinkOnlyNeeded));
  for (const char *name : {"tgm_sin_f32x8", "tgm_reduce_pi_f32"}) {
    ASSERT_NE(kernel.getFunction(name), nullptr) << name;
    EXPECT_FALSE(kernel.getFunction(name)->isDeclaration()) << name;
  }
  EXPECT_EQ(kernel.getFunction("tgm_exp_f32x8"), nullptr);
  EXPECT_EQ(kernel.getFunction("tgm_reduce_pi_f64"), nullptr);
  EXPECT_FALSE(llvm::verifyModule(kernel, &llvm::errs()));
}

TEST(MathlibTable, NamesOnlyWhatExists) {
  EXPECT_EQ(symbol("exp", 32, 8), "tgm_exp_f32x8");
  EXPECT_EQ(symbol("exp", 32, 1), "tgm_exp_f32");
  EXPECT_EQ(symbol("exp", 32, 2), std::nullopt);
  EXPECT_EQ(symbol("exp", 16, 8), std::nullopt);
  EXPECT_EQ(symbol("gamma", 32, 8), std::nullopt);
  EXPECT_EQ(lanesAtMost(7, 32), 4u);
  EXPECT_EQ(lanesAtMost(64, 64), 8u);
}

} // namespace
} // namespace tegula::mathlib
