#include "remote/Signature.h"

#include <cstdio>

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula::remote {
namespace {

constexpr std::string_view magic = "TEGSIGN1";
constexpr size_t signatureBytes = 64;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE *)>;
using Context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)>;

Status refuse(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::Data, path + ": " + why);
}
// A regular file, and nothing that would have to be waited for. Null: there is none.
File openFile(const std::string &path, struct stat &status) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
    return File(::fdopen(descriptor, "r"), std::fclose);
  if (descriptor >= 0)
    ::close(descriptor);
  return File(nullptr, std::fclose);
}
Key own(EVP_PKEY *key) { return Key(key, EVP_PKEY_free); }
int noPassword(char *, int, int, void *) { return 0; }

std::string messageOf(std::string_view name, std::string_view bytes) {
  std::string message(magic);
  message += std::to_string(name.size()) + ":";
  message += name;
  return message.append(bytes);
}

} // namespace

Result<std::vector<Key>> readPublicKeys(const std::string &path) {
  struct stat status{};
  File file = openFile(path, status);
  if (!file)
    return refuse(path, "the public keys cannot be read");
  if (status.st_mode & S_IWOTH)
    return refuse(path, "everybody may write it, and so say who is believed");
  std::vector<Key> keys;
  while (EVP_PKEY *key = PEM_read_PUBKEY(file.get(), nullptr, noPassword, nullptr)) {
    keys.push_back(own(key));
    if (EVP_PKEY_get_id(key) != EVP_PKEY_ED25519)
      return refuse(path, "one of the keys is no Ed25519 key");
  }
  return keys.empty() ? Result<std::vector<Key>>(refuse(path, "there is no public key in PEM"))
                      : std::move(keys);
}

Result<Key> readSigningKey(const std::string &path) {
  struct stat status{};
  File file = openFile(path, status);
  if (!file)
    return refuse(path, "the signing key cannot be read");
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return refuse(path, "others may use it; make it 0600");
  Key key = own(PEM_read_PrivateKey(file.get(), nullptr, noPassword, nullptr));
  if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519)
    return refuse(path, "it is no Ed25519 key in PEM");
  return key;
}

Result<std::string> sign(std::string_view name, std::string_view bytes, const Key &key) {
  std::string message = messageOf(name, bytes), signature(signatureBytes, '\0');
  size_t size = signature.size();
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<uint8_t *>(signature.data()), &size,
                     reinterpret_cast<const uint8_t *>(message.data()), message.size()) != 1 ||
      size != signatureBytes)
    return Status::error(StatusCode::Internal, "the entry could not be signed");
  return std::string(magic).append(signature).append(bytes);
}

std::optional<std::string_view> verified(std::string_view name, std::string_view signedBytes,
                                         const std::vector<Key> &keys) {
  if (signedBytes.size() < magic.size() + signatureBytes || !signedBytes.starts_with(magic))
    return std::nullopt;
  std::string_view signature = signedBytes.substr(magic.size(), signatureBytes),
                   bytes = signedBytes.substr(magic.size() + signatureBytes);
  std::string message = messageOf(name, bytes);
  for (const Key &key : keys) {
    Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
        EVP_DigestVerify(context.get(), reinterpret_cast<const uint8_t *>(signature.data()), signature.size(),
                         reinterpret_cast<const uint8_t *>(message.data()), message.size()) == 1)
      return bytes;
  }
  return std::nullopt;
}

} // namespace tegula::remote
