// Carries what a running kernel tells its launch: a failed assertion, and lines to print. Generated code
// calls the two functions below by address; which launch they belong to is known by the thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tegula::runtime {

// Of one launch. The first failure stays.
class Report {
public:
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  void fail(std::string message);
  std::string message() const;

private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string message_;
};

// While it lives, this thread's kernels report to `report`.
class ReportScope {
public:
  explicit ReportScope(Report &report);
  ~ReportScope();
  ReportScope(const ReportScope &) = delete;

private:
  Report *before_;
};

// The reading of a printed operand's elements: all have 8 bytes.
enum class Printed : int64_t { Float, Signed, Unsigned, Pointer };

extern "C" {
// `text` has the place and the message.
void tegula_assertion_failed(const char *text);
// Prints all operands of a program on standard output, and flushes it. `shapes` has for each operand what it
// is (Printed), its bits, its rank and its extents; `values` the elements of all, in row-major order.
void tegula_print(const char *prefix, int64_t hex, int64_t operands, const int64_t *shapes,
                  const int64_t *program, const uint64_t *values);
}

} // namespace tegula::runtime
