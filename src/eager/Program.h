// One program of a kernel that a host runs statement by statement, in its own language: each operation goes
// through sema's door, which knows types, promotion, broadcasting and builtins; the ops that it emits are
// executed at once by interp, which knows what they mean. Neither is said a second time here. What comes out
// is held: a type of the language with the elements. Nothing of one operation stays for the next but what is
// held.
#pragma once
#include "base/Status.h"
#include "interp/Interpreter.h"
#include "sema/Session.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstring>
#include <memory>

namespace tegula::sema {
class Visitor;
}

namespace tegula::eager {

// The parts of a pointer to elements of less than a byte: the address of the first, and elements behind
// it.
struct HeldPlace {
  interp::Tile base, offset;
  DType offsetType = DType::I64;
};

// A scalar or tile of a program that runs.
struct HeldTile {
  sema::Type type;
  interp::Tile tile; // rank 0 for a scalar; of pointers to packed elements the bytes in which they begin
  std::shared_ptr<const HeldPlace> place = nullptr; // of such pointers behind arithmetic
};

struct Held;
using HeldTuple = std::vector<Held>;

// A block pointer or tensor descriptor.
struct HeldRecord {
  sema::RecordType type;
  HeldTuple fields;
};

// A value between two operations. Values never change.
struct Held {
  std::variant<sema::Const, std::shared_ptr<const HeldTile>, std::shared_ptr<const HeldTuple>,
               std::shared_ptr<const HeldRecord>>
      value;

  const sema::Const *constant() const { return std::get_if<sema::Const>(&value); }
  template <class T> const T *get() const {
    auto *pointer = std::get_if<std::shared_ptr<const T>>(&value);
    return pointer ? pointer->get() : nullptr;
  }
};

// The elements in row-major order, as they are in memory: a pointer is 8 bytes, an int1 one byte.
inline std::vector<std::byte> bytesOf(const HeldTile &tile) {
  const size_t size = tile.type.pointer ? sizeof(uint64_t) : byteSize(tile.type.element);
  std::vector<std::byte> bytes(size * tile.tile.size());
  for (size_t i = 0; i != tile.tile.size(); ++i)
    std::memcpy(bytes.data() + i * size, &tile.tile.bits[i], size);
  return bytes;
}

enum class Action : uint8_t {
  Call,      // the first operand is what is called
  Method,    // of the first operand, by name
  Attribute, // of the first operand, by name
  Binary,    // the name is Python's spelling of the operator, as for the three below
  Compare,
  Unary,
  Logical,
  Subscript, // of the first operand; an operand without a value is `:`
  Tensor,    // the operand as a run-time value
  Range,     // (start, stop, step) -> (lower, upper, step) of one type, and whether it runs down
  Condition, // the truth of the operand, as `if` has it
};
// One more than the last.
inline constexpr unsigned actionCount = unsigned(Action::Condition) + 1;

struct Operand {
  std::optional<Held> value;
  std::string name; // of a keyword argument; those follow the others
};

struct Step {
  Action action;
  std::string_view name;
  std::span<const Operand> operands;
};

// Callers that do not link this module get one from the compiler's core and go through its virtual functions.
class Program {
public:
  explicit Program(const sema::LanguageOptions &options);
  virtual ~Program();

  sema::LanguageOptions options;
  runtime::Grid grid;
  std::array<int64_t, 3> index{}; // of the program in the grid

  // A scalar of this type: a number's bits, or an address.
  virtual Held scalar(const sema::Type &type, uint64_t bits);
  // Runs one operation. nullopt after diagnostics, with the place as sema has it; or with `status` set, by
  // interp, whose errors start with the place.
  virtual std::optional<Held> run(const Step &step, const diag::Location &place, diag::Sink &sink,
                                  Status &status);
  // Is there a method of this name, so that `object.name` is to be called?
  virtual bool hasMethod(const Held &object, std::string_view name) const;

private:
  class Exchange;

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::Block *block_ = nullptr; // of a function, in which the ops of a step are
};

} // namespace tegula::eager
