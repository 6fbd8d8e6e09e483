// A diagnostic tells the user a place, a reason and a hint. Diagnostics are values; nothing
// prints them but a host. The closed list of kinds is Diagnostics.def.
#pragma once
#include "base/Status.h"
#include "diag/Source.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::diag {

enum class Severity : uint8_t { Error, Warning, Remark };

enum class Kind : uint16_t {
#define DIAG(Name, severity, code, text, hint) Name,
#include "diag/Diagnostics.def"
#undef DIAG
};

std::string_view name(Kind kind);
Severity severity(Kind kind);
StatusCode statusCode(Kind kind);

// One frame of a chain: "called from here", "the loop is here".
struct Note {
  Location location;
  std::string message;
};

struct Diagnostic {
  Kind kind;
  Location location;
  std::string message; // without place and kind
  std::string hint;    // may be empty
  std::vector<Note> notes;
};

// Fills the text and the hint of `kind` with `arguments`.
Diagnostic make(Kind kind, Location location, std::initializer_list<std::string_view> arguments = {});

// Collects what one compile has to say, in order. At most `limit` errors and warnings are kept, and all
// remarks: what a program prints while it is compiled is its own.
class Sink {
public:
  explicit Sink(size_t limit = 100) : limit_(limit) {}

  // The reference is valid until the next report; notes and a better hint can be added.
  Diagnostic &report(Diagnostic diagnostic);
  Diagnostic &report(Kind kind, Location location, std::initializer_list<std::string_view> arguments = {}) {
    return report(make(kind, std::move(location), arguments));
  }

  // Forgets the last report if it is an error and equals an earlier one in all it says; it counts all the
  // same.
  void dropRepeatedError();

  bool hasErrors() const { return errors_ != 0; }
  size_t errorCount() const { return errors_; }
  const std::vector<Diagnostic> &all() const { return diagnostics_; }
  // The one reported last, for a caller that knows a better hint; null before the first.
  Diagnostic *last() { return diagnostics_.empty() ? nullptr : &diagnostics_.back(); }
  // Ok, or the code of the first error with all of them rendered.
  Status status() const;

private:
  size_t limit_, errors_ = 0, kept_ = 0; // errors and warnings in the list
  std::vector<Diagnostic> diagnostics_;
  Diagnostic dropped_{};
};

// "path:line:column: error: message [Kind]", the line, a caret, "hint: ...", the notes.
std::string render(const Diagnostic &diagnostic);
std::string render(const std::vector<Diagnostic> &diagnostics);

} // namespace tegula::diag
