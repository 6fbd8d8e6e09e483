// The compiled kernels of one function, by specialization key. Kernels of one key differ in what
// their hosts answered: a kernel is found when its record holds, which is looked at once a change
// of the host's version.
//
// The tables of a process share one bound. The kernels that were not used for the longest time go
// first; a kernel that somebody still holds lives on, and is compiled again when it is called for.
// Use is counted in compiles, so that a launch writes to its own kernel only. Safe from several
// threads; no lock is held while a host is asked or a kernel is destroyed.
#pragma once
#include "compiler/Compiler.h"
#include "sema/HostRecord.h"

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/StringMap.h"

#include <atomic>
#include <mutex>

namespace tegula::jit {

// A compiled kernel with the recipe of its slots.
struct SpecializedKernel : llvm::ThreadSafeRefCountedBase<SpecializedKernel> {
  std::shared_ptr<compiler::Compilation> compilation;
  std::vector<diag::Diagnostic> warnings;
  // For each slot the leaf of the call that fills it, its type, and whether it is written.
  struct Slot {
    unsigned leaf;
    DType dtype;
    bool pointer, written;
  };
  std::vector<Slot> slots;

  sema::HostRecord record;
  std::atomic<uint64_t> heldAt{0};  // the host's version at which the record was last found to hold
  std::atomic<uint64_t> lastUse{0}; // the number of compiles before
  std::atomic<bool> isKept{false};  // a table has it
};
using KernelRef = llvm::IntrusiveRefCntPtr<SpecializedKernel>;

class KernelTable {
public:
  KernelTable();
  ~KernelTable();
  KernelTable(const KernelTable &) = delete;

  // The kernel of this key whose record holds at the host's version `version`; null: none.
  KernelRef find(llvm::StringRef key, uint64_t version);
  // Keeps a kernel that was compiled at `version`. Of two that are the same the first one stays,
  // and is returned. May evict others.
  KernelRef insert(llvm::StringRef key, uint64_t version, KernelRef kernel);
  size_t size();
  // The number of kernels that the table has given up, while it keeps `kernel`; nullopt: it does not.
  std::optional<uint64_t> dropsWhileKept(const SpecializedKernel &kernel);
  // `kernel`, which may be gone, if the table has given up no kernel since `drops`, and it was found to hold
  // at `version`; else null.
  KernelRef findAgain(SpecializedKernel *kernel, uint64_t drops, uint64_t version);

  // Counts as used now, as one that was found does. False: its table has given it up.
  static bool use(SpecializedKernel &kernel);

  // Of one key: constants that change back and forth find their kernels again, up to so many.
  static constexpr size_t mostOfOneKey = 8;

private:
  friend class KernelBound;
  using Entry = llvm::SmallVector<KernelRef, 1>; // the latest first
  std::mutex mutex_;
  llvm::StringMap<Entry> entries_;
  uint64_t drops_ = 0;
};

// Says how many compiled kernels the tables of this process keep: TEGULA_MAX_KERNELS, else 1024; a few
// hundred KB each. 0 is no bound. Holds from the next compile on.
size_t kernelLimit();
void setKernelLimit(size_t kernels);
size_t keptKernels();

} // namespace tegula::jit
