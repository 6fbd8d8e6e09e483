#include "Npy.h"
#include "base/Files.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace tegula::cli {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

// NumPy's description of an element type without the byte order. bf16 has none of its own:
// ml_dtypes writes '<V2'.
struct Row {
  std::string_view descr;
  tg_dtype dtype;
};
constexpr Row rows[] = {{"b1", TG_I1},   {"i1", TG_I8},  {"i2", TG_I16}, {"i4", TG_I32}, {"i8", TG_I64},
                        {"u1", TG_U8},   {"u2", TG_U16}, {"u4", TG_U32}, {"u8", TG_U64}, {"f2", TG_F16},
                        {"V2", TG_BF16}, {"f4", TG_F32}, {"f8", TG_F64}, {"V1", TG_F8E5}};

// The text behind `'key':` in the header's dictionary.
std::optional<std::string_view> field(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string pattern = quote + std::string(key) + quote;
    size_t at = header.find(pattern);
    if (at == std::string_view::npos)
      continue;
    std::string_view rest = header.substr(at + pattern.size());
    size_t start = rest.find_first_not_of(": ");
    return start == std::string_view::npos ? std::nullopt : std::optional(rest.substr(start));
  }
  return std::nullopt;
}

std::variant<tg_dtype, Problem> elementType(std::string_view descr) {
  if (descr.empty() || (descr.front() != '\'' && descr.front() != '"'))
    return Problem{"its elements are structured", "save one plain array"};
  std::string_view text = descr.substr(1, descr.find(descr.front(), 1) - 1);
  std::string_view plain =
      text.starts_with('<') || text.starts_with('|') || text.starts_with('=') ? text.substr(1) : text;
  if (text.starts_with('>'))
    return Problem{"its elements are big-endian (`" + std::string(text) + "`)",
                   "convert with array.astype('<' + ...)"};
  for (const Row &row : rows)
    if (row.descr == plain)
      return row.dtype;
  return Problem{"its element type `" + std::string(text) + "` is none of the language",
                 "use bool, int8 ... int64, uint8 ... uint64, float16, float32 or float64"};
}

std::optional<std::vector<int64_t>> shapeOf(std::string_view text) {
  std::vector<int64_t> shape;
  size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos)
    return std::nullopt;
  text = text.substr(1, close - 1);
  while (true) {
    size_t start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos)
      return shape;
    text.remove_prefix(start);
    int64_t extent = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0 || shape.size() == 32)
      return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(size_t(end - text.data()));
  }
}

bool readWhole(RegularFile &file, char *to, size_t size) {
  Result<size_t> count = file.read(to, size);
  return count && *count == size;
}

// Magic, version, length, dictionary. Leaves the file at the first element.
struct Header {
  std::string text;
  size_t end = 0; // of the header in the file
};
std::variant<Header, Problem> headerOf(RegularFile &file) {
  char start[8];
  if (!readWhole(file, start, 8))
    return Problem{"it is too short to be an .npy file", ""};
  if (std::string_view(start, 6) != magic)
    return Problem{"it is not an .npy file", "write it with numpy.save"};
  unsigned char length[4] = {};
  int width = start[6] == 1 ? 2 : 4;
  if (start[6] < 1 || start[6] > 3)
    return Problem{"its format version " + std::to_string(int(start[6])) + " is unknown",
                   "write it with numpy.save"};
  if (!readWhole(file, reinterpret_cast<char *>(length), size_t(width)))
    return Problem{"its header is truncated", ""};
  size_t size = length[0] | length[1] << 8 | length[2] << 16 | size_t(length[3]) << 24;
  if (size > (1u << 20))
    return Problem{"its header claims " + std::to_string(size) + " bytes", "write it with numpy.save"};
  std::string header(size, '\0');
  if (!readWhole(file, header.data(), size))
    return Problem{"its header is truncated", ""};
  return Header{std::move(header), 8 + size_t(width) + size};
}

std::string tupleText(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (int64_t extent : shape)
    text += std::to_string(extent) + ", ";
  if (shape.size() > 1)
    text.resize(text.size() - 2);
  else if (shape.size() == 1)
    text.pop_back();
  return text + ")";
}

} // namespace

bool isNamedByNpy(tg_dtype dtype) {
  for (const Row &row : rows)
    if (row.dtype == dtype)
      return !row.descr.starts_with('V');
  return false;
}

std::variant<size_t, Problem> byteCount(tg_dtype dtype, const std::vector<int64_t> &shape) {
  unsigned __int128 bytes = tg_dtype_size(dtype);
  for (int64_t extent : shape)
    if ((bytes *= uint64_t(extent)) > (uint64_t(1) << 40))
      return Problem{"an array of shape " + tupleText(shape) + " is larger than 1 TiB", ""};
  return size_t(bytes);
}

Array makeArray(tg_dtype dtype, std::vector<int64_t> shape, size_t bytes) {
  Array array{dtype, std::move(shape), {}, bytes};
  array.storage.resize((bytes + Array::alignment + 7) / 8 + 8);
  return array;
}

std::variant<Array, Problem> readNpy(const std::string &path) {
  Result<RegularFile> file = RegularFile::open(path);
  if (!file)
    return Problem{file.status().message, "check the path and its permissions"};
  auto header = headerOf(*file);
  if (auto *problem = std::get_if<Problem>(&header))
    return *problem;
  const auto &[headerText, headerEnd] = std::get<Header>(header);
  std::string_view text = headerText;
  auto descr = field(text, "descr"), order = field(text, "fortran_order"), shapeText = field(text, "shape");
  auto shape = shapeText ? shapeOf(*shapeText) : std::nullopt;
  if (!descr || !order || !shape)
    return Problem{"its header is damaged", "write it with numpy.save"};
  auto dtype = elementType(*descr);
  if (auto *problem = std::get_if<Problem>(&dtype))
    return *problem;
  if (order->starts_with("True"))
    return Problem{"it is in Fortran order", "save numpy.ascontiguousarray(array)"};
  auto bytes = byteCount(std::get<tg_dtype>(dtype), *shape);
  if (auto *problem = std::get_if<Problem>(&bytes))
    return *problem;
  size_t wanted = std::get<size_t>(bytes), there = size_t(file->size()) - headerEnd;
  if (there != wanted)
    return Problem{std::string(there < wanted ? "it is truncated: "
                                              : "it does not have the size that its header says: ") +
                       "shape " + tupleText(*shape) + " takes " + std::to_string(wanted) +
                       " bytes, and there are " + std::to_string(there),
                   "write it with numpy.save"};
  Array array = makeArray(std::get<tg_dtype>(dtype), std::move(*shape), wanted);
  if (!readWhole(*file, array.data(), wanted))
    return Problem{"it cannot be read to its end", ""};
  return array;
}

std::variant<std::monostate, Problem> writeNpy(const std::string &path, Array &array) {
  std::string_view descr;
  for (const Row &row : rows)
    if (row.dtype == array.dtype)
      descr = row.descr;
  if (descr.empty())
    return Problem{"an array of " + std::string(tg_dtype_name(array.dtype)) + " has no .npy element type",
                   "convert it in the kernel"};
  std::string header = "{'descr': '" + std::string(tg_dtype_size(array.dtype) == 1 ? "|" : "<") +
                       std::string(descr) + "', 'fortran_order': False, 'shape': " + tupleText(array.shape) +
                       ", }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string start(magic);
  start += {'\1', '\0', char(header.size() & 255), char(header.size() >> 8)};
  Status status = writeFile(path, {start, header, {array.data(), array.bytes}});
  if (!status.ok())
    return Problem{"cannot be written: " + status.message,
                   "check the path, its permissions and the space left"};
  return std::monostate{};
}

} // namespace tegula::cli
