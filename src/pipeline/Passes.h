// The passes that any target's pipeline may take. What one does is in its row (Passes.cpp), and at length in
// the header of the function behind it.
#pragma once
#include "pipeline/Pipeline.h"

namespace tegula::pipeline {

// On tile IR and simt, under MLIR's names of passes of their purposes.
extern const Pass canonicalize, cse, loopInvariantCodeMotion;
// On tile IR.
extern const Pass markVolatileStores, relaxSums, countWhiles, unswitchLoops, hoistLoads, nestFlatLoops,
    orderPrograms, transposeProducts, narrowFloats, chunkLargeTiles, widenFactors, splitFactors,
    fillMaskedLoads, unrollAsAsked, predicateLoads, loadInOwnTrip, splitLoopCarriedOffsets, splitMaskedLoops,
    splitNarrowLoops, checkRemainders, versionUnalignedLoops, versionClampedLoops, versionWritingLoops;
// From tile IR to simt, and on simt.
extern const Pass tileToSimt, deferReductions, hoistConverts, sinkConverts, sinkLoads, planConverts,
    startLoads, pipelineLoops, operandsInShared, startDots, storeBoxes, reportMoves, allocateShared,
    insertBarriers, pairAccesses, recomputeInTrips, rotateWhiles, sinkStandIns, unrollElementwiseLoops,
    unrollShortLoops;
// On LLVM IR.
extern const Pass forbidContraction, linkMathlib, linkExternLibraries, optimize;

} // namespace tegula::pipeline
