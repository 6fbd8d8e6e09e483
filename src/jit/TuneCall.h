// A call of a kernel and several ways to compile it -> the fastest of them, on this machine's cores or a
// device. What the kernel writes is put back behind each run, so that all of them work on what the first one
// found, and the arguments are afterwards what they were. Results are kept on disk, beside the compiled
// kernels.
#pragma once
#include "jit/Configurations.h"
#include "jit/Dispatch.h"
#include "tune/Tuner.h"

namespace tegula::jit {

// Memory behind pointers of the call.
struct MemoryRange {
  char *address = nullptr;
  size_t bytes = 0;
};

struct TuneOptions {
  std::vector<Argument> arguments; // of the call, without those of configurations
  compiler::CompileOptions compile;
  runtime::Place place;
  std::vector<Configuration> configurations; // empty: those of the function's decorator
  std::string grid;
  std::vector<MemoryRange> memory; // that of every pointer which a configuration writes through
  unsigned threads = 0;            // that compile; 0: the cores
  double milliseconds = 20;        // that one is measured for
  bool keepsResults = true, showsProgress = false;
};

struct TuneOutcome {
  tune::Outcome rows;
  std::vector<std::string> names;   // of the configurations
  std::vector<std::string> remarks; // "began with BLOCK=64, the best of n=4000"
};

// nullopt after diagnostics: a mistake in a configuration, or none can run.
std::optional<TuneOutcome> tuneCall(Dispatcher &dispatcher, const TuneOptions &options, diag::Sink &sink);

// ---- the parts that a host shares which compiles and measures itself ----

// Says of which call results are kept.
struct TuneMemory {
  std::string subject;        // the kernel and the device
  std::string call;           // types and constants
  std::vector<int64_t> sizes; // its numbers
};
// Runs the task with kept results, first candidates from near sizes, and remarks.
Result<TuneOutcome> tuneWithMemory(tune::Task task, const TuneMemory *memory);

} // namespace tegula::jit
