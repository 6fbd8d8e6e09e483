#include "cache/RemoteCache.h"
#include "cache/DiskCache.h"

#include <dlfcn.h>
#include <unistd.h>

namespace tegula::cache {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto pauseAfterFailure = std::chrono::seconds(30);
constexpr const char *library = "libtegula-remote.so";

int64_t now() { return Clock::now().time_since_epoch().count(); }

// Beside the library that this code is in; of a program of the build, in the folder beside its own.
Result<const TegulaRemoteFunctions *> functions() {
  static const Result<const TegulaRemoteFunctions *> found = []() -> Result<const TegulaRemoteFunctions *> {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void *>(&functions), &info);
    std::string own = info.dli_fname ? info.dli_fname : "", folder = own.substr(0, own.rfind('/') + 1);
    for (const std::string &path : {folder + library, folder + "../lib/" + library})
      if (::access(path.c_str(), R_OK) == 0) {
        void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle)
          return Status::error(StatusCode::Data, ::dlerror());
        auto *table =
            reinterpret_cast<decltype(&tegulaRemoteFunctions)>(::dlsym(handle, "tegulaRemoteFunctions"));
        if (!table || table()->version != remotePluginVersion)
          return Status::error(StatusCode::Data, path + " is of another version");
        return table();
      }
    return Status::error(StatusCode::Data, std::string(library) + " is not installed beside the library");
  }();
  return found;
}

} // namespace

Result<std::shared_ptr<RemoteCache>> RemoteCache::open(const RemoteSettings &settings) {
  Result<const TegulaRemoteFunctions *> table = functions();
  if (!table)
    return table.status();
  TegulaRemoteConfig config{sizeof config,
                            settings.readerUrl.c_str(),
                            settings.writerUrl.c_str(),
                            settings.publicKeys.c_str(),
                            settings.signingKey.c_str(),
                            uint32_t(settings.time.count())};
  TegulaRemoteText problem{};
  TegulaRemote *remote = (*table)->open(&config, &problem);
  if (!remote)
    return Status::error(StatusCode::Data, problem.text);
  return std::shared_ptr<RemoteCache>(new RemoteCache(**table, remote, settings));
}

RemoteCache::~RemoteCache() { functions_.close(remote_); }

bool RemoteCache::isAway() const { return now() < awayUntil_; }
void RemoteCache::leaveAlone() { awayUntil_ = now() + Clock::duration(pauseAfterFailure).count(); }

RemoteCache::Found RemoteCache::get(const std::string &name, unsigned slot) {
  Found found;
  std::unique_lock lock(mutex_, std::defer_lock);
  // Whoever has the connection gives it back by a deadline; a process that was forked meanwhile never gets
  // it.
  if (isAway() || !lock.try_lock_for(2 * time_) || isAway())
    return found;
  TegulaRemoteText problem{};
  auto take = [](void *user, const char *bytes, size_t size) {
    static_cast<std::string *>(user)->assign(bytes, size);
  };
  found.answer =
      TegulaRemoteAnswer(functions_.get(remote_, name.c_str(), slot, take, &found.bytes, &problem));
  if (found.answer == RemoteFailed) {
    leaveAlone();
    found.problem = problem.text;
  }
  refused += found.answer == RemoteRefused;
  return found;
}

std::string RemoteCache::put(const std::string &name, std::string_view bytes) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!isWriter_ || isAway() || !lock.try_lock_for(2 * time_) || isAway())
    return "";
  TegulaRemoteText problem{};
  if (functions_.put(remote_, name.c_str(), slotsOfName, bytes.data(), bytes.size(), &problem) !=
      RemoteFailed)
    return "";
  leaveAlone();
  return problem.text;
}

} // namespace tegula::cache
