#include "runtime/Report.h"

#include <bit>
#include <cstdio>
#include <sched.h>
#include <span>
#include <vector>

namespace tegula::runtime {

namespace {

thread_local Report *current = nullptr;

// printf into a string.
template <class... Arguments> void append(std::string &text, const char *format, Arguments... arguments) {
  char buffer[400]; // the largest double has 309 digits
  int length = std::snprintf(buffer, sizeof(buffer), format, arguments...);
  text.append(buffer, length > 0 ? size_t(length) : 0);
}

struct Operand {
  Printed kind;
  int bits;
  std::span<const int64_t> shape;

  size_t elements() const {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= size_t(extent);
    return count;
  }
};

// The coordinates of element `i`, each as wide as the largest of its axis.
void appendIndex(std::string &text, std::span<const int64_t> shape, size_t i) {
  std::vector<size_t> coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= size_t(shape[d]))
    coordinates[d] = i % size_t(shape[d]);
  text += " idx (";
  for (size_t d = 0; d < shape.size(); ++d)
    append(text, "%s%*zu", d ? ", " : "", int(std::to_string(shape[d] - 1).size()), coordinates[d]);
  text += ")";
}

void appendElement(std::string &text, const Operand &operand, uint64_t bits, bool hex) {
  if (hex || operand.kind == Printed::Pointer)
    append(text, "0x%0*llx", (operand.bits + 3) / 4, static_cast<unsigned long long>(bits));
  else if (operand.kind == Printed::Float)
    append(text, "%f", std::bit_cast<double>(bits));
  else if (operand.kind == Printed::Signed)
    append(text, "%lld", static_cast<long long>(bits));
  else
    append(text, "%llu", static_cast<unsigned long long>(bits));
}

} // namespace

void Report::fail(StatusCode code, std::string message) {
  std::lock_guard guard(mutex_);
  if (!failed_.exchange(true))
    status_ = Status::error(code, std::move(message));
}

Status Report::status() const {
  std::lock_guard guard(mutex_);
  return status_;
}

ReportScope::ReportScope(Report &report) : before_(current) { current = &report; }
ReportScope::~ReportScope() { current = before_; }

std::string interruptedText(std::string_view place, bool isOfWaitingPrograms) {
  return std::string(place) + (place.empty() ? "" : ": ") + "the launch was interrupted in this loop" +
         (isOfWaitingPrograms
              ? ""
              : "; hint: a program can wait for earlier programs of the grid only, since later "
                "ones may not begin before it has ended, but in a cooperative grid "
                "(launch_cooperative_grid=True)");
}

void tegula_assertion_failed(const char *text) {
  if (current)
    current->fail(StatusCode::Assertion, text);
}

bool tegula_goes_on(const char *place) {
  if (!current)
    return true;
  if (!current->failed() && current->interrupt.hasCome())
    current->fail(StatusCode::Launch, interruptedText(place, current->isOfWaitingPrograms));
  if (current->isOfWaitingPrograms)
    sched_yield();
  return !current->failed();
}

// One text a call: lines of one program stay together.
void tegula_print(const char *prefix, int64_t hex, int64_t operands, const int64_t *shapes,
                  const int64_t *program, const uint64_t *values) {
  std::string pid, text;
  append(pid, "pid (%lld, %lld, %lld)", static_cast<long long>(program[0]),
         static_cast<long long>(program[1]), static_cast<long long>(program[2]));
  if (operands == 0)
    text = pid + prefix + "\n";
  for (int64_t n = 0; n < operands; ++n) {
    Operand operand{Printed(shapes[0]), int(shapes[1]), {shapes + 3, size_t(shapes[2])}};
    shapes += 3 + shapes[2];
    size_t count = operand.elements();
    for (size_t i = 0; i < count; ++i) {
      text += pid;
      appendIndex(text, operand.shape, i);
      text += prefix;
      if (operands > 1)
        append(text, "(operand %lld) ", static_cast<long long>(n));
      appendElement(text, operand, values[i], hex != 0);
      text += "\n";
    }
    values += count;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

} // namespace tegula::runtime
