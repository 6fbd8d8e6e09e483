// The pipeline of this target as a table of contents, and the passes that no other target has.
#include "targets/cpu/Pipeline.h"

#include "codegen/llvm/Recovery.h"
#include "ir/tile/Tile.h"
#include "pipeline/Passes.h"
#include "targets/cpu/Ops.h"
#include "targets/cpu/ProgramEmitter.h"

#include "llvm/MC/MCSubtargetInfo.h"

using namespace mlir;

namespace tegula::cpu {

namespace {

using pipeline::Pass;
using pipeline::Unit;

CpuUnit &own(Unit &unit) { return static_cast<CpuUnit &>(unit); }
tile::FuncOp kernelOf(const Unit &unit) {
  ModuleOp module = unit.module;
  return *module.getOps<tile::FuncOp>().begin();
}

CpuModel describe(const llvm::TargetMachine &machine) {
  CpuModel result;
  const llvm::MCSubtargetInfo *info = machine.getMCSubtargetInfo();
  bool avx512 = info->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl");
  bool avx2 = info->checkFeatures("+avx2");
  result.vectorBytes = avx512 ? 64 : avx2 ? 32 : 16;
  result.hasByteProducts =
      info->checkFeatures(avx512 ? "+avx512vnni" : "+avxvnni") && result.vectorBytes >= 32;
  result.hasBf16Products = avx512 && info->checkFeatures("+avx512bf16");
  result.hasPairExchange = info->checkFeatures("+cx16");
  result.hasFma = info->checkFeatures("+fma");
  return result;
}

Status plan(Unit &any) {
  CpuUnit &unit = own(any);
  unit.plan = analysis::planNests(kernelOf(unit), unit.access);
  return {};
}

Status emitCode(Unit &any) {
  CpuUnit &unit = own(any);
  tile::FuncOp function = kernelOf(unit);
  auto machine = codegen::makeHostMachine(unit.cpu);
  if (!machine)
    return machine.status();
  unit.code = codegen::makeCode(function.getSymName(), std::move(*machine));
  CpuModel description = describe(*unit.code->machine);
  if (uint64_t cache = unit.cpu.empty() ? codegen::hostCacheBytes() : 0)
    description.cacheBytes = cache;
  unit.symbol = "tegula_" + function.getSymName().str();
  ProgramEmitter program(*unit.code->module, description, *unit.plan, unit.access, unit.remarks);
  for (const analysis::Decision &decision : unit.plan->decisions())
    program.remark(decision.op, decision.kind, "a tile is kept in memory: " + decision.text);
  program.emit(function, unit.symbol);
  return {};
}

Status emitBytes(Unit &any) {
  CpuUnit &unit = own(any);
  auto object = codegen::emitObject(*unit.code->module, *unit.code->machine);
  if (!object) {
    codegen::abandon(std::move(unit.code));
    return object.status();
  }
  unit.object = std::move(*object);
  return {};
}

constexpr Pass refuseUnlowered{"refuse-unlowered", nullptr,
                               "an op that no row of this target lowers is refused by name and place",
                               [](Unit &unit) { return checkLegality(kernelOf(unit)); }};
constexpr Pass planNests{"plan-nests", "nests",
                         "loops are decided: what is recomputed, streamed, accumulated or buffered", plan};
constexpr Pass emitLlvm{"emit-llvm", "llvm", "the plan becomes loops over native vectors in LLVM IR",
                        emitCode};
constexpr Pass emitObject{"emit-object", "obj", "LLVM's code generator writes the machine's code", emitBytes};

constexpr pipeline::Row table[] = {
    {"plan", &refuseUnlowered},
    {"plan", &pipeline::markVolatileStores},
    {"plan", &pipeline::countWhiles},
    {"plan", &pipeline::splitLoopCarriedOffsets},
    {"plan", &pipeline::cse},
    {"plan", &pipeline::canonicalize},
    {"plan", &pipeline::loopInvariantCodeMotion},
    {"plan", &refuseUnlowered}, // what passes made, too
    {"plan", &planNests},
    {"emit", &emitLlvm},
    {"emit", &pipeline::forbidContraction},
    {"emit", &pipeline::linkExternLibraries},
    {"emit", &pipeline::linkMathlib},
    {"optimize", &pipeline::optimize},
    {"codegen", &emitObject},
};

// No neutral pass of this pipeline asks it anything: lanes and registers are emission's business.
const simt::Machine noMachine;

} // namespace

CpuUnit::CpuUnit() : Unit(noMachine) {}

std::string CpuUnit::text() const {
  if (!object.empty())
    return "; an object of " + std::to_string(object.size()) + " bytes; `--emit asm` has its text\n";
  if (plan && !code)
    return analysis::print(kernelOf(*this), *plan);
  return Unit::text();
}

std::span<const pipeline::Row> rows() { return table; }

} // namespace tegula::cpu
