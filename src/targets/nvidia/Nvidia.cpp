// From a module to an artifact: one run over the rows of Pipeline.cpp, with fewer stages where what was asked
// for does not fit.
#include "targets/nvidia/Nvidia.h"
#include "base/OverLimit.h"
#include "pipeline/GivenStage.h"
#include "targets/nvidia/Occupancy.h"
#include "targets/nvidia/Pipeline.h"

#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OwningOpRef.h"

#include <algorithm>

using namespace mlir;

namespace tegula::nvidia {

namespace {

using pipeline::Looks;

// Returns the fewest stages that are taken where `asked` do not fit (0: nobody asked). Upstream's rings have
// one slot less than the stages that its users ask for, so that a number that fits there may be one too many
// here. It has no rings in `while` loops, so that there any number fits.
unsigned fewestStages(ModuleOp module, int asked) {
  bool hasWhile = module->walk([](scf::WhileOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return asked && !hasWhile ? unsigned(std::max(asked - 1, 1)) : 1;
}

// Tile IR -> simt, of a copy of `module` that the unit then has, with fewer stages where the buffers do not
// fit.
Result<OwningOpRef<ModuleOp>> toSimt(ModuleOp module, int numStages, NvidiaUnit &unit, const Looks *looks,
                                     std::vector<pipeline::StageTime> &times) {
  constexpr unsigned defaultStages = 3;
  const unsigned wanted = numStages ? unsigned(numStages) : defaultStages;
  const unsigned fewest = fewestStages(module, numStages);
  Status refusal;
  for (unit.stages = wanted;; --unit.stages) {
    OwningOpRef<ModuleOp> copy = module.clone();
    unit.module = *copy;
    unit.remarks.clear();
    Status status = pipeline::runStage(rows(), "simt", unit, looks, times);
    if (!status.ok()) {
      if (status.code != StatusCode::Resource)
        return status;
      // The buffers that a user is told of are those of the stages that he asked for.
      if (refusal.ok() || !numStages)
        refusal = status;
      if (unit.stages == fewest)
        return refusal;
      continue;
    }
    if (unit.stages != wanted)
      unit.remarks.push_back(
          {"", "pipeline",
           "num_stages=" + std::to_string(unit.stages) + ": more do not fit into shared memory"});
    return copy;
  }
}

// PTX has at most 32,764 bytes of parameters, and two pointers of our own stand behind a kernel's.
Status checkParameters(ModuleOp module) {
  constexpr size_t most = 32764;
  size_t bytes = 0;
  for (tile::FuncOp function : module.getOps<tile::FuncOp>())
    for (Type type : function.getArgumentTypes()) {
      size_t size = type.isIntOrFloat() ? (type.getIntOrFloatBitWidth() + 7) / 8 : 8;
      bytes = (bytes + size - 1) / size * size + size;
    }
  bytes = (bytes + 7) / 8 * 8 + 2 * 8;
  if (bytes <= most)
    return {};
  return Status::error(StatusCode::Resource,
                       overLimit("arguments", bytes, most) +
                           " bytes; hint: pass a tensor of addresses in the place of pointers");
}

} // namespace

Result<Artifact> compile(ModuleOp module, const NvidiaOptions &options, const Texts &texts) {
  Result<Architecture> architecture = findArchitecture(options.arch);
  if (!architecture)
    return architecture.status();
  if (Status status = checkParameters(module); !status.ok())
    return status;
  if (Status status = pipeline::checkGiven(options.given, {"llvm", "ptx"}); !status.ok())
    return status;
  NvidiaMachine machine(*architecture);
  if (options.maxRegisters)
    machine.registers = std::min(machine.registers, unsigned(options.maxRegisters));
  machine.isAlone = options.isAlone;
  NvidiaUnit unit(*architecture, machine);
  unit.warps = unsigned(options.numWarps);
  unit.fusesMultiplyAdd = options.fusesMultiplyAdd;
  unit.libraries = options.libraries;
  Artifact artifact;
  artifact.numWarps = unit.warps;
  simt::loadDialects(*module.getContext());
  Result<OwningOpRef<ModuleOp>> lowered =
      toSimt(module, options.numStages, unit, texts.looks, artifact.times);
  if (!lowered)
    return lowered.status();
  artifact.remarks = std::move(unit.remarks);
  artifact.sharedBytes = uint64_t(unit.module->getAttrOfType<IntegerAttr>(simt::sharedBytesName).getInt());
  artifact.copyMaps = simt::copyMapsOf(unit.module);
  if (texts.simt)
    artifact.simt = unit.text() + "\n";
  for (const char *stage : {"emit", "optimize", "ptx"}) {
    if (Status status = pipeline::runStage(rows(), stage, unit, texts.looks, artifact.times); !status.ok())
      return status;
    if (llvm::StringRef(stage) != "emit")
      continue;
    if (codegen::gives(options.given, "llvm"))
      if (Status status = pipeline::readCode(*options.given, unit.entry, *unit.code); !status.ok())
        return status;
    if (texts.llvm)
      artifact.llvm = unit.text();
  }
  const bool isGiven = codegen::gives(options.given, "ptx");
  if (isGiven) {
    if (Status status = pipeline::checkPtx(*options.given, unit.ptx); !status.ok())
      return status;
    unit.ptx = options.given->bytes;
  }
  artifact.entry = std::move(unit.entry);
  artifact.unbound = std::move(unit.ptx);
  const bool isBound = isGiven || artifact.unbound.find(".maxnreg") != std::string::npos;
  artifact.ptx = options.maxRegisters && !isBound ? withRegisterBound(artifact.unbound, options.maxRegisters)
                                                  : artifact.unbound;
  return artifact;
}

} // namespace tegula::nvidia
