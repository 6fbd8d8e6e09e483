// Compiled kernels on disk: what another compile finds, and all that makes it look for something else.
#include "artifact/Artifact.h"
#include "compiler/BuildId.h"
#include "compiler/KernelCache.h"
#include "compiler/ModuleFile.h"
#include "compiler/Parameters.h"
#include "compiler/Signature.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <sys/stat.h>

using namespace tegula;
namespace fs = std::filesystem;

namespace {

constexpr const char *cachedText = "import triton\n"
                                   "import triton.language as tl\n"
                                   "N = tl.constexpr(3)\n"
                                   "\n"
                                   "@triton.jit\n"
                                   "def kernel(x, n, B: tl.constexpr = 2):\n"
                                   "    for i in range(B):\n"
                                   "        tl.store(x + i, n + N)\n";

struct Asked {
  std::string source = cachedText, path = "k.py", signature = "x=*i32,n=i32";
  uint32_t line = 1;
  compiler::CompileOptions options;
};

class KernelCacheTest : public testing::Test {
protected:
  KernelCacheTest() {
    char pattern[] = "/tmp/tegula-kernels-XXXXXX";
    folder = ::mkdtemp(pattern);
    ::setenv("TEGULA_CACHE_DIR", folder.c_str(), 1);
    ::unsetenv("TEGULA_DISK_CACHE");
    ::unsetenv("TRITON_ALWAYS_COMPILE");
  }
  ~KernelCacheTest() override {
    ::unsetenv("TEGULA_CACHE_DIR");
    fs::remove_all(folder);
  }

  std::unique_ptr<compiler::Compilation> compile(const Asked &asked = {}) {
    sink = diag::Sink();
    record = sema::HostRecord();
    module = compiler::makeModule(std::make_shared<diag::Source>(asked.path, asked.source, asked.line, 0),
                                  nullptr, sink);
    auto function = module.functions.at(0);
    auto specs =
        compiler::parseSignature(asked.signature, *function, compiler::parametersOf(*function), sink);
    EXPECT_TRUE(specs);
    return compiler::findOrCompile({function, std::move(*specs), asked.options.language, &record},
                                   asked.options, sink);
  }
  std::shared_ptr<cache::DiskCache> disk() { return *compiler::diskCache(); }
  // Was it found, and not compiled?
  bool isFound(const Asked &asked = {}) {
    uint64_t hits = disk()->hits;
    compile(asked);
    return disk()->hits == hits + 1;
  }
  static std::vector<int32_t> run(compiler::Compilation &compiled, int32_t n) {
    std::vector<int32_t> x(4);
    uint64_t slots[] = {uint64_t(reinterpret_cast<uintptr_t>(x.data())), uint64_t(uint32_t(n))};
    EXPECT_TRUE(compiled.launch(slots, {}).ok());
    return x;
  }

  std::string folder;
  diag::Sink sink;
  sema::HostRecord record;
  compiler::Module module;
};

TEST_F(KernelCacheTest, WhatIsFoundIsAsGoodAsWhatWasCompiled) {
  auto compiled = compile();
  ASSERT_TRUE(compiled);
  sema::HostRecord asked = std::move(record);
  auto found = compile();
  ASSERT_TRUE(found);
  EXPECT_EQ(disk()->hits, 1u);
  EXPECT_EQ(disk()->misses, 1u);
  EXPECT_EQ(found->times().front().stage, "disk cache");
  EXPECT_EQ(run(*found, 4), (std::vector<int32_t>{7, 7, 0, 0}));
  EXPECT_EQ(run(*found, 4), run(*compiled, 4));
  EXPECT_EQ(found->kernelName(), compiled->kernelName());
  EXPECT_EQ(found->stageNames(), compiled->stageNames());
  for (const std::string &stage : compiled->stageNames()) {
    Result<std::string_view> was = compiled->stage(stage), is = found->stage(stage);
    ASSERT_TRUE(was && is) << stage;
    EXPECT_EQ(*is, *was) << stage;
  }
  ASSERT_EQ(found->remarks().size(), compiled->remarks().size());
  for (size_t i = 0; i != found->remarks().size(); ++i)
    EXPECT_EQ(found->remarks()[i].text, compiled->remarks()[i].text);
  ASSERT_EQ(found->arguments().size(), 2u);
  EXPECT_TRUE(found->arguments()[0].written && !found->arguments()[1].written);
  EXPECT_EQ(found->arguments()[0].type, compiled->arguments()[0].type);
  EXPECT_EQ(record.size(), asked.size());
  EXPECT_TRUE(record.holds());
}

// ---- each part of the key ------------------------------------------------------------------

TEST_F(KernelCacheTest, AnotherTextIsAnotherKernel) {
  ASSERT_TRUE(compile());
  EXPECT_TRUE(isFound());
  Asked body, constant, path, line;
  body.source.replace(body.source.find("n + N"), 5, "n - N");
  constant.source.replace(constant.source.find("constexpr(3)"), 12, "constexpr(4)");
  path.path = "other.py";
  line.line = 2; // what assertions and debuggers say
  for (const Asked &asked : {body, constant, path, line}) {
    EXPECT_FALSE(isFound(asked));
    EXPECT_TRUE(isFound(asked));
  }
  EXPECT_EQ(run(*compile(body), 4), (std::vector<int32_t>{1, 1, 0, 0}));
  EXPECT_EQ(run(*compile(constant), 4), (std::vector<int32_t>{8, 8, 0, 0}));
}

TEST_F(KernelCacheTest, OtherArgumentsAreAnotherKernel) {
  ASSERT_TRUE(compile());
  for (const char *signature : {"x=*i32:16,n=i32", "x=*i32,n=i32:16", "x=*i64,n=i32", "x=*i32,n=i64",
                                "x=*u32,n=i32", "x=*i32,n=1", "x=*i32,n=i32,B=2", "x=*i32,n=i32,B=1"}) {
    Asked asked;
    asked.signature = signature;
    EXPECT_FALSE(isFound(asked)) << signature;
    EXPECT_TRUE(isFound(asked)) << signature;
  }
}

TEST_F(KernelCacheTest, OtherOptionsAreAnotherKernel) {
  ASSERT_TRUE(compile());
  std::vector<Asked> others(11);
  others[0].options.language.numWarps = 8;
  others[1].options.language.numStages = 2;
  others[2].options.language.debug = true;
  others[3].options.language.dotPrecision = sema::DotPrecision::IEEE;
  others[4].options.targetOptions.fusesMultiplyAdd = false;
  others[5].options.targetOptions.isCooperative = true;
  others[6].options.targetOptions.maxRegisters = 32;
  others[7].options.targetOptions.cpu = "haswell";
  others[8].options.targetOptions.cpu = "sapphirerapids";
  others[9].options.targetOptions.launchesEarly = true;
  others[10].options.targetOptions.libraries = {
      std::make_shared<codegen::ExternLibrary>(codegen::ExternLibrary{"mine", "mine.bc", "", "0123"})};
  for (const Asked &asked : others) {
    EXPECT_FALSE(isFound(asked)) << &asked - others.data();
    EXPECT_TRUE(isFound(asked)) << &asked - others.data();
  }
}

TEST_F(KernelCacheTest, AnotherArchitectureOrAssemblerIsAnotherKernel) {
  Asked asked;
  asked.options.target = "sm_80";
  ASSERT_TRUE(compile(asked)) << diag::render(sink.all());
  EXPECT_TRUE(isFound(asked));
  Asked other = asked;
  other.options.target = "sm_90a";
  EXPECT_FALSE(isFound(other));
  const char *named = std::getenv("TEGULA_PTXAS");
  std::string before = named ? named : "";
  std::ofstream(folder + "/ptxas") << "#!/bin/sh\nexec ptxas \"$@\"\n";
  ::chmod((folder + "/ptxas").c_str(), 0700);
  ::setenv("TEGULA_PTXAS", (folder + "/ptxas").c_str(), 1);
  EXPECT_FALSE(isFound(asked));
  // The worker that runs already has the tool of before: nothing is kept under the name of the new one.
  EXPECT_FALSE(isFound(asked));
  before.empty() ? ::unsetenv("TEGULA_PTXAS") : ::setenv("TEGULA_PTXAS", before.c_str(), 1);
  EXPECT_TRUE(isFound(asked));
}

TEST_F(KernelCacheTest, TheBuildOfTheCompilerHasANameThatStays) {
  EXPECT_EQ(compiler::buildId().size(), 64u);
  EXPECT_EQ(&compiler::buildId(), &compiler::buildId());
}

// ---- what is kept besides code ---------------------------------------------------------------

TEST_F(KernelCacheTest, WarningsAreToldAgain) {
  Asked asked;
  asked.source.replace(asked.source.find("    for i"), 0, "    tl.static_print(\"B is\", B)\n");
  ASSERT_TRUE(compile(asked));
  std::vector<diag::Diagnostic> told = sink.all();
  ASSERT_FALSE(told.empty());
  ASSERT_TRUE(isFound(asked));
  ASSERT_EQ(sink.all().size(), told.size());
  EXPECT_EQ(diag::render(sink.all()), diag::render(told));
}

TEST_F(KernelCacheTest, AKernelThatDoesNotFitIsNotTriedAgain) {
  Asked asked;
  asked.source = "import triton\nimport triton.language as tl\n@triton.jit\n"
                 "def kernel(a, b, c):\n"
                 "    i = tl.arange(0, 256)\n"
                 "    x = tl.load(a + i[:, None] * 256 + i[None, :])\n"
                 "    y = tl.load(b + i[:, None] * 256 + i[None, :])\n"
                 "    tl.store(c + i[:, None] * 256 + i[None, :], tl.dot(x, y))\n";
  asked.signature = "a=*f32:16,b=*f32:16,c=*f32:16";
  asked.options.target = "sm_75";
  ASSERT_FALSE(compile(asked));
  std::string told = diag::render(sink.all());
  ASSERT_EQ(sink.status().code, StatusCode::Resource) << told;
  EXPECT_TRUE(isFound(asked));
  EXPECT_EQ(diag::render(sink.all()), told);
  EXPECT_EQ(sink.status().code, StatusCode::Resource);
}

TEST_F(KernelCacheTest, AMistakeIsTriedAgain) {
  Asked asked;
  asked.source.replace(asked.source.find("n + N"), 5, "n + M");
  EXPECT_FALSE(compile(asked));
  EXPECT_FALSE(isFound(asked));
  EXPECT_EQ(disk()->usage().entries, 0u);
}

// ---- damage, and folders that are none --------------------------------------------------------

TEST_F(KernelCacheTest, ADamagedEntryIsCompiledAnewAndReplaced) {
  ASSERT_TRUE(compile());
  fs::path file;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(disk()->path()))
    if (entry.is_regular_file() && entry.file_size() > 100)
      file = entry.path();
  auto size = fs::file_size(file);
  for (uintmax_t at : {uintmax_t(0), size / 2, size - 1}) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(std::streamoff(at));
    char byte = char(stream.get() ^ 0x20);
    stream.seekp(std::streamoff(at));
    stream.put(byte);
    stream.close();
    EXPECT_FALSE(isFound());
    EXPECT_TRUE(isFound());
  }
  fs::resize_file(file, size / 3);
  EXPECT_FALSE(isFound());
  EXPECT_TRUE(isFound());
  EXPECT_EQ(disk()->usage().entries, 1u);
  EXPECT_EQ(run(*compile(), 4), (std::vector<int32_t>{7, 7, 0, 0}));
}

// An entry after a disk, a cable or a power cut had its way; `other` is the entry of another kernel.
std::string damagedCopy(const std::string &whole, const std::string &other, std::mt19937_64 &random) {
  std::string bytes = whole;
  size_t at = random() % bytes.size(), length = 1 + random() % 600;
  switch (random() % 8) {
  case 0: bytes[at] ^= char(1 << random() % 8); break;
  case 1: bytes.resize(at); break;
  case 2: std::fill(bytes.begin() + ptrdiff_t(at), bytes.end(), '\0'); break;
  case 3: bytes.erase(at, length); break;
  case 4: bytes.insert(at, length, char(random())); break;
  case 5:
    for (size_t i = at; i != std::min(at + length, bytes.size()); ++i)
      bytes[i] = char(random());
    break;
  case 6: std::copy_n(other.begin(), std::min({at, other.size(), bytes.size()}), bytes.begin()); break;
  default: bytes = other;
  }
  return bytes;
}

// TEGULA_TEST_DAMAGED asks for more than what every run can wait for. Where compiles are forbidden an entry
// that is not taken is an error, which costs little; each hundredth is compiled anew and runs.
TEST_F(KernelCacheTest, NoDamagedEntryIsTaken) {
  const char *asked = std::getenv("TEGULA_TEST_DAMAGED");
  unsigned count = asked ? unsigned(std::atoi(asked)) : 400;
  auto contents = [](const fs::path &path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  auto onlyEntry = [&] {
    fs::path file;
    disk()->forEach([&](const std::string &name, unsigned slot) {
      file = disk()->path() + "/" + name.substr(0, 1) + "/" + name.substr(1) + "." + std::to_string(slot);
    });
    return file;
  };
  Asked closed, otherKernel;
  closed.options.isClosed = true;
  otherKernel.signature = "x=*i64,n=i64";
  ASSERT_TRUE(compile(otherKernel));
  const std::string other = contents(onlyEntry());
  disk()->clear();
  ASSERT_TRUE(compile());
  const fs::path file = onlyEntry();
  const std::string whole = contents(file);
  std::mt19937_64 random(11);
  for (unsigned i = 0; i != count; ++i) {
    std::string damaged = damagedCopy(whole, other, random);
    if (damaged == whole)
      continue;
    std::ofstream(file, std::ios::binary) << damaged;
    ASSERT_FALSE(compile(closed)) << i;
    ASSERT_EQ(diag::name(sink.all().at(0).kind), "ClosedProcess") << i;
    ASSERT_FALSE(fs::exists(file)) << i;
    if (i % 100 != 0)
      continue;
    std::ofstream(file, std::ios::binary) << damaged;
    auto compiled = compile();
    ASSERT_TRUE(compiled) << i;
    ASSERT_EQ(run(*compiled, 4), (std::vector<int32_t>{7, 7, 0, 0})) << i;
    ASSERT_TRUE(compile(closed)) << i;
  }
}

TEST_F(KernelCacheTest, VerifyRemovesWhatIsDamagedOnly) {
  ASSERT_TRUE(compile());
  Asked other;
  other.signature = "x=*i64,n=i64";
  ASSERT_TRUE(compile(other));
  compiler::Verified verified = compiler::verify(*disk());
  EXPECT_EQ(verified.entries, 2u);
  EXPECT_EQ(verified.damaged, 0u);
  std::string entry;
  disk()->forEach([&](const std::string &name, unsigned slot) {
    entry = disk()->path() + "/" + name.substr(0, 1) + "/" + name.substr(1) + "." + std::to_string(slot);
  });
  fs::resize_file(entry, 10);
  EXPECT_EQ(compiler::verify(*disk()).damaged, 1u);
  EXPECT_EQ(compiler::verify(*disk()).entries, 1u);
}

TEST_F(KernelCacheTest, AnUnsafeFolderMeansNoCacheAndOneWarning) {
  ::chmod(folder.c_str(), 0777);
  for (bool isFirst : {true, false}) {
    auto compiled = compile();
    ASSERT_TRUE(compiled);
    EXPECT_EQ(run(*compiled, 1), (std::vector<int32_t>{4, 4, 0, 0}));
    ASSERT_EQ(sink.all().size(), size_t(isFirst));
    if (isFirst) {
      EXPECT_EQ(sink.all()[0].kind, diag::Kind::CacheUnusable);
      EXPECT_NE(sink.all()[0].message.find("can be written to by others"), std::string::npos);
    }
  }
  EXPECT_EQ(compiler::diskCache().status().code, StatusCode::Data);
}

TEST_F(KernelCacheTest, ItIsSwitchedOffByTheEnvironment) {
  for (auto [name, value] : {std::pair("TEGULA_DISK_CACHE", "0"), {"TRITON_ALWAYS_COMPILE", "1"}}) {
    ::setenv(name, value, 1);
    ASSERT_TRUE(compile());
    EXPECT_TRUE(sink.all().empty());
    EXPECT_EQ(compiler::diskCache().status().code, StatusCode::Unsupported);
    ::unsetenv(name);
  }
  EXPECT_TRUE(fs::is_empty(folder));
}

} // namespace
