// Loops whose trips wait for memory.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// The attribute of a kernel of whose launches each program has a multiprocessor for itself.
inline constexpr llvm::StringLiteral aloneName = "tegula.alone";

// A small innermost loop that loads little in a trip, at places that follow from the trip's number alone,
// takes several trips at once: their loads then start together. Such loops add up what a few programs,
// experts or pages left, or rows, and would wait for memory once a trip: where few programs are launched,
// nothing else fills that time. Loops that store, those whose threads meet or exchange values, and loops in
// others whose number of trips is not known stay as they are; so do wide loads of a kernel that has a loop of
// those, as a norm of rows has, of which as many programs run as have registers, unless each program has a
// multiprocessor for itself.
struct UnrollWaiting : llvm::PassInfoMixin<UnrollWaiting> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
