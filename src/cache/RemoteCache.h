// Entries of other machines, behind the disk: bytes by name that libtegula-remote fetches and has verified. A
// server that fails is left alone for a while, so that it costs one deadline and not one a kernel. Safe from
// several threads.
#pragma once
#include "base/Status.h"
#include "cache/RemotePlugin.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tegula::cache {

struct RemoteSettings {
  std::string readerUrl, writerUrl, publicKeys, signingKey; // as of RemotePlugin.h
  std::chrono::milliseconds time{250};
  bool operator==(const RemoteSettings &) const = default;
};

class RemoteCache {
public:
  // Data: why there can be none.
  static Result<std::shared_ptr<RemoteCache>> open(const RemoteSettings &settings);
  ~RemoteCache();
  RemoteCache(const RemoteCache &) = delete;

  struct Found {
    TegulaRemoteAnswer answer = RemoteNone;
    std::string bytes;   // of RemoteFound
    std::string problem; // of RemoteFailed, when it is new
  };
  Found get(const std::string &name, unsigned slot);
  // The problem; "": there is none, or this process is no writer.
  std::string put(const std::string &name, std::string_view bytes);

  // Of this process.
  std::atomic<uint64_t> hits{0}, refused{0};

private:
  RemoteCache(const TegulaRemoteFunctions &functions, TegulaRemote *remote, const RemoteSettings &settings)
      : functions_(functions), remote_(remote), time_(settings.time),
        isWriter_(!settings.signingKey.empty()) {}
  bool isAway() const;
  void leaveAlone();

  const TegulaRemoteFunctions &functions_;
  TegulaRemote *const remote_;
  const std::chrono::milliseconds time_;
  const bool isWriter_;
  std::timed_mutex mutex_; // of the connections
  std::atomic<int64_t> awayUntil_{0};
};

} // namespace tegula::cache
