// Finding the fastest of several configurations.
#include "artifact/CodeDigest.h"
#include "capi/Handles.h"
#include "jit/Leaf.h"
#include "jit/TuneCall.h"
#include "tune/ProgressBar.h"

#include <algorithm>
#include <cmath>
#include <thread>

using namespace tegula;
using capi::guarded;

struct tg_tuning {
  jit::TuneOutcome outcome;
};

namespace {

constexpr size_t mostConfigurations = 10'000, mostRanges = 4096;
constexpr double usualMilliseconds = 20;

void misuse(std::string_view what, std::string_view hint, diag::Sink &sink) {
  sink.report(diag::Kind::HostMisuse, {}, {what, hint});
}

// A value as a constant of the language. nullopt after a diagnostic.
std::optional<sema::Const> constantOf(const tg_argument &argument, diag::Sink &sink) {
  tg_value value = argument.value;
  value.flags |= TG_CONSTEXPR;
  std::optional<sema::Const> constant;
  if (value.kind == TG_LITERAL) {
    if (std::optional<jit::Leaf> leaf = capi::leafOf(value); leaf && leaf->kind != jit::LeafKind::Pointer)
      constant = jit::constantOf(*leaf);
  } else if (value.kind != TG_POINTER && value.kind != TG_ABSENT) {
    constant = capi::constOf(value);
  }
  if (!constant)
    misuse("`" + std::string(argument.name) + "` of a configuration is no constant",
           "a constant is a number, True, False, None, 'text', a type or a tuple of such", sink);
  return constant;
}

std::optional<jit::Configuration> configurationOf(const tg_configuration &given, diag::Sink &sink) {
  jit::Configuration configuration;
  if (!capi::checkItems(given.arguments, given.count, capi::mostArguments, "arguments", sink))
    return std::nullopt;
  for (size_t i = 0; i != given.count; ++i) {
    const tg_argument &argument = given.arguments[i];
    if (!argument.name || !*argument.name)
      return misuse("an argument of a configuration has no name", "name it", sink), std::nullopt;
    std::optional<sema::Const> constant = constantOf(argument, sink);
    if (!constant)
      return std::nullopt;
    configuration.values.emplace_back(argument.name, std::move(*constant));
  }
  if (given.text) {
    std::optional<jit::Configuration> written = jit::parseConfiguration(given.text, sink);
    if (!written)
      return std::nullopt;
    std::ranges::move(written->values, std::back_inserter(configuration.values));
  }
  configuration.name = given.name ? given.name : jit::nameOf(configuration);
  return configuration;
}

// Of a host: what its functions answered, as the tuner has it.
class HostTask {
public:
  HostTask(const tg_tune_host &host) : host_(host) {}

  tune::Code compile(size_t i) const {
    tg_value text{};
    int answer = host_.compile(host_.user, i, &text);
    if (answer == 1)
      return {{}, false, textOf(text)};
    return {Status::error(StatusCode::Launch, textOf(text)), answer == 0, ""};
  }
  tune::Times measure(size_t i, size_t runs) const {
    tune::Times times;
    times.milliseconds.resize(runs);
    tg_value text{};
    int answer = host_.measure(host_.user, i, runs, times.milliseconds.data(), &text);
    for (double time : times.milliseconds)
      if (answer == 1 && !(time >= 0))
        return {
            Status::error(StatusCode::Launch, "the host measured a time that is no number of milliseconds"),
            false,
            {}};
    if (answer == 1)
      return times;
    return {Status::error(StatusCode::Launch, textOf(text)), answer == 0, {}};
  }

private:
  static std::string textOf(const tg_value &text) {
    return text.kind == TG_STRING && text.as.text.data ? std::string(text.as.text.data, text.as.text.size)
                                                       : "";
  }
  const tg_tune_host &host_;
};

std::optional<jit::TuneOutcome> tuneForHost(const tg_tune_options &options, const tg_tune_host &host,
                                            diag::Sink &sink) {
  if (!capi::checkGiven(reinterpret_cast<const void *>(host.compile), "compile", sink) ||
      !capi::checkGiven(reinterpret_cast<const void *>(host.measure), "measure", sink) ||
      !capi::checkItems(host.sizes, host.size_count, capi::mostArguments, "sizes", sink))
    return std::nullopt;
  tune::Task task;
  for (size_t i = 0; i != options.configuration_count; ++i) {
    const tg_configuration &given = options.configurations[i];
    if (!capi::checkGiven(given.name, "name of a configuration", sink))
      return std::nullopt;
    task.candidates.push_back({given.name, given.is_late != 0});
  }
  HostTask own(host);
  task.threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  task.milliseconds = options.milliseconds > 0 ? options.milliseconds : usualMilliseconds;
  task.measuresQuantiles = host.measures_quantiles;
  task.measuresBesideCompiles = host.measures_beside_compiles;
  task.compile = [&](size_t i) { return own.compile(i); };
  task.measure = [&](size_t i, size_t runs) { return own.measure(i, runs); };
  std::optional<tune::ProgressBar> bar;
  if (options.shows_progress) {
    bar.emplace("tuning");
    task.progress = [&](size_t done, size_t of, const std::string &name) { bar->show(done, of, name); };
  }
  jit::TuneMemory memory{host.subject ? host.subject : "", host.call ? host.call : "",
                         std::vector<int64_t>(host.sizes, host.sizes + host.size_count)};
  Result<jit::TuneOutcome> outcome =
      jit::tuneWithMemory(std::move(task), host.subject && !options.forgets ? &memory : nullptr);
  if (!outcome) {
    sink.report(diag::Kind::LaunchFailed, {}, {outcome.status().message});
    return std::nullopt;
  }
  if (!outcome->rows.best) {
    compiler::reportStatus(Status::error(StatusCode::Resource, "no configuration can run here"), "host", {},
                           sink);
    return std::nullopt;
  }
  return std::move(*outcome);
}

std::optional<jit::TuneOutcome> tuneFunction(tg_function &function, const tg_tune_options &options,
                                             diag::Sink &sink) {
  std::optional<runtime::Place> place = capi::placeOf(options.place, sink);
  if (!place || !capi::checkGiven(options.grid, "grid", sink) ||
      !capi::checkItems(options.arguments, options.count, capi::mostArguments, "arguments", sink) ||
      !capi::checkItems(options.memory, options.memory_count, mostRanges, "memory", sink))
    return std::nullopt;
  jit::TuneOptions wanted;
  llvm::SmallVector<jit::Argument, 16> arguments;
  if (!capi::readArguments(&function, {options.arguments, options.count}, arguments, sink))
    return std::nullopt;
  wanted.arguments.assign(std::make_move_iterator(arguments.begin()),
                          std::make_move_iterator(arguments.end()));
  wanted.compile.target = options.target ? options.target : function.defaultTarget;
  wanted.place = *place;
  for (size_t i = 0; i != options.configuration_count; ++i) {
    std::optional<jit::Configuration> configuration = configurationOf(options.configurations[i], sink);
    if (!configuration)
      return std::nullopt;
    wanted.configurations.push_back(std::move(*configuration));
  }
  wanted.grid = options.grid;
  for (size_t i = 0; i != options.memory_count; ++i)
    wanted.memory.push_back({static_cast<char *>(options.memory[i].address), options.memory[i].bytes});
  wanted.threads = options.threads;
  wanted.milliseconds = options.milliseconds > 0 ? options.milliseconds : usualMilliseconds;
  wanted.keepsResults = !options.forgets;
  wanted.showsProgress = options.shows_progress;
  return jit::tuneCall(function.dispatcher, wanted, sink);
}

} // namespace

tg_status tg_tune(tg_function *function, const tg_tune_options *options, tg_tuning **out,
                  tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink))
      return;
    *out = nullptr;
    std::optional<tg_tune_options> wanted = capi::read(options, "tg_tune_options", sink);
    if (!wanted || !capi::checkItems(wanted->configurations, wanted->configuration_count, mostConfigurations,
                                     "configurations", sink))
      return;
    if (!std::isfinite(wanted->milliseconds) || wanted->milliseconds < 0 || wanted->milliseconds > 1e6)
      return misuse("`milliseconds` of a tuning is no time", "it is at least 0 and at most 1000000", sink);
    if (wanted->threads > 1024)
      return misuse("`threads` of a tuning are more than 1024", "0: as many as there are cores", sink);
    std::optional<tg_tune_host> host = capi::read(wanted->host, "tg_tune_host", sink);
    if (!host || (!wanted->host && !capi::checkHandle(function, "tg_function", sink)))
      return;
    std::optional<jit::TuneOutcome> outcome =
        wanted->host ? tuneForHost(*wanted, *host, sink) : tuneFunction(*function, *wanted, sink);
    if (!outcome)
      return;
    auto tuning = std::make_unique<tg_tuning>(tg_tuning{std::move(*outcome)});
    capi::enter(tuning.get(), capi::Handle::Tuning);
    *out = tuning.release();
  });
}

void tg_tuning_destroy(tg_tuning *tuning) {
  if (capi::leave(tuning, capi::Handle::Tuning))
    delete tuning;
}

size_t tg_tuning_count(const tg_tuning *tuning) {
  return capi::isLive(tuning) ? tuning->outcome.rows.rows.size() : 0;
}

tg_status tg_tuning_get(const tg_tuning *tuning, size_t index, tg_tuning_row *out) {
  if (index >= tg_tuning_count(tuning))
    return TG_LAUNCH;
  const tune::Row &row = tuning->outcome.rows.rows[index];
  return capi::fill<tg_tuning_row>(out, {0, tuning->outcome.names[index].c_str(), row.refusal.c_str(),
                                         row.median, row.low, row.high, row.runs,
                                         row.sameAs ? int64_t(*row.sameAs) : -1, row.isKept});
}

size_t tg_tuning_best(const tg_tuning *tuning) {
  return capi::isLive(tuning) ? *tuning->outcome.rows.best : 0;
}

const char *tg_tuning_remark(const tg_tuning *tuning, size_t index) {
  return capi::isLive(tuning) && index < tuning->outcome.remarks.size()
             ? tuning->outcome.remarks[index].c_str()
             : nullptr;
}

tg_status tg_kernel_digest(const tg_kernel *kernel, char out[65]) {
  if (!capi::isLive(kernel) || !out)
    return TG_LAUNCH;
  std::string digest =
      artifact::codeDigest(capi::kernelOf(kernel)->compilation->artifact(), compiler::tilePart);
  std::memcpy(out, digest.c_str(), 65);
  return TG_OK;
}
