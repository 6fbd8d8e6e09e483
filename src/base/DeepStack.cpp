#include "base/DeepStack.h"

#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <utility>

#include <pthread.h>

namespace tegula {
namespace {

// The deepest kernels that are compiled (200 nested loops, 2,000 nested calls) are tested on stacks of 8 MB,
// some of which the host has used.
constexpr size_t enough = size_t(6) << 20;
constexpr size_t spare = size_t(1) << 20; // of a thread of our own: what its body needs is asked for exactly

// A body on a thread of our own, and the thread that waits for it.
struct Visit {
  const std::function<void()> &body;
  std::mutex mutex = {};
  std::condition_variable changed = {};
  const std::function<void()> *call = nullptr; // that the host's thread is asked for
  bool isDone = false;
  std::exception_ptr thrown = nullptr; // by the call, and in the end by the body
};
thread_local Visit *current = nullptr;

std::exception_ptr whatIsThrownBy(const std::function<void()> &call) {
  try {
    call();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void rethrow(std::exception_ptr thrown) {
  if (thrown)
    std::rethrow_exception(std::move(thrown));
}

bool hasRoom(size_t bytes) {
  // Asking costs the first thread of a process a look at its memory map.
  struct Bounds {
    uintptr_t low = 0, high = 0;
    Bounds() {
      pthread_attr_t attributes;
      void *address = nullptr;
      size_t size = 0;
      if (::pthread_getattr_np(::pthread_self(), &attributes) != 0)
        return;
      if (::pthread_attr_getstack(&attributes, &address, &size) == 0) {
        low = reinterpret_cast<uintptr_t>(address);
        high = low + size;
      }
      ::pthread_attr_destroy(&attributes);
    }
  };
  thread_local const Bounds bounds;
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > bounds.low && here <= bounds.high && here - bounds.low >= bytes;
}

void *runBody(void *argument) {
  auto &visit = *static_cast<Visit *>(argument);
  current = &visit;
  std::exception_ptr thrown = whatIsThrownBy(visit.body);
  std::lock_guard lock(visit.mutex);
  visit.thrown = std::move(thrown);
  visit.isDone = true;
  visit.changed.notify_all();
  return nullptr;
}

// No signal of the host's comes to the thread. False: there is none.
bool startThread(pthread_t &thread, size_t bytes, Visit &visit) {
  pthread_attr_t attributes;
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, bytes + spare);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = ::pthread_create(&thread, &attributes, runBody, &visit);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return error == 0;
}

} // namespace

void onDeepStack(const std::function<void()> &body) { onStackOf(enough, body); }

void onStackOf(size_t bytes, const std::function<void()> &body) {
  Visit visit{body};
  pthread_t thread;
  if (hasRoom(bytes) || !startThread(thread, bytes, visit))
    return body();
  std::unique_lock lock(visit.mutex);
  for (;;) {
    visit.changed.wait(lock, [&] { return visit.isDone || visit.call; });
    if (!visit.call)
      break;
    lock.unlock();
    std::exception_ptr thrown = whatIsThrownBy([&] { onHostsThread(*visit.call); }); // this one may be ours
    lock.lock();
    visit.thrown = std::move(thrown);
    visit.call = nullptr;
    visit.changed.notify_all();
  }
  lock.unlock();
  ::pthread_join(thread, nullptr);
  rethrow(std::move(visit.thrown));
}

void onHostsThread(const std::function<void()> &call) {
  if (!current)
    return call();
  std::unique_lock lock(current->mutex);
  current->call = &call;
  current->changed.notify_all();
  current->changed.wait(lock, [] { return !current->call; });
  rethrow(std::exchange(current->thrown, nullptr));
}

} // namespace tegula
