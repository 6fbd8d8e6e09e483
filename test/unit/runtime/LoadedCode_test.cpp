// Objects of a compiler in this process, and what is none.
#include "runtime/LoadedCode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

using namespace tegula;
using runtime::LoadedCode;

namespace {

long hostAdds(long a, long b) { return a + b; }

std::string sample() {
  std::ifstream file(TEGULA_SAMPLE_OBJECT, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<std::unique_ptr<LoadedCode>> load(std::string_view object) {
  const runtime::HostFunction host[] = {{"hostAdds", reinterpret_cast<void *>(&hostAdds)}};
  return LoadedCode::load(object, host);
}

template <class Function> Function *function(const LoadedCode &code, const char *name) {
  void *address = code.address(name);
  EXPECT_TRUE(address) << name;
  return reinterpret_cast<Function *>(address);
}

TEST(LoadedCodeTest, CodeReachesAllThatItNames) {
  auto code = load(sample());
  ASSERT_TRUE(code) << code.status().message;
  EXPECT_EQ(function<double(long)>(**code, "fromTable")(2), 2.5);
  EXPECT_EQ(function<long()>(**code, "count")(), 41);
  EXPECT_EQ(function<long()>(**code, "count")(), 42);
  EXPECT_EQ(function<long()>(**code, "sumOfZeros")(), 0);
  EXPECT_EQ(function<long()>(**code, "sumOfZeros")(), 1);
  EXPECT_EQ(function<long(long)>(**code, "callsHost")(21), 49);
  EXPECT_EQ(function<long(long)>(**code, "lengthOf")(1), 3);
  char text[6] = "";
  function<void(void *, const void *, unsigned long)>(**code, "copy")(text, "hello", 6);
  EXPECT_STREQ(text, "hello");
  EXPECT_FALSE((*code)->address("twice")); // its own
  EXPECT_FALSE((*code)->address("nothing"));
}

TEST(LoadedCodeTest, TwoOfOneObjectAreApart) {
  auto first = load(sample()), second = load(sample());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(function<long()>(**first, "count")(), 41);
  EXPECT_EQ(function<long()>(**second, "count")(), 41);
}

TEST(LoadedCodeTest, BytesMayLieAnywhere) {
  std::string shifted = "x" + sample();
  auto code = load(std::string_view(shifted).substr(1));
  ASSERT_TRUE(code) << code.status().message;
  EXPECT_EQ(function<long()>(**code, "count")(), 41);
}

TEST(LoadedCodeTest, NoPageIsWritableAndExecutable) {
  auto code = load(sample());
  ASSERT_TRUE(code);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    EXPECT_EQ(line.find(" rwx"), line.npos) << line;
}

TEST(LoadedCodeTest, AFunctionThatIsNowhereIsNamed) {
  Result<std::unique_ptr<LoadedCode>> code = LoadedCode::load(sample());
  ASSERT_FALSE(code);
  EXPECT_NE(code.status().message.find("`hostAdds`"), std::string::npos);
}

TEST(LoadedCodeTest, WhatIsNoObjectIsRefused) {
  std::string good = sample();
  for (size_t size : {size_t(0), size_t(3), size_t(63), size_t(64), good.size() / 2, good.size() - 1})
    EXPECT_FALSE(load(good.substr(0, size))) << size;
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string program(4096, '\0');
  self.read(program.data(), 4096);
  EXPECT_FALSE(load(program));
}

TEST(LoadedCodeTest, DamagedObjectsAreLoadedOrRefusedWithoutAFault) {
  std::string good = sample();
  std::mt19937_64 random(5);
  unsigned refused = 0;
  for (int round = 0; round != 10'000; ++round) {
    std::string bytes = good;
    for (uint64_t changes = 1 + random() % 4; changes; --changes) {
      size_t at = random() % 3 == 0 ? random() % 64 : random() % bytes.size();
      bytes[at] = char(random() % 4 ? random() : 0xff);
    }
    refused += !load(bytes);
  }
  EXPECT_GT(refused, 300u);
}

} // namespace
