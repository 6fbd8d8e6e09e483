// A body that needs more stack than its thread has.
#include "base/DeepStack.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include <pthread.h>

namespace tegula {
namespace {

// Touches so many bytes of the stack.
[[gnu::noinline]] size_t useStack(size_t bytes) {
  volatile char frame[4096];
  frame[0] = 1;
  frame[sizeof frame - 1] = 1;
  return bytes > sizeof frame ? useStack(bytes - sizeof frame) + size_t(frame[0]) : 0;
}

void onThreadOf(size_t bytes, void (*body)()) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  auto run = [](void *argument) -> void * {
    reinterpret_cast<void (*)()>(argument)();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, reinterpret_cast<void *>(body)), 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

TEST(DeepStack, ASmallThreadHasTheRoomOfALargeOne) {
  onThreadOf(128 << 10, [] {
    onDeepStack([] { EXPECT_GT(useStack(size_t(5) << 20), 0u); });
    onStackOf(size_t(64) << 20, [] { EXPECT_GT(useStack(size_t(60) << 20), 0u); });
  });
}

TEST(DeepStack, WithRoomNoThreadIsStarted) {
  onThreadOf(16 << 20, [] {
    auto here = std::this_thread::get_id();
    onDeepStack([&] { EXPECT_EQ(std::this_thread::get_id(), here); });
  });
}

TEST(DeepStack, CallsOfTheHostRunOnItsThread) {
  onThreadOf(128 << 10, [] {
    auto host = std::this_thread::get_id();
    int calls = 0;
    auto call = [&] {
      EXPECT_EQ(std::this_thread::get_id(), host);
      ++calls;
    };
    onDeepStack([&] {
      EXPECT_NE(std::this_thread::get_id(), host);
      onHostsThread(call);
      onStackOf(size_t(64) << 20, [&] { onHostsThread(call); });
      onHostsThread(call);
    });
    onHostsThread(call);
    EXPECT_EQ(calls, 4);
  });
}

TEST(DeepStack, WhatIsThrownComesOut) {
  onThreadOf(128 << 10, [] {
    EXPECT_THROW(onDeepStack([] { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_THROW(onDeepStack([] { onHostsThread([] { throw std::runtime_error("host"); }); }),
                 std::runtime_error);
  });
}

} // namespace
} // namespace tegula
