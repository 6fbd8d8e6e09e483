// Carries what a running kernel tells its launch: a failed assertion, and lines to print; and tells it to
// end. Generated code calls the functions below by address; which launch they belong to is known by the
// thread.
#pragma once
#include "base/Status.h"
#include "runtime/Interrupt.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace tegula::runtime {

// Of one launch. The first failure stays.
class Report {
public:
  // Of programs that may wait for each other: a loop of unknown length lets the threads of others run.
  explicit Report(bool isOfWaitingPrograms = false) : isOfWaitingPrograms(isOfWaitingPrograms) {}

  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  void fail(StatusCode code, std::string message);
  // Of the failure, or success.
  Status status() const;

  Interrupt interrupt;
  const bool isOfWaitingPrograms;

private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status status_;
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

// The message of a launch that was interrupted in the loop at `place` ("file:line:column", or empty).
std::string interruptedText(std::string_view place, bool isOfWaitingPrograms = false);

// The reading of a printed operand's elements: all have 8 bytes.
enum class Printed : int64_t { Float, Signed, Unsigned, Pointer };

extern "C" {
// `text` has the place and the message.
void tegula_assertion_failed(const char *text);
// Called now and then by loops of unknown length. False: the launch has failed, or the user interrupts it,
// and the program ends. `place` is the loop's.
bool tegula_goes_on(const char *place);
// Prints all operands of a program on standard output, and flushes it. `shapes` has for each operand what it
// is (Printed), its bits, its rank and its extents; `values` the elements of all, in row-major order.
void tegula_print(const char *prefix, int64_t hex, int64_t operands, const int64_t *shapes,
                  const int64_t *program, const uint64_t *values);
}

} // namespace tegula::runtime
