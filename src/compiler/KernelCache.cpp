#include "compiler/KernelCache.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"
#include "base/DeepStack.h"
#include "base/Environment.h"
#include "base/ForkMutex.h"
#include "compiler/BuildId.h"
#include "compiler/Core.h"
#include "compiler/Specializations.h"
#include "runtime/Interrupt.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

namespace tegula::compiler {
namespace {

using artifact::Artifact;
using artifact::Writer;
using cache::DiskCache;
using Clock = std::chrono::steady_clock;

// ---- the folder ------------------------------------------------------------------------------

bool isSwitchedOff() { return !isOn(Variable::DiskCache) || isOn(Variable::AlwaysCompile); }

std::string wantedPath() {
  for (Variable variable : {Variable::CacheDir, Variable::TritonCacheDir})
    if (const char *path = valueOf(variable); *path)
      return path;
  if (const char *path = valueOf(Variable::XdgCacheHome); *path == '/')
    return std::string(path) + "/tegula";
  const char *home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/tegula" : "";
}

uint64_t wantedBytes() { return *numberOf(Variable::CacheSize) << 20; }

// Folders that were opened, and those that cannot be; of each one warning a process.
struct OpenCaches {
  ForkMutex mutex;
  std::map<std::string, std::shared_ptr<DiskCache>> caches;
  std::map<std::string, Status> failures;
  std::map<std::string, bool> isTold;

  static OpenCaches &get() {
    static auto *all = new OpenCaches; // functions of static lifetime end after it would have
    return *all;
  }
};

void tellOnce(const Status &status, diag::Sink &sink) {
  OpenCaches &all = OpenCaches::get();
  std::lock_guard guard(all.mutex);
  if (!std::exchange(all.isTold[wantedPath()], true))
    sink.report(diag::Kind::CacheUnusable, {}, {status.message});
}

cache::RemoteSettings wantedRemote() {
  cache::RemoteSettings settings{valueOf(Variable::RemoteCache), valueOf(Variable::RemoteCacheWriter),
                                 valueOf(Variable::RemoteCacheKeys),
                                 valueOf(Variable::RemoteCacheSigningKey)};
  settings.time = std::chrono::milliseconds(*numberOf(Variable::RemoteCacheTimeout));
  return settings;
}

// Says that the remote cache is of no use now; once a process and reason.
void tellOfRemote(const std::string &problem, diag::Sink &sink) {
  static auto *mutex = new ForkMutex;
  static auto *told = new std::set<std::string>;
  std::lock_guard guard(*mutex);
  if (problem.empty() || !told->insert(problem).second)
    return;
  diag::Diagnostic &diagnostic = sink.report(diag::Kind::CacheUnusable, {}, {problem});
  diagnostic.message = "the remote cache is not used: " + problem;
  diagnostic.hint = "see docs/howto/cache.md, or take TEGULA_REMOTE_CACHE away";
}
// Null: there is none. Tells why.
std::shared_ptr<cache::RemoteCache> usableRemote(diag::Sink &sink) {
  Result<std::shared_ptr<cache::RemoteCache>> remote = remoteCache();
  if (!remote)
    tellOfRemote(remote.status().message, sink);
  return remote ? *remote : nullptr;
}

// ---- what a compile is made from -----------------------------------------------------------

struct Key {
  std::string bytes, name;
  sema::Naming naming; // of what the compile is given
};

// All but `isAlone`, which a key ends with: keys of the two codes of a kernel differ in that.
void writeOptions(const TargetOptions &options, const sema::LanguageOptions &language, Writer &out) {
  // All there is of both: a new option does not compile until it stands here.
  const auto &[cpu, arch, numWarps, numStages, maxRegisters, fuses, isCooperative, launchesEarly, isAlone,
               libraries, given, looks] = options;
  const auto &[languageWarps, languageStages, debug, sanitizesOverflow, dotPrecision] = language;
  out.text(cpu);
  out.text(arch);
  for (int number : {numWarps, numStages, maxRegisters, languageWarps, languageStages})
    out.number(number);
  for (bool flag : {fuses, isCooperative, launchesEarly, debug, sanitizesOverflow})
    out.number(uint8_t(flag));
  out.count(libraries.size());
  for (const auto &library : libraries) {
    out.text(library->name);
    out.text(library->digest);
  }
  out.number(uint8_t(dotPrecision));
  out.text(given ? given->name : "");
  out.text(given ? given->digest : "");
}

void writeArgument(const sema::ArgumentSpec &argument, sema::Naming &naming, Writer &out) {
  const auto &[name, value, divisibility, elements, tupleClass] = argument; // all there is
  out.text(name);
  out.number(divisibility);
  out.number(uint8_t(value.index()));
  if (auto *type = std::get_if<sema::Type>(&value)) {
    const auto &[element, pointer, isConst, shape] = *type;
    out.text(tegula::name(element));
    out.number(uint8_t(pointer | isConst << 1));
    out.count(shape.size());
    for (int64_t extent : shape)
      out.number(extent);
  } else {
    naming.describe(std::get<sema::Const>(value), out);
  }
  naming.describe(tupleClass ? sema::Const{tupleClass} : sema::Const{sema::NoneValue{}}, out);
  out.number(uint8_t(elements.has_value()));
  out.count(elements ? elements->size() : 0);
  if (elements)
    for (const sema::ArgumentSpec &element : *elements)
      writeArgument(element, naming, out);
}

// nullopt: the target keeps nothing on disk.
std::optional<Key> keyOf(const sema::Request &request, const Target &target, const TargetOptions &options) {
  std::optional<std::string> machine = target.identity(options);
  if (!machine)
    return std::nullopt;
  Key key;
  Writer out;
  out.text(buildId());
  out.text(target.name);
  out.text(*machine);
  writeOptions(options, request.options, out);
  key.naming.describe(request.kernel, out);
  out.text(request.name);
  out.count(request.arguments.size());
  for (const sema::ArgumentSpec &argument : request.arguments)
    writeArgument(argument, key.naming, out);
  out.number(uint8_t(options.isAlone));
  key.bytes = out.take();
  key.name = artifact::hexadecimal(artifact::sha256(key.bytes));
  return key;
}

// ---- what a compile said -------------------------------------------------------------------

std::optional<diag::Kind> kindOf(std::string_view name) {
  constexpr std::pair<std::string_view, diag::Kind> kinds[] = {
#define DIAG(Name, severity, code, text, hint) {#Name, diag::Kind::Name},
#include "diag/Diagnostics.def"
#undef DIAG
  };
  for (auto [known, kind] : kinds)
    if (known == name)
      return kind;
  return std::nullopt;
}

// False: it is in a source that is none of the kernel's functions'.
bool write(const diag::Location &location, const sema::Naming &naming, artifact::Place &place) {
  place = {naming.numberOf(location.source.get()), location.range.begin, location.range.end};
  if (!location.source)
    place = {};
  return !location.source || place.source >= 0;
}

std::optional<diag::Location> read(const artifact::Place &place, const sema::Naming &naming) {
  diag::SourcePtr source = naming.source(place.source);
  if (place.source >= 0 && (!source || place.end > source->text().size()))
    return std::nullopt;
  return diag::Location{source, {place.begin, place.end}};
}

bool writeWarnings(std::span<const diag::Diagnostic> said, const sema::Naming &naming, Artifact &artifact) {
  for (const diag::Diagnostic &diagnostic : said) {
    artifact::Warning warning{
        std::string(diag::name(diagnostic.kind)), diagnostic.message, diagnostic.hint, {}, {}};
    if (diag::severity(diagnostic.kind) == diag::Severity::Error ||
        !write(diagnostic.location, naming, warning.place))
      return false;
    for (const diag::Note &note : diagnostic.notes) {
      artifact::Warning::Note &kept = warning.notes.emplace_back(artifact::Place{}, note.message);
      if (!write(note.location, naming, kept.place))
        return false;
    }
    artifact.warnings.push_back(std::move(warning));
  }
  return true;
}

std::optional<std::vector<diag::Diagnostic>> readWarnings(const Artifact &artifact,
                                                          const sema::Naming &naming) {
  std::vector<diag::Diagnostic> said;
  for (const artifact::Warning &warning : artifact.warnings) {
    std::optional<diag::Kind> kind = kindOf(warning.kind);
    std::optional<diag::Location> location = read(warning.place, naming);
    if (!kind || !location)
      return std::nullopt;
    diag::Diagnostic &diagnostic =
        said.emplace_back(diag::Diagnostic{*kind, *location, warning.message, warning.hint, {}});
    for (const artifact::Warning::Note &note : warning.notes) {
      std::optional<diag::Location> place = read(note.place, naming);
      if (!place)
        return std::nullopt;
      diagnostic.notes.push_back({*place, note.message});
    }
  }
  return said;
}

// ---- finding and keeping ---------------------------------------------------------------------

// One compile on its way through the cache.
struct Search {
  const sema::Request &request;
  const CompileOptions &options;
  const Target &target;
  const TargetOptions &targetOptions;
  diag::Sink &sink;
  DiskCache &disk;
  const Key key;

  struct Found {
    std::unique_ptr<Compilation> compilation; // null: what is known is a refusal, which was reported
  };
  // `onlyForAny`: only what is the same for all launches.
  std::optional<Found> find(bool onlyForAny = false);
  // The same, of entries that others compiled; those that fit are kept on disk.
  std::optional<Found> findRemote();
  std::unique_ptr<Compilation> compile();
  // Reports why the search ends without a kernel.
  void fail(const char *why) {
    reportStatus(Status::error(StatusCode::Launch, why), options.target, place(), sink);
  }

private:
  std::optional<Artifact> read(std::string_view bytes) const;
  std::optional<Found> take(Artifact artifact, Clock::time_point start, const char *from);
  void keep(Artifact &artifact, size_t firstSaid);
  diag::Location place() const { return request.kernel->tree->at(request.kernel->definition->nameRange); }
};

// nullopt: it is not whole, or of something else.
std::optional<Artifact> Search::read(std::string_view bytes) const {
  Result<Artifact> artifact = artifact::read(bytes);
  bool isWhole = artifact && artifact->key == key.bytes && artifact->target == target.name &&
                 (artifact->failure || artifact->part(tilePart));
  return isWhole ? std::optional(std::move(*artifact)) : std::nullopt;
}

std::optional<Search::Found> Search::take(Artifact artifact, Clock::time_point start, const char *from) {
  sema::HostRecord record = *request.record; // with the functions that the caller keeps in it
  sema::Naming naming = key.naming;
  artifact::Reader answers(artifact.answers);
  if (!record.replay(answers, naming))
    return std::nullopt;
  std::optional<std::vector<diag::Diagnostic>> said = readWarnings(artifact, naming);
  if (!said)
    return std::nullopt;
  for (diag::Diagnostic &diagnostic : *said)
    sink.report(std::move(diagnostic));
  *request.record = std::move(record);
  if (artifact.failure) {
    reportStatus({artifact.failure->code, artifact.failure->message}, options.target, place(), sink);
    return Found{};
  }
  double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return Found{load(std::move(artifact), targetOptions, {{from, milliseconds}}, place(), sink)};
}

std::optional<Search::Found> Search::find(bool onlyForAny) {
  auto start = Clock::now();
  for (unsigned slot = 0; slot != cache::slotsOfName; ++slot) {
    std::optional<std::string> bytes = disk.get(key.name, slot);
    if (!bytes)
      continue;
    std::optional<Artifact> artifact = read(*bytes);
    if (!artifact) {
      disk.drop(key.name, slot);
      continue;
    }
    if (onlyForAny && artifact->launch.programs != artifact::Programs::Any)
      continue;
    if (std::optional<Found> found = take(std::move(*artifact), start, "disk cache")) {
      ++disk.hits;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Search::Found> Search::findRemote() {
  std::shared_ptr<cache::RemoteCache> remote = usableRemote(sink);
  auto start = Clock::now();
  for (unsigned slot = 0; remote && slot != cache::slotsOfName; ++slot) {
    cache::RemoteCache::Found entry = remote->get(key.name, slot);
    tellOfRemote(entry.problem, sink);
    if (entry.answer == RemoteNone || entry.answer == RemoteFailed)
      return std::nullopt;
    std::optional<Artifact> artifact = entry.answer == RemoteFound ? read(entry.bytes) : std::nullopt;
    std::optional<Found> found = artifact ? take(std::move(*artifact), start, "remote cache") : std::nullopt;
    if (!found)
      continue;
    ++remote->hits;
    if (Status status = disk.put(key.name, entry.bytes); !status.ok())
      tellOnce(status, sink);
    return found;
  }
  return std::nullopt;
}

void Search::keep(Artifact &artifact, size_t firstSaid) {
  sema::Naming naming = key.naming;
  Writer answers;
  std::span<const diag::Diagnostic> said(sink.all());
  if (!request.record->write(naming, answers) || !writeWarnings(said.subspan(firstSaid), naming, artifact))
    return;
  artifact.key = key.bytes;
  artifact.answers = answers.take();
  std::string bytes = artifact::write(artifact);
  if (Status status = disk.put(key.name, bytes); !status.ok())
    tellOnce(status, sink);
  if (std::shared_ptr<cache::RemoteCache> remote = usableRemote(sink))
    tellOfRemote(remote->put(key.name, bytes), sink);
}

std::unique_ptr<Compilation> Search::compile() {
  ++disk.misses;
  size_t firstSaid = sink.all().size(), errors = sink.errorCount();
  Built built;
  Status status = build(request, target, targetOptions, built, sink);
  if (!status.ok()) {
    if (built.report.lasting && sink.errorCount() == errors) {
      built.artifact.parts.clear();
      built.artifact.failure = {built.report.lasting->code, built.report.lasting->message};
      keep(built.artifact, firstSaid);
    }
    if (sink.errorCount() == errors)
      reportStatus(status, options.target, place(), sink);
    return nullptr;
  }
  if (built.report.isRepeatable)
    keep(built.artifact, firstSaid);
  return load(std::move(built.artifact), targetOptions, std::move(built.report.times), place(), sink);
}

// Others compile the same: their result is waited for, but not for ever. A compile within a compile (a host's
// function that launches kernels) waits for nobody, who might wait for it.
constexpr auto longestWait = std::chrono::seconds(120);
thread_local bool isCompiling = false;

std::unique_ptr<Compilation> findOrTakeTurn(Search &search) {
  using namespace std::chrono_literals;
  auto start = Clock::now();
  runtime::Interrupt interrupt;
  std::optional<DiskCache::Turn> turn = search.disk.takeTurn(search.key.name);
  if (!turn)
    interrupt.watch();
  for (auto pause = 1ms; !turn && !isCompiling && Clock::now() - start < longestWait;
       pause = std::min(2 * pause, 20ms)) {
    std::this_thread::sleep_for(pause);
    if (interrupt.hasCome()) {
      search.fail("the compile was interrupted while another process compiled the same kernel");
      return nullptr;
    }
    turn = search.disk.takeTurn(search.key.name);
  }
  // Another process may have ended its compile since the first look.
  if (std::optional<Search::Found> found = search.find())
    return std::move(found->compilation);
  if (std::optional<Search::Found> found = search.findRemote())
    return std::move(found->compilation);
  bool outer = std::exchange(isCompiling, true);
  std::unique_ptr<Compilation> compiled = search.compile();
  isCompiling = outer;
  return compiled;
}

} // namespace

Result<std::shared_ptr<DiskCache>> diskCache() {
  if (isSwitchedOff())
    return Status::error(StatusCode::Unsupported, "it is switched off");
  std::string path = wantedPath();
  if (path.empty())
    return Status::error(StatusCode::Data, "there is no home folder");
  OpenCaches &all = OpenCaches::get();
  std::lock_guard guard(all.mutex);
  if (auto failed = all.failures.find(path); failed != all.failures.end())
    return failed->second;
  std::shared_ptr<DiskCache> &known = all.caches[path];
  if (known && known->isThere())
    return known;
  Result<std::shared_ptr<DiskCache>> opened = DiskCache::open(path, wantedBytes());
  if (!opened)
    return all.failures[path] = opened.status();
  return known = *opened;
}

Result<std::shared_ptr<cache::RemoteCache>> remoteCache() {
  static auto *mutex = new ForkMutex;
  static auto *known = new std::map<std::string, Result<std::shared_ptr<cache::RemoteCache>>>;
  if (!*valueOf(Variable::RemoteCache))
    return std::shared_ptr<cache::RemoteCache>();
  cache::RemoteSettings settings = wantedRemote();
  std::string name;
  for (const std::string &part : {settings.readerUrl, settings.writerUrl, settings.publicKeys,
                                  settings.signingKey, std::to_string(settings.time.count())})
    name += part + '\n';
  std::lock_guard guard(*mutex);
  auto found = known->find(name);
  if (found == known->end())
    found = known->emplace(name, cache::RemoteCache::open(settings)).first;
  return found->second;
}

namespace {

// A kernel that was compiled for launches of more or fewer programs, if it is the same for these. A process
// that may not compile takes another one, too.
std::optional<Search::Found> findOfOthers(const Search &search) {
  if (!search.target.hasBlocks())
    return std::nullopt;
  TargetOptions options = search.targetOptions;
  options.isAlone = !options.isAlone;
  std::optional<Key> key = keyOf(search.request, search.target, options);
  if (!key)
    return std::nullopt;
  Search others{search.request, search.options, search.target,  options,
                search.sink,    search.disk,    std::move(*key)};
  return others.find(!isClosed(search.options));
}

// A compile for a call, unless the process may not compile.
std::unique_ptr<Compilation> compileForCall(const sema::Request &request, const CompileOptions &options,
                                            diag::Sink &sink) {
  return isClosed(options) ? refuseToCompile(request, options, sink) : compile(request, options, sink);
}

std::unique_ptr<Compilation> findOrMake(const sema::Request &request, const CompileOptions &options,
                                        diag::Sink &sink) {
  TargetOptions targetOptions;
  const Target *target = prepare(request, options, targetOptions, sink);
  if (!target)
    return nullptr;
  if (Status status = record(request, options, targetOptions); !status.ok()) {
    reportStatus(status, options.target, {}, sink);
    return nullptr;
  }
  bool isLookedAt = !options.looks.before.empty() || !options.looks.after.empty();
  std::optional<Key> key = isLookedAt ? std::nullopt : keyOf(request, *target, targetOptions);
  if (!key)
    return compileForCall(request, options, sink);
  Result<std::shared_ptr<DiskCache>> disk = diskCache();
  if (!disk) {
    if (disk.status().code != StatusCode::Unsupported)
      tellOnce(disk.status(), sink);
    return compileForCall(request, options, sink);
  }
  Search search{request, options, *target, targetOptions, sink, **disk, std::move(*key)};
  if (std::optional<Search::Found> found = search.find())
    return std::move(found->compilation);
  if (std::optional<Search::Found> found = findOfOthers(search))
    return std::move(found->compilation);
  if (!isClosed(options))
    return findOrTakeTurn(search);
  std::optional<Search::Found> found = search.findRemote();
  return found ? std::move(found->compilation) : refuseToCompile(request, options, sink);
}

std::string keyOfOther(std::string key) {
  key.back() = char(!key.back());
  return key;
}

std::unique_ptr<Compilation> rebuild(const Artifact &from, const TargetOptions &options,
                                     const std::shared_ptr<DiskCache> &disk, const std::string &key,
                                     diag::Sink &sink) {
  Result<const Core *> opened = core();
  Built built;
  Status status = opened.status();
  if (opened)
    onDeepStack([&] { status = (*opened)->rebuild(from, options, built); });
  if (!status.ok())
    return nullptr;
  if (disk)
    ++disk->misses;
  if (disk && built.report.isRepeatable) {
    built.artifact.key = key;
    built.artifact.answers = from.answers;
    built.artifact.warnings = from.warnings;
    if (Status kept =
            disk->put(artifact::hexadecimal(artifact::sha256(key)), artifact::write(built.artifact));
        !kept.ok())
      tellOnce(kept, sink);
  }
  return load(std::move(built.artifact), options, std::move(built.report.times), {}, sink);
}

} // namespace

std::unique_ptr<Compilation> findOrCompile(const sema::Request &request, const CompileOptions &options,
                                           diag::Sink &sink) {
  assert(request.record && "the answers are part of what is looked for");
  std::unique_ptr<Compilation> found = findOrMake(request, options, sink);
  if (found)
    found->isClosed_ = isClosed(options);
  return found;
}

std::unique_ptr<Compilation> findOrRebuild(const Artifact &from, const TargetOptions &options,
                                           bool mayCompile) {
  diag::Sink unheard; // the launch goes on with the code that there is
  Result<std::shared_ptr<DiskCache>> disk = diskCache();
  const bool isKept = disk && !from.key.empty();
  const std::string key = isKept ? keyOfOther(from.key) : "";
  const std::string name = artifact::hexadecimal(artifact::sha256(key));
  for (unsigned slot = 0; isKept && slot != cache::slotsOfName; ++slot) {
    std::optional<std::string> bytes = (*disk)->get(name, slot);
    Result<Artifact> kept = bytes ? artifact::read(*bytes) : Status::error(StatusCode::Data, "");
    // Answers of hosts shaped the tile IR.
    bool isIt = kept && kept->key == key && kept->target == from.target && kept->answers == from.answers &&
                kept->part(tilePart) && *kept->part(tilePart) == *from.part(tilePart);
    if (!isIt)
      continue;
    if (std::unique_ptr<Compilation> found = load(std::move(*kept), options, {}, {}, unheard)) {
      ++(*disk)->hits;
      return found;
    }
  }
  if (!mayCompile || isOn(Variable::Closed))
    return nullptr;
  return rebuild(from, options, isKept ? *disk : nullptr, key, unheard);
}

Verified verify(const DiskCache &disk) {
  Verified result;
  disk.forEach([&](const std::string &name, unsigned slot) {
    std::optional<std::string> bytes = disk.get(name, slot);
    if (!bytes)
      return;
    ++result.entries;
    Result<Artifact> artifact = artifact::read(*bytes);
    if (artifact && artifact::hexadecimal(artifact::sha256(artifact->key)) == name)
      return;
    ++result.damaged;
    disk.drop(name, slot);
  });
  return result;
}

} // namespace tegula::compiler
