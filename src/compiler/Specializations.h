// The specializations that calls need, as lines of text: a process that may not compile names the one that it
// misses, and a process that records writes down each one, for `tegula build --list`.
//
//   FILE.py::KERNEL <tab> TARGET <tab> OPTIONS <tab> SIGNATURE
//
// TARGET is a name of `tegula compile --target`, OPTIONS are NAME=VALUE of a launch, with commas; SIGNATURE
// is one of Signature.h. A line with `#` in front is a comment: a specialization that has no such text is
// one.
#pragma once
#include "compiler/Compiler.h"

#include <optional>

namespace tegula::compiler {

// The text that parseSignature reads as these arguments. nullopt: a function, a type of the host or a tuple
// with run-time elements is among them.
std::optional<std::string> signatureOf(std::span<const sema::ArgumentSpec> arguments);

// May a call of this process not compile? By its options, or by TEGULA_CLOSED.
bool isClosed(const CompileOptions &options);
// Reports that the specialization is missing, and how to build it; null.
std::unique_ptr<Compilation> refuseToCompile(const sema::Request &request, const CompileOptions &options,
                                             diag::Sink &sink);

// Adds the line to the file that TEGULA_RECORD names; nothing where it names none. Data: the file cannot be
// written.
Status record(const sema::Request &request, const CompileOptions &options,
              const TargetOptions &targetOptions);

} // namespace tegula::compiler
