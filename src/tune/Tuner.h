// Candidates -> the fastest of them. Knows neither kernels nor devices: who calls says how a candidate is
// compiled and measured.
//
// Candidates are compiled on several threads. They are measured on the calling thread, one at a time: beside
// compiles where a device runs them, behind all compiles where the cores do. One whose code another one has
// already is not measured. A candidate that is far behind is given up after a few runs; those at the front
// are measured again, in turn, until their order is certain. Where it does not become certain the earliest in
// the list wins, so that the choice depends on no chance.
#pragma once
#include "base/Status.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tegula::tune {

struct Candidate {
  std::string name;
  bool isLate = false; // it is compiled when it is measured, by the thread that measures
};

// The outcome of a compile. Equal digests: launches of the two do the same; "" is like no other.
struct Code {
  Status status;          // why there is none
  bool isRefused = false; // it cannot run here, which is no mistake: the others go on
  std::string digest;
};

// Milliseconds of each run.
struct Times {
  Status status;
  bool isRefused = false;
  std::vector<double> milliseconds;
};

struct Row {
  std::string refusal; // why it cannot run; "": it can
  // The median of its runs, and the times that a fifth and four fifths of them do not exceed.
  double median = std::numeric_limits<double>::infinity(), low = median, high = median;
  // The median of all runs is certainly between these.
  double least = median, most = median;
  size_t runs = 0;                   // now, in this tuning
  std::optional<size_t> sameAs = {}; // the candidate whose code it has, and whose times
  bool isKept = false;               // measured by an earlier tuning
  std::string digest;
};

struct Task {
  std::vector<Candidate> candidates;
  std::vector<size_t> first; // those to measure ahead of the others
  unsigned threads = 1;      // that compile
  bool measuresBesideCompiles = false;
  double milliseconds = 20; // that a candidate is measured for
  // Of the clock on the wall, for each candidate that is measured: all that its runs take behind the first
  // one, whatever else the machine does meanwhile. Candidates share it. Each has its few runs in any case,
  // and time for seven.
  double mostMilliseconds = 125;
  // `measure` gives three quantiles (0.5, 0.2, 0.8) that count as they are.
  bool measuresQuantiles = false;

  std::function<Code(size_t candidate)> compile; // from any thread, several at a time
  std::function<Times(size_t candidate, size_t runs)> measure;
  // The times that an earlier tuning measured of this code; may be empty.
  std::function<std::optional<Row>(size_t candidate, const std::string &digest)> find;
  std::function<double()> clock; // milliseconds; empty: the machine's
  std::function<void(size_t done, size_t of, const std::string &candidate)> progress; // may be empty
};

struct Outcome {
  std::vector<Row> rows;
  std::optional<size_t> best; // none: no candidate can run
  size_t rounds = 0;          // in which the front was measured again
};

// An error: the status of a candidate that is a mistake and no refusal.
Result<Outcome> tune(const Task &task);

} // namespace tegula::tune
