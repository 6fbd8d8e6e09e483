#include "tune/Tuner.h"
#include "tune/Samples.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace tegula::tune {
namespace {

constexpr size_t fewRuns = 3, mostRuns = 100, runsOfARound = 10, mostRounds = 24;
constexpr double runsInAnyCase = 7; // that there is time for
constexpr double givesUpAt = 2;     // times the best median
constexpr double fineEnough = 0.01; // of a time: more precisely nobody wants to know it

// Compiles on threads of its own, in the order of the tuning.
class Compiles {
public:
  Compiles(const Task &task, const std::vector<size_t> &order) : task_(task), codes_(task.candidates.size()) {
    for (size_t candidate : order)
      if (!task.candidates[candidate].isLate)
        ahead_.push_back(candidate);
    size_t count = ahead_.size() < 2 ? 0 : std::min<size_t>(std::max(task.threads, 1u), ahead_.size());
    for (size_t i = 0; i != count; ++i)
      threads_.emplace_back([this] { work(); });
  }
  ~Compiles() {
    next_ = ahead_.size(); // what nobody has begun is not wanted any more
    for (std::thread &thread : threads_)
      thread.join();
  }
  void waitForAll() {
    if (threads_.empty())
      return;
    std::unique_lock lock(mutex_);
    isDone_.wait(lock, [&] { return done_ == ahead_.size(); });
  }
  // Waits, or compiles.
  Code take(size_t candidate) {
    bool isAhead = !threads_.empty() && !task_.candidates[candidate].isLate;
    if (!isAhead)
      return task_.compile(candidate);
    std::unique_lock lock(mutex_);
    isDone_.wait(lock, [&] { return codes_[candidate].has_value(); });
    return *codes_[candidate];
  }
  // The first of `wanted` that need not be waited for; else the first.
  size_t choose(const std::vector<size_t> &wanted) {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i != wanted.size(); ++i)
      if (codes_[wanted[i]] || threads_.empty())
        return i;
    return 0;
  }

private:
  void work() {
    for (size_t at; (at = next_++) < ahead_.size();) {
      Code code = task_.compile(ahead_[at]);
      std::lock_guard lock(mutex_);
      codes_[ahead_[at]] = std::move(code);
      ++done_;
      isDone_.notify_all();
    }
  }

  const Task &task_;
  std::vector<size_t> ahead_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable isDone_;
  std::vector<std::optional<Code>> codes_;
  size_t done_ = 0;
  std::vector<std::thread> threads_;
};

class Tuning {
public:
  explicit Tuning(const Task &task)
      : task_(task), samples_(task.candidates.size()), walls_(task.candidates.size()) {
    outcome_.rows.resize(task.candidates.size());
  }

  Result<Outcome> run() {
    std::vector<size_t> waiting = order();
    Compiles compiles(task_, waiting);
    if (!task_.measuresBesideCompiles)
      compiles.waitForAll();
    // Candidates that are to be the first are waited for: they tell which others are worth their runs.
    for (size_t done = 0; !waiting.empty(); ++done) {
      size_t at = done < task_.first.size() ? 0 : compiles.choose(waiting), candidate = waiting[at];
      waiting.erase(waiting.begin() + ptrdiff_t(at));
      tell(done, candidate);
      Status status = visit(candidate, compiles.take(candidate));
      if (!status.ok())
        return status;
    }
    if (Status status = makeCertain(); !status.ok())
      return status;
    for (Row &row : outcome_.rows)
      if (row.sameAs)
        copyTimes(outcome_.rows[*row.sameAs], row);
    outcome_.best = choose();
    if (task_.progress)
      task_.progress(task_.candidates.size(), task_.candidates.size(), "");
    return std::move(outcome_);
  }

private:
  std::vector<size_t> order() const {
    std::vector<size_t> order = task_.first;
    for (size_t i = 0; i != task_.candidates.size(); ++i)
      if (std::ranges::find(task_.first, i) == task_.first.end())
        order.push_back(i);
    return order;
  }
  void tell(size_t done, size_t candidate) const {
    if (task_.progress)
      task_.progress(done, task_.candidates.size(), task_.candidates[candidate].name);
  }
  static void copyTimes(const Row &from, Row &to) {
    to.median = from.median, to.low = from.low, to.high = from.high;
    to.least = from.least, to.most = from.most;
    to.refusal = from.refusal;
  }

  Status visit(size_t candidate, const Code &code) {
    Row &row = outcome_.rows[candidate];
    if (!code.status.ok()) {
      row.refusal = code.status.message;
      return code.isRefused ? Status::success() : code.status;
    }
    row.digest = code.digest;
    if (!code.digest.empty()) {
      auto [same, isNew] = byDigest_.try_emplace(code.digest, candidate);
      if (!isNew) {
        row.sameAs = same->second;
        return Status::success();
      }
      if (std::optional<Row> known = task_.find ? task_.find(candidate, code.digest) : std::nullopt) {
        copyTimes(*known, row);
        row.isKept = true;
        return Status::success();
      }
    }
    return task_.measuresQuantiles ? takeQuantiles(candidate) : measure(candidate);
  }

  double now() const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    return task_.clock ? task_.clock()
                       : Milliseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  // Of the `wanted` runs of a candidate those that there is time for.
  size_t affordable(size_t candidate, size_t wanted) const {
    double left = allowed_ - spent_, each = walls_[candidate];
    if (left <= 0)
      return 0;
    return each > 0 ? std::min(wanted, size_t(std::min(left / each, double(mostRuns)))) : wanted;
  }

  // The first run of a candidate, which compiles or loads what it needs.
  bool addFirst(size_t candidate, Status &status) {
    allowed_ += task_.mostMilliseconds;
    double before = spent_;
    bool isFine = add(candidate, 1, status);
    spent_ = before;
    return isFine;
  }
  // False: it cannot run, or is a mistake, which `status` then is.
  bool add(size_t candidate, size_t runs, Status &status) {
    double start = now();
    Times times = task_.measure(candidate, runs);
    double wall = std::max(now() - start, 0.0);
    spent_ += wall;
    walls_[candidate] = wall / double(runs);
    Row &row = outcome_.rows[candidate];
    if (!times.status.ok()) {
      row = Row{.refusal = times.status.message, .digest = row.digest};
      samples_[candidate] = {};
      status = times.isRefused ? Status::success() : times.status;
      return false;
    }
    for (double time : times.milliseconds)
      samples_[candidate].add(time);
    row.runs += times.milliseconds.size();
    return true;
  }
  void summarize(size_t candidate) {
    Row &row = outcome_.rows[candidate];
    const Samples &samples = samples_[candidate];
    row.median = samples.median(), row.low = samples.quantile(0.2), row.high = samples.quantile(0.8);
    row.least = samples.lowEnd(), row.most = samples.highEnd();
  }

  Status takeQuantiles(size_t candidate) {
    Times times = task_.measure(candidate, 3);
    Row &row = outcome_.rows[candidate];
    if (!times.status.ok()) {
      row.refusal = times.status.message;
      return times.isRefused ? Status::success() : times.status;
    }
    row.median = times.milliseconds[0], row.low = times.milliseconds[1], row.high = times.milliseconds[2];
    row.least = row.most = row.median;
    row.runs = 1;
    return Status::success();
  }

  Status measure(size_t candidate) {
    Samples &samples = samples_[candidate];
    Status status;
    // The first run loads code and memory. Its time tells nothing, unless it is enough by itself.
    if (!addFirst(candidate, status))
      return status;
    if (samples.median() < 10 * task_.milliseconds || !isFarBehind(samples.median() / 2)) {
      samples = {};
      if (!add(candidate, fewRuns, status))
        return status;
    }
    // The median: one run beside something else says nothing of the others.
    double each = std::max(samples.median(), 1e-5),
           left = task_.milliseconds - each * double(samples.count());
    auto wanted = size_t(std::clamp(left / each, 0.0, double(mostRuns - fewRuns)));
    allowed_ += std::max(0.0, runsInAnyCase * each - task_.mostMilliseconds);
    size_t more = affordable(candidate, wanted);
    if (more > 0 && !isFarBehind(samples.least()) && !add(candidate, more, status))
      return status;
    if (size_t again = affordable(candidate, samples.dropOutliers()); again && !add(candidate, again, status))
      return status;
    summarize(candidate);
    best_ = std::min(best_, samples.median());
    return Status::success();
  }
  bool isFarBehind(double time) const { return time > givesUpAt * best_; }

  bool isFine(size_t i) const {
    return outcome_.rows[i].most - outcome_.rows[i].least <= fineEnough * outcome_.rows[i].median;
  }
  bool runs(size_t i) const { return outcome_.rows[i].refusal.empty() && !outcome_.rows[i].sameAs; }

  std::tuple<double, double, double> timesOf(size_t i) const {
    const Row &row = outcome_.rows[i];
    return {row.median, row.low, row.high};
  }
  std::optional<size_t> fastest() const {
    std::optional<size_t> best;
    for (size_t i = 0; i != outcome_.rows.size(); ++i)
      if (runs(i) && (!best || timesOf(i) < timesOf(*best)))
        best = i;
    return best;
  }
  // Those that the fastest is not certainly ahead of, itself among them.
  std::vector<size_t> front() const {
    std::vector<size_t> all;
    std::optional<size_t> best = fastest();
    for (size_t i = 0; best && i != outcome_.rows.size(); ++i)
      if (i == *best || (runs(i) && outcome_.rows[i].least <= outcome_.rows[*best].most))
        all.push_back(i);
    return all;
  }

  // Rounds in turn, so that a machine that becomes slower meanwhile does so for all.
  Status makeCertain() {
    for (; outcome_.rounds != mostRounds && !task_.measuresQuantiles; ++outcome_.rounds) {
      std::vector<size_t> contenders = front();
      bool isFresh = std::ranges::any_of(contenders, [&](size_t i) { return !outcome_.rows[i].isKept; });
      if (contenders.size() < 2 || !isFresh ||
          std::ranges::all_of(contenders, [&](size_t i) { return isFine(i); }))
        return Status::success();
      for (size_t candidate : contenders) {
        Samples &samples = samples_[candidate];
        Status status;
        double time = std::max(outcome_.rows[candidate].median, 1e-5);
        auto wanted = size_t(std::clamp(task_.milliseconds / time, 1.0, double(runsOfARound)));
        if (samples.empty() && !addFirst(candidate, status)) // kept times: its code is new to this process
          return status;
        size_t count = affordable(candidate, wanted);
        if (count == 0)
          return Status::success();
        if (outcome_.rows[candidate].isKept)
          samples = {}, outcome_.rows[candidate].isKept = false;
        if (!add(candidate, count, status))
          return status;
        samples.dropOutliers();
        summarize(candidate);
      }
    }
    return Status::success();
  }

  std::optional<size_t> choose() const {
    std::optional<size_t> best = fastest();
    if (!best || task_.measuresQuantiles)
      return best;
    size_t chosen = earliestOf(*best);
    for (size_t i : front())
      chosen = std::min(chosen, earliestOf(i));
    return chosen;
  }
  // Candidates with one code are one; the first in the list stands for them, in whatever order they came.
  size_t earliestOf(size_t i) const {
    for (size_t other = 0; other != i; ++other)
      if (outcome_.rows[other].sameAs == i)
        return other;
    return i;
  }

  const Task &task_;
  Outcome outcome_;
  std::vector<Samples> samples_;
  std::vector<double> walls_;      // of a run of each, when it was last measured
  double spent_ = 0, allowed_ = 0; // milliseconds on the wall
  std::map<std::string, size_t> byDigest_;
  double best_ = std::numeric_limits<double>::infinity();
};

} // namespace

Result<Outcome> tune(const Task &task) { return Tuning(task).run(); }

} // namespace tegula::tune
