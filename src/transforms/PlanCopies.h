// Chooses what of a loop of products runs ahead, and which products run on.
#pragma once
#include "diag/Remark.h"
#include "transforms/LayOutCopies.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <vector>

namespace tegula::transforms {

struct CopyPlan {
  mlir::scf::ForOp loop;
  unsigned slots, aheadTrips;               // of each buffer; that a copy starts before its use
  std::vector<CopiedLoad> copied;           // in the order of the block; at least one
  llvm::SetVector<mlir::Operation *> ahead; // ops that run in the trip of the copies
  std::vector<tile::LoadOp> held;           // of these, loads that wait in registers
  bool areWide = false;                     // the products that run into the next trip: copies of boxes pay
  bool asksAhead = false;                   // copies of boxes pay only where no trip asks whether they fit
  bool startsDotsFirst = false;             // a trip's products start ahead of its boxes
  bool startsCopiesLast = false;            // behind the trip's last read, into the slot that it has read
  tile::DotOp first, last; // of a trip, if the last one runs into the next trip or `isWaitedFor`
  // The only product, which is `first` and `last`, is waited for in its trip: copies are of boxes only if
  // signals hand the slots on.
  bool isWaitedFor = false;
  bool lacksRegisters = false; // for the addresses of what stands in for boxes
};

// Plans an innermost loop of matrix instructions; nullopt: nothing of it runs ahead. Products that may run on
// have `simt.in_flight` then, and each value that the loop yields is defined in it. Appends a remark for each
// load that is left alone.
std::optional<CopyPlan> planCopies(mlir::scf::ForOp loop, unsigned stages, const simt::Machine &machine,
                                   std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
