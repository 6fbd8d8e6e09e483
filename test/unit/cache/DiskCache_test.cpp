// Files by name in a private folder: what is kept, what goes, who waits, and which folders are refused.
#include "cache/DiskCache.h"
#include "cache/PrivateFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using cache::DiskCache;
namespace fs = std::filesystem;

namespace {

std::string nameOf(unsigned number) {
  char text[65];
  std::snprintf(text, sizeof text, "%08x%056x", number * 2654435761u, number);
  return text;
}

class Temporary : public testing::Test {
protected:
  Temporary() {
    char pattern[] = "/tmp/tegula-cache-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Temporary() override { fs::remove_all(path); }

  std::shared_ptr<DiskCache> open(uint64_t mostBytes = 0) {
    Result<std::shared_ptr<DiskCache>> opened = DiskCache::open(path, mostBytes);
    EXPECT_TRUE(opened) << opened.status().message;
    return opened ? *opened : nullptr;
  }
  std::string refusal(const std::string &at) {
    Result<std::shared_ptr<DiskCache>> opened = DiskCache::open(at, 0);
    EXPECT_FALSE(opened);
    return opened.status().message;
  }
  size_t leftOvers(const DiskCache &disk) {
    fs::path folder = disk.path() + "/new";
    return fs::exists(folder) ? size_t(std::distance(fs::directory_iterator(folder), {})) : 0;
  }

  std::string path;
};
using DiskCacheTest = Temporary;

TEST_F(DiskCacheTest, APipeInThePlaceOfAnEntryIsNoneAndNobodyWaits) {
  auto disk = open();
  ASSERT_TRUE(disk->put(nameOf(1), "bytes").ok());
  std::vector<fs::path> entries;
  for (const auto &entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && entry.path().filename().string().size() == 65)
      entries.push_back(entry.path());
  ASSERT_EQ(entries.size(), 1u);
  fs::remove(entries[0]);
  ASSERT_EQ(::mkfifo(entries[0].c_str(), 0600), 0);
  ::alarm(20); // a wait ends the test
  EXPECT_EQ(disk->get(nameOf(1), 0), std::nullopt);
  ::alarm(0);
  EXPECT_TRUE(disk->put(nameOf(1), "again").ok());
}

TEST_F(DiskCacheTest, GivesWhatWasPut) {
  auto disk = open();
  EXPECT_FALSE(disk->get(nameOf(1), 0));
  for (const std::string &bytes : {std::string("one"), std::string(), std::string(3'000'000, 'x')}) {
    std::string name = nameOf(unsigned(bytes.size()));
    ASSERT_TRUE(disk->put(name, bytes).ok());
    EXPECT_EQ(open()->get(name, 0), bytes); // another process's view
  }
  EXPECT_EQ(disk->usage().entries, 3u);
  EXPECT_EQ(leftOvers(*disk), 0u);
}

TEST_F(DiskCacheTest, ANameHasEightEntriesAndThenTheOldestGoes) {
  auto disk = open();
  for (unsigned i = 0; i != 12; ++i) {
    ASSERT_TRUE(disk->put(nameOf(7), std::to_string(i)).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::set<std::string> kept;
  for (unsigned slot = 0; slot != cache::slotsOfName; ++slot)
    kept.insert(disk->get(nameOf(7), slot).value_or("none"));
  EXPECT_EQ(kept, (std::set<std::string>{"4", "5", "6", "7", "8", "9", "10", "11"}));
  EXPECT_EQ(disk->usage().entries, 8u);
  disk->drop(nameOf(7), 3);
  EXPECT_FALSE(disk->get(nameOf(7), 3));
  ASSERT_TRUE(disk->put(nameOf(7), "12").ok());
  EXPECT_EQ(disk->get(nameOf(7), 3), "12");
}

TEST_F(DiskCacheTest, TheFolderIsBoundedAndTheLeastUsedGoes) {
  constexpr uint64_t bound = 16 << 20, size = 100'000;
  auto disk = open(bound);
  std::string bytes(size, 'x');
  for (unsigned i = 0; i != 400; ++i)
    ASSERT_TRUE(disk->put(nameOf(i), bytes).ok());
  EXPECT_LE(disk->usage().bytes, bound);
  EXPECT_GT(disk->usage().bytes, bound / 2);
  EXPECT_TRUE(disk->get(nameOf(399), 0));
  // Larger than all there may be: it stays, since somebody has just made it.
  ASSERT_TRUE(disk->put(nameOf(1000), std::string(2 * bound, 'y')).ok());
  EXPECT_TRUE(disk->get(nameOf(1000), 0));
}

TEST_F(DiskCacheTest, ClearRemovesEntriesAndTheFilesOfEndedWriters) {
  auto disk = open();
  ASSERT_TRUE(disk->put(nameOf(1), "one").ok());
  ASSERT_TRUE(disk->put(nameOf(2), "two").ok());
  pid_t ended = ::fork();
  if (ended == 0)
    ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  std::ofstream(disk->path() + "/new/" + std::to_string(ended) + "-1-ab") << "half";
  std::ofstream(disk->path() + "/new/" + std::to_string(::getpid()) + "-99-ab") << "being written";
  EXPECT_EQ(disk->clear(), 2u);
  EXPECT_EQ(disk->usage().entries, 0u);
  EXPECT_EQ(leftOvers(*disk), 1u);
}

TEST_F(DiskCacheTest, OneTurnANameAndItEndsWithItsProcess) {
  auto disk = open();
  {
    auto turn = disk->takeTurn(nameOf(1));
    ASSERT_TRUE(turn);
    EXPECT_FALSE(disk->takeTurn(nameOf(1)));
    EXPECT_FALSE(open()->takeTurn(nameOf(1)));
    EXPECT_TRUE(disk->takeTurn(nameOf(2)));
  }
  EXPECT_TRUE(disk->takeTurn(nameOf(1)));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto turn = disk->takeTurn(nameOf(3));
    [[maybe_unused]] ssize_t told = ::write(ready[1], turn ? "y" : "n", 1);
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(disk->takeTurn(nameOf(3)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(disk->takeTurn(nameOf(3)));
  ::close(ready[0]), ::close(ready[1]);
}

// Writers are killed at random points. TEGULA_TEST_KILLS asks for more than what every run can wait for.
TEST_F(DiskCacheTest, KilledWritersLeaveNoPartOfAnEntry) {
  const char *asked = std::getenv("TEGULA_TEST_KILLS");
  unsigned kills = asked ? unsigned(std::atoi(asked)) : 100;
  auto expected = [](unsigned i) { return std::string(2'000 + i % 50 * 997, char('a' + i % 26)); };
  unsigned random = 12345;
  size_t most = 0;
  for (unsigned round = 0; round < kills; ++round) {
    pid_t writer = ::fork();
    if (writer == 0) {
      auto disk = open();
      for (unsigned i = round;; ++i)
        if (!disk->put(nameOf(i % 64), expected(i % 64)).ok())
          ::_exit(1);
    }
    random = random * 1664525u + 1013904223u;
    ::usleep(random >> 20);
    ::kill(writer, SIGKILL);
    int status = 0;
    ::waitpid(writer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a writer failed by itself";
    auto disk = open();
    most = std::max(most, leftOvers(*disk));
    if (round % 50 == 0 || round + 1 == kills)
      for (unsigned i = 0; i != 64; ++i)
        for (unsigned slot = 0; slot != cache::slotsOfName; ++slot)
          if (auto bytes = disk->get(nameOf(i), slot))
            ASSERT_TRUE(*bytes == expected(i)) << i;
  }
  EXPECT_LE(most, 64u);
}

TEST_F(DiskCacheTest, ManyProcessesPutAndGetTheSameNames) {
  std::vector<pid_t> processes;
  for (unsigned p = 0; p != 8; ++p)
    if (pid_t child = ::fork(); child != 0) {
      processes.push_back(child);
    } else {
      auto disk = open(1 << 20);
      bool isRight = true;
      for (unsigned i = 0; i != 200; ++i) {
        unsigned number = (i * 7 + p) % 40;
        for (unsigned slot = 0; slot != 2; ++slot)
          if (auto bytes = disk->get(nameOf(number), slot))
            isRight &= *bytes == std::string(9'000, char('a' + number % 26));
        isRight &= disk->put(nameOf(number), std::string(9'000, char('a' + number % 26))).ok();
      }
      ::_exit(isRight ? 0 : 1);
    }
  for (pid_t child : processes) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST_F(DiskCacheTest, AFolderThatWasRemovedIsNoFault) {
  auto disk = open();
  ASSERT_TRUE(disk->put(nameOf(1), "one").ok());
  EXPECT_TRUE(disk->isThere());
  fs::remove_all(disk->path());
  EXPECT_FALSE(disk->isThere());
  EXPECT_FALSE(disk->get(nameOf(1), 0));
  EXPECT_FALSE(disk->put(nameOf(1), "one").ok());
  EXPECT_TRUE(open()->put(nameOf(1), "one").ok());
}

TEST_F(DiskCacheTest, AFullDiskIsAStatus) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto disk = open();
  ASSERT_TRUE(disk->put(nameOf(1), "one").ok());
  rlimit little{1000, before.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &little);
  Status status = disk->put(nameOf(2), std::string(100'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(disk->get(nameOf(2), 0));
  EXPECT_EQ(leftOvers(*disk), 0u);
  EXPECT_EQ(disk->get(nameOf(1), 0), "one");
}

// ---- which folders are refused -------------------------------------------------------------

using PrivateFolderTest = Temporary;

TEST_F(PrivateFolderTest, MissingFoldersAreMadeForUsAlone) {
  std::string below = path + "/a/b/c";
  auto disk = DiskCache::open(below, 0);
  ASSERT_TRUE(disk) << disk.status().message;
  struct stat status{};
  for (const std::string &made : {path + "/a", below, (*disk)->path()}) {
    ASSERT_EQ(::stat(made.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << made;
  }
}

TEST_F(PrivateFolderTest, TheReasonIsSaidWhyAFolderCannotBeMade) {
  std::ofstream(path + "/file").close();
  auto below = tegula::cache::PrivateFolder::open(path + "/file/cache", "kernels");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.status().message, "`" + path + "/file/cache`: Not a directory");
}

TEST_F(PrivateFolderTest, OneThatOthersCanReadOrWriteIsRefused) {
  std::string own = open()->path();
  for (mode_t mode : {0750, 0707, 0720}) {
    ::chmod(own.c_str(), mode);
    EXPECT_NE(refusal(path).find("is open to others"), std::string::npos);
  }
  ::chmod(own.c_str(), 0700);
  open();
}

TEST_F(PrivateFolderTest, OneInAFolderThatOthersCanWriteToIsRefused) {
  ::mkdir((path + "/open").c_str(), 0700);
  ::chmod((path + "/open").c_str(), 0777);
  EXPECT_NE(refusal(path + "/open").find("can be written to by others"), std::string::npos);
  EXPECT_NE(refusal(path + "/open/below").find("can be written to by others"), std::string::npos);
  ::chmod((path + "/open").c_str(), 01777); // as /tmp: what is ours there stays ours
  EXPECT_TRUE(DiskCache::open(path + "/open", 0));
}

TEST_F(PrivateFolderTest, ASymbolicLinkInItsPlaceIsRefused) {
  fs::create_directory(path + "/elsewhere");
  fs::create_directory(path + "/named");
  fs::create_directory_symlink(path + "/elsewhere", path + "/named/kernels-1");
  EXPECT_NE(refusal(path + "/named").find("symbolic link"), std::string::npos);
  fs::remove(path + "/named/kernels-1");
  std::ofstream(path + "/named/kernels-1") << "a file";
  EXPECT_NE(refusal(path + "/named").find("no folder"), std::string::npos);
  // Our own link to where the cache is to lie is our business.
  fs::create_directory_symlink(path + "/elsewhere", path + "/link");
  EXPECT_TRUE(DiskCache::open(path + "/link", 0));
}

TEST_F(PrivateFolderTest, OneOfAnotherUserIsRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder away";
  std::string own = open()->path();
  ASSERT_EQ(::chown(own.c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal(path).find("belongs to another user"), std::string::npos);
  ASSERT_EQ(::chown(own.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal(path).find("belongs to another user"), std::string::npos);
  fs::create_symlink(path, path + "-link");
  ASSERT_EQ(::lchown((path + "-link").c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal(path + "-link").find("of another user"), std::string::npos);
  fs::remove(path + "-link");
}

TEST_F(PrivateFolderTest, WhatIsNoAbsolutePathIsRefused) {
  EXPECT_FALSE(DiskCache::open("", 0));
  EXPECT_FALSE(DiskCache::open("cache", 0));
  EXPECT_FALSE(DiskCache::open("/proc/none/cache", 0));
  std::ofstream(path + "/file") << "x";
  EXPECT_FALSE(DiskCache::open(path + "/file/cache", 0));
}

} // namespace
