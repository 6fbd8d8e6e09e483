// Simulations: checked runs of a GPU's code on the cores of this machine.
#include "capi/Handles.h"
#include "jit/Leaf.h"
#include "ptxvm/simulate/Bundle.h"
#include "ptxvm/simulate/Simulation.h"

using namespace tegula;
using capi::guarded;

struct tg_simulation {
  explicit tg_simulation(ptxvm::SimulationOptions options) : simulation(std::move(options)) {}
  ptxvm::Simulation simulation;
  std::string text;
};

tg_status tg_simulation_create(const tg_simulation_options *options, tg_simulation **out,
                               tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::optional<tg_simulation_options> known = capi::read(options, "tg_simulation_options", sink);
    if (!known || !capi::checkGiven(out, "out", sink))
      return;
    *out = nullptr;
    const tg_simulation_options &wanted = *known;
    std::string_view schedule = wanted.schedule ? wanted.schedule : "round-robin";
    std::optional<ptxvm::Schedule::Kind> kind = ptxvm::scheduleFromName(schedule);
    if (!kind) {
      sink.report(diag::Kind::HostMisuse, {},
                  {"there is no schedule `" + std::string(schedule) + "`",
                   "schedules: round-robin, random, priority, apart"});
      return;
    }
    std::string_view copies = wanted.copies ? wanted.copies : "late";
    std::optional<ptxvm::Copies> completion = ptxvm::copiesFromName(copies);
    if (!completion) {
      sink.report(diag::Kind::HostMisuse, {},
                  {"asynchronous copies cannot complete `" + std::string(copies) + "`",
                   "they complete late, at-once or random"});
      return;
    }
    ptxvm::SimulationOptions made;
    made.copies = *completion;
    made.schedule = {*kind, wanted.seed};
    made.threads = wanted.threads;
    made.stepLimit = wanted.step_limit;
    made.profile = wanted.profile != 0;
    made.bundle = wanted.bundle ? wanted.bundle : "";
    made.recordsAll = wanted.records_all != 0;
    if (Status status = made.bundle.empty() ? Status::success() : ptxvm::checkFolder(made.bundle);
        !status.ok()) {
      sink.report(diag::Kind::HostMisuse, {},
                  {"no bundle can be written: " + status.message, "name a folder that is new or empty"});
      return;
    }
    *out = new tg_simulation(std::move(made));
    capi::enter(*out, capi::Handle::Simulation);
  });
}

void tg_simulation_destroy(tg_simulation *simulation) {
  if (capi::leave(simulation, capi::Handle::Simulation))
    delete simulation;
}

void tg_simulation_add_memory(tg_simulation *simulation, void *memory, size_t bytes, const char *name,
                              int is_writable) {
  if (capi::isLive(simulation) && (memory || !bytes))
    simulation->simulation.addBuffer({memory, bytes, is_writable != 0, true, name ? name : ""});
}

void *tg_simulation_stream(tg_simulation *simulation) {
  return capi::isLive(simulation) ? &simulation->simulation : nullptr;
}

// The element type that a parameter's bits are read as; a number that is written like a float is
// one also in a parameter of plain bits.
static std::optional<DType> dtypeOf(ptxvm::Type type, const jit::Leaf &leaf) {
  using ptxvm::Type;
  bool isReal = leaf.kind == jit::LeafKind::Float || (leaf.typed && isFloat(leaf.dtype));
  switch (type) {
  case Type::F16: return DType::F16;
  case Type::BF16: return DType::BF16;
  case Type::F32: return DType::F32;
  case Type::F64: return DType::F64;
  case Type::B8:
  case Type::U8: return DType::U8;
  case Type::S8: return DType::I8;
  case Type::B16: return isReal ? (leaf.typed ? leaf.dtype : DType::F16) : DType::U16;
  case Type::U16: return DType::U16;
  case Type::S16: return DType::I16;
  case Type::B32: return isReal ? DType::F32 : DType::U32;
  case Type::U32: return DType::U32;
  case Type::S32: return DType::I32;
  case Type::B64: return isReal ? DType::F64 : DType::U64;
  case Type::U64: return DType::U64;
  case Type::S64: return DType::I64;
  default: return std::nullopt;
  }
}

// Integers may be written signed or unsigned; they must fit the width either way.
static bool fits(const jit::Leaf &leaf, unsigned bits) {
  if (leaf.kind != jit::LeafKind::Int && leaf.kind != jit::LeafKind::UInt)
    return true;
  int64_t value = int64_t(leaf.bits);
  return bits >= 64 || (value >= -(int64_t(1) << (bits - 1)) && value < int64_t(1) << bits);
}

static std::optional<uint64_t> slotOf(const ptxvm::Parameter &parameter, const tg_value &value,
                                      diag::Sink &sink) {
  std::optional<jit::Leaf> leaf = capi::leafOf(value);
  std::string problem;
  std::optional<DType> dtype;
  bool isPointer = leaf && leaf->kind == jit::LeafKind::Pointer;
  bool isNumber = leaf && (leaf->kind == jit::LeafKind::Bool || leaf->kind == jit::LeafKind::Int ||
                           leaf->kind == jit::LeafKind::UInt || leaf->kind == jit::LeafKind::Float);
  if (!isPointer && !isNumber)
    problem = "the argument is neither an array nor a number";
  else if (parameter.isArray)
    problem = "it is an array of bytes, which no argument fills";
  else if (isPointer && ptxvm::bitWidth(parameter.type) != 64)
    problem = "the argument is an address, which has 64 bits";
  else if (isNumber && !(dtype = dtypeOf(parameter.type, *leaf)))
    problem = "no argument has this type";
  else if (isNumber && leaf->kind == jit::LeafKind::Float && !isFloat(*dtype))
    problem = "the argument is no integer";
  else if (isNumber && !isFloat(*dtype) && !fits(*leaf, ptxvm::bitWidth(parameter.type)))
    problem = "the argument does not fit";
  if (problem.empty())
    return isPointer ? leaf->bits : jit::slotOf(*leaf, *dtype, false);
  sink.report(diag::Kind::HostMisuse, {},
              {"parameter `" + parameter.name + "` is ." + std::string(name(parameter.type)) + ": " + problem,
               "arguments are in the order of the entry's parameters"});
  return std::nullopt;
}

static std::string entriesOf(const ptxvm::Module &module) {
  std::string list;
  for (const auto &kernel : module.kernels)
    list += (list.empty() ? "" : ", ") + kernel->name;
  return list.empty() ? "none" : list;
}

static const ptxvm::PtxKernel *entryOf(const ptxvm::Module &module, const char *entry, diag::Sink &sink) {
  std::string name = entry ? entry : "";
  const ptxvm::PtxKernel *kernel =
      name.empty() && module.kernels.size() == 1 ? module.kernels[0].get() : module.find(name);
  if (kernel)
    return kernel;
  diag::Diagnostic &diagnostic =
      sink.report(diag::Kind::KernelUnknown, {}, {module.name, name, "its entries: " + entriesOf(module)});
  if (name.empty())
    diagnostic.message = module.kernels.empty()
                             ? "`" + module.name + "` has no entry"
                             : "`" + module.name + "` has several entries, and none of them is named";
  return nullptr;
}

static bool readSlots(const ptxvm::PtxKernel &kernel, std::span<const tg_value> arguments,
                      std::vector<uint64_t> &slots, diag::Sink &sink) {
  if (arguments.size() != kernel.parameters.size()) {
    sink.report(diag::Kind::SlotCount, {},
                {kernel.name, std::to_string(kernel.parameters.size()), std::to_string(arguments.size())})
        .hint = "an argument for each parameter of the entry, in their order";
    return false;
  }
  for (size_t i = 0; i != arguments.size(); ++i) {
    std::optional<uint64_t> slot = slotOf(kernel.parameters[i], arguments[i], sink);
    if (!slot)
      return false;
    slots.push_back(*slot);
  }
  return true;
}

static void reportCode(const Status &status, diag::Sink &sink) {
  if (status.code == StatusCode::Data)
    sink.report(diag::Kind::HostMisuse, {},
                {status.message, "a bundle is a folder that a simulation has written"});
  else
    sink.report(diag::Kind::CodeNotUnderstood, {}, {status.message});
}

tg_status tg_simulation_run(tg_simulation *simulation, const tg_simulation_launch *launch,
                            tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::optional<tg_simulation_launch> known = capi::read(launch, "tg_simulation_launch", sink);
    if (!known || !capi::checkHandle(simulation, "tg_simulation", sink) ||
        !capi::checkGiven(launch, "launch", sink) ||
        !capi::checkItems(known->arguments, known->count, capi::mostArguments, "arguments", sink) ||
        !capi::checkItems(known->text, known->size, size_t(1) << 30, "text", sink))
      return;
    const tg_simulation_launch &wanted = *known;
    Result<std::shared_ptr<const ptxvm::Module>> module =
        ptxvm::parse({wanted.text ? wanted.text : "", wanted.size}, wanted.path ? wanted.path : "<text>");
    if (!module)
      return reportCode(module.status(), sink);
    ptxvm::LaunchShape shape;
    std::copy_n(wanted.grid, 3, shape.grid.begin());
    std::copy_n(wanted.block, 3, shape.block.begin());
    shape.sharedBytes = wanted.shared_bytes;
    const ptxvm::PtxKernel *kernel = entryOf(**module, wanted.entry, sink);
    if (!kernel || !readSlots(*kernel, {wanted.arguments, wanted.count}, shape.parameters, sink))
      return;
    if (Status status = simulation->simulation.run(*module, kernel->name, shape); !status.ok())
      compiler::reportStatus(status, "ptxvm", {}, sink);
  });
}

tg_status tg_simulation_replay(tg_simulation *simulation, const char *bundle, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(simulation, "tg_simulation", sink))
      return;
    if (Status status = simulation->simulation.replay(bundle ? bundle : ""); !status.ok())
      reportCode(status, sink);
  });
}

void tg_simulation_progress(const tg_simulation *simulation, uint64_t *steps, uint64_t *done,
                            uint64_t *blocks) {
  static const ptxvm::Progress none;
  const ptxvm::Progress &now = capi::isLive(simulation) ? simulation->simulation.progress() : none;
  if (steps)
    *steps = now.steps;
  if (done)
    *done = now.done;
  if (blocks)
    *blocks = now.blocks;
}

size_t tg_simulation_finding_count(const tg_simulation *simulation) {
  return capi::isLive(simulation) ? simulation->simulation.findings().size() : 0;
}

const char *tg_simulation_text(tg_simulation *simulation, const char *what) {
  if (!capi::isLive(simulation))
    return nullptr;
  std::string_view name = what ? what : "";
  const ptxvm::Simulation &made = simulation->simulation;
  if (name == "findings")
    simulation->text = made.findingsText();
  else if (name == "profile")
    simulation->text = made.profileText();
  else if (name == "html")
    simulation->text = made.html();
  else if (name == "printed")
    simulation->text = made.printed();
  else if (name == "memory")
    simulation->text = std::to_string(made.memoryDigest());
  else
    return nullptr;
  return simulation->text.c_str();
}
