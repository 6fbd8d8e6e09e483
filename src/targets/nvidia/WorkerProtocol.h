// What the library and tegula-worker say to each other over one socket: a header, then its
// strings one after the other. Both ends are of one build on one machine.
#pragma once
#include <cerrno>
#include <cstdint>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace tegula::nvidia::worker {

constexpr uint32_t magic = 0x5447574b;
// No honest message is longer.
constexpr uint64_t longest = uint64_t(1) << 30;

// Prepare says what will be assembled soon, and has no reply.
enum class Task : uint32_t { Assemble, Disassemble, Prepare };

struct Request {
  uint32_t magic = worker::magic;
  Task task = Task::Assemble;
  uint32_t archSize = 0;
  uint64_t textSize = 0; // PTX; or a cubin
};

enum class Outcome : uint32_t { Done, Refused, Crashed, NoTool };

struct Reply {
  uint32_t magic = worker::magic;
  Outcome outcome = Outcome::Done;
  uint64_t resultSize = 0; // the cubin; or its text
  uint64_t logSize = 0;
  uint64_t toolSize = 0; // which tool it was
};

inline bool sendAll(int socket, const void *data, size_t size) {
  for (auto *bytes = static_cast<const char *>(data); size;) {
    ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    bytes += sent;
    size -= size_t(sent);
  }
  return true;
}

inline bool receiveAll(int socket, void *data, size_t size) {
  for (auto *bytes = static_cast<char *>(data); size;) {
    ssize_t received = ::recv(socket, bytes, size, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    bytes += received;
    size -= size_t(received);
  }
  return true;
}

inline bool receiveString(int socket, std::string &text, uint64_t size) {
  if (size > longest)
    return false;
  text.resize(size);
  return receiveAll(socket, text.data(), size);
}

} // namespace tegula::nvidia::worker
