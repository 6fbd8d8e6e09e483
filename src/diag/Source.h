// A unit of source: text, the file it came from, and where in that file it starts.
// A whole module file starts at 1:0; a function handed over by a host (a notebook
// cell, code made by exec) starts wherever the host says.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::diag {

struct Position {
  uint32_t line = 0;   // 1-based, in the file
  uint32_t column = 0; // 1-based, in UTF-8 bytes
};

class Source {
public:
  Source(std::string path, std::string text, uint32_t firstLine = 1, uint32_t firstColumn = 0);

  const std::string &path() const { return path_; }
  std::string_view text() const { return text_; }
  // The place in the file of byte `offset` of the text.
  Position position(uint32_t offset) const;
  // The text of the line that holds `offset`, without its end of line.
  std::string_view lineAt(uint32_t offset) const;

private:
  uint32_t lineIndex(uint32_t offset) const;

  std::string path_, text_;
  uint32_t firstLine_, firstColumn_;
  std::vector<uint32_t> lineStarts_;
};

using SourcePtr = std::shared_ptr<const Source>;

// A range of bytes of one source.
struct Range {
  uint32_t begin = 0, end = 0;
};

struct Location {
  SourcePtr source; // may be null: a diagnostic about no file (a launch argument)
  Range range;
};

} // namespace tegula::diag
