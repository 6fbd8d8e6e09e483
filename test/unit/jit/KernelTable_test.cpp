// The table of compiled kernels: by key and by what hosts answered, bounded over all tables.
#include "jit/KernelTable.h"
#include "sema/Session.h"

#include <gtest/gtest.h>

#include <thread>

using namespace tegula;
using jit::KernelRef;
using jit::KernelTable;
using jit::SpecializedKernel;

namespace {

// Answers `N`, and counts how often it is asked.
struct CountingHost : sema::HostEnv {
  int64_t n = 1;
  int asked = 0;
  std::optional<sema::HostAnswer> lookup(std::string_view name) override {
    ++asked;
    return name == "N" ? std::optional(sema::HostAnswer{sema::makeInt(n), true}) : std::nullopt;
  }
};

// A kernel of a compile that asked for N.
KernelRef compiled(const std::shared_ptr<sema::HostEnv> &host) {
  auto kernel = llvm::makeIntrusiveRefCnt<SpecializedKernel>();
  kernel->record.lookup(host, "N");
  kernel->record.seal();
  return kernel;
}
KernelRef plain() { return llvm::makeIntrusiveRefCnt<SpecializedKernel>(); }

class Limited : public testing::Test {
protected:
  void TearDown() override { jit::setKernelLimit(before_); }

private:
  size_t before_ = jit::kernelLimit();
};

TEST(KernelTableTest, FindsByKey) {
  KernelTable table;
  EXPECT_FALSE(table.find("a", 0));
  KernelRef a = table.insert("a", 0, plain()), b = table.insert("b", 0, plain());
  EXPECT_EQ(table.find("a", 0), a);
  EXPECT_EQ(table.find("b", 0), b);
  EXPECT_TRUE(a->isKept);
}

TEST(KernelTableTest, AsksTheHostOnceAChangeOfItsVersion) {
  KernelTable table;
  auto host = std::make_shared<CountingHost>();
  KernelRef kernel = table.insert("key", 0, compiled(host));
  host->asked = 0;
  for (int i = 0; i != 5; ++i)
    EXPECT_EQ(table.find("key", 0), kernel);
  EXPECT_EQ(host->asked, 0);
  for (int i = 0; i != 5; ++i)
    EXPECT_EQ(table.find("key", 1), kernel); // another version, the same answer
  EXPECT_EQ(host->asked, 1);
}

TEST(KernelTableTest, AnotherAnswerIsAnotherKernelAndTheOldOneIsFoundAgain) {
  KernelTable table;
  auto host = std::make_shared<CountingHost>();
  KernelRef one = table.insert("key", 0, compiled(host));
  host->n = 2;
  EXPECT_FALSE(table.find("key", 1));
  KernelRef two = table.insert("key", 1, compiled(host));
  EXPECT_NE(one, two);
  EXPECT_EQ(table.find("key", 1), two);
  host->n = 1;
  EXPECT_EQ(table.find("key", 2), one);
  EXPECT_EQ(table.size(), 2u);
}

TEST(KernelTableTest, OfTwoThreadsTheFirstKernelStays) {
  KernelTable table;
  auto host = std::make_shared<CountingHost>();
  KernelRef first = table.insert("key", 0, compiled(host));
  EXPECT_EQ(table.insert("key", 0, compiled(host)), first);
  EXPECT_EQ(table.size(), 1u);
}

TEST(KernelTableTest, KeepsAFewKernelsOfOneKey) {
  KernelTable table;
  auto host = std::make_shared<CountingHost>();
  size_t before = jit::keptKernels();
  for (uint64_t version = 0; version != 40; ++version) {
    host->n = int64_t(version);
    table.insert("key", version, compiled(host));
  }
  EXPECT_EQ(table.size(), KernelTable::mostOfOneKey);
  EXPECT_EQ(jit::keptKernels() - before, KernelTable::mostOfOneKey);
}

TEST_F(Limited, TheProcessKeepsAtMostSoManyAndTheOldestGoFirst) {
  KernelTable table, other;
  jit::setKernelLimit(jit::keptKernels() + 16);
  KernelRef held = table.insert("held", 0, plain());
  for (int i = 0; i != 100; ++i) {
    (i % 2 ? table : other).insert(std::to_string(i), 0, plain());
    EXPECT_LE(jit::keptKernels(), jit::kernelLimit());
  }
  EXPECT_FALSE(held->isKept);
  EXPECT_FALSE(table.find("held", 0));
  EXPECT_TRUE(table.find("99", 0)); // the last ones are there
  EXPECT_TRUE(other.find("98", 0));
  EXPECT_GT(table.size() + other.size(), 8u);
}

TEST_F(Limited, WhatIsUsedStays) {
  KernelTable table;
  jit::setKernelLimit(jit::keptKernels() + 16);
  KernelRef used = table.insert("used", 0, plain());
  for (int i = 0; i != 100; ++i) {
    table.insert(std::to_string(i), 0, plain());
    ASSERT_EQ(table.find("used", 0), used);
  }
}

TEST_F(Limited, ZeroIsNoBound) {
  KernelTable table;
  jit::setKernelLimit(0);
  for (int i = 0; i != 100; ++i)
    table.insert(std::to_string(i), 0, plain());
  EXPECT_EQ(table.size(), 100u);
}

TEST_F(Limited, ATableThatEndsCountsNoMore) {
  size_t before = jit::keptKernels();
  {
    KernelTable table;
    table.insert("a", 0, plain());
    EXPECT_EQ(jit::keptKernels(), before + 1);
  }
  EXPECT_EQ(jit::keptKernels(), before);
}

TEST_F(Limited, ManyThreads) {
  KernelTable tables[2];
  jit::setKernelLimit(jit::keptKernels() + 32);
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&tables, t] {
      for (int i = 0; i != 500; ++i) {
        std::string key = std::to_string(i % 60);
        KernelTable &table = tables[(t + i) % 2];
        if (!table.find(key, 0))
          table.insert(key, 0, plain());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(tables[0].size() + tables[1].size(), 32u);
}

} // namespace
