// The C interface, given what a user may get wrong: every answer is a value, with its place,
// its reason and a hint, and the next call works.
#include "tegula/tegula.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace {

constexpr const char *addText = R"(import triton
import triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr, SCALE: tl.constexpr = 2):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n) * SCALE, mask=i < n)

@triton.jit
def pinned(out: tl.pointer_type(tl.float32), n: tl.int32, f: tl.float64):
    tl.store(out, n + f)
)";

tg::Context context() {
  auto made = tg::Context::create("interp");
  EXPECT_TRUE(made);
  return *made;
}

struct Kernels {
  tg::Context where = context();
  tg::Module module = load();
  tg::Function add = *module.function("add"), pinned = *module.function("pinned");
  std::vector<float> x = std::vector<float>(16, 1), y = std::vector<float>(16, 3),
                     out = std::vector<float>(16);

  tg::Module load() {
    auto parsed = where.parse(addText, "add.py");
    EXPECT_TRUE(parsed);
    return *parsed;
  }
  template <class... T> auto call(std::initializer_list<int64_t> grid, const T &...more) {
    return add.call(grid, x.data(), y.data(), out.data(), 16, more...);
  }
};

template <class T>
void expectError(const tg::Expected<T> &result, tg_status status, const std::string &kind) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status(), status) << result.error().text();
  auto diagnostics = result.error().diagnostics();
  ASSERT_FALSE(diagnostics.empty());
  EXPECT_EQ(diagnostics.front().kind, kind);
  EXPECT_FALSE(diagnostics.front().message.empty());
  EXPECT_NE(result.error().text().find(diagnostics.front().message), std::string::npos);
}

// ---- one refused kernel a file ------------------------------------------------------------

class RefusedKernel : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(RefusedKernel, HasItsDiagnosticAtItsPlace) {
  std::ifstream file(GetParam());
  std::string comment, error, kind, line, column;
  std::getline(file, comment);
  std::istringstream words(comment);
  std::getline(words >> comment >> error >> kind >> std::ws, line, ':');
  words >> column;
  ASSERT_EQ(error, "error:");

  tg::Context where = context();
  std::vector<float> x(64);
  auto module = where.open(GetParam().string());
  std::optional<tg::Error> problem;
  if (!module) {
    problem = module.error();
  } else {
    auto kernel = module->function("kernel");
    ASSERT_TRUE(kernel) << kernel.error().text();
    auto called = kernel->call({1}, x.data(), 5);
    ASSERT_FALSE(called);
    problem = called.error();
  }
  tg::Diagnostic first = problem->diagnostics().front();
  EXPECT_EQ(first.kind, kind);
  EXPECT_EQ(std::to_string(first.line), line);
  EXPECT_EQ(std::to_string(first.column), column);
  EXPECT_EQ(first.file, GetParam().string());
  EXPECT_NE(problem->status(), TG_INTERNAL);
}

std::vector<std::filesystem::path> refusedKernels() {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(TEGULA_TEST_FOLDER "/bad_input"))
    if (entry.path().extension() == ".py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(BadInput, RefusedKernel, testing::ValuesIn(refusedKernels()),
                         [](const auto &info) { return info.param.stem().string(); });

// ---- files --------------------------------------------------------------------------------

class Files : public testing::Test {
protected:
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tegula_capi_" + std::to_string(getpid()));
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string &text) {
    std::string path = (folder / "kernel.py").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

TEST_F(Files, MissingFile) {
  expectError(context().open((folder / "none.py").string()), TG_DATA, "FileUnreadable");
}
TEST_F(Files, Folder) { expectError(context().open(folder.string()), TG_DATA, "FileUnreadable"); }
TEST_F(Files, Device) { expectError(context().open("/dev/zero"), TG_DATA, "FileUnreadable"); }
TEST_F(Files, Binary) { expectError(context().open(write(std::string("a\0b", 3))), TG_DATA, "FileNotText"); }
TEST_F(Files, TenMegabytes) {
  expectError(context().open(write(std::string(10'000'000, '\n'))), TG_RESOURCE, "FileTooLarge");
}
TEST_F(Files, EmptyFileHasNoKernel) {
  auto module = context().open(write(""));
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->functions().empty());
  expectError(module->function("add"), TG_TYPE, "KernelUnknown");
}
TEST_F(Files, CheckReportsEveryKernel) {
  auto checked = context().check(
      write("import triton\n@triton.jit\ndef a(x):\n    one(x)\n@triton.jit\ndef b(x):\n    two(x)\n"));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().diagnostics().size(), 2u);
}

TEST(Text, TenMegabytesOfTextAreRefused) {
  EXPECT_FALSE(context().parse(std::string(10'000'000, '\n'), "large.py"));
}

// ---- calls --------------------------------------------------------------------------------

TEST(Call, MissingConstexpr) { expectError(Kernels().call({1}), TG_LAUNCH, "ConstexprMissing"); }
TEST(Call, MissingArgument) {
  Kernels k;
  expectError(k.add.call({1}, k.x.data(), tg::named("BLOCK", 16)), TG_LAUNCH, "ArgumentMissing");
}
TEST(Call, TooManyArguments) { expectError(Kernels().call({1}, 16, 2, 3), TG_LAUNCH, "TooManyArguments"); }
TEST(Call, UnknownKeyword) {
  expectError(Kernels().call({1}, tg::named("BLOCK", 16), tg::named("BLOCKS", 1)), TG_LAUNCH,
              "KeywordUnknown");
}
TEST(Call, ArgumentTwice) {
  expectError(Kernels().call({1}, tg::named("BLOCK", 16), tg::named("n", 1)), TG_LAUNCH, "ParameterTwice");
}
TEST(Call, PointerForAConstexpr) {
  float memory = 0;
  expectError(Kernels().call({1}, tg::named("BLOCK", &memory)), TG_LAUNCH, "ConstexprNeedsConstant");
}
TEST(Call, StringForARunTimeParameter) {
  Kernels k;
  expectError(k.pinned.call({1}, k.out.data(), "five", 1.0), TG_LAUNCH, "ArgumentNeedsConstexpr");
}
TEST(Call, WrongElementType) {
  Kernels k;
  double memory = 0;
  expectError(k.pinned.call({1}, &memory, 1, 1.0), TG_LAUNCH, "ArgumentType");
}
TEST(Call, FloatForAnInteger) {
  Kernels k;
  expectError(k.pinned.call({1}, k.out.data(), 1.5, 1.0), TG_LAUNCH, "ArgumentType");
}
TEST(Call, NumberThatDoesNotFit) {
  Kernels k;
  expectError(k.pinned.call({1}, k.out.data(), int64_t(1) << 31, 1.0), TG_LAUNCH, "ArgumentRange");
}
TEST(Call, ReadOnlyOutput) {
  Kernels k;
  const float *frozen = k.out.data();
  expectError(k.add.call({1}, k.x.data(), k.y.data(), frozen, 16, 16), TG_LAUNCH, "ArgumentReadOnly");
}
TEST(Call, LiteralThatIsNone) {
  expectError(Kernels().call({1}, tg::named("BLOCK", tg::literal("1 +"))), TG_LAUNCH, "HostMisuse");
}
TEST(Call, UnknownValueKind) {
  tg_value strange{};
  strange.kind = 200;
  expectError(Kernels().call({1}, tg::named("BLOCK", strange)), TG_LAUNCH, "HostMisuse");
}
TEST(Call, UnknownElementTypeOfAPointer) {
  Kernels k;
  tg_value strange = tg::pointer(k.out.data(), TG_F32);
  strange.dtype = 99;
  expectError(k.pinned.call({1}, strange, 1, 1.0), TG_LAUNCH, "HostMisuse");
}
TEST(Call, OptionOutOfRange) {
  expectError(Kernels().call({1}, tg::named("BLOCK", 16), tg::named("num_warps", 3)), TG_LAUNCH,
              "OptionValue");
}

TEST(Grid, Empty) { expectError(Kernels().call({}, 16), TG_LAUNCH, "GridRank"); }
TEST(Grid, OfFour) { expectError(Kernels().call({1, 1, 1, 1}, 16), TG_LAUNCH, "GridRank"); }
TEST(Grid, Negative) { expectError(Kernels().call({1, -1}, 16), TG_LAUNCH, "GridNegative"); }
TEST(Grid, TooLarge) { expectError(Kernels().call({int64_t(1) << 31}, 16), TG_LAUNCH, "GridTooLarge"); }

TEST(Target, Gpu) {
  expectError(tg::Context::create("hip"), TG_UNSUPPORTED, "TargetNeedsGpu");
  expectError(tg::Context::create("sm_60"), TG_UNSUPPORTED, "TargetNeedsGpu");
}
TEST(Target, NumberOfWarps) {
  auto compile = [](int warps) {
    return Kernels().add.compile("x=*f32,y=*f32,out=*f32,n=i32,BLOCK=16",
                                 {.target = "sm_90a", .numWarps = warps});
  };
  for (int warps : {3, 1000})
    expectError(compile(warps), TG_LAUNCH, "OptionValue");
  for (int warps : {64, 128}) // a limit of the machine
    expectError(compile(warps), TG_RESOURCE, "TargetTooSmall");
}
TEST(Target, Unknown) { expectError(tg::Context::create("vax"), TG_UNSUPPORTED, "TargetUnknown"); }
TEST(Target, OfACompile) {
  expectError(Kernels().add.compile("x=*f32,y=*f32,out=*f32,n=i32,BLOCK=16", {.target = "gfx942"}),
              TG_UNSUPPORTED, "TargetNeedsGpu");
}
TEST(Threads, OutOfRange) {
  EXPECT_EQ(tg_set_threads(0, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_set_threads(5000, nullptr), TG_LAUNCH);
}

// ---- signatures and compiled kernels ----------------------------------------------------------

class BadSignature : public testing::TestWithParam<std::pair<const char *, const char *>> {};
TEST_P(BadSignature, IsRefused) {
  EXPECT_EQ(Kernels().add.compile(GetParam().first).error().diagnostics()[0].kind, GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(
    Signatures, BadSignature,
    testing::Values(std::pair("x", "SignatureSyntax"), std::pair("x=", "SignatureSyntax"),
                    std::pair("=f32", "ParameterUnknown"), std::pair("x=*f33", "SignatureSyntax"),
                    std::pair("x=*f32:4", "SignatureSyntax"), std::pair("x='", "SignatureSyntax"),
                    std::pair("x=((((", "SignatureSyntax"), std::pair("q=i32", "ParameterUnknown"),
                    std::pair("x=*f32,x=*f32", "ParameterTwice"),
                    std::pair("BLOCK=*f32", "ConstexprNeedsConstant"), std::pair("", "ArgumentMissing")));

TEST(Compiled, StageUnknownAndSlots) {
  Kernels k;
  auto kernel = k.add.compile("x=*f32,y=*f32,out=*f32,n=i32,BLOCK=16");
  ASSERT_TRUE(kernel);
  expectError(kernel->stage("ptx"), TG_UNSUPPORTED, "StageUnknown");
  std::array<int64_t, 1> grid{1};
  std::array<uint64_t, 2> slots{};
  expectError(kernel->launch(grid, slots), TG_LAUNCH, "SlotCount");
}

TEST(Compiled, OutOfRangeIndicesAreStatuses) {
  Kernels k;
  tg_parameter parameter{.struct_size = sizeof parameter};
  EXPECT_EQ(tg_function_parameter(k.add.handle(), 99, &parameter), TG_LAUNCH);
  EXPECT_EQ(tg_function_parameter(k.add.handle(), 0, nullptr), TG_LAUNCH);
  EXPECT_EQ(tg_dtype_from_name("float99"), -1);
  EXPECT_EQ(tg_dtype_name(99), nullptr);
  EXPECT_EQ(tg_dtype_name(-1), nullptr);
  EXPECT_STREQ(tg_status_name(tg_status(99)), "unknown");
  EXPECT_EQ(tg_target_name(99), nullptr);
}

TEST(Expected, SaysWhyThereIsNoValueAndEnds) {
  auto failed = tg::Context::create("vax");
  EXPECT_DEATH((void)*failed, "a value was taken of a call that failed:\nerror: there is no target `vax`");
  EXPECT_DEATH((void)failed->open("a.py"), "there is no target `vax`");
  auto made = tg::Context::create("interp");
  EXPECT_EQ(made.error().status(), TG_OK);
  EXPECT_TRUE(made.error().diagnostics().empty());
}

TEST(Expected, ChainsInOneExpression) {
  auto context = tg::Context::create("interp");
  auto module = context ? context->open("/nowhere.py") : context.error();
  auto function = module ? module->function("f") : module.error();
  EXPECT_EQ(function.error().status(), TG_DATA);
}

TEST(Function, OfNoHandleHasNoName) {
  EXPECT_EQ(tg::Function(nullptr).name(), "");
  EXPECT_EQ(tg::Kernel::own(nullptr).name() + tg::Kernel::own(nullptr).target(), "");
}

TEST(Host, ThatThrowsIsAStatus) {
  struct Odd {};
  tg_host host{};
  host.struct_size = sizeof host;
  host.lookup = [](void *, const char *, tg_value *) -> int { throw Odd(); };
  std::string text = "def k(out):\n    out + missing\n";
  tg_source source{sizeof source, "k.py", text.data(), text.size(), 1, 0, &host};
  tg_context *where = nullptr;
  tg_module *module = nullptr;
  tg_function *function = nullptr;
  tg_kernel *kernel = nullptr;
  ASSERT_EQ(tg_context_create(nullptr, &where, nullptr), TG_OK);
  ASSERT_EQ(tg_module_from_text(where, &source, &module, nullptr), TG_OK);
  ASSERT_EQ(tg_module_find(module, "k", &function, nullptr), TG_OK);
  EXPECT_EQ(tg_compile(function, "out=*f32", nullptr, &kernel, nullptr), TG_LAUNCH);
  tg_module_destroy(module);
  tg_context_destroy(where);
}

TEST(Errors, MayBeIgnored) {
  tg_module *module = nullptr;
  tg_context *where = nullptr;
  ASSERT_EQ(tg_context_create(nullptr, &where, nullptr), TG_OK);
  EXPECT_EQ(tg_module_from_file(where, "/nowhere.py", &module, nullptr), TG_DATA);
  EXPECT_EQ(module, nullptr);
  tg_context_destroy(where);
}

TEST(Errors, DoNotStopLaterCalls) {
  Kernels k;
  for (int i = 0; i != 20; ++i)
    EXPECT_FALSE(k.call({-1}, 16));
  ASSERT_TRUE(k.call({1}, 16));
  EXPECT_EQ(k.out[15], 7);
}

} // namespace
