// The functions that the library asks of libtegula-remote, which is opened when a remote cache is configured:
// so neither the library nor whoever loads it depends on a client of Redis or on a library of signatures.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

struct TegulaRemoteConfig {
  size_t structSize;
  const char *readerUrl;  // redis://[USER[:PASSWORD]@]HOST[:PORT] or unix:///PATH
  const char *writerUrl;  // "": the reader's
  const char *publicKeys; // a file in PEM: who is believed
  const char *signingKey; // a file in PEM; "": nothing is written
  uint32_t milliseconds;  // of one call, all in all
};

struct TegulaRemote;
struct TegulaRemoteText { // what went wrong
  char text[512];
};

enum TegulaRemoteAnswer : int {
  RemoteFailed = -1, // the server is away, slow, or says what it must not
  RemoteNone = 0,    // there is no such entry
  RemoteFound = 1,   // and it is signed by somebody who is believed
  RemoteRefused = 2, // there is something else in its place
};

// Bytes that a function gives are read within `take`.
using TegulaRemoteTake = void (*)(void *user, const char *bytes, size_t size);

struct TegulaRemoteFunctions {
  uint32_t version; // of this table
  // Null: `problem` says why. Connects to nothing yet.
  TegulaRemote *(*open)(const TegulaRemoteConfig *config, TegulaRemoteText *problem);
  int (*get)(TegulaRemote *remote, const char *name, unsigned slot, TegulaRemoteTake take, void *user,
             TegulaRemoteText *problem);
  // In the first free of `slots` places, else in the last. RemoteFound: it was written; RemoteNone: this
  // process is no writer.
  int (*put)(TegulaRemote *remote, const char *name, unsigned slots, const char *bytes, size_t size,
             TegulaRemoteText *problem);
  void (*close)(TegulaRemote *remote);
};

// The one exported function.
const TegulaRemoteFunctions *tegulaRemoteFunctions();
}

namespace tegula::cache {
inline constexpr uint32_t remotePluginVersion = 1;
}
