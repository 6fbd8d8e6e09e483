// Choosing among candidates whose times are made up.
#include "tune/Tuner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace {

using namespace tegula;
using tune::Code;
using tune::Outcome;
using tune::Task;
using tune::Times;

struct Bench {
  Task task;
  std::vector<double> times; // of each candidate
  double noise = 0;          // a part of each time
  std::mt19937_64 random{1};
  std::map<size_t, size_t> runs;
  std::vector<size_t> visited;

  explicit Bench(std::vector<double> milliseconds) : times(std::move(milliseconds)) {
    for (size_t i = 0; i != times.size(); ++i)
      task.candidates.push_back({"candidate " + std::to_string(i)});
    task.threads = 2;
    task.compile = [](size_t i) { return Code{{}, false, "code " + std::to_string(i)}; };
    task.measure = [this](size_t i, size_t count) {
      if (visited.empty() || visited.back() != i)
        visited.push_back(i);
      Times result;
      std::uniform_real_distribution<double> part(-noise, noise);
      for (size_t run = 0; run != count; ++run)
        result.milliseconds.push_back(times[i] * (1 + part(random)));
      runs[i] += count;
      return result;
    };
  }
  Outcome tune() {
    Result<Outcome> outcome = tune::tune(task);
    EXPECT_TRUE(outcome) << outcome.status().message;
    return outcome ? *outcome : Outcome{};
  }
};

TEST(Tuner, TheFastestWins) {
  for (double noise : {0.0, 0.01, 0.1}) {
    Bench bench({3, 1, 2, 5});
    bench.noise = noise;
    Outcome outcome = bench.tune();
    EXPECT_EQ(outcome.best, 1u);
    EXPECT_NEAR(outcome.rows[1].median, 1, 0.1);
    EXPECT_LE(outcome.rows[1].low, outcome.rows[1].median);
  }
}

TEST(Tuner, NothingToChooseFrom) { EXPECT_FALSE(Bench({}).tune().best); }

// A clock of its own: each run takes its time, times what else the machine does.
struct LoadedBench : Bench {
  double wall = 0, load = 1;
  LoadedBench(size_t count, double milliseconds, double load)
      : Bench(std::vector<double>(count, milliseconds)), load(load) {
    noise = 0.9; // no order is certain
    auto inner = task.measure;
    task.measure = [this, inner](size_t i, size_t runs) {
      wall += double(runs) * times[i] * this->load;
      return inner(i, runs);
    };
    task.clock = [this] { return wall; };
  }
};

TEST(Tuner, NoiseAndOtherProcessesDoNotMakeItLongerThanItsBound) {
  for (double load : {1.0, 20.0, 500.0})
    for (double milliseconds : {0.01, 0.3}) {
      LoadedBench bench(30, milliseconds, load);
      Outcome outcome = bench.tune();
      double first = 30 * milliseconds * load;
      EXPECT_LE(bench.wall, first + 30 * std::max(125.0, 3 * milliseconds * load) + 10 * milliseconds * load)
          << load << " " << milliseconds;
      for (size_t i = 0; i != 30; ++i)
        EXPECT_GE(bench.runs[i], 4u) << load;
      EXPECT_TRUE(outcome.best);
    }
}

TEST(Tuner, OfSlowKernelsTheOrderIsFoundAllTheSame) {
  LoadedBench bench(2, 100, 1);
  bench.noise = 0.02;
  bench.times = {100, 90};
  EXPECT_EQ(bench.tune().best, 1u);
  EXPECT_LE(bench.wall, 2 * 8 * 100);
}

TEST(Tuner, OneThatIsFarBehindIsGivenUpAfterFewRuns) {
  Bench bench({1, 50});
  bench.tune();
  EXPECT_LE(bench.runs[1], 5u);
  EXPECT_GE(bench.runs[0], 15u);
}

TEST(Tuner, EqualCodeIsMeasuredOnce) {
  Bench bench({2, 2, 1, 1});
  bench.task.compile = [](size_t i) { return Code{{}, false, i < 2 ? "slow" : "fast"}; };
  Outcome outcome = bench.tune();
  EXPECT_FALSE(bench.runs.contains(1) || bench.runs.contains(3));
  EXPECT_EQ(outcome.rows[1].sameAs, 0u);
  EXPECT_EQ(outcome.rows[3].median, outcome.rows[2].median);
  EXPECT_EQ(outcome.best, 2u);
}

TEST(Tuner, TheEarlierOfEqualCodeWinsWhicheverWasMeasured) {
  Bench bench({1, 1});
  bench.task.compile = [](size_t) { return Code{{}, false, "same"}; };
  bench.task.first = {1};
  EXPECT_EQ(bench.tune().best, 0u);
  EXPECT_TRUE(bench.runs.contains(1));
}

TEST(Tuner, TiesGoToTheEarlierInTheList) {
  for (uint64_t seed = 0; seed != 200; ++seed) {
    Bench bench({3, 1, 1, 1.005, 1});
    bench.noise = 0.1;
    bench.random.seed(seed);
    EXPECT_EQ(bench.tune().best, 1u) << seed;
  }
}

TEST(Tuner, WhatIsNearIsMeasuredAgainUntilTheOrderIsCertain) {
  for (uint64_t seed = 0; seed != 200; ++seed) {
    Bench bench({2.2, 2});
    bench.noise = 0.1;
    bench.random.seed(seed);
    Outcome outcome = bench.tune();
    EXPECT_EQ(outcome.best, 1u) << seed;
  }
}

TEST(Tuner, OutliersDoNotDecide) {
  Bench bench({1, 1.5});
  auto plain = bench.task.measure;
  bench.task.measure = [&](size_t i, size_t count) {
    Times times = plain(i, count);
    for (size_t run = 0; i == 0 && run < times.milliseconds.size(); run += 3)
      times.milliseconds[run] *= 40; // another program had the processor
    return times;
  };
  Outcome outcome = bench.tune();
  EXPECT_EQ(outcome.best, 0u);
  EXPECT_LT(outcome.rows[0].high, 1.5);
}

TEST(Tuner, CandidatesThatCannotRunLose) {
  Bench bench({1, 2, 3});
  bench.task.compile = [](size_t i) {
    return i ? Code{{}, false, std::to_string(i)}
             : Code{Status::error(StatusCode::Resource, "too much shared memory"), true, ""};
  };
  auto plain = bench.task.measure;
  bench.task.measure = [&](size_t i, size_t count) {
    return i == 1 ? Times{Status::error(StatusCode::Resource, "too many registers"), true, {}}
                  : plain(i, count);
  };
  Outcome outcome = bench.tune();
  EXPECT_EQ(outcome.best, 2u);
  EXPECT_EQ(outcome.rows[0].refusal, "too much shared memory");
  EXPECT_EQ(outcome.rows[1].refusal, "too many registers");
  EXPECT_TRUE(std::isinf(outcome.rows[0].median));
  bench.task.candidates.resize(2);
  EXPECT_FALSE(bench.tune().best);
}

TEST(Tuner, AMistakeEndsIt) {
  Bench bench({1, 2});
  bench.task.compile = [](size_t i) {
    return i == 0 ? Code{{}, false, "0"} : Code{Status::error(StatusCode::Type, "no such name"), false, ""};
  };
  Result<Outcome> outcome = tune::tune(bench.task);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.status().message, "no such name");
}

TEST(Tuner, WhatWasMeasuredBeforeIsNotMeasured) {
  Bench bench({1, 2, 4});
  bench.task.find = [](size_t i, const std::string &digest) -> std::optional<tune::Row> {
    if (i == 2)
      return std::nullopt;
    EXPECT_EQ(digest, "code " + std::to_string(i));
    tune::Row row;
    row.median = row.low = row.high = row.least = row.most = double(i + 1);
    return row;
  };
  Outcome outcome = bench.tune();
  EXPECT_EQ(outcome.best, 0u);
  EXPECT_EQ(bench.visited, std::vector<size_t>{2});
  EXPECT_TRUE(outcome.rows[0].isKept && !outcome.rows[2].isKept);
}

TEST(Tuner, TheFirstAreMeasuredFirst) {
  Bench bench({1, 3, 2, 30});
  bench.task.first = {2, 0};
  bench.tune();
  ASSERT_GE(bench.visited.size(), 2u);
  EXPECT_EQ(bench.visited[0], 2u);
  EXPECT_EQ(bench.visited[1], 0u);
}

TEST(Tuner, CompilesSideBySideAndMeasuresAlone) {
  Bench bench({1, 1, 1, 1});
  std::atomic<int> running{0}, most{0};
  std::atomic<bool> isMeasured{false};
  bench.task.threads = 4;
  bench.task.compile = [&](size_t i) {
    EXPECT_FALSE(isMeasured);
    int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);)
      ;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    --running;
    return Code{{}, false, std::to_string(i)};
  };
  auto plain = bench.task.measure;
  std::thread::id here = std::this_thread::get_id();
  bench.task.measure = [&](size_t i, size_t count) {
    isMeasured = true;
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(running, 0);
    return plain(i, count);
  };
  bench.tune();
  EXPECT_GT(most, 1);
}

TEST(Tuner, OnADeviceOthersAreCompiledMeanwhile) {
  Bench bench({1, 1});
  std::atomic<bool> isMeasured{false};
  bench.task.measuresBesideCompiles = true;
  bench.task.compile = [&](size_t i) {
    for (int i = 0; i != 1000 && !isMeasured; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(i ? 1 : 0));
    return Code{{}, false, std::to_string(i)};
  };
  auto slow = bench.task.compile;
  bench.task.compile = [&](size_t i) { return i == 1 ? slow(i) : Code{{}, false, "0"}; };
  auto plain = bench.task.measure;
  bench.task.measure = [&](size_t i, size_t count) {
    isMeasured = true;
    return plain(i, count);
  };
  bench.tune();
  EXPECT_TRUE(isMeasured);
}

TEST(Tuner, LateCandidatesAreCompiledWhereTheyAreMeasured) {
  Bench bench({1, 1, 1});
  std::set<size_t> here;
  std::thread::id own = std::this_thread::get_id();
  bench.task.candidates[1].isLate = true;
  bench.task.compile = [&](size_t i) {
    if (std::this_thread::get_id() == own)
      here.insert(i);
    return Code{{}, false, std::to_string(i)};
  };
  bench.tune();
  EXPECT_EQ(here, std::set<size_t>{1});
}

TEST(Tuner, QuantilesOfAHostCountAsTheyAre) {
  Bench bench({3, 1, 1});
  bench.task.measuresQuantiles = true;
  bench.task.measure = [&](size_t i, size_t) {
    return Times{{}, false, {bench.times[i], i == 2 ? 0.5 : 0.9, 9}};
  };
  Outcome outcome = bench.tune();
  EXPECT_EQ(outcome.best, 2u); // of equal medians the lower quantile counts, as upstream compares lists
  EXPECT_EQ(outcome.rows[0].median, 3);
}

TEST(Tuner, ProgressReachesItsEnd) {
  Bench bench({1, 2});
  std::vector<size_t> seen;
  bench.task.progress = [&](size_t done, size_t of, const std::string &) {
    EXPECT_EQ(of, 2u);
    seen.push_back(done);
  };
  bench.tune();
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2}));
}

} // namespace
