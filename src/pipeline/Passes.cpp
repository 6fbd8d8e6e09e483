#include "pipeline/Passes.h"

#include "codegen/llvm/Arithmetic.h"
#include "codegen/llvm/Recovery.h"
#include "convert/TileToSimt.h"
#include "ir/tile/Canonicalizer.h"
#include "ir/tile/EqualOps.h"
#include "transforms/CheckRemainders.h"
#include "transforms/ChunkLargeTiles.h"
#include "transforms/CountWhiles.h"
#include "transforms/DeferReductions.h"
#include "transforms/FillMaskedLoads.h"
#include "transforms/HoistLoads.h"
#include "transforms/LoadInOwnTrip.h"
#include "transforms/MarkVolatileStores.h"
#include "transforms/MoveConverts.h"
#include "transforms/NarrowFloats.h"
#include "transforms/NestFlatLoops.h"
#include "transforms/OperandsInShared.h"
#include "transforms/OrderPrograms.h"
#include "transforms/PairAccesses.h"
#include "transforms/PipelineLoops.h"
#include "transforms/PlanConverts.h"
#include "transforms/PredicateLoads.h"
#include "transforms/RecomputeInTrips.h"
#include "transforms/RelaxSums.h"
#include "transforms/ReportMoves.h"
#include "transforms/RotateWhiles.h"
#include "transforms/SharedMemory.h"
#include "transforms/SinkLoads.h"
#include "transforms/SplitLoopCarriedOffsets.h"
#include "transforms/SplitMaskedLoops.h"
#include "transforms/StandIns.h"
#include "transforms/StartDots.h"
#include "transforms/StartLoads.h"
#include "transforms/StoreBoxes.h"
#include "transforms/TransposeProducts.h"
#include "transforms/UnrollAsAsked.h"
#include "transforms/UnrollShortLoops.h"
#include "transforms/UnswitchLoops.h"
#include "transforms/VersionClampedLoops.h"
#include "transforms/VersionUnalignedLoops.h"
#include "transforms/VersionWritingLoops.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tegula::pipeline {

namespace {

// `run` verifies behind each pass, MLIR's own need not.
Status ofMlir(Unit &unit, std::unique_ptr<mlir::Pass> pass) {
  PassManager manager(unit.module.getContext());
  manager.enableVerifier(false);
  std::string name = pass->getArgument().str();
  manager.addPass(std::move(pass));
  return failed(manager.run(unit.module))
             ? Status::error(StatusCode::Internal, "the pass `" + name + "` failed")
             : Status::success();
}

template <typename Body> Status eachFunction(Unit &unit, Body body) {
  for (tile::FuncOp function : unit.module.getOps<tile::FuncOp>())
    body(function);
  return {};
}

Status chunk(Unit &unit) {
  int64_t threads = 32 * int64_t(unit.warps);
  return eachFunction(unit, [&](tile::FuncOp function) {
    if (std::optional<int64_t> chunk = transforms::chunkLargeTiles(function, threads, unit.machine))
      unit.remarks.push_back({tile::locationText(function.getLoc()), "nest",
                              "tiles too large for registers: a loop over chunks of at most " +
                                  std::to_string(*chunk) + " elements"});
  });
}

} // namespace

// ---- tile IR and simt, under the names that MLIR's passes of their purposes have ----

const Pass canonicalize{"canonicalize", nullptr,
                        "constants fold; values and carried values that nobody needs go", [](Unit &unit) {
                          tile::canonicalize(unit.module);
                          return Status::success();
                        }};
const Pass cse{"cse", nullptr, "equal computations become one: equal addresses are then equal values",
               [](Unit &unit) {
                 tile::eliminateEqualOps(unit.module);
                 return Status::success();
               }};
const Pass loopInvariantCodeMotion{
    "loop-invariant-code-motion", nullptr,
    "what is the same in each trip of a loop is computed once, ahead of it",
    [](Unit &unit) { return ofMlir(unit, createLoopInvariantCodeMotionPass()); }};

// ---- tile IR ----

const Pass markVolatileStores{
    "mark-volatile-stores", "ttir", "stores that a volatile load may read become atomic, element by element",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::markVolatileStores(function); });
    }};
const Pass relaxSums{
    "relax-sums", "ttir", "sums of floats in memory that no program can wait for order nothing around them",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::relaxSums(function); });
    }};
const Pass countWhiles{
    "count-whiles", "ttir", "`while` loops that count become `for` loops, which the passes behind know",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::countWhiles(function); });
    }};
const Pass unswitchLoops{
    "unswitch-loops", "ttir",
    "loops that write memory under a condition from ahead of them become two, one of which does not write",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::unswitchLoops(function); });
    }};
const Pass hoistLoads{"hoist-loads", "ttir",
                      "loops that write nothing load what is the same in each trip once, ahead of them",
                      [](Unit &unit) {
                        return eachFunction(unit, [&](tile::FuncOp function) {
                          transforms::hoistLoads(function, unit.warps, unit.machine);
                        });
                      }};
const Pass unrollAsAsked{"unroll-as-asked", "ttir",
                         "loops of products take as many trips at once as their user asks", [](Unit &unit) {
                           return eachFunction(unit, [&](tile::FuncOp function) {
                             transforms::unrollAsAsked(function, unit.stages, unit.machine);
                           });
                         }};
const Pass nestFlatLoops{
    "nest-flat-loops", "ttir",
    "one loop over the trips of all tiles becomes a loop over tiles around one over their trips",
    [](Unit &unit) {
      return eachFunction(unit,
                          [&](tile::FuncOp function) { transforms::nestFlatLoops(function, unit.remarks); });
    }};
const Pass orderPrograms{
    "order-programs", "ttir", "programs whose loops are longest start first", [](Unit &unit) {
      return eachFunction(unit,
                          [&](tile::FuncOp function) { transforms::orderPrograms(function, unit.remarks); });
    }};
const Pass transposeProducts{"transpose-products", "ttir",
                             "products that are only read transposed are computed transposed",
                             [](Unit &unit) {
                               return eachFunction(unit, [&](tile::FuncOp function) {
                                 transforms::transposeProducts(function, unit.warps, unit.remarks);
                               });
                             }};
const Pass narrowFloats{
    "narrow-floats", "ttir",
    "f32 that holds f16 or bf16 is computed as such, two elements at once, and multiplied as such by matrix "
    "instructions, where the bits are the same",
    [](Unit &unit) {
      return eachFunction(unit,
                          [&](tile::FuncOp function) { transforms::narrowFloats(function, unit.machine); });
    }};
const Pass chunkLargeTiles{"chunk-large-tiles", "ttir",
                           "a kernel that streams tiles too large for registers becomes a loop over chunks",
                           chunk};
const Pass widenFactors{"widen-factors", "ttir",
                        "factors that no matrix instruction takes become the next wider type",
                        [](Unit &unit) {
                          convert::widenFactors(unit.module, unit.machine);
                          return Status();
                        }};
const Pass splitFactors{"split-factors", "ttir",
                        "products of f32 as bf16x3 or bf16x6 become products of bf16", [](Unit &unit) {
                          convert::splitFactors(unit.module, unit.machine);
                          return Status();
                        }};
const Pass fillMaskedLoads{
    "fill-masked-loads", "ttir",
    "masked elements of tiles in loops of products are filled behind the load, which can then be copied",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::fillMaskedLoads(function); });
    }};
const Pass predicateLoads{
    "predicate-loads", "ttir",
    "small loads under conditions of a loop become loads under masks: they wait for no branch",
    [](Unit &unit) {
      int64_t most = int64_t(unit.machine.costs.heldAhead) * 32 * unit.warps;
      return eachFunction(unit, [&](tile::FuncOp function) { transforms::predicateLoads(function, most); });
    }};
const Pass loadInOwnTrip{"load-in-own-trip", "ttir",
                         "operands that a loop of products loads a trip ahead are loaded in their own",
                         [](Unit &unit) {
                           return eachFunction(unit, [&](tile::FuncOp function) {
                             transforms::loadInOwnTrip(function, unit.remarks);
                           });
                         }};
const Pass splitLoopCarriedOffsets{
    "split-loop-carried-offsets", "ttir",
    "`ptrs += step` around a loop becomes a base and a scalar that analyses see", [](Unit &unit) {
      transforms::splitLoopCarriedOffsets(unit.module);
      return Status();
    }};
const Pass splitMaskedLoops{
    "split-masked-loops", "ttir",
    "a loop of products gets one ahead of it for the trips in which its masks hold everywhere",
    [](Unit &unit) {
      return eachFunction(
          unit, [&](tile::FuncOp function) { transforms::splitMaskedLoops(function, unit.remarks); });
    }};
const Pass splitNarrowLoops{
    "split-narrow-loops", "ttir",
    "a loop whose bounds may end inside of a vector gets one ahead of it for the trips of whole tiles",
    [](Unit &unit) {
      return eachFunction(
          unit, [&](tile::FuncOp function) { transforms::splitNarrowLoops(function, unit.remarks); });
    }};
const Pass checkRemainders{
    "check-remainders", "ttir",
    "`%` and `//` in addresses are checked once, so that wide accesses may rest on them", [](Unit &unit) {
      return eachFunction(
          unit, [&](tile::FuncOp function) { transforms::checkRemainders(function, unit.remarks); });
    }};
const Pass versionUnalignedLoops{"version-unaligned-loops", "ttir",
                                 "a loop of products that loads by arguments or numbers from memory gets a "
                                 "version for numbers that allow wide accesses",
                                 [](Unit &unit) {
                                   return eachFunction(unit, [&](tile::FuncOp function) {
                                     transforms::versionUnalignedLoops(function, unit.remarks);
                                   });
                                 }};
const Pass versionClampedLoops{
    "version-clamped-loops", "ttir",
    "a loop of products whose offsets are clamped gets a version for tiles in which none is", [](Unit &unit) {
      return eachFunction(
          unit, [&](tile::FuncOp function) { transforms::versionClampedLoops(function, unit.remarks); });
    }};
const Pass versionWritingLoops{
    "version-writing-loops", "ttir",
    "of few programs, a loop that writes gets a version for what it loads being apart from what it stores",
    [](Unit &unit) {
      if (!unit.machine.isAlone || unit.stages < 2)
        return Status();
      return eachFunction(unit, [&](tile::FuncOp function) {
        transforms::versionWritingLoops(function, unit.machine, unit.remarks);
      });
    }};

// ---- simt ----

const Pass tileToSimt{
    "tile-to-simt", "simt", "every tile gets a layout; conversions stand where two ops want different ones",
    [](Unit &unit) {
      convert::tileToSimt(unit.module, {unit.warps, unit.stages, unit.machine}, unit.remarks);
      return Status();
    }};
const Pass deferReductions{"defer-reductions", "simt",
                           "what a loop adds up by reductions is combined across threads once, behind it",
                           [](Unit &unit) {
                             return eachFunction(unit, [&](tile::FuncOp function) {
                               transforms::deferReductions(function, unit.remarks);
                             });
                           }};
const Pass hoistConverts{"hoist-converts", "simt",
                         "conversions to operands of products move up to the loads that they come from, "
                         "others to loads of fewer bits",
                         [](Unit &unit) {
                           return eachFunction(
                               unit, [](tile::FuncOp function) { transforms::hoistConverts(function); });
                         }};
const Pass sinkConverts{"sink-converts", "simt",
                        "conversions move down behind casts to narrower elements, and behind what tiles of "
                        "one layout are computed with",
                        [](Unit &unit) {
                          return eachFunction(
                              unit, [](tile::FuncOp function) { transforms::sinkConverts(function); });
                        }};
const Pass sinkLoads{"sink-loads", "simt",
                     "tiles loaded ahead of a loop of products, and needed behind it, are loaded there where "
                     "registers are crowded",
                     [](Unit &unit) {
                       return eachFunction(unit, [&](tile::FuncOp function) {
                         transforms::sinkLoads(function, unit.machine);
                       });
                     }};
const Pass planConverts{"plan-converts", "simt",
                        "how each conversion will happen is decided and written on it", [](Unit &unit) {
                          transforms::planConverts(unit.module, unit.machine.costs);
                          return Status();
                        }};
const Pass startLoads{
    "start-loads", "simt", "loads start ahead of conversions that wait for other loads", [](Unit &unit) {
      return eachFunction(unit,
                          [&](tile::FuncOp function) { transforms::startLoads(function, unit.machine); });
    }};
const Pass pipelineLoops{"pipeline-loops", "simt", "loads of products become copies that run trips ahead",
                         [](Unit &unit) {
                           return eachFunction(unit, [&](tile::FuncOp function) {
                             transforms::pipelineLoops(function, unit.stages, unit.machine, unit.remarks);
                           });
                         }};
const Pass operandsInShared{
    "operands-in-shared", "simt",
    "operands that no copy brings go through buffers, in the form of matrix loads, or for multiply-adds",
    [](Unit &unit) {
      return eachFunction(unit, [&](tile::FuncOp function) {
        transforms::operandsInShared(function, unit.machine, unit.remarks);
      });
    }};
const Pass startDots{"start-dots", "simt",
                     "products of several warps read buffers by themselves, and run while the warps go on",
                     [](Unit &unit) {
                       return eachFunction(unit, [&](tile::FuncOp function) {
                         transforms::startDots(function, unit.machine, unit.remarks);
                       });
                     }};
const Pass storeBoxes{"store-boxes", "simt",
                      "one thread stores tiles of products in boxes, from a buffer that drains while the "
                      "program goes on",
                      [](Unit &unit) {
                        return eachFunction(unit, [&](tile::FuncOp function) {
                          transforms::storeBoxes(function, unit.machine, unit.remarks);
                        });
                      }};
const Pass reportMoves{"report-moves", "simt",
                       "what conversions, reductions and scans cost is told where it shows in the source",
                       [](Unit &unit) {
                         transforms::reportMoves(unit.module, unit.remarks);
                         return Status();
                       }};
const Pass allocateShared{
    "allocate-shared", "simt", "buffers and scratch get their places in shared memory, by live ranges",
    [](Unit &unit) {
      return transforms::allocateShared(unit.module, unit.machine.sharedBytes, unit.machine.costs);
    }};
const Pass insertBarriers{"insert-barriers", "simt",
                          "warps meet where one may touch what another still needs", [](Unit &unit) {
                            transforms::insertBarriers(unit.module);
                            return Status();
                          }};
const Pass recomputeInTrips{
    "recompute-in-trips", "simt", "loops around loops of products compute their small tiles in each trip",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::recomputeInTrips(function); });
    }};
const Pass sinkStandIns{
    "sink-stand-ins", "simt", "addresses of copies by all threads are computed only where no box fits",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::sinkStandIns(function); });
    }};
const Pass pairAccesses{
    "pair-accesses", "simt",
    "loads, and stores, of tiles whose elements take turns in memory become accesses of pairs",
    [](Unit &unit) {
      return eachFunction(unit, [&](tile::FuncOp function) {
        transforms::pairAccesses(function, unit.machine, unit.remarks);
      });
    }};
const Pass rotateWhiles{
    "rotate-whiles", "simt",
    "loops whose condition reduces a tile ask for it behind each trip, so that no mask of it outlives loads",
    [](Unit &unit) {
      return eachFunction(unit, [](tile::FuncOp function) { transforms::rotateWhiles(function); });
    }};
const Pass unrollElementwiseLoops{
    "unroll-elementwise-loops", "ttir",
    "loops of a few short trips that combine nothing become these before layouts are chosen", [](Unit &unit) {
      const int64_t threads = 32 * int64_t(unit.warps);
      return eachFunction(unit, [&](tile::FuncOp function) {
        transforms::unrollElementwiseLoops(function, threads, unit.machine.costs);
      });
    }};
const Pass unrollShortLoops{"unroll-short-loops", "simt",
                            "loops of a few short trips become these, one behind the other", [](Unit &unit) {
                              return eachFunction(unit, [&](tile::FuncOp function) {
                                transforms::unrollShortLoops(function, unit.machine.costs);
                              });
                            }};

// ---- LLVM IR ----

const Pass forbidContraction{"forbid-contraction", "llvm",
                             "without enable_fp_fusion: no product and sum become one operation",
                             [](Unit &unit) {
                               if (!unit.fusesMultiplyAdd)
                                 codegen::forbidContraction(*unit.code->module);
                               return Status();
                             }};
const Pass linkMathlib{"link-mathlib", "llvm", "the functions of the math library that are called come in",
                       [](Unit &unit) { return codegen::linkMathlib(*unit.code->module); }};
const Pass linkExternLibraries{
    "link-extern-libraries", "llvm",
    "the functions of the user's libraries (extern_libs) that are called come in",
    [](Unit &unit) { return codegen::linkExternLibraries(*unit.code->module, unit.libraries); }};
const Pass optimize{"optimize", "llvm",
                    "LLVM's own passes: temporaries become values, code folds and leaves loops",
                    [](Unit &unit) {
                      Status status = codegen::optimize(*unit.code->module, *unit.code->machine);
                      if (!status.ok())
                        codegen::abandon(std::move(unit.code));
                      return status;
                    }};

} // namespace tegula::pipeline
