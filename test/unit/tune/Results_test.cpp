// Results of tunings on disk, and the candidates that near sizes name.
#include "tune/Neighbours.h"
#include "tune/Samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace tegula;
using tune::Kept;
using tune::Results;

class ResultsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tegula-tunings-XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(name.data()));
    room = name;
  }
  void TearDown() override { fs::remove_all(room); }
  std::shared_ptr<Results> open() {
    Result<std::shared_ptr<Results>> results = Results::open(room);
    EXPECT_TRUE(results) << results.status().message;
    return *results;
  }
  fs::path onlyFile() {
    for (const auto &entry : fs::recursive_directory_iterator(room))
      if (entry.is_regular_file())
        return entry.path();
    return {};
  }
  static Kept row(int64_t size, const std::string &candidate, double median,
                  const std::string &call = "f32") {
    return {call, {size, 7}, candidate, "digest", median, median / 2, median * 2, median, median * 1.5};
  }
  std::string room;
};

TEST_F(ResultsTest, AnotherProcessReadsThem) {
  std::vector<Kept> rows = {row(1, "a\nb\t", 1), row(2, "", 2)};
  ASSERT_TRUE(open()->add("kernel", rows).ok());
  EXPECT_EQ(open()->read("kernel"), rows);
  EXPECT_TRUE(open()->read("other").empty());
}

TEST_F(ResultsTest, OfOneCandidateTheLastCounts) {
  auto results = open();
  for (double time : {3.0, 1.0, 2.0})
    ASSERT_TRUE(results->add("k", std::vector{row(1, "a", time)}).ok());
  ASSERT_EQ(results->read("k").size(), 1u);
  EXPECT_EQ(results->read("k")[0].median, 2);
}

TEST_F(ResultsTest, DamagedLinesAreNoResults) {
  auto results = open();
  std::vector<Kept> rows = {row(1, "a", 1), row(2, "b", 2), row(3, "c", 3)};
  ASSERT_TRUE(results->add("k", rows).ok());
  std::ifstream in(onlyFile());
  std::string whole(std::istreambuf_iterator<char>(in), {});
  size_t taken = 0;
  for (size_t at = 0; at != whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 1);
    std::ofstream(onlyFile(), std::ios::trunc) << damaged;
    for (const Kept &found : results->read("k"))
      ASSERT_TRUE(std::find(rows.begin(), rows.end(), found) != rows.end()) << at;
    std::ofstream(onlyFile(), std::ios::trunc) << whole.substr(0, at);
    std::vector<Kept> found = results->read("k");
    ASSERT_TRUE(std::equal(found.begin(), found.end(), rows.begin())) << at;
    taken = std::max(taken, found.size());
    // A line behind half a line is found.
    ASSERT_TRUE(results->add("k", std::vector{row(9, "z", 9)}).ok());
    ASSERT_EQ(results->read("k").back(), row(9, "z", 9)) << at;
  }
  EXPECT_GE(taken, 2u);
}

TEST_F(ResultsTest, WritersThatAreKilledAndOthersBesideThemLeaveWholeRows) {
  for (int round = 0; round != 20; ++round) {
    std::vector<pid_t> writers;
    for (int i = 0; i != 3; ++i)
      if (pid_t child = ::fork(); child != 0)
        writers.push_back(child);
      else {
        auto results = open();
        for (int64_t n = 0;; ++n)
          if (!results->add("k", std::vector{row(n % 50, "c" + std::to_string(i), double(n + 1))}).ok())
            ::_exit(1);
      }
    ::usleep(3000 + 300 * round);
    for (pid_t writer : writers) {
      ::kill(writer, SIGKILL);
      int status = 0;
      ::waitpid(writer, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status));
    }
    for (const Kept &found : open()->read("k"))
      ASSERT_EQ(found.digest, "digest");
  }
  EXPECT_FALSE(open()->read("k").empty());
}

TEST_F(ResultsTest, AFileIsBounded) {
  auto results = open();
  std::vector<Kept> many;
  for (int64_t n = 0; n != 2000; ++n)
    many.push_back(row(n, std::string(200, 'x'), 1));
  for (int i = 0; i != 8; ++i)
    ASSERT_TRUE(results->add("k", many).ok());
  EXPECT_LE(fs::file_size(onlyFile()), size_t(6) << 20);
  EXPECT_EQ(results->read("k").size(), 2000u);
}

TEST_F(ResultsTest, NearSizesTellTheirBest) {
  std::vector<Kept> rows = {row(1000, "a", 2), row(1000, "b", 1),        row(2000, "c", 1),
                            row(500, "b", 1),  row(100, "far", 1),       row(1100, "other", 1, "f16"),
                            row(900, "d", 1),  row(1024, "d itself", 1), row(4000, "e", 1)};
  std::vector<tune::Neighbour> near = tune::neighboursOf(rows, "f32", {1024, 7});
  ASSERT_EQ(near.size(), 3u);
  EXPECT_EQ(near[0].candidate, "b"); // of 1000
  EXPECT_EQ(near[1].candidate, "d"); // of 900
  EXPECT_EQ(near[2].candidate, "c"); // of 2000; 500 says what 1000 says
  EXPECT_EQ(near[2].sizes[0], 2000);
  EXPECT_TRUE(tune::neighboursOf(rows, "f32", {-1024, 7}).empty());
  EXPECT_TRUE(tune::neighboursOf(rows, "f32", {1024}).empty());
}

TEST(Samples, MedianAndItsEnds) {
  tune::Samples samples;
  EXPECT_EQ(samples.median(), 0);
  for (int i = 1; i <= 101; ++i)
    samples.add(i);
  EXPECT_EQ(samples.median(), 51);
  EXPECT_EQ(samples.quantile(0.2), 21);
  EXPECT_GT(samples.lowEnd(), 30);
  EXPECT_LT(samples.highEnd(), 72);
  EXPECT_EQ(samples.dropOutliers(), 0u);
  samples.add(100'000);
  EXPECT_EQ(samples.dropOutliers(), 1u);
  EXPECT_EQ(samples.count(), 101u);
}

} // namespace
