// Compiled kernels on disk, behind the compile: what this user's processes compiled before, from the same
// source for the same machine, is loaded. A hit makes no MLIR context and calls no code generator.
//
// The name of an entry is a digest of all that a compile is given: the kernel's source, its arguments' types
// and constants, options, target, architecture or processor, assembler, and this build of the compiler. Hosts
// may answer differently under one name, so the entry holds the questions of its compile with the answers,
// and is taken only if they are given again. Refusals that cannot change (the kernel does not fit) are kept
// as well.
#pragma once
#include "cache/DiskCache.h"
#include "cache/RemoteCache.h"
#include "compiler/Compiler.h"

namespace tegula::compiler {

// As `compile`, and `request.record` is not null: it has the questions of this or of that compile behind it.
std::unique_ptr<Compilation> findOrCompile(const sema::Request &request, const CompileOptions &options,
                                           diag::Sink &sink);

// A kernel compiled again from the tile IR of its artifact, with other options for its code; by way of the
// disk, too. Null: it cannot be, or is not on disk and may not be compiled.
std::unique_ptr<Compilation> findOrRebuild(const artifact::Artifact &from, const TargetOptions &options,
                                           bool mayCompile);

// The cache of this process's environment as it is now (TEGULA_CACHE_DIR, TRITON_CACHE_DIR, XDG_CACHE_HOME,
// HOME). Unsupported: it is switched off (TEGULA_DISK_CACHE, TRITON_ALWAYS_COMPILE). Data: why there can be
// none.
Result<std::shared_ptr<cache::DiskCache>> diskCache();

// The remote cache of this process's environment (TEGULA_REMOTE_CACHE); null: none is wanted. Data: why there
// can be none.
Result<std::shared_ptr<cache::RemoteCache>> remoteCache();

// Reads every entry; how many there are, and how many were damaged, which are removed.
struct Verified {
  uint64_t entries = 0, damaged = 0;
};
Verified verify(const cache::DiskCache &disk);

} // namespace tegula::compiler
