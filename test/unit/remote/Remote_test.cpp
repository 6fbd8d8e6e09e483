// Signed entries, and a server that dies, lies or stalls.
#include "cache/RemotePlugin.h"
#include "remote/Connection.h"
#include "remote/Signature.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace tegula;
using namespace tegula::remote;
using namespace std::chrono_literals;

// A pair of keys in files.
struct Pair {
  std::string room, publicPath, privatePath;
  Pair() {
    std::string name = (fs::temp_directory_path() / "tegula-keys-XXXXXX").string();
    EXPECT_TRUE(::mkdtemp(name.data()));
    room = name, publicPath = room + "/public.pem", privatePath = room + "/private.pem";
    EVP_PKEY *key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    std::FILE *file = std::fopen(publicPath.c_str(), "w");
    PEM_write_PUBKEY(file, key);
    std::fclose(file);
    file = std::fopen(privatePath.c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    fs::permissions(privatePath, fs::perms::owner_read | fs::perms::owner_write);
    EVP_PKEY_free(key);
  }
  ~Pair() { fs::remove_all(room); }
  std::vector<Key> believed() const { return *readPublicKeys(publicPath); }
  Key own() const { return *readSigningKey(privatePath); }
};

TEST(Signature, OnlyItsWriterAndNameAndBytesCount) {
  Pair pair, other;
  std::string entry = *sign("name", "bytes", pair.own());
  EXPECT_EQ(verified("name", entry, pair.believed()), "bytes");
  EXPECT_FALSE(verified("other", entry, pair.believed())); // played again under another name
  EXPECT_FALSE(verified("name", entry, other.believed()));
  EXPECT_FALSE(verified("name", "bytes", pair.believed()));
  EXPECT_FALSE(verified("name", "", pair.believed()));
  std::vector<Key> both = other.believed();
  both.push_back(pair.believed()[0]);
  EXPECT_EQ(verified("name", entry, both), "bytes");
}

// TEGULA_TEST_TAMPERED asks for more than what every run can wait for.
TEST(Signature, NoTamperedEntryIsTaken) {
  const char *asked = std::getenv("TEGULA_TEST_TAMPERED");
  unsigned count = asked ? unsigned(std::atoi(asked)) : 2000;
  Pair pair;
  std::vector<Key> believed = pair.believed();
  std::mt19937_64 random(7);
  std::string bytes(300, '\0');
  for (char &byte : bytes)
    byte = char(random());
  const std::string entry = *sign("name", bytes, pair.own());
  for (unsigned i = 0; i != count; ++i) {
    std::string tampered = entry;
    switch (i % 4) {
    case 0: tampered[random() % entry.size()] ^= char(1 << random() % 8); break;
    case 1: tampered.resize(random() % entry.size()); break;
    case 2: tampered.insert(random() % entry.size(), 1 + random() % 3, char(random())); break;
    default: tampered.erase(random() % (entry.size() - 4), 1 + random() % 3);
    }
    if (tampered != entry)
      ASSERT_FALSE(verified("name", tampered, believed)) << i;
  }
}

TEST(Signature, FilesThatAreNoneAreRefused) {
  Pair pair;
  EXPECT_FALSE(readPublicKeys(pair.room + "/none"));
  EXPECT_FALSE(readPublicKeys("/dev/zero"));
  EXPECT_FALSE(readSigningKey("/dev/zero"));
  EXPECT_FALSE(readPublicKeys(pair.privatePath));
  EXPECT_FALSE(readSigningKey(pair.publicPath));
  fs::permissions(pair.privatePath, fs::perms::group_read, fs::perm_options::add);
  EXPECT_NE(readSigningKey(pair.privatePath).status().message.find("0600"), std::string::npos);
  fs::permissions(pair.publicPath, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(readPublicKeys(pair.publicPath).status().message.find("everybody"), std::string::npos);
}

TEST(Address, IsReadOrRefused) {
  Result<Address> whole = parseAddress("redis://who:se:cret@host.example:7000");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->user + "," + whole->password + "," + whole->host + "," + whole->port,
            "who,se:cret,host.example,7000");
  EXPECT_EQ(whole->shown.find("cret"), std::string::npos);
  EXPECT_EQ(parseAddress("redis://host")->port, "6379");
  EXPECT_EQ(parseAddress("unix:///run/redis.sock")->path, "/run/redis.sock");
  for (const char *wrong :
       {"", "host", "http://host", "redis://", "redis://host:", "redis://host:x", "redis://host:0",
        "redis://host:65536", "redis://host:99999", "redis://h/0", "unix://relative"})
    EXPECT_FALSE(parseAddress(wrong)) << wrong;
  EXPECT_FALSE(parseAddress("unix:///" + std::string(200, 'x')));
}

TEST(Address, TlsIsRefusedWithAWayOut) {
  Result<Address> address = parseAddress("rediss://who:secret@host:6380");
  ASSERT_FALSE(address);
  const std::string &said = address.status().message;
  for (const char *part : {"rediss://", "TLS", "hint", "redis://127.0.0.1"})
    EXPECT_NE(said.find(part), std::string::npos) << part;
  EXPECT_EQ(said.find("secret"), std::string::npos);
}

// A server that answers each command as it was told.
class Server {
public:
  using Behave = std::function<void(int socket, std::atomic<bool> &ends)>;
  explicit Server(Behave behave) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr *>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    socklen_t size = sizeof place;
    ::getsockname(listener_, reinterpret_cast<sockaddr *>(&place), &size);
    url = "redis://127.0.0.1:" + std::to_string(ntohs(place.sin_port));
    thread_ = std::thread([this, behave] {
      for (int socket; (socket = ::accept(listener_, nullptr, nullptr)) >= 0;) {
        char command[4096];
        if (::recv(socket, command, sizeof command, 0) > 0)
          behave(socket, ends_);
        ::close(socket);
      }
    });
  }
  ~Server() {
    ends_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
    thread_.join();
  }
  std::string url;

private:
  int listener_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};
Server::Behave says(std::string text) {
  return [text](int socket, std::atomic<bool> &) {
    (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  };
}
Result<Reply> ask(const std::string &url, std::chrono::milliseconds time = 300ms) {
  Connection connection(*parseAddress(url));
  return connection.ask({"GET", "x"}, time);
}

TEST(Connection, AnswersOfAServer) {
  EXPECT_EQ(ask(Server(says("$3\r\nabc\r\n")).url)->text, "abc");
  EXPECT_EQ(ask(Server(says("$-1\r\n")).url)->kind, Reply::None);
  EXPECT_EQ(ask(Server(says("+OK\r\n")).url)->text, "OK");
  EXPECT_EQ(ask(Server(says("$0\r\n\r\n")).url)->text, "");
}

TEST(Connection, AServerThatLiesIsAStatus) {
  for (std::string lie :
       {"*1000000000\r\n", "$99999999999999999999\r\nabc", "$-7\r\n", "HTTP/1.1 200 OK\r\n\r\n",
        "$3\r\nabcde\r\n", "-NOAUTH Authentication required.\r\n", "+OK\r\n+OK\r\n",
        "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "\r\n", ":x\r\n", "%1\r\n", "$3\r\nab"}) {
    auto start = std::chrono::steady_clock::now();
    Server server(says(lie));
    EXPECT_FALSE(ask(server.url)) << lie;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 2s) << lie;
  }
}

TEST(Connection, MutatedAnswersNeverEndTheProcess) {
  std::mt19937_64 random(3);
  std::string answer = "$20\r\nabcdefghijklmnopqrst\r\n";
  for (int i = 0; i != 200; ++i) {
    std::string text = answer;
    for (int change = 0; change != 3; ++change)
      text[random() % text.size()] = "$*+-:0123456789\r\nab\xff"[random() % 20];
    Server server(says(text));
    (void)ask(server.url, 30ms);
  }
}

TEST(Connection, AnAnswerWithoutEndIsCutOff) {
  Server server([](int socket, std::atomic<bool> &ends) {
    std::string much = "$1000000000\r\n" + std::string(1 << 20, 'x');
    while (!ends && ::send(socket, much.data(), much.size(), MSG_NOSIGNAL) > 0)
      ;
  });
  EXPECT_FALSE(ask(server.url, 5000ms));
}

TEST(Connection, AServerThatStallsCostsTheDeadline) {
  Server silent([](int, std::atomic<bool> &ends) {
    while (!ends)
      std::this_thread::sleep_for(1ms);
  });
  Server drips([](int socket, std::atomic<bool> &ends) { // a byte now and then is no reason to wait longer
    while (!ends && ::send(socket, "$", 1, MSG_NOSIGNAL) == 1)
      std::this_thread::sleep_for(10ms);
  });
  Server one([](int socket, std::atomic<bool> &ends) {
    (void)::send(socket, "$100\r\n", 6, MSG_NOSIGNAL);
    while (!ends && ::send(socket, "a", 1, MSG_NOSIGNAL) == 1)
      std::this_thread::sleep_for(20ms);
  });
  for (const std::string &url : {silent.url, drips.url, one.url}) {
    auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(ask(url, 150ms));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  }
}

TEST(Connection, ADeadServerIsAStatusAtOnce) {
  std::string url = Server(says("+OK\r\n")).url;
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(ask(url));
  EXPECT_FALSE(ask("unix:///nowhere/redis.sock"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST(Plugin, WhatNobodySignedIsRefused) {
  Pair pair, other;
  std::string own = *sign("n", "code", pair.own()), foreign = *sign("n", "code", other.own());
  for (auto [entry, answer] :
       {std::pair(own, RemoteFound), {foreign, RemoteRefused}, {std::string("code"), RemoteRefused}}) {
    Server server(says("$" + std::to_string(entry.size()) + "\r\n" + entry + "\r\n"));
    TegulaRemoteConfig config{sizeof config, server.url.c_str(), "", pair.publicPath.c_str(), "", 300};
    TegulaRemoteText problem{};
    TegulaRemote *remote = tegulaRemoteFunctions()->open(&config, &problem);
    ASSERT_TRUE(remote) << problem.text;
    std::string bytes;
    auto take = [](void *user, const char *data, size_t size) {
      static_cast<std::string *>(user)->assign(data, size);
    };
    EXPECT_EQ(tegulaRemoteFunctions()->get(remote, "n", 0, take, &bytes, &problem), answer);
    EXPECT_EQ(bytes, answer == RemoteFound ? "code" : "");
    EXPECT_EQ(tegulaRemoteFunctions()->put(remote, "n", 8, "x", 1, &problem), RemoteNone); // no writer
    tegulaRemoteFunctions()->close(remote);
  }
}

} // namespace
