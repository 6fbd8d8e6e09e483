// Entries that say who wrote them: a signature (Ed25519) over the entry's name and its bytes. The name is a
// digest of all that the entry was made from, so that nothing old or foreign can be served in its place.
#pragma once
#include "base/Status.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

namespace tegula::remote {

using Key = std::shared_ptr<evp_pkey_st>;

// All public keys of a file in PEM. Data: there is none, or one of them is no Ed25519 key.
Result<std::vector<Key>> readPublicKeys(const std::string &path);
// Data: it is none, or others may read the file.
Result<Key> readSigningKey(const std::string &path);

Result<std::string> sign(std::string_view name, std::string_view bytes, const Key &key);
// The bytes; nullopt: no key of these has signed them under this name.
std::optional<std::string_view> verified(std::string_view name, std::string_view signedBytes,
                                         const std::vector<Key> &keys);

} // namespace tegula::remote
