// Texts of Diagnostics.def with their arguments filled in, and how a diagnostic looks to
// a person. Assumes nothing of the source text: any bytes may stand in a line that is
// shown, so control characters and broken UTF-8 are replaced, and long lines are cut.
#include "diag/Diagnostic.h"
#include "diag/Utf8.h"

#include <algorithm>

namespace tegula::diag {
namespace {

struct Row {
  std::string_view name, text, hint;
  Severity severity;
  StatusCode code;
};

constexpr Row rows[] = {
#define DIAG(Name, severity, code, text, hint) {#Name, text, hint, Severity::severity, StatusCode::code},
#include "diag/Diagnostics.def"
#undef DIAG
};

const Row &row(Kind kind) { return rows[static_cast<size_t>(kind)]; }

// Replaces {0}, {1}, ...; any other brace is text.
std::string fill(std::string_view text, std::initializer_list<std::string_view> arguments) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isField = text[i] == '{' && i + 2 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' &&
                   text[i + 2] == '}';
    if (!isField) {
      result += text[i];
      continue;
    }
    size_t index = static_cast<size_t>(text[i + 1] - '0');
    if (index < arguments.size())
      result += arguments.begin()[index];
    i += 2;
  }
  return result;
}

// ---- one line of source with a caret --------------------------------------------------

bool isIn(uint32_t code, std::initializer_list<std::pair<uint32_t, uint32_t>> ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](auto r) { return code >= r.first && code <= r.second; });
}

// Columns in a terminal: East Asian wide characters take two, combining ones none.
unsigned displayWidth(uint32_t code) {
  if (code < 0x300)
    return 1;
  if (isIn(code, {{0x300, 0x36F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}}))
    return 0;
  if (isIn(code, {{0x1100, 0x115F},
                  {0x2E80, 0xA4CF},
                  {0xAC00, 0xD7A3},
                  {0xF900, 0xFAFF},
                  {0xFE30, 0xFE6F},
                  {0xFF00, 0xFF60},
                  {0xFFE0, 0xFFE6},
                  {0x1F300, 0x1FAFF},
                  {0x20000, 0x3FFFD}}))
    return 2;
  return 1;
}

// Directional overrides would show the line in another order than it is read.
bool isHarmful(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || isIn(code, {{0x202A, 0x202E}, {0x2066, 0x2069}});
}

struct Excerpt {
  std::string line, underline;
};

// Shows bytes [begin, end) of `line` underlined. Tabs stay tabs in both rows, so that they
// line up whatever the terminal's tab stops are.
Excerpt excerpt(std::string_view line, size_t begin, size_t end) {
  constexpr size_t before = 120, widest = 240;
  size_t from = begin > before ? begin - before : 0;
  while (from > 0 && from < line.size() && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80)
    --from;
  size_t to = std::min(line.size(), from + widest);
  Excerpt result;
  if (from > 0) {
    result.line = "...";
    result.underline = "   ";
  }
  bool first = true;
  auto mark = [&](unsigned width) {
    for (unsigned i = 0; i < width; ++i, first = false)
      result.underline += first ? '^' : '~';
  };
  size_t at = from;
  while (at < to) {
    Utf8Character c = decodeUtf8(line, at);
    bool shown = c.valid && (c.code == '\t' || !isHarmful(c.code));
    unsigned width = shown ? displayWidth(c.code) : 1;
    result.line += shown ? line.substr(at, c.bytes) : std::string_view("?");
    if (at >= begin && (at < end || first))
      mark(c.code == '\t' ? 1 : width);
    else if (at < begin)
      result.underline += c.code == '\t' ? std::string("\t") : std::string(width, ' ');
    at += c.bytes;
  }
  if (first)
    mark(1);
  if (to < line.size())
    result.line += "...";
  return result;
}

void renderPlace(std::string &out, const Location &location, std::string_view severity,
                 std::string_view message) {
  if (location.source) {
    Position position = location.source->position(location.range.begin);
    out += location.source->path() + ":" + std::to_string(position.line) + ":" +
           std::to_string(position.column) + ": ";
  }
  out += severity;
  out += ": ";
  out += message;
}

void renderExcerpt(std::string &out, const Location &location) {
  if (!location.source)
    return;
  const Source &source = *location.source;
  uint32_t size = static_cast<uint32_t>(source.text().size());
  uint32_t begin = std::min(location.range.begin, size), end = std::min(location.range.end, size);
  std::string_view line = source.lineAt(begin);
  size_t lineBegin = static_cast<size_t>(line.data() - source.text().data());
  size_t from = begin > lineBegin ? std::min<size_t>(begin - lineBegin, line.size()) : 0;
  size_t to = end > lineBegin ? std::min<size_t>(end - lineBegin, line.size()) : 0;
  Excerpt shown = excerpt(line, from, std::max(from, to));
  std::string number = std::to_string(source.position(begin).line);
  if (number.size() < 5)
    number.insert(0, 5 - number.size(), ' ');
  out +=
      number + " | " + shown.line + "\n" + std::string(number.size(), ' ') + " | " + shown.underline + "\n";
}

std::string_view spelling(Severity severity) {
  switch (severity) {
  case Severity::Error: return "error";
  case Severity::Warning: return "warning";
  case Severity::Remark: return "remark";
  }
  return "error";
}

} // namespace

std::string_view name(Kind kind) { return row(kind).name; }
Severity severity(Kind kind) { return row(kind).severity; }
StatusCode statusCode(Kind kind) { return row(kind).code; }

Diagnostic make(Kind kind, Location location, std::initializer_list<std::string_view> arguments) {
  return {kind, std::move(location), fill(row(kind).text, arguments), fill(row(kind).hint, arguments), {}};
}

Diagnostic &Sink::report(Diagnostic diagnostic) {
  bool isError = severity(diagnostic.kind) == Severity::Error;
  bool isRemark = severity(diagnostic.kind) == Severity::Remark;
  bool full = !isRemark && kept_ >= limit_ && (!isError || errors_ >= limit_);
  errors_ += isError;
  if (full)
    return dropped_ = std::move(diagnostic);
  kept_ += !isRemark;
  diagnostics_.push_back(std::move(diagnostic));
  return diagnostics_.back();
}

void Sink::dropRepeatedError() {
  if (diagnostics_.empty() || severity(diagnostics_.back().kind) != Severity::Error)
    return;
  const Diagnostic &last = diagnostics_.back();
  auto isHere = [](const Location &a, const Location &b) {
    return a.source == b.source && a.range.begin == b.range.begin && a.range.end == b.range.end;
  };
  auto isSame = [&](const Diagnostic &earlier) {
    return earlier.kind == last.kind && isHere(earlier.location, last.location) &&
           earlier.message == last.message &&
           std::equal(earlier.notes.begin(), earlier.notes.end(), last.notes.begin(), last.notes.end(),
                      [&](const Note &a, const Note &b) {
                        return isHere(a.location, b.location) && a.message == b.message;
                      });
  };
  if (std::any_of(diagnostics_.begin(), diagnostics_.end() - 1, isSame))
    diagnostics_.pop_back();
}

Status Sink::status() const {
  Status result;
  for (const Diagnostic &diagnostic : diagnostics_) {
    if (severity(diagnostic.kind) != Severity::Error)
      continue;
    if (result.ok())
      result.code = statusCode(diagnostic.kind);
    result.message += render(diagnostic);
  }
  return result;
}

std::string render(const Diagnostic &diagnostic) {
  std::string out;
  renderPlace(out, diagnostic.location, spelling(severity(diagnostic.kind)), diagnostic.message);
  out += " [";
  out += name(diagnostic.kind);
  out += "]\n";
  renderExcerpt(out, diagnostic.location);
  if (!diagnostic.hint.empty())
    out += "hint: " + diagnostic.hint + "\n";
  // Of a long chain of calls the ends are shown.
  constexpr size_t mostNotes = 12, shownFirst = 6, shownLast = 4;
  const std::vector<Note> &notes = diagnostic.notes;
  for (size_t i = 0; i < notes.size(); ++i) {
    if (notes.size() > mostNotes && i == shownFirst) {
      i = notes.size() - shownLast;
      out += "note: " + std::to_string(i - shownFirst) + " more between these\n";
    }
    renderPlace(out, notes[i].location, "note", notes[i].message);
    out += "\n";
    renderExcerpt(out, notes[i].location);
  }
  return out;
}

std::string render(const std::vector<Diagnostic> &diagnostics) {
  std::string out;
  for (const Diagnostic &diagnostic : diagnostics)
    out += render(diagnostic);
  return out;
}

} // namespace tegula::diag
