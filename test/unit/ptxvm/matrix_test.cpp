// The matrix instructions: fragments against the formulas of the PTX manual, sums, ldmatrix and its kin,
// and what goes wrong with them. Small integers are exact in every format and under every order of sums.
#include "Snippet.h"
#include "ptxvm/float/MatrixSum.h"

#include <cmath>
#include <functional>
#include <random>

namespace tegula::ptxvm {
namespace {

struct Place {
  int row, column;
};
using Map = std::function<Place(int i, int g, int t)>; // of element i of a lane; g = lane / 4, t = lane mod 4

// As the manual writes them, shape by shape; not as the machine computes them.
struct Shape {
  const char *name;
  int m, k, bits, countA, countB, countC;
  Map a, b, c;
};

const Map wideC = [](int i, int g, int t) { return Place{i < 2 ? g : g + 8, t * 2 + (i & 1)}; };
const Map narrowC = [](int i, int g, int t) { return Place{g, t * 2 + i}; };

const Shape shapes[] = {
    {"m16n8k16", 16, 16, 16, 8, 4, 4,
     [](int i, int g, int t) {
       return Place{i < 2 || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
     },
     [](int i, int g, int t) { return Place{t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g}; }, wideC},
    {"m16n8k8", 16, 8, 16, 4, 2, 4,
     [](int i, int g, int t) { return Place{i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
     [](int i, int g, int t) { return Place{t * 2 + i, g}; }, wideC},
    {"m16n8k4", 16, 4, 32, 2, 1, 4, [](int i, int g, int t) { return Place{i == 0 ? g : g + 8, t}; },
     [](int, int g, int t) { return Place{t, g}; }, wideC},
    {"m16n8k8", 16, 8, 32, 4, 2, 4,
     [](int i, int g, int t) { return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](int i, int g, int t) { return Place{i == 0 ? t : t + 4, g}; }, wideC},
    {"m16n8k16", 16, 16, 8, 8, 4, 4,
     [](int i, int g, int t) { return Place{i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
     [](int i, int g, int t) { return Place{t * 4 + i, g}; }, wideC},
    {"m16n8k32", 16, 32, 8, 16, 8, 4,
     [](int i, int g, int t) {
       return Place{i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
     },
     [](int i, int g, int t) { return Place{t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g}; }, wideC},
    {"m8n8k16", 8, 16, 8, 4, 4, 2, [](int i, int g, int t) { return Place{g, t * 4 + i}; },
     [](int i, int g, int t) { return Place{t * 4 + i, g}; }, narrowC},
    {"m8n8k4", 8, 4, 64, 1, 1, 2, [](int, int g, int t) { return Place{g, t}; },
     [](int, int g, int t) { return Place{t, g}; }, narrowC},
};

struct Kind {
  const char *a, *b, *sum;
  int bits, sumBits;
  const char *head = ".version 8.4\n.target sm_90a\n.address_size 64\n";
};

// A small integer as the bits of a type.
uint64_t bitsOf(std::string_view type, int value) {
  if (type == "f64")
    return std::bit_cast<uint64_t>(double(value));
  if (type == "s8" || type == "u8")
    return uint8_t(value);
  if (type == "s32")
    return uint32_t(value);
  if (type == "f32" || type == "tf32")
    return std::bit_cast<uint32_t>(float(value));
  Format format = type == "f16"    ? Format::F16
                  : type == "bf16" ? Format::BF16
                  : type == "e4m3" ? Format::E4M3
                                   : Format::E5M2;
  return convert(format, Format::F64, std::bit_cast<uint64_t>(double(value)), {});
}

std::string list(const char *prefix, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::string(prefix) + std::to_string(first + i);
  return text + "}";
}

struct WarpRun {
  std::string error;
  std::vector<Finding> findings;
  std::vector<uint32_t> out;
};

// Each thread has 16 words at %wi and 4 at %wo.
WarpRun runWarp(const std::string &body, std::vector<uint32_t> in, const std::string &head,
                const std::string &declarations = "", unsigned threads = 32, Schedule schedule = {}) {
  WarpRun result;
  result.out.assign(threads * 4, 0);
  std::string text = head + declarations + R"(
.visible .entry test(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<8>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f64 %fd<16>; .reg .b32 %t; .reg .b64 %wi, %wo;
  mov.u32 %t, %tid.x;
  ld.param.u64 %wi, [in];
  ld.param.u64 %wo, [out];
  mad.wide.u32 %wi, %t, 64, %wi;
  mad.wide.u32 %wo, %t, 16, %wo;
)" + body + "\n  ret;\n}\n";
  auto module = parse(text, "test.ptx");
  if (!module) {
    result.error = module.status().message;
    return result;
  }
  in.resize(threads * 16);
  Buffer buffers[] = {{in.data(), in.size() * 4, false, true, "in"},
                      {result.out.data(), result.out.size() * 4, true, true, "out"}};
  Launch launch;
  launch.block[0] = threads;
  launch.parameters = {reinterpret_cast<uint64_t>(in.data()), reinterpret_cast<uint64_t>(result.out.data())};
  launch.buffers = buffers;
  launch.schedule = schedule;
  Report report = run(**module, "test", launch);
  result.error = report.status.message;
  result.findings = report.findings;
  return result;
}

std::string mmaBody(const Shape &shape, const Kind &kind, bool inPlace, const char *more) {
  bool isWide = kind.bits == 64;
  int perRegister = isWide ? 1 : 32 / kind.bits, a = shape.countA / perRegister,
      b = shape.countB / perRegister;
  int c = kind.sumBits == 16 ? shape.countC / 2 : shape.countC;
  const char *r = isWide ? "%fd" : "%r";
  std::string body;
  auto load = [&](int first, int count, int offset) {
    for (int i = 0; i < count; ++i)
      body += std::string("ld.global.") + (isWide ? "f64 " : "b32 ") + r + std::to_string(first + i) +
              ", [%wi+" + std::to_string(offset + i * (isWide ? 8 : 4)) + "];\n";
  };
  load(0, a, 0);
  load(4, b, 16);
  load(8, c, 32);
  int d = inPlace ? 8 : 12;
  body += std::string("mma.sync.aligned.") + shape.name + ".row.col" + more + "." + kind.sum + "." + kind.a +
          "." + kind.b + "." + kind.sum + " " + list(r, d, c) + ", " + list(r, 0, a) + ", " + list(r, 4, b) +
          ", " + list(r, 8, c) + ";\n";
  for (int i = 0; i < c; ++i)
    body += std::string("st.global.") + (isWide ? "f64" : "b32") + " [%wo+" +
            std::to_string(i * (isWide ? 8 : 4)) + "], " + r + std::to_string(d + i) + ";\n";
  return body;
}

void putBits(std::vector<uint32_t> &words, size_t word, int bits, int index, uint64_t value) {
  size_t at = size_t(index) * size_t(bits);
  if (bits == 64) {
    words[word + at / 32] = uint32_t(value);
    words[word + at / 32 + 1] = uint32_t(value >> 32);
  } else {
    words[word + at / 32] |= uint32_t(value) << at % 32;
  }
}
uint64_t getBits(const std::vector<uint32_t> &words, size_t word, int bits, int index) {
  size_t at = size_t(index) * size_t(bits);
  if (bits == 64)
    return words[word + at / 32] | uint64_t(words[word + at / 32 + 1]) << 32;
  uint64_t value = words[word + at / 32] >> at % 32;
  return bits == 32 ? value : value & ((1u << bits) - 1);
}

void checkFragments(const Shape &shape, const Kind &kind, bool inPlace) {
  std::mt19937 random(7);
  int least = kind.a[0] == 'u' || kind.b[0] == 'u' ? 0 : -4;
  auto small = [&] { return least + int(random() % 5); };
  std::vector<std::vector<int>> a(16, std::vector<int>(32)), b(32, std::vector<int>(8)),
      c(16, std::vector<int>(8));
  for (auto *matrix : {&a, &b, &c})
    for (auto &row : *matrix)
      for (int &value : row)
        value = small();
  std::vector<uint32_t> in(32 * 16);
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, t = lane % 4;
    size_t base = size_t(lane) * 16;
    for (int i = 0; i < shape.countA; ++i)
      putBits(in, base, kind.bits, i, bitsOf(kind.a, a[shape.a(i, g, t).row][shape.a(i, g, t).column]));
    for (int i = 0; i < shape.countB; ++i)
      putBits(in, base + 4, kind.bits, i, bitsOf(kind.b, b[shape.b(i, g, t).row][shape.b(i, g, t).column]));
    for (int i = 0; i < shape.countC; ++i)
      putBits(in, base + 8, kind.sumBits, i,
              bitsOf(kind.sum, c[shape.c(i, g, t).row][shape.c(i, g, t).column]));
  }
  WarpRun run = runWarp(mmaBody(shape, kind, inPlace, ""), in, kind.head);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.findings.empty());
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < shape.countC; ++i) {
      Place at = shape.c(i, lane / 4, lane % 4);
      int sum = c[at.row][at.column];
      for (int k = 0; k < shape.k; ++k)
        sum += a[at.row][k] * b[k][at.column];
      ASSERT_EQ(getBits(run.out, size_t(lane) * 4, kind.sumBits, i), bitsOf(kind.sum, sum))
          << shape.name << " " << kind.a << " " << kind.b << " " << kind.sum << ", lane " << lane
          << ", element " << i;
    }
}

TEST(Matrix, EachFormHasTheFragmentsOfTheManual) {
  const Kind kinds[] = {
      {"f16", "f16", "f32", 16, 32},   {"f16", "f16", "f16", 16, 16},  {"bf16", "bf16", "f32", 16, 32},
      {"tf32", "tf32", "f32", 32, 32}, {"s8", "s8", "s32", 8, 32},     {"u8", "s8", "s32", 8, 32},
      {"s8", "u8", "s32", 8, 32},      {"u8", "u8", "s32", 8, 32},     {"f64", "f64", "f64", 64, 64},
      {"e4m3", "e4m3", "f32", 8, 32},  {"e4m3", "e5m2", "f32", 8, 32}, {"e5m2", "e4m3", "f32", 8, 32},
      {"e5m2", "e5m2", "f32", 8, 32}};
  int forms = 0;
  for (const Shape &shape : shapes)
    for (const Kind &kind : kinds) {
      bool isEight = kind.a[0] == 'e';
      if (shape.bits != kind.bits || (isEight && std::string(shape.name) != "m16n8k32"))
        continue;
      for (bool inPlace : {false, true})
        checkFragments(shape, kind, inPlace);
      ++forms;
    }
  EXPECT_EQ(forms, 2 * 3 + 2 + 3 * 4 + 4 + 1);
}

TEST(Matrix, EachArchitectureTakesItsOwn) {
  const char *turing = ".version 6.5\n.target sm_75\n.address_size 64\n",
             *ampere = ".version 7.0\n.target sm_80\n.address_size 64\n";
  checkFragments(shapes[1], {"f16", "f16", "f32", 16, 32, turing}, false);
  checkFragments(shapes[6], {"s8", "s8", "s32", 8, 32, turing}, false);
  checkFragments(shapes[0], {"bf16", "bf16", "f32", 16, 32, ampere}, false);
  std::string body = mmaBody(shapes[0], {"f16", "f16", "f32", 16, 32}, false, "");
  EXPECT_NE(runWarp(body, {}, turing).error.find("needs .version 7.0 and sm_80"), std::string::npos);
  body = mmaBody(shapes[5], {"e4m3", "e4m3", "f32", 8, 32}, false, "");
  EXPECT_NE(runWarp(body, {}, ampere).error.find("needs .version 8.4 and sm_89"), std::string::npos);
}

TEST(Matrix, IntegersWrapOrAreClamped) {
  std::vector<uint32_t> in(32 * 16, 0x7f7f7f7f);
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t i = 8; i < 12; ++i)
      in[lane * 16 + i] = 0x7fffffff;
  Kind kind{"s8", "s8", "s32", 8, 32};
  uint32_t sum = 0x7fffffffu + 32 * 127 * 127;
  EXPECT_EQ(runWarp(mmaBody(shapes[5], kind, false, ""), in, kind.head).out[5], sum);
  EXPECT_EQ(runWarp(mmaBody(shapes[5], kind, false, ".satfinite"), in, kind.head).out[5], 0x7fffffffu);
}

// ---- sums -----------------------------------------------------------------------------------

uint32_t sumAs(Type type, Format format, const std::vector<double> &a, const std::vector<double> &b, float c,
               uint32_t arch, bool isHalf = false) {
  SumModel model = sumModelOf(arch, type);
  std::vector<MatrixTerm> x, y;
  for (size_t k = 0; k < a.size(); ++k) {
    x.push_back(matrixTerm(type, convert(format, Format::F64, std::bit_cast<uint64_t>(a[k]), {}), model));
    y.push_back(matrixTerm(type, convert(format, Format::F64, std::bit_cast<uint64_t>(b[k]), {}), model));
  }
  return sumOfProducts(x, y, std::bit_cast<uint32_t>(c), isHalf, model, 2 * fractionBits(type, model));
}
uint32_t sum16(const std::vector<double> &a, const std::vector<double> &b, float c, uint32_t arch = 90) {
  return sumAs(Type::F16, Format::F16, a, b, c, arch);
}
float sumOf(const std::vector<double> &a, const std::vector<double> &b, float c, uint32_t arch = 90) {
  return std::bit_cast<float>(sum16(a, b, c, arch));
}
float sumOfEights(const std::vector<double> &a, const std::vector<double> &b, float c, uint32_t arch = 90) {
  return std::bit_cast<float>(sumAs(Type::E5M2, Format::E5M2, a, b, c, arch));
}

TEST(MatrixSums, ProductsAreExactAndCancel) {
  EXPECT_EQ(sumOf({1024, 1}, {1024, 1}, -1048576), 1);
  EXPECT_EQ(sumOf({0x1p-24}, {0x1p-24}, 0), 0x1p-48f); // the least subnormal numbers
  EXPECT_EQ(sumOf({0}, {1}, 0x1p-149f), 0x1p-149f);
}

TEST(MatrixSums, WhatLiesFarBelowTheLargestExponentIsCut) {
  // 2^-25 of the largest is kept on sm_90, cut on sm_80; below it nothing stays.
  std::vector<double> ones(16, 0x1p-12), units(16, 0x1p-13);
  ones[0] = units[0] = 1;
  EXPECT_EQ(sumOf(ones, units, 0), 1 + 15 * 0x1p-25f - std::fmod(15 * 0x1p-25f, 0x1p-23f));
  EXPECT_EQ(sumOf(ones, units, 0, 80), 1);
  for (double &one : ones)
    one = one < 1 ? 0x1p-13 : 1;
  EXPECT_EQ(sumOf(ones, units, 0), 1);
}

TEST(MatrixSums, ResultsAreCutNotRounded) {
  EXPECT_EQ(sumOf({1, 0x1p-12, 0x1p-13}, {1, 0x1p-12, 0x1p-12}, 0), 1);
  EXPECT_EQ(sumOf({-1, -0x1p-12, -0x1p-13}, {1, 0x1p-12, 0x1p-12}, 0), -1);
}

// An H200 recorded this of f16 (once); of f32 it is assumed.
TEST(MatrixSums, ASumThatBecomesZeroIsPositive) {
  EXPECT_EQ(sumAs(Type::F16, Format::F16, {-0x1p-24}, {0x1p-4}, 0, 90, true), 0u);
  EXPECT_EQ(sumAs(Type::F16, Format::F16, {-0x1p-24}, {1}, 0, 90, true), 0x8001u);
  EXPECT_EQ(sumAs(Type::BF16, Format::BF16, {-0x1p-100}, {0x1p-100}, 0, 90), 0u);
}

// Of each four elements the lower two are in the first product of f16, the upper two in the second.
TEST(MatrixSums, EightBitsAreMultipliedAsHalvesWhereNoUnitHasThem) {
  std::vector<double> large(32), other(32);
  large[0] = large[1] = other[0] = 256, other[1] = -256;
  for (size_t k : {2, 3, 4, 30, 31, 28}) {
    std::vector<double> a = large, b = other;
    a[k] = b[k] = 0x1p-9;
    EXPECT_EQ(sumOfEights(a, b, 0), k % 4 < 2 ? 0 : 0x1p-18f) << k;
    EXPECT_EQ(sumOfEights(a, b, 0, 89), k < 16 ? 0 : 0x1p-18f) << k; // blocks of 16 in the order of k
  }
  // c is added at the end, to nearest; a unit cuts.
  EXPECT_EQ(sumOfEights({3}, {1}, 0x1p24f), 0x1p24f + 4);
  EXPECT_EQ(sumOf({3}, {1}, 0x1p24f), 0x1p24f + 2);
  EXPECT_EQ(sumAs(Type::E5M2, Format::E5M2, {INFINITY}, {1}, -INFINITY, 90), 0x7fffffffu);
}

// A subnormal e4m3 is a normal f16, so less is cut beside it: here not what is left of 64 - 64 + 2^-18.
TEST(MatrixSums, ASubnormalNumberOfEightBitsIsANormalHalf) {
  SumModel model = sumModelOf(90, Type::E4M3);
  std::vector<MatrixTerm> a(32), b(32);
  auto set = [&](size_t k, uint64_t e4m3, uint64_t e5m2) {
    a[k] = matrixTerm(Type::E4M3, e4m3, model);
    b[k] = matrixTerm(Type::E5M2, e5m2, model);
  };
  set(0, 0x01, 0x78); // 2^-9, 2^15
  set(1, 0x01, 0xf8);
  set(4, 0x01, 0x18); // 2^-9, 2^-9
  int fraction = fractionBits(Type::E4M3, model) + fractionBits(Type::E5M2, model);
  EXPECT_EQ(std::bit_cast<float>(sumOfProducts(a, b, 0, false, model, fraction)), 0x1p-18f);
}

TEST(MatrixSums, TheLowerBitsOfATf32AreIgnored) {
  SumModel model = sumModelOf(90, Type::TF32);
  MatrixTerm whole = matrixTerm(Type::TF32, 0x3fc01fff, model),
             cut = matrixTerm(Type::TF32, 0x3fc00000, model);
  EXPECT_EQ(whole.significand, cut.significand);
  EXPECT_EQ(std::ldexp(whole.significand, whole.exponent), 1.5);
}

TEST(MatrixSums, InfinitiesAndNans) {
  double infinity = INFINITY;
  EXPECT_EQ(sumOf({infinity, 1}, {2, 1}, 5), INFINITY);
  EXPECT_EQ(sumOf({infinity, 1}, {-2, 1}, 5), -INFINITY);
  EXPECT_EQ(sum16({infinity, infinity}, {1, -1}, 0), 0x7fffffffu);
  EXPECT_EQ(sum16({infinity}, {0}, 0), 0x7fffffffu);
  EXPECT_EQ(sum16({infinity}, {1}, -INFINITY), 0x7fffffffu);
  EXPECT_EQ(sum16({1}, {NAN}, 0), 0x7fffffffu);
}

// Whatever the order of a unit, a result is near the exact one: within 2^-F of the largest addend for
// each addend, and a unit of the last place of the sum.
TEST(MatrixSums, StayWithinTheirBound) {
  std::mt19937_64 random(3);
  for (uint32_t arch : {75u, 80u, 90u, 100u, 120u})
    for (Type type : {Type::F16, Type::BF16, Type::TF32, Type::E4M3, Type::E5M2})
      for (int round = 0; round < 500; ++round) {
        SumModel model = sumModelOf(arch, type);
        std::vector<MatrixTerm> a(16), b(16);
        auto value = [](const MatrixTerm &term) {
          return std::ldexp((long double)(term.significand), term.exponent);
        };
        auto make = [&] {
          uint64_t bits = random();
          if (type == Type::BF16)
            bits = (bits & 0x8fff) | 0x3000; // exponents that f32 can hold the products of
          if (type == Type::TF32)
            bits = (bits & 0x8fffffff) | 0x30000000;
          bits &= type == Type::TF32 ? 0xffffffff : bitWidth(type) == 16 ? 0xffff : 0xff;
          MatrixTerm term = matrixTerm(type, bits, model);
          return term.isFinite() ? term : MatrixTerm{};
        };
        float c = float(std::ldexp(double(int64_t(random())), int(random() % 60) - 90));
        long double exact = c, largest = std::fabs(c);
        for (size_t k = 0; k < 16; ++k) {
          a[k] = make();
          b[k] = make();
          exact += value(a[k]) * value(b[k]);
          largest = std::max(largest, std::fabs(value(a[k]) * value(b[k])));
        }
        uint32_t bits =
            sumOfProducts(a, b, std::bit_cast<uint32_t>(c), false, model, 2 * fractionBits(type, model));
        long double got = std::bit_cast<float>(bits);
        // Running sums are at most 17 times the largest addend.
        long double bound =
            largest * 17 * 2 * (std::ldexp(1.0L, -model.fraction) + std::ldexp(1.0L, -model.kept)) * 4 +
            0x1p-148L;
        ASSERT_LE(std::fabs(got - exact), bound) << arch << " " << name(type) << " round " << round;
      }
}

// ---- 8 x 8 matrices -------------------------------------------------------------------------

const char *hopper = ".version 8.4\n.target sm_90a\n.address_size 64\n";

// 512 bytes of shared memory: half i is i; lane l gives the address of row l.
const char *filled = R"(
  .shared .align 16 .b8 tile[512];
  mov.u32 %r0, tile;
  mad.lo.u32 %r0, %t, 16, %r0;
  mad.lo.u32 %r1, %t, 0x00080008, 0x00010000;
  add.u32 %r2, %r1, 0x00020002; add.u32 %r3, %r1, 0x00040004; add.u32 %r4, %r1, 0x00060006;
  st.shared.v4.b32 [%r0], {%r1, %r2, %r3, %r4};
  bar.warp.sync -1;
)";

TEST(Matrix, LdmatrixGivesEachLaneItsPart) {
  for (bool transposed : {false, true})
    for (int count : {1, 2, 4}) {
      std::string name =
          "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "");
      std::string body = filled;
      body += name + ".shared.b16 " + list("%r", 10, count) + ", [%r0];\n";
      for (int i = 0; i < count; ++i)
        body += "st.global.b32 [%wo+" + std::to_string(i * 4) + "], %r" + std::to_string(10 + i) + ";\n";
      WarpRun run = runWarp(body, {}, hopper);
      ASSERT_EQ(run.error, "");
      EXPECT_TRUE(run.findings.empty());
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < unsigned(count); ++i) {
          unsigned r = lane / 4, c = lane % 4 * 2;
          unsigned low = transposed ? c * 8 + r : r * 8 + c,
                   high = transposed ? (c + 1) * 8 + r : r * 8 + c + 1;
          EXPECT_EQ(run.out[lane * 4 + i], (i * 64 + low) | (i * 64 + high) << 16)
              << name << " lane " << lane;
        }
    }
}

TEST(Matrix, StmatrixIsTheInverse) {
  for (std::string transposed : {"", ".trans"}) {
    WarpRun run = runWarp(
        std::string(filled) +
            ".shared .align 16 .b8 copy[512];\nmov.u32 %r5, copy;\nmad.lo.u32 %r5, %t, 16, %r5;\n" +
            "ldmatrix.sync.aligned.m8n8.x4" + transposed + ".shared.b16 {%r10, %r11, %r12, %r13}, [%r0];\n" +
            "stmatrix.sync.aligned.m8n8.x4" + transposed + ".shared.b16 [%r5], {%r10, %r11, %r12, %r13};\n" +
            "bar.warp.sync -1;\nld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r5];\n" +
            "st.global.v4.b32 [%wo], {%r20, %r21, %r22, %r23};",
        {}, hopper);
    ASSERT_EQ(run.error, "");
    EXPECT_TRUE(run.findings.empty());
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(run.out[i], (2 * i) | (2 * i + 1) << 16);
  }
}

TEST(Matrix, MovmatrixTransposes) {
  WarpRun run = runWarp(std::string(filled) + R"(
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r0];
    movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;
    st.global.b32 [%wo], %r11;)",
                        {}, hopper);
  ASSERT_EQ(run.error, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned r = lane / 4, c = lane % 4 * 2;
    EXPECT_EQ(run.out[lane * 4], (c * 8 + r) | ((c + 1) * 8 + r) << 16);
  }
}

TEST(Matrix, GenericAddressesOfSharedMemory) {
  std::string load = R"(
    cvt.u64.u32 %rd0, %r0;
    cvta.shared.u64 %rd0, %rd0;
    ldmatrix.sync.aligned.m8n8.x4.b16 {%r10, %r11, %r12, %r13}, [%rd0];
    st.global.b32 [%wo], %r13;)";
  WarpRun run = runWarp(filled + load, {}, hopper);
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.findings.empty());
  EXPECT_EQ(run.out[4], uint32_t((3 * 64 + 2) | (3 * 64 + 3) << 16));
  WarpRun global = runWarp("ldmatrix.sync.aligned.m8n8.x4.b16 {%r10, %r11, %r12, %r13}, [%wi];", {}, hopper);
  ASSERT_EQ(global.findings.size(), 1u);
  EXPECT_EQ(global.findings[0].kind, FindingKind::OutOfBounds);
}

// ---- what goes wrong ------------------------------------------------------------------------

bool finds(const WarpRun &run, FindingKind kind) {
  EXPECT_EQ(run.error, "");
  for (const Finding &finding : run.findings)
    if (finding.kind == kind)
      return true;
  return false;
}

TEST(Findings, MatrixInstructionsThatPartOfAWarpReaches) {
  const char *instructions[] = {("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10,%r11,%r12,%r13}, "
                                 "{%r0,%r1}, {%r2}, {%r10,%r11,%r12,%r13};"),
                                "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r11;",
                                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r0];"};
  for (std::string one : instructions) {
    std::string branch = std::string(filled) + "setp.lt.u32 %p1, %t, 16;\n";
    EXPECT_TRUE(
        finds(runWarp(branch + "@%p1 bra L;\n" + one + "\nL:", {}, hopper), FindingKind::UnalignedWarp))
        << one;
    EXPECT_TRUE(finds(runWarp(branch + "@%p1 " + one, {}, hopper), FindingKind::UnalignedWarp)) << one;
    EXPECT_TRUE(finds(runWarp(branch + "@%p1 ret;\n" + one, {}, hopper), FindingKind::UnalignedWarp)) << one;
    EXPECT_TRUE(runWarp(branch + one, {}, hopper).findings.empty()) << one;
    EXPECT_TRUE(runWarp(branch + "@%p1 bra L;\nL:\n" + one, {}, hopper).findings.empty()) << one;
  }
  EXPECT_TRUE(finds(runWarp("movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r11;", {}, hopper, "", 16),
                    FindingKind::UnalignedWarp));
}

TEST(Matrix, LanesApartComeTogetherForIt) {
  std::string body = std::string(filled) + R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra L;
    add.u32 %r30, %r30, 1;
  L:
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r0];
    movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;
    st.global.b32 [%wo], %r11;)";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    WarpRun run = runWarp(body, {}, hopper, "", 32, {Schedule::Kind::Apart, seed});
    EXPECT_TRUE(run.findings.empty());
    EXPECT_EQ(run.out[4], 16u | 24 << 16);
  }
}

TEST(Findings, LanesApartOfWhichSomeHaveLeft) {
  std::string body = "setp.lt.u32 %p1, %t, 16;\n@%p1 ret;\nsetp.lt.u32 %p2, %t, 24;\n@%p2 bra L;\nL:\n";
  for (uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_TRUE(finds(runWarp(body + "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r11;", {}, hopper, "", 32,
                              {Schedule::Kind::Apart, seed}),
                      FindingKind::UnalignedWarp));
}

TEST(Findings, RowsOfMatricesThatAreMisalignedOrElsewhere) {
  std::string load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r5];";
  EXPECT_TRUE(finds(runWarp(std::string(filled) + "add.u32 %r5, %r0, 8;\n" + load, {}, hopper),
                    FindingKind::Misaligned));
  EXPECT_TRUE(finds(runWarp(std::string(filled) + "add.u32 %r5, %r0, 512;\n" + load, {}, hopper),
                    FindingKind::OutOfBounds));
  // The addresses of the upper lanes do not count.
  EXPECT_TRUE(runWarp(std::string(filled) + "add.u32 %r5, %r0, 256;\n" + load, {}, hopper).findings.empty());
}

} // namespace
} // namespace tegula::ptxvm
