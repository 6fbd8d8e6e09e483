// Layouts as text and back.
#include "layout/Builders.h"

#include <charconv>

namespace tegula::layout {

static constexpr std::string_view axisNames[numAxes] = {"register", "lane", "warp", "block"};

static std::string tuple(std::span<const int64_t> values, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i != values.size(); ++i)
    text += (i ? std::string(separator) : "") + std::to_string(values[i]);
  return text;
}

std::string Layout::text() const {
  std::string text = builderOf(*this);
  text += (text.empty() ? "[" : " [") + tuple(extents_, "x") + "]";
  for (unsigned axis = 0; axis != numAxes; ++axis) {
    if (Axis(axis) == Axis::Block && bases_[axis].empty())
      continue;
    text += " " + std::string(axisNames[axis]) + "=[";
    for (size_t i = 0; i != bases_[axis].size(); ++i)
      text += (i ? ",(" : "(") + tuple(coordinates(bases_[axis][i]), ",") + ")";
    text += "]";
  }
  return text;
}

namespace {
class Reader {
public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool done() {
    skipSpace();
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    skipSpace();
    if (text_.substr(at_, token.size()) != token)
      return false;
    at_ += token.size();
    return true;
  }
  bool number(int64_t &value) {
    skipSpace();
    auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc() || value < 0)
      return false;
    at_ = size_t(end - text_.data());
    return true;
  }
  // Numbers up to `close`, which is taken.
  bool numbers(std::string_view separator, std::string_view close, std::vector<int64_t> &values) {
    if (take(close))
      return true;
    do {
      if (!number(values.emplace_back()))
        return false;
    } while (take(separator));
    return take(close);
  }
  void skipBuilder() {
    size_t bracket = text_.find('<'), end = text_.find('>');
    if (bracket < text_.find('[') && end != std::string_view::npos)
      at_ = end + 1;
  }
  std::string place() const { return "at character " + std::to_string(at_ + 1); }

private:
  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

// Returns the fault, or nothing.
std::string readExtents(Reader &reader, std::vector<int64_t> &extents) {
  if (!reader.take("[") || !reader.numbers("x", "]", extents))
    return "extents such as [128x64] expected " + reader.place();
  unsigned bits = 0;
  for (int64_t extent : extents) {
    if (extent < 1 || extent > int64_t(1) << 31)
      return "an extent is from 1 to 2^31, not " + std::to_string(extent);
    bits += bitsOf(extent);
  }
  return bits < 32 ? "" : "more than 2^31 elements";
}

std::string readImages(Reader &reader, const Layout &empty, std::vector<uint32_t> &images) {
  if (!reader.take("="))
    return "`=` expected " + reader.place();
  if (!reader.take("["))
    return "`[` expected " + reader.place();
  if (reader.take("]"))
    return "";
  do {
    std::vector<int64_t> coordinates;
    if (!reader.take("(") || !reader.numbers(",", ")", coordinates))
      return "coordinates such as (0,1) expected " + reader.place();
    if (coordinates.size() != empty.rank())
      return std::to_string(empty.rank()) + " coordinates expected before " + reader.place().substr(3);
    for (unsigned d = 0; d != empty.rank(); ++d)
      if (coordinates[d] >= empty.hull(d))
        return "coordinate " + std::to_string(coordinates[d]) + " outside of dimension " + std::to_string(d);
    images.push_back(empty.flatten(coordinates));
  } while (reader.take(","));
  if (!reader.take("]"))
    return "`]` expected " + reader.place();
  return images.size() <= 31 ? "" : "more than 31 bits of one axis";
}
} // namespace

std::optional<Layout> Layout::parse(std::string_view text, std::string *error) {
  auto fail = [&](std::string why) {
    if (error)
      *error = "no layout: " + why;
    return std::nullopt;
  };
  Reader reader(text);
  reader.skipBuilder();
  std::vector<int64_t> extents;
  if (std::string wrong = readExtents(reader, extents); !wrong.empty())
    return fail(std::move(wrong));
  Layout empty(extents, {});
  Bases bases;
  bool seen[numAxes] = {};
  while (!reader.done()) {
    unsigned axis = 0;
    while (axis != numAxes && !reader.take(axisNames[axis]))
      ++axis;
    if (axis == numAxes || seen[axis])
      return fail("register=, lane=, warp= or block= expected, each once, " + reader.place());
    seen[axis] = true;
    if (std::string wrong = readImages(reader, empty, bases[axis]); !wrong.empty())
      return fail(std::move(wrong));
  }
  return Layout(std::move(extents), std::move(bases));
}

} // namespace tegula::layout
