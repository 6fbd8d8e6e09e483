// What the elementwise ops become: the instructions, and that the assembler takes them.
#include "Ptx.h"
#include "codegen/simt/WideProducts.h"

using namespace tegula;
using namespace tegula::test;

namespace {

std::string unary(const std::string &op, const std::string &type, const std::string &arch = "sm_90a",
                  bool paired = false) {
  return ptx("%a: " + type, "%r = " + op + " %a : " + type, arch, paired);
}
std::string binary(const std::string &op, const std::string &type, const std::string &arch = "sm_90a",
                   bool paired = false) {
  return ptx("%a: " + type + ", %b: " + type, "%r = " + op + " %a, %b : " + type, arch, paired);
}
std::string convert(const std::string &op, const std::string &from, const std::string &to,
                    const std::string &arch = "sm_90a", bool paired = false) {
  std::string arrow = op == "tt.fp_to_fp" ? " -> " : " to ";
  return ptx("%a: " + from, "%r = " + op + " %a : " + from + arrow + to, arch, paired);
}

#define EXPECT_HAS(text, part) EXPECT_EQ(count(text, part), 1u) << text
#define EXPECT_LACKS(text, part) EXPECT_EQ(count(text, part), 0u) << text

TEST(Floats, ProductAndSumOfF32Contract) {
  std::string text =
      ptx("%a: f32, %b: f32, %c: f32", "%p = arith.mulf %a, %b : f32\n%s = arith.addf %p, %c : f32");
  EXPECT_HAS(text, "fma.rn.f32");
  EXPECT_LACKS(text, "mul.");
}

TEST(Floats, ProductAndSumOfF16RoundEach) {
  std::string text = ptx("%a: f16, %b: f16, %c: f16",
                         "%p = arith.mulf %a, %b : f16\n%s = arith.addf %p, %c : f16", "sm_90a", true);
  EXPECT_HAS(text, "mul.rn.f16x2");
  EXPECT_HAS(text, "add.rn.f16x2");
}

TEST(Floats, PairsOfBf16AreNativeFromSm90) {
  EXPECT_HAS(binary("arith.addf", "bf16", "sm_90a", true), "add.rn.bf16x2");
  EXPECT_HAS(binary("arith.addf", "bf16", "sm_80", true), "fma.rn.bf16x2");
  EXPECT_EQ(count(binary("arith.addf", "bf16", "sm_75", true), "add.rn.f32"), 2u);
}

TEST(Floats, MaximumKeepsNanAndMaxnumDoesNot) {
  EXPECT_HAS(binary("arith.maximumf", "f32"), "max.NaN.f32");
  EXPECT_HAS(binary("arith.maxnumf", "f32"), "max.f32");
  EXPECT_HAS(binary("arith.maxnumf", "bf16", "sm_90a", true), "max.bf16x2");
}

TEST(Floats, DivisionIsFastAndPreciseDivisionRounds) {
  EXPECT_HAS(binary("arith.divf", "f32"), "div.full.f32");
  EXPECT_HAS(binary("tt.precise_divf", "f32"), "div.rn.f32");
  EXPECT_HAS(binary("arith.divf", "f64"), "div.rn.f64");
  EXPECT_HAS(binary("arith.divf", "bf16"), "div.full.f32");
  EXPECT_HAS(binary("arith.divf", "f16"), "div.rn.f32"); // rounds as the exact quotient
}

TEST(Floats, RoundingInADirectionIsAnInstruction) {
  auto directed = [](const char *kind, const char *operands, const char *types, const char *type) {
    return ptx(std::string("%a: ") + type + ", %b: " + type + ", %c: " + type,
               std::string("%r = tt.directed ") + kind + " " + operands + " : " + types + " -> " + type);
  };
  EXPECT_HAS(directed("add rz", "%a, %b", "f32, f32", "f32"), "add.rz.f32");
  EXPECT_HAS(directed("mul rd", "%a, %b", "f64, f64", "f64"), "mul.rm.f64");
  EXPECT_HAS(directed("fma ru", "%a, %b, %c", "f32, f32, f32", "f32"), "fma.rp.f32");
  EXPECT_HAS(directed("div ru", "%a, %b", "f64, f64", "f64"), "div.rp.f64");
  EXPECT_HAS(directed("sqrt rd", "%a", "f32", "f32"), "sqrt.rm.f32");
}

TEST(Floats, RemainderIsExact) {
  std::string text = binary("arith.remf", "f32");
  EXPECT_GE(count(text, "tgm_fmod_f32"), 2u) << text;
  EXPECT_LACKS(text, ".extern");
}

TEST(Functions, ExpIsOneProductAndOneInstruction) {
  std::string text = unary("math.exp", "f32");
  EXPECT_HAS(text, "ex2.approx.ftz.f32");
  EXPECT_HAS(text, "mul");
  EXPECT_EQ(count(text, "%r3"), 2u) << text; // parameter, product, result; nothing else
}

TEST(Functions, RootsAndPowersAreInstructions) {
  EXPECT_HAS(unary("math.exp2", "f32"), "ex2.approx.ftz.f32");
  EXPECT_HAS(unary("math.rsqrt", "f32"), "rsqrt.approx.f32");
  EXPECT_HAS(unary("math.sqrt", "f32"), "sqrt.approx.f32");
  EXPECT_HAS(unary("tt.precise_sqrt", "f32"), "sqrt.rn.f32");
  EXPECT_HAS(unary("math.sqrt", "f64"), "sqrt.rn.f64");
}

TEST(Functions, FastOnesAreApproximateInstructions) {
  auto fast = [](const char *function, const char *arch = "sm_90a") {
    return ptx("%a: f32", std::string("%r = math.") + function + " %a fastmath<afn> : f32", arch);
  };
  EXPECT_HAS(fast("sin"), "sin.approx.ftz.f32");
  EXPECT_HAS(fast("cos"), "cos.approx.ftz.f32");
  EXPECT_HAS(fast("tan"), "div.approx.ftz.f32");
  EXPECT_HAS(fast("exp"), "ex2.approx.ftz.f32");
  EXPECT_HAS(fast("log"), "lg2.approx.ftz.f32");
  EXPECT_HAS(fast("log2"), "lg2.approx.ftz.f32");
  EXPECT_HAS(fast("log10"), "lg2.approx.ftz.f32");
  EXPECT_HAS(fast("tanh"), "tanh.approx.f32");
  EXPECT_LACKS(fast("tanh", "sm_70"), "tanh.approx.f32");
  EXPECT_HAS(ptx("%a: f32, %b: f32", "%r = arith.divf %a, %b fastmath<afn> : f32"), "div.approx.ftz.f32");
  std::string power = ptx("%a: f32, %b: f32", "%r = math.powf %a, %b fastmath<afn> : f32");
  EXPECT_HAS(power, "lg2.approx.ftz.f32");
  EXPECT_HAS(power, "ex2.approx.ftz.f32");
  std::string ofTen =
      ptx("%b: f32", "%a = arith.constant 10.0 : f32\n%r = math.powf %a, %b fastmath<afn> : f32");
  EXPECT_LACKS(ofTen, "lg2.approx.ftz.f32"); // of a constant the compiler takes it
}

TEST(Functions, OthersComeFromTheLibraryInline) {
  for (const char *function : {"sin", "cos", "tan", "tanh", "erf", "expm1", "log1p", "asin", "atan", "sinh",
                               "cosh", "cbrt", "acosh", "erfc"})
    for (const char *type : {"f32", "f64", "f16", "bf16"})
      EXPECT_LACKS(unary(std::string("math.") + function, type), ".extern");
}

TEST(Functions, WhatTheLibraryLacksIsKnown) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>("tt.func @k(%a: f32, %i: i32) {\n%r = math.fpowi %a, %i : f32, "
                                              "i32\n%s = math.tanh %a : f32\n%t = math.ctpop %i : i32\n"
                                              "%u = math.cttz %i : i32\ntt.return\n}\n",
                                              &context);
  ASSERT_TRUE(module);
  std::string known;
  module->walk([&](mlir::Operation *op) {
    if (isa<mlir::math::MathDialect>(op->getDialect()))
      known += simt::hasFunction(op) ? '1' : '0';
  });
  EXPECT_EQ(known, "0110");
}

TEST(Integers, PhiloxStepIsWideProducts) {
  std::string body =
      "%m = arith.constant -766435501 : i32\n%h = tt.mulhiui %a, %m : i32\n%l = arith.muli %a, %m : i32\n"
      "%x = arith.xori %h, %b : i32\n%h2 = tt.mulhiui %m, %x : i32\n%l2 = arith.muli %x, %m : i32";
  std::string text = ptx("%a: i32, %b: i32", body, "sm_90a", false, [](llvm::Module &module) {
    for (llvm::Function &function : module)
      simt::shareWideProducts(function);
  });
  EXPECT_EQ(count(text, "mul.wide.u32"), 2u) << text;
  EXPECT_LACKS(text, "mul.lo");
  EXPECT_LACKS(text, "mul.hi");
}

TEST(Integers, DivisionHasNoUndefinedCases) {
  std::string text = binary("arith.divsi", "i32");
  EXPECT_HAS(text, "div.s32");
  EXPECT_GE(count(text, "selp"), 2u);
  EXPECT_LACKS(ptx("%a: i32", "%c = arith.constant 10 : i32\n%r = arith.divsi %a, %c : i32"), "div.");
}

TEST(Casts, SmallFloatsNarrowInPairs) {
  EXPECT_HAS(convert("arith.truncf", "f32", "f16", "sm_90a", true), "cvt.rn.f16x2.f32");
  EXPECT_HAS(convert("arith.truncf", "f32", "bf16", "sm_80", true), "cvt.rn.bf16x2.f32");
  EXPECT_HAS(convert("tt.fp_to_fp", "f32", "bf16", "sm_90a"), "cvt.rn.bf16.f32");
  EXPECT_LACKS(convert("arith.truncf", "f32", "bf16", "sm_75"), "cvt.rn.bf16");
}

TEST(Casts, EightBitFloatsHaveInstructionsFromSm89) {
  for (const char *format : {"e4m3", "e5m2"}) {
    std::string type = std::string(format) == "e4m3" ? "f8E4M3FN" : "f8E5M2";
    EXPECT_HAS(convert("tt.fp_to_fp", "f32", type, "sm_90a", true),
               "cvt.rn.satfinite." + std::string(format) + "x2.f32");
    EXPECT_HAS(convert("tt.fp_to_fp", "f16", type, "sm_90a", true),
               "cvt.rn.satfinite." + std::string(format) + "x2.f16x2");
    EXPECT_HAS(convert("tt.fp_to_fp", type, "f16", "sm_90a", true),
               "cvt.rn.f16x2." + std::string(format) + "x2");
    EXPECT_LACKS(convert("tt.fp_to_fp", "f32", type, "sm_80", true), std::string(format) + "x2");
  }
}

TEST(Casts, FloatToIntegerSaturatesByTheInstruction) {
  EXPECT_HAS(convert("arith.fptosi", "f32", "i32"), "cvt.rzi.s32.f32");
  EXPECT_LACKS(convert("arith.fptosi", "f32", "i32"), "selp");
  EXPECT_HAS(convert("arith.fptosi", "f32", "i64"), "selp"); // NaN
  EXPECT_HAS(convert("arith.fptoui", "f32", "i16"), "cvt.rzi.u16.f32");
  EXPECT_HAS(convert("arith.fptoui", "f32", "i8"), "cvt.pack.sat.u8.s32.b32");
  EXPECT_HAS(convert("arith.fptosi", "f16", "i8"), "cvt.pack.sat.s8.s32.b32");
}

std::string inlineAsm(const std::string &text, const std::string &constraints, const std::string &type,
                      int packed, bool pure) {
  return ptx("%a: " + type, "%r = tt.elementwise_inline_asm \"" + text + "\" {constraints = \"" +
                                constraints + "\", pure = " + (pure ? "true" : "false") +
                                ", packedElement = " + std::to_string(packed) + " : i32} %a : " + type +
                                " -> " + type);
}

TEST(InlineAsm, IsTheTextOnOneElement) {
  std::string text = inlineAsm("lop3.b32 $0, $1, $1, $1, 0x96;", "=r,r", "i32", 1, true);
  EXPECT_HAS(text, "lop3.b32");
  EXPECT_TRUE(assembles(text, "sm_90a"));
}

TEST(InlineAsm, PacksElementsIntoWords) {
  std::string text = inlineAsm("add.u32 $0, $1, 7;", "=r,r", "i8", 4, true);
  EXPECT_HAS(text, "add.u32"); // four bytes in one word
  EXPECT_TRUE(assembles(text, "sm_90a"));
  std::string halves =
      inlineAsm("{add.f16x2 $0, $2, $2; add.f16x2 $1, $3, $3;}", "=r,=r,r,r", "f16", 4, true);
  EXPECT_EQ(count(halves, "add.f16x2"), 2u);
  EXPECT_TRUE(assembles(halves, "sm_90a"));
  EXPECT_TRUE(assembles(inlineAsm("abs.f16 $0, $1;", "=h,h", "f16", 1, true), "sm_90a"));
}

TEST(InlineAsm, StaysWithSideEffects) {
  std::string twice = "%r = tt.elementwise_inline_asm \"activemask.b32 $0;\" {constraints = \"=r,r\", pure = "
                      "PURE, packedElement = 1 : i32} %a : i32 -> i32\n"
                      "%s = tt.elementwise_inline_asm \"activemask.b32 $0;\" {constraints = \"=r,r\", pure = "
                      "PURE, packedElement = 1 : i32} %a : i32 -> i32";
  auto with = [&](const std::string &pure) {
    std::string text = twice;
    for (size_t at; (at = text.find("PURE")) != std::string::npos;)
      text.replace(at, 4, pure);
    return count(ptx("%a: i32", text), "activemask");
  };
  EXPECT_EQ(with("true"), 1u);
  EXPECT_EQ(with("false"), 2u);
}

// Every op for every machine. What is not native there must still be code that assembles.
TEST(Assembler, TakesEveryOpOfEveryMachine) {
  for (const char *type : {"f16", "bf16", "f32", "f64"}) {
    std::string t = type, body;
    for (const char *op :
         {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maxnumf", "arith.minnumf",
          "arith.maximumf", "arith.minimumf", "tt.precise_divf", "math.copysign", "arith.remf"})
      body += "%" + std::string(1, 'c') + std::to_string(body.size()) + " = " + op + " %a, %b : " + t + "\n";
    for (const char *op : {"math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt",
                           "math.absf", "math.floor", "math.ceil", "math.trunc", "math.roundeven",
                           "math.round", "arith.negf", "tt.precise_sqrt"})
      body += "%c" + std::to_string(body.size()) + " = " + op + " %a : " + t + "\n";
    body += "%x = arith.cmpf olt, %a, %b : " + t + "\n%y = arith.select %x, %a, %b : " + t +
            "\n%z = math.fma %a, %b, %y : " + t + "\n%w = tt.clampf %a, %b, %z : " + t +
            "\n%v = tt.clampf %a, %b, %z propagate_nan : " + t + "\n";
    for (const char *i : {"i8", "i16", "i32", "i64"})
      for (const char *op : {"arith.fptosi", "arith.fptoui"})
        body += "%c" + std::to_string(body.size()) + " = " + op + " %a : " + t + " to " + i + "\n";
    for (const char *other : {"f8E4M3FN", "f8E5M2", "f16", "bf16", "f32"})
      if (t != other)
        body += "%c" + std::to_string(body.size()) + " = tt.fp_to_fp %a : " + t + " -> " + other + "\n%c" +
                std::to_string(body.size() + 1) + " = tt.fp_to_fp %a {rounding = 1 : i32} : " + t + " -> " +
                other + "\n";
    for (const char *arch : {"sm_75", "sm_80", "sm_90a", "sm_120"})
      EXPECT_TRUE(assembles(ptx("%a: " + t + ", %b: " + t, body, arch), arch)) << t << " " << arch;
  }
  for (const char *type : {"i8", "i16", "i32", "i64"}) {
    std::string t = type, body;
    for (const char *op : {"addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori", "xori",
                           "shli", "shrsi", "shrui", "maxsi", "minsi", "maxui", "minui"})
      body += "%c" + std::to_string(body.size()) + " = arith." + op + " %a, %b : " + t + "\n";
    body += "%h = tt.mulhiui %a, %b : " + t + "\n%p = math.ctpop %a : " + t + "\n%l = math.ctlz %a : " + t +
            "\n%n = math.absi %a : " + t + "\n";
    for (const char *f : {"f16", "bf16", "f32", "f64", "f8E4M3FN"})
      for (const char *op : {"arith.sitofp", "arith.uitofp"})
        body += "%c" + std::to_string(body.size()) + " = " + op + " %a : " + t + " to " + f + "\n";
    for (const char *arch : {"sm_75", "sm_80", "sm_90a", "sm_120"})
      EXPECT_TRUE(assembles(ptx("%a: " + t + ", %b: " + t, body, arch), arch)) << t << " " << arch;
  }
}

TEST(Assembler, TakesPairsOnEveryMachine) {
  for (const char *type : {"f16", "bf16"}) {
    std::string t = type, body;
    for (const char *op : {"arith.addf", "arith.subf", "arith.mulf", "arith.maxnumf", "arith.minimumf"})
      body += "%c" + std::to_string(body.size()) + " = " + op + " %a, %b : " + t + "\n";
    body += "%f = math.fma %a, %b, %a : " + t + "\n%n = arith.negf %a : " + t + "\n%d = math.absf %a : " + t +
            "\n%w = tt.clampf %a, %b, %f : " + t + "\n";
    for (const char *other : {"f8E4M3FN", "f8E5M2"})
      body += "%c" + std::to_string(body.size()) + " = tt.fp_to_fp %a : " + t + " -> " + other + "\n%d" +
              std::to_string(body.size()) + " = tt.fp_to_fp %c" + std::to_string(body.size()) + " : " +
              other + " -> " + t + "\n";
    for (const char *arch : {"sm_75", "sm_80", "sm_90a", "sm_120"})
      EXPECT_TRUE(assembles(ptx("%a: " + t + ", %b: " + t, body, arch, true), arch)) << t << " " << arch;
  }
}

} // namespace
