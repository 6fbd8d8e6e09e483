#include "targets/nvidia/Nvidia.h"
#include "codegen/llvm/Arithmetic.h"
#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/Target.h"
#include "codegen/simt/Emitter.h"
#include "codegen/simt/WideProducts.h"
#include "convert/TileToSimt.h"
#include "targets/nvidia/Architecture.h"
#include "targets/nvidia/NvidiaHardware.h"
#include "targets/nvidia/NvidiaMachine.h"
#include "targets/nvidia/Ops.h"
#include "transforms/CheckRemainders.h"
#include "transforms/ChunkLargeTiles.h"
#include "transforms/HoistConverts.h"
#include "transforms/MarkVolatileStores.h"
#include "transforms/OperandsInShared.h"
#include "transforms/PipelineLoops.h"
#include "transforms/PlanConverts.h"
#include "transforms/SharedMemory.h"
#include "transforms/SplitLoopCarriedOffsets.h"

#include "mlir/Transforms/Passes.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

#include <chrono>
#include <mutex>

using namespace mlir;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tegula::nvidia {

namespace {

class Laps {
public:
  explicit Laps(std::vector<StageTime> &times) : times_(times) {}
  void lap(std::string stage) {
    auto now = std::chrono::steady_clock::now();
    times_.push_back({std::move(stage), std::chrono::duration<double, std::milli>(now - start_).count()});
    start_ = now;
  }

private:
  std::vector<StageTime> &times_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<std::unique_ptr<llvm::TargetMachine>> makeMachine(const Architecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return Status::error(StatusCode::Unsupported,
                         "this build has no code generator for NVIDIA GPUs: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture.name, architecture.features(), options,
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

// Loops over small tiles of memory live of the bytes on their way. Left alone, the assembler gives them few
// registers, so that as many threads as possible fit; told that this many threads of a multiprocessor
// do, it lets several trips' loads run together. Measured on an H200: three-pass LayerNorm and
// softmax take 4 to 7 % less time at 640 than at 2048 (docs/performance/gpu.md).
constexpr int streamingThreads = 640;
constexpr int64_t mostElementsOfThread = 32; // above, registers are short without this

bool loopsOverMemory(tile::FuncOp function, int warps) {
  bool found = false, small = true;
  function.walk([&](tile::DotOp dot) { small = false; }); // products live of their registers
  function.walk([&](tile::LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    found |= type && load->getParentOfType<LoopLikeOpInterface>();
    small &= !type || type.getNumElements() <= mostElementsOfThread * 32 * warps;
  });
  return found && small;
}

// A thread that streams keeps at most so many elements of a tile; above, it runs over chunks.
constexpr int64_t mostElementsOfStream = 64, chunkElements = 16;

// Holds what LLVM makes of a kernel; the context is destroyed last.
struct Code {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

// Marks the kernel and its launch bounds.
void markKernel(llvm::Function &kernel, const NvidiaOptions &options, bool streams) {
  kernel.setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel.addFnAttr("nvvm.reqntid", std::to_string(32 * options.numWarps) + ",1,1");
  if (options.maxRegisters)
    kernel.addFnAttr("nvvm.maxnreg", std::to_string(options.maxRegisters));
  else if (streams)
    kernel.addFnAttr("nvvm.minctasm", std::to_string((streamingThreads + 32 * options.numWarps - 1) /
                                                     (32 * options.numWarps)));
}

// Tile IR -> simt with its shared memory allocated, in place; one line a step. `stages`: of loops that load
// ahead.
Status lowerToSimt(ModuleOp module, const NvidiaOptions &options, const NvidiaMachine &machine,
                   unsigned stages, std::vector<diag::Remark> &remarks) {
  MLIRContext &context = *module.getContext();
  int64_t threads = 32 * options.numWarps;
  auto functions = module.getOps<tile::FuncOp>();
  for (tile::FuncOp function : functions) {
    transforms::markVolatileStores(function);
    if (transforms::chunkLargeTiles(function, mostElementsOfStream * threads, chunkElements * threads))
      remarks.push_back({tile::locationText(function.getLoc()), "nest",
                         "tiles too large for registers: a loop over chunks of " +
                             std::to_string(chunkElements * threads) + " elements"});
  }
  convert::widenFactors(module, machine);      // no instruction takes them
  transforms::splitLoopCarriedOffsets(module); // addresses become sums that analyses see
  PassManager before(&context);
  before.addPass(createCSEPass());           // equal addresses become equal values
  before.addPass(createCanonicalizerPass()); // carried values that nothing changes disappear
  before.addPass(createLoopInvariantCodeMotionPass());
  if (failed(before.run(module)))
    return Status::error(StatusCode::Internal, "tile IR does not verify");
  for (tile::FuncOp function : functions)
    transforms::checkRemainders(function, remarks); // so that widths may rest on them
  convert::tileToSimt(module, {unsigned(options.numWarps), machine}, remarks);
  for (tile::FuncOp function : functions) {
    transforms::hoistConverts(function); // loads meet the conversions that products want
    if (machine.hasAsyncCopy)
      transforms::pipelineLoops(function, stages, remarks);
  }
  PassManager after(&context);
  after.addPass(createCSEPass()); // addresses that were computed again, once a layout
  after.addPass(createLoopInvariantCodeMotionPass());
  if (failed(after.run(module)))
    return Status::error(StatusCode::Internal, "simt does not verify");
  if (machine.hasMatrixLoad)
    for (tile::FuncOp function : functions)
      transforms::operandsInShared(function, machine.registers, remarks);
  transforms::planConverts(module, remarks);
  if (Status status = transforms::allocateShared(module, machine.sharedBytes); !status.ok())
    return status;
  transforms::insertBarriers(module);
  return checkLegal(module); // what passes made, too
}

// The same for a copy of `module`. Where nobody asked for a number of stages fewer are taken until the
// buffers fit.
Result<OwningOpRef<ModuleOp>> simtOf(ModuleOp module, const NvidiaOptions &options,
                                     const NvidiaMachine &machine, std::vector<diag::Remark> &remarks) {
  constexpr unsigned defaultStages = 3;
  for (unsigned stages = options.numStages ? unsigned(options.numStages) : defaultStages;; --stages) {
    OwningOpRef<ModuleOp> copy = module.clone();
    std::vector<diag::Remark> own;
    Status status = lowerToSimt(*copy, options, machine, stages, own);
    if (!status.ok() && (status.code != StatusCode::Resource || options.numStages || stages == 1))
      return status;
    if (!status.ok())
      continue;
    if (!options.numStages && stages != defaultStages)
      own.push_back({"", "pipeline",
                     "num_stages=" + std::to_string(stages) + ": more does not fit into shared memory"});
    llvm::move(own, std::back_inserter(remarks));
    return copy;
  }
}

} // namespace

Result<Artifact> compile(ModuleOp module, const NvidiaOptions &options, const Texts &texts) {
  Result<Architecture> architecture = findArchitecture(options.arch);
  if (!architecture)
    return architecture.status();
  NvidiaMachine targetMachine(*architecture);
  Artifact artifact;
  artifact.numWarps = unsigned(options.numWarps);
  Laps laps(artifact.times);

  simt::loadDialects(*module.getContext());
  if (Status status = checkLegal(module); !status.ok())
    return status;
  Result<OwningOpRef<ModuleOp>> lowered = simtOf(module, options, targetMachine, artifact.remarks);
  if (!lowered)
    return lowered.status();
  OwningOpRef<ModuleOp> &copy = *lowered;
  artifact.sharedBytes = uint64_t((*copy)->getAttrOfType<IntegerAttr>(simt::sharedBytesName).getInt());
  if (texts.simt) {
    llvm::raw_string_ostream out(artifact.simt);
    copy->print(out); // with aliases for the layouts
    out << "\n";
  }
  laps.lap("simt");

  Result<std::unique_ptr<llvm::TargetMachine>> machine = makeMachine(*architecture);
  if (!machine)
    return machine.status();
  auto state = std::make_shared<Code>(std::make_unique<llvm::LLVMContext>(), nullptr, std::move(*machine));
  std::unique_ptr<llvm::Module> &code = state->module;
  code = std::make_unique<llvm::Module>("tegula", *state->context);
  code->setTargetTriple(state->machine->getTargetTriple());
  code->setDataLayout(state->machine->createDataLayout());
  NvidiaHardware hardware(architecture->capability, unsigned(options.numWarps));
  auto function = *copy->getOps<tile::FuncOp>().begin();
  artifact.entry = function.getSymName().str();
  simt::Emitter emitter(*code, hardware, ops(), unsigned(options.numWarps));
  markKernel(*emitter.emit(function, artifact.entry), options, loopsOverMemory(function, options.numWarps));
  if (!options.fusesMultiplyAdd)
    codegen::forbidContraction(*code);
  code->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  std::string complaint;
  llvm::raw_string_ostream complaints(complaint);
  if (llvm::verifyModule(*code, &complaints))
    return Status::error(StatusCode::Internal, "the generated LLVM IR is invalid: " + complaint);
  if (Status status = codegen::linkMathlib(*code); !status.ok())
    return status;
  // Slow paths that the library keeps apart become part of the kernel: a call would cost a stack.
  for (llvm::Function &each : *code)
    if (each.hasInternalLinkage() && !each.isDeclaration()) {
      each.removeFnAttr(llvm::Attribute::NoInline);
      each.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  laps.lap("emit");
  if (texts.llvm)
    llvm::raw_string_ostream(artifact.llvm) << *code;
  if (Status status = codegen::optimize(*code, *state->machine); !status.ok()) {
    codegen::abandon(std::move(state));
    return status;
  }
  for (llvm::Function &each : *code)
    simt::shareWideProducts(each);
  for (llvm::Function &each : *code)
    orderAccesses(each);
  laps.lap("optimize");
  Result<std::string> ptx = codegen::emitAssembly(*code, *state->machine);
  if (!ptx) {
    codegen::abandon(std::move(state));
    return ptx.status();
  }
  artifact.ptx = std::move(*ptx);
  laps.lap("ptx");
  return artifact;
}

} // namespace tegula::nvidia
