// The part of the compiler that needs MLIR and LLVM, as a table of functions. All else of the library reaches
// it through `core()` only: in libtegula that opens libtegula-core at the first call, so that a process which
// finds its kernels on disk never loads them; in programs that link the archives it is linked
// (LinkedCore.cpp).
//
// Both sides are of one build, and objects of C++ go over the border. Code that both have is there twice,
// each with its own state: what has state that must be one (threads, devices, simulations, kernels, handles)
// runs on this side only.
#pragma once
#include "compiler/Compiler.h"
#include "compiler/Mistakes.h"
#include "compiler/ModuleFile.h"
#include "eager/Program.h"

namespace tegula::compiler {

struct Core {
  Status (*build)(const sema::Request &request, const Target &target, const TargetOptions &options,
                  Built &built, diag::Sink &sink);
  // The same from the tile IR of an artifact, whose source and arguments count, and with other options.
  Status (*rebuild)(const artifact::Artifact &from, const TargetOptions &options, Built &built);
  // The artifact lives longer.
  std::unique_ptr<Stages> (*stages)(const artifact::Artifact &artifact, const TargetOptions &options);
  // Runs the tile IR of the artifact, which lives longer, as interp has it.
  Result<std::unique_ptr<Executable>> (*interpret)(const artifact::Artifact &artifact);
  // As in Passes.h, Check.h, Mistakes.h.
  Result<PassList> (*passesOf)(const Target &target, const TargetOptions &options);
  bool (*checkLooks)(const pipeline::Looks &looks, const Target &target, const TargetOptions &options,
                     diag::Sink &sink);
  void (*check)(const Module &module, diag::Sink &sink);
  void (*findMistakes)(const sema::Request &request, const KnownLaunch &launch, diag::Sink &sink);
  std::unique_ptr<eager::Program> (*makeProgram)(const sema::LanguageOptions &options);
  // Tells the LLVM and MLIR that it runs on from others; "" where they are a part of it.
  std::string (*identityOfLlvm)();
};

// Unsupported: it is not there, or is of another build.
Result<const Core *> core();
// The same; null after a diagnostic.
const Core *requireCore(std::string_view target, diag::Sink &sink);

// The table itself, where it is linked.
const Core &linkedCore();

// The one function that libtegula-core exports, `tegula_core`. Null: `ours` is not what `sidesOf` gives
// there, so that the two are not of one build. `findFunction` finds the functions of the language's library
// on the caller's side.
using OpenCore = const Core *(*)(const char *ours,
                                 std::shared_ptr<const sema::Function> (*findFunction)(std::string_view));
// The version, the sizes of what goes over the border, and which diagnostics there are.
std::string sidesOf();

} // namespace tegula::compiler
