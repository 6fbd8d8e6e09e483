#include "diag/Source.h"

#include <algorithm>

namespace tegula::diag {

Source::Source(std::string path, std::string text, uint32_t firstLine, uint32_t firstColumn)
    : path_(std::move(path)), text_(std::move(text)), firstLine_(firstLine), firstColumn_(firstColumn) {
  // A byte order mark is no column of the first line.
  lineStarts_.push_back(text_.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  // Offsets are 32 bits; what lies behind 4 GiB belongs to the last line.
  size_t size = std::min<size_t>(text_.size(), UINT32_MAX);
  for (size_t i = 0; i < size; ++i) {
    bool isReturn = text_[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n');
    if (text_[i] == '\n' || isReturn)
      lineStarts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

uint32_t Source::lineIndex(uint32_t offset) const {
  auto after = std::upper_bound(lineStarts_.begin() + 1, lineStarts_.end(), offset);
  return static_cast<uint32_t>(after - lineStarts_.begin()) - 1;
}

Position Source::position(uint32_t offset) const {
  uint32_t line = lineIndex(offset);
  uint32_t column = offset < lineStarts_[line] ? 0 : offset - lineStarts_[line];
  // Text that was cut out of an indented place is dedented by its host, line by line.
  return {firstLine_ + line, firstColumn_ + column + 1};
}

std::string_view Source::lineAt(uint32_t offset) const {
  uint32_t line = lineIndex(offset);
  uint32_t begin = lineStarts_[line];
  uint32_t end = line + 1 < lineStarts_.size() ? lineStarts_[line + 1] : static_cast<uint32_t>(text_.size());
  std::string_view view = std::string_view(text_).substr(begin, end - begin);
  while (!view.empty() && (view.back() == '\n' || view.back() == '\r'))
    view.remove_suffix(1);
  return view;
}

} // namespace tegula::diag
