#include "jit/TuneCall.h"
#include "artifact/CodeDigest.h"
#include "compiler/Literal.h"
#include "jit/Leaf.h"
#include "tune/ProgressBar.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

namespace tegula::jit {
namespace {

using sema::Const;

// It cannot run here, as a configuration of others can: a mistake is all else.
bool isRefusal(const diag::Sink &sink) {
  for (const diag::Diagnostic &diagnostic : sink.all())
    if (diag::severity(diagnostic.kind) == diag::Severity::Error) {
      StatusCode code = diag::statusCode(diagnostic.kind);
      return code == StatusCode::Resource || code == StatusCode::Toolchain ||
             diagnostic.kind == diag::Kind::StaticAssertFailed;
    }
  return false;
}

// Keeps memory that the kernel writes, as it was before the first run.
class Saved {
public:
  Saved(const compiler::Target &target, const runtime::Place &place)
      : devices_(target.devices), place_(place) {}
  ~Saved() {
    for (const Copy &copy : copies_)
      if (devices_)
        (void)devices_->release(place_.device, copy.bytes);
      else
        std::free(copy.bytes);
  }
  Saved(const Saved &) = delete;

  // A range that is saved already is none to save.
  Status save(const MemoryRange &range) {
    for (const Copy &copy : copies_)
      if (copy.range.address == range.address && copy.range.bytes >= range.bytes)
        return Status::success();
    Result<void *> memory = devices_ ? devices_->allocate(place_.device, range.bytes)
                                     : Result<void *>(std::malloc(range.bytes ? range.bytes : 1));
    if (!memory)
      return memory.status();
    if (!*memory)
      return Status::error(StatusCode::Resource, "there is no memory for a copy of what the kernel writes");
    copies_.push_back({range, static_cast<char *>(*memory)});
    return devices_ ? waitAnd([&] { return move(copies_.back().bytes, range.address, range.bytes); })
                    : move(copies_.back().bytes, range.address, range.bytes);
  }
  Status restore() const {
    return waitAnd([&] {
      Status status;
      for (const Copy &copy : copies_)
        if (status.ok())
          status = move(copy.range.address, copy.bytes, copy.range.bytes);
      return status;
    });
  }

private:
  struct Copy {
    MemoryRange range;
    char *bytes;
  };
  // A copy waits for default streams only.
  template <class Body> Status waitAnd(Body body) const {
    if (Status status = devices_ ? devices_->synchronize(place_) : Status::success(); !status.ok())
      return status;
    return body();
  }
  Status move(void *to, const void *from, size_t bytes) const {
    if (devices_)
      return devices_->copy(place_.device, to, from, bytes);
    std::memcpy(to, from, bytes);
    return Status::success();
  }
  const compiler::Devices *devices_;
  const runtime::Place place_;
  std::vector<Copy> copies_;
};

class Call {
public:
  Call(Dispatcher &dispatcher, const TuneOptions &options, const compiler::Target &target,
       std::vector<Configuration> configurations)
      : dispatcher_(dispatcher), options_(options), target_(target),
        configurations_(std::move(configurations)), sinks_(configurations_.size()),
        kernels_(configurations_.size()), grids_(configurations_.size()), saved_(target, options.place) {
    for (const Configuration &configuration : configurations_) {
      std::vector<Argument> &all = arguments_.emplace_back(options_.arguments);
      for (const auto &[name, value] : configuration.values)
        all.push_back({leafOf(value), name});
    }
  }

  std::optional<TuneOutcome> run(const TuneMemory *memory, diag::Sink &sink) {
    for (size_t i = 0; i != configurations_.size(); ++i) {
      std::optional<std::vector<int64_t>> grid =
          evaluateGrid(options_.grid, [&](std::string_view name) { return valueOf(i, name); }, sink);
      if (!grid)
        return std::nullopt;
      grids_[i] = std::move(*grid);
    }
    tune::ProgressBar bar("tuning " + dispatcher_.function().definition->name);
    Result<TuneOutcome> outcome = tuneWithMemory(makeTask(bar), memory);
    if (!outcome)
      return reportMistake(outcome.status(), sink), std::nullopt;
    if (outcome->rows.best)
      return std::move(*outcome);
    std::string reason = outcome->rows.rows.empty() ? "there is none" : outcome->rows.rows.front().refusal;
    compiler::reportStatus(Status::error(StatusCode::Resource, "no configuration of `" +
                                                                   dispatcher_.function().definition->name +
                                                                   "` can run: " + reason),
                           options_.compile.target, {}, sink);
    return std::nullopt;
  }

private:
  tune::Task makeTask(tune::ProgressBar &bar) {
    tune::Task task;
    for (const Configuration &configuration : configurations_)
      task.candidates.push_back({configuration.name});
    task.threads = options_.threads ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
    task.measuresBesideCompiles = target_.devices;
    task.milliseconds = options_.milliseconds;
    task.compile = [this](size_t i) { return compile(i); };
    task.measure = [this](size_t i, size_t runs) { return measure(i, runs); };
    if (options_.showsProgress)
      task.progress = [&bar](size_t done, size_t of, const std::string &name) { bar.show(done, of, name); };
    return task;
  }

  std::optional<Const> valueOf(size_t configuration, std::string_view name) {
    for (const auto &[own, value] : configurations_[configuration].values)
      if (own == name)
        return value;
    const std::vector<compiler::Parameter> &parameters = dispatcher_.parameters();
    for (size_t i = 0; i != options_.arguments.size(); ++i) {
      const Argument &argument = options_.arguments[i];
      bool isIt =
          argument.name.empty() ? i < parameters.size() && parameters[i].name == name : argument.name == name;
      if (isIt && argument.leaf.kind != LeafKind::Pointer && argument.leaf.kind != LeafKind::Absent)
        return constantOf(argument.leaf);
    }
    for (const compiler::Parameter &parameter : parameters)
      if (parameter.name == name && parameter.hasDefault)
        return compiler::parseLiteral(parameter.defaultText);
    return std::nullopt;
  }

  tune::Code compile(size_t i) {
    diag::Sink &sink = sinks_[i];
    std::optional<runtime::Grid> grid = makeGrid(grids_[i], {}, sink);
    if (grid)
      kernels_[i] = dispatcher_.prepare(arguments_[i], options_.compile, options_.place, sink, &*grid);
    if (!kernels_[i])
      return {sink.status(), isRefusal(sink), ""};
    std::string digest = artifact::codeDigest(kernels_[i]->compilation->artifact(), compiler::tilePart);
    for (int64_t extent : grids_[i])
      digest += "," + std::to_string(extent);
    return {{}, false, std::move(digest)};
  }

  Status saveWhatIsWritten(size_t i) {
    const SpecializedKernel &kernel = *kernels_[i];
    if (std::ranges::none_of(kernel.slots, [](const auto &slot) { return slot.written; }))
      return Status::success();
    // Pointers that the kernel writes through are known by their names.
    std::vector<uint64_t> written;
    std::set<std::string> names;
    for (size_t slot = 0; slot != kernel.slots.size(); ++slot)
      if (kernel.slots[slot].written)
        names.insert(kernel.compilation->arguments()[slot].name);
    const std::vector<compiler::Parameter> &parameters = dispatcher_.parameters();
    auto collect = [&](const std::set<std::string> *wanted) {
      std::set<std::string> found;
      for (size_t a = 0; a != options_.arguments.size(); ++a) {
        const Argument &argument = options_.arguments[a];
        std::string name(argument.name.empty() && a < parameters.size() ? std::string_view(parameters[a].name)
                                                                        : argument.name);
        addressesOf(argument.leaf, name, wanted, found, written);
      }
      return found.size();
    };
    // A descriptor's address has a name of its own in the kernel: then every pointer may be the one.
    if (collect(&names) != names.size())
      collect(nullptr);
    for (uint64_t address : written) {
      auto *at = reinterpret_cast<char *>(uintptr_t(address));
      auto range = std::ranges::find_if(options_.memory, [&](const MemoryRange &range) {
        return at >= range.address && at < range.address + std::max<size_t>(range.bytes, 1);
      });
      if (range == options_.memory.end())
        return Status::error(
            StatusCode::Launch,
            "the kernel writes memory whose size is not known, so that it cannot be put back; "
            "hint: name the range of every array that it writes");
      if (Status status = saved_.save(*range); !status.ok())
        return status;
    }
    return Status::success();
  }
  // `wanted` null: all there are.
  static void addressesOf(const Leaf &leaf, const std::string &name, const std::set<std::string> *wanted,
                          std::set<std::string> &found, std::vector<uint64_t> &out) {
    if (!wanted || wanted->contains(name)) {
      found.insert(name);
      if (leaf.kind == LeafKind::Pointer && leaf.bits)
        out.push_back(leaf.bits);
    }
    for (size_t i = 0; leaf.kind == LeafKind::Tuple && i != leaf.tuple->elements.size(); ++i)
      addressesOf(leaf.tuple->elements[i], name + "." + std::to_string(i), wanted, found, out);
  }

  // The status of a launch of this configuration.
  Status launch(size_t i) {
    sinks_[i] = diag::Sink();
    dispatcher_.launch(arguments_[i], grids_[i], options_.compile, options_.place, sinks_[i]);
    return sinks_[i].status();
  }

  tune::Times measure(size_t i, size_t runs) {
    sinks_[i] = diag::Sink();
    Status status = saveWhatIsWritten(i);
    Result<std::vector<double>> times = status.ok() ? time(i, runs) : Result<std::vector<double>>(status);
    Status restored = saved_.restore();
    if (!times)
      return {times.status(), sinks_[i].hasErrors() && isRefusal(sinks_[i]), {}};
    return {restored, false, std::move(*times)};
  }
  Result<std::vector<double>> time(size_t i, size_t runs) {
    auto prepare = [this] { return saved_.restore(); };
    auto start = [this, i] { return launch(i); };
    if (target_.devices)
      return target_.devices->time(options_.place, runs, prepare, start);
    std::vector<double> times;
    for (size_t run = 0; run != runs; ++run) {
      if (Status status = prepare(); !status.ok())
        return status;
      auto begin = std::chrono::steady_clock::now();
      Status status = start();
      auto end = std::chrono::steady_clock::now();
      if (!status.ok())
        return status;
      times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
    }
    return times;
  }

  // With the places and hints that the compile or launch gave it.
  void reportMistake(const Status &status, diag::Sink &sink) const {
    for (const diag::Sink &own : sinks_)
      if (own.hasErrors() && !isRefusal(own)) {
        for (const diag::Diagnostic &diagnostic : own.all())
          sink.report(diagnostic);
        return;
      }
    compiler::reportStatus(status, options_.compile.target, {}, sink);
  }

  Dispatcher &dispatcher_;
  const TuneOptions &options_;
  const compiler::Target &target_;
  const std::vector<Configuration> configurations_;
  std::vector<std::vector<Argument>> arguments_;
  std::vector<diag::Sink> sinks_;
  std::vector<KernelRef> kernels_;
  std::vector<std::vector<int64_t>> grids_;
  Saved saved_;
};

// The device, or the processor with its threads.
std::string machineOf(const compiler::Target &target, const compiler::TargetOptions &options,
                      const runtime::Place &place) {
  std::string name(target.name);
  if (target.devices) {
    Result<int> device = place.device >= 0 ? Result<int>(place.device) : target.devices->current();
    Result<const runtime::DeviceInfo *> info = device ? target.devices->info(*device) : device.status();
    return name + " " + (info ? (*info)->name + " " + (*info)->arch : "");
  }
  return name + " " + target.identity(options).value_or("") + " " + std::to_string(runtime::threadCount());
}

void describe(const Leaf &leaf, TuneMemory &memory) {
  switch (leaf.kind) {
  case LeafKind::Bool:
  case LeafKind::Int:
    memory.sizes.push_back(int64_t(leaf.bits));
    memory.call += leaf.kind == LeafKind::Int ? "int" : "bool";
    return;
  case LeafKind::Tuple:
    memory.call += "(";
    for (const Leaf &element : leaf.tuple->elements)
      describe(element, memory);
    memory.call += ")";
    return;
  default: break;
  }
  memory.call += jit::describe(leaf);
}

TuneMemory memoryOf(const sema::Function &function, const TuneOptions &options,
                    const compiler::Target &target, const compiler::TargetOptions &targetOptions) {
  TuneMemory memory;
  memory.subject = function.definition->name + " on " + machineOf(target, targetOptions, options.place);
  for (const Argument &argument : options.arguments) {
    memory.call += std::string(argument.name) + "=";
    describe(argument.leaf, memory);
    memory.call += ",";
  }
  for (const MemoryRange &range : options.memory)
    memory.sizes.push_back(int64_t(range.bytes));
  return memory;
}

} // namespace

std::optional<TuneOutcome> tuneCall(Dispatcher &dispatcher, const TuneOptions &options, diag::Sink &sink) {
  compiler::TargetOptions targetOptions = options.compile.targetOptions;
  const compiler::Target *target =
      compiler::chooseTarget(options.compile.target, targetOptions, options.place.device, sink);
  if (!target)
    return std::nullopt;
  std::vector<Configuration> configurations = options.configurations;
  if (configurations.empty()) {
    std::optional<std::vector<Configuration>> listed = configurationsOf(dispatcher.function(), sink);
    if (!listed)
      return std::nullopt;
    configurations = std::move(*listed);
  }
  TuneMemory memory = memoryOf(dispatcher.function(), options, *target, targetOptions);
  Call call(dispatcher, options, *target, std::move(configurations));
  return call.run(options.keepsResults ? &memory : nullptr, sink);
}

} // namespace tegula::jit
