// Tunings with a memory: what earlier ones measured is not measured again, and near sizes say where to begin.
#include "compiler/KernelCache.h"
#include "jit/TuneCall.h"
#include "tune/Neighbours.h"

#include <algorithm>
#include <filesystem>

namespace tegula::jit {
namespace {

// Beside the compiled kernels; null where these are not kept either.
std::shared_ptr<tune::Results> openResults() {
  Result<std::shared_ptr<cache::DiskCache>> disk = compiler::diskCache();
  if (!disk)
    return nullptr;
  Result<std::shared_ptr<tune::Results>> results =
      tune::Results::open(std::filesystem::path((*disk)->path()).parent_path().string());
  return results ? *results : nullptr;
}

std::string describe(const std::vector<int64_t> &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

} // namespace

Result<TuneOutcome> tuneWithMemory(tune::Task task, const TuneMemory *memory) {
  TuneOutcome outcome;
  for (const tune::Candidate &candidate : task.candidates)
    outcome.names.push_back(candidate.name);
  std::shared_ptr<tune::Results> results = memory ? openResults() : nullptr;
  std::vector<tune::Kept> known = results ? results->read(memory->subject) : std::vector<tune::Kept>{};
  if (results) {
    for (const tune::Neighbour &near : tune::neighboursOf(known, memory->call, memory->sizes)) {
      auto at = std::ranges::find(outcome.names, near.candidate);
      if (at == outcome.names.end())
        continue;
      task.first.push_back(size_t(at - outcome.names.begin()));
      outcome.remarks.push_back("began with " + near.candidate + ", the best of sizes " +
                                describe(near.sizes));
    }
    task.find = [&](size_t candidate, const std::string &digest) -> std::optional<tune::Row> {
      for (const tune::Kept &row : known)
        if (row.digest == digest && row.call == memory->call && row.sizes == memory->sizes &&
            row.candidate == outcome.names[candidate]) {
          tune::Row found;
          found.median = row.median, found.low = row.low, found.high = row.high;
          found.least = row.least, found.most = row.most;
          return found;
        }
      return std::nullopt;
    };
  }
  Result<tune::Outcome> tuned = tune::tune(task);
  if (!tuned)
    return tuned.status();
  outcome.rows = std::move(*tuned);
  std::vector<tune::Kept> fresh;
  for (size_t i = 0; i != outcome.rows.rows.size(); ++i) {
    const tune::Row &row = outcome.rows.rows[i];
    if (row.refusal.empty() && row.runs && !row.digest.empty())
      fresh.push_back({results ? memory->call : "", results ? memory->sizes : std::vector<int64_t>{},
                       outcome.names[i], row.digest, row.median, row.low, row.high, row.least, row.most});
  }
  if (results)
    (void)results->add(memory->subject, fresh); // a disk that is full costs a measurement another time
  return outcome;
}

} // namespace tegula::jit
