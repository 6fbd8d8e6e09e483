// libtegula-remote: entries in a Redis server, each signed; the table of cache/RemotePlugin.h.
#include "cache/RemotePlugin.h"
#include "remote/Connection.h"
#include "remote/Signature.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace tegula;
using namespace tegula::remote;

struct TegulaRemote {
  Connection reader, writer;
  std::vector<Key> believed;
  Key own; // null: nothing is written
  std::chrono::milliseconds time;
};

namespace {

void tell(const std::string &what, TegulaRemoteText *problem) {
  size_t size = std::min(what.size(), sizeof problem->text - 1);
  std::memcpy(problem->text, what.data(), size);
  problem->text[size] = 0;
}

std::string keyOf(std::string_view name, unsigned slot) {
  return "tegula:1:" + std::string(name) + ":" + std::to_string(slot);
}

TegulaRemote *open(const TegulaRemoteConfig *config, TegulaRemoteText *problem) try {
  std::string readerUrl = config->readerUrl,
              writerUrl = *config->writerUrl ? config->writerUrl : config->readerUrl;
  Result<Address> reader = parseAddress(readerUrl), writer = parseAddress(writerUrl);
  Result<std::vector<Key>> believed = readPublicKeys(config->publicKeys);
  Result<Key> own = *config->signingKey ? readSigningKey(config->signingKey) : Result<Key>(Key());
  for (const Status &status : {reader.status(), writer.status(), believed.status(), own.status()})
    if (!status.ok())
      return tell(status.message, problem), nullptr;
  return new TegulaRemote{Connection(*reader), Connection(*writer), *believed, *own,
                          std::chrono::milliseconds(config->milliseconds)};
} catch (const std::exception &error) {
  return tell(error.what(), problem), nullptr;
}

int get(TegulaRemote *remote, const char *name, unsigned slot, TegulaRemoteTake take, void *user,
        TegulaRemoteText *problem) try {
  Result<Reply> reply = remote->reader.ask({"GET", keyOf(name, slot)}, remote->time);
  if (!reply)
    return tell(remote->reader.address().shown + ": " + reply.status().message, problem), RemoteFailed;
  if (reply->kind == Reply::None)
    return RemoteNone;
  std::optional<std::string_view> bytes = verified(name, reply->text, remote->believed);
  if (!bytes)
    return RemoteRefused;
  take(user, bytes->data(), bytes->size());
  return RemoteFound;
} catch (const std::exception &error) {
  return tell(error.what(), problem), RemoteFailed;
}

int put(TegulaRemote *remote, const char *name, unsigned slots, const char *bytes, size_t size,
        TegulaRemoteText *problem) try {
  if (!remote->own)
    return RemoteNone;
  Result<std::string> entry = sign(name, {bytes, size}, remote->own);
  if (!entry)
    return tell(entry.status().message, problem), RemoteFailed;
  for (unsigned slot = 0; slot != slots; ++slot) {
    std::string key = keyOf(name, slot);
    std::vector<std::string_view> command{"SET", key, *entry};
    if (slot + 1 != slots)
      command.push_back("NX");
    Result<Reply> reply = remote->writer.ask(command, remote->time);
    if (!reply)
      return tell(remote->writer.address().shown + ": " + reply.status().message, problem), RemoteFailed;
    if (reply->kind != Reply::None)
      return RemoteFound;
  }
  return RemoteFound;
} catch (const std::exception &error) {
  return tell(error.what(), problem), RemoteFailed;
}

void close(TegulaRemote *remote) { delete remote; }

} // namespace

extern "C" __attribute__((visibility("default"))) const TegulaRemoteFunctions *tegulaRemoteFunctions() {
  static constexpr TegulaRemoteFunctions functions{cache::remotePluginVersion, open, get, put, close};
  return &functions;
}
