#include "ptxvm/simulate/Simulation.h"
#include "ptxvm/checks/BarrierUse.h"
#include "ptxvm/checks/Checks.h"
#include "ptxvm/simulate/Bundle.h"
#include "ptxvm/simulate/MappedMemory.h"
#include "ptxvm/simulate/Render.h"

#include <algorithm>

namespace tegula::ptxvm {
namespace {

constexpr std::pair<Schedule::Kind, std::string_view> kSchedules[] = {
    {Schedule::Kind::RoundRobin, "round-robin"},
    {Schedule::Kind::Random, "random"},
    {Schedule::Kind::Priority, "priority"},
    {Schedule::Kind::Apart, "apart"},
};

constexpr std::pair<Copies, std::string_view> kCopies[] = {
    {Copies::Late, "late"},
    {Copies::AtOnce, "at-once"},
    {Copies::Random, "random"},
};

// FNV-1a.
uint64_t digestOf(std::span<const Buffer> buffers) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const Buffer &buffer : buffers)
    for (uint64_t i = 0; i < buffer.size; ++i)
      digest = (digest ^ static_cast<const uint8_t *>(buffer.base)[i]) * 0x100000001b3;
  return digest;
}

} // namespace

std::optional<Schedule::Kind> scheduleFromName(std::string_view name) {
  for (const auto &[kind, text] : kSchedules)
    if (text == name)
      return kind;
  return std::nullopt;
}

std::string_view name(Schedule::Kind kind) {
  for (const auto &[known, text] : kSchedules)
    if (known == kind)
      return text;
  return "";
}

std::optional<Copies> copiesFromName(std::string_view name) {
  for (const auto &[kind, text] : kCopies)
    if (text == name)
      return kind;
  return std::nullopt;
}

std::string_view name(Copies copies) {
  for (const auto &[known, text] : kCopies)
    if (known == copies)
      return text;
  return "";
}

// The simulations of the process: a host passes one as a stream, which may be anything.
namespace {
struct Living {
  std::mutex mutex;
  std::vector<Simulation *> all;
};
Living &living() {
  static auto *simulations = new Living;
  return *simulations;
}
} // namespace

Simulation::Simulation(SimulationOptions options) : options_(std::move(options)) {
  std::lock_guard lock(living().mutex);
  living().all.push_back(this);
}

Simulation::~Simulation() {
  std::lock_guard lock(living().mutex);
  std::erase(living().all, this);
}

Simulation *Simulation::at(void *address) {
  std::lock_guard lock(living().mutex);
  auto found = std::find(living().all.begin(), living().all.end(), address);
  return found == living().all.end() ? nullptr : *found;
}

void Simulation::addBuffer(Buffer buffer) {
  std::lock_guard lock(mutex_);
  buffers_.push_back(std::move(buffer));
}

Status Simulation::run(std::shared_ptr<const Module> module, std::string_view entry,
                       const LaunchShape &shape) {
  std::lock_guard lock(mutex_);
  if (buffers_.empty())
    return runOn(std::move(module), entry, shape, mappedMemory());
  if (options_.bundle.empty() || !findings_.empty())
    return runOn(std::move(module), entry, shape, buffers_);
  Bundle bundle = record(*module, entry, shape, buffers_, options_);
  Status status = runOn(std::move(module), entry, shape, buffers_);
  if (!status.ok() || (findings_.empty() && !options_.recordsAll))
    return status;
  return write(bundle, renderFindings(findings_), options_.bundle);
}

Status Simulation::replay(const std::string &folder) {
  Result<Bundle> bundle = readBundle(folder);
  if (!bundle)
    return bundle.status();
  Result<std::shared_ptr<const Module>> module = parse(bundle->ptx, bundle->name);
  if (!module)
    return module.status();
  std::lock_guard lock(mutex_);
  options_.schedule = bundle->schedule;
  options_.copies = bundle->copies;
  options_.threads = 1;
  options_.stepLimit = bundle->stepLimit;
  Status status = runOn(*module, bundle->entry, bundle->shape, bundle->buffers);
  digest_ = digestOf(bundle->buffers);
  return status;
}

Status Simulation::runOn(std::shared_ptr<const Module> module, std::string_view entry,
                         const LaunchShape &shape, std::span<const Buffer> buffers) {
  bool isReproducible = options_.schedule.kind != Schedule::Kind::RoundRobin || !options_.bundle.empty();
  Launch launch{shape.grid,
                shape.block,
                shape.sharedBytes,
                shape.parameters,
                buffers,
                options_.schedule,
                options_.copies,
                isReproducible ? 1 : options_.threads,
                options_.stepLimit,
                {},
                &progress_,
                shape.constants};
  std::unique_ptr<Observer> races, copies, stores, operands, initialised;
  Counters counters;
  BarrierUse barriers;
  if (options_.checks) {
    races = checkRaces();
    copies = checkAsyncCopies();
    stores = checkBulkStores();
    operands = checkProductOperands();
    initialised = checkInitialised();
    launch.observers = {races.get(), copies.get(), stores.get(), operands.get(), initialised.get()};
  }
  if (options_.profile)
    launch.observers.insert(launch.observers.end(), {&counters, &barriers});
  Report report = ptxvm::run(*module, entry, launch);
  printed_ += report.printed;
  if (!report.status.ok())
    return report.status;
  std::move(report.findings.begin(), report.findings.end(), std::back_inserter(findings_));
  modules_.push_back(module);
  if (options_.profile) {
    auto known = std::find_if(costs_.begin(), costs_.end(),
                              [&](const KernelCosts &c) { return c.kernel == report.kernel; });
    if (known == costs_.end())
      known = costs_.insert(known, KernelCosts{report.kernel, {}, {}, {}, {}});
    known->add(report, counters.counts(), barriers.ordered());
  }
  return Status::success();
}

std::string Simulation::findingsText() const { return renderFindings(findings_); }
std::string Simulation::profileText() const { return renderProfile(costs_); }
std::string Simulation::html() const { return renderHtml(costs_, findings_); }

} // namespace tegula::ptxvm
