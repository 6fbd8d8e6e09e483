// Files of users: what a path may name, and what is left when something fails.
#include "base/Files.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tegula;
namespace fs = std::filesystem;

namespace {

class Files : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tegula-files-XXXXXX";
    ASSERT_TRUE(::mkdtemp(pattern.data()));
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string path(const std::string &name) const { return (folder / name).string(); }
  size_t count() const { return size_t(std::distance(fs::directory_iterator(folder), {})); }
  static std::string content(const std::string &path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path folder;
};

TEST_F(Files, AreWrittenAsAWhole) {
  EXPECT_TRUE(writeFile(path("a"), {"one", "", "two"}).ok());
  EXPECT_EQ(content(path("a")), "onetwo");
  EXPECT_TRUE(writeFile(path("a"), {"3"}).ok());
  EXPECT_EQ(content(path("a")), "3");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, HaveTheModeOfTheUmaskOrOfTheFileThatTheyReplace) {
  mode_t before = ::umask(027);
  EXPECT_TRUE(writeFile(path("new"), {"x"}).ok());
  ::umask(before);
  auto mode = [&](const char *name) { return int(fs::status(path(name)).permissions()); };
  EXPECT_EQ(mode("new"), 0640);
  fs::permissions(path("new"), fs::perms(0751));
  EXPECT_TRUE(writeFile(path("new"), {"y"}).ok());
  EXPECT_EQ(mode("new"), 0751);
}

TEST_F(Files, AreWrittenWhereALinkLeads) {
  fs::create_directory(path("below"));
  fs::create_symlink("below/target", path("link"));
  fs::create_symlink("link", path("further"));
  EXPECT_TRUE(writeFile(path("further"), {"x"}).ok());
  EXPECT_EQ(content(path("below/target")), "x");
  EXPECT_TRUE(writeFile(path("further"), {"y"}).ok());
  EXPECT_EQ(content(path("below/target")), "y");
  EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("further")));
  fs::create_symlink("ring", path("ring"));
  EXPECT_FALSE(writeFile(path("ring"), {"x"}).ok());
}

TEST_F(Files, APipeStaysAPipe) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = content(path("pipe")); });
  EXPECT_TRUE(writeFile(path("pipe"), {"through"}).ok());
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AnOpenFileUnderItsPathIsWrittenTo) {
  int file = ::open(path("log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  ASSERT_EQ(::write(file, "a", 1), 1);
  fs::create_symlink("/proc/self/fd/" + std::to_string(file), path("out"));
  EXPECT_TRUE(writeFile(path("out"), {"b"}).ok());
  ASSERT_EQ(::write(file, "c", 1), 1);
  ::close(file);
  EXPECT_EQ(content(path("log")), "abc");
}

TEST_F(Files, AFailureLeavesWhatWasThere) {
  EXPECT_EQ(writeFile(path("missing/a"), {"x"}).message, "No such file or directory");
  EXPECT_EQ(writeFile(folder.string(), {"x"}).message, "Is a directory");
  EXPECT_FALSE(writeFile("", {"x"}).ok());
  ASSERT_TRUE(writeFile(path("a"), {"old"}).ok());
  rlimit before{}, small{1000, RLIM_INFINITY};
  ::getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  Status status = writeFile(path("a"), {std::string(5000, 'x')});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message, "File too large");
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, TwoWritersAreOneAfterTheOther) {
  std::string a(1 << 20, 'a'), b(1 << 20, 'b');
  auto write = [&](const std::string &text) {
    for (int i = 0; i != 20; ++i)
      EXPECT_TRUE(writeFile(path("both"), {text}).ok());
  };
  std::thread first(write, a), second(write, b);
  for (int i = 0; i != 50; ++i) {
    Result<std::string> text = readFile(path("both"), 1 << 21);
    EXPECT_TRUE(!text || *text == a || *text == b);
  }
  first.join(), second.join();
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AreReadAsAWhole) {
  std::string text(100'000, 'x');
  ASSERT_TRUE(writeFile(path("a"), {text}).ok());
  EXPECT_EQ(*readFile(path("a"), 100'000), text);
  EXPECT_EQ(readFile(path("a"), 99'999).status().code, StatusCode::Resource);
  EXPECT_TRUE(readFile("/proc/self/status", 1 << 20)->starts_with("Name:")); // its size is said to be 0
  EXPECT_EQ(readFile("/proc/self/maps", 10).status().code, StatusCode::Resource);
}

TEST_F(Files, AnOpenPipeUnderItsPathIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  std::string name = "/dev/fd/" + std::to_string(ends[0]);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  ::close(ends[1]);
  Result<std::string> read = readGivenFile(name, 10);
  ASSERT_TRUE(read.ok()) << read.status().message;
  EXPECT_EQ(*read, "x");
  ::close(ends[0]);
  int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(readGivenFile("/dev/fd/" + std::to_string(zeros), 10).status().code, StatusCode::Resource);
  ::close(zeros);
}

TEST_F(Files, WhatIsNoFileIsNotRead) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(readFile(path("pipe"), 10).status().message, "it is no file, but a device, a pipe or a socket");
  EXPECT_EQ(readFile("/dev/zero", 10).status().message, "it is no file, but a device, a pipe or a socket");
  EXPECT_EQ(readFile(folder.string(), 10).status().message, "it is a folder");
  EXPECT_EQ(readFile(path("missing"), 10).status().message, "No such file or directory");
}

TEST_F(Files, AreOneUnderSeveralPaths) {
  fs::create_directory(path("below"));
  fs::create_symlink("below", path("link"));
  fs::create_symlink("below/a", path("a"));
  EXPECT_TRUE(isSameFile(path("below/a"), path("link/../below/./a")));
  EXPECT_TRUE(isSameFile(path("a"), path("link/a")));
  EXPECT_FALSE(isSameFile(path("a"), path("b")));
  ASSERT_TRUE(writeFile(path("a"), {"x"}).ok());
  EXPECT_TRUE(isSameFile(path("a"), path("link/a")));
  EXPECT_FALSE(isSameFile(path("a"), path("b")));
  EXPECT_FALSE(isSameFile("/dev/null", "/dev/null"));
  EXPECT_TRUE(isSameFile("no file here", "./no file here"));
  EXPECT_FALSE(isSameFile("no folder here/a", "no folder here/b"));
}

} // namespace
