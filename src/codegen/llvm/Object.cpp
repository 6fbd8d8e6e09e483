// The machine, and code generation to an object or to text.
#include "codegen/llvm/BoundedPasses.h"
#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <cpuid.h>
#include <mutex>

namespace tegula::codegen {

namespace {

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

Result<std::string> generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  bool knowsKind = true;
  Status status = recoverably(module.getContext(), [&] {
    llvm::raw_svector_ostream out(bytes);
    BoundedPasses passes(module, machine);
    knowsKind = !machine.addPassesToEmitFile(passes, out, nullptr, kind, /*DisableVerify=*/true);
    if (knowsKind)
      passes.run(module);
  });
  if (!status.ok())
    return status;
  if (!knowsKind)
    return Status::error(StatusCode::Internal, "LLVM cannot emit this kind of file for the machine");
  return std::string(bytes.data(), bytes.size());
}

struct Processor {
  std::string name, features;
};

// The one at hand: asked once, since each question may be a trap into a hypervisor.
const Processor &hostProcessor() {
  static const Processor host = [] {
    Processor found{llvm::sys::getHostCPUName().str(), {}};
    llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> sorted;
    for (auto &feature : features)
      sorted.push_back((feature.second ? "+" : "-") + feature.first().str());
    llvm::sort(sorted);
    found.features = llvm::join(sorted, ",");
    return found;
  }();
  return host;
}

} // namespace

bool hasFeature(const llvm::TargetMachine &machine, std::string_view feature) {
  return machine.getMCSubtargetInfo()->checkFeatures("+" + std::string(feature));
}

Result<std::unique_ptr<llvm::TargetMachine>> makeHostMachine(const std::string &cpu) {
  initializeOnce();
  std::string triple = llvm::sys::getDefaultTargetTriple(), error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
  if (!target)
    return Status::error(StatusCode::Unsupported, "no code generator for " + triple + ": " + error);
  // Asked of a description without a name: LLVM prints to stderr about one it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(llvm::Triple(triple), "", ""));
  auto isKnown = [&] {
    if (!known || !known->isCPUStringValid(cpu))
      return false;
    std::unique_ptr<llvm::MCSubtargetInfo> named(
        target->createMCSubtargetInfo(llvm::Triple(triple), cpu, ""));
    return named && named->checkFeatures("+64bit"); // `pentium` has a name, and registers of 32 bits only
  };
  if (!cpu.empty() && !isKnown())
    return Status::error(StatusCode::Unsupported, "LLVM knows no x86-64 machine named `" + cpu +
                                                      "`; hint: names are as in `haswell`, `znver4`, "
                                                      "`sapphirerapids`; `native` is this machine");
  const auto &[name, features] = cpu.empty() ? hostProcessor() : Processor{cpu, {}};
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(llvm::Triple(triple), name, features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return Status::error(StatusCode::Unsupported, "LLVM has no machine named " + name);
  return machine;
}

static uint64_t askForCacheBytes() {
  // CPUID's list of caches, as Intel (leaf 4) and AMD (leaf 0x8000001d) give it: the largest one
  // is that of one group of cores. What sysconf says is the sum over the groups of the host.
  uint64_t largest = 0;
  for (unsigned leaf : {4u, 0x8000001du})
    for (unsigned index = 0, a, b, c, d; index < 8; ++index) {
      if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d) || (a & 0x1f) == 0)
        break;
      uint64_t ways = (b >> 22) + 1, partitions = (b >> 12 & 0x3ff) + 1, line = (b & 0xfff) + 1;
      largest = std::max(largest, ways * partitions * line * (uint64_t(c) + 1));
    }
  return largest;
}

uint64_t hostCacheBytes() {
  static const uint64_t bytes = askForCacheBytes();
  return bytes;
}

Result<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  return generate(module, machine, llvm::CodeGenFileType::ObjectFile);
}

Result<std::string> emitAssembly(llvm::Module &module, llvm::TargetMachine &machine) {
  return generate(module, machine, llvm::CodeGenFileType::AssemblyFile);
}

} // namespace tegula::codegen
