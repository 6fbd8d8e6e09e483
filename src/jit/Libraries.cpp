#include "jit/Libraries.h"
#include "artifact/Sha256.h"
#include "base/ForkMutex.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace tegula::jit {

namespace {

using Library = std::shared_ptr<const codegen::ExternLibrary>;

// The state of a file when it was read.
struct Stamp {
  std::filesystem::file_time_type time;
  uintmax_t size = 0;
  bool operator==(const Stamp &) const = default;
};

struct Read {
  Stamp stamp;
  Library library;
};

struct AllLibraries {
  ForkMutex mutex;
  std::map<std::pair<std::string, std::string>, Read> byPath;      // name, path
  std::map<std::pair<std::string, std::string>, Library> byDigest; // name, digest; stay

  static AllLibraries &get() {
    static AllLibraries &all = *new AllLibraries; // threads may launch until the process ends
    return all;
  }
};

Result<Stamp> stampOf(const std::string &path) {
  std::error_code error;
  Stamp stamp{std::filesystem::last_write_time(path, error), 0};
  if (!error)
    stamp.size = std::filesystem::file_size(path, error);
  return error ? Status::error(StatusCode::Unsupported, "`" + path + "`: " + error.message()) : Result(stamp);
}

Result<std::string> contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return file.bad() || !file.is_open()
             ? Status::error(StatusCode::Unsupported, "`" + path + "` cannot be read")
             : Result(std::move(bytes));
}

Result<Library> read(const std::string &name, const std::string &path) {
  AllLibraries &all = AllLibraries::get();
  std::lock_guard guard(all.mutex);
  Result<Stamp> stamp = stampOf(path);
  if (!stamp)
    return stamp.status();
  Read &known = all.byPath[{name, path}];
  if (known.library && known.stamp == *stamp)
    return known.library;
  Result<std::string> bytes = contents(path);
  if (!bytes)
    return bytes.status();
  std::string digest = artifact::hexadecimal(artifact::sha256(*bytes));
  Library &library = all.byDigest[{name, digest}];
  if (!library)
    library = std::make_shared<const codegen::ExternLibrary>(
        codegen::ExternLibrary{name, path, std::move(*bytes), digest});
  known = {*stamp, library};
  return library;
}

const std::string *textOf(const Leaf &leaf) {
  return leaf.kind == LeafKind::Constant ? std::get_if<std::string>(&leaf.constant->value) : nullptr;
}

} // namespace

Result<codegen::ExternLibraries> librariesOf(const Leaf &leaf) {
  Status wrong = Status::error(StatusCode::Unsupported, "");
  if (leaf.kind != LeafKind::Tuple)
    return wrong;
  codegen::ExternLibraries libraries;
  for (const Leaf &pair : leaf.tuple->elements) {
    bool isPair = pair.kind == LeafKind::Tuple && pair.tuple->elements.size() == 2;
    const std::string *name = isPair ? textOf(pair.tuple->elements[0]) : nullptr;
    const std::string *path = isPair ? textOf(pair.tuple->elements[1]) : nullptr;
    if (!name || !path)
      return wrong;
    Result<Library> library = read(*name, *path);
    if (!library)
      return library.status();
    libraries.push_back(std::move(*library));
  }
  return libraries;
}

Result<Library> libraryOf(const std::string &name, const Leaf &path) {
  const std::string *text = textOf(path);
  return text && !name.empty() ? read(name, *text) : Status::error(StatusCode::Launch, "");
}

Result<std::shared_ptr<const codegen::GivenFile>> givenStageOf(const Leaf &leaf) {
  const std::string *path = textOf(leaf);
  if (!path)
    return Status::error(StatusCode::Unsupported, "");
  std::string stage = std::filesystem::path(*path).extension().string();
  stage.erase(0, 1);
  if (stage == "llir" || stage == "ll")
    stage = "llvm";
  return read(stage, *path);
}

} // namespace tegula::jit
