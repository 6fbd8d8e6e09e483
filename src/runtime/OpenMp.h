// The OpenMP threads of this process, where some library brought a runtime along (PyTorch does). Behind an
// operator they spin for milliseconds on the cores that a pool of our own would want; as long as they do,
// launches borrow them. Nothing here is linked: the runtime is found among the loaded libraries, by the
// interface that GCC, LLVM and Intel share.
#pragma once
#include "runtime/Pool.h"

namespace tegula::runtime {

class OpenMp {
public:
  // The runtime that other libraries see, from now on kept loaded. Null: there is none (one that a library
  // keeps to itself counts as none), or this process is a forked child, whose copy of the runtime waits for
  // threads that stayed behind in the parent.
  static const OpenMp *find();
  // Called in a forked child: `find` returns null from then on.
  static void forget();

  // True on a thread of a team at work: its fellows have the cores already.
  bool isInRegion() const { return inParallel_() != 0; }
  // True if the next team has threads enough: at least half of `threads`. Half, since PyTorch makes one
  // thread for each physical core, of which two may share; a host that has made the team much smaller did not
  // mean us.
  bool canRun(unsigned threads) const;
  // True if the caller's team has the cores: one of its threads is seen running, or none is known yet. A team
  // that sleeps takes nothing from threads of our own, and a region of it would wait until the last one has
  // woken.
  bool isAwake() const;
  // Runs `work` on the caller, which owns `scratch`, and on up to `threads` - 1 others of a team of the
  // runtime's own size: teams of another size would end threads and make them anew.
  void run(Work &work, unsigned threads, void *scratch) const;

private:
  using Body = void (*)(void *);
  void (*parallel_)(Body, void *data, unsigned threads, unsigned flags) = nullptr;
  int (*inParallel_)() = nullptr, (*mostThreads_)() = nullptr;

  bool load();
};

} // namespace tegula::runtime
