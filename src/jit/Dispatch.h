// A call of a kernel -> its specialization -> a launch. Arguments come as leaves (a number, a
// pointer with its element type, a constant); the specialization key is their bytes; the table
// of a kernel answers a known key without compiling.
//
// Rules (upstream's): the integer 1 is a constant; other integers are i32, i64 or u64 by value
// and "divisible by 16" when they are; a float is fp32; a bool is i1; None is a constant; a
// pointer is its element type and "divisible by 16" when its address is. An annotation pins
// the type. Safe from several threads.
#pragma once
#include "compiler/Parameters.h"
#include "jit/KernelTable.h"

#include <mutex>

namespace tegula::jit {

enum class LeafKind : uint8_t { Absent, None, Bool, Int, UInt, Float, Pointer, Constant, Tuple };
struct LeafTuple;

struct Leaf {
  LeafKind kind = LeafKind::Absent;
  DType dtype = DType::I32; // of a pointer's elements; of a typed number
  bool typed = false;       // the caller says which type the number has
  bool readOnly = false;    // the memory must not be written
  bool isConstant = false;  // the caller says that it is known when compiling, whatever the parameter says
  // Bool, Int, UInt: the value, extended; Float: the bits of a double; Pointer: the address.
  uint64_t bits = 0;
  // Constant: a string, a type, a function, a tuple, an integer wider than 64 bits.
  std::shared_ptr<const sema::Const> constant;
  std::shared_ptr<const LeafTuple> tuple; // Tuple
};

struct LeafTuple {
  std::vector<Leaf> elements;
  sema::TupleClassPtr type; // null: a plain tuple
};

struct Argument {
  Leaf leaf;
  std::string_view name; // "": by position
};

// An argument as a host gets it that runs the function itself: the type and the bits of a run-time value;
// neither for a constant; of a tuple its elements.
struct TypedLeaf {
  std::optional<sema::Type> type;
  uint64_t bits = 0;
  std::optional<std::vector<TypedLeaf>> elements;
};

// 16 bytes a parameter; the options follow.
struct KeyLeaf {
  uint8_t kind = 0, dtype = 0, flags = 0, reserved[5] = {};
  uint64_t payload = 0;
};
static_assert(sizeof(KeyLeaf) == 16);

class Dispatcher {
public:
  explicit Dispatcher(std::shared_ptr<const sema::Function> function) : function_(std::move(function)) {}

  const sema::Function &function() const { return *function_; }
  const std::shared_ptr<const sema::Function> &functionPointer() const { return function_; }
  const std::vector<compiler::Parameter> &parameters();
  void doNotSpecialize(unsigned parameter, bool onlyAlignment);
  // The annotation that counts, where the host has another one than the text: "constexpr", "const",
  // "i64", "*fp16". False: it means nothing here, and the text's counts.
  bool annotate(unsigned parameter, std::string_view annotation);

  // The kernel for these arguments on the place's device, compiled if it is new. Null after diagnostics.
  KernelRef prepare(std::span<const Argument> arguments, const compiler::CompileOptions &options,
                    const runtime::Place &place, diag::Sink &sink);
  // The same, and runs it. Null after diagnostics. A grid with a 0 runs nothing.
  KernelRef launch(std::span<const Argument> arguments, std::span<const int64_t> grid,
                   const compiler::CompileOptions &options, const runtime::Place &place, diag::Sink &sink);

  // The request that a compile for these arguments makes of the front end. nullopt after diagnostics.
  std::optional<sema::Request> requestFor(std::span<const Argument> arguments,
                                          const compiler::CompileOptions &options, diag::Sink &sink);
  // Binds the arguments of a call without compiling: one row a parameter, typed as a compile types it, but
  // that the integer 1 is a number as any other. Sets the options that the call gives. nullopt after
  // diagnostics.
  std::optional<std::vector<TypedLeaf>> bindForHost(std::span<const Argument> arguments,
                                                    compiler::CompileOptions &options, diag::Sink &sink);

private:
  struct Call;
  bool bind(Call &call, std::span<const Argument> arguments, diag::Sink &sink);
  bool setOption(Call &call, const Argument &argument, diag::Sink &sink);
  bool specialize(Call &call, diag::Sink &sink);
  void specialize(Call &call, const Leaf &leaf, const compiler::Parameter &parameter, unsigned index,
                  diag::Sink &sink);
  KernelRef find(Call &call, diag::Sink &sink);
  KernelRef findFor(Call &call, std::span<const Argument> arguments, const runtime::Place &place,
                    diag::Sink &sink);
  sema::Request requestOf(const Call &call, sema::HostRecord *record, std::vector<std::string> &names) const;
  KernelRef compile(const Call &call, diag::Sink &sink);
  diag::Location place() const;

  std::shared_ptr<const sema::Function> function_;
  std::once_flag parametersOnce_;
  std::vector<compiler::Parameter> parameters_;
  bool takesPlainParameters_ = true; // no *args, no **kwargs
  std::vector<Leaf> defaults_;
  KernelTable table_;
};

// Sets an option that launches obey, by its name and the text of a constant. False: there is no such option,
// or it does not take the value.
bool setOption(compiler::CompileOptions &options, std::string_view name, std::string_view value);
// The leaf of a compile-time value.
Leaf leafOf(const sema::Const &value);
// "an int", "a pointer to fp32": for messages.
std::string describe(const Leaf &leaf);
// Accepts 1 to 3 extents from 0 to 2^31-1, or reports.
std::optional<runtime::Grid> makeGrid(std::span<const int64_t> grid, diag::Location place, diag::Sink &sink);

} // namespace tegula::jit
