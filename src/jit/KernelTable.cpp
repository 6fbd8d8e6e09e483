#include "jit/KernelTable.h"
#include "base/Environment.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

#include <pthread.h>

namespace tegula::jit {

namespace {

size_t limitOfEnvironment() { return size_t(*numberOf(Variable::MaxKernels)); }

} // namespace

// The tables of the process, and what they keep together.
class KernelBound {
public:
  // Never destroyed: functions of static lifetime end after it would have.
  static KernelBound &get() {
    static auto *bound = [] {
      pthread_atfork([] { get().lockAll(); }, [] { get().unlockAll(); }, [] { get().unlockAll(); });
      return new KernelBound;
    }();
    return *bound;
  }

  void add(KernelTable *table) {
    std::lock_guard guard(mutex_);
    tables_.insert(table);
  }

  void remove(KernelTable *table) {
    std::lock_guard guard(mutex_);
    tables_.erase(table);
  }

  // Down to 7/8 of the limit, so that a sweep is paid for by many compiles.
  void evict() {
    size_t most = limit.load();
    if (most == 0 || count.load() <= most)
      return;
    std::vector<KernelRef> gone; // destroyed behind the locks
    std::lock_guard guard(mutex_);
    struct Candidate {
      uint64_t lastUse;
      KernelTable *table;
      SpecializedKernel *kernel;
    };
    std::vector<Candidate> candidates;
    for (KernelTable *table : tables_) {
      std::lock_guard inner(table->mutex_);
      for (auto &entry : table->entries_)
        for (KernelRef &kernel : entry.second)
          candidates.push_back({kernel->lastUse.load(), table, kernel.get()});
    }
    size_t keep = most - most / 8;
    if (candidates.size() <= keep)
      return;
    auto last = candidates.begin() + ptrdiff_t(candidates.size() - keep);
    std::nth_element(candidates.begin(), last, candidates.end(),
                     [](const Candidate &a, const Candidate &b) { return a.lastUse < b.lastUse; });
    std::map<KernelTable *, llvm::SmallPtrSet<SpecializedKernel *, 8>> victims;
    for (auto it = candidates.begin(); it != last; ++it)
      victims[it->table].insert(it->kernel);
    for (auto &[table, kernels] : victims)
      drop(*table, kernels, gone);
  }

  std::atomic<size_t> limit{limitOfEnvironment()}, count{0};
  std::atomic<uint64_t> compiles{0};

private:
  void drop(KernelTable &table, const llvm::SmallPtrSet<SpecializedKernel *, 8> &kernels,
            std::vector<KernelRef> &gone) {
    std::lock_guard guard(table.mutex_);
    for (auto entry = table.entries_.begin(); entry != table.entries_.end();) {
      auto next = std::next(entry);
      llvm::erase_if(entry->second, [&](KernelRef &kernel) {
        if (!kernels.contains(kernel.get()))
          return false;
        kernel->isKept = false;
        --count;
        ++table.drops_;
        gone.push_back(kernel);
        return true;
      });
      if (entry->second.empty())
        table.entries_.erase(entry);
      entry = next;
    }
  }

  // While a process is forked no other thread is within a table: the child would have it as that thread left
  // it, and locked for ever.
  void lockAll() {
    mutex_.lock();
    for (KernelTable *table : tables_)
      table->mutex_.lock();
  }
  void unlockAll() {
    for (KernelTable *table : tables_)
      table->mutex_.unlock();
    mutex_.unlock();
  }

  std::mutex mutex_; // before that of a table
  llvm::SmallPtrSet<KernelTable *, 8> tables_;
};

KernelTable::KernelTable() { KernelBound::get().add(this); }

KernelTable::~KernelTable() {
  KernelBound::get().remove(this);
  for (auto &entry : entries_)
    for (KernelRef &kernel : entry.second) {
      kernel->isKept = false;
      --KernelBound::get().count;
    }
}

KernelRef KernelTable::find(llvm::StringRef key, uint64_t version) {
  uint64_t now = KernelBound::get().compiles.load(std::memory_order_relaxed);
  Entry unsure;
  {
    std::lock_guard guard(mutex_);
    auto entry = entries_.find(key);
    if (entry == entries_.end())
      return nullptr;
    for (KernelRef &kernel : entry->second)
      if (kernel->heldAt.load(std::memory_order_relaxed) == version) {
        kernel->lastUse.store(now, std::memory_order_relaxed);
        return kernel;
      }
    unsure = entry->second;
  }
  for (KernelRef &kernel : unsure)
    if (kernel->record.holds()) {
      kernel->heldAt.store(version, std::memory_order_relaxed);
      kernel->lastUse.store(now, std::memory_order_relaxed);
      return kernel;
    }
  return nullptr;
}

KernelRef KernelTable::insert(llvm::StringRef key, uint64_t version, KernelRef kernel) {
  KernelBound &bound = KernelBound::get();
  kernel->heldAt = version;
  kernel->lastUse = ++bound.compiles;
  KernelRef replaced; // destroyed behind the lock
  {
    std::lock_guard guard(mutex_);
    Entry &entry = entries_[key];
    for (KernelRef &known : entry)
      if (known->heldAt == version && known->record.digest() == kernel->record.digest())
        return known;
    if (entry.size() == mostOfOneKey) {
      replaced = entry.pop_back_val();
      replaced->isKept = false;
      --bound.count;
      ++drops_;
    }
    entry.insert(entry.begin(), kernel);
    kernel->isKept = true;
    ++bound.count;
  }
  bound.evict();
  return kernel;
}

size_t KernelTable::size() {
  std::lock_guard guard(mutex_);
  size_t count = 0;
  for (auto &entry : entries_)
    count += entry.second.size();
  return count;
}

std::optional<uint64_t> KernelTable::dropsWhileKept(const SpecializedKernel &kernel) {
  std::lock_guard guard(mutex_);
  return kernel.isKept ? std::optional(drops_) : std::nullopt;
}

KernelRef KernelTable::findAgain(SpecializedKernel *kernel, uint64_t drops, uint64_t version) {
  std::lock_guard guard(mutex_);
  if (drops != drops_ || kernel->heldAt.load(std::memory_order_relaxed) != version)
    return nullptr;
  kernel->lastUse.store(KernelBound::get().compiles.load(std::memory_order_relaxed),
                        std::memory_order_relaxed);
  return kernel;
}

bool KernelTable::use(SpecializedKernel &kernel) {
  uint64_t now = KernelBound::get().compiles.load(std::memory_order_relaxed);
  if (kernel.lastUse.load(std::memory_order_relaxed) != now)
    kernel.lastUse.store(now, std::memory_order_relaxed);
  return kernel.isKept.load(std::memory_order_relaxed);
}

size_t kernelLimit() { return KernelBound::get().limit; }
void setKernelLimit(size_t kernels) { KernelBound::get().limit = kernels; }
size_t keptKernels() { return KernelBound::get().count; }

} // namespace tegula::jit
