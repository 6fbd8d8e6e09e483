// The one door to the meaning of builtins and operators. A session holds an insertion
// point and a place in the source; a builtin takes a session and values and knows no tree.
// The visitor of trees is one caller; hosts that call builtins one by one are others.
// Promotion, broadcasting and error texts exist once, behind this door.
//
// Failure is std::nullopt (or false); the diagnostic has been reported already, at the
// place `at()` says. Nothing here throws.
#pragma once
#include "diag/Diagnostic.h"
#include "sema/Value.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <span>

namespace tegula::sema {

// Says how the 32-bit operands of a tl.dot may be narrowed.
enum class DotPrecision : uint8_t { TF32, TF32x3, IEEE, BF16x3, BF16x6 };

inline constexpr int maxStages = 64; // of a loop that loads ahead

struct LanguageOptions {
  int numWarps = 4;
  int numStages = 0; // at most maxStages; 0: as the target likes
  bool debug = false;
  bool sanitizesOverflow = true; // with `debug`: sums, differences and products of integers are checked
  DotPrecision dotPrecision = DotPrecision::TF32; // of a tl.dot that says nothing
};

// A keyword argument of a call.
struct NamedValue {
  std::string name;
  Value value;
};

// Calls a function of the language with values; given by the visitor, so that builtins
// like tl.reduce can expand their combine function without knowing trees.
class FunctionCaller {
public:
  virtual ~FunctionCaller() = default;
  virtual std::optional<Value> callFunction(const Function &callee, std::span<const Value> arguments,
                                            std::span<const NamedValue> keywords) = 0;
};

class Session {
public:
  Session(mlir::OpBuilder &builder, diag::Sink &sink, const LanguageOptions &options,
          FunctionCaller &functions)
      : builder(builder), sink(sink), options(options), functions(functions) {}

  mlir::OpBuilder &builder;
  diag::Sink &sink;
  const LanguageOptions &options;
  FunctionCaller &functions;

  // The place that ops and diagnostics get. `frames` is the chain of calls that led here,
  // innermost first; reports append it as notes.
  diag::Location place;
  mlir::Location loc() const;
  std::vector<diag::Note> frames;
  // The op location of the innermost of `frames`; unset in the kernel itself.
  std::optional<mlir::Location> caller;

  // Promises of a value that a loop carries: no op made it, so that the accesses it is the address of carry
  // them, as `tt.address_divisibility` and the like. They hold in `block` and inside of it.
  struct Promise {
    mlir::Block *block;
    mlir::NamedAttribute attribute;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Promise, 2>> promises;

  // The text of tl.static_print since the last end of a line.
  std::string openLine;
  void endLine();

  // Reports at `place` and returns nullopt: `return session.fail(Kind::X, {...})`.
  std::nullopt_t fail(diag::Kind kind, std::initializer_list<std::string_view> arguments = {});
  void warn(diag::Kind kind, std::initializer_list<std::string_view> arguments = {});
  // Adds the calls that led here to what was just reported. An error that was told before is not told again:
  // what follows an early return is visited once in its branch, and after a mistake there once more.
  void explain(diag::Diagnostic &reported);

private:
  // loc() of the last place asked for: most ops of an expression share it.
  struct LastLocation {
    const diag::Source *source = nullptr;
    uint32_t offset = 0;
    mlir::LocationAttr file;
  };
  mutable LastLocation last_;
};

// ---- operators --------------------------------------------------------------------------
std::optional<Value> binary(Session &, syntax::BinaryOperator, const Value &left, const Value &right);
// And asserts that integers do not overflow, where the options of the session say so (Overflow.cpp).
std::optional<Value> checkedBinary(Session &, syntax::BinaryOperator, const Value &left, const Value &right);
std::optional<Value> compare(Session &, syntax::CompareOperator, const Value &left, const Value &right);
std::optional<Value> unary(Session &, syntax::UnaryOperator, const Value &operand);
// `and` / `or` of run-time values, elementwise; constants are the visitor's business.
std::optional<Value> logical(Session &, syntax::BoolOperator, const Value &left, const Value &right);

// ---- builtins ---------------------------------------------------------------------------
// Is there a builtin, a type or a module of this canonical name ("triton.language.load",
// "triton.language.float32", "triton.language.math", "triton.cdiv")? Python's own functions
// are "builtins.min", "builtins.len", "builtins.isinstance" ... A name that upstream has and
// we lack is found too; calling it says that it is not supported. A builtin written in the
// language (tl.softmax, tl.rand) is answered as a Function: call it as any other.
std::optional<Const> findBuiltin(std::string_view dottedName);
// The bare names of the builtins of a module of the language, "triton.language.math" say, that have a
// meaning, in the order of the table; each ends with a zero.
std::vector<std::string_view> builtinsIn(std::string_view module);
// Calls builtin `name`; arguments are bound against its row of Builtins.def.
std::optional<Value> callBuiltin(Session &, std::string_view name, std::span<const Value> arguments,
                                 std::span<const NamedValue> keywords);
// Attribute of a value: x.dtype, x.shape, x.T, ptr.dtype.element_ty, x.to (bound method).
// A bound method is called through callMethod.
std::optional<Value> attribute(Session &, const Value &object, std::string_view name);
bool isMethod(const Value &object, std::string_view name);
// Does the value name a class that isinstance can ask for, or several?
bool namesClass(const Value &value);
std::optional<Value> callMethod(Session &, const Value &object, std::string_view name,
                                std::span<const Value> arguments, std::span<const NamedValue> keywords);
// x[None, :], tuple[i]; indices are None, a slice (Const std::string ":" is never used:
// full slices are passed as `FullSlice`), or constants.
struct FullSlice {};
using Index = std::variant<FullSlice, Value>;
std::optional<Value> subscript(Session &, const Value &object, std::span<const Index> indices);

// ---- conversions ------------------------------------------------------------------------
// A run-time value: a constant becomes a scalar of upstream's type for it (1.2, "Python
// scalar -> tensor"); a tensor stays.
std::optional<Tensor> toTensor(Session &, const Value &value);
// A number in exactly this type, without a rounding in between; range is the caller's.
Tensor literal(Session &, const Const &number, DType type);
// `x.to(dtype)` with upstream's rules (round to nearest even).
std::optional<Tensor> cast(Session &, const Tensor &value, DType to);
// Broadcasts to `shape` by NumPy's rules.
std::optional<Tensor> broadcastTo(Session &, const Tensor &value, llvm::ArrayRef<int64_t> shape);

// ---- compile-time arithmetic (Python's) -------------------------------------------------
std::optional<Const> constBinary(Session &, syntax::BinaryOperator, const Const &left, const Const &right);
std::optional<Const> constCompare(Session &, syntax::CompareOperator, const Const &left, const Const &right);
std::optional<Const> constUnary(Session &, syntax::UnaryOperator, const Const &operand);
std::optional<bool> truth(Session &, const Const &value);
// Python's repr: 1, 1.0, 'a', (1, 2), None, fp32.
std::string repr(const Const &value);
std::string str(const Const &value);
Const makeInt(int64_t value);
std::optional<int64_t> asInt64(const Const &value); // int or bool

} // namespace tegula::sema
