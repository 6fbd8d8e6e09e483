// The table of builtins as data: Builtins.def and Libdevice.def, read once. A row has the
// canonical name of a builtin and its parameters; `meaningOf` is the function that gives it meaning.
#pragma once
#include "sema/Session.h"

#include <string>
#include <string_view>
#include <vector>

namespace tegula::sema::builtins {

class Call;
using Meaning = std::optional<Value> (*)(Call &);

struct Parameter {
  std::string name;
  std::optional<Const> fallback; // the default
  bool isConstexpr = false;      // must be known at compile time
  bool isVariadic = false;       // takes all further positional arguments, as a tuple
  bool keepsTuples = false;      // a tuple among those is one of them, also where it is the only one
};

enum class Family : uint8_t {
  Elementwise,
  Math,
  Shape,
  Memory,
  Atomic,
  Descriptor,
  Dot,
  Reduce,
  Scan,
  Indexing,
  Control,
  Random,
  Debug,
  Types,
  Python,
};
std::string_view name(Family family);

struct Row {
  std::string_view name; // canonical: "triton.language.load"
  Family family;
  bool isMember = false;                      // also a method of run-time values: x.sum()
  bool hasMeaning = false;                    // false: written in the language, or not supported
  bool isLibrary = false;                     // written in the language
  std::string_view parameterText, bound, doc; // doc: the reason where not supported
  std::vector<Parameter> parameters;
  bool widensFloats = false; // written for fp32 and fp64: narrower floats are computed in fp32

  bool isSupported() const { return hasMeaning || isLibrary; }
  std::string display() const;     // "tl.load"
  std::string libraryName() const; // of the function in sema/library
};

// Rows in the order of the table.
const std::vector<Row> &table();
// Of a row of the table; null: it has none.
Meaning meaningOf(const Row &row);
// By canonical name; null: none.
const Row *findRow(std::string_view canonicalName);
// The number of an enumerator, "triton.language.dtype.KIND.FLOATING", by canonical name; null: it names none.
std::optional<int64_t> enumeratorOf(std::string_view canonicalName);
// "triton.language.math.exp" -> "triton.language.exp"; names without an alias stay.
std::string canonical(std::string_view dottedName);
// The methods of values that are not the builtin of that name: `x.to` is tl.cast.
inline std::string_view memberBuiltin(std::string_view name) { return name == "to" ? "cast" : name; }
// The row of the method `name` of run-time values; null: none.
const Row *findMember(std::string_view name);

// A function of the language's own library by its bare name; null: none (our bug).
std::shared_ptr<const Function> findLibraryFunction(std::string_view name);
// Two libraries of one process that hold this code have one library of the language: the functions of the one
// that finds them so are from now on those of the other, too.
using FindFunction = std::shared_ptr<const Function> (*)(std::string_view name);
void shareLibrary(FindFunction find);

} // namespace tegula::sema::builtins
