// What a kernel's definition says of its parameters: which are constexpr, which types are
// pinned by an annotation, which have defaults. Annotations are resolved through the
// environment, so that any spelling of tl.constexpr counts.
#pragma once
#include "diag/Diagnostic.h"
#include "sema/HostEnv.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula::compiler {

struct Parameter {
  std::string name;
  std::string annotation;  // as written; "" without
  std::string defaultText; // as written; "" without
  bool isConstexpr = false;
  bool hasDefault = false;
  bool isVariadic = false;    // *args: takes the rest of the arguments that have no name, as a tuple
  bool isKeywordOnly = false; // takes its argument by name only
  bool isElement = false;     // not a parameter, but an element of the tuple that is one's argument
  bool isConst = false;       // annotated tl.const: a pointer that is only read
  // Named in the decorator's lists: the value 1 and multiples of 16 are nothing special.
  bool doNotSpecialize = false, doNotSpecializeOnAlignment = false;
  // `x: tl.int64`, `p: "*fp16"`: the argument has this type, whatever its value.
  std::optional<sema::TypeRef> pinned;
  diag::Location location;
};

// Sets what an annotation that is a text says: "tl.constexpr", "const", "i64", "tl.float64", "*fp16".
// False: it says nothing here, as any other text.
bool applyAnnotation(std::string_view text, Parameter &parameter);

std::vector<Parameter> parametersOf(const sema::Function &function);

// "x, y, BLOCK", for a message; the first of them and a number where there are many.
std::string listOf(std::span<const Parameter> parameters);

// A parameter that a kernel cannot have (**kwargs) is a diagnostic and false.
bool checkParameters(const sema::Function &function, diag::Sink &sink);

} // namespace tegula::compiler
