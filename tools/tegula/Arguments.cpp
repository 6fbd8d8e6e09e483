// Grids, arguments and arrays of the command line, as `run` and `simulate` take them.
#include "Arguments.h"
#include "Verbs.h"
#include "base/Files.h"

#include <charconv>
#include <iostream>
#include <optional>

namespace tegula::cli {

int usage(const UsageError &error) {
  std::cerr << "tegula: error: " << error.what << "\n";
  if (!error.hint.empty())
    std::cerr << "  hint: " << error.hint << "\n";
  return ExitUsage;
}

std::variant<std::vector<int64_t>, UsageError> gridOf(std::string_view text) {
  std::vector<int64_t> grid;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    int64_t extent = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + comma, extent);
    if (error != std::errc() || end != text.data() + comma)
      return UsageError{"the grid entry `" + std::string(text.substr(0, comma)) + "` is not an integer",
                        "write --grid X, --grid X,Y or --grid X,Y,Z"};
    grid.push_back(extent);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return grid;
}

namespace {

// "f32[4096,781]"
std::variant<Array, Problem> zeros(std::string_view text, bool hasMemory) {
  Problem malformed{"`new:" + std::string(text) + "` is not a new array", "write new:f32[4096,781]"};
  size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || !text.ends_with(']'))
    return malformed;
  int dtype = tg_dtype_from_name(std::string(text.substr(0, bracket)).c_str());
  if (dtype < 0)
    return Problem{"`" + std::string(text.substr(0, bracket)) + "` is no element type",
                   "e.g. f32, f16, bf16, i32, i64"};
  std::string_view extents = text.substr(bracket + 1, text.size() - bracket - 2);
  auto shape = gridOf(extents);
  if (std::holds_alternative<UsageError>(shape))
    return malformed;
  for (int64_t extent : std::get<0>(shape))
    if (extent < 0)
      return malformed;
  auto bytes = byteCount(tg_dtype(dtype), std::get<0>(shape));
  if (auto *problem = std::get_if<Problem>(&bytes))
    return *problem;
  Array array =
      makeArray(tg_dtype(dtype), std::move(std::get<0>(shape)), hasMemory ? std::get<size_t>(bytes) : 0);
  array.bytes = std::get<size_t>(bytes);
  return array;
}

// "desc[32,64]:VALUE", "desc[32,64]nan:VALUE": the block, the padding and what they describe.
struct Described {
  std::vector<int64_t> block;
  std::string padding = "zero", array;
};
std::variant<Described, UsageError> describedOf(std::string_view text) {
  UsageError malformed{"`" + std::string(text) + "` is no tensor descriptor",
                       "write desc[32,64]:@FILE.npy, desc[32,64]:new:f16[128,256] or desc[32,64]nan:..."};
  size_t close = text.find(']'), colon = text.find(':');
  if (close == std::string_view::npos || colon == std::string_view::npos || colon < close)
    return malformed;
  Described described;
  auto block = gridOf(text.substr(5, close - 5));
  if (std::holds_alternative<UsageError>(block))
    return malformed;
  described.block = std::move(std::get<0>(block));
  if (std::string_view padding = text.substr(close + 1, colon - close - 1); !padding.empty())
    described.padding = padding;
  described.array = text.substr(colon + 1);
  bool isArray = described.array.starts_with('@') || described.array.starts_with("new:");
  return isArray ? std::variant<Described, UsageError>(std::move(described)) : malformed;
}

} // namespace

namespace {

bool isInteger(tg_dtype dtype) { return dtype >= TG_I1 && dtype <= TG_U64; }

// Files have no name for bf16 and the small floats: NAME:bf16=@x.npy says what integers, or bytes without a
// type, are. -1, else an exit code.
int nameElements(Array &array, const std::string &name, const std::string &type) {
  if (type.empty())
    return -1;
  int dtype = tg_dtype_from_name(type.c_str());
  if (dtype < 0)
    return usage(UsageError{"--arg " + name + ": there is no type `" + type + "`", "e.g. x:bf16=@x.npy"});
  bool isRaw = isInteger(array.dtype) || !isNamedByNpy(array.dtype);
  bool isNamed =
      isRaw && !isNamedByNpy(tg_dtype(dtype)) && tg_dtype_size(dtype) == tg_dtype_size(array.dtype);
  if (dtype != int(array.dtype) && !isNamed)
    return report("--arg " + name,
                  "its elements are " + std::string(tg_dtype_name(array.dtype)) + ", and not " + type,
                  "an array has the type of its file: convert it with array.astype(...)");
  array.dtype = tg_dtype(dtype);
  return -1;
}

} // namespace

int bind(Bound &bound, const std::string &text, bool hasMemory) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return usage(UsageError{"--arg `" + text + "` has no `NAME=`", "write --arg n=4096"});
  std::string name = text.substr(0, equals), value = text.substr(equals + 1), type;
  if (size_t colon = name.find(':'); colon != std::string::npos) {
    type = name.substr(colon + 1);
    name.resize(colon);
  }
  bound.names.push_back(name);
  tg_value result{};
  std::optional<Described> described;
  if (value.starts_with("desc[")) {
    auto found = describedOf(value);
    if (auto *error = std::get_if<UsageError>(&found))
      return usage(*error);
    described = std::move(std::get<Described>(found));
    value = described->array;
  }
  if (value.starts_with('@') || value.starts_with("new:")) {
    auto array = value.starts_with('@') ? readNpy(value.substr(1))
                                        : zeros(std::string_view(value).substr(4), hasMemory);
    if (auto *problem = std::get_if<Problem>(&array))
      return report(value.starts_with('@') ? value.substr(1) : "--arg " + name, problem->reason,
                    problem->hint);
    Array &kept = bound.arrays[name] = std::move(std::get<Array>(array));
    if (int code = nameElements(kept, name, type); code != -1)
      return code;
    result = tg::pointer(kept.data(), kept.dtype);
    if (described) {
      bound.texts.push_back(described->padding);
      result = bound.descriptors.try_emplace(name, result, kept.shape, described->block, bound.texts.back())
                   .first->second;
    }
  } else {
    bound.texts.push_back(value);
    result = tg::literal(bound.texts.back());
    if (int dtype = tg_dtype_from_name(type.c_str()); dtype >= 0) {
      result.flags = TG_TYPED;
      result.dtype = uint8_t(dtype);
    } else if (!type.empty()) {
      return usage(UsageError{"--arg " + name + ": there is no type `" + type + "`", "e.g. n:i64=5"});
    }
  }
  bound.arguments.push_back({result, bound.names.back().c_str()});
  return -1;
}

int checkSaves(const Bound &bound, const std::vector<std::string> &saves) {
  std::vector<std::string> paths;
  for (const std::string &text : saves) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return usage(UsageError{"--save `" + text + "` is not NAME=FILE.npy", "write --save out=sum.npy"});
    if (!bound.arrays.contains(text.substr(0, equals)))
      return usage(UsageError{"--save: there is no array argument `" + text.substr(0, equals) + "`",
                              "arrays are the arguments given as @FILE.npy or new:TYPE[SHAPE]"});
    for (const std::string &other : paths)
      if (isSameFile(other, text.substr(equals + 1)))
        return usage(
            UsageError{"--save: `" + other + "` is the file of two arrays", "give each a file of its own"});
    paths.push_back(text.substr(equals + 1));
  }
  return -1;
}

int save(Bound &bound, const std::string &text, bool isQuiet) {
  size_t equals = text.find('=');
  auto array = bound.arrays.find(text.substr(0, equals));
  std::string path = text.substr(equals + 1);
  auto written = writeNpy(path, array->second);
  if (auto *problem = std::get_if<Problem>(&written))
    return report(path, problem->reason, problem->hint);
  if (!isQuiet)
    std::cout << "saved " << array->first << " to " << path << "\n";
  return ExitOk;
}

} // namespace tegula::cli
