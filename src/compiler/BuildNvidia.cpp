// NVIDIA GPUs, as code for them is made: PTX from the compiler, a cubin from the assembler. Where there is no
// assembler the driver's own takes the PTX at the first launch.
#include "compiler/Builders.h"
#include "compiler/Ptx.h"
#include "ir/tile/Tile.h"
#include "targets/nvidia/AssembleForOccupancy.h"
#include "targets/nvidia/Assembler.h"
#include "targets/nvidia/KernelText.h"
#include "targets/nvidia/Occupancy.h"
#include "targets/nvidia/Pipeline.h"
#include "targets/nvidia/ToolSearch.h"

#include <limits>

namespace tegula::compiler {
namespace {

constexpr std::string_view ptxPart = "ptx", cubinPart = "cubin";

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

// Assembles a kernel whose programs have a multiprocessor each: with all registers that a thread can have, of
// which the assembler would leave some for other programs. nullopt: it is assembled as any other.
std::optional<nvidia::Assembled> assembleAlone(std::string &ptx, const TargetOptions &options,
                                               const artifact::LaunchData &launch) {
  if (launch.programs != artifact::Programs::Alone || options.maxRegisters || nvidia::isBound(ptx))
    return std::nullopt;
  std::string bounded = nvidia::withRegisterBound(ptx, nvidia::mostRegisters(launch.warps));
  Result<nvidia::Assembled> assembled = nvidia::assemble(bounded, options.arch);
  if (!assembled || assembled->registers < 0 || nvidia::serializes(*assembled))
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
  auto assemble = [&](const std::string &text, int registers) {
    return nvidia::assemble(text, options.arch, registers ? nullptr : lasting);
  };
  Result<nvidia::Architecture> architecture = nvidia::findArchitecture(options.arch);
  bool isAsked = ptx != bound, isFree = architecture && !codegen::gives(options.given, ptxPart);
  Result<nvidia::Assembled> free =
      isFree ? nvidia::assembleForOccupancy(ptx, {launch.warps, launch.sharedBytes, mostAskedFor(options)},
                                            *architecture, assemble)
             : assemble(ptx, 0);
  if (!free || !isAsked || (free->registers >= 0 && free->registers <= mostAskedFor(options)))
    return free;
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
