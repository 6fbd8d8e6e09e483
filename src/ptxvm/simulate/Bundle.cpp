#include "ptxvm/simulate/Bundle.h"
#include "base/Files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace tegula::ptxvm {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestBundle = uint64_t(1) << 32;

// As a GPU's allocations. A copy lies at the same place modulo this as the original: sectors and
// misaligned addresses stay what they were.
constexpr uint64_t kAlignment = 256;

uint64_t siteOf(const void *base) { return reinterpret_cast<uint64_t>(base) % kAlignment; }

// Memory for a copy of a buffer that lay at `place` modulo the alignment.
Buffer allocate(Buffer buffer, uint64_t place, std::vector<uint64_t> &memory) {
  memory.resize((buffer.size + 2 * kAlignment) / 8 + 1);
  auto *begin = reinterpret_cast<std::byte *>(memory.data());
  buffer.base = begin + (kAlignment - siteOf(begin)) % kAlignment + place;
  return buffer;
}

// The buffer and offset that an address lies in.
std::optional<std::pair<size_t, uint64_t>> placeIn(std::span<const Buffer> buffers, uint64_t address) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    uint64_t base = reinterpret_cast<uint64_t>(buffers[i].base);
    if (address >= base && address - base < std::max<uint64_t>(buffers[i].size, 1))
      return {{i, address - base}};
  }
  return std::nullopt;
}

std::string launchText(const Bundle &bundle) {
  std::ostringstream text;
  auto triple = [&](const char *word, const std::array<uint32_t, 3> &v) {
    text << word << ' ' << v[0] << ' ' << v[1] << ' ' << v[2] << '\n';
  };
  text << "entry " << bundle.entry << '\n';
  triple("grid", bundle.shape.grid);
  triple("block", bundle.shape.block);
  text << "shared " << bundle.shape.sharedBytes << '\n';
  text << "schedule " << name(bundle.schedule.kind) << ' ' << bundle.schedule.seed << '\n';
  text << "copies " << name(bundle.copies) << '\n';
  text << "steps " << bundle.stepLimit << '\n';
  for (const Buffer &buffer : bundle.buffers)
    text << "buffer " << buffer.size << ' ' << siteOf(buffer.base)
         << (buffer.writable ? " writable" : " read-only")
         << (buffer.initialised ? " written " : " unwritten ") << buffer.name << '\n';
  for (uint64_t parameter : bundle.shape.parameters) {
    if (auto place = placeIn(bundle.buffers, parameter))
      text << "parameter buffer " << place->first << ' ' << place->second << '\n';
    else
      text << "parameter " << parameter << '\n';
  }
  return text.str();
}

Status write(const fs::path &path, std::string_view bytes) {
  Status status = writeFile(path.string(), {bytes});
  if (!status.ok())
    status.message = "cannot write " + path.string() + ": " + status.message;
  return status;
}

Result<std::string> read(const fs::path &path) {
  Result<std::string> bytes = readFile(path.string(), kLargestBundle);
  if (bytes)
    return bytes;
  return Status::error(StatusCode::Data, "cannot read " + path.string() + ": " + bytes.status().message);
}

// "buffer-3.bin"
std::string bufferFile(size_t index) { return "buffer-" + std::to_string(index) + ".bin"; }

bool isOfBundle(const std::string &file) {
  if (file == "kernel.ptx" || file == "launch.txt" || file == "findings.txt")
    return true;
  constexpr std::string_view front = "buffer-", back = ".bin";
  if (!file.starts_with(front) || !file.ends_with(back) || file.size() <= front.size() + back.size())
    return false;
  std::string_view number =
      std::string_view(file).substr(front.size(), file.size() - front.size() - back.size());
  return number.find_first_not_of("0123456789") == number.npos;
}

Status bad(std::string_view line) {
  return Status::error(StatusCode::Data,
                       "launch.txt of the bundle: `" + std::string(line) + "` is not understood");
}

bool readBuffer(std::istringstream &words, Bundle &bundle) {
  Buffer buffer;
  std::string rights, state;
  uint64_t total = 0, place = 0;
  for (const std::vector<uint64_t> &memory : bundle.memory)
    total += memory.size() * 8;
  bool isRead = bool(words >> buffer.size >> place >> rights >> state);
  if (!isRead || place >= kAlignment || buffer.size > kLargestBundle - std::min(total, kLargestBundle))
    return false;
  if ((rights != "writable" && rights != "read-only") || (state != "written" && state != "unwritten"))
    return false;
  buffer.writable = rights == "writable";
  buffer.initialised = state == "written";
  std::getline(words >> std::ws, buffer.name);
  bundle.memory.emplace_back();
  bundle.buffers.push_back(allocate(std::move(buffer), place, bundle.memory.back()));
  return true;
}

bool readParameter(std::istringstream &words, Bundle &bundle) {
  std::string word;
  if (!(words >> word))
    return false;
  uint64_t index = 0, value = 0;
  if (word != "buffer") {
    std::istringstream number(word);
    if (!(number >> value))
      return false;
  } else if (!(words >> index >> value) || index >= bundle.buffers.size()) {
    return false;
  } else {
    value += reinterpret_cast<uint64_t>(bundle.buffers[index].base);
  }
  bundle.shape.parameters.push_back(value);
  return true;
}

bool readStatement(const std::string &line, Bundle &bundle) {
  std::istringstream words(line);
  std::string word, kind;
  words >> word;
  auto triple = [&](std::array<uint32_t, 3> &v) { return bool(words >> v[0] >> v[1] >> v[2]); };
  if (word == "entry")
    return bool(words >> bundle.entry);
  if (word == "grid")
    return triple(bundle.shape.grid);
  if (word == "block")
    return triple(bundle.shape.block);
  if (word == "shared")
    return bool(words >> bundle.shape.sharedBytes);
  if (word == "steps")
    return bool(words >> bundle.stepLimit);
  if (word == "copies") {
    std::optional<Copies> copies = words >> kind ? copiesFromName(kind) : std::nullopt;
    bundle.copies = copies.value_or(Copies::Late);
    return copies.has_value();
  }
  if (word == "buffer")
    return readBuffer(words, bundle);
  if (word == "parameter")
    return readParameter(words, bundle);
  if (word != "schedule" || !(words >> kind >> bundle.schedule.seed))
    return word.empty();
  std::optional<Schedule::Kind> schedule = scheduleFromName(kind);
  bundle.schedule.kind = schedule.value_or(Schedule::Kind::RoundRobin);
  return schedule.has_value();
}

} // namespace

Bundle record(const Module &module, std::string_view entry, const LaunchShape &shape,
              std::span<const Buffer> buffers, const SimulationOptions &options) {
  Bundle bundle{module.text,
                module.name,
                std::string(entry),
                shape,
                options.schedule,
                options.copies,
                options.stepLimit,
                {},
                {}};
  for (const Buffer &buffer : buffers) {
    bundle.memory.emplace_back();
    bundle.buffers.push_back(allocate(buffer, siteOf(buffer.base), bundle.memory.back()));
    std::memcpy(bundle.buffers.back().base, buffer.base, buffer.size);
  }
  for (uint64_t &parameter : bundle.shape.parameters)
    if (auto place = placeIn(buffers, parameter))
      parameter = reinterpret_cast<uint64_t>(bundle.buffers[place->first].base) + place->second;
  return bundle;
}

Status checkFolder(const std::string &folder) {
  std::error_code error;
  fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status))
    return Status::success();
  if (!fs::is_directory(status))
    return Status::error(StatusCode::Data, folder + " is no folder");
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::string file = entry->path().filename().string(); !isOfBundle(file))
      return Status::error(StatusCode::Data, folder + " has a file of something else: " + file);
  return error ? Status::error(StatusCode::Data, folder + ": " + error.message()) : Status::success();
}

Status write(const Bundle &bundle, const std::string &findings, const std::string &folder) {
  if (Status status = checkFolder(folder); !status.ok())
    return status;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return Status::error(StatusCode::Data, "cannot make the folder " + folder + ": " + error.message());
  std::string launch = launchText(bundle);
  for (const auto &[file, text] :
       {std::pair("kernel.ptx", &bundle.ptx), {"launch.txt", &launch}, {"findings.txt", &findings}})
    if (Status status = write(fs::path(folder) / file, *text); !status.ok())
      return status;
  for (size_t i = 0; i < bundle.buffers.size(); ++i) {
    const Buffer &buffer = bundle.buffers[i];
    if (Status status =
            write(fs::path(folder) / bufferFile(i), {static_cast<const char *>(buffer.base), buffer.size});
        !status.ok())
      return status;
  }
  return Status::success();
}

Result<Bundle> readBundle(const std::string &folder) {
  Bundle bundle;
  Result<std::string> ptx = read(fs::path(folder) / "kernel.ptx"),
                      launch = read(fs::path(folder) / "launch.txt");
  if (!ptx || !launch)
    return ptx ? launch.status() : ptx.status();
  bundle.ptx = std::move(*ptx);
  bundle.name = (fs::path(folder) / "kernel.ptx").string();
  std::istringstream lines(*launch);
  for (std::string line; std::getline(lines, line);)
    if (!readStatement(line, bundle))
      return bad(line);
  for (size_t i = 0; i < bundle.buffers.size(); ++i) {
    Result<std::string> bytes = read(fs::path(folder) / bufferFile(i));
    if (!bytes)
      return bytes.status();
    if (bytes->size() != bundle.buffers[i].size)
      return Status::error(StatusCode::Data,
                           bufferFile(i) + " of the bundle has another size than launch.txt says");
    std::memcpy(bundle.buffers[i].base, bytes->data(), bytes->size());
  }
  return bundle;
}

} // namespace tegula::ptxvm
