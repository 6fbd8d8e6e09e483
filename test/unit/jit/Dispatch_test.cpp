// Calls of a kernel: which arguments and options share a specialization, and when the host is asked.
#include "compiler/ModuleFile.h"
#include "jit/Dispatch.h"
#include "sema/Session.h"

#include <gtest/gtest.h>

#include <bit>

using namespace tegula;
using jit::Argument;
using jit::Leaf;
using jit::LeafKind;

namespace {

Leaf leaf(LeafKind kind, uint64_t bits, DType dtype = DType::I32) {
  Leaf made;
  made.kind = kind;
  made.dtype = dtype;
  made.bits = bits;
  return made;
}
Leaf integer(int64_t value) { return leaf(LeafKind::Int, uint64_t(value)); }
Leaf real(double value) { return leaf(LeafKind::Float, std::bit_cast<uint64_t>(value)); }
Leaf flag(bool value) { return leaf(LeafKind::Bool, value); }
Leaf pointer(void *memory) {
  return leaf(LeafKind::Pointer, reinterpret_cast<uintptr_t>(memory), DType::I64);
}

// A host that knows `tl` and a constant.
struct Host : sema::HostEnv {
  sema::Const limit = sema::makeInt(3);
  uint64_t now = 0;
  std::vector<std::string> asked;
  uint64_t version() override { return now; }
  std::optional<sema::HostAnswer> lookup(std::string_view name) override {
    asked.emplace_back(name);
    if (name == "tl")
      return sema::HostAnswer{{sema::ModuleRef{"triton.language"}}, false};
    if (name == "LIMIT")
      return sema::HostAnswer{limit, true};
    return std::nullopt;
  }
};

struct Called {
  explicit Called(std::string text, std::shared_ptr<Host> host = std::make_shared<Host>())
      : host(std::move(host)) {
    module =
        compiler::makeModule(std::make_shared<diag::Source>("k.py", std::move(text), 1, 0), this->host, sink);
    dispatcher = std::make_unique<jit::Dispatcher>(module.functions.at(0));
  }

  jit::KernelRef call(std::vector<Argument> arguments) {
    arguments.insert(arguments.begin(), Argument{pointer(&out), ""});
    sink = diag::Sink();
    int64_t grid[] = {1};
    compiler::CompileOptions options;
    options.target = "interp";
    return dispatcher->launch(arguments, grid, options, {}, sink);
  }

  alignas(16) int64_t out = 0;
  diag::Sink sink;
  std::shared_ptr<Host> host;
  compiler::Module module;
  std::unique_ptr<jit::Dispatcher> dispatcher;
};

constexpr const char *adds = "def kernel(out, n, B: tl.constexpr = 0):\n    tl.store(out, n + B)\n";

TEST(DispatchTest, EqualKindsShareAKernel) {
  Called kernel(adds);
  jit::KernelRef first = kernel.call({{integer(33), ""}});
  ASSERT_TRUE(first);
  EXPECT_EQ(kernel.out, 33);
  EXPECT_EQ(kernel.call({{integer(35), "n"}}), first);
  EXPECT_EQ(kernel.out, 35);
  EXPECT_NE(kernel.call({{integer(48), ""}}), first);               // divisible by 16
  EXPECT_NE(kernel.call({{integer(1), ""}}), first);                // a constant
  EXPECT_NE(kernel.call({{integer(int64_t(1) << 40), ""}}), first); // 64 bits
  EXPECT_NE(kernel.call({{integer(33), ""}, {integer(2), "B"}}), first);
  EXPECT_NE(kernel.call({{flag(true), ""}}), first);
  EXPECT_EQ(kernel.call({{integer(33), ""}}), first);
}

TEST(DispatchTest, OptionsThatAreObeyedArePartOfTheKey) {
  Called kernel(adds);
  jit::KernelRef first = kernel.call({{integer(33), ""}});
  std::pair<const char *, Leaf> others[] = {{"num_warps", integer(8)},
                                            {"num_stages", integer(1)},
                                            {"debug", flag(true)},
                                            {"enable_fp_fusion", flag(false)},
                                            {"launch_cooperative_grid", flag(true)},
                                            {"launch_pdl", flag(true)}};
  std::vector<jit::KernelRef> seen{first};
  for (auto &[name, value] : others) {
    jit::KernelRef other = kernel.call({{integer(33), ""}, {value, name}});
    ASSERT_TRUE(other) << name;
    for (const jit::KernelRef &known : seen)
      EXPECT_NE(other, known) << name;
    seen.push_back(other);
  }
  EXPECT_EQ(kernel.call({{integer(33), ""}, {integer(2), "num_ctas"}}), first); // a hint
  EXPECT_FALSE(kernel.call({{integer(33), ""}, {integer(90), "arch"}}));
  EXPECT_EQ(kernel.sink.all().front().kind, diag::Kind::OptionValue);
}

TEST(DispatchTest, AKnownKeyAsksTheHostNothing) {
  Called kernel("def kernel(out, n):\n    tl.store(out, n + LIMIT)\n");
  ASSERT_TRUE(kernel.call({{integer(33), ""}}));
  EXPECT_EQ(kernel.out, 36);
  kernel.host->asked.clear();
  ASSERT_TRUE(kernel.call({{integer(34), ""}}));
  EXPECT_TRUE(kernel.host->asked.empty());
}

TEST(DispatchTest, AChangedConstantIsCompiledAnew) {
  Called kernel("def kernel(out, n):\n    tl.store(out, n + LIMIT)\n");
  jit::KernelRef three = kernel.call({{integer(33), ""}});
  kernel.host->limit = sema::makeInt(4);
  kernel.host->now = 1;
  jit::KernelRef four = kernel.call({{integer(33), ""}});
  EXPECT_EQ(kernel.out, 37);
  EXPECT_NE(three, four);
  kernel.host->limit = sema::makeInt(3);
  kernel.host->now = 2;
  EXPECT_EQ(kernel.call({{integer(33), ""}}), three);
  EXPECT_EQ(kernel.out, 36);
}

TEST(DispatchTest, TheVersionOfAHostMayChangeForNothing) {
  Called kernel("def kernel(out, n):\n    tl.store(out, n + LIMIT)\n");
  jit::KernelRef first = kernel.call({{integer(33), ""}});
  kernel.host->now = 7;
  EXPECT_EQ(kernel.call({{integer(33), ""}}), first);
}

TEST(DispatchTest, DefaultsAreADependencyToo) {
  Called kernel("def kernel(out, n=LIMIT):\n    tl.store(out, n)\n");
  ASSERT_TRUE(kernel.call({}));
  EXPECT_EQ(kernel.out, 3);
  kernel.host->limit = sema::makeInt(9);
  kernel.host->now = 1;
  ASSERT_TRUE(kernel.call({}));
  EXPECT_EQ(kernel.out, 9);
}

TEST(DispatchTest, AnAnnotationOfTheHostCountsInsteadOfTheTexts) {
  Called kernel("def kernel(out, n):\n    tl.store(out, n)\n");
  EXPECT_FALSE(kernel.dispatcher->annotate(1, "Tensor"));
  EXPECT_TRUE(kernel.dispatcher->annotate(1, "tl.int8"));
  EXPECT_FALSE(kernel.dispatcher->annotate(7, "tl.int8"));
  EXPECT_TRUE(kernel.call({{integer(127), ""}}));
  EXPECT_FALSE(kernel.call({{integer(128), ""}}));
  EXPECT_EQ(kernel.sink.all().front().kind, diag::Kind::ArgumentRange);
}

TEST(DispatchTest, ArgumentsThatDoNotFitAreRefused) {
  Called kernel(adds);
  EXPECT_FALSE(kernel.call({}));
  EXPECT_EQ(kernel.sink.all().front().kind, diag::Kind::ArgumentMissing);
  EXPECT_FALSE(kernel.call({{integer(3), ""}, {integer(3), "m"}}));
  EXPECT_EQ(kernel.sink.all().front().kind, diag::Kind::KeywordUnknown);
  EXPECT_FALSE(kernel.call({{real(1), ""}, {pointer(&kernel.out), "B"}}));
  EXPECT_EQ(kernel.sink.all().front().kind, diag::Kind::ConstexprNeedsConstant);
}

} // namespace
