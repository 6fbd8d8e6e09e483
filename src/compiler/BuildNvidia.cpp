// NVIDIA GPUs, as code for them is made: PTX from the compiler, a cubin from the assembler. Where there is no
// assembler the driver's own takes the PTX at the first launch.
#include "compiler/Builders.h"
#include "compiler/Ptx.h"
#include "ir/tile/Tile.h"
#include "targets/nvidia/Assembler.h"
#include "targets/nvidia/KernelText.h"
#include "targets/nvidia/Occupancy.h"
#include "targets/nvidia/Pipeline.h"
#include "targets/nvidia/ToolSearch.h"

#include <limits>

namespace tegula::compiler {
namespace {

constexpr std::string_view ptxPart = "ptx", cubinPart = "cubin";

constexpr unsigned manyWaitingWarps = 16; // of a program, that wait for the last one whatever their loops do

nvidia::NvidiaOptions optionsOf(const TargetOptions &options) {
  return {
      options.arch,    options.numWarps,  options.numStages, options.maxRegisters, options.fusesMultiplyAdd,
      options.isAlone, options.libraries, options.given};
}

std::string placeOfKernel(mlir::ModuleOp module) {
  for (mlir::Operation &function : *module.getBody())
    if (std::string place = tile::locationText(function.getLoc()); !place.empty())
      return place;
  return {};
}

std::string describeUsage(const nvidia::Assembled &assembled, const artifact::LaunchData &launch) {
  std::string text = std::to_string(assembled.registers) + " registers a thread, ";
  text += assembled.spillBytes > 0 ? std::to_string(assembled.spillBytes) + " bytes of them spilled, "
                                   : "none spilled, ";
  return text + std::to_string(launch.sharedBytes + uint64_t(assembled.sharedBytes)) +
         " bytes of shared memory a block of " + std::to_string(launch.warps) + " warps";
}

// Only loops gain by the room of programs that are not there: the rest waits for memory once.
bool hasLoop(mlir::ModuleOp module) {
  return module->walk([](mlir::LoopLikeOpInterface) { return mlir::WalkResult::interrupt(); })
      .wasInterrupted();
}

// Compiles a copy of the module, for the launches that `programs` says then. A program that is alone may want
// more shared memory than there is, for its copies and all else: it is then compiled as one of many.
Result<nvidia::Artifact> compileFor(mlir::ModuleOp module, nvidia::NvidiaOptions options,
                                    const nvidia::Texts &texts, artifact::Programs &programs) {
  using artifact::Programs;
  bool isOne = options.given || !hasLoop(module);
  options.isAlone &= !isOne;
  programs = isOne ? Programs::Any : options.isAlone ? Programs::Alone : Programs::Beside;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Result<nvidia::Artifact> made = nvidia::compile(*copy, options, texts);
  if (made || !options.isAlone || made.status().code != StatusCode::Resource)
    return made;
  options.isAlone = false;
  programs = Programs::Any;
  copy = module.clone();
  return nvidia::compile(*copy, options, texts);
}

// Adds the part "ptx", its launch data and its remarks to `artifact`, and returns the text without the bound
// that was asked for.
Result<std::string> addPtx(mlir::ModuleOp module, const nvidia::NvidiaOptions &options,
                           const pipeline::Looks *looks, artifact::Artifact &artifact, BuildReport &report) {
  Result<nvidia::Artifact> made = compileFor(module, options, {.looks = looks}, artifact.launch.programs);
  if (!made) {
    if (made.status().code == StatusCode::Resource)
      report.lasting = made.status();
    return made.status();
  }
  std::move(made->times.begin(), made->times.end(), std::back_inserter(report.times));
  artifact.launch.entry = std::move(made->entry);
  artifact.launch.warps = made->numWarps;
  artifact.launch.sharedBytes = made->sharedBytes;
  artifact.launch.copyMaps = std::move(made->copyMaps);
  artifact.parts.push_back({std::string(ptxPart), std::move(made->ptx)});
  for (diag::Remark &remark : made->remarks)
    artifact.remarks.push_back({std::move(remark.location), std::move(remark.kind), std::move(remark.text)});
  return std::move(made->unbound);
}

// The registers of a thread that was asked for; more than there are where nobody asked.
int mostAskedFor(const TargetOptions &options) {
  return options.maxRegisters ? options.maxRegisters : std::numeric_limits<int>::max();
}

// A kernel that does not fit into all registers of a thread gets as few as let the most programs run
// (ptxas 13.0: 64 with one warp, 32 with more), and spills the rest. It is asked again for all of them.
void assembleWithAllRegisters(std::string &ptx, const TargetOptions &options,
                              const artifact::LaunchData &launch, nvidia::Assembled &assembled) {
  int most = std::min(nvidia::mostRegisters(launch.warps), mostAskedFor(options));
  if (nvidia::isBound(ptx) || nvidia::keepsRoom(ptx) || codegen::gives(options.given, ptxPart) ||
      assembled.spillBytes <= 0 || assembled.registers >= most)
    return;
  std::string bounded = nvidia::withRegisterBound(ptx, most);
  Result<nvidia::Assembled> again = nvidia::assemble(bounded, options.arch);
  if (!again)
    return;
  assembled.milliseconds += again->milliseconds;
  if (again->spillBytes >= assembled.spillBytes)
    return;
  again->milliseconds = assembled.milliseconds;
  assembled = std::move(*again);
  ptx = std::move(bounded);
}

constexpr std::string_view serializes = "Potential Performance Loss"; // products wait for each other

// The assembler is asked again, with each bound that `find` gives for what the kernel takes, until an answer
// spills no more than they allow and makes no products wait for each other: that one holds.
void assembleBound(
    llvm::function_ref<nvidia::RegisterBounds(const nvidia::Footprint &, const nvidia::Architecture &)> find,
    std::string &ptx, const TargetOptions &options, const artifact::LaunchData &launch,
    nvidia::Assembled &assembled) {
  Result<nvidia::Architecture> architecture = nvidia::findArchitecture(options.arch);
  if (!architecture || nvidia::isBound(ptx) || codegen::gives(options.given, ptxPart) ||
      assembled.registers < 0 || assembled.spillBytes != 0)
    return;
  const nvidia::RegisterBounds bounds =
      find({launch.warps, assembled.registers, launch.sharedBytes + uint64_t(assembled.sharedBytes)},
           *architecture);
  for (int bound : bounds.registers) {
    if (bound > mostAskedFor(options))
      continue;
    std::string bounded = nvidia::withRegisterBound(ptx, bound);
    Result<nvidia::Assembled> again = nvidia::assemble(bounded, options.arch);
    if (!again)
      return;
    assembled.milliseconds += again->milliseconds;
    bool isWorse = again->spillBytes > bounds.mostSpilled ||
                   again->stackBytes > assembled.stackBytes + bounds.mostSpilled ||
                   (again->log.find(serializes) != std::string::npos &&
                    assembled.log.find(serializes) == std::string::npos);
    if (isWorse)
      continue;
    again->milliseconds = assembled.milliseconds;
    assembled = std::move(*again);
    ptx = std::move(bounded);
    return;
  }
}

// The assembler is asked again for the numbers of registers with which the kernel runs best.
void assembleForOccupancy(std::string &ptx, const TargetOptions &options, const artifact::LaunchData &launch,
                          nvidia::Assembled &assembled) {
  assembleWithAllRegisters(ptx, options, launch, assembled);
  // It gives a thread as many registers as it can use, or as let programs run that shared memory has no room
  // for: then fewer matrix loads are under way at a time, and few warps wait for each of them.
  if (nvidia::readsFragments(ptx) && !nvidia::keepsRoom(ptx))
    assembleBound(nvidia::registersLeft, ptx, options, launch, assembled);
  // It also keeps to few registers for the sake of many programs, and computes one element after the other in
  // them: chains of which each step waits for the one before.
  if (nvidia::computesBesideProducts(ptx))
    assembleBound(nvidia::registersForChains, ptx, options, launch, assembled);
  // A few fewer let one more program run, whose products fill the time in which this one's wait, or others
  // whose loads are under way while the many warps of this one meet, or wait for their own.
  if (nvidia::hasProducts(ptx)) {
    assembleBound(nvidia::registersForOneMore, ptx, options, launch, assembled);
    // It lets loads wait for one another where that takes registers which no program gets.
    if (nvidia::loadsProducts(ptx))
      assembleBound(nvidia::registersForLoads, ptx, options, launch, assembled);
  } else {
    // If room is left for the loads of loops, warps meet behind these at most; very many wait there for long.
    bool keepsRoom = nvidia::keepsRoom(ptx);
    // A warp waits for each step of a reduction, too.
    if ((nvidia::meets(ptx) || nvidia::reducesInWarps(ptx)) &&
        (!keepsRoom || launch.warps >= manyWaitingWarps))
      assembleBound(nvidia::registersForWaitingWarps, ptx, options, launch, assembled);
    if (!keepsRoom) {
      if (!nvidia::meets(ptx))
        assembleBound(nvidia::registersForSecondProgram, ptx, options, launch, assembled);
      auto forTurns = [&](const nvidia::Footprint &footprint, const nvidia::Architecture &architecture) {
        return nvidia::registersForTurns(footprint, nvidia::loadedInTurn(ptx), nvidia::hasLoops(ptx),
                                         architecture);
      };
      assembleBound(forTurns, ptx, options, launch, assembled);
    }
  }
}

// Assembles a kernel whose programs have a multiprocessor each: with all registers that a thread can have, of
// which the assembler would leave some for other programs. nullopt: it is assembled as any other.
std::optional<nvidia::Assembled> assembleAlone(std::string &ptx, const TargetOptions &options,
                                               const artifact::LaunchData &launch) {
  if (launch.programs != artifact::Programs::Alone || options.maxRegisters || nvidia::isBound(ptx))
    return std::nullopt;
  std::string bounded = nvidia::withRegisterBound(ptx, nvidia::mostRegisters(launch.warps));
  Result<nvidia::Assembled> assembled = nvidia::assemble(bounded, options.arch);
  if (!assembled || assembled->registers < 0 || assembled->log.find(serializes) != std::string::npos)
    return std::nullopt;
  ptx = std::move(bounded);
  return std::move(*assembled);
}

// Assembles the kernel as if nobody had asked for a bound, and with the bound, as `bound` has it, only if
// more registers are taken so: it is the most that a thread may have, and the assembler takes all that it may
// (ptxas 13.0: a product of 48 trips held the factors of all of them in 254 of 256 registers, and in 32
// without a bound). `ptx` has none, and becomes what was assembled.
Result<nvidia::Assembled> assembleWithin(std::string &ptx, const std::string &bound,
                                         const TargetOptions &options, const artifact::LaunchData &launch,
                                         std::optional<Status> *lasting) {
  if (std::optional<nvidia::Assembled> alone = assembleAlone(ptx, options, launch))
    return std::move(*alone);
  Result<nvidia::Assembled> free = nvidia::assemble(ptx, options.arch, lasting);
  if (!free)
    return free;
  bool isKnown = free->registers >= 0;
  if (ptx == bound || (isKnown && free->registers <= mostAskedFor(options))) {
    assembleForOccupancy(ptx, options, launch, *free);
    return free;
  }
  Result<nvidia::Assembled> assembled = nvidia::assemble(bound, options.arch, lasting);
  if (assembled)
    assembled->milliseconds += free->milliseconds;
  ptx = bound;
  return assembled;
}

// Of an artifact that holds none, since there was no assembler: the reason, unless there is one now.
Result<std::string> cubinOf(const artifact::Artifact &artifact) {
  if (const std::string *cubin = artifact.part(cubinPart))
    return *cubin;
  Result<nvidia::Assembled> assembled = nvidia::assemble(*artifact.part(ptxPart), artifact.arch);
  return assembled ? Result(std::move(assembled->cubin)) : assembled.status();
}

} // namespace

Status buildNvidia(mlir::ModuleOp module, const TargetOptions &options, artifact::Artifact &artifact,
                   BuildReport &report) {
  nvidia::prepareToAssemble(options.arch);
  Result<std::string> unbound = addPtx(module, optionsOf(options), options.looks, artifact, report);
  if (!unbound)
    return unbound.status();
  artifact::LaunchData &launch = artifact.launch;
  launch.isCooperative = options.isCooperative;
  // One that does not wait for the launch ahead of it would read what that has not written yet.
  launch.launchesEarly =
      options.launchesEarly && artifact.part(ptxPart)->find("griddepcontrol.wait") != std::string::npos;
  std::string &ptx = std::ranges::find(artifact.parts, ptxPart, &artifact::Part::name)->bytes;
  Result<nvidia::Assembled> assembled = assembleWithin(*unbound, ptx, options, launch, &report.lasting);
  if (!assembled && assembled.status().code == StatusCode::Unsupported)
    return Status::success(); // there is no assembler
  if (!assembled)
    return assembled.status();
  if (!options.maxRegisters) // else the text says what was asked for
    ptx = std::move(*unbound);
  // A worker that was started before the environment changed has the tool of then.
  report.isRepeatable = nvidia::identityOfTool(assembled->tool) == nvidia::identityOfAssembler();
  report.times.push_back({"assemble", assembled->milliseconds});
  launch.registers = assembled->registers;
  launch.spillBytes = assembled->spillBytes;
  launch.ownSharedBytes = assembled->sharedBytes;
  if (assembled->registers >= 0)
    artifact.remarks.push_back({placeOfKernel(module), "usage", describeUsage(*assembled, launch)});
  artifact.parts.push_back({std::string(cubinPart), std::move(assembled->cubin)});
  return Status::success();
}

Status buildPtx(mlir::ModuleOp module, const nvidia::NvidiaOptions &options, const pipeline::Looks *looks,
                artifact::Artifact &artifact, BuildReport &report) {
  Result<std::string> unbound = addPtx(module, options, looks, artifact, report);
  return unbound ? Status::success() : unbound.status();
}

Result<std::string> ptxStage(mlir::ModuleOp module, const nvidia::NvidiaOptions &options,
                             std::string_view name) {
  artifact::Programs programs;
  Result<nvidia::Artifact> again =
      compileFor(module, options, {.simt = name == "simt", .llvm = name == "llvm"}, programs);
  if (!again)
    return again.status();
  return name == "llvm" ? std::move(again->llvm) : std::move(again->simt);
}

Result<std::string> stageOfNvidia(const artifact::Artifact &artifact, mlir::ModuleOp module,
                                  const TargetOptions &options, std::string_view name) {
  if (name != cubinPart && name != "sass")
    return ptxStage(module, optionsOf(options), name);
  Result<std::string> cubin = cubinOf(artifact);
  return !cubin || name == cubinPart ? cubin : nvidia::disassemble(*cubin);
}

Result<PassList> passesOfNvidia(const TargetOptions &options) {
  if (options.arch.empty())
    return PassList{pipeline::passesOf(nvidia::rows(), nullptr), std::make_shared<simt::Machine>()};
  Result<nvidia::Architecture> architecture = nvidia::findArchitecture(options.arch);
  if (!architecture)
    return architecture.status();
  auto machine = std::make_shared<nvidia::NvidiaMachine>(*architecture);
  return PassList{pipeline::passesOf(nvidia::rows(), machine.get()), machine};
}

} // namespace tegula::compiler
