// Builtins.def and Libdevice.def as rows, and names as answers. What gives a row its meaning is in
// Meanings.cpp: names are looked up where no compiler is.
#include "sema/builtins/Table.h"

#include "sema/Const.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cassert>

namespace tegula::sema {
namespace builtins {

namespace {

constexpr bool Member = true, Free = false;
constexpr std::string_view libdeviceBound = "2 ulp", libdeviceDoc = "the function of C's math library";

const Row rawRows[] = {
#define BUILTIN(name, family, member, parameters, bound, doc)                                                \
  {"triton.language." #name, Family::family, member, true, false, parameters, bound, doc, {}},
#define LIBRARY(name, family, member, parameters, bound, doc)                                                \
  {"triton.language." #name, Family::family, member, false, true, parameters, bound, doc, {}},
#define UNSUPPORTED(name, family, member, reason)                                                            \
  {"triton.language." #name, Family::family, member, false, false, "", "", reason, {}},
#define TOP(name, parameters, doc)                                                                           \
  {"triton." #name, Family::Python, Free, true, false, parameters, "exact", doc, {}},
#define PYTHON(name, parameters, doc)                                                                        \
  {"builtins." #name, Family::Python, Free, true, false, parameters, "exact", doc, {}},
#define DESCRIPTOR(name, parameters, doc)                                                                    \
  {"triton.language.tensor_descriptor." #name,                                                               \
   Family::Descriptor,                                                                                       \
   Free,                                                                                                     \
   true,                                                                                                     \
   false,                                                                                                    \
   parameters,                                                                                               \
   "exact",                                                                                                  \
   doc,                                                                                                      \
   {}},
#define PYTHON_MISSING(name, reason)                                                                         \
  {"builtins." #name, Family::Python, Free, false, false, "", "", reason, {}},
#define CUDA_QUERY(name, parameters, doc)                                                                    \
  {"triton.language.extra.cuda." #name, Family::Control, Free, true, false, parameters, "exact", doc, {}},
#define CUDA_MISSING(name, reason)                                                                           \
  {"triton.language.extra.cuda." #name, Family::Control, Free, false, false, "", "", reason, {}},
#include "sema/builtins/Builtins.def"
#define LIBDEVICE(name, parameters)                                                                          \
  {"triton.language.extra.libdevice." #name,                                                                 \
   Family::Math,                                                                                             \
   Free,                                                                                                     \
   true,                                                                                                     \
   false,                                                                                                    \
   parameters,                                                                                               \
   libdeviceBound,                                                                                           \
   libdeviceDoc,                                                                                             \
   {}},
#define UNARY(name, Op) LIBDEVICE(name, "arg0")
#define BINARY(name, Op) LIBDEVICE(name, "arg0, arg1")
#define TERNARY(name, Op) LIBDEVICE(name, "arg0, arg1, arg2")
#define SPECIAL(name, parameters) LIBDEVICE(name, parameters)
#define DIRECTED(name, parameters)                                                                           \
  LIBDEVICE(name##_rz, parameters) LIBDEVICE(name##_rd, parameters) LIBDEVICE(name##_ru, parameters)
#define CONVERSION(name, function, from, to) LIBDEVICE(name##_rn, "x") DIRECTED(name, "x")
#define IN_THE_LANGUAGE(name, parameters, widens)                                                            \
  {"triton.language.extra.libdevice." #name,                                                                 \
   Family::Math,                                                                                             \
   Free,                                                                                                     \
   false,                                                                                                    \
   true,                                                                                                     \
   parameters,                                                                                               \
   libdeviceBound,                                                                                           \
   libdeviceDoc,                                                                                             \
   {},                                                                                                       \
   widens},
#define WRITTEN(name, parameters) IN_THE_LANGUAGE(name, parameters, false)
#define WIDENED(name, parameters) IN_THE_LANGUAGE(name, parameters, true)
#include "sema/builtins/Libdevice.def"
};

// ---- parameters -------------------------------------------------------------------------

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Const parseDefault(std::string_view text) {
  if (text == "None")
    return {};
  if (text == "True" || text == "False")
    return {text == "True"};
  if (text == "()")
    return makeTuple({});
  if (text.starts_with('\''))
    return {std::string(text.substr(1, text.size() - 2))};
  if (text.starts_with("PropagateNan."))
    return {BuiltinRef{"triton.language." + std::string(text)}};
  if (auto type = dtypeFromName(text))
    return {TypeRef{*type}};
  return makeInt(std::stoll(std::string(text)));
}

Parameter parseParameter(std::string_view text) {
  Parameter parameter;
  parameter.isVariadic = text.starts_with('*');
  size_t equals = text.find('=');
  if (equals != text.npos) {
    std::string_view value = text.substr(equals + 1);
    parameter.fallback = parseDefault(value);
    text = text.substr(0, equals);
  }
  size_t colon = text.find(':');
  std::string_view annotation = colon == text.npos ? "" : trim(text.substr(colon + 1));
  parameter.isConstexpr = annotation == "constexpr";
  parameter.keepsTuples = annotation == "object";
  parameter.name = std::string(trim(text.substr(parameter.isVariadic, colon - parameter.isVariadic)));
  return parameter;
}

std::vector<Parameter> parseParameters(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!trim(text).empty()) {
    size_t comma = std::min(text.find(", "), text.size());
    parameters.push_back(parseParameter(text.substr(0, comma)));
    text = text.substr(std::min(comma + 2, text.size()));
  }
  return parameters;
}

const llvm::StringMap<const Row *> &index() {
  static const llvm::StringMap<const Row *> rows = [] {
    llvm::StringMap<const Row *> map;
    for (const Row &row : table())
      map[row.name] = &row;
    return map;
  }();
  return rows;
}

// ---- names ------------------------------------------------------------------------------

constexpr std::string_view language = "triton.language.", libdevice = "triton.language.extra.libdevice.";

bool isModule(std::string_view name) {
  static const llvm::StringSet<> modules = {"triton",
                                            "triton.language",
                                            "triton.language.math",
                                            "triton.language.core",
                                            "triton.language.standard",
                                            "triton.language.random",
                                            "triton.language.extra",
                                            "triton.language.extra.libdevice",
                                            "triton.language.extra.cuda",
                                            "triton.language.extra.cuda.libdevice",
                                            "triton.language.PropagateNan",
                                            "triton.language.dtype.KIND",
                                            "triton.language.dtype.SIGNEDNESS"};
  return modules.contains(name);
}

// tl.float32, tl.int8 ...: the language's names of the element types.
std::optional<DType> dtypeOf(std::string_view name) {
  if (!name.starts_with(language))
    return std::nullopt;
  name.remove_prefix(language.size());
  constexpr std::pair<std::string_view, DType> floats[] = {
      {"float16", DType::F16},       {"bfloat16", DType::BF16},       {"float32", DType::F32},
      {"float64", DType::F64},       {"float8e5", DType::F8E5},       {"float8e4nv", DType::F8E4NV},
      {"float8e4b8", DType::F8E4B8}, {"float8e5b16", DType::F8E5B16}, {"float8e4b15", DType::F8E4B15},
      {"float4e2m1", DType::F4E2M1}};
  for (auto [spelling, type] : floats)
    if (name == spelling)
      return type;
  auto type = dtypeFromName(name);
  return type && isInteger(*type) && tegula::name(*type) == name ? type : std::nullopt;
}

} // namespace

std::string_view name(Family family) {
  constexpr std::string_view names[] = {"Elementwise", "Math",   "Shape",  "Memory", "Atomic",
                                        "Descriptor",  "Dot",    "Reduce", "Scan",   "Indexing",
                                        "Control",     "Random", "Debug",  "Types",  "Python"};
  return names[static_cast<size_t>(family)];
}

std::string Row::libraryName() const {
  bool isDevice = name.starts_with(libdevice);
  return (isDevice ? "libdevice_" : "") + std::string(name.substr((isDevice ? libdevice : language).size()));
}

std::string Row::display() const {
  if (name.starts_with(libdevice))
    return "libdevice." + std::string(name.substr(libdevice.size()));
  if (name.starts_with(language))
    return "tl." + std::string(name.substr(language.size()));
  if (name.starts_with("builtins."))
    return std::string(name.substr(9));
  return std::string(name);
}

const std::vector<Row> &table() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all(std::begin(rawRows), std::end(rawRows));
    for (Row &row : all)
      row.parameters = parseParameters(row.parameterText);
    return all;
  }();
  return rows;
}

const Row *findRow(std::string_view canonicalName) { return index().lookup(canonicalName); }

std::string canonical(std::string_view dottedName) {
  std::string name(dottedName);
  if (dottedName == "tegula" || dottedName.starts_with("tegula."))
    name = "triton" + name.substr(6);
  for (std::string_view prefix : {"triton.language.extra.cuda.libdevice.", "triton.language.libdevice."})
    if (name.starts_with(prefix))
      return std::string(libdevice) + name.substr(prefix.size());
  // Upstream's modules under tl are one name space; math also has libdevice's functions.
  for (std::string_view module : {"math.", "core.", "standard.", "random."}) {
    std::string prefix = std::string(language) + std::string(module);
    if (!name.starts_with(prefix))
      continue;
    std::string bare = name.substr(prefix.size());
    bool isExtremum = module == "math." && (bare == "max" || bare == "min");
    if (isExtremum) // elementwise there
      return std::string(language) + bare + "imum";
    std::string plain = std::string(language) + bare, device = std::string(libdevice) + bare;
    return module == "math." && !findRow(plain) && findRow(device) ? device : plain;
  }
  if (name == "triton.language._experimental_make_tensor_descriptor")
    return "triton.language.make_tensor_descriptor";
  if (name == "triton.language._unwrap_if_constexpr")
    return "triton.language.constexpr";
  return name;
}

std::optional<int64_t> enumeratorOf(std::string_view name) {
  static const llvm::StringMap<int64_t> numbers = {
      {"triton.language.PropagateNan.NONE", 0},         {"triton.language.PropagateNan.ALL", 0xFFFF},
      {"triton.language.dtype.KIND.BOOLEAN", 0},        {"triton.language.dtype.KIND.INTEGRAL", 1},
      {"triton.language.dtype.KIND.FLOATING", 2},       {"triton.language.dtype.SIGNEDNESS.SIGNED", 0},
      {"triton.language.dtype.SIGNEDNESS.UNSIGNED", 1},
  };
  auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

const Row *findMember(std::string_view name) {
  const Row *row = findRow(std::string(language) + std::string(name));
  return row && row->isMember ? row : nullptr;
}

} // namespace builtins

using namespace builtins;

std::vector<std::string_view> builtinsIn(std::string_view module) {
  // Names of tl.math are the language's own, of one family, and umulhi; those of tl.tensor are the methods of
  // values.
  bool isMath = module == "triton.language.math" || module == "tegula.language.math";
  bool isTensor = module == "triton.language.tensor" || module == "tegula.language.tensor";
  std::string prefix = isMath || isTensor ? std::string(language) : canonical(std::string(module) + ".");
  std::vector<std::string_view> names;
  for (const Row &row : table()) {
    if (!row.isSupported() || !row.name.starts_with(prefix) ||
        (isMath && row.family != Family::Math && !row.name.ends_with(".umulhi")) ||
        (isTensor && !row.isMember))
      continue;
    std::string_view name = row.name.substr(prefix.size());
    if (name.find('.') == name.npos)
      names.push_back(name);
  }
  return names;
}

std::optional<Const> findBuiltin(std::string_view dottedName) {
  std::string name = canonical(dottedName);
  if (isModule(name))
    return Const{ModuleRef{name}};
  if (auto type = dtypeOf(name))
    return Const{TypeRef{*type}};
  if (name == "triton.language.pi32_t")
    return Const{TypeRef{DType::I32, true}};
  if (enumeratorOf(name) || name == "builtins.NotImplemented")
    return Const{BuiltinRef{name}};
  constexpr std::string_view tensor = "triton.language.tensor.";
  const Row *row =
      name.starts_with(tensor) ? findMember(memberBuiltin(name.substr(tensor.size()))) : findRow(name);
  if (!row)
    return std::nullopt;
  name = row->name;
  if (row->isLibrary && !row->widensFloats) // those go through runBuiltin, which widens
    return Const{findLibraryFunction(row->libraryName())};
  return Const{BuiltinRef{name}};
}

} // namespace tegula::sema
