// A call of a kernel -> its specialization -> a launch. Arguments come as leaves (a number, a
// pointer with its element type, a constant); the specialization key is their bytes; the table
// of a kernel answers a known key without compiling.
//
// Rules (upstream's): the integer 1 is a constant; other integers are i32, i64 or u64 by value
// and "divisible by 16" or by 8 (Arguments.h) when they are; a float is fp32; a bool is i1; None is a
// constant; a pointer is its element type and "divisible by 16" when its address is. An annotation pins the
// type. Safe from several threads.
#pragma once
#include "compiler/Parameters.h"
#include "jit/Arguments.h"
#include "jit/KernelTable.h"
#include "jit/KnownCalls.h"

#include <functional>
#include <mutex>

namespace tegula::jit {

// An argument as a host gets it that runs the function itself: the type and the bits of a run-time value;
// neither for a constant; of a tuple its elements.
struct TypedLeaf {
  std::optional<sema::Type> type;
  uint64_t bits = 0;
  std::optional<std::vector<TypedLeaf>> elements;
};

// The name of a kernel for a tuple of rows (parameter, type, constant), as tegula.h has them. An error is
// text.
using NameKernel = std::function<Result<std::string>(const sema::Const &specialization)>;

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
  // Kernels get other names than the function's. Before the first launch.
  void nameKernels(NameKernel name) { name_ = std::move(name); }

  // The kernel for these arguments on the place's device, compiled if it is new, for launches of such a grid
  // where one is given. Null after diagnostics.
  KernelRef prepare(std::span<const Argument> arguments, const compiler::CompileOptions &options,
                    const runtime::Place &place, diag::Sink &sink, const runtime::Grid *grid = nullptr);
  // The same, and runs it. Null after diagnostics. A grid with a 0 runs nothing.
  KernelRef launch(std::span<const Argument> arguments, std::span<const int64_t> grid,
                   const compiler::CompileOptions &options, const runtime::Place &place, diag::Sink &sink);

  // The call again that `arguments` are like: one of the last that `remember` was told of. Null: there is
  // none such, and nothing was done; or it failed, with diagnostics.
  KernelRef launchKnown(std::span<const PlainArgument> arguments, std::span<const int64_t> grid,
                        std::string_view target, const runtime::Place &place, diag::Sink &sink);
  // That `launch` with these arguments ran this kernel.
  void remember(std::span<const PlainArgument> arguments, const std::string &target,
                const runtime::Place &place, const KernelRef &kernel);

  // The way in which `arguments` fill the slots of this kernel, which `prepare` found for them. nullopt: a
  // tuple is in the way.
  std::optional<KnownCall> knownCallOf(std::span<const PlainArgument> arguments,
                                       const SpecializedKernel &kernel);

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
  bool run(SpecializedKernel &kernel, std::span<const uint64_t> slots, const runtime::Grid &grid,
           const runtime::Place &place, diag::Sink &sink);
  bool bind(Call &call, std::span<const Argument> arguments, diag::Sink &sink);
  bool setLibraries(Call &call, const Leaf &leaf, std::string_view takes, diag::Sink &sink);
  bool setGivenStage(Call &call, const Leaf &leaf, std::string_view takes, diag::Sink &sink);
  bool setArch(Call &call, const Leaf &leaf, std::string_view takes, diag::Sink &sink);
  bool setOption(Call &call, const Argument &argument, diag::Sink &sink);
  bool specialize(Call &call, diag::Sink &sink);
  void specialize(Call &call, const Leaf &leaf, const compiler::Parameter &parameter, unsigned index,
                  diag::Sink &sink);
  KernelRef find(Call &call, diag::Sink &sink);
  KernelRef findFor(Call &call, std::span<const Argument> arguments, const runtime::Grid *grid,
                    const runtime::Place &place, diag::Sink &sink);
  sema::Request requestOf(const Call &call, sema::HostRecord *record, std::vector<std::string> &names) const;
  bool nameKernel(sema::Request &request, diag::Sink &sink) const;
  KernelRef compile(const Call &call, diag::Sink &sink);
  diag::Location place() const;

  std::shared_ptr<const sema::Function> function_;
  std::once_flag parametersOnce_;
  std::vector<compiler::Parameter> parameters_;
  bool takesPlainParameters_ = true; // no *args, no **kwargs
  std::vector<Leaf> defaults_;
  NameKernel name_;
  KernelTable table_;
  KnownCalls known_;
};

// Sets an option that launches obey, by its name and the text of a constant; a library of `extern_libs` is
// the option `extern_libs.NAME`. Launch: there is no such option, or it does not take the value. Unsupported:
// why a file cannot be read.
Status setOption(compiler::CompileOptions &options, std::string_view name, std::string_view value);
// The leaf of a compile-time value.
Leaf leafOf(const sema::Const &value);
// "an int", "a pointer to fp32": for messages.
std::string describe(const Leaf &leaf);
// Accepts 1 to 3 extents from 0 to 2^31-1, or reports.
std::optional<runtime::Grid> makeGrid(std::span<const int64_t> grid, diag::Location place, diag::Sink &sink);

} // namespace tegula::jit
