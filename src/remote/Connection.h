// One command at a time to a Redis server, with a deadline for the whole of it and a bound on what comes
// back. The protocol is hiredis's; reading and waiting are ours, since a server may die, stall after each
// byte, or lie.
#pragma once
#include "base/Status.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::remote {

struct Address {
  std::string host, port, path; // of a socket in the file system: `path` only
  std::string user, password;
  std::string shown; // without the password
};
// Data: it is none.
Result<Address> parseAddress(const std::string &url);

struct Reply {
  enum Kind { Text, None, Number } kind = None;
  std::string text;
};

class Connection {
public:
  explicit Connection(Address address) : address_(std::move(address)) {}
  ~Connection() { close(); }
  Connection(const Connection &) = delete;

  const Address &address() const { return address_; }
  // Connects where it is not. Driver: the server is away or late, or its answer is an error or none of these;
  // then nothing of this connection is used again.
  Result<Reply> ask(const std::vector<std::string_view> &command, std::chrono::milliseconds time);

private:
  using Clock = std::chrono::steady_clock;
  Status connect(Clock::time_point until);
  Status send(std::string_view bytes, Clock::time_point until);
  Result<Reply> receive(Clock::time_point until);
  Result<Reply> exchange(const std::vector<std::string_view> &command, Clock::time_point until);
  void close();

  const Address address_;
  int socket_ = -1;
  int process_ = 0; // that connected: a forked one needs a connection of its own
};

} // namespace tegula::remote
