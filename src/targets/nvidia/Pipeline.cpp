// The pipeline of this target as a table of contents, and the passes that no other target has.
#include "targets/nvidia/Pipeline.h"

#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/UnrollWaiting.h"
#include "codegen/simt/Emitter.h"
#include "codegen/simt/WideProducts.h"
#include "ir/simt/Chunks.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Elementwise.h"
#include "pipeline/Passes.h"
#include "targets/nvidia/ConstantFactors.h"
#include "targets/nvidia/CopiesBehindReads.h"
#include "targets/nvidia/DisjointOffsets.h"
#include "targets/nvidia/EqualPieces.h"
#include "targets/nvidia/FactorsUnderWay.h"
#include "targets/nvidia/GatheredBytes.h"
#include "targets/nvidia/KeptSums.h"
#include "targets/nvidia/LonePairs.h"
#include "targets/nvidia/MasksOfAccesses.h"
#include "targets/nvidia/NarrowDifferences.h"
#include "targets/nvidia/NvidiaHardware.h"
#include "targets/nvidia/OffsetProducts.h"
#include "targets/nvidia/Ops.h"
#include "targets/nvidia/ProductSteps.h"
#include "targets/nvidia/RegistersUnderWay.h"
#include "targets/nvidia/SharedComparisons.h"
#include "targets/nvidia/SharedDivisors.h"
#include "targets/nvidia/SharedSums.h"
#include "targets/nvidia/SignedZeros.h"
#include "targets/nvidia/SunkComparisons.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"

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

using pipeline::Pass;
using pipeline::Unit;

NvidiaUnit &own(Unit &unit) { return static_cast<NvidiaUnit &>(unit); }

Result<std::unique_ptr<llvm::TargetMachine>> makeMachine(const Architecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses of shared memory have 32 bits: in 64 the assembler adds them with carries.
    if (llvm::cl::Option *narrow = llvm::cl::getRegisteredOptions().lookup("nvptx-short-ptr"))
      static_cast<llvm::cl::opt<bool> *>(narrow)->setValue(true);
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return Status::error(StatusCode::Unsupported,
                         "this build has no code generator for NVIDIA GPUs: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // More would number values over all paths, twice, in a third of the code generator's time: EarlyCSE finds
  // what is equal here, and the assembler looks again.
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture.name, architecture.features(), options,
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// Registers of a thread that a loop's tiles take: those it carries and loads, and floats from outside.
// Indices and masks from there are recomputed as needed.
unsigned registersHeld(Operation *loop) {
  llvm::SetVector<Value> tiles;
  loop->walk([&](Operation *op) {
    if (isa<tile::LoadOp>(op))
      tiles.insert(op->getResult(0));
    for (Value operand : op->getOperands())
      if (isa<FloatType>(tile::elementType(operand.getType())) &&
          !operand.getDefiningOp<arith::ConstantOp>() &&
          !loop->isAncestor(operand.getParentRegion()->getParentOp())) {
        while (auto wide = operand.getDefiningOp<tile::BroadcastOp>())
          operand = wide.getOperand(); // its copies are no registers of their own
        tiles.insert(operand);
      }
  });
  for (Region &region : loop->getRegions())
    for (Value argument : region.getArguments())
      tiles.insert(argument);
  unsigned registers = 0;
  for (Value tile : tiles)
    if (!isa<tile::PointerType>(tile::elementType(tile.getType())))
      registers += simt::registersOf(tile.getType());
  return registers;
}

bool carriesNumbers(LoopLikeOpInterface loop) {
  return llvm::any_of(loop.getRegionIterArgs(),
                      [](Value carried) { return isa<FloatType>(tile::elementType(carried.getType())); });
}

// Does a loop reduce a tile that it carries, element by element as it carries it? It is a recurrence: its
// trips wait for one another, and the loads of each had better start together.
bool keepsReduced(scf::ForOp loop) {
  llvm::SetVector<Value> reached;
  loop.getBody()->walk([&](tile::ReduceOp reduce) {
    for (Value operand : reduce.getOperands())
      if (cast<RankedTensorType>(operand.getType()).getRank() > 1)
        reached.insert(operand);
  });
  for (unsigned i = 0; i != reached.size(); ++i) {
    if (auto carried = dyn_cast<BlockArgument>(reached[i]); carried && carried.getOwner() == loop.getBody())
      return true;
    Operation *op = reached[i].getDefiningOp();
    if (op && op->getParentOp() == loop && tile::isElementwise(op))
      reached.insert_range(op->getOperands());
  }
  return false;
}

// Does the loop run over chunks of a tile (simt.chunks), and reduce, scan or gather from them?
bool reducesChunks(LoopLikeOpInterface loop) {
  return loop->hasAttr(simt::chunksName) &&
         loop->walk([](Operation *op) {
               bool gathers = isa<tile::ReduceOp, tile::ScanOp, tile::GatherOp>(op);
               return gathers ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted();
}

// Do the warps meet in each trip of every loop that loads tiles, and do these bring more than a few elements?
// For reductions of it, or since it stores to what it loads. (A recurrence step by step, whose trips bring a
// few, took 1.2 times as long without a bound.)
bool loadsMeet(tile::FuncOp function, const simt::Costs &costs) {
  unsigned brought = 0;
  bool someRunsAhead = false;
  function.walk([&](tile::LoadOp load) {
    auto loop = load->getParentOfType<LoopLikeOpInterface>();
    if (!isa<RankedTensorType>(load.getType()) || !loop)
      return;
    brought += simt::registersOf(load.getType());
    someRunsAhead |= !loop->walk([](Operation *op) {
                            bool meets =
                                isa<simt::BarrierOp, tile::BarrierOp>(op) || op->hasAttr(simt::scratchName);
                            return meets ? WalkResult::interrupt() : WalkResult::advance();
                          })
                          .wasInterrupted();
  });
  return !someRunsAhead && brought > costs.heldAhead / 2;
}

// Does the loop's number of trips come from memory, as that of a segment or of a row of a sparse matrix?
bool isCountedInMemory(LoopLikeOpInterface loop) {
  auto count = dyn_cast<scf::ForOp>(loop.getOperation());
  if (!count)
    return false;
  llvm::SetVector<Operation *> ops;
  auto reach = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      ops.insert(op);
  };
  reach(count.getLowerBound());
  reach(count.getUpperBound());
  for (unsigned i = 0; i != ops.size(); ++i) {
    if (isa<tile::LoadOp>(ops[i]))
      return true;
    if (ops[i]->getNumRegions() == 0)
      llvm::for_each(ops[i]->getOperands(), reach);
  }
  return false;
}

// Registers of a thread that the tiles take which one trip of a loop loads, of the loop that loads most.
unsigned mostBrought(tile::FuncOp function) {
  llvm::DenseMap<Operation *, unsigned> brought;
  function.walk([&](tile::LoadOp load) {
    auto loop = load->getParentOfType<LoopLikeOpInterface>();
    if (loop && isa<RankedTensorType>(load.getType()))
      brought[loop] += simt::registersOf(load.getType());
  });
  unsigned most = 0;
  for (auto [loop, registers] : brought)
    most = std::max(most, registers);
  return most;
}

// Registers that the loads of a trip take, above which a loop whose warps meet has room for them. With fewer
// the assembler starts nearly all of them together by itself.
constexpr unsigned fullTrip = 96;

// Returns of how many threads of a multiprocessor the assembler is told to leave room for; 0: of none.
//
// Loops over tiles of memory live of the bytes on their way. Left alone, the assembler gives them few
// registers, so that as many threads as possible fit, if need be by having one load wait for another; told
// that so many threads of a multiprocessor do (Costs.def), it lets a trip's loads, and several trips', run
// together. Measured on an H200: three-pass LayerNorm and softmax take 4 to 7 % less time at 640 than at 2048
// (docs/performance/gpu.md). A loop that holds more than small tiles is given as many registers as a thread
// can name: with fewer a backward pass of RMSNorm on four warps spilled, and took 1.8 times as long. But
// where no loop carries numbers, large tiles are loads enough under way: 8x1024 elements by accesses of two
// bytes had 255 registers so, 96 without a bound, and took 2.5 times as long for the programs left out.
// Chunks are such loops, too, unless something is reduced, scanned or gathered in them (1.1 to 1.3 times as
// long without a bound): told of 255 registers for a product with a sigmoid, the assembler let each load wait
// for the one before, and it took 2.8 times as long. Loops whose warps meet are left alone: nothing
// is loaded ahead across a barrier, and other programs' warps are what fills the time; but where a trip
// brings very much, its loads are to start together (rejection sampling of lmdeploy: 48 loads of 16 bytes a
// trip, of which few were under way at a time in 112 registers). Products live of their registers. A
// recurrence that keeps a tile has room for what it holds: left alone, the assembler moves its loads down to
// their first uses, and a trip waits for memory once for each. A trip whose warps do not meet, and that
// brings more than half of what a thread can name, has loads enough under way with few registers, and what it
// computes of each in turn fills the time of other programs' waits (rows of a product with a small factor,
// each from a load of its own: 228 registers in place of 56, and 1.6 times as long). A loop over a segment
// has few trips, of which few run together, and many short programs, of which room would leave out some
// (mean of segments of four rows: 40 registers in place of 24, and 1.3 times as long).
unsigned threadsWithRoom(tile::FuncOp function, const NvidiaUnit &unit) {
  const simt::Costs &costs = unit.machine.costs;
  int64_t most = costs.streamedElements * 32 * unit.warps;
  double room = unit.machine.registerFile / unsigned(costs.streamingThreads) * costs.heldStreaming;
  bool found = false, small = true, multiplies = false, isKept = false, carries = false, isLong = false;
  unsigned held = 1;
  function.walk([&](LoopLikeOpInterface loop) {
    held = std::max(held, registersHeld(loop));
    carries |= carriesNumbers(loop) || reducesChunks(loop);
    auto count = dyn_cast<scf::ForOp>(loop.getOperation());
    isKept |= count && keepsReduced(count);
  });
  small &= held <= room;
  function.walk([&](Operation *op) { multiplies |= isa<tile::DotOp, simt::DotAsyncOp>(op); });
  function.walk([&](tile::LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    auto loop = load->getParentOfType<LoopLikeOpInterface>();
    found |= type && loop;
    isLong |= type && loop && !isCountedInMemory(loop);
    small &= !type || type.getNumElements() <= most;
  });
  unsigned brought = mostBrought(function);
  bool meets = loadsMeet(function, costs);
  bool startsTogether = meets && unit.warps > 1 && brought > fullTrip;
  carries &= meets || brought <= unit.machine.registers / 2;
  bool gains = isKept || startsTogether || ((small || carries) && !meets && isLong);
  if (!found || multiplies || !gains)
    return 0;
  if (isKept || startsTogether)
    return std::min(unsigned(costs.streamingThreads),
                    unsigned(unit.machine.registerFile * costs.heldStreaming / held));
  return unsigned(small ? costs.streamingThreads : costs.crowdedThreads);
}

// Marks the kernel and its launch bounds.
void markKernel(llvm::Function &kernel, const NvidiaUnit &unit, unsigned withRoom) {
  unsigned threads = 32 * unit.warps;
  kernel.setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel.addFnAttr("nvvm.reqntid", std::to_string(threads) + ",1,1");
  if (unit.machine.isAlone)
    kernel.addFnAttr(codegen::aloneName);
  if (withRoom)
    kernel.addFnAttr("nvvm.minctasm", std::to_string(std::max(withRoom / threads, 1u)));
}

Status emitCode(Unit &any) {
  NvidiaUnit &unit = own(any);
  Result<std::unique_ptr<llvm::TargetMachine>> machine = makeMachine(unit.architecture);
  if (!machine)
    return machine.status();
  unit.code = codegen::makeCode("tegula", std::move(*machine));
  llvm::Module &code = *unit.code->module;
  NvidiaHardware hardware(unit.architecture.capability, unit.warps);
  auto function = *unit.module.getOps<tile::FuncOp>().begin();
  unit.entry = function.getSymName().str();
  simt::Emitter emitter(code, hardware, ops(), unit.machine.costs, unit.warps);
  markKernel(*emitter.emit(function, unit.entry), unit, threadsWithRoom(function, unit));
  code.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  return {};
}

Status emitText(Unit &any) {
  NvidiaUnit &unit = own(any);
  Result<std::string> ptx = codegen::emitAssembly(*unit.code->module, *unit.code->machine);
  if (!ptx) {
    codegen::abandon(std::move(unit.code));
    return ptx.status();
  }
  unit.ptx = std::move(*ptx);
  return {};
}

Status inlineSlowPaths(Unit &unit) {
  for (llvm::Function &each : *unit.code->module)
    if (each.hasInternalLinkage() && !each.isDeclaration()) {
      each.removeFnAttr(llvm::Attribute::NoInline);
      each.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  return {};
}

template <void (*body)(llvm::Function &)> Status eachCode(Unit &unit) {
  for (llvm::Function &each : *unit.code->module)
    body(each);
  return {};
}

template <std::string (*body)(std::string_view)> Status changeText(Unit &any) {
  NvidiaUnit &unit = own(any);
  unit.ptx = body(unit.ptx);
  return {};
}

constexpr Pass refuseUnlowered{"refuse-unlowered", nullptr,
                               "an op that no row of this target lowers is refused by name and place",
                               [](Unit &unit) { return checkLegal(unit.module); }};
constexpr Pass emitLlvm{"emit-llvm", "llvm",
                        "each op becomes LLVM IR of one thread, by the target's table of ops", emitCode};
constexpr Pass inlineLibrary{
    "inline-library", "llvm",
    "slow paths that the library keeps apart become part of the kernel: a call would cost a stack",
    inlineSlowPaths};
constexpr Pass shareWideProducts{"share-wide-products", "llvm",
                                 "both halves of a wide product come from one multiplication",
                                 eachCode<simt::shareWideProducts>};
constexpr Pass divideOnce{"share-divisors", "llvm",
                          "divisions by the same number compute its reciprocal once",
                          eachCode<shareDivisors>};
constexpr Pass sumOnce{"share-sums", "llvm",
                       "sums of the same numbers, distances of rows and columns say, are computed once",
                       eachCode<shareSums>};
constexpr Pass compareOnce{
    "share-comparisons", "llvm",
    "comparisons of one number with a thread's elements become those of one difference with constants",
    eachCode<shareComparisons>};
constexpr Pass moveCopies{
    "move-copies-behind-reads", "llvm",
    "copies of later trips start beside the products of single warps, behind the reads of their factors",
    eachCode<moveCopiesBehindReads>};
constexpr Pass sinkMasks{
    "sink-comparisons", "llvm",
    "comparisons that only another block needs, a mask ahead of copies say, are made there: "
    "conditions have few registers",
    eachCode<sinkComparisons>};
constexpr Pass maskAccesses{
    "mask-accesses", "llvm",
    "what many accesses share of their masks is conjoined once, and the rest made beside each: "
    "conditions have few registers",
    eachCode<makeMasksAtAccesses>};
constexpr Pass sumOffsets{"separate-offsets", "llvm",
                          "offsets of a thread's elements are sums, not merged with its index",
                          eachCode<separateOffsets>};
constexpr Pass orderLoads{"order-accesses", "llvm",
                          "predicated loads are ordered, so that the code generator moves none past a store",
                          eachCode<orderAccesses>};
constexpr Pass orderSteps{"order-product-steps", "llvm",
                          "steps of a product start as soon as the words of their rows are there, beside the "
                          "computation of the next",
                          eachCode<orderProductSteps>};
constexpr Pass copySums{
    "copy-kept-sums", "llvm",
    "sums whose earlier values are needed behind a product are copied: the assembler confuses the two",
    eachCode<copyKeptSums>};
constexpr Pass separatePieces{"separate-equal-pieces", "llvm",
                              "pieces of a product that multiply the same rows or constants are told apart: "
                              "the assembler confuses them",
                              eachCode<separateEqualPieces>};
constexpr Pass joinBytes{"gather-bytes", "llvm",
                         "words of bytes from several others are made of these by few permutations",
                         eachCode<gatherBytes>};
constexpr Pass hideFactors{
    "hide-constant-factors", "llvm",
    "constant factors that the assembler gets wrong, pairs of floats below zero say, are hidden from it",
    eachCode<hideConstantFactors>};
constexpr Pass keepZeros{
    "keep-signs-of-zeros", "llvm",
    "choices between zeros are turned around where LLVM would take them for minima and maxima",
    eachCode<keepSignsOfZeros>};
constexpr Pass emitPtx{"emit-ptx", "ptx", "LLVM's code generator writes the text that the assembler takes",
                       emitText};
constexpr Pass keepFromUnderWay{
    "keep-from-registers-under-way", "ptx",
    "copies of registers that products under way have stand behind their wait, or ahead of them",
    changeText<keepFromRegistersUnderWay>};
constexpr Pass ownFactors{"give-factors-own-registers", "ptx",
                          "products under way read copies of the registers that other code touches meanwhile",
                          changeText<giveFactorsOwnRegisters>};
constexpr Pass widenDifferences{
    "widen-narrow-differences", "ptx",
    "16-bit differences are computed in 32 bits: the assembler takes 0 - x for one that does not wrap",
    changeText<widenNarrowDifferences>};

constexpr Pass separatePairs{
    "separate-lone-pairs", "ptx",
    "pairs of 8-bit floats that do not just make a word of two go through one: the assembler crashes at some",
    changeText<separateLonePairs>};

constexpr Pass splitProducts{
    "split-offset-products", "ptx",
    "offsets of loops of products are shifted, not multiplied: that would wait for the tensor cores",
    changeText<splitOffsetProducts>};

constexpr Pass joinProducts{
    "join-offset-products", "ptx",
    "offsets elsewhere are products of 32 bits, also of indices that LLVM has widened in another block",
    changeText<joinOffsetProducts>};

constexpr Pass addProducts{"add-offset-products", "ptx",
                           "a product of an offset and the sum with its base are one instruction",
                           changeText<addOffsetProducts>};

bool hasAsyncCopy(const simt::Machine &machine) { return machine.hasAsyncCopy; }
bool hasGroupDots(const simt::Machine &machine) { return machine.hasGroupDots; }
bool hasBulkCopy(const simt::Machine &machine) { return machine.hasBulkCopy; }
bool hasMatrixLoad(const simt::Machine &machine) { return machine.hasMatrixLoad; }

constexpr pipeline::Row table[] = {
    {"simt", &refuseUnlowered},
    {"simt", &pipeline::markVolatileStores},
    {"simt", &pipeline::relaxSums},
    {"simt", &pipeline::countWhiles},
    {"simt", &pipeline::unswitchLoops},
    {"simt", &pipeline::nestFlatLoops, hasAsyncCopy},
    {"simt", &pipeline::orderPrograms},
    {"simt", &pipeline::transposeProducts, hasMatrixLoad},
    {"simt", &pipeline::narrowFloats},
    {"simt", &pipeline::chunkLargeTiles},
    {"simt", &pipeline::widenFactors},
    {"simt", &pipeline::splitFactors},
    {"simt", &pipeline::fillMaskedLoads, hasAsyncCopy},
    {"simt", &pipeline::predicateLoads},
    {"simt", &pipeline::loadInOwnTrip, hasAsyncCopy},
    {"simt", &pipeline::splitLoopCarriedOffsets},
    {"simt", &pipeline::splitMaskedLoops, hasGroupDots},
    {"simt", &pipeline::unrollAsAsked, hasAsyncCopy},
    {"simt", &pipeline::splitNarrowLoops},
    {"simt", &pipeline::unrollElementwiseLoops},
    {"simt", &pipeline::cse},
    {"simt", &pipeline::canonicalize},
    {"simt", &pipeline::loopInvariantCodeMotion},
    {"simt", &pipeline::hoistLoads},
    {"simt", &pipeline::versionUnalignedLoops, hasAsyncCopy},
    {"simt", &pipeline::checkRemainders},
    {"simt", &pipeline::versionClampedLoops, hasAsyncCopy},
    {"simt", &pipeline::versionWritingLoops, hasAsyncCopy},
    {"simt", &pipeline::tileToSimt},
    {"simt", &pipeline::deferReductions},
    {"simt", &pipeline::hoistConverts},
    {"simt", &pipeline::sinkConverts},
    {"simt", &pipeline::sinkLoads, hasAsyncCopy},
    {"simt", &pipeline::planConverts},
    {"simt", &pipeline::pipelineLoops, hasAsyncCopy},
    {"simt", &pipeline::cse}, // addresses that were computed again, once a layout
    {"simt", &pipeline::loopInvariantCodeMotion},
    {"simt", &pipeline::operandsInShared},
    {"simt", &pipeline::startDots, hasGroupDots},
    {"simt", &pipeline::storeBoxes, hasBulkCopy},
    {"simt", &pipeline::startLoads},
    {"simt", &pipeline::allocateShared},
    {"simt", &pipeline::reportMoves},
    {"simt", &pipeline::insertBarriers},
    {"simt", &pipeline::recomputeInTrips, hasGroupDots},
    {"simt", &pipeline::sinkStandIns, hasBulkCopy},
    {"simt", &pipeline::unrollShortLoops},
    {"simt", &pipeline::rotateWhiles},
    {"simt", &pipeline::pairAccesses},
    {"simt", &refuseUnlowered}, // what passes made, too
    {"emit", &emitLlvm},
    {"emit", &pipeline::forbidContraction},
    {"emit", &pipeline::linkExternLibraries},
    {"emit", &pipeline::linkMathlib},
    {"emit", &inlineLibrary},
    {"optimize", &pipeline::optimize},
    {"optimize", &shareWideProducts},
    {"optimize", &divideOnce},
    {"optimize", &sumOffsets},
    {"optimize", &sumOnce},
    {"optimize", &compareOnce},
    {"optimize", &moveCopies, hasAsyncCopy},
    {"optimize", &sinkMasks},
    {"optimize", &maskAccesses},
    {"optimize", &orderLoads},
    {"optimize", &orderSteps, hasGroupDots},
    {"optimize", &copySums, hasGroupDots},
    {"optimize", &separatePieces, hasGroupDots},
    {"optimize", &joinBytes},
    {"optimize", &hideFactors},
    {"optimize", &keepZeros},
    {"ptx", &emitPtx},
    {"ptx", &keepFromUnderWay, hasGroupDots},
    {"ptx", &ownFactors, hasGroupDots},
    {"ptx", &widenDifferences},
    {"ptx", &separatePairs},
    {"ptx", &splitProducts, hasGroupDots},
    {"ptx", &joinProducts},
    {"ptx", &addProducts},
};

} // namespace

std::span<const pipeline::Row> rows() { return table; }

} // namespace tegula::nvidia
