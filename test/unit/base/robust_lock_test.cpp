#include "base/RobustLock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace tegula {
namespace {

using Holder = RobustLock::Holder;

TEST(RobustLock, OneThreadIsWithin) {
  RobustLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j != 10'000; ++j) {
        Holder within(lock);
        EXPECT_FALSE(within.isAbandoned());
        ++count;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(count, 40'000);
  Holder within(lock);
  EXPECT_FALSE(Holder::ifFree(lock));
}

// Status of a child that does `body`.
int inChild(bool (*body)(RobustLock &), RobustLock &lock) {
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10); // a wait ends the child
    ::_exit(body(lock) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(RobustLock, AChildIsToldOnceThatAThreadOfItsParentWasWithin) {
  RobustLock lock;
  std::atomic<bool> isWithin{false}, isOver{false};
  std::thread other([&] {
    Holder within(lock);
    isWithin = true;
    isOver.wait(false);
  });
  while (!isWithin)
    std::this_thread::yield();
  auto takesOver = [](RobustLock &held) {
    {
      Holder within(held);
      if (!within.isAbandoned() || Holder::ifFree(held))
        return false;
    }
    return !Holder(held).isAbandoned();
  };
  EXPECT_EQ(inChild(takesOver, lock), 0);
  EXPECT_EQ(inChild([](RobustLock &held) { return Holder::ifFree(held).isAbandoned(); }, lock), 0);
  EXPECT_FALSE(Holder::ifFree(lock)) << "the parent's is as it was";
  isOver = true;
  isOver.notify_all();
  other.join();
  EXPECT_EQ(inChild([](RobustLock &held) { return !Holder(held).isAbandoned(); }, lock), 0);
}

} // namespace
} // namespace tegula
