#include "remote/Connection.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tegula::remote {
namespace {

constexpr size_t mostBytes = size_t(64) << 20; // of one answer

Status failed(const std::string &what) { return Status::error(StatusCode::Driver, what); }
Status systemFailure(const char *call) { return failed(std::string(call) + ": " + std::strerror(errno)); }

// True: the socket is ready. False: the time is over.
bool waitFor(int socket, short events, std::chrono::steady_clock::time_point until) {
  for (;;) {
    auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (rest <= 0)
      return false;
    pollfd one{socket, events, 0};
    int count = ::poll(&one, 1, int(rest));
    if (count > 0)
      return true;
    if (count < 0 && errno != EINTR)
      return false;
  }
}

} // namespace

Result<Address> parseAddress(const std::string &url) {
  Status malformed = Status::error(
      StatusCode::Data, "the address of the remote cache is not redis://[USER[:PASSWORD]@]HOST[:PORT] "
                        "or unix:///PATH");
  Address address;
  if (url.starts_with("unix:///")) {
    address.path = url.substr(7);
    address.shown = url;
    return address.path.size() < sizeof(sockaddr_un::sun_path) ? Result<Address>(address) : malformed;
  }
  if (url.starts_with("rediss://"))
    return Status::error(
        StatusCode::Data,
        "the remote cache is not reached over TLS (rediss://), and without TLS the password and the "
        "kernels can be read on the way (changed ones are refused: entries are signed); hint: a tunnel "
        "(stunnel, ssh -L) on this machine, and TEGULA_REMOTE_CACHE=redis://127.0.0.1:PORT");
  if (!url.starts_with("redis://"))
    return malformed;
  std::string rest = url.substr(8);
  if (size_t at = rest.rfind('@'); at != rest.npos) {
    std::string who = rest.substr(0, at);
    size_t colon = who.find(':');
    address.user = who.substr(0, colon);
    address.password = colon == who.npos ? "" : who.substr(colon + 1);
    rest = rest.substr(at + 1);
  }
  size_t colon = rest.rfind(':');
  address.host = rest.substr(0, colon);
  address.port = colon == rest.npos ? "6379" : rest.substr(colon + 1);
  address.shown = "redis://" + address.host + ":" + address.port;
  const char *end = address.port.data() + address.port.size();
  unsigned port = 0;
  bool isPort = std::from_chars(address.port.data(), end, port) == std::from_chars_result{end, {}} &&
                port >= 1 && port <= 65535;
  return isPort && !address.host.empty() && address.host.find('/') == address.host.npos
             ? Result<Address>(address)
             : malformed;
}

void Connection::close() {
  if (socket_ >= 0)
    ::close(socket_);
  socket_ = -1;
}

Status Connection::connect(Clock::time_point until) {
  if (socket_ >= 0 && process_ == ::getpid())
    return Status::success();
  close();
  sockaddr_un local{};
  addrinfo wanted{}, *found = nullptr, own{};
  if (!address_.path.empty()) {
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, address_.path.c_str(), address_.path.size() + 1);
    own.ai_family = AF_UNIX, own.ai_socktype = SOCK_STREAM;
    own.ai_addr = reinterpret_cast<sockaddr *>(&local), own.ai_addrlen = sizeof local;
  } else {
    wanted.ai_socktype = SOCK_STREAM;
    if (int error = ::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &wanted, &found))
      return failed(std::string("the host is not found: ") + ::gai_strerror(error));
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(found, [](addrinfo *list) {
    if (list)
      ::freeaddrinfo(list);
  });
  Status status = failed("the host has no address");
  for (const addrinfo *place = found ? found : &own; place; place = place->ai_next) {
    socket_ =
        ::socket(place->ai_family, place->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, place->ai_protocol);
    if (socket_ < 0)
      return systemFailure("socket");
    process_ = ::getpid();
    int error = 0;
    socklen_t size = sizeof error;
    if (::connect(socket_, place->ai_addr, place->ai_addrlen) == 0)
      return Status::success();
    if (errno == EINPROGRESS && !waitFor(socket_, POLLOUT, until))
      status = failed("it does not answer in time");
    else if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 &&
             errno == EINPROGRESS)
      return Status::success();
    else
      status = failed(std::string("connect: ") + std::strerror(error ? error : errno));
    close();
  }
  return status;
}

Status Connection::send(std::string_view bytes, Clock::time_point until) {
  while (!bytes.empty()) {
    ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0)
      bytes.remove_prefix(size_t(count));
    else if (errno == EAGAIN && !waitFor(socket_, POLLOUT, until))
      return failed("it does not take what is sent in time");
    else if (errno != EAGAIN && errno != EINTR)
      return systemFailure("send");
  }
  return Status::success();
}

Result<Reply> Connection::receive(Clock::time_point until) {
  std::unique_ptr<redisReader, void (*)(redisReader *)> reader(redisReaderCreate(), redisReaderFree);
  if (!reader)
    throw std::bad_alloc();
  size_t received = 0;
  char buffer[1 << 16];
  for (;;) {
    if (!waitFor(socket_, POLLIN, until))
      return failed("it does not answer in time");
    ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (count <= 0)
      return count ? systemFailure("recv") : failed("it ended the connection");
    // Lists are no answer to what is asked here. A parser makes room for as many elements as they claim.
    if (received == 0 && !std::strchr("$+-:", buffer[0]))
      return failed("it says what is no answer");
    received += size_t(count);
    if (received > mostBytes)
      return failed("its answer is too long");
    void *parsed = nullptr;
    if (redisReaderFeed(reader.get(), buffer, size_t(count)) != REDIS_OK ||
        redisReaderGetReply(reader.get(), &parsed) != REDIS_OK)
      return failed("it says what is no answer");
    if (!parsed)
      continue;
    std::unique_ptr<redisReply, void (*)(void *)> reply(static_cast<redisReply *>(parsed), freeReplyObject);
    if (reader->pos != reader->len)
      return failed("it says more than it was asked");
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS: return Reply{Reply::Text, std::string(reply->str, size_t(reply->len))};
    case REDIS_REPLY_INTEGER: return Reply{Reply::Number, ""};
    case REDIS_REPLY_NIL: return Reply{};
    case REDIS_REPLY_ERROR:
      return failed("it refuses: " + std::string(reply->str, std::min<size_t>(size_t(reply->len), 200)));
    default: return failed("it says what is no answer");
    }
  }
}

Result<Reply> Connection::exchange(const std::vector<std::string_view> &command, Clock::time_point until) {
  std::vector<const char *> words;
  std::vector<size_t> sizes;
  for (std::string_view word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  char *text = nullptr;
  int size = int(redisFormatCommandArgv(&text, int(words.size()), words.data(), sizes.data()));
  if (size < 0)
    throw std::bad_alloc();
  std::unique_ptr<char, void (*)(void *)> owner(
      text, [](void *bytes) { redisFreeCommand(static_cast<char *>(bytes)); });
  Status status = send({text, size_t(size)}, until);
  return status.ok() ? receive(until) : status;
}

Result<Reply> Connection::ask(const std::vector<std::string_view> &command, std::chrono::milliseconds time) {
  auto until = Clock::now() + time;
  bool isNew = socket_ < 0 || process_ != ::getpid();
  Status status = connect(until);
  if (status.ok() && isNew && !address_.password.empty()) {
    std::vector<std::string_view> words{"AUTH"};
    if (!address_.user.empty())
      words.push_back(address_.user);
    words.push_back(address_.password);
    status = exchange(words, until).status();
  }
  Result<Reply> reply = status.ok() ? exchange(command, until) : Result<Reply>(status);
  if (!reply)
    close();
  return reply;
}

} // namespace tegula::remote
