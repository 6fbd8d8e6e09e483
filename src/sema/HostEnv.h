// What a free name of a kernel means. A kernel's source names things it does not define:
// `tl`, `triton`, other kernels, constants. A host answers: the command line and the C++
// library from the module file itself (ModuleEnv), the Python package from the function's
// globals and closure. A compile asks through a HostRecord (HostRecord.h), which keeps every
// question with the digest of its answer: the dependency part of the cache key.
#pragma once
#include "base/DType.h"
#include "diag/Diagnostic.h"
#include "syntax/Ast.h"

#include "llvm/ADT/APInt.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tegula::sema {

class HostEnv;

// A function of the language: its definition, the tree that holds it and the environment
// that answers its free names.
struct Function {
  std::shared_ptr<const syntax::Tree> tree;
  const syntax::FunctionDef *definition = nullptr;
  std::shared_ptr<HostEnv> env;
  bool noinline_ = false;
  // Stable name for keys and messages: "path::name".
  std::string qualifiedName;
};

// A compile-time value: any Python object a kernel may compute with before it runs.
struct Const;
struct ConstTuple;
struct TupleClass;

struct NoneValue {};
// `triton.language.load`: an entry of Builtins.def by its canonical dotted name.
struct BuiltinRef {
  std::string name;
};
// `triton.language`: attributes are looked up under the dotted name.
struct ModuleRef {
  std::string name;
};
// A type as a value: an element type, a pointer to one (tl.pointer_type(tl.float32)), or
// with a shape the type of a tile of such (x.type); or that of what loads and stores whole tiles.
struct TypeRef {
  enum Whole : uint8_t { No, BlockPointer, Descriptor };

  DType element;
  bool pointer = false;
  bool isConst = false;
  std::vector<int64_t> shape = {};
  Whole whole = No; // then element, isConst and shape are those of the tile
  bool operator==(const TypeRef &) const = default;
};
// Something only the host knows; the handle is the host's.
struct OpaqueRef {
  uint64_t handle = 0;
  std::string repr;
};

struct Const {
  // Integers are Python's: any width, signed. APSInt-like, kept minimal by the evaluator.
  std::variant<NoneValue, bool, llvm::APInt, double, std::string, std::shared_ptr<ConstTuple>, TypeRef,
               BuiltinRef, ModuleRef, std::shared_ptr<const Function>, OpaqueRef,
               std::shared_ptr<const TupleClass>>
      value;
};

// The class of tuples whose elements have names: a NamedTuple, or an aggregate, which is no sequence and
// whose methods the host knows as attributes of `self`.
struct TupleClass {
  std::string name;
  std::vector<std::string> fields;
  OpaqueRef self;
  bool isAggregate = false;

  // Of an element; the number of fields where there is none of this name.
  size_t find(std::string_view field) const {
    return size_t(std::find(fields.begin(), fields.end(), field) - fields.begin());
  }
  bool operator==(const TupleClass &other) const {
    return name == other.name && self.handle == other.self.handle && fields == other.fields;
  }
};
using TupleClassPtr = std::shared_ptr<const TupleClass>;

struct ConstTuple : std::vector<Const> {
  using std::vector<Const>::vector;
  ConstTuple(std::vector<Const> elements = {}) : std::vector<Const>(std::move(elements)) {}
  TupleClassPtr type; // null: a plain tuple
};

// An answer of a host. `annotatedConstexpr` is true for tl.constexpr(...) objects and for
// module-level `X: tl.constexpr = ...`; other plain numbers are refused in kernels, as
// upstream refuses them (they could change behind the compiler's back).
struct HostAnswer {
  Const value;
  bool isConstexpr = false;
};

// What a call came to: an answer; or the text of what the callee raised; or neither, when there
// is nothing to call.
struct HostReply {
  std::optional<HostAnswer> answer;
  std::string raised;
};

class HostEnv {
public:
  virtual ~HostEnv() = default;
  // A number that is another one when an answer, of this environment or of one that its answers
  // lead to, may be another one than before. Cheap: it is asked at each launch.
  virtual uint64_t version() { return 0; }
  // Of the language's own library: its answers are a part of this build of the compiler.
  bool isOfLanguage = false;
  // The meaning of a free name; nullopt: not defined.
  virtual std::optional<HostAnswer> lookup(std::string_view name) = 0;
  // The default of a parameter of this environment's function as the host holds it, evaluated; nullopt: the
  // tree says it.
  virtual std::optional<HostAnswer> defaultOf(std::string_view parameter) { return std::nullopt; }
  // Attribute of an opaque object or of a module that the compiler does not know.
  virtual std::optional<HostAnswer> attribute(const Const &object, std::string_view name) {
    return std::nullopt;
  }
  // Calls an opaque object (a constexpr_function) with compile-time arguments; the last
  // `names.size()` of them by name.
  virtual HostReply call(const Const &callee, std::span<const Const> arguments,
                         std::span<const std::string> names) {
    return {};
  }
};

// Answers from a module file: its functions decorated with `jit`, its imports of triton
// (or tegula), and its assignments of constants. Never runs the file.
std::shared_ptr<HostEnv> makeModuleEnv(std::shared_ptr<const syntax::Tree> tree);

} // namespace tegula::sema
